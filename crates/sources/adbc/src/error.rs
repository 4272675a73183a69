//! Errors of a database and of its driver as errors of the source, each with its fix.

use std::path::Path;

use adbc_core::error::{Error as AdbcError, Status};
use inrush_destination::Error as ClientError;
use inrush_rows::cancel::Stop;
use inrush_source::SourceError;
pub use inrush_source::{input_error, unsuitable};

/// Turns the driver's error into the source's error. The arguments are the step that failed and the driver's error.
pub type Refused<'a> = &'a dyn Fn(&str, &AdbcError) -> SourceError;

/// The error if a driver is not found or a file cannot be opened.
pub fn of_client(input: &Path, error: &ClientError) -> SourceError {
    let fix = error
        .hint()
        .unwrap_or("correct the connection as its message says");
    input_error(input, error.to_string(), fix)
}

/// The error if a driver could not do something for an input. `message` has no secrets.
pub fn of_driver(
    input: &Path,
    doing: &str,
    status: Status,
    message: &str,
    stop: &Stop,
) -> SourceError {
    if stop.asked().is_some() || status == Status::Cancelled {
        return SourceError::Stopped {
            path: input.to_path_buf(),
        };
    }
    let message = &without_statement(message);
    let (fix, is_of_words) = fix_of(message);
    let what = format!("{doing}: {message}");
    match is_of_words {
        true => unsuitable(input, what, fix),
        false => input_error(input, what, fix),
    }
}

/// The message of a driver without the statement that it quotes, because the user has not written this statement. Some
/// drivers quote the whole statement at the end (`query:` of SQLite, `Query was:` of PostgreSQL), others the line of
/// the error with a caret below it (`LINE 1:` of PostgreSQL and DuckDB).
fn without_statement(message: &str) -> String {
    let is_statement = |line: &&str| line.starts_with("query:") || line.starts_with("Query was:");
    let mut told: Vec<&str> = Vec::new();
    let mut lines = message.lines().map(str::trim);
    while let Some(line) = lines.next().filter(|line| !is_statement(line)) {
        let number = line
            .strip_prefix("LINE ")
            .and_then(|rest| rest.split_once(':'));
        match number {
            Some((number, _)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                // The line with the caret.
                lines.next();
            }
            _ if line.is_empty() => {}
            _ => told.push(line),
        }
    }
    told.join(" ")
}

/// The fix for a driver's message, and true if the user must change their SQL: a statement that writes, a syntax error,
/// an unknown column. Drivers return no codes for these errors.
fn fix_of(message: &str) -> (&'static str, bool) {
    let lower = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(&["read-only", "readonly", "data-modifying"]) {
        (
            "a source only reads: write a SELECT that changes nothing",
            true,
        )
    } else if says(&["select statement", "syntax error", "near \""]) {
        (
            "write one SELECT without `;`, and a condition as in SQL",
            true,
        )
    } else if says(&[
        "no such column",
        "referenced column",
        "not found in from",
        "not have a column named",
    ]) {
        ("name a column that the table has", true)
    } else if says(&["no such table", "does not exist", "catalog error"]) {
        ("name a table or view that exists, with its schema", false)
    } else if says(&["database is locked", "table is locked"]) {
        (
            "another program holds the file: wait until it is done, then run the same command again",
            false,
        )
    } else if says(&["permission denied", "not authorized"]) {
        (
            "grant the user of the connection the right to read it",
            false,
        )
    } else if says(&["out of memory", "failed to allocate"]) {
        (
            "give the database more memory by the connection's options, or read less at a time",
            false,
        )
    } else {
        (
            "correct the source, or the database, as its message says",
            false,
        )
    }
}

/// Like `of_driver`, for an error of ADBC.
pub fn of_adbc(input: &Path, doing: &str, error: &AdbcError, stop: &Stop) -> SourceError {
    of_driver(input, doing, error.status, &error.message, stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_statement_of_ours() {
        for (message, expected) in [
            (
                "no such column: nope\nquery: SELECT f.* FROM t AS f",
                "no such column: nope",
            ),
            (
                "Failed to prepare query: ERROR:  column f.nope does not exist\nLINE 1: SELECT f.* FROM (SELECT 1)\n        ^\n\
                 HINT:  Perhaps you meant \"nose\".\n\nQuery was: SELECT f.*\nFROM t",
                "Failed to prepare query: ERROR:  column f.nope does not exist HINT:  Perhaps you meant \"nose\".",
            ),
            (
                "Parser Error: syntax error at or near \"DELETE\"\n\nLINE 2: DELETE FROM t\n        ^",
                "Parser Error: syntax error at or near \"DELETE\"",
            ),
            ("LINE noise is text", "LINE noise is text"),
        ] {
            assert_eq!(without_statement(message), expected);
        }
    }
}
