//! Databases that are reached by a driver of ADBC.

use std::path::Path;

use crate::address::Address;
use crate::contract::Destination;
use crate::error::{Error, Result};

/// Opens a file of DuckDB, or makes it.
pub fn open_duckdb(_address: &Address<'_>, _file: &Path) -> Result<Box<dyn Destination>> {
    Err(Error::Interrupted)
}

/// Opens whatever a driver reaches.
pub fn open_driver(_address: &Address<'_>, _driver: &str) -> Result<Box<dyn Destination>> {
    Err(Error::Interrupted)
}
