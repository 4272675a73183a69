//! The server extension `inrush_fastcopy`: whether this database has it, and how a session opens it.
//!
//! The extension takes the bytes of COPY BINARY and stores the same rows in less time (docs/fast-copy.md). A session
//! calls `open()` before it uses the format. If `refusal()` returns a reason, the table is loaded by COPY instead.

use std::fmt;

use inrush_pgclient::DatabaseAddress;
use inrush_system::runtime::runtime;

use super::error::PostgresError;
use super::session::Session;
use crate::quote::literal;

/// The version of the interface between this loader and the extension; another number means another format.
const ABI: i32 = 1;

/// The functions that a role must be allowed to call.
const FUNCTIONS: [&str; 3] = ["open", "refusal", "last_load"];

/// Whether this role can use the extension in this database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastCopy {
    /// It can be used.
    Usable {
        /// Its version.
        version: String,
        /// The methods that it supports in this server.
        ways: Vec<Way>,
    },
    /// It is installed, but the role may not call it.
    NotGranted {
        /// Which function it may not call.
        reason: String,
        /// The statements that allow it, for a superuser.
        fix: String,
    },
    /// It cannot be used for another reason.
    Unusable(String),
}

impl FastCopy {
    /// The server was not asked.
    pub fn unasked() -> FastCopy {
        FastCopy::Unusable("the package does not ask for it (server_copy = \"plain\")".to_owned())
    }
}

/// How the extension stores rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The extension builds tuples itself, and puts them into the server's buffers.
    Tuples,
    /// The server's own executor stores the rows, with triggers, routing and defaults.
    Executor,
    /// The extension writes whole pages, without the server's shared buffers.
    Pages,
}

impl Way {
    /// The method with this name.
    pub fn of_name(name: &str) -> Option<Way> {
        match name {
            "tuples" => Some(Way::Tuples),
            "executor" => Some(Way::Executor),
            "pages" => Some(Way::Pages),
            _ => None,
        }
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Way::Tuples => "tuples",
            Way::Executor => "executor",
            Way::Pages => "pages",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Looks for the extension. The session has no open transaction that an error here could abort.
pub async fn find(session: &Session, is_utf8: bool) -> Result<FastCopy, PostgresError> {
    // Anybody may create a schema of this name, but only a superuser can create a C function. So only C functions are
    // called.
    let rows = session
        .query(
            "SELECT p.proname::text, has_schema_privilege(n.oid, 'USAGE') \
                    AND has_function_privilege(p.oid, 'EXECUTE'), quote_ident(current_user) \
             FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
             JOIN pg_language l ON l.oid = p.prolang \
             WHERE n.nspname = 'inrush_fastcopy' AND l.lanname = 'c' \
               AND p.proname = ANY ($1)",
            &[&FUNCTIONS.as_slice()],
            "looking for the extension inrush_fastcopy",
        )
        .await?;
    let mut granted = Vec::new();
    for row in &rows {
        let name: String = row.get(0);
        if !row.get::<_, bool>(1) {
            return Ok(FastCopy::NotGranted {
                reason: format!(
                    "the role may not call inrush_fastcopy.{name}() (docs/fast-copy.md has the GRANTs)"
                ),
                fix: grants(row.get(2)),
            });
        }
        granted.push(name);
    }
    if let Some(missing) = FUNCTIONS
        .iter()
        .find(|name| !granted.iter().any(|it| it == **name))
    {
        return Ok(FastCopy::Unusable(match granted.is_empty() {
            true => "the extension inrush_fastcopy is not in this database".to_owned(),
            false => format!("the extension inrush_fastcopy has no function {missing}()"),
        }));
    }
    if !is_utf8 {
        return Ok(FastCopy::Unusable(
            "the database's encoding is not UTF-8, which the loader sends".to_owned(),
        ));
    }
    let opened = session
        .query(
            "SELECT abi, version, ways FROM inrush_fastcopy.open()",
            &[],
            "opening the extension inrush_fastcopy",
        )
        .await;
    let row = match opened {
        Ok(rows) => rows.into_iter().next(),
        // Its library may be missing, or belong to another version of the server.
        Err(error) if !error.is_lost() => {
            return Ok(FastCopy::Unusable(format!(
                "the extension inrush_fastcopy cannot be loaded: {error}"
            )));
        }
        Err(error) => return Err(error),
    };
    let Some(row) = row else {
        return Ok(FastCopy::Unusable(
            "the extension inrush_fastcopy did not say what it can do".to_owned(),
        ));
    };
    let version: String = row.get(1);
    if row.get::<_, i32>(0) != ABI {
        return Ok(FastCopy::Unusable(other_version(&version)));
    }
    let ways: Vec<String> = row.get(2);
    Ok(FastCopy::Usable {
        version,
        ways: ways.iter().filter_map(|name| Way::of_name(name)).collect(),
    })
}

/// Creates the extension in a database if the server has its files. Only a superuser can do this, so it is for a server
/// that was started for the load.
pub fn make_extension(address: &DatabaseAddress) -> Result<(), PostgresError> {
    let runtime = runtime().map_err(PostgresError::Threads)?;
    runtime.block_on(async {
        let session = Session::open(address, "inrush extension").await?;
        let made = session
            .execute(
                "CREATE EXTENSION IF NOT EXISTS inrush_fastcopy",
                "making the extension inrush_fastcopy",
            )
            .await;
        session.close().await;
        made
    })
}

/// The statements that let a role use the extension. `role` is quoted.
fn grants(role: &str) -> String {
    format!(
        "GRANT USAGE ON SCHEMA inrush_fastcopy TO {role}; GRANT EXECUTE ON FUNCTION inrush_fastcopy.open(), \
         inrush_fastcopy.refusal(regclass, text[], text), inrush_fastcopy.last_load() TO {role}"
    )
}

fn other_version(version: &str) -> String {
    format!("the extension inrush_fastcopy {version} belongs to another version of Inrush")
}

/// The query with which a transaction opens the extension for a table, and asks how the table can be stored. It has one
/// row: the extension's interface version, its version, and three reasons: why the table cannot be stored as pages (if
/// that is asked), why not as tuples, and why not at all. NULL means that there is no reason.
pub fn opening(table: &str, columns: &[&str], by_pages: bool) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|name| literal(name).trim_start().to_owned())
        .collect();
    let refusal = |way: &str| {
        format!(
            "inrush_fastcopy.refusal({}::regclass, ARRAY[{}]::text[], '{way}'::text)",
            literal(table).trim_start(),
            columns.join(", ")
        )
    };
    let pages = match by_pages {
        true => refusal(Way::Pages.name()),
        false => "''".to_owned(),
    };
    format!(
        "SELECT abi, version, {pages}, {}, {} FROM inrush_fastcopy.open()",
        refusal(Way::Tuples.name()),
        refusal("auto")
    )
}

