//! Where data goes: the URL of a connection and its options.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::contract::Destination;
use crate::error::{Error, Result};
use crate::{adbc, parquet};

/// The URL of a connection, with its options.
#[derive(Clone, Debug)]
pub struct Address<'a> {
    /// `sales.duckdb`, `duckdb:FILE`, `adbc:DRIVER`, `parquet:FOLDER`.
    pub url: &'a str,
    /// Options, as the destination understands them.
    pub options: &'a BTreeMap<String, String>,
    /// Relative paths start here.
    pub folder: &'a Path,
    /// Where installed Python packages lie, whose drivers are used.
    pub site_packages: Option<&'a Path>,
    /// The schema of the ledger's tables.
    pub ledger_schema: &'a str,
}

/// The kinds of destinations that are reached by the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of DuckDB.
    DuckDb(PathBuf),
    /// A driver of ADBC: its name, path or manifest.
    Adbc(String),
    /// A folder of Parquet files.
    Parquet(PathBuf),
}

impl Kind {
    /// The kind that a URL means; none where it is no URL of a destination that is reached by the
    /// contract.
    pub fn of(url: &str) -> Option<Kind> {
        let url = url.trim();
        if let Some(file) = url.strip_prefix("duckdb:") {
            return Some(Kind::DuckDb(path(file)));
        }
        if let Some(driver) = url.strip_prefix("adbc:") {
            return Some(Kind::Adbc(driver.to_owned()));
        }
        if let Some(folder) = url.strip_prefix("parquet:") {
            return Some(Kind::Parquet(path(folder)));
        }
        let is_path = !url.contains("://");
        let lower = url.to_lowercase();
        let names_duckdb = [".duckdb", ".ddb"].iter().any(|end| lower.ends_with(end));
        (is_path && names_duckdb).then(|| Kind::DuckDb(PathBuf::from(url)))
    }

    /// The URL of the same with another path in place of its own; none where it names no path.
    pub fn with_path(&self, other: impl Fn(&Path) -> String) -> Option<String> {
        match self {
            Kind::DuckDb(file) => Some(format!("duckdb:{}", other(file))),
            Kind::Parquet(folder) => Some(format!("parquet:{}", other(folder))),
            Kind::Adbc(_) => None,
        }
    }
}

/// Slashes after a scheme's colon, as in `duckdb:///data/x.duckdb`, begin a path from the root.
fn path(text: &str) -> PathBuf {
    match text.strip_prefix("//") {
        Some(rest) => PathBuf::from(rest),
        None => PathBuf::from(text),
    }
}

/// Reaches a destination.
pub fn open(address: &Address<'_>) -> Result<Box<dyn Destination>> {
    match Kind::of(address.url) {
        Some(Kind::DuckDb(file)) => adbc::open_duckdb(address, &address.folder.join(file)),
        Some(Kind::Adbc(driver)) => adbc::open_driver(address, &driver),
        Some(Kind::Parquet(folder)) => parquet::open(address, &address.folder.join(folder)),
        None => Err(Error::Address {
            what: format!("{:?} names no destination", address.url),
            hint:
                "write FILE.duckdb, parquet:FOLDER, adbc:DRIVER, or postgresql://USER@HOST/DATABASE"
                    .to_owned(),
        }),
    }
}
