//! After the last unit: the account is checked against the ledger, then the switch, then ANALYZE.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use inrush_package::Package;
use inrush_rows::cancel::StopReason;
use inrush_rows::ids::UnitKey;

use super::careful::{Need, RefusedStaged, SwitchRows};
use super::context::{Context, INTERRUPT_TIMEOUT};
use super::reload::load_in_file_order;
use super::summary::Summary;
use super::{count_again, files};
use crate::engine::error::Error;
use crate::engine::event::Event;
use crate::engine::ledger::Account;
use crate::engine::pipeline::results::StreamResult;
use crate::engine::pipeline::work_items::WorkItem;
use crate::ledger::UnitRow;
use crate::plan::statistics;
use crate::switch::{self, LoadedUnit, SwitchError, SwitchTask, TargetTask};
use crate::{PostgresError, Session};

/// A server that restarts after a crash is given half a minute.
const SETTLE_TRIES: u32 = 30;
const SETTLE_PAUSE: Duration = Duration::from_secs(1);
const SETTLE_PATIENCE: Duration = Duration::from_secs(5);
/// How long the server is given to say it, with the patience and the end of backends that this takes.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Checks, switches and analyzes.
pub async fn conclude(
    context: &Context<'_>,
    control: &Session,
    package: &Package,
    summary: &mut Summary,
) -> Result<(), Error> {
    let started = Instant::now();
    let verifying = verify(context, control, summary);
    let (mut targets, mut verified) = context.unless_stopped(verifying).await?;
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
    let mut careful = SwitchRows::new(context);
    let done = loop {
        let task = SwitchTask {
            plan: &context.run.plan,
            targets: &targets,
            verified: &verified,
            ledger: &context.run.ledger,
            fence: &context.run.fence,
            fault: context.fault,
        };
        let switched = tokio::select! {
            biased;
            switched = switch::run(control, &task, &mut careful) => switched,
            _ = context.stop.wait() => interrupted_in_time(context, control, &targets).await?,
        };
        match switched {
            Ok(done) => break done,
            Err(SwitchError::Refused {
                flow,
                is_copied,
                source,
            }) if !context.run.plan.is_one_transaction() && careful.add(flow) => {
                careful.take_back()?;
                let refusal = SwitchRefusal {
                    flow,
                    is_copied,
                    source,
                };
                let loading = in_file_order(context, control, refusal, careful.refused(), summary);
                context.unless_stopped(loading).await?;
                // Units that were loaded anew may hold fewer rows.
                let verifying = verify(context, control, summary);
                (targets, verified) = context.unless_stopped(verifying).await?;
            }
            Err(SwitchError::Careful(error)) => {
                summary.gathering.rejected(careful.told());
                return Err(*error);
            }
            Err(error) => {
                settle(context, error).await?;
                break targets;
            }
        }
    };
    summary.gathering.rejected(careful.told());
    summary.switched(&done);
    context.notice(Event::Switched { targets: names });
    summary.gathering.phases.switch_s = started.elapsed().as_secs_f64();
    if package.run.analyze {
        let started = Instant::now();
        analyze(context, control, summary).await;
        summary.gathering.phases.analyze_s = started.elapsed().as_secs_f64();
    }
    Ok(())
}

/// What a target says of a row at the switch.
struct SwitchRefusal {
    flow: usize,
    /// The row was copied; else it stands in a table that was to be attached.
    is_copied: bool,
    source: PostgresError,
}

/// After a target has refused a row of a flow: its units must hold their rows in the order of the
/// files, so that each row is known again and of duplicates the first one stays. A unit that
/// several streams have filled does not, and is loaded anew by one. So are all units where more is
/// needed than that order.
async fn in_file_order(
    context: &Context<'_>,
    control: &Session,
    refusal: SwitchRefusal,
    refused: &RefusedStaged,
    summary: &mut Summary,
) -> Result<(), Error> {
    let run = context.run;
    let SwitchRefusal {
        flow: flow_index,
        is_copied,
        source: refusal,
    } = refusal;
    let flow = &run.plan.flows[flow_index];
    if let Some(pipe) = flow.splits().find(|split| !split.input.is_read_again()) {
        return Err(Error::RefusedFromPipe {
            limit: flow.reject_limit.rows_accepted(),
            pipe: pipe.input.name().display().to_string(),
            source: refusal.into(),
        });
    }
    let need = Need::of(control, &run.plan, flow, &refusal, is_copied).await?;
    let Some(need) = need else {
        return Err(SwitchError::from(refusal).into());
    };
    need.prepare(control, &run.plan).await?;
    for unit_index in 0..flow.units.len() {
        run.fed_files.close((flow_index, unit_index));
    }
    let records = run.ledger.units(control, run.fence.run_id).await?;
    for (unit_index, unit) in flow.units.iter().enumerate() {
        context.notice(Event::UnitRefused {
            flow: flow.name.clone(),
            unit: unit.number,
            reason: refusal.to_string(),
        });
        let is_in_order = records
            .iter()
            .any(|record| record.unit_key == unit.key && (record.careful || !record.shared));
        if is_in_order && need.is_order() {
            continue;
        }
        let item = WorkItem::whole((flow_index, unit_index), unit);
        let additions = need.additions(&run.plan, flow, unit, refused);
        let mut result = StreamResult::default();
        load_in_file_order(context, control, &item, &additions, &mut result).await?;
        summary.loaded(result.loaded);
    }
    Ok(())
}

