//! Runs and units as a destination's ledger has them.

use inrush_rows::ids::{FileKey, RunId, RunKey, RunName, UnitKey};
use serde::{Deserialize, Serialize};

use crate::account::Account;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// The run is being loaded, or has stopped.
    Loading,
    /// Its rows are in their targets.
    Switched,
    /// It was given up; nothing of it remains.
    Discarded,
    /// Its rows were in their targets, and were taken out again.
    Undone,
}

impl RunState {
    const ALL: [RunState; 4] = [
        RunState::Loading,
        RunState::Switched,
        RunState::Discarded,
        RunState::Undone,
    ];

    /// The word of a ledger for this state.
    pub fn word(self) -> &'static str {
        match self {
            RunState::Loading => "loading",
            RunState::Switched => "switched",
            RunState::Discarded => "discarded",
            RunState::Undone => "undone",
        }
    }

    /// The state with this word.
    pub fn of_word(word: &str) -> Option<RunState> {
        RunState::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// The rows of a run are not in a target any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The run that replaced them, if it was a run.
    pub by: Option<RunName>,
}

/// A run in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its number: larger than those of all runs before it in this ledger.
    pub run_id: RunId,
    /// Its name, which is also the name of its folder.
    pub name: RunName,
    /// Identifies the package and its targets.
    pub run_key: RunKey,
    /// The package's name.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// Host and process of its holder, or of its last holder.
    pub holder: String,
    /// 1 when the run begins; raised by each process that takes the run over, so that the earlier one is fenced off.
    pub epoch: i32,
    /// Its state.
    pub state: RunState,
    /// When it began, in microseconds since 1970-01-01T00:00:00Z.
    pub started_at_microseconds: i64,
    /// When it was switched, in the same unit.
    pub switched_at_microseconds: Option<i64>,
    /// Its targets, as [`TargetName::sql`](crate::TargetName::sql), in the order of the plan.
    pub targets: Vec<String>,
}

/// The record of one transaction, which loads a whole unit or, if several streams fill the unit, a part of it. A part
/// is usually a split. If one reader shares out a file among the streams, a part is the ranges that one stream took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRecord {
    /// Identifies its splits, its target and how the rows are read.
    pub key: UnitKey,
    /// The target, as [`TargetName::sql`](crate::TargetName::sql).
    pub target: String,
    /// Rows that were loaded.
    pub rows_loaded: u64,
    /// Text of the engine, which it reads back unchanged.
    pub detail: String,
}

/// A unit of a run, with sums over the records that it has in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitTotal {
    /// The key of the unit.
    pub key: UnitKey,
    /// The target, as [`TargetName::sql`](crate::TargetName::sql).
    pub target: String,
    /// True if all of the unit is committed.
    pub is_finished: bool,
    /// True if its rows were written directly to the target, where [`RunLedger::discard`](crate::RunLedger::discard)
    /// leaves them.
    pub is_direct: bool,
    /// The sums over its records.
    pub account: Account,
}

/// An input of which a switched run has loaded rows into a target, in the state that it had then. The engine's note in
/// a record has the same facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedInput {
    /// The run.
    pub run_id: RunId,
    /// The target, as [`TargetName::sql`](crate::TargetName::sql).
    pub target: String,
    /// Identifies the input.
    pub input_key: FileKey,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Its other metadata; for a table, the moment at which its rows were read.
    pub state: String,
    /// Rows that were loaded from the input, or from the part of it that has this state.
    pub rows_loaded: u64,
}

/// An earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// The run.
    pub record: RunRecord,
    /// The targets in `record.targets` that do not have its rows any more, as far as that can be determined: dropped,
    /// created again, emptied or replaced since. Only for runs that are switched.
    pub gone: Vec<String>,
}

/// A run that is to be entered into the ledger.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Identifies the package and its targets.
    pub run_key: RunKey,
    /// Its name if it begins now; a run that is taken over keeps its name.
    pub name: RunName,
    /// The package's name.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// Host and process of the holder, for a process that finds the run locked.
    pub holder: String,
    /// When it begins, in microseconds since 1970-01-01T00:00:00Z.
    pub started_at_microseconds: i64,
    /// The number of a stopped run with this key that is resumed. That run keeps its number, name and time of start,
    /// and gets the package hash, holder, targets and lineage of this one.
    pub takes_over: Option<RunId>,
    /// Where its columns come from: text of the engine, which [`RunLedger::lineage`](crate::RunLedger::lineage) returns
    /// unchanged.
    pub lineage: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_ledger_is_that_of_json() {
        for state in RunState::ALL {
            assert_eq!(RunState::of_word(state.word()), Some(state));
            let text = serde_json::to_string(&state).expect("a word");
            assert_eq!(text, format!("{:?}", state.word()));
        }
        assert_eq!(RunState::of_word("stopped"), None);
    }
}
