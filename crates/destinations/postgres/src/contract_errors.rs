//! Converts PostgreSQL's errors to those of the contract, with the same words.

use inrush_destination::Error;
use inrush_pgclient::ClientError;

use super::PostgresError;
use super::ledger::LedgerError;
use super::undo::UndoError;

/// The hint of a batch that does not fit its table, which the server has not seen.
const ENCODING_HINT: &str =
    "correct the value or the type of its column; if both are right, this is a bug of Inrush";
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
                let message = match context {
                    Some(context) => format!("the server says: {message} ({context})"),
                    None => format!("the server says: {message}"),
                };
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
                hint: hint_or(hint),
            },
            PostgresError::Client(ClientError::Gone { what, hint })
            | PostgresError::Unsuitable { what, hint } => Error::Unsuitable { what, hint },
            error @ PostgresError::Encode(_) => Error::Unsuitable {
                what: error.to_string(),
                hint: ENCODING_HINT.to_owned(),
            },
        }
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
