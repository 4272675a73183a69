//! An input: a table without partitions, a partition, a view, or a query.

use std::sync::Arc;

use inrush_source::{DatabaseInput, KeyRanges, Steps};

/// A relation or a query, as the snapshot shows it.
#[derive(Debug)]
pub struct TableInput {
    /// The input as the engine sees it.
    pub of: Arc<DatabaseInput>,
    /// What follows FROM.
    pub from: String,
    /// Its pages, if its rows have a place in them.
    pub pages: Option<u64>,
    /// The ranges of a key into which it is cut instead.
    pub keys: Option<KeyRanges>,
}

impl TableInput {
    /// Its pages, each with its part of the TOAST table, or the ranges of its key.
    pub fn steps(&self) -> Steps {
        let keys = self.keys.as_ref().map(KeyRanges::count);
        Steps {
            count: keys.or(self.pages).unwrap_or(0),
            size_bytes: self.of.size_bytes,
        }
    }
}
