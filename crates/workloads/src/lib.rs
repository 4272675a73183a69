//! The workloads of the `inrush` command: data to load, packages that load it, and checks of what was loaded.
//!
//! Like the engine, this crate neither prints nor reads the environment: its caller does both.

pub mod tpch;
