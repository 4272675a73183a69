//! After the last unit: the account is checked against the ledger, then the switch, then ANALYZE.

use std::time::{Duration, Instant};

use super::context::Context;
use super::summary::Summary;
use crate::cancel::StopReason;
use crate::destination::postgres::{DestinationError, Session};
use crate::error::Error;
use crate::event::Event;
use crate::ledger::Account;
use crate::package::Package;
use crate::plan::statistics;
use crate::switch::{self, LoadedUnit, SwitchError, SwitchTask, TargetTask};

/// A server that restarts after a crash is given half a minute.
const SETTLE_TRIES: u32 = 30;
const SETTLE_PAUSE: Duration = Duration::from_secs(1);

/// How long a switch that is stopped may take to be undone.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(20);

/// Checks, switches and analyzes.
pub async fn conclude(
    context: &Context<'_>,
    control: &Session,
    package: &Package,
    summary: &mut Summary,
) -> Result<(), Error> {
    let started = Instant::now();
    let targets = verify(context, control, summary).await?;
    let names: Vec<String> = context
        .run
        .plan
        .flows
        .iter()
        .map(|flow| flow.target())
        .collect();
    context.notice(Event::Switching {
        targets: names.clone(),
    });
    let task = SwitchTask {
        plan: &context.run.plan,
        targets: &targets,
        modes: &context.run.modes,
        ledger: &context.run.ledger,
        fence: &context.run.fence,
        fault: context.fault,
    };
    let switched = tokio::select! {
        biased;
        switched = switch::run(control, &task) => switched,
        _ = context.stop.wait() => {
            let interrupted = interrupted(context, control, &targets);
            match tokio::time::timeout(INTERRUPT_TIMEOUT, interrupted).await {
                Ok(settled) => settled?,
                Err(_) => return Err(SwitchError::Unknown {
                    reason: "stopped as asked in the middle of the switch, and the server does not \
                             answer"
                        .to_owned(),
                }
                .into()),
            }
        }
    };
    let done = match switched {
        Ok(done) => done,
        Err(error) => {
            settle(context, error).await?;
            targets
        }
    };
    summary.switched(&done);
    context.notice(Event::Switched { targets: names });
    summary.phases.switch_s = started.elapsed().as_secs_f64();
    if package.run.analyze {
        let started = Instant::now();
        analyze(context, control, summary).await;
        summary.phases.analyze_s = started.elapsed().as_secs_f64();
    }
    Ok(())
}

/// Checks the whole account by what the ledger has, and works out what is to be switched.
async fn verify(
    context: &Context<'_>,
    control: &Session,
    summary: &mut Summary,
) -> Result<Vec<TargetTask>, Error> {
    let run = context.run;
    let units = run.ledger.units(control, run.fence.run_id).await?;
    let shards = run.ledger.shards(control, run.fence.run_id).await?;
    let mut targets = Vec::new();
    for (flow_index, flow) in run.plan.flows.iter().enumerate() {
        let mut loaded = Vec::new();
        for (unit_index, unit) in flow.units.iter().enumerate() {
            let account = Account::of_unit(&shards, &unit.key);
            let record = units
                .iter()
                .find(|record| record.unit_key == unit.key && record.finished);
            let counted = record.and_then(|record| record.rows_counted);
            let agrees = account.holds() && counted == Some(account.rows_loaded as i64);
            let Some(record) = record.filter(|_| agrees) else {
                return Err(Error::Verification {
                    what: format!("unit {} of {} in the ledger", unit.number, flow.target()),
                    counted: counted.unwrap_or(0) as u64,
                    sent: account.rows_loaded,
                });
            };
            loaded.push(LoadedUnit {
                unit: unit_index,
                rows_counted: account.rows_loaded,
                key_smallest: record.key_smallest.clone(),
                key_largest: record.key_largest.clone(),
            });
        }
        targets.push(switch::tasks(control, flow_index, flow, &loaded).await?);
    }
    summary.verified(units, shards);
    Ok(targets)
}

/// A stop in the middle of the switch: its transaction is rolled back, unless COMMIT was on its
/// way already. The ledger tells which.
async fn interrupted(
    context: &Context<'_>,
    control: &Session,
    targets: &[TargetTask],
) -> Result<Result<Vec<TargetTask>, SwitchError>, Error> {
    // A statement that copies rows may have minutes to go.
    control.cancel(context.address).await?;
    control.execute("ROLLBACK", "undoing the switch").await?;
    let ledger = &context.run.ledger;
    if ledger
        .is_switched(control, context.run.fence.run_id)
        .await?
    {
        return Ok(Ok(targets.to_vec()));
    }
    Err(Error::Interrupted)
}

/// A lost connection leaves open whether the COMMIT took place: the ledger knows, once the server
/// answers again. Until then nothing is claimed.
async fn settle(context: &Context<'_>, error: SwitchError) -> Result<(), Error> {
    if !matches!(
        &error,
        SwitchError::Destination(DestinationError::Lost { .. })
    ) {
        return Err(error.into());
    }
    for _ in 0..SETTLE_TRIES {
        if let Ok(session) = Session::open(context.address, "inrush settle").await {
            let ledger = &context.run.ledger;
            let switched = ledger
                .is_switched(&session, context.run.fence.run_id)
                .await?;
            session.close().await;
            return if switched { Ok(()) } else { Err(error.into()) };
        }
        if context.stop.asked() == Some(StopReason::Interrupted) {
            break;
        }
        tokio::time::sleep(SETTLE_PAUSE).await;
    }
    Err(SwitchError::Unknown {
        reason: error.to_string(),
    }
    .into())
}

/// The rows are in: what ANALYZE says no longer changes that.
async fn analyze(context: &Context<'_>, control: &Session, summary: &mut Summary) {
    for flow in &context.run.plan.flows {
        if let Some(StopReason::Interrupted) = context.stop.asked() {
            summary.note(format!(
                "{} was not analyzed: the run was stopped",
                flow.target()
            ));
            continue;
        }
        let target = flow.target();
        let Some(statement) = statistics::of_target(&context.run.plan, flow) else {
            continue;
        };
        let analyzed = control.execute(&statement, "analyzing").await;
        match analyzed {
            Ok(()) => context.notice(Event::Analyzed { target }),
            Err(error) => {
                let note = format!("{target} was not analyzed: {error}");
                context.notice(Event::Note { text: note.clone() });
                summary.note(note);
            }
        }
    }
}
