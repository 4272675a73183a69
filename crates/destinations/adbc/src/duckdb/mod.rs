//! DuckDB files, through DuckDB's C functions.
//!
//! The library of the wheel is an ADBC driver as well, but its ingest first copies all rows into a buffer of the
//! appender, from which an INSERT reads them: 7 % of a load's CPU time. Here an `INSERT ... SELECT` reads them from a
//! table function of Inrush (`inrush_adbcclient::duckdb::table_function`). Everything else, from the ledger to the
//! switch, is the same as for other SQL databases.

mod connection;
mod database;
pub mod file;

pub use database::open;
pub use inrush_adbcclient::duckdb::functions::{Functions, is_driver, load};
