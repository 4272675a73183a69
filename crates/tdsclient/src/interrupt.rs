//! Asks sessions to end their waits.

use std::sync::atomic::{AtomicBool, Ordering};

use inrush_rows::cancel::Stop;

/// A request to stop, shared by the sessions of a run. Sessions look at it at least ten times a second.
#[derive(Debug, Default)]
pub struct Interrupt {
    is_raised: AtomicBool,
    stop: Option<Stop>,
}

impl Interrupt {
    /// A request that is also made by the stop of a run.
    pub fn at(stop: &Stop) -> Interrupt {
        Interrupt {
            is_raised: AtomicBool::default(),
            stop: Some(stop.clone()),
        }
    }

    /// Makes the request. It cannot be withdrawn.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
    }

    /// True if the request was made.
    pub fn is_raised(&self) -> bool {
        let is_stopped = || {
            self.stop
                .as_ref()
                .is_some_and(|stop| stop.asked().is_some())
        };
        self.is_raised.load(Ordering::Acquire) || is_stopped()
    }
}
