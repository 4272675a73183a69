//! The workloads of the `inrush` command: data to load, packages that load it, and checks of what was loaded.
//!
//! [`tpch`] makes the files of dbgen. [`demo`] loads them once and compares every row; [`etlwr`] loads them as the record
//! runs did, and measures it.
//!
//! Like the engine, this crate neither prints nor reads the environment: its caller does both. It knows the names of the
//! command's options, in which its errors and hints are worded.

pub mod demo;
mod error;
pub mod etlwr;
mod session;
pub mod tpch;

pub use error::WorkloadError;
