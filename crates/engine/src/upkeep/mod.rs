//! The remains of stopped runs in a destination: shown by `status`, removed by `cleanup`.

mod past_runs;

use std::path::Path;

use inrush_destination::RunRecord;
use inrush_plan::ledger::Account;
use inrush_plan::lineage::{FlowLineage, RunLineage};
use inrush_rows::ids::RunName;
use inrush_source::SinceRange;

pub use self::past_runs::PastRuns;
use crate::error::Error;

/// A run that stopped before its switch, or that is at work now.
#[derive(Clone, Debug)]
pub struct StoppedRun {
    /// The run.
    pub run: RunRecord,
    /// True if a process holds its lock; `None` if the destination has no lock that could tell.
    pub held: Option<bool>,
    /// Units that are committed.
    pub units_finished: usize,
    /// Units that several streams had begun to fill.
    pub units_begun: usize,
    /// The account of the staged rows.
    pub account: Account,
    /// The names of its staging tables in SQL.
    pub staging_tables: Vec<String>,
    /// Rows that were written directly to targets, and stay there.
    pub rows_straight: u64,
    /// True if another version of Inrush loaded units of this run. This version cannot recognize them: it does not
    /// resume units that were written to targets, and loads staged units again from the beginning.
    pub is_of_another_version: bool,
    /// The bytes of its staged rows, if the destination provides them.
    pub staging_bytes: Option<u64>,
}

/// The mark of a package's incremental load in a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkOfTarget {
    /// The package's name.
    pub package: String,
    /// The target's name in SQL.
    pub target: String,
    /// The last run that has loaded rows.
    pub run: RunName,
    /// The range that this run has loaded.
    pub range: SinceRange,
}

/// A run, and the origin of the columns of one of its targets.
#[derive(Clone, Debug)]
pub struct RunOfTarget {
    /// The run.
    pub run: RunRecord,
    /// The target's name in SQL.
    pub target: String,
    /// The rows that it has loaded into the target, or staged for it.
    pub rows_loaded: u64,
    /// The lineage of each flow into the target. Empty if the ledger has none: an older version of Inrush has begun the
    /// run, or the run's role was not allowed to store the lineage.
    pub flows: Vec<FlowLineage>,
}

impl RunOfTarget {
    /// The run's part of a target; `lineage` is the text that the ledger keeps.
    pub fn new(run: RunRecord, target: &str, rows_loaded: u64, lineage: Option<&str>) -> Self {
        let lineage = lineage.and_then(RunLineage::from_text).unwrap_or_default();
        RunOfTarget {
            run,
            target: target.to_owned(),
            rows_loaded,
            flows: lineage
                .flows
                .into_iter()
                .filter(|flow| flow.target == target)
                .collect(),
        }
    }
}

/// A filter for runs.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// Only runs of this package.
    pub package: Option<String>,
    /// Only the run of this name.
    pub run: Option<RunName>,
}

/// The settings for reaching a ledger, besides the connection.
pub struct LedgerOptions<'a> {
    /// Relative paths start here.
    pub folder: &'a Path,
    /// The folder of installed Python packages, whose drivers are used.
    pub site_packages: Option<&'a Path>,
    /// The ledger's schema.
    pub ledger_schema: &'a str,
}

impl Which {
    /// True if a run with this name and package passes the filter.
    pub fn is_asked(&self, package: &str, run: &RunName) -> bool {
        self.package.as_ref().is_none_or(|name| name == package)
            && self.run.as_ref().is_none_or(|name| name == run)
    }
}

/// The runs that a cleanup has removed so far. If one run cannot be removed, the others are still removed.
#[derive(Default)]
pub struct RemovedRuns {
    removed: Vec<StoppedRun>,
    first_error: Option<Error>,
}

impl RemovedRuns {
    /// Takes a run that was removed; `None` for one that another process holds.
    pub fn note(&mut self, removed: Result<Option<StoppedRun>, Error>) {
        match removed {
            Ok(run) => self.removed.extend(run),
            Err(error) => self.first_error = self.first_error.take().or(Some(error)),
        }
    }

    /// The removed runs, or the first error.
    pub fn end(self) -> Result<Vec<StoppedRun>, Error> {
        match self.first_error {
            Some(error) => Err(error),
            None => Ok(self.removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_after_all_runs_were_tried() {
        let mut removed = RemovedRuns::default();
        removed.note(Ok(None));
        removed.note(Err(Error::Interrupted));
        removed.note(Err(Error::no_several_hosts()));
        assert!(matches!(removed.end(), Err(Error::Interrupted)));
        assert!(
            RemovedRuns::default()
                .end()
                .is_ok_and(|runs| runs.is_empty())
        );
    }
}
