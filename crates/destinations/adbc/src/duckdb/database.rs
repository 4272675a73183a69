//! An open DuckDB file as a database of the destination.

use std::collections::BTreeMap;
use std::sync::Arc;

use adbc_core::error::Result as AdbcResult;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::database::{self, Instance};
use inrush_adbcclient::duckdb::functions::Functions;

use super::connection::DuckDbConnection;
use crate::connection::{AdbcConnection, AdbcDatabase};
use crate::interrupt::Interrupt;

/// Opens a file, or creates it. The options are DuckDB's settings.
pub fn open(
    functions: &'static Functions,
    path: &str,
    options: &BTreeMap<String, String>,
) -> AdbcResult<Box<dyn AdbcDatabase>> {
    Ok(Box::new(DuckDb(database::open(functions, path, options)?)))
}

struct DuckDb(Arc<Instance>);

impl AdbcDatabase for DuckDb {
    fn vendor(&self) -> AdbcResult<(String, String)> {
        Ok(("duckdb".to_owned(), self.0.version()))
    }

    /// Sources in this process can use the open instance of the file.
    fn is_shared(&self) -> bool {
        true
    }

    fn connect(&self, _interrupt: &Arc<Interrupt>) -> AdbcResult<Box<dyn AdbcConnection>> {
        Ok(Box::new(DuckDbConnection(Link::open(self.0.clone())?)))
    }
}
