//! Tables, views and queries of SQL Server as a source.
//!
//! # Which rows
//!
//! If the database allows it (ALLOW_SNAPSHOT_ISOLATION), all sessions show a table at the moment at which it was opened
//! ([`moment`]). Otherwise each statement reads at its own moment (READ_COMMITTED_SNAPSHOT), or locks rows one after
//! the other: a row that another session moves during the statement can be read twice or not at all. The plan says
//! which of these applies, with the fix.
//!
//! # Which splits
//!
//! A table is split by ranges of a key or by its partitions ([`split_by`]), and several sessions read it. Without the
//! setting `split_by` it is split only if all splits show one moment, or if its rows are declared stable.
//!
//! # Rows
//!
//! The bytes of rows are decoded to Arrow as their packets come: no more than a packet and a chunk are held. A value
//! becomes a reject if Arrow would change it, such as a time that is finer than a microsecond, or if it is not valid,
//! such as a text with bytes that its code page lacks (`inrush_tds::result`).
//!
//! # Changes since an earlier attempt
//!
//! SQL Server gives a table no version number that changes with every write. So the state of an input is different at
//! each opening, and a resumed run reads the loaded rows again and compares them.
//!
//! An incremental load ([`since`]) has a range of times as its state. A resumed run loads all rows of the range again.

mod columns;
mod error;
mod moment;
mod pool;
mod query;
mod reader;
mod sampler;
mod since;
mod source;
mod split_by;
mod table;
mod user_sql;

use std::collections::BTreeMap;
use std::path::Path;

use inrush_tdsclient::SessionError;
use inrush_tdsclient::address::{OF_LOADS, refuse_unknown};

pub use columns::Column;
pub use inrush_source::{DatabaseSettings as Settings, Rows, Since};
pub use inrush_tdsclient::SessionOptions;
pub use source::SqlServerSource;

/// The server and the database of a connection, as marks name them.
pub fn place_of(options: &SessionOptions) -> String {
    let endpoints: Vec<String> = options.endpoints.iter().map(|at| at.to_string()).collect();
    format!("{} database {}", endpoints.join(","), options.database)
}

/// The options of the sessions of a connection. `Err` says what is wrong with them and how to fix it; it contains no
/// secrets.
pub fn session_options(
    url: &str,
    options: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<SessionOptions, (String, String)> {
    let (session, others) = SessionOptions::parse(url, options, folder).map_err(with_fix)?;
    // A connection that is also a target may have the options of a load.
    refuse_unknown(&others, &OF_LOADS).map_err(with_fix)?;
    Ok(session)
}

fn with_fix(error: SessionError) -> (String, String) {
    let fix = error.hint().unwrap_or("correct the connection").to_owned();
    (error.to_string(), fix)
}
