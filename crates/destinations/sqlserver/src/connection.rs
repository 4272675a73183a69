//! A session of this destination: its settings, and its errors as errors of the contract.

use std::sync::Arc;

use inrush_destination::{CancelRun, Error, Result};
use inrush_tdsclient::{Answer, Interrupt, Session, SessionError, SessionFacts, SessionOptions};

/// The longest wait for a lock while a package is planned, or for facts that a run can do without. Another session
/// may hold a lock on the table for hours.
pub const POLITE_LOCK_MILLISECONDS: u32 = 5_000;
/// The longest wait for a lock in a run.
pub const RUN_LOCK_MILLISECONDS: u32 = 60_000;

/// Numbers of the errors that this destination distinguishes.
pub mod number {
    /// A key is not unique: in a constraint, in an index, or in an index that is being made.
    pub const DUPLICATE_KEYS: [i32; 3] = [2627, 2601, 1505];
    /// The reasons for which SWITCH is refused.
    pub const SWITCH: std::ops::RangeInclusive<i32> = 4900..=4993;
    /// A CHECK or FOREIGN KEY is broken.
    pub const CONSTRAINT: i32 = 547;
    /// NULL into a column that is NOT NULL.
    pub const NOT_NULL: i32 = 515;
    /// The lock timeout has passed.
    pub const LOCK_TIMEOUT: i32 = 1222;
    /// This session was chosen to end a deadlock.
    pub const DEADLOCK: i32 = 1205;
    /// Another session was in the way. The statement may succeed if it is run again.
    pub const BLOCKED: [i32; 2] = [LOCK_TIMEOUT, DEADLOCK];
    /// A filegroup, the log or the database is full.
    pub const NO_SPACE: [i32; 4] = [1105, 9002, 1101, 40544];
    /// Rights are missing.
    pub const NO_RIGHTS: [i32; 5] = [229, 230, 262, 297, 1088];
}

/// The purpose of a session, which decides how long it waits for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Planning, status, cleanup.
    Planning,
    /// The control of a run, or one of its streams.
    Run,
}

/// Ends the sessions of a run.
#[derive(Debug, Default)]
pub struct RunInterrupt(pub Arc<Interrupt>);

impl CancelRun for RunInterrupt {
    fn cancel(&self) {
        self.0.raise();
    }
}

/// The statement that begins a transaction.
pub const BEGIN: &str = "BEGIN TRANSACTION";
/// The statement that commits it.
pub const COMMIT: &str = "COMMIT TRANSACTION";

/// The statement that rolls it back.
pub const ROLL_BACK: &str = "ROLLBACK TRANSACTION";

/// The batch that sets up a session.
pub fn settings(purpose: Purpose) -> String {
    let lock_timeout = lock_waits_statement(match purpose {
        Purpose::Planning => POLITE_LOCK_MILLISECONDS,
        Purpose::Run => RUN_LOCK_MILLISECONDS,
    });
    // XACT_ABORT: an error rolls the whole transaction back. ARITHABORT: tables with indexed views accept rows only if it is
    // on. QUOTED_IDENTIFIER is off in sqlcmd, which runs the script of a plan.
    format!(
        "SET QUOTED_IDENTIFIER ON; SET XACT_ABORT ON; SET ARITHABORT ON; SET NOCOUNT OFF; SET TRANSACTION ISOLATION LEVEL READ \
         COMMITTED; {lock_timeout}"
    )
}

/// The statement that sets the longest wait for a lock.
pub fn lock_waits_statement(milliseconds: u32) -> String {
    format!("SET LOCK_TIMEOUT {milliseconds}")
}

/// A session with the server.
#[derive(Debug)]
pub struct SqlSession {
    session: Session,
    /// The index of the target that the statements fill; see [`filling`](Self::filling).
    filled: Option<usize>,
}

impl SqlSession {
    /// Connects. `number` counts the sessions of a run.
    pub fn connect(
        options: &SessionOptions,
        number: usize,
        purpose: Purpose,
        interrupt: &Arc<Interrupt>,
    ) -> Result<SqlSession> {
        let session = Session::connect(options, number, interrupt).map_err(address_error)?;
        let mut session = SqlSession {
            session,
            filled: None,
        };
        session.run("cannot set up a session", &settings(purpose))?;
        Ok(session)
    }

    /// The facts about the session that were agreed on at login.
    pub fn facts(&self) -> &SessionFacts {
        self.session.facts()
    }

    /// Runs a batch.
    pub fn run(&mut self, doing: &str, statement: &str) -> Result<Answer> {
        let answer = self.session.run(statement);
        answer.map_err(|error| match self.filled {
            Some(target) => refused_filling(target, doing, error),
            None => refused(doing, error),
        })
    }

    /// Does work that fills the target with this index, or its staging table. If a constraint refuses rows, the error is
    /// [`Error::RowsRefused`], because a careful load may find these rows.
    pub fn filling<T>(
        &mut self,
        target: usize,
        work: impl FnOnce(&mut SqlSession) -> Result<T>,
    ) -> Result<T> {
        self.filled = Some(target);
        let done = work(self);
        self.filled = None;
        done
    }

