//! Past runs in the ledger of a destination: stopped runs are shown and removed, and a published run is undone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use inrush_destination::{PastRun, RunLedger, RunRecord, RunState, UndoRequest};
use inrush_plan::identity;
use inrush_plan::ledger::marks::since_marks_of;
use inrush_plan::ledger::{Account, each_unit_total};

use super::{MarkOfTarget, RemovedRuns, RunOfTarget, StoppedRun, Which};
use crate::error::Error;
use crate::pipeline::naming;
use crate::reject_replay::first_package;
use crate::run::publish_faults::reach_step;
use crate::undo::{UndoOptions, Undone};

/// The past runs of a destination.
pub struct PastRuns {
    ledger: Box<dyn RunLedger>,
}

impl PastRuns {
    /// The runs that a ledger knows.
    pub fn of(ledger: Box<dyn RunLedger>) -> PastRuns {
        PastRuns { ledger }
    }

    /// The runs that stopped before their switch, the newest first.
    pub fn stopped(&self, which: &Which) -> Result<Vec<StoppedRun>, Error> {
        let runs = self.loading(which)?;
        let described = runs.iter().map(|run| self.describe(&run.record));
        Ok(described.collect::<Result<_, _>>()?)
    }

    /// The marks of incremental loads, in the order of packages and targets.
    pub fn marks(&self, which: &Which) -> Result<Vec<MarkOfTarget>, Error> {
        let runs = self.ledger.runs(None)?;
        let mut found: Vec<MarkOfTarget> = Vec::new();
        let mut seen = BTreeSet::new();
        let is_switched = |run: &&PastRun| run.record.state == RunState::Switched;
        for run in runs.iter().rev().filter(is_switched) {
            let record = &run.record;
            let place = |target: &str| (record.run_key.clone(), target.to_owned());
            let targets = record.targets.iter().map(String::as_str);
            let left: Vec<&str> = targets
                .filter(|target| !seen.contains(&place(target)))
                .collect();
            if left.is_empty() || !which.is_asked(&record.package, &record.name) {
                continue;
            }
            for (target, mark) in since_marks_of(&*self.ledger, run, &left)? {
                seen.insert(place(&target));
                found.push(MarkOfTarget {
                    package: record.package.clone(),
                    target,
                    run: mark.run,
                    range: mark.range,
                });
            }
        }
        found.sort_by(|one, other| {
            (&one.package, &one.target).cmp(&(&other.package, &other.target))
        });
        Ok(found)
    }