/// Opens the extension by the query of [`opening`]. Returns the method for the table, or why there is none.
pub async fn open(session: &Session, opening: &str) -> Result<Result<Way, String>, PostgresError> {
    let rows = session
        .query(opening, &[], "opening the extension inrush_fastcopy")
        .await?;
    let Some(row) = rows.first() else {
        return Ok(Err(
            "the extension inrush_fastcopy did not say what it can do".to_owned(),
        ));
    };
    if row.get::<_, i32>(0) != ABI {
        return Ok(Err(other_version(row.get(1))));
    }
    let reason = |index: usize| row.get::<_, Option<String>>(index);
    Ok(match (reason(2), reason(3), reason(4)) {
        (None, _, _) => Ok(Way::Pages),
        (_, None, _) => Ok(Way::Tuples),
        (_, _, None) => Ok(Way::Executor),
        (_, _, Some(reason)) => Err(reason),
    })
}

/// The extension's answer about the key in the last COPY of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEnds {
    /// The number of rows of the COPY.
    pub rows: u64,
    /// The smallest key as text, if a row has one.
    pub smallest: Option<String>,
    /// The largest key as text, if a row has one.
    pub largest: Option<String>,
}

/// The number of rows, and the smallest and largest key, of this session's last COPY by the extension.
pub async fn last_load(session: &Session) -> Result<KeyEnds, PostgresError> {
    let rows = session
        .query(
            "SELECT rows, smallest, largest FROM inrush_fastcopy.last_load()",
            &[],
            "asking for the keys of the rows",
        )
        .await?;
    let row = rows.first();
    Ok(KeyEnds {
        rows: row
            .and_then(|row| row.get::<_, Option<i64>>(0))
            .unwrap_or(0) as u64,
        smallest: row.and_then(|row| row.get(1)),
        largest: row.and_then(|row| row.get(2)),
    })
}
