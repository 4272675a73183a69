//! A run, as the ledger describes it to callers.

use inrush_rows::ids::RunId;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerRunState {
    /// Units are being loaded, or were when it stopped.
    Loading,
    /// Its rows are in the targets.
    Switched,
    /// It was given up and its staging tables removed.
    Discarded,
    /// Its rows were in the targets, and were taken out again.
    Undone,
}

impl LedgerRunState {
    /// What the word of the ledger means.
    pub fn from_word(word: &str) -> LedgerRunState {
        match word {
            "switched" => LedgerRunState::Switched,
            "discarded" => LedgerRunState::Discarded,
            "undone" => LedgerRunState::Undone,
            _ => LedgerRunState::Loading,
        }
    }

    /// The word of the ledger.
    pub fn word(self) -> &'static str {
        match self {
            LedgerRunState::Loading => "loading",
            LedgerRunState::Switched => "switched",
            LedgerRunState::Discarded => "discarded",
            LedgerRunState::Undone => "undone",
        }
    }
}

/// A run in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRun {
    /// Its number.
    pub run_id: RunId,
    /// Its name, which is also that of its folder and of its connections.
    pub name: String,
    /// The package's name.
    pub package: String,
    /// Raised whenever the run is taken over.
    pub epoch: i32,
    /// How far it has come.
    pub state: LedgerRunState,
    /// Host and process that hold it, or held it last.
    pub holder: String,
    /// When it began.
    pub started_at: String,
    /// The same in microseconds since 1970-01-01T00:00:00Z.
    pub started_at_microseconds: i64,
    /// When its holder took it.
    pub held_since: String,
    /// When it was switched.
    pub switched_at: Option<String>,
    /// Its targets, as `schema.table`, quoted.
    pub targets: Vec<String>,
    /// The OIDs that the targets had after the switch, in the same order.
    pub target_oids: Vec<u32>,
}
