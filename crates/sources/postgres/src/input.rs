//! An input: a table without partitions, a partition, a view, or a query; or a range of a key of one of these.

use std::ops::Range;
use std::sync::Arc;

use inrush_source::{DatabaseInput, KeyRanges, Steps};

/// A relation or a query, as the snapshot shows it.
#[derive(Debug)]
pub struct TableInput {
    /// The input as the engine sees it.
    pub of: Arc<DatabaseInput>,
    /// The text after FROM.
    pub from: String,
    /// The number of its pages, if its rows have a place in them.
    pub pages: Option<u64>,
    /// The ranges of a key, if it is cut into these instead of pages.
    pub keys: Option<Arc<KeyRanges>>,
    /// The number of the only range of the key that it has, if each range is an input.
    pub only_range: Option<u64>,
}

impl TableInput {
    /// Its pages, each with its part of the TOAST table, or the ranges of its key.
    pub fn steps(&self) -> Steps {
        let keys = self.keys.as_ref().map(|keys| match self.only_range {
            Some(_) => 1,
            None => keys.count(),
        });
        Steps {
            count: keys.or(self.pages).unwrap_or(0),
            size_bytes: self.of.size_bytes,
        }
    }

    /// The pages, or the ranges of the key, in a range of bytes.
    pub fn steps_in(&self, bytes: &Range<u64>) -> Range<u64> {
        match self.only_range {
            Some(number) => number..number + 1,
            None => self.steps().of_bytes(bytes),
        }
    }
}