    /// The runs into a target for which `is_asked` is true, the newest first. `is_asked` gets the target's name in SQL. Replays of
    /// rejects belong to the package whose rows they load. Runs that were given up are left out.
    pub fn runs_of_targets(
        &self,
        which: &Which,
        is_asked: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<RunOfTarget>, Error> {
        let mut found = Vec::new();
        for run in self.ledger.runs(None)?.into_iter().rev() {
            let record = &run.record;
            let targets = record.targets.iter().filter(|target| is_asked(target));
            let targets: Vec<&String> = targets.collect();
            let is_of = |package: &str| which.is_asked(package, &record.name);
            if targets.is_empty()
                || record.state == RunState::Discarded
                || !(is_of(&record.package) || is_of(first_package(&record.package)))
            {
                continue;
            }
            let mut rows: BTreeMap<String, u64> = BTreeMap::new();
            each_unit_total(&*self.ledger, record, &mut |unit| {
                *rows.entry(unit.target).or_default() += unit.account.rows_loaded;
            })?;
            let lineage = self.ledger.lineage(record)?;
            found.extend(targets.into_iter().map(|target| {
                let rows_loaded = rows.get(target).copied().unwrap_or(0);
                RunOfTarget::new(record.clone(), target, rows_loaded, lineage.as_deref())
            }));
        }
        Ok(found)
    }

    /// Removes the staged rows of stopped runs and marks the runs as discarded, except those that are still working. A run
    /// that has written rows directly to its targets is discarded only if it is named: if it were forgotten, the same rows
    /// would be loaded twice. Returns the runs that were discarded.
    pub fn discard(&self, which: &Which) -> Result<Vec<StoppedRun>, Error> {
        let mut removed = RemovedRuns::default();
        for run in self.loading(which)? {
            removed.note(self.discard_one(&run, which.run.is_some()));
        }
        removed.end()
    }

    /// `None` if the run is left alone.
    fn discard_one(&self, run: &PastRun, is_named: bool) -> Result<Option<StoppedRun>, Error> {
        // Its units are read before they are removed.
        let described = self.describe(&run.record)?;
        if described.held == Some(true) || (described.rows_straight > 0 && !is_named) {
            return Ok(None);
        }
        match self.ledger.discard(run) {
            Ok(()) => Ok(Some(described)),
            Err(inrush_destination::Error::Held { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the rows that a run brought in, and puts back the rows that it replaced. `None` if the destination keeps
    /// no replaced rows.
    pub fn undo(&self, options: &UndoOptions<'_>) -> Result<Option<Undone>, Error> {
        let runs = self.ledger.runs(None)?.into_iter();
        let Some(run) = runs
            .map(|run| run.record)
            .find(|run| run.name == *options.run)
        else {
            return Err(not_undone(
                format!("the ledger has no run {}", options.run),
                "`inrush run` prints the name of the run at its end, and its folder in runs/ has the same name; give \
                 --ledger-schema if the run used another schema than this one",
            ));
        };
        let hint = match run.state {
            RunState::Switched => None,
            RunState::Undone => {
                return Ok(Some(Undone {
                    run,
                    before: true,
                    targets: Vec::new(),
                    drop_statements: Vec::new(),
                }));
            }
            RunState::Loading => Some("`inrush cleanup` removes the staged rows of a stopped run"),
            RunState::Discarded => Some("it was given up, and nothing of it is left"),
        };
        if let Some(hint) = hint {
            let what = format!(
                "run {} has published nothing: there is nothing to undo",
                run.name
            );
            return Err(not_undone(what, hint));
        }
        let request = UndoRequest {
            run: &run,
            keeps: !options.drop,
            lock_timeout: Duration::from_millis(options.lock_timeout_ms.into()),
            by: &naming::holder(),
        };
        let reached = |step| reach_step(options.fault.as_ref(), step);
        let undone = self.ledger.undo(&request, &reached)?;
        Ok(undone.map(|undone| Undone {
            run: RunRecord {
                state: RunState::Undone,
                ..run
            },
            before: false,
            targets: undone.targets,
            drop_statements: undone.removals,
        }))
    }

    /// The runs that match the filter and have not published, the newest first.
    fn loading(&self, which: &Which) -> Result<Vec<PastRun>, Error> {
        let is_asked = |run: &PastRun| {
            let record = &run.record;
            record.state == RunState::Loading && which.is_asked(&record.package, &record.name)
        };
        let mut runs: Vec<PastRun> = self.ledger.runs(None)?;
        runs.retain(is_asked);
        runs.reverse();
        Ok(runs)
    }

    /// A run as `status` shows it, with the totals of its units.
    fn describe(&self, record: &RunRecord) -> inrush_destination::Result<StoppedRun> {
        let mut account = Account::default();
        let mut units_finished = 0;
        let mut begun = BTreeSet::new();
        let mut is_of_another_version = false;
        let mut rows_straight = 0;
        each_unit_total(&*self.ledger, record, &mut |unit| {
            is_of_another_version |= identity::is_of_another_version(&unit.key);
            account.add(&unit.account);
            if unit.is_direct {
                rows_straight += unit.account.rows_loaded;
            }
            match unit.is_finished {
                true => units_finished += 1,
                false => {
                    begun.insert(unit.key);
                }
            }
        })?;
        Ok(StoppedRun {
            run: record.clone(),
            held: self.ledger.is_held(record)?,
            units_finished,
            units_begun: begun.len(),
            account,
            staging_tables: self.ledger.staging_tables(record)?,
            rows_straight,
            is_of_another_version,
            staging_bytes: self.ledger.staged_bytes(record)?,
        })
    }
}

fn not_undone(what: String, hint: &str) -> Error {
    let hint = hint.to_owned();
    inrush_destination::Error::Unsuitable { what, hint }.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use inrush_plan::ledger::fake::{FakeLedger, unit_record};

    fn ledger(answers: bool) -> FakeLedger {
        let mark = |below: &str| {
            format!(
                "since {{\"of\":\"o\",\"column\":\"at\",\"from\":null,\"below\":\"{below}\",\"given\":null,\"snapshot\":null}}"
            )
        };
        let mut ledger = FakeLedger {
            answers,
            ..FakeLedger::default()
        };
        ledger.add(RunState::Switched, vec![unit_record("a", 0, &mark("1"), 5)]);
        ledger.add(
            RunState::Switched,
            vec![
                unit_record("a", 1, &mark("2"), 7),
                unit_record("a", 2, "123", 9),
            ],
        );
        ledger.add(RunState::Switched, vec![unit_record("a", 0, "123", 11)]);
        ledger.add(
            RunState::Loading,
            vec![
                unit_record("a", 0, "1", 100),
                unit_record("b", 1, "2", 20),
                unit_record("b", 2, "3", 3),
            ],
        );
        ledger
    }

    fn told(runs: &[StoppedRun]) -> Vec<String> {
        runs.iter().map(|run| format!("{run:?}")).collect()
    }

    #[test]
    fn units_and_states_are_the_same_whoever_adds_them_up() {
        let all = Which::default();
        let [own, of_server] = [false, true].map(|answers| PastRuns::of(Box::new(ledger(answers))));
        let stopped = own.stopped(&all).expect("they are read");
        assert_eq!(
            told(&stopped),
            told(&of_server.stopped(&all).expect("they are read"))
        );
        assert_eq!(stopped.len(), 1);
        assert_eq!((stopped[0].units_finished, stopped[0].units_begun), (1, 1));
        assert_eq!(
            stopped[0].account,
            Account {
                rows_read: 129,
                rows_loaded: 123,
                rows_rejected: 3,
                rows_skipped: 3,
                bytes_read: 30,
                ..Account::default()
            }
        );
        let marks = own.marks(&all).expect("they are read");
        assert_eq!(marks, of_server.marks(&all).expect("they are read"));
        // The run after the mark's run has no incremental load.
        let below = marks
            .iter()
            .map(|mark| (mark.run.as_str(), mark.range.below.as_str()));
        assert_eq!(below.collect::<Vec<_>>(), [("p-2", "2")]);
        let rows = |runs: &PastRuns| {
            let runs = runs.runs_of_targets(&all, &|target| target == "t");
            let runs = runs.expect("they are read").into_iter();
            runs.map(|run| run.rows_loaded).collect::<Vec<u64>>()
        };
        assert_eq!(rows(&own), [123, 11, 16, 5]);
        assert_eq!(rows(&of_server), rows(&own));
    }

    #[test]
    fn runs_that_are_held_or_have_direct_rows_are_left_alone() {
        let mut ledger = FakeLedger {
            answers: true,
            ..FakeLedger::default()
        };
        let add = |ledger: &mut FakeLedger, unit: &str| {
            ledger.add(RunState::Loading, vec![unit_record(unit, 0, "1", 4)])
        };
        let staged = add(&mut ledger, "staged");
        let held = add(&mut ledger, "held");
        let taken = add(&mut ledger, "taken");
        let direct = add(&mut ledger, "direct");
        ledger.held.insert(held);
        ledger.taken.insert(taken);
        let unit = unit_record("direct", 0, "1", 4).key;
        ledger.direct.insert(unit);
        let all = Arc::clone(&ledger.discarded);
        let runs = PastRuns::of(Box::new(ledger));
        let names = |runs: Vec<StoppedRun>| -> Vec<_> {
            runs.into_iter()
                .map(|run| (run.run.name, run.rows_straight))
                .collect()
        };
        let discarded = runs.discard(&Which::default()).expect("nothing fails");
        assert_eq!(names(discarded), [(staged.clone(), 0)]);
        let named = Which {
            run: Some(direct.clone()),
            ..Which::default()
        };
        let discarded = runs.discard(&named).expect("nothing fails");
        assert_eq!(names(discarded), [(direct.clone(), 4)]);
        let all = all.lock().expect("no test has failed with it");
        assert_eq!(*all, [staged, direct]);
    }
}
