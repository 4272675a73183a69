//! Databases that are reached by a driver of ADBC, and DuckDB by its own functions of C.
//!
//! [`connection`] says what is asked of either; [`adbc_connection`] and [`duckdb`] are the two ways. Rows go
//! by a bulk ingest into one staging table for each target, beside it. All
//! streams append to it; a unit is one transaction that ends with the unit's row in the ledger, so
//! that both stand or neither. [`publish`] makes staging the target by a new name, or copies it
//! over, for all targets in one transaction. Where a target refuses a row then, its units are loaded again, [carefully](careful).
//!
//! What differs between databases stands in [`quirks`], one row each; nothing else asks whose
//! driver it is but [`carry`] (Arrow types), [`types`] and [`catalog`] (names of types, and
//! tables as they are).

mod adapt;
mod adbc_connection;
mod answer;
mod calendar_text;
mod careful;
mod carry;
mod catalog;
mod check_text;
mod column_sums;
mod connection;
mod constraints;
mod destination;
mod driver_library;
mod duckdb;
mod ingest;
mod interrupt;
mod ledger;
mod lock;
mod own_memory;
mod publish;
mod queue;
mod quirks;
mod run;
mod secrets;
mod session;
mod shared_database;
mod sql;
mod staging;
mod stream;
mod types;

use std::path::Path;

use inrush_destination::{Address, Destination, Result};

/// Opens a file of DuckDB, or makes it.
pub fn open_duckdb(address: &Address<'_>, file: &Path) -> Result<Box<dyn Destination>> {
    destination::open_duckdb(address, file)
}

/// Opens whatever a driver reaches.
pub fn open_driver(address: &Address<'_>, driver: &str) -> Result<Box<dyn Destination>> {
    destination::open_driver(address, driver)
}
