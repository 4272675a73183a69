//! An input: a table, a view or a query.

use std::path::Path;
use std::sync::Arc;

use inrush_source::{Input, InputState, SourceError};

/// A table or a query, as it was when the source was opened.
#[derive(Debug)]
pub struct TableInput {
    /// Its name in messages.
    pub name: Arc<Path>,
    /// A text that changes when the rows may have changed.
    pub mark: String,
    /// Texts that name it.
    pub identity: Vec<String>,
}

impl Input for TableInput {
    fn index(&self) -> usize {
        0
    }

    fn name(&self) -> &Arc<Path> {
        &self.name
    }

    fn size_bytes(&self) -> u64 {
        0
    }

    fn modified_ns(&self) -> i64 {
        0
    }

    fn mark(&self) -> String {
        self.mark.clone()
    }

    /// The server tells nothing by which a change could be seen during a run.
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
        Ok(Some("read by one statement"))
    }
}
