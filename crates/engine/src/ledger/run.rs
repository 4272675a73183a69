//! A run, as the ledger describes it to callers.

use inrush_rows::ids::{RunId, RunName};

use jiff::Timestamp;
/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerRunState {
    /// Units are being loaded, or were being loaded when the run stopped.
    Loading,
    /// Its rows are in the targets.
    Switched,
    /// The run was given up, and its staging tables were removed.
    Discarded,
    /// Its rows were in the targets, and were removed by `undo`.
    Undone,
}

impl LedgerRunState {
    /// The state that this word of the ledger means.
    pub fn from_word(word: &str) -> LedgerRunState {
        match word {
            "switched" => LedgerRunState::Switched,
            "discarded" => LedgerRunState::Discarded,
            "undone" => LedgerRunState::Undone,
            _ => LedgerRunState::Loading,
        }
    }

    /// The ledger's word for this state.
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
    pub name: RunName,
    /// The package's name.
    pub package: String,
    /// Raised whenever the run is taken over.
    pub epoch: i32,
    /// Its state.
    pub state: LedgerRunState,
    /// Host and process of its holder, or of its last holder.
    pub holder: String,
    /// When it began, in microseconds since 1970-01-01T00:00:00Z.
    pub started_at_microseconds: i64,
    /// When its holder took it.
    pub held_since: String,
    /// When it was switched.
    pub switched_at: Option<String>,
    /// Its targets, as `schema.table`, quoted.
    pub targets: Vec<String>,
    /// The OIDs of the targets after the switch, in the same order.
    pub target_oids: Vec<u32>,
}

impl LedgerRun {
    /// The time when it began, as messages and tables show it: `2026-11-24 07:10:14 UTC`.
    pub fn started_at(&self) -> String {
        moment_text(self.started_at_microseconds)
    }

    /// The time when it began, for programs (RFC 3339): `2026-11-24T07:10:14.957737Z`.
    pub fn started_at_rfc3339(&self) -> String {
        moment(self.started_at_microseconds).to_string()
    }
}

/// A time as messages and tables show it, to the second. It is given in microseconds since 1970-01-01T00:00:00Z.
pub fn moment_text(microseconds: i64) -> String {
    moment(microseconds)
        .strftime("%Y-%m-%d %H:%M:%S UTC")
        .to_string()
}

/// The first or last time that can be written, if the ledger's time is beyond it.
fn moment(microseconds: i64) -> Timestamp {
    let beyond = match microseconds < 0 {
        true => Timestamp::MIN,
        false => Timestamp::MAX,
    };
    Timestamp::from_microsecond(microseconds).unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_to_the_second() {
        assert_eq!(
            moment_text(1_795_533_014_957_737),
            "2026-11-24 15:10:14 UTC"
        );
        assert_eq!(moment_text(-1), "1969-12-31 23:59:59 UTC");
        assert_eq!(moment_text(i64::MAX), moment_text(i64::MAX - 1));
    }
}
