//! Packages: the TOML files that a user writes.

mod types;

pub use types::*;
