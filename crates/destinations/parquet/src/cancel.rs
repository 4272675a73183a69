//! The handle that ends a run of this destination: a flag that each step checks.

use std::sync::atomic::{AtomicBool, Ordering};

use inrush_destination::CancelRun;

/// True if the run was cancelled.
#[derive(Debug, Default)]
pub(super) struct Cancelled(AtomicBool);

impl Cancelled {
    /// True if the run was cancelled.
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl CancelRun for Cancelled {
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
