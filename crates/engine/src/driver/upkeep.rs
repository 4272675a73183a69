//! The remains of stopped runs in a destination of the contract, shown and removed; and the undo of a published run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use inrush_destination::{Ability, Destination, PastRun, RunRecord, RunState, UndoRequest};

use super::plan::{each_record, since_marks_of};
use crate::driver_trait::PastRuns;
use crate::error::Error;
use crate::fault;
use crate::ledger::{Account, LedgerRun, LedgerRunState, moment_text};
use crate::pipeline::naming;
use crate::plan::identity;
use crate::undo::{UndoOptions, Undone};
use crate::upkeep::{MarkOfTarget, RemovedRuns, RunOfTarget, StoppedRun, Which};

/// A destination with a ledger.
pub struct LedgerOfDestination {
    /// The destination, open.
    pub destination: Box<dyn Destination>,
}

impl PastRuns for LedgerOfDestination {
    fn stopped(&self, which: &Which) -> Result<Vec<StoppedRun>, Error> {
        let destination = self.destination.as_ref();
        let runs = stopped(destination, which)?;
        let described = runs.iter().map(|run| describe(destination, &run.record));
        Ok(described.collect::<Result<_, _>>()?)
    }

    fn marks(&self, which: &Which) -> Result<Vec<MarkOfTarget>, Error> {
        let destination = self.destination.as_ref();
        let runs = destination.runs(None)?;
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
            for (target, mark) in since_marks_of(destination, run, &left)? {
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

    fn runs_of_targets(
        &self,
        which: &Which,
        is_asked: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<RunOfTarget>, Error> {
        let destination = self.destination.as_ref();
        let mut found = Vec::new();
        for run in destination.runs(None)?.into_iter().rev() {
            let record = &run.record;
            let targets = record.targets.iter().filter(|target| is_asked(target));
            let targets: Vec<&String> = targets.collect();
            if targets.is_empty()
                || record.state == RunState::Discarded
                || !which.is_asked(&record.package, &record.name)
            {
                continue;
            }
            let mut rows: BTreeMap<String, u64> = BTreeMap::new();
            destination.units(record, &mut |unit| {
                *rows.entry(unit.target).or_default() += unit.rows_loaded;
            })?;
            let lineage = destination.lineage(record)?;
            found.extend(targets.into_iter().map(|target| {
                let rows_loaded = rows.get(target).copied().unwrap_or(0);
                RunOfTarget::new(ledger_run(record), target, rows_loaded, lineage.as_deref())
            }));
        }
        Ok(found)
    }

    fn discard(&self, which: &Which) -> Result<Vec<StoppedRun>, Error> {
        let mut removed = RemovedRuns::default();
        for run in stopped(self.destination.as_ref(), which)? {
            // Its units are read before they are removed.
            let described = describe(self.destination.as_ref(), &run.record);
            let discarded = self.destination.discard(&run);
            removed.note(
                match described.and_then(|described| discarded.map(|()| described)) {
                    Ok(described) => Ok(Some(described)),
                    Err(inrush_destination::Error::Held { .. }) => Ok(None),
                    Err(error) => Err(error.into()),
                },
            );
        }
        removed.end()
    }

    fn undo(&self, options: &UndoOptions<'_>) -> Result<Option<Undone>, Error> {
        let destination = self.destination.as_ref();
        if !destination.abilities().can.contains(&Ability::Undo) {
            return Ok(None);
        }
        let runs = destination.runs(None)?.into_iter();
        let Some(run) = runs
            .map(|run| run.record)
            .find(|run| run.name == *options.run)
        else {
            return Err(not_undone(
                format!("the ledger has no run {}", options.run),
                "`inrush run` prints the name of the run at its end; its folder in runs/ has the same name",
            ));
        };
        let hint = match run.state {
            RunState::Switched => None,
            RunState::Undone => {
                return Ok(Some(Undone {
                    run: ledger_run(&run),
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
        let reached = |step| fault::reach_step(options.fault.as_ref(), step);
        let undone = destination.undo(&request, &reached)?;
        Ok(Some(Undone {
            run: ledger_run(&RunRecord {
                state: RunState::Undone,
                ..run
            }),
            before: false,
            targets: undone.targets,
            drop_statements: undone.removals,
        }))
    }
}

/// The runs of a destination that match the filter and have not published, the newest first.
fn stopped(destination: &dyn Destination, which: &Which) -> Result<Vec<PastRun>, Error> {
    let is_asked = |run: &PastRun| {
        let record = &run.record;
        record.state == RunState::Loading && which.is_asked(&record.package, &record.name)
    };
    let mut runs: Vec<PastRun> = destination.runs(None)?;
    runs.retain(is_asked);
    runs.reverse();
    Ok(runs)
}

fn not_undone(what: String, hint: &str) -> Error {
    let hint = hint.to_owned();
    inrush_destination::Error::Unsuitable { what, hint }.into()
}

/// A run as callers know it.
fn ledger_run(record: &RunRecord) -> LedgerRun {
    LedgerRun {
        run_id: record.run_id,
        name: record.name.clone(),
        package: record.package.clone(),
        epoch: record.epoch,
        state: match record.state {
            RunState::Loading => LedgerRunState::Loading,
            RunState::Switched => LedgerRunState::Switched,
            RunState::Discarded => LedgerRunState::Discarded,
            RunState::Undone => LedgerRunState::Undone,
        },
        holder: record.holder.clone(),
        started_at_microseconds: record.started_at_microseconds,
        held_since: moment_text(record.started_at_microseconds),
        switched_at: record.switched_at_microseconds.map(moment_text),
        targets: record.targets.clone(),
        target_oids: Vec::new(),
    }
}

/// A run as `status` shows it, with the totals of its units.
fn describe(
    destination: &dyn Destination,
    record: &RunRecord,
) -> inrush_destination::Result<StoppedRun> {
    let mut account = Account::default();
    let mut units_finished = 0;
    // Only the process that reads a fed file knows whether it was read to its end.
    let mut begun = BTreeSet::new();
    let mut is_of_another_version = false;
    each_record(destination, record, &mut |record| {
        is_of_another_version |= identity::is_of_another_version(&record.key);
        match record.is_whole() {
            true => units_finished += 1,
            false => {
                begun.insert(record.unit_key());
            }
        }
        account.add(&record.account());
    })?;
    Ok(StoppedRun {
        run: ledger_run(record),
        held: destination.is_held(record)?,
        units_finished,
        units_begun: begun.len(),
        account,
        staging_tables: destination.staging_tables(record)?,
        rows_straight: 0,
        is_of_another_version,
        staging_bytes: destination.staged_bytes(record)?,
    })
}
