//! The parts that the source and the destination for databases with an ADBC driver share. [`driver_library`] finds and
//! loads a driver, [`answer`] turns small results into text, [`secrets`] removes passwords from messages, and
//! [`duckdb_file`] notices a DuckDB file that another process has open. [`duckdb`] calls DuckDB by its C functions.

pub mod answer;
pub mod driver_library;
pub mod duckdb;
pub mod duckdb_file;
pub mod secrets;
mod vendor;

pub use vendor::vendor_of;
