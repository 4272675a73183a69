//! `--json`: one line for each event.

use std::sync::atomic::{AtomicBool, Ordering};

use inrush::event::{Event, Observer};

use crate::output;

/// Writes events to the standard output, until its reader goes away.
#[derive(Default)]
pub struct JsonEvents {
    has_ended: AtomicBool,
}

impl Observer for JsonEvents {
    fn notice(&self, event: &Event) {
        if self.has_ended.load(Ordering::Relaxed) {
            return;
        }
        if output::json(event).is_err() {
            self.has_ended.store(true, Ordering::Relaxed);
        }
    }
}
