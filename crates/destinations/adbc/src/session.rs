//! A session: a connection with its interrupt and error handling.

use std::sync::Arc;

use adbc_core::error::{Error as AdbcError, Status};
use inrush_destination::{Error, Result};

use crate::connection::{AdbcConnection, AdbcDatabase, IngestName, Taker};
use crate::interrupt::Interrupt;
use crate::queue::QueueReader;
use crate::quirks::Quirks;

/// A session with a database.
pub struct AdbcSession {
    connection: Box<dyn AdbcConnection>,
    interrupt: Arc<Interrupt>,
    in_transaction: bool,
}

impl AdbcSession {
    /// Connects.
    pub fn open(
        database: &dyn AdbcDatabase,
        quirks: &Quirks,
        interrupt: &Arc<Interrupt>,
    ) -> Result<AdbcSession> {
        let connection = database
            .connect(interrupt)
            .map_err(|error| refused(interrupt, "cannot connect", &error))?;
        interrupt.watch(connection.cancel_handle());
        let mut session = AdbcSession {
            connection,
            interrupt: interrupt.clone(),
            in_transaction: false,
        };
        for statement in quirks.on_connect {
            session.rows("cannot set a connection up", statement)?;
        }
        Ok(session)
    }

    /// The connection itself.
    pub fn connection(&self) -> &dyn AdbcConnection {
        &*self.connection
    }

    /// Runs a statement. Returns the number of changed rows, if the driver counts them.
    pub fn run(&mut self, doing: &str, sql: &str) -> Result<Option<u64>> {
        let answer = self.connection.run(sql);
        let rows = answer.map_err(|error| self.refused(doing, &error))?;
        Ok(rows.and_then(|rows| u64::try_from(rows).ok()))
    }

    /// Runs a statement that adds rows to the run's target with this index, or changes them. Returns their number, if the
    /// driver counts them. If a constraint refuses rows, the error says so, provided that a careful load can find them.
    pub fn change_rows(
        &mut self,
        quirks: &Quirks,
        target: usize,
        doing: &str,
        sql: &str,
    ) -> Result<Option<u64>> {
        let rows = match self.connection.run(sql) {
            Ok(rows) => rows,
            Err(error) => {
                let is_of_rows = quirks.finds_refused_rows && is_constraint(&error);
                return Err(match self.refused(doing, &error) {
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
                });
            }
        };
        Ok(rows.and_then(|rows| u64::try_from(rows).ok()))
    }

