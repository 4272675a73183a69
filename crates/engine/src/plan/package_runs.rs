//! The runs of a package in the ledger of its destination.

use inrush_destination::{PastRun, Result, RunLedger, RunState};
use inrush_rows::ids::{FileKey, RunId, RunKey, RunName};

use super::loaded::LoadedFiles;
use crate::ledger::{SplitRecord, SwitchedFile, each_record};

/// The runs of a package, as the ledger had them when they were read.
pub struct PackageRuns<'a> {
    ledger: &'a dyn RunLedger,
    run_key: &'a RunKey,
    /// The oldest first.
    runs: Vec<PastRun>,
}

impl<'a> PackageRuns<'a> {
    /// Reads the runs of a package.
    pub fn read(ledger: &'a dyn RunLedger, run_key: &'a RunKey) -> Result<PackageRuns<'a>> {
        Ok(PackageRuns {
            ledger,
            run_key,
            runs: ledger.runs(Some(run_key))?,
        })
    }

    /// The latest run that was neither given up nor undone, if its rows are in their targets.
    pub(super) fn latest_if_switched(&self) -> Option<&PastRun> {
        let is_over =
            |run: &&PastRun| matches!(run.record.state, RunState::Discarded | RunState::Undone);
        let latest = self.runs.iter().rfind(|run| !is_over(run));
        latest.filter(|run| is_switched(run))
    }

    /// The latest run that stopped before its rows were in their targets.
    pub(super) fn latest_stopped(&self) -> Option<&PastRun> {
        let is_stopped = |run: &&PastRun| run.record.state == RunState::Loading;
        self.runs.iter().rfind(is_stopped)
    }

    /// The run with this number.
    pub(super) fn with_id(&self, run_id: RunId) -> Option<&PastRun> {
        self.runs.iter().find(|run| run.record.run_id == run_id)
    }

    /// The run with this name.
    pub(super) fn with_name(&self, name: &RunName) -> Option<&PastRun> {
        self.runs.iter().find(|run| run.record.name == *name)
    }

    /// Passes each file that a run has switched in, or each range of it; the newest run first.
    pub(super) fn see_switched(&self, files: &mut LoadedFiles<'_>) -> Result<()> {
        let mut switched = self
            .runs
            .iter()
            .rev()
            .filter(|run| is_switched(run))
            .peekable();
        // Without a run, the ledger may not even stand.
        if switched.peek().is_none() || self.see_loaded_inputs(files, |_| true)? {
            return Ok(());
        }
        for run in switched {
            self.see_records(run, files)?;
        }
        Ok(())
    }

    /// Passes each file that this run has switched in.
    pub(super) fn see_switched_by(&self, run: &PastRun, files: &mut LoadedFiles<'_>) -> Result<()> {
        match self.see_loaded_inputs(files, |run_id| run_id == run.record.run_id)? {
            true => Ok(()),
            false => self.see_records(run, files),
        }
    }

    /// The splits of a file that a run has loaded.
    pub(super) fn splits_of(&self, run_id: RunId, file: &FileKey) -> Result<Vec<SplitRecord>> {
        let mut found = Vec::new();
        if let Some(run) = self.with_id(run_id) {
            each_record(self.ledger, &run.record, &mut |record| {
                let own = record.splits.into_iter();
                found.extend(own.filter(|split| split.file_key == *file));
            })?;
        }
        Ok(found)
    }

    /// Passes the inputs of these runs that the server finds. False if it cannot find any.
    fn see_loaded_inputs(
        &self,
        files: &mut LoadedFiles<'_>,
        is_asked: impl Fn(RunId) -> bool,
    ) -> Result<bool> {
        // The inputs of a run follow each other.
        let mut last: Option<&PastRun> = None;
        self.ledger.loaded_inputs(self.run_key, &mut |input| {
            if last.is_none_or(|run| run.record.run_id != input.run_id) {
                last = self.with_id(input.run_id);
            }
            let Some(run) = last.filter(|_| is_asked(input.run_id)) else {
                return;
            };
            let switched = SwitchedFile {
                run_id: input.run_id,
                package_hash: run.record.package_hash.clone(),
                target: input.target,
                file_key: input.input_key,
                file_bytes: input.bytes,
                file_modified_ns: input.modified_ns,
                file_state: input.state,
                rows_loaded: input.rows_loaded,
            };
            see(run, &switched, files);
        })
    }

    /// Passes the splits in the records of a run.
    fn see_records(&self, run: &PastRun, files: &mut LoadedFiles<'_>) -> Result<()> {
        each_record(self.ledger, &run.record, &mut |record| {
            for split in record.splits {
                let switched = SwitchedFile {
                    run_id: run.record.run_id,
                    package_hash: run.record.package_hash.clone(),
                    target: record.target.clone(),
                    file_key: split.file_key,
                    file_bytes: split.file_bytes,
                    file_modified_ns: split.file_modified_ns,
                    file_state: split.file_state,
                    rows_loaded: split.account.rows_loaded,
                };
                see(run, &switched, files);
            }
        })
    }
}

fn is_switched(run: &PastRun) -> bool {
    run.record.state == RunState::Switched
}

fn see(run: &PastRun, switched: &SwitchedFile, files: &mut LoadedFiles<'_>) {
    match run.gone.contains(&switched.target) {
        true => files.see_gone(switched),
        false => files.see(switched),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fake::{FakeLedger, unit_record};

    #[test]
    fn a_run_that_was_given_up_does_not_hide_the_one_before() {
        let key = RunKey::new("key");
        let states = |states: &[RunState]| {
            let mut ledger = FakeLedger::default();
            for state in states {
                ledger.add(*state, vec![unit_record("a", 0, "1", 1)]);
            }
            let runs = PackageRuns::read(&ledger, &key).expect("they are read");
            let id = |run: Option<&PastRun>| run.map(|run| run.record.run_id.number());
            (id(runs.latest_if_switched()), id(runs.latest_stopped()))
        };
        use RunState::{Discarded, Loading, Switched, Undone};
        assert_eq!(states(&[Switched, Discarded]), (Some(1), None));
        assert_eq!(states(&[Switched, Undone, Discarded]), (Some(1), None));
        assert_eq!(states(&[Switched, Loading, Discarded]), (None, Some(2)));
        assert_eq!(states(&[Loading, Switched]), (Some(2), Some(1)));
        assert_eq!(states(&[Discarded]), (None, None));
    }
}