    /// Runs a query with few rows.
    pub fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        Ok(self.run(doing, sql)?.into_rows())
    }

    /// The number of the session on the server, if the server reports it.
    pub fn number_on_server(&self) -> Option<i32> {
        self.session.number_on_server().map(i32::from)
    }

    /// Queries one number; `None` if there is no row, or NULL.
    pub fn number(&mut self, doing: &str, sql: &str) -> Result<Option<i64>> {
        let Some(text) = self
            .rows(doing, sql)?
            .into_iter()
            .flatten()
            .next()
            .flatten()
        else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| Error::Refused {
            doing: doing.to_owned(),
            message: format!("expected a number, but got {text:?}"),
            hint: None,
        })
    }

    /// Sets the longest wait for a lock.
    pub fn limit_lock_waits(&mut self, milliseconds: u32) -> Result<()> {
        let statement = lock_waits_statement(milliseconds);
        self.run("cannot set up a session", &statement).map(drop)
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Result<()> {
        self.run("cannot begin a transaction", BEGIN).map(drop)
    }

    /// Commits the transaction.
    pub fn commit(&mut self, doing: &str) -> Result<()> {
        self.run(doing, COMMIT).map(drop)
    }

    /// Rolls the transaction back, if there is one.
    pub fn roll_back(&mut self) -> Result<()> {
        self.session
            .roll_back()
            .map_err(|error| refused("cannot roll back a transaction", error))
    }

    /// Does the work in a transaction: commits it, or rolls back and returns the first error.
    pub fn in_transaction<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&mut SqlSession) -> Result<T>,
    ) -> Result<T> {
        self.begin()?;
        match work(self).and_then(|done| self.commit(doing).map(|()| done)) {
            Ok(done) => Ok(done),
            Err(error) => {
                // The first error is reported; a connection that cannot roll back is closed.
                let _ = self.roll_back();
                Err(error)
            }
        }
    }

    /// True if a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.session.is_in_transaction()
    }

    /// True if the connection can be used.
    pub fn is_open(&self) -> bool {
        self.session.is_open()
    }

    /// The session itself, for bulk loads.
    pub fn bulk(&mut self) -> &mut Session {
        &mut self.session
    }
}

/// An error of a session as an error of the contract. Only the error number of the server decides about the kind.
pub fn refused(doing: &str, error: SessionError) -> Error {
    let number = error.number();
    let hint = number.and_then(hint).or(error.hint());
    let hint = hint.map(str::to_owned);
    let doing = doing.to_owned();
    match error {
        SessionError::Interrupted => Error::Interrupted,
        SessionError::Lost { server, reason } => Error::Lost {
            doing,
            reason: format!("{server}: {reason}"),
            hint: hint.unwrap_or_default(),
        },
        error if number.is_some_and(|it| number::BLOCKED.contains(&it)) => Error::Blocked {
            doing,
            message: error.to_string(),
            hint: hint.unwrap_or_default(),
        },
        error => Error::Refused {
            doing,
            message: error.to_string(),
            hint,
        },
    }
}

/// Like [`refused`], for a statement that fills the target with this index.
fn refused_filling(target: usize, doing: &str, error: SessionError) -> Error {
    let is_of_rows = error.number().is_some_and(|number| {
        number == number::CONSTRAINT || number::DUPLICATE_KEYS.contains(&number)
    });
    match refused(doing, error) {
        Error::Refused {
            doing,
            message,
            hint,
        } if is_of_rows => Error::RowsRefused {
            target,
            doing,
            message,
            hint,
        },
        other => other,
    }
}

/// An error of connecting as an error of the contract.
pub fn address_error(error: SessionError) -> Error {
    match error {
        SessionError::Interrupted => Error::Interrupted,
        error => Error::Address {
            hint: error
                .hint()
                .unwrap_or("see the server's message")
                .to_owned(),
            what: error.to_string(),
        },
    }
}

fn hint(number: i32) -> Option<&'static str> {
    Some(match number {
        number::CONSTRAINT | number::NOT_NULL => {
            "a constraint of the target refuses rows: fix or leave out those rows, or drop the constraint and create it again \
             after the load"
        }
        number if number::DUPLICATE_KEYS.contains(&number) => {
            "a key of the target refuses rows: fix or leave out those rows, or drop the key and create it again after the load"
        }
        number::LOCK_TIMEOUT => {
            "another session holds a lock: sys.dm_tran_locks shows which one. Run the same command again once it is done"
        }
        number::DEADLOCK => {
            "this session and another one waited for each other (a deadlock): run the same command again, which resumes the load"
        }
        number if number::NO_SPACE.contains(&number) => {
            "make room on the server, or let its files grow, then run the same command again: it resumes the load"
        }
        number if number::SWITCH.contains(&number) => {
            "the target cannot take these rows by SWITCH: the option switch=no copies them instead"
        }
        number if number::NO_RIGHTS.contains(&number) => {
            "the login may not do that: grant the right, or connect as another user"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use inrush_tdsclient::ServerMessage;

    use super::*;

    /// An error of the server, whose text has the numbers of all errors that are distinguished.
    fn error(number: i32) -> SessionError {
        SessionError::Server(ServerMessage {
            number,
            state: 1,
            class: 16,
            text: "said (error 547), (error 1222), (error 2627)".to_owned(),
            procedure: String::new(),
            line: 1,
        })
    }

    #[test]
    fn the_number_decides_and_not_the_text() {
        for number in [547, 2627, 2601, 1505] {
            let refused = refused_filling(3, "x", error(number));
            assert!(
                matches!(refused, Error::RowsRefused { target: 3, .. }),
                "{refused:?}"
            );
        }
        for number in number::BLOCKED {
            let blocked = refused_filling(3, "x", error(number));
            assert!(matches!(blocked, Error::Blocked { .. }), "{blocked:?}");
        }
        let other = refused_filling(3, "x", error(50_000));
        assert!(matches!(other, Error::Refused { .. }), "{other:?}");
        let of_no_target = refused("x", error(number::CONSTRAINT));
        assert!(
            matches!(of_no_target, Error::Refused { .. }),
            "{of_no_target:?}"
        );
    }
}
