//! A folder of Parquet files.

use std::path::Path;

use crate::address::Address;
use crate::contract::Destination;
use crate::error::{Error, Result};

/// Opens a folder of tables, or makes it.
pub fn open(_address: &Address<'_>, _folder: &Path) -> Result<Box<dyn Destination>> {
    Err(Error::Interrupted)
}
