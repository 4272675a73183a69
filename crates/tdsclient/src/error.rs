//! Errors of sessions.

use std::fmt;

use inrush_tds::MetadataError;

/// The result of a call of a session.
pub type Result<T> = std::result::Result<T, SessionError>;

/// The reason why a session cannot do a task.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The URL or an option of the connection cannot be used.
    #[error("{what}")]
    Address {
        /// What is wrong, and where. Without secrets.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// No session was opened.
    #[error("cannot connect to SQL Server at {server}: {reason}")]
    Connect {
        /// Host and port.
        server: String,
        /// The cause.
        reason: String,
        /// How to fix it.
        hint: String,
    },
    /// The server refuses the login.
    #[error("SQL Server at {server} refuses the login: {message}")]
    Login {
        /// Host and port.
        server: String,
        /// Its message.
        message: ServerMessage,
        /// How to fix it.
        hint: String,
    },
    /// The server refused a statement or a bulk load.
    #[error("{0}")]
    Server(ServerMessage),
    /// The server, or a proxy in between, does not speak TDS as described.
    #[error("the answer of {server} cannot be read: {what}")]
    Protocol {
        /// Host and port.
        server: String,
        /// What is wrong.
        what: String,
    },
    /// The columns of a query cannot be read: one of them has a type without a counterpart.
    #[error("{0}")]
    Columns(#[source] MetadataError),
    /// The connection ended, or was ended here after an earlier error.
    #[error("the connection to {server} was lost: {reason}")]
    Lost {
        /// Host and port.
        server: String,
        /// The cause.
        reason: String,
    },
    /// The wait was ended by [`Interrupt`](crate::Interrupt).
    #[error("stopped on request")]
    Interrupted,
}

impl SessionError {
    /// How to fix it, if that is known and not in the text.
    pub fn hint(&self) -> Option<&str> {
        match self {
            SessionError::Address { hint, .. }
            | SessionError::Connect { hint, .. }
            | SessionError::Login { hint, .. } => Some(hint),
            SessionError::Protocol { .. } => {
                Some("check host and port: another program, or a proxy, may answer there")
            }
            SessionError::Lost { .. } => {
                Some("is the server running, and the network up? The same command resumes the load")
            }
            SessionError::Server(_) | SessionError::Columns(_) | SessionError::Interrupted => None,
        }
    }

    /// The server's number of the error, if the server reported the error.
    pub fn number(&self) -> Option<i32> {
        match self {
            SessionError::Server(message) | SessionError::Login { message, .. } => {
                Some(message.number)
            }
            _ => None,
        }
    }
}

/// A message of the server: an error, or information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMessage {
    /// Its number, as in Microsoft's list of errors.
    pub number: i32,
    /// The place in the server's code that made the message.
    pub state: u8,
    /// Its severity. A message above 10 is an error; from 20 on, the server also ends the connection.
    pub class: u8,
    /// The text.
    pub text: String,
    /// The stored procedure that it comes from; may be empty.
    pub procedure: String,
    /// The line of the batch or the procedure, from 1.
    pub line: u32,
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (error {}", self.text.trim_end(), self.number)?;
        if !self.procedure.is_empty() {
            write!(formatter, " in {}", self.procedure)?;
        }
        formatter.write_str(")")
    }
}
