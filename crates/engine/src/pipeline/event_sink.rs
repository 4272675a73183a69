//! Passes the events of a run to the run's log and to the caller's observer.

use crate::event::{Event, Observer};
use crate::report::RunFolder;

/// The log and the observer that get each event.
#[derive(Clone, Copy)]
pub struct EventSink<'a> {
    /// The folder with the log.
    pub folder: &'a RunFolder,
    /// The caller.
    pub observer: &'a dyn Observer,
}

impl EventSink<'_> {
    /// Passes an event to both.
    pub fn notice(&self, event: &Event) {
        self.folder.notice(event);
        self.observer.notice(event);
    }
}
