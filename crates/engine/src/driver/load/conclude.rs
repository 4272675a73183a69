//! After the last unit: compares the ledger's records of units with the files, then publishes everything.

use std::collections::{BTreeMap, BTreeSet};

use inrush_destination::{AddedMembers, Destination, MergedRows, Published};
use inrush_rows::cancel::StopReason;

use super::ContractContext;
use super::prepared::ContractRun;
use super::staged_sums::SentSums;
use crate::driver::failures::unknown_switch;
use crate::driver::plan::ContractFlow;
use crate::error::Error;
use crate::fault;
use crate::ledger::each_record;
use crate::pipeline::results::LoadedPieces;
use crate::plan::{UnitAccounts, UnitIndex, UnitPlace};
use crate::report::{MembersReport, PartitionReport, VersionsReport};
use crate::run::account::CommittedUnits;
use crate::run::gathering::Gathering;
use crate::run::ledger_checks::LedgerChecks;
use crate::run::settle::settle;
use crate::run::steps::SwitchedTarget;
use crate::run::unit_reports::UnitEnd;

/// The units that the ledger has of a run, and for each flow the number of staged rows as the destination counts them.
pub struct StagedUnits {
    accounts: UnitAccounts,
    rows: Vec<u64>,
    /// Flows whose units are being loaded again, carefully. The report says so for units that are loaded.
    careful: BTreeSet<usize>,
}

impl StagedUnits {
    /// The units that this attempt knows without reading the ledger: those that it kept and those that it committed.
    pub fn known(run: &ContractRun, gathering: &Gathering) -> StagedUnits {
        let mut accounts = UnitAccounts::none(&run.plan.flows);
        for (place, kept) in run.kept.iter() {
            accounts.add(place, &kept.account);
        }
        for loaded in &gathering.loaded {
            accounts.add((loaded.flow, loaded.unit), &loaded.account);
        }
        let rows = (0..run.plan.flows.len()).map(|flow| accounts.total(flow).rows_loaded);
        StagedUnits {
            rows: rows.collect(),
            accounts,
            careful: BTreeSet::new(),
        }
    }

    /// Forgets the units of a flow, which are no longer in staging, and marks the flow as careful.
    pub fn forget(&mut self, flow: usize) {
        self.accounts.forget(flow);
        self.careful.insert(flow);
    }

    /// Adds units that were committed after the ledger was read.
    pub fn add(&mut self, loaded: &LoadedPieces) {
        for piece in loaded {
            self.accounts.add((piece.flow, piece.unit), &piece.account);
        }
    }
}

impl CommittedUnits<ContractRun> for StagedUnits {
    fn unit(&self, run: &ContractRun, place: UnitPlace, is_loaded: bool) -> UnitEnd {
        let account = self.accounts.get(place);
        // For a file that is read through a feed, only reading it to its end proves that all of it was kept.
        let is_finished = match run.sharing.get(&place) {
            None => account.is_some(),
            Some(sharing) => sharing.is_done(),
        };
        let account = account.unwrap_or_default();
        UnitEnd {
            is_kept: is_finished && !is_loaded && run.kept.get(place).is_some(),
            is_finished,
            is_careful: self.careful.contains(&place.0),
            server_copy: None,
            account,
            // Rows are committed only if the destination counts this number.
            rows_counted: is_finished.then_some(account.rows_loaded),
        }
    }

    fn rows_staged(&self, flow: usize) -> Option<u64> {
        Some(self.rows.get(flow).copied().unwrap_or(0))
    }
}

