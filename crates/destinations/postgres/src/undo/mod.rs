//! Undoing a run: takes out of the targets the rows that a run brought in, and puts back the rows that it took
//! out, in one transaction.
//!
//! Only whole tables are taken out and put back. Rows that were inserted among others cannot be told apart, so such a
//! run is refused, and so is a run whose targets have changed since. Tables that are taken out are kept in the staging
//! schema, unless they are to be dropped.

mod error;
mod target;

use inrush_engine::error::Error;
use inrush_engine::fault::{self, FaultPoint};
use inrush_engine::native::ledger::{LedgerRun, LedgerRunState};
use inrush_engine::native::run::runtime;
use inrush_engine::undo::{UndoOptions, Undone, UndoneTarget};

pub use error::UndoError;

use self::target::{TargetUndo, UndoMethod};
use super::ledger::{self, Ledger, mark};
use super::switch::{PAUSE_BETWEEN_TRIES, TRIES};
use crate::transaction::Transaction;
use crate::{DatabaseAddress, Session};

/// Undoes a run.
pub fn undo(address: &DatabaseAddress, options: &UndoOptions<'_>) -> Result<Undone, Error> {
    runtime()?.block_on(async {
        let session = Session::open(address, "inrush undo").await?;
        let undone = carry_out(&session, options).await;
        match &undone {
            Err(UndoError::Destination(error)) if error.is_lost() => session.abandon(),
            _ => session.close().await,
        }
        Ok(undone?)
    })
}

async fn carry_out(session: &Session, options: &UndoOptions<'_>) -> Result<Undone, UndoError> {
    let unknown = || UndoError::Unknown {
        run: options.run.clone(),
        schema: options.ledger_schema.to_owned(),
    };
    if !ledger::exists(session, options.ledger_schema).await? {
        return Err(unknown());
    }
    let book = Ledger::new(options.ledger_schema);
    let run = book.run_by_name(session, options.run).await?;
    let run = run.ok_or_else(unknown)?;
    match run.state {
        LedgerRunState::Switched => {}
        LedgerRunState::Undone => {
            return Ok(Undone {
                run,
                before: true,
                targets: Vec::new(),
                drop_statements: Vec::new(),
            });
        }
        state => {
            return Err(UndoError::NotSwitched {
                run: run.name,
                state: state.word(),
            });
        }
    }
    book.lock_run(session, run.run_id).await?;
    let mut targets = target::plan(session, &book, &run).await?;
    // The locks are taken in the same order as by the switch.
    targets.sort_by(|one, other| one.target.cmp(&other.target));
    for target in &targets {
        target.check(session, &run).await?;
    }
    // The tables to put back are read here, before the lock, while the targets can still be used.
    for target in &targets {
        target.prove_bounds(session).await?;
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let error = match attempt(session, &book, &run, &targets, options).await {
            Ok(targets) => {
                let kept = targets.iter().flat_map(|target| &target.taken_out);
                let kept = kept.filter_map(|(_, place)| place.as_ref());
                return Ok(Undone {
                    drop_statements: kept.map(|place| format!("DROP TABLE {place};")).collect(),
                    run,
                    before: false,
                    targets,
                });
            }
            Err(error) => error,
        };
        let is_blocked = matches!(&error, UndoError::Destination(refused) if refused.is_blocked());
        if !is_blocked {
            return Err(error);
        }
        if tries == TRIES {
            return Err(UndoError::Blocked {
                tries,
                waited_ms: options.lock_timeout_ms,
            });
        }
        tokio::time::sleep(PAUSE_BETWEEN_TRIES).await;
    }
}

async fn attempt(
    session: &Session,
    book: &Ledger,
    run: &LedgerRun,
    targets: &[TargetUndo],
    options: &UndoOptions<'_>,
) -> Result<Vec<UndoneTarget>, UndoError> {
    let doing = "undoing a run";
    // An error leaves everything unchanged, because the transaction is rolled back when it is dropped.
    let transaction = Transaction::begin(session, doing).await?;
    let timeout = format!("SET LOCAL lock_timeout = {}", options.lock_timeout_ms);
    session.execute(&timeout, doing).await?;
    let way = UndoMethod {
        session,
        run,
        drop: options.drop,
    };
    let mut done = Vec::new();
    for target in targets {
        done.push(target.carry_out(&way).await?);
    }
    fault::reach(options.fault.as_ref(), FaultPoint::InSwitch);
    if !book.mark_undone(session, run.run_id).await? {
        return Err(UndoError::NotSwitched {
            run: run.name.clone(),
            state: LedgerRunState::Undone.word(),
        });
    }
    mark::forget(session, &run.name).await?;
    fault::reach(options.fault.as_ref(), FaultPoint::BeforeSwitchCommit);
    transaction.commit(doing).await?;
    fault::reach(options.fault.as_ref(), FaultPoint::AfterSwitchCommit);
    Ok(done)
}
