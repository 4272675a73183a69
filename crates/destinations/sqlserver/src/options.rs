//! The options of a connection: those of the session, and those of a load.

use std::collections::BTreeMap;

use inrush_destination::{Address, Error, Result};
use inrush_tdsclient::SessionOptions;
use inrush_tdsclient::address::{OF_LOADS, refuse_unknown};

use crate::connection;

/// Bytes of text of a unit: enough to make the cost of its transaction negligible.
const COMMIT_MEGABYTES: u64 = 32;
const MEGABYTE: u64 = 1 << 20;

/// The partition of a new table to which a bound belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// The bound is the last value of a partition.
    Left,
    /// The bound is the first value of a partition.
    Right,
}

impl Range {
    /// The word of T-SQL.
    pub fn word(self) -> &'static str {
        match self {
            Range::Left => "LEFT",
            Range::Right => "RIGHT",
        }
    }
}

/// All options.
#[derive(Clone, Debug)]
pub struct Options {
    /// The options of the session.
    pub session: SessionOptions,
    /// Bulk loads take the lock of the whole staging table, which bulk loads into the same heap share: extents are
    /// allocated at once, and the log is minimal where the database's recovery model allows it.
    pub table_lock: bool,
    /// Rows are switched into tables that exist, where that is possible; otherwise they are always copied.
    pub switch: bool,
    /// New tables are clustered columnstores.
    pub columnstore: bool,
    /// The partitions of new tables are assigned to these filegroups in turn; to PRIMARY if there are none.
    pub filegroups: Vec<String>,
    /// The partitions to which the bounds of new tables belong.
    pub range: Range,
    /// Bytes of text of a load unit, which is one transaction.
    pub commit_bytes: u64,
    /// The rows of a bulk load that its statement announces to the server (ROWS_PER_BATCH).
    pub rows_per_batch: Option<u64>,
}

impl Options {
    /// Reads URL and options. Unknown ones are refused by name.
    pub fn read(address: &Address<'_>) -> Result<Options> {
        let (session, mut others) =
            SessionOptions::parse(address.url, address.options, address.folder)
                .map_err(connection::address_error)?;
        let table_lock = yes_or_no(&mut others, "table_lock", true)?;
        let switch = yes_or_no(&mut others, "switch", true)?;
        let columnstore = yes_or_no(&mut others, "columnstore", false)?;
        let range = match others.remove("range").as_deref() {
            None | Some("right") => Range::Right,
            Some("left") => Range::Left,
            Some(other) => return Err(wrong("range", other, "left or right")),
        };
        let commit_megabytes = number(&mut others, "commit_megabytes", 1_000_000)?;
        let rows_per_batch = number(&mut others, "rows_per_batch", i32::MAX as u64)?;
        let filegroups = others.remove("filegroups").unwrap_or_default();
        let filegroups = filegroups.split(',').map(str::trim);
        refuse_unknown(&others, &OF_LOADS).map_err(connection::address_error)?;
        Ok(Options {
            session,
            table_lock,
            switch,
            columnstore,
            filegroups: filegroups
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            range,
            commit_bytes: commit_megabytes.unwrap_or(COMMIT_MEGABYTES) * MEGABYTE,
            rows_per_batch,
        })
    }
}

/// An option that is `yes` or `no`.
fn yes_or_no(options: &mut BTreeMap<String, String>, name: &str, without: bool) -> Result<bool> {
    match options.remove(name).as_deref() {
        None => Ok(without),
        Some("yes" | "true") => Ok(true),
        Some("no" | "false") => Ok(false),
        Some(other) => Err(wrong(name, other, "yes or no")),
    }
}

/// An option that is a number from 1 on.
fn number(options: &mut BTreeMap<String, String>, name: &str, most: u64) -> Result<Option<u64>> {
    let Some(text) = options.remove(name) else {
        return Ok(None);
    };
    match text.trim().parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
        _ => Err(wrong(
            name,
            &text,
            &format!("a whole number from 1 to {most}"),
        )),
    }
}

fn wrong(name: &str, value: &str, right: &str) -> Error {
    Error::Address {
        what: format!("option {name} of SQL Server: {value:?} is not understood"),
        hint: format!("write {right}"),
    }
}
