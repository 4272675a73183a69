//! Databases with an ADBC driver, as their source and their destination reach them: the driver is found and loaded
//! ([`driver_library`]), answers to small questions become text ([`answer`]), passwords are taken out of messages
//! ([`secrets`]), and a file of DuckDB that somebody has open is noticed ([`duckdb_file`]). [`duckdb`] calls DuckDB by
//! its C functions.

pub mod answer;
pub mod driver_library;
pub mod duckdb;
pub mod duckdb_file;
pub mod secrets;
mod vendor;

pub use vendor::vendor_of;
