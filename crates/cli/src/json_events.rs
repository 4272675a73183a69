//! `--json`: one line for each event.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use inrush::event::{Event, Observer};

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
        let Ok(mut line) = serde_json::to_vec(event) else {
            return;
        };
        line.push(b'\n');
        // One call under the lock, so that lines of several streams do not mix.
        let mut output = std::io::stdout().lock();
        if output
            .write_all(&line)
            .and_then(|()| output.flush())
            .is_err()
        {
            self.has_ended.store(true, Ordering::Relaxed);
        }
    }
}
