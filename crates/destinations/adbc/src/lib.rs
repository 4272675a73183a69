//! Databases that are reached through an ADBC driver, and DuckDB through its C functions.
//!
//! [`connection`] has the traits; [`adbc_connection`] and [`duckdb`] implement them. Rows are loaded by bulk ingest
//! into one staging table for each target, in the target's schema. All streams append to it. A unit is one transaction
//! that also inserts the unit's row into the ledger, so both are committed or neither. [`publish`] renames staging to
//! the target, or copies its rows, for all targets in one transaction. If a target then refuses a row, its units are
//! loaded again, [carefully](careful). The ledger records the change of each target ([`changes`]), so that a run can be
//! undone ([`mod@undo`]).
//!
//! The differences between databases are in [`quirks`], one entry for each. Apart from that, only [`carry`] (Arrow
//! types), [`types`] and [`catalog`] (type names and existing tables) distinguish drivers.

mod adapt;
mod adbc_connection;
mod careful;
mod carry;
mod catalog;
mod check_text;
mod connection;
mod constraints;
mod destination;
mod duckdb;
mod given;
mod ingest;
mod interrupt;
mod ledger;
mod lock;
mod members;
mod merge;
mod own_memory;
mod publish;
mod queue;
mod quirks;
mod run;
mod session;
mod shared_database;
mod sql;
mod staging;
mod steps;
mod stream;
mod sums;
mod types;
mod undo;

use std::path::Path;

use inrush_destination::{Address, Destination, Result};

/// Opens a file of DuckDB, or creates it.
pub fn open_duckdb(address: &Address<'_>, file: &Path) -> Result<Box<dyn Destination>> {
    destination::open_duckdb(address, file)
}

/// Opens a database through a driver.
pub fn open_driver(address: &Address<'_>, driver: &str) -> Result<Box<dyn Destination>> {
    destination::open_driver(address, driver)
}
