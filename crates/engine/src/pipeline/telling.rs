//! Tells what happens, to the run's log and to whoever watches.

use crate::event::{Event, Observer};
use crate::report::RunFolder;

/// Who is told.
#[derive(Clone, Copy)]
pub struct Teller<'a> {
    /// The folder with the log.
    pub folder: &'a RunFolder,
    /// The caller.
    pub observer: &'a dyn Observer,
}

impl Teller<'_> {
    /// Tells both.
    pub fn notice(&self, event: &Event) {
        self.folder.notice(event);
        self.observer.notice(event);
    }
}
