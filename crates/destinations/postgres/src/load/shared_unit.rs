//! Units that several streams fill. Their table is committed first; the stream that loads the last split prepares the
//! unit for the switch.

use inrush_destination::sums::ExactSum;
use inrush_destination::{FedEnd, SplitRecord};
use inrush_fault::{self as fault, FaultPoint};
use inrush_plan::UnitPlace;
use inrush_verdict::Phase;

use super::performer::Performer;
use super::prepared::PostgresRun;
use super::{ledger_coverage, verifying};
use crate::Session;
use crate::load_error::LoadError;
use crate::plan::unit_steps::{self, Step};

/// Creates the tables of shared units that do not exist yet.
pub async fn create_missing(run: &PostgresRun) -> Result<(), LoadError> {
    for (flow_index, flow) in run.plan.flows.iter().enumerate() {
        for (unit_index, unit) in flow.unit_plans().enumerate() {
            let place = (flow_index, unit_index);
            if !unit.is_shared || run.kept().contains_key(&place) {
                continue;
            }
            let doing = format!("making the staging table of {}", flow.target());
            let mut performer = Performer::new(run, &run.control, place, false, doing);
            performer
                .perform_all(&unit_steps::shared_table(&run.plan, unit))
                .await?;
        }
    }
    Ok(())
}

/// Measures a shared unit whose splits are all committed, and prepares it for the switch.
pub async fn finish(
    run: &PostgresRun,
    session: &Session,
    place: UnitPlace,
    fed: &[FedEnd],
) -> Result<(), LoadError> {
    let (flow, _) = run.unit_plan(place);
    let doing = format!("finishing the shared unit of {}", flow.target());
    let mut performer = Performer::new(run, session, place, false, doing);
    let finished = perform_end(run, session, place, fed, &mut performer).await;
    if finished.is_err() {
        // Another stream may load the whole unit again, and must not wait for a lock of this one. If the connection is
        // lost, the error that ended it gives the reason.
        let _ = performer.roll_back().await;
    }
    finished
}

async fn perform_end(
    run: &PostgresRun,
    session: &Session,
    place: UnitPlace,
    fed: &[FedEnd],
    performer: &mut Performer<'_>,
) -> Result<(), LoadError> {
    let fault = run.fault.as_deref();
    let (flow, unit) = run.unit_plan(place);
    for step in &unit_steps::shared_end(&run.plan, flow, unit) {
        if *step == Step::Commit {
            fault::reach(fault, FaultPoint::BeforeUnitCommit);
        }
        performer.perform(step).await?;
        if *step == Step::HoldFence {
            // From here on nobody else writes to the ledger for this unit.
            let (rows, sums) = sent(run, session, place, fed).await?;
            performer.sent(rows, sums);
        }
    }
    fault::reach(fault, FaultPoint::AfterUnitCommit);
    Ok(())
}

/// The number of rows that were sent to a shared unit and their sums, from the ledger. The ranges of its fed files are checked.
async fn sent(
    run: &PostgresRun,
    session: &Session,
    place: UnitPlace,
    fed: &[FedEnd],
) -> Result<(u64, Option<Vec<ExactSum>>), LoadError> {
    let (flow, unit) = run.unit_plan(place);
    let _waiting = session.meter.enter(Phase::ServerWait);
    let accounts = run.ledger.accounts(session, run.fence.run_id).await?;
    // A unit may have a hundred thousand small files, whose splits are not needed here.
    let is_asked = unit.statements.verify.is_some() || !fed.is_empty();
    let (sums, splits) = match is_asked {
        true => {
            let is_fed = |split: &SplitRecord| fed.iter().any(|end| end.file_key == split.file_key);
            verifying::sums_in_ledger(session, run, flow, unit, is_fed).await?
        }
        false => (None, Vec::new()),
    };
    ledger_coverage::check_fed(unit, fed, &splits)?;
    Ok((accounts.of_unit(&unit.key).rows_loaded, sums))
}
