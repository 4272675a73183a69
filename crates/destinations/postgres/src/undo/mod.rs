//! Undoing a run: takes out of the targets the rows that a run brought in, and puts back the rows that it took
//! out, in one transaction.
//!
//! Only whole tables are taken out and put back. Rows that were inserted among others cannot be told apart, so such a
//! run is refused, and so is a run whose targets have changed since. Tables that are taken out are kept in the staging
//! schema, unless they are to be dropped.

mod error;
mod target;

use inrush_destination::{PublishStep, UndoRequest, UndoneRun, UndoneTarget};

pub use error::UndoError;

use self::target::{TargetUndo, UndoMethod};
use super::ledger::{Ledger, StoredRun, mark};
use super::switch::{PAUSE_BETWEEN_TRIES, TRIES};
use crate::Session;
use crate::transaction::Transaction;

/// Undoes a run. Calls `reached` at each step on the way.
pub async fn undo(
    session: &Session,
    book: &Ledger,
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun, UndoError> {
    let gone = || UndoError::NotSwitched {
        run: request.run.name.clone(),
    };
    let run = book.run(session, request.run.run_id).await?;
    let run = run.ok_or_else(gone)?;
    book.lock_run(session, run.run_id).await?;
    let mut targets = target::plan(session, book, &run).await?;
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
        let error = match attempt(session, book, &run, &targets, request, reached).await {
            Ok(targets) => {
                let kept = targets.iter().flat_map(|target| &target.taken_out);
                let kept = kept.filter_map(|(_, place)| place.as_ref());
                return Ok(UndoneRun {
                    removals: kept.map(|place| format!("DROP TABLE {place};")).collect(),
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
                waited: request.lock_timeout,
            });
        }
        tokio::time::sleep(PAUSE_BETWEEN_TRIES).await;
    }
}

async fn attempt(
    session: &Session,
    book: &Ledger,
    run: &StoredRun,
    targets: &[TargetUndo],
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<Vec<UndoneTarget>, UndoError> {
    let doing = "undoing a run";
    // An error leaves everything unchanged, because the transaction is rolled back when it is dropped.
    let transaction = Transaction::begin(session, doing).await?;
    let timeout = format!(
        "SET LOCAL lock_timeout = {}",
        request.lock_timeout.as_millis()
    );
    session.execute(&timeout, doing).await?;
    let way = UndoMethod {
        session,
        run,
        drop: !request.keeps,
    };
    let mut done = Vec::new();
    for target in targets {
        done.push(target.carry_out(&way).await?);
    }
    reached(PublishStep::Under);
    if !book.mark_undone(session, run.run_id).await? {
        return Err(UndoError::NotSwitched {
            run: run.name.clone(),
        });
    }
    mark::forget(session, &run.name).await?;
    reached(PublishStep::BeforeCommit);
    transaction.commit(doing).await?;
    reached(PublishStep::Committed);
    Ok(done)
}
