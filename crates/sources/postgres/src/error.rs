//! Errors of the server as errors of the source, each with its fix.

use std::path::Path;

use inrush_pgclient::{ClientError, SessionError};
use inrush_source::SourceError;
pub use inrush_source::{input_error, unsuitable};

/// The fix if policies of a table apply to the user.
pub const FIX_OF_ROW_SECURITY: &str = "a policy hides rows of the table from the user: read as its owner, or as a role with BYPASSRLS";

/// The fix if there are too many connections.
const FIX_OF_CONNECTIONS: &str = "lower `max_connections` of the source, or raise the limit that the message names: of the user or the database \
     (CONNECTION LIMIT), or of the server (max_connections)";

/// The error of a session, for an input.
pub fn of_session(input: &Path, error: SessionError) -> SourceError {
    let error = match error {
        SessionError::Stopped => {
            return SourceError::Stopped {
                path: input.to_path_buf(),
            };
        }
        SessionError::Client(error) => error,
    };
    let code = error.code().map(|code| code.code().to_owned());
    let fix = fix_of(&error);
    match code.as_deref() {
        // The user must change the text: it writes, cannot be a subquery, has a syntax error, names an unknown column, or
        // is not a condition.
        Some("0A000" | "25006" | "42601" | "42703" | "42804") => {
            unsuitable(input, error.to_string(), fix)
        }
        _ => input_error(input, error.to_string(), fix),
    }
}

/// The error of a statement that only reads a time or an interval as the user has written it.
pub fn of_written(input: &Path, error: SessionError) -> SourceError {
    match error {
        SessionError::Client(error)
            if matches!(
                error.code().map(|code| code.code()),
                Some("22007" | "22008")
            ) =>
        {
            let fix = fix_of(&error);
            unsuitable(input, error.to_string(), fix)
        }
        error => of_session(input, error),
    }
}

fn fix_of(error: &ClientError) -> String {
    if error.is_too_many_connections() {
        return FIX_OF_CONNECTIONS.to_owned();
    }
    let known = match error {
        ClientError::Lost { .. } => Some("is the server running? run the same command again"),
        // The code says only that a right is missing, so the text decides. If the text is not in English, the fix is
        // chosen by the code.
        other if other.to_string().contains("row-level security") => Some(FIX_OF_ROW_SECURITY),
        other => other.code().and_then(|code| fix_of_code(code.code())),
    };
    match (known, error.hint()) {
        (Some(known), Some(hint)) => format!("{known} ({hint})"),
        (Some(known), None) => known.to_owned(),
        (None, Some(hint)) => hint,
        (None, None) => "correct the source, or the server, as its message says".to_owned(),
    }
}

fn fix_of_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "0A000" => "write one SELECT that can be a subquery and changes nothing",
        "22007" | "22008" => {
            "write a time or an interval as the server reads it, such as '2026-01-31 12:00:00+00' or '5 minutes'"
        }
        "25006" => "a source only reads: write a SELECT that changes nothing",
        "40001" => {
            "the server is a standby, and had to remove rows that the snapshot still needs: set \
             hot_standby_feedback = on there, or max_standby_streaming_delay = -1, or read from the primary"
        }
        "42501" => "grant the user of the connection SELECT on the table and USAGE on its schema",
        "42601" => "write one SELECT without `;`, and a condition as in SQL",
        "42703" => "name a column that the table has",
        "42804" => "write a condition that is true or false for each row, such as \"id > 100\"",
        "42P01" => "name a table that exists, with its schema",
        "55P03" => {
            "another session has locked the table, or waits behind this load for a lock on it (for example with ALTER TABLE): run \
             the same command again when that session has ended its transaction, or raise `lock_timeout_ms` of [run]"
        }
        "57014" => "somebody cancelled the statement: run the same command again",
        "72000" => {
            "the snapshot is older than the server allows (old_snapshot_threshold): raise it, or read less"
        }
        _ => return None,
    })
}
