//! Statements that are run before the server starts, by PostgreSQL's single-user mode: no
//! socket, no other user, no client library.

use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::Stdio;

use inrush_rows::sql_text::{self, identifier};
use rustix::process::Signal;

use crate::binaries::Binaries;
use crate::diagnosis::{last_lines, likely_cause};
use crate::error::EmbeddedError;
use crate::process::command_as;
use crate::server_user::OsAccount;
use crate::settings::NO_CODE;

/// The inputs of the steps before the start that run programs of PostgreSQL.
pub(crate) struct Tools<'a> {
    pub binaries: &'a Binaries,
    pub account: &'a OsAccount,
    pub data: &'a Path,
    /// A descriptor that every process of the server inherits, so that the janitor notices their end.
    pub inherited: Vec<BorrowedFd<'a>>,
}

/// The user that owns the system tables. It may not be `postgres` in a folder that was made elsewhere.
pub(crate) fn superuser(tools: &Tools<'_>) -> Result<String, EmbeddedError> {
    let output = run(tools, "SELECT rolname FROM pg_authid WHERE oid = 10")?;
    Ok(values(&output, "rolname")
        .pop()
        .unwrap_or_else(|| "postgres".to_owned()))
}

/// Makes the database if it is missing.
pub(crate) fn ensure_database(tools: &Tools<'_>, name: &str) -> Result<(), EmbeddedError> {
    let literal = literal(name, "name of the database")?;
    let found = run(
        tools,
        &format!("SELECT datname FROM pg_database WHERE datname = {literal}"),
    )?;
    if values(&found, "datname").is_empty() {
        run(tools, &format!("CREATE DATABASE {}", identifier(name)))?;
    }
    Ok(())
}

/// Sets the password for TCP connections.
pub(crate) fn set_password(
    tools: &Tools<'_>,
    user: &str,
    password: &str,
) -> Result<(), EmbeddedError> {
    let literal = literal(password, "password")?;
    let user = identifier(user);
    run(tools, &format!("ALTER ROLE {user} PASSWORD {literal}")).map(drop)
}

/// A string constant. In single-user mode the end of the line ends the statement.
fn literal(text: &str, what: &'static str) -> Result<String, EmbeddedError> {
    if text.is_empty() || text.contains(['\n', '\r', '\0']) {
        return Err(EmbeddedError::Unwritable { what });
    }
    Ok(sql_text::literal(text))
}

fn run(tools: &Tools<'_>, statement: &str) -> Result<String, EmbeddedError> {
    let program = tools.binaries.folder.join("postgres");
    let failed = |source| EmbeddedError::Spawn {
        program: program.display().to_string(),
        account: tools.account.name.clone(),
        source,
    };
    let mut child = command_as(&program, tools.account, Signal::TERM, &tools.inherited)
        .args([
            "--single",
            "-c",
            "exit_on_error=true",
            "-c",
            "logging_collector=off",
        ])
        .args(
            NO_CODE
                .iter()
                .flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]),
        )
        .arg("-D")
        .arg(tools.data)
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut input = child.stdin.take().expect("stdin is piped");
    // If the child ended early, the reason follows below.
    let _ = writeln!(input, "{statement}");
    drop(input);
    let output = child.wait_with_output().map_err(failed)?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(EmbeddedError::Program {
            program: "postgres --single",
            status: output.status.to_string(),
            folder: tools.data.to_owned(),
            cause: likely_cause(&messages),
            output: last_lines(&messages),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The values of a column in the output, whose lines read
/// `1: rolname = "postgres" (typeid = 19, len = 64, typmod = -1, byval = f)` with a tab before
/// the parenthesis.
fn values(output: &str, column: &str) -> Vec<String> {
    let before = format!(": {column} = \"");
    output
        .lines()
        .filter_map(|line| {
            let value = line.split_once(&before)?.1;
            Some(value.rsplit_once("\"\t(typeid")?.0.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let output = "\nPostgreSQL stand-alone backend 18.4\nbackend> \t 1: rolname\t(typeid = 19, \
                      len = 64, typmod = -1, byval = f)\n\t----\n\t 1: rolname = \"o\"d\"d\"\t(typeid \
                      = 19, len = 64, typmod = -1, byval = f)\n\t----\nbackend> ";
        assert_eq!(values(output, "rolname"), ["o\"d\"d"]);
        assert!(values(output, "datname").is_empty());
    }

    #[test]
    fn literals_are_quoted_or_refused() {
        assert_eq!(literal("it's a \\", "x").unwrap(), r" E'it''s a \\'");
        for text in ["", "two\nlines", "\0", "\r"] {
            assert!(literal(text, "x").is_err(), "{text:?}");
        }
    }
}
