//! Makes the rows of a run visible in their targets, for any destination.
//!
//! ```text
//! publish ── a target refuses a row ──> load units of its flow again ──> verify the account ──> publish
//! ```
//!
//! After an error the ledger says whether the run is published nevertheless ([`settle`](super::settle)).

use std::collections::BTreeMap;

use inrush_destination::{AddedMembers, Error as ContractError, MergedRows, Published};
use inrush_plan::destination_error::DestinationError;
use inrush_rows::cancel::StopReason;

use super::account;
use super::committed_units::CommittedUnits;
use super::context::RunContext;
use super::gathering::Gathering;
use super::prepared::PreparedRun;
use super::publish_faults::reach_step;
use super::reload::reload;
use super::rows_in_source::SourceOfStaged;
use super::settle::{settle, unknown_switch};
use crate::error::Error;
use crate::load::refuse_pipe;
use crate::pipeline::results::StreamResult;
use crate::report::{MembersReport, PartitionReport, VersionsReport};

/// A target after the switch.
#[derive(Default)]
pub struct SwitchedTarget {
    /// The partitions that were written.
    pub partitions: Vec<PartitionReport>,
    /// Rows that replaced others of the same key, for an upsert.
    pub rows_updated: Option<u64>,
    /// For an upsert with `scd`: the numbers of its rows that became new versions, and of the others.
    pub versions: Option<VersionsReport>,
    /// The members that its lookups have added to their references.
    pub members: Vec<MembersReport>,
}

/// Publishes, and loads units again as often as that may help.
pub fn publish(
    context: &RunContext<'_>,
    committed: &mut CommittedUnits,
    gathering: &mut Gathering,
) -> Result<BTreeMap<usize, SwitchedTarget>, Error> {
    let mut careful = CarefulFlows::default();
    let mut source = SourceOfStaged::new(*context);
    loop {
        let (flow_at, refusal) = match attempt(context, &mut source, gathering)? {
            Attempt::Published(published) => {
                gathering.rejected(source.told());
                return Ok(switched(context.run, published, gathering));
            }
            Attempt::Refused { flow, refusal } => (flow, DestinationError::from(refusal)),
        };
        if !careful.add(flow_at) {
            // The careful load has not found the rows.
            return Err(Error::Destination(refusal));
        }
        source.take_back()?;
        let flow = &context.run.plan.flows[flow_at];
        let refusal = refuse_pipe(flow, refusal)?;
        for unit_at in 0..flow.units.len() {
            context.run.fed_files.close((flow_at, unit_at));
        }
        let mut result = StreamResult::default();
        let reloaded = reload(context, flow_at, &refusal, committed, &mut result);
        gathering.loaded.add_all(result.loaded);
        gathering.rejected(result.rejects);
        reloaded?;
        // Units that were loaded again may have fewer rows.
        *committed = account::verify(context)?;
    }
}

/// The flows that were loaded again carefully, each with the number of other such flows at that time.
#[derive(Default)]
struct CarefulFlows(BTreeMap<usize, usize>);

impl CarefulFlows {
    /// Adds a flow. Returns false if it was there already, and no other flow was added since.
    fn add(&mut self, flow: usize) -> bool {
        let others = self.0.keys().filter(|other| **other != flow).count();
        self.0.insert(flow, others) != Some(others)
    }
}

/// The result of an attempt that did not fail.
enum Attempt {
    /// All rows are in their targets.
    Published(Published),
    /// The target of a flow refused a row. Nothing is published.
    Refused { flow: usize, refusal: ContractError },
}

/// Publishes, but stops waiting when the run is asked to stop. After a stop or an error it is not known whether the publish
/// succeeded, so the ledger is asked. If the connection was lost, the ledger is asked until the destination answers again.
fn attempt<'a>(
    context: &RunContext<'a>,
    source: &mut SourceOfStaged<'a>,
    gathering: &mut Gathering,
) -> Result<Attempt, Error> {
    let open = &*context.run.open;
    let reached = |step| reach_step(context.fault, step);
    let error = match context.cancelled_by_stop(|| open.publish(&reached, source))? {
        Ok(published) => return Ok(Attempt::Published(published)),
        Err(error) => error,
    };
    if let Some(error) = source.take_error() {
        gathering.rejected(source.told());
        return Err(error);
    }
    let is_switched = match error {
        ContractError::Lost { .. } => settle(context),
        _ => open.is_switched(),
    };
    match is_switched {
        Ok(true) => {
            let mut published = open.published();
            let note = format!("the rows are in their targets, but a later step failed: {error}");
            published.notes.push(note);
            return Ok(Attempt::Published(published));
        }
        Ok(false) => {}
        Err(asking) => return Err(unknown_switch(&error, &asking)),
    }
    if context.stop.asked() == Some(StopReason::Interrupted) {
        return Err(Error::Interrupted);
    }
    match error {
        ContractError::RowsRefused { target, .. } => Ok(Attempt::Refused {
            flow: target,
            refusal: error,
        }),
        error => Err(error.into()),
    }
}

/// The report's facts about the published targets. Adds the destination's notes.
fn switched(
    run: &PreparedRun,
    published: Published,
    gathering: &mut Gathering,
) -> BTreeMap<usize, SwitchedTarget> {
    for note in published.notes {
        gathering.note(note);
    }
    let mut targets: BTreeMap<usize, SwitchedTarget> = BTreeMap::new();
    for (flow, partitions) in published.partitions {
        let partitions = partitions.into_iter().map(|partition| PartitionReport {
            name: partition.name,
            lower: partition.lower,
            upper: partition.upper,
        });
        let target = targets.entry(flow).or_default();
        target.partitions = partitions.collect();
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
        match run.plan.flows[flow].keeps_versions {
            false => target.rows_updated = Some(merged.overwritten),
            true => target.versions = Some(versions_report(merged)),
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

#[cfg(test)]
mod tests {
    use super::CarefulFlows;

    #[test]
    fn a_flow_is_loaded_again_only_if_another_one_was_added_since() {
        let mut careful = CarefulFlows::default();
        assert!(careful.add(1));
        assert!(!careful.add(1));
        assert!(careful.add(0));
        assert!(careful.add(1));
        assert!(!careful.add(1));
        // There were as many others when it was loaded again.
        assert!(!careful.add(0));
    }
}
