//! Converts PostgreSQL's errors to those of the contract, with the same words.

use inrush_destination::Error;
use inrush_pgclient::ClientError;

use super::PostgresError;
use super::ledger::LedgerError;
use super::switch::SwitchError;
use super::undo::UndoError;
use crate::load_error::LoadError;

/// The hint of a batch that does not fit its table, which the server has not seen.
const ENCODING_HINT: &str =
    "correct the value or the type of its column; if both are right, this is a bug of Inrush";
/// The hint of an address that cannot be read.
const ADDRESS_HINT: &str = "write postgresql://USER@HOST/DATABASE";
/// The hint of an error that has none.
pub const NO_HINT: &str = "the server's log has more about it";

impl From<PostgresError> for Error {
    fn from(error: PostgresError) -> Error {
        let (hint, is_blocked) = (error.hint(), error.is_blocked());
        let hint_or = |hint: Option<String>| hint.unwrap_or_else(|| NO_HINT.to_owned());
        match error {
            PostgresError::Client(ClientError::Refused {
                doing,
                message,
                context,
                ..
            }) => {
                let message = server_says(&message, context.as_deref());
                match is_blocked {
                    true => Error::Blocked {
                        doing,
                        message,
                        hint: hint_or(hint),
                    },
                    false => Error::Refused {
                        doing,
                        message,
                        hint,
                    },
                }
            }
            PostgresError::Client(ClientError::Lost { doing, reason }) => Error::Lost {
                doing,
                reason,
                hint: hint_or(hint),
            },
            PostgresError::Client(ClientError::Connect {
                server,
                reason,
                hint,
                source,
            }) => Error::Connect {
                server,
                reason,
                hint,
                source: source.map(Into::into),
            },
            PostgresError::Client(error @ ClientError::Address { .. }) => Error::Address {
                what: error.to_string(),
                hint: hint.unwrap_or_else(|| ADDRESS_HINT.to_owned()),
            },
            PostgresError::Client(ClientError::Gone { what, hint })
            | PostgresError::Unsuitable { what, hint } => Error::Unsuitable { what, hint },
            error @ PostgresError::Encode(_) => Error::Unsuitable {
                what: error.to_string(),
                hint: ENCODING_HINT.to_owned(),
            },
            error @ PostgresError::Threads(_) => Error::Unsuitable {
                what: error.to_string(),
                hint: hint_or(hint),
            },
        }
    }
}

/// The server's error about a row of a target.
pub fn rows_refused(error: &PostgresError, target: usize) -> Error {
    let (doing, message) = match error {
        PostgresError::Client(ClientError::Refused {
            doing,
            message,
            context,
            ..
        }) => (doing.clone(), server_says(message, context.as_deref())),
        other => ("loading rows".to_owned(), other.to_string()),
    };
    Error::RowsRefused {
        target,
        doing,
        message,
        hint: error.hint(),
    }
}

fn server_says(message: &str, context: Option<&str>) -> String {
    match context {
        Some(context) => format!("the server says: {message} ({context})"),
        None => format!("the server says: {message}"),
    }
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Error {
        let hint = error.hint().unwrap_or_else(|| NO_HINT.to_owned());
        let what = error.to_string();
        match error {
            LedgerError::Destination(error) => error.into(),
            LedgerError::Busy { .. } | LedgerError::TakenOver { .. } => Error::Held { what, hint },
            LedgerError::Version { .. } => Error::Ledger { what, hint },
        }
    }
}

impl From<UndoError> for Error {
    fn from(error: UndoError) -> Error {
        let hint = error.hint().unwrap_or_else(|| NO_HINT.to_owned());
        let what = error.to_string();
        match error {
            UndoError::Destination(error) => error.into(),
            UndoError::Ledger(error) => error.into(),
            UndoError::NotSwitched { .. } | UndoError::Impossible { .. } => {
                Error::Unsuitable { what, hint }
            }
            UndoError::Blocked { .. } => Error::Held { what, hint },
        }
    }
}

impl From<SwitchError> for Error {
    fn from(error: SwitchError) -> Error {
        let hint = error.hint().unwrap_or_else(|| NO_HINT.to_owned());
        let what = error.to_string();
        match error {
            SwitchError::Destination(error) => error.into(),
            SwitchError::Refused { source, .. } => source.into(),
            SwitchError::Careful(error) => (*error).into(),
            SwitchError::Ledger(error) => error.into(),
            SwitchError::Verify(error) => LoadError::Verify(error).into(),
            SwitchError::Statement { source, .. } | SwitchError::Members { source, .. }
                if source.is_lost() =>
            {
                (*source).into()
            }
            SwitchError::Count { .. } => Error::Unverified { what, hint },
            _ => Error::Unsuitable { what, hint },
        }
    }
}
