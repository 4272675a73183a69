//! Units that several streams fill: their table is committed first, and made ready by whoever
//! loads the last split.

use std::collections::BTreeSet;

use inrush_rows::ids::FileKey;
use inrush_verdict::Phase;

use super::context::{Context, PreparedRun};
use super::ready::{Standing, make_ready, record};
use super::{ledger_coverage, verifying};
use crate::Session;
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::SplitRecord;
use crate::engine::plan::identity;
use crate::unit_transaction::{self, UnitMeasure};

/// Makes the tables of shared units that do not stand yet.
pub async fn create_missing(run: &PreparedRun) -> Result<(), Error> {
    for flow in &run.plan.flows {
        for unit in flow.units.iter().filter(|unit| unit.shared) {
            if run.units_kept.contains_key(&unit.key) {
                continue;
            }
            let doing = format!("making the staging table of {}", flow.target());
            run.control.execute("BEGIN", &doing).await?;
            run.ledger.hold_fence(&run.control, &run.fence).await?;
            // It is made like the target, on which somebody may hold a lock.
            let patience = run.plan.settings.lock_timeout_ms;
            let patience = format!("SET LOCAL lock_timeout = {patience}");
            run.control.execute(&patience, &doing).await?;
            for statement in &unit.create {
                run.control.execute(statement, &doing).await?;
            }
            let record = record(&run.plan, flow, unit, None, false);
            run.ledger
                .record_unit(&run.control, &run.fence, &record)
                .await?;
            run.control.execute("COMMIT", &doing).await?;
        }
    }
    Ok(())
}

/// Measures a shared unit whose splits are all committed, and makes it ready for the switch.
pub async fn finish(
    context: &Context<'_>,
    session: &Session,
    flow_index: usize,
    unit_index: usize,
) -> Result<(), Error> {
    let run = context.run;
    let (flow, unit) = run.unit(flow_index, unit_index);
    let doing = format!("finishing the shared unit of {}", flow.target());
    let _waiting = session.gauge.enter(Phase::ServerWait);
    session.execute("BEGIN", &doing).await?;
    run.ledger.hold_fence(session, &run.fence).await?;
    let accounts = run.ledger.accounts(session, run.fence.run_id).await?;
    let sent = accounts.of_unit(&unit.key).rows_loaded;
    // A unit may be made of a hundred thousand small files, whose splits nobody asks for.
    let is_asked = unit.verify.is_some() || unit.splits.iter().any(|split| split.is_fed);
    let (sums, splits) = match is_asked {
        true => {
            let fed = unit.splits.iter().filter(|split| split.is_fed);
            let fed: BTreeSet<FileKey> = fed.map(|split| identity::file_key(&split.file)).collect();
            let is_fed = |split: &SplitRecord| fed.contains(&split.file_key);
            verifying::sums_in_ledger(session, run, flow, unit, is_fed).await?
        }
        false => (None, Vec::new()),
    };
    ledger_coverage::check_fed(run, flow_index, unit_index, &splits)?;
    let measured = if flow.is_straight() {
        UnitMeasure::as_sent(sent)
    } else {
        let measured = unit_transaction::measure(session, &unit.measure).await?;
        if measured.rows != sent {
            return Err(Error::Verification {
                what: format!("staging table of {}", flow.target()),
                counted: measured.rows,
                sent,
            });
        }
        verifying::check(session, &run.plan, flow, unit, sums.as_deref()).await?;
        make_ready(
            session,
            &run.plan,
            flow,
            unit,
            &measured,
            Standing::default(),
        )
        .await?;
        measured
    };
    let record = record(&run.plan, flow, unit, Some(&measured), true);
    run.ledger.record_unit(session, &run.fence, &record).await?;
    fault::reach(context.fault, FaultPoint::BeforeUnitCommit);
    session.execute("COMMIT", &doing).await?;
    fault::reach(context.fault, FaultPoint::AfterUnitCommit);
    Ok(())
}
