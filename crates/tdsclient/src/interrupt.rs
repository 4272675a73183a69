//! Asks sessions to end what they wait for.

use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop, shared by the sessions of a run. Sessions look at it at least ten times a second.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicBool);

impl Interrupt {
    /// Asks. It cannot be taken back.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True if somebody asked.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
