//! Locks by `sp_getapplock`. The lock of a run belongs to a session of the run, and ends with the session, however the
//! process ends.

use inrush_destination::{Error, Result};
use inrush_rows::ids::RunKey;

use crate::connection::SqlSession;
use crate::ledger::Ledger;
use crate::sql;

/// The longest wait for the lock of a run. A killed session holds it until the server notices its end.
const RUN_LOCK_MILLISECONDS: u32 = 3_000;
/// The longest wait for the lock under which runs are entered into the ledger.
const LEDGER_LOCK_MILLISECONDS: u32 = 60_000;

const ASKING: &str = "cannot take the lock of the run";

/// Takes the lock of a run, or fails with the name of its holder.
pub fn take(session: &mut SqlSession, ledger: &Ledger, run_key: &RunKey) -> Result<()> {
    if is_granted(session, &run_statement(run_key))? {
        return Ok(());
    }
    Err(held(session, ledger, Some(run_key)))
}

/// True if another session holds the lock of a run. Nothing is locked.
pub fn is_held(session: &mut SqlSession, run_key: &RunKey) -> Result<bool> {
    let resource = sql::text(&resource(run_key));
    let question = format!("SELECT APPLOCK_TEST(N'public', {resource}, N'Exclusive', N'Session')");
    Ok(session.number(ASKING, &question)? == Some(0))
}

/// Takes the lock under which runs are entered, until the transaction ends.
pub fn take_ledger(session: &mut SqlSession, ledger: &Ledger) -> Result<()> {
    if is_granted(session, &ledger_statement(ledger))? {
        return Ok(());
    }
    Err(held(session, ledger, None))
}

/// The error of a run, or of a ledger, that another session holds.
pub fn held(session: &mut SqlSession, ledger: &Ledger, run_key: Option<&RunKey>) -> Error {
    // Without the holder's name the error still says what is wrong.
    let holders = ledger.holders(session, run_key).unwrap_or_default();
    let what = if run_key.is_some() {
        "this package is being loaded"
    } else {
        "another load changes the ledger or a table"
    };
    Error::Held {
        what: match holders.is_empty() {
            true => format!("{what} by another session with the database"),
            false => format!("{what} by {}", holders.join(", or by ")),
        },
        hint: "wait until it is done, or stop it, then run the same command again".to_owned(),
    }
}

/// The statement that takes the lock of a run.
pub fn run_statement(run_key: &RunKey) -> String {
    statement(&resource(run_key), "Session", RUN_LOCK_MILLISECONDS)
}

fn resource(run_key: &RunKey) -> String {
    format!("inrush run {run_key}")
}

/// The statement that takes the lock under which runs are entered.
pub fn ledger_statement(ledger: &Ledger) -> String {
    let resource = format!("inrush ledger {}", ledger.run);
    statement(&resource, "Transaction", LEDGER_LOCK_MILLISECONDS)
}

fn statement(resource: &str, owner: &str, timeout_milliseconds: u32) -> String {
    format!(
        "EXEC sp_getapplock @Resource = {}, @LockMode = N'Exclusive', @LockOwner = N'{owner}', @LockTimeout = \
         {timeout_milliseconds}",
        sql::text(resource)
    )
}

fn is_granted(session: &mut SqlSession, statement: &str) -> Result<bool> {
    let answer = session.run(ASKING, statement)?;
    // 0 and 1: granted, at once or after a wait. -1: not in time.
    match answer.return_status {
        Some(status) if status >= 0 => Ok(true),
        Some(-1) => Ok(false),
        other => Err(Error::Refused {
            doing: ASKING.to_owned(),
            message: match other {
                Some(status) => format!("sp_getapplock returned {status}"),
                None => "sp_getapplock returned nothing".to_owned(),
            },
            hint: Some("grant the right to run sp_getapplock, which the role public has unless somebody took it away".to_owned()),
        }),
    }
}
