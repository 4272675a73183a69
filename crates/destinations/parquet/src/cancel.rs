//! The handle that ends a run of this destination: a sign that its steps look at.

use std::sync::atomic::{AtomicBool, Ordering};

use inrush_destination::CancelRun;

/// Whether a run was asked to end.
#[derive(Debug, Default)]
pub(super) struct Cancelled(AtomicBool);

impl Cancelled {
    /// Whether it was.
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl CancelRun for Cancelled {
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
