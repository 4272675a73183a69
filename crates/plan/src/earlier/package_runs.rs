//! The runs of a package in the ledger of its destination.

use std::cell::OnceCell;

use inrush_destination::{PastRun, Result, RunLedger, RunState};
use inrush_rows::ids::{FileKey, RunId, RunKey, RunName};
use inrush_source::SinceRange;

use crate::earlier::loaded::LoadedFiles;
use crate::ledger::{SplitRecord, SwitchedFile, each_record, marks};
use crate::reading::range_marks::RunRanges;
use crate::reading::since::SinceMark;

/// The runs of a package, as the ledger has them when a plan first asks for them. All flows of the plan see the same runs.
pub struct PackageRuns<'a> {
    ledger: &'a dyn RunLedger,
    run_key: &'a RunKey,
    /// The oldest first.
    runs: OnceCell<Vec<PastRun>>,
}

impl<'a> PackageRuns<'a> {
    /// The runs of a package. They are not read yet.
    pub fn new(ledger: &'a dyn RunLedger, run_key: &'a RunKey) -> PackageRuns<'a> {
        PackageRuns {
            ledger,
            run_key,
            runs: OnceCell::new(),
        }
    }

    /// The key of the package.
    pub fn run_key(&self) -> &'a RunKey {
        self.run_key
    }

    /// The runs, the oldest first.
    fn runs(&self) -> Result<&[PastRun]> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let runs = self.ledger.runs(Some(self.run_key))?;
        Ok(self.runs.get_or_init(|| runs))
    }

    /// The numbers of the runs whose rows are in their targets.
    pub fn switched(&self) -> Result<Vec<RunId>> {
        let switched = self.runs()?.iter().filter(|run| is_switched(run));
        Ok(switched.map(|run| run.record.run_id).collect())
    }

    /// The latest run that was neither given up nor undone, if its rows are in their targets.
    pub(super) fn latest_if_switched(&self) -> Result<Option<&PastRun>> {
        let is_over =
            |run: &&PastRun| matches!(run.record.state, RunState::Discarded | RunState::Undone);
        let latest = self.runs()?.iter().rfind(|run| !is_over(run));
        Ok(latest.filter(|run| is_switched(run)))
    }

    /// The latest run whose rows are not in their targets: it has stopped, or is in progress.
    pub(super) fn latest_unpublished(&self) -> Result<Option<&PastRun>> {
        let is_unpublished = |run: &&PastRun| run.record.state == RunState::Loading;
        Ok(self.runs()?.iter().rfind(is_unpublished))
    }

    /// The run with this number.
    pub(super) fn with_id(&self, run_id: RunId) -> Result<Option<&PastRun>> {
        let mut runs = self.runs()?.iter();
        Ok(runs.find(|run| run.record.run_id == run_id))
    }

    /// The run with this name.
    pub(super) fn with_name(&self, name: &RunName) -> Result<Option<&PastRun>> {
        let mut runs = self.runs()?.iter();
        Ok(runs.find(|run| run.record.name == *name))
    }

    /// The marks of a target, from the newest switched run that has marks for it.
    pub fn since_marks(&self, target: &str) -> Result<Vec<SinceMark>> {
        for run in self.runs()?.iter().rev().filter(|run| is_switched(run)) {
            let found = marks::since_marks_in(self.ledger, run, target)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// The ranges from which the latest run has loaded rows into a target, if it was stopped.
    pub fn since_stopped(&self, target: &str) -> Result<Vec<SinceRange>> {
        let Some(run) = self.latest_unpublished()? else {
            return Ok(Vec::new());
        };
        let marks = marks::since_marks_in(self.ledger, run, target)?;
        Ok(marks.into_iter().map(|mark| mark.range).collect())
    }

    /// The ranges of a key that the newest stopped run has loaded into a target, and those of the newest switched run.
    pub fn ranges(&self, target: &str) -> Result<Vec<RunRanges>> {
        let mut found = Vec::new();
        let switched = self.runs()?.iter().rfind(|run| is_switched(run));
        for (run, is_stopped) in [(self.latest_unpublished()?, true), (switched, false)] {
            let Some(run) = run else {
                continue;
            };
            let states = marks::ranges_in(self.ledger, run, target)?;
            let states = states.iter().map(String::as_str);
            found.extend(RunRanges::of_states(&run.record.name, is_stopped, states));
        }
        Ok(found)
    }

    /// Passes each file that a run has switched in, or each range of it; the newest run first.
    pub(super) fn see_switched(&self, files: &mut LoadedFiles<'_>) -> Result<()> {
        let runs = self.runs()?.iter().rev();
        let mut switched = runs.filter(|run| is_switched(run)).peekable();
        // Without a run, there may be no ledger.
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
        if let Some(run) = self.with_id(run_id)? {
            each_record(self.ledger, &run.record, &mut |record| {
                let own = record.splits.into_iter();
                found.extend(own.filter(|split| split.file_key == *file));
            })?;
        }
        Ok(found)
    }

    /// Passes the inputs that the server finds for the asked runs. False if the server cannot find loaded inputs; then
    /// none was passed.
    fn see_loaded_inputs(
        &self,
        files: &mut LoadedFiles<'_>,
        is_asked: impl Fn(RunId) -> bool,
    ) -> Result<bool> {
        let runs = self.runs()?;
        // The inputs of a run follow each other.
        let mut last: Option<&PastRun> = None;
        self.ledger.loaded_inputs(self.run_key, &mut |input| {
            if last.is_none_or(|run| run.record.run_id != input.run_id) {
                last = runs.iter().find(|run| run.record.run_id == input.run_id);
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
    use std::sync::atomic::Ordering;

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
            let runs = PackageRuns::new(&ledger, &key);
            let id = |run: Result<Option<&PastRun>>| {
                let run = run.expect("the runs are read");
                run.map(|run| run.record.run_id.number())
            };
            (id(runs.latest_if_switched()), id(runs.latest_unpublished()))
        };
        use RunState::{Discarded, Loading, Switched, Undone};
        assert_eq!(states(&[Switched, Discarded]), (Some(1), None));
        assert_eq!(states(&[Switched, Undone, Discarded]), (Some(1), None));
        assert_eq!(states(&[Switched, Loading, Discarded]), (None, Some(2)));
        assert_eq!(states(&[Loading, Switched]), (Some(2), Some(1)));
        assert_eq!(states(&[Discarded]), (None, None));
    }

    #[test]
    fn the_runs_are_read_once_for_all_flows() {
        let key = RunKey::new("key");
        let mut ledger = FakeLedger::default();
        ledger.add(RunState::Switched, vec![unit_record("a", 0, "1", 1)]);
        ledger.add(RunState::Loading, vec![unit_record("b", 0, "1", 1)]);
        let runs = PackageRuns::new(&ledger, &key);
        let reads = || ledger.reads.load(Ordering::Relaxed);
        assert_eq!(reads(), 0, "nothing asks for them yet");
        for target in ["t", "another"] {
            // The states of these inputs are no marks.
            assert!(runs.since_marks(target).expect("it is read").is_empty());
            assert!(runs.since_stopped(target).expect("it is read").is_empty());
            assert!(runs.ranges(target).expect("it is read").is_empty());
        }
        assert_eq!(runs.switched().expect("they are read"), [RunId::new(1)]);
        assert_eq!(reads(), 1);
    }
}
