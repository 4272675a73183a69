//! An input whose rows come from a database: a table, a partition, a view or a query.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_rows::cancel::Stop;

use crate::error::SourceError;
use crate::input::{Input, InputState};
use crate::input_kind::InputKind;
use crate::split::SourceSplit;

/// A mark that is different at each opening. It never proves that rows are unchanged, so they are always read again.
pub fn never_the_same() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!(
        "opened {} {} {}",
        std::process::id(),
        now.unwrap_or_default().as_nanos(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// A table or a query, as it was when its source was opened.
#[derive(Debug)]
pub struct DatabaseInput {
    /// Its place among the inputs of the source.
    pub index: usize,
    /// A table or a query.
    pub kind: InputKind,
    /// Its name in messages.
    pub name: Arc<Path>,
    /// Its size in bytes, as the database reports it or as it is estimated; 0 if unknown.
    pub size_bytes: u64,
    /// A text that changes when the rows may have changed.
    pub mark: String,
    /// Texts that identify it.
    pub identity: Vec<String>,
    /// True if its rows have places that the database keeps, such as a `ctid` or a `rowid`. Otherwise they are numbered
    /// in the order in which they arrive.
    pub keeps_places: bool,
    /// Words that tell a user how to read the database so that its rows have such places; `None` if that is not
    /// possible.
    pub places_by: Option<&'static str>,
    /// Why it is not cut into splits, in a few words; `None` if it is.
    pub whole_because: Option<&'static str>,
    /// [`Input::is_loaded_alone_again`].
    pub is_loaded_alone_again: bool,
}

impl DatabaseInput {
    /// All of it as one split.
    pub fn whole(&self) -> SourceSplit {
        SourceSplit {
            input: self.index,
            range: 0..self.size_bytes,
            first_record: None,
            is_shared: false,
            size_bytes: self.size_bytes,
        }
    }

    /// The activity of its readers, for messages.
    pub fn reading(&self) -> String {
        format!("reading {}", self.name.display())
    }

    /// Ends a read if the run is asked to stop.
    pub fn check_stop(&self, stop: &Stop) -> Result<(), SourceError> {
        match stop.asked() {
            None => Ok(()),
            Some(_) => Err(SourceError::Stopped {
                path: self.name.to_path_buf(),
            }),
        }
    }
}

impl Input for DatabaseInput {
    fn index(&self) -> usize {
        self.index
    }

    fn name(&self) -> &Arc<Path> {
        &self.name
    }

    fn kind(&self) -> InputKind {
        self.kind
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn modified_ns(&self) -> i64 {
        0
    }

    fn mark(&self) -> String {
        self.mark.clone()
    }

    /// The state at the opening: the rows that the source shows do not change.
    fn state_now(&self) -> Option<InputState> {
        Some(self.state())
    }

    fn identity(&self) -> Vec<String> {
        self.identity.clone()
    }

    fn is_snapshot(&self) -> bool {
        true
    }

    fn is_loaded_alone_again(&self) -> bool {
        self.is_loaded_alone_again
    }

    fn keeps_places(&self) -> bool {
        self.keeps_places
    }

    fn places_by(&self) -> Option<&'static str> {
        self.places_by
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(self.whole_because)
    }
}