    /// Runs a query with few rows, and returns them as text.
    pub fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let answer = self.connection.rows(sql);
        answer.map_err(|error| self.refused(doing, &error))
    }

    /// Queries one number.
    pub fn number(&mut self, doing: &str, sql: &str) -> Result<Option<u64>> {
        let rows = self.rows(doing, sql)?;
        let first = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next());
        match first {
            Some(Some(text)) => number(doing, &text).map(Some),
            _ => Ok(None),
        }
    }

    /// Prepares adding rows to a table.
    pub fn ingest(&mut self, into: &IngestName, rows: QueueReader) -> Result<Taker> {
        let taker = self.connection.ingest(into, rows);
        taker.map_err(|error| self.refused("cannot begin to send rows", &error))
    }

    /// Prepares adding rows with the INSERT statement that `insert` returns. Its query reads the rows.
    pub fn ingest_by(
        &mut self,
        insert: &dyn Fn(&str) -> String,
        rows: QueueReader,
    ) -> Result<Taker> {
        let taker = self.connection.ingest_by(insert, rows);
        taker.map_err(|error| self.refused("cannot begin to send rows", &error))
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Result<()> {
        debug_assert!(!self.in_transaction, "transactions are not nested");
        let begun = self.connection.begin();
        begun.map_err(|error| self.refused("cannot begin a transaction", &error))?;
        self.in_transaction = true;
        Ok(())
    }

    /// Commits the transaction.
    pub fn commit(&mut self, doing: &str) -> Result<()> {
        let committed = self.connection.commit();
        committed.map_err(|error| self.refused(doing, &error))?;
        self.in_transaction = false;
        Ok(())
    }

    /// Rolls the transaction back, if there is one.
    pub fn rollback(&mut self) -> Result<()> {
        if !self.in_transaction {
            return Ok(());
        }
        self.in_transaction = false;
        let rolled_back = self.connection.rollback();
        rolled_back.map_err(|error| self.refused("cannot roll back a transaction", &error))
    }

    /// Fails if the run was interrupted.
    pub fn refuse_interrupted(&self) -> Result<()> {
        match self.interrupt.is_raised() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// True if the run was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    /// An error of the driver as our error.
    pub fn refused(&self, doing: &str, error: &AdbcError) -> Error {
        refused(&self.interrupt, doing, error)
    }
}

impl Drop for AdbcSession {
    fn drop(&mut self) {
        // The database rolls back when a connection ends; doing it here is safer.
        let _ = self.rollback();
    }
}

/// The number in a value of a query.
fn number(doing: &str, text: &str) -> Result<u64> {
    // Some drivers return whole numbers as floats.
    let whole = text.strip_suffix(".0").unwrap_or(text);
    whole.parse().map_err(|_| Error::Refused {
        doing: doing.to_owned(),
        message: format!("expected a number, but got {text:?}"),
        hint: None,
    })
}

/// True if the driver reports that rows break a constraint. DuckDB's driver has no code for it, but its messages begin
/// with the kind of the error.
fn is_constraint(error: &AdbcError) -> bool {
    error.status == Status::Integrity
        || sql_state(error).starts_with("23")
        || error.message.trim_start().starts_with("Constraint Error")
}

fn sql_state(error: &AdbcError) -> String {
    let bytes = error.sqlstate.iter();
    bytes
        .filter_map(|byte| u8::try_from(*byte).ok())
        .filter(u8::is_ascii_alphanumeric)
        .map(char::from)
        .collect()
}

/// An error of the driver as our error.
pub fn refused(interrupt: &Interrupt, doing: &str, error: &AdbcError) -> Error {
    if interrupt.is_raised() || error.status == Status::Cancelled {
        return Error::Interrupted;
    }
    let state = sql_state(error);
    let message = error.message.trim();
    let names_state = state.len() == 5 && state != "00000" && !message.contains(&state);
    Error::Refused {
        doing: doing.to_owned(),
        message: match names_state {
            true => format!("{message} (SQLSTATE {state})"),
            false => message.to_owned(),
        },
        hint: hint(&state, message),
    }
}

/// The fix, if the error shows it. Most drivers return no code.
fn hint(state: &str, message: &str) -> Option<String> {
    let lower = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let hint = if state.starts_with("23") || says(&["constraint", "duplicate key"]) {
        "a constraint of the target refuses rows: fix or leave out those rows, or drop the \
         constraint and create it again after the load"
    } else if state == "42501" || says(&["permission denied", "read-only", "readonly"]) {
        "the user of this connection may not do that: grant the right, or connect as another user"
    } else if says(&["no space left", "disk is full", "out of disk"]) {
        "free space on the disk, then run the same command again: it resumes the load"
    } else if says(&["out of memory", "failed to allocate"]) {
        "give the database more memory, or set its option memory_limit or threads lower"
    } else if says(&["database is locked", "database table is locked"]) {
        "another program writes to the file: wait until it is done, then run the same command again"
    } else {
        return None;
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use inrush_destination::CancelRun;

    use super::*;

    #[test]
    fn refusals_name_state_and_mend() {
        let mut error = AdbcError::with_message_and_status("duplicate key", Status::Integrity);
        for (place, byte) in error.sqlstate.iter_mut().zip(b"23505") {
            *place = *byte as std::ffi::c_char;
        }
        let said = refused(&Interrupt::default(), "cannot add rows", &error);
        assert_eq!(
            said.to_string(),
            "cannot add rows: duplicate key (SQLSTATE 23505)"
        );
        assert!(said.hint().expect("a hint").contains("constraint"));
    }

    #[test]
    fn what_was_asked_to_stop_says_so() {
        let interrupt = Interrupt::default();
        interrupt.cancel();
        let error = AdbcError::with_message_and_status("x", Status::Internal);
        assert!(matches!(
            refused(&interrupt, "y", &error),
            Error::Interrupted
        ));
    }
}