/// Checks the whole account by what the ledger has, and works out what is to be switched.
async fn verify(
    context: &Context<'_>,
    control: &Session,
    summary: &mut Summary,
) -> Result<(Vec<TargetTask>, Vec<UnitRow>), Error> {
    let run = context.run;
    let units = run.ledger.units(control, run.fence.run_id).await?;
    let accounts = run.ledger.accounts(control, run.fence.run_id).await?;
    files::check(context, control, accounts.split_count).await?;
    count_again::units(context, &units).await?;
    let records: BTreeMap<&UnitKey, &UnitRow> = units
        .iter()
        .map(|record| (&record.unit_key, record))
        .collect();
    let mut targets = Vec::new();
    for (flow_index, flow) in run.plan.flows.iter().enumerate() {
        let mut loaded = Vec::new();
        let mut whole = Account::default();
        for (unit_index, unit) in flow.units.iter().enumerate() {
            let account = accounts.of_unit(&unit.key);
            whole.add(&account);
            let record = records.get(&unit.key);
            let record = record.filter(|record| record.finished);
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
        run.rejects[flow_index].judge_share(
            &flow.name,
            whole.rows_rejected,
            whole.rows_loaded + whole.rows_rejected,
        )?;
        targets.push(switch::tasks(control, flow_index, flow, &loaded).await?);
    }
    let planned = run.plan.flows.iter().flat_map(|flow| &flow.units);
    let planned: BTreeSet<&UnitKey> = planned.map(|unit| &unit.key).collect();
    let is_planned = |record: &&UnitRow| planned.contains(&record.unit_key);
    let verified = units.iter().filter(is_planned).cloned().collect();
    summary.verified(units, accounts);
    Ok((targets, verified))
}

/// A stop in the middle of the switch. Where the connection breaks meanwhile, the ledger is asked over another one; a
/// server that does not answer leaves open what came of a COMMIT that was on its way.
async fn interrupted_in_time(
    context: &Context<'_>,
    control: &Session,
    targets: &[TargetTask],
) -> Result<Result<Vec<TargetTask>, SwitchError>, Error> {
    let undone = tokio::time::timeout(INTERRUPT_TIMEOUT, interrupted(context, control)).await;
    let (is_switched, reason) = match undone {
        Ok(Ok(is_switched)) => (Some(is_switched), None),
        Ok(Err(error)) => {
            let asked = tokio::time::timeout(INTERRUPT_TIMEOUT, was_switched(context)).await;
            (asked.ok().and_then(Result::ok), Some(error.to_string()))
        }
        Err(_) => (None, None),
    };
    match is_switched {
        Some(true) => Ok(Ok(targets.to_vec())),
        Some(false) => Err(Error::Interrupted),
        None => Err(SwitchError::Unknown {
            reason: format!(
                "stopped as asked in the middle of the switch, and {}",
                reason.unwrap_or_else(|| "the server does not answer".to_owned())
            ),
        }
        .into()),
    }
}

/// Rolls the switch's transaction back, unless its COMMIT was on its way already. The ledger tells
/// which.
async fn interrupted(context: &Context<'_>, control: &Session) -> Result<bool, Error> {
    // A statement that copies rows may have minutes to go.
    control.cancel(context.address).await?;
    control.execute("ROLLBACK", "undoing the switch").await?;
    let ledger = &context.run.ledger;
    Ok(ledger
        .is_switched(control, context.run.fence.run_id)
        .await?)
}

/// A lost connection leaves open whether the COMMIT took place: the ledger knows, once the server
/// answers again. Until then nothing is claimed.
async fn settle(context: &Context<'_>, error: SwitchError) -> Result<(), Error> {
    if !error.destination().is_some_and(PostgresError::is_lost) {
        return Err(error.into());
    }
    for _ in 0..SETTLE_TRIES {
        match tokio::time::timeout(SETTLE_TIMEOUT, was_switched(context)).await {
            Ok(Ok(true)) => return Ok(()),
            Ok(Ok(false)) => return Err(error.into()),
            // It is not there yet, went away again, or something holds the run still: once more.
            Ok(Err(_)) | Err(_) => {}
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

/// Asks the ledger over a new connection. The backend of the lost one may still be at its COMMIT, or
/// hold the run without ever hearing from us again: it is given a while, and then ended.
async fn was_switched(context: &Context<'_>) -> Result<bool, Error> {
    let session = Session::open(context.address, "inrush settle").await?;
    let switched = ask_ledger(context, &session).await;
    session.close().await;
    switched
}

async fn ask_ledger(context: &Context<'_>, session: &Session) -> Result<bool, Error> {
    let run = context.run;
    let patience = format!("SET lock_timeout = {}", SETTLE_PATIENCE.as_millis());
    session
        .execute(&patience, "asking what became of the switch")
        .await?;
    let first = run.ledger.is_switched(session, run.fence.run_id).await;
    if let Ok(switched) = first {
        return Ok(switched);
    }
    run.ledger.end_backends(session, &run.record.name).await?;
    Ok(run.ledger.is_switched(session, run.fence.run_id).await?)
}

/// The rows are in: what ANALYZE says no longer changes that.
async fn analyze(context: &Context<'_>, control: &Session, summary: &mut Summary) {
    for flow in &context.run.plan.flows {
        let target = flow.target();
        let Some(statement) = statistics::of_target(&context.run.plan, flow) else {
            continue;
        };
        let analyzing = async { Ok(control.execute(&statement, "analyzing").await?) };
        let analyzed = match context.stop.asked() {
            Some(_) => Err(Error::Interrupted),
            None => context.unless_stopped(analyzing).await,
        };
        match analyzed {
            Ok(()) => context.notice(Event::Analyzed { target }),
            Err(Error::Interrupted) => {
                summary.note(format!("{target} was not analyzed: the run was stopped"));
            }
            Err(error) => {
                let note = format!("{target} was not analyzed: {error}");
                context.notice(Event::Note { text: note.clone() });
                summary.note(note);
            }
        }
    }
}
