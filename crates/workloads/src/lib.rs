//! The workloads of the `inrush` command: data to load, packages that load it, and checks of the loaded rows.
//!
//! [`tpch`] generates the files of dbgen. [`demo`] loads them once and compares every row; [`etlwr`] loads them as the
//! record runs did, and measures the loads. [`clients`] measures many clients that insert or call at the same time.
//!
//! Like the library, this crate neither prints nor reads the environment: its caller does both. It knows the names of
//! the command's options, because its errors and hints use them.

pub mod clients;
pub mod demo;
mod error;
pub mod etlwr;
mod grid;
#[cfg(test)]
mod schema_test;
mod session;
mod statistics;
pub mod tpch;
mod whole_file;

pub use error::WorkloadError;
pub use grid::Grid;