/// Reads the ledger, and compares each file of the plan with it.
pub fn staged_units(
    context: &ContractContext<'_>,
    destination: &dyn Destination,
) -> Result<StagedUnits, Error> {
    let run = context.run;
    // This comes first, because the destination and the ledger may read all units.
    let open = run.open.as_ref();
    let rows = open.staged_rows()?;
    // The check uses the ledger, not the memory of this process.
    let flows = &run.plan.flows;
    let index = UnitIndex::new(flows);
    let mut accounts = UnitAccounts::none(flows);
    let mut sums = SentSums::none(flows);
    let mut checks = LedgerChecks::new(&run.prepared);
    each_record(destination, open.record(), &mut |record| {
        // The destination's count of rows reveals the rows of a unit that the plan does not have.
        let Some(place) = index.place_of(&record) else {
            return;
        };
        accounts.add(place, &record.account());
        sums.add(place.0, &flows[place.0], &record.splits);
        for split in record.splits {
            checks.see(place.0, split);
        }
    })?;
    checks.finish()?;
    context.cancelled_by_stop(|| sums.compare(&run.plan.flows, open))??;
    Ok(StagedUnits {
        accounts,
        rows,
        careful: BTreeSet::new(),
    })
}

/// The result of a publish that did not fail.
pub enum PublishEnd {
    /// All rows are in their targets.
    Published(Published),
    /// The target of a flow refused a row. Nothing is published.
    RowsRefused {
        /// The index of the flow.
        target: usize,
        /// The error of the destination.
        refusal: inrush_destination::Error,
    },
}

/// The report's facts about the published targets. Adds the destination's notes.
pub fn switched(
    flows: &[ContractFlow],
    published: Published,
    gathering: &mut Gathering,
) -> BTreeMap<usize, SwitchedTarget> {
    for note in published.notes {
        gathering.note(note);
    }
    let mut targets: BTreeMap<usize, SwitchedTarget> = BTreeMap::new();
    for (flow, names) in published.partitions {
        let partition = |name| PartitionReport {
            name,
            lower: None,
            upper: None,
        };
        let target = targets.entry(flow).or_default();
        target.partitions = names.into_iter().map(partition).collect();
    }
    for AddedMembers {
        target,
        table,
        added,
    } in published.members
    {
        let members = MembersReport {
            reference: table,
            added,
        };
        targets.entry(target).or_default().members.push(members);
    }
    for (flow, merged) in published.merged {
        let target = targets.entry(flow).or_default();
        let merge = flows[flow].target.merge.as_ref();
        match merge.and_then(|merge| merge.versions.as_ref()) {
            None => target.rows_updated = Some(merged.overwritten),
            Some(_) => target.versions = Some(versions_report(merged)),
        }
    }
    targets
}

fn versions_report(merged: MergedRows) -> VersionsReport {
    let MergedRows {
        new,
        changed,
        overwritten,
        unchanged,
    } = merged;
    VersionsReport {
        new,
        changed,
        overwritten,
        unchanged,
    }
}

/// Publishes, but stops waiting when the run is asked to stop. Then, and after any error, it is not known whether the publish
/// succeeded; the ledger shows it, and if the connection was lost, as soon as the destination answers again.
pub fn publish(context: &ContractContext<'_>) -> Result<PublishEnd, Error> {
    let open = context.run.open.as_ref();
    let published = context
        .cancelled_by_stop(|| open.publish(&|step| fault::reach_step(context.fault, step)))?;
    let error = match published {
        Ok(published) => return Ok(PublishEnd::Published(published)),
        Err(error) => error,
    };
    let is_lost = matches!(error, inrush_destination::Error::Lost { .. });
    let is_switched = match is_lost {
        true => {
            let asking = settle(context.stop, async || open.is_switched());
            context.runtime.block_on(asking)
        }
        false => open.is_switched(),
    };
    match is_switched {
        Ok(true) => {
            return Ok(PublishEnd::Published(Published {
                notes: vec![format!(
                    "the rows are in their targets, but a later step failed: {error}"
                )],
                ..Published::default()
            }));
        }
        Ok(false) => {}
        Err(asking) => return Err(unknown_switch(&error, &asking)),
    }
    match context.stop.asked() {
        Some(StopReason::Interrupted) => Err(Error::Interrupted),
        _ => match error {
            inrush_destination::Error::RowsRefused { target, .. } => Ok(PublishEnd::RowsRefused {
                target,
                refusal: error,
            }),
            error => Err(error.into()),
        },
    }
}
