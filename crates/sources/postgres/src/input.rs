//! An input: a table without partitions, a partition, a view, or a query.

use std::path::Path;
use std::sync::Arc;

use inrush_source::{Input, InputState, KeyRanges, SourceError, Steps};

/// A relation or a query, as the snapshot shows it.
#[derive(Debug)]
pub struct TableInput {
    /// Its place among the inputs of the source.
    pub index: usize,
    /// Its name in messages.
    pub name: Arc<Path>,
    /// What follows FROM.
    pub from: String,
    /// Its pages, if its rows have a place in them.
    pub pages: Option<u64>,
    /// The ranges of a key into which it is cut instead.
    pub keys: Option<KeyRanges>,
    /// Bytes on the server's disk.
    pub size_bytes: u64,
    /// A text that changes when the rows may have changed.
    pub mark: String,
    /// Texts that name it.
    pub identity: Vec<String>,
}

impl TableInput {
    /// Its pages, each with its part of the TOAST table, or the ranges of its key.
    pub fn steps(&self) -> Steps {
        let keys = self.keys.as_ref().map(KeyRanges::count);
        Steps {
            count: keys.or(self.pages).unwrap_or(0),
            size_bytes: self.size_bytes,
        }
    }
}

impl Input for TableInput {
    fn index(&self) -> usize {
        self.index
    }

    fn name(&self) -> &Arc<Path> {
        &self.name
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

    /// The snapshot does not change.
    fn state_now(&self) -> Option<InputState> {
        Some(self.state())
    }

    fn identity(&self) -> Vec<String> {
        self.identity.clone()
    }

    fn is_snapshot(&self) -> bool {
        true
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(match self.keys.is_some() || self.pages.is_some() {
            true => None,
            false => Some("no table with pages of its own, and no `split_by` names a key"),
        })
    }
}
