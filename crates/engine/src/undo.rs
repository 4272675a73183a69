//! `inrush undo`: takes the tables of a run out of the targets, and puts back the tables that they replaced.

use inrush_destination::RunRecord;
pub use inrush_destination::UndoneTarget;
use inrush_fault::Fault;
use inrush_rows::ids::RunName;

/// The options of an undo.
#[derive(Debug)]
pub struct UndoOptions<'a> {
    /// The run's name.
    pub run: &'a RunName,
    /// Drop the removed tables instead of keeping them.
    pub drop: bool,
    /// The longest wait for the locks of the targets, in milliseconds.
    pub lock_timeout_ms: u32,
    /// Kills the process at a named step, for tests.
    pub fault: Option<Fault>,
}

/// A run that was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The run.
    pub run: RunRecord,
    /// True if an earlier command had undone it: nothing was left to do.
    pub before: bool,
    /// The changes of its targets.
    pub targets: Vec<UndoneTarget>,
    /// Statements or commands that drop the removed tables, for a time when nobody needs them any more.
    pub drop_statements: Vec<String>,
}
