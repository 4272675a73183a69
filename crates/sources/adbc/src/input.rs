//! An input: a table, a view or a query.

use std::path::Path;
use std::sync::Arc;

use inrush_source::{Input, InputState, SourceError};

/// A table or a query, as it was when the source was opened.
#[derive(Debug)]
pub struct TableInput {
    /// Its name in messages.
    pub name: Arc<Path>,
    /// Estimated from its rows; 0 if unknown.
    pub size_bytes: u64,
    /// A text that changes when the rows may have changed.
    pub mark: String,
    /// Texts that name it.
    pub identity: Vec<String>,
    /// It is cut by the numbers of its rows.
    pub has_row_ids: bool,
    /// The number of ranges of a key, or of the driver's partitions, into which it is cut instead.
    pub steps: Option<u64>,
}

impl Input for TableInput {
    fn index(&self) -> usize {
        0
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

    /// The moment that is read does not change.
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
        Ok(match self.has_row_ids || self.steps.is_some() {
            true => None,
            false => Some(
                "without row numbers or partitions to cut it by, and no `split_by` names a key",
            ),
        })
    }
}
