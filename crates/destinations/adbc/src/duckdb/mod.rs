//! A file of DuckDB, by DuckDB's own functions of C.
//!
//! The library of the wheel is a driver of ADBC as well, but that one's ingest copies all rows into a buffer
//! of the appender first, from where an INSERT takes them: 7 % of a load's processor time.
//! Here an `INSERT ... SELECT` takes them out of a table function of Inrush's ([`table_function`]). All else, from the
//! ledger to the switch, is what other databases with SQL have.

mod connection;
mod database;
pub mod file;
mod functions;
mod table_function;

pub use database::open;
pub use functions::{Functions, is_driver, load};
