//! The name and version of a database, as its driver reports them.

use std::collections::HashSet;

use adbc_core::error::Result as AdbcResult;
use adbc_core::options::InfoCode;
use adbc_core::{Connection as _, Database as _};
use adbc_driver_manager::ManagedDatabase;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;

use crate::answer;

/// The name and version that a database reports; empty if it does not.
pub fn vendor_of(database: &ManagedDatabase) -> AdbcResult<(String, String)> {
    let connection = database.new_connection()?;
    let codes = HashSet::from([InfoCode::VendorName, InfoCode::VendorVersion]);
    let (mut name, mut version) = (String::new(), String::new());
    let Ok(reader) = connection.get_info(Some(codes)) else {
        return Ok((name, version));
    };
    for batch in reader.map_while(Result::ok) {
        let codes = batch.column(0).as_primitive::<UInt32Type>();
        for row in 0..codes.len() {
            let told = answer::cell(batch.column(1), row)
                .ok()
                .flatten()
                .unwrap_or_default();
            match InfoCode::from(codes.value(row)) {
                InfoCode::VendorName => name = told,
                InfoCode::VendorVersion => version = told,
                _ => {}
            }
        }
    }
    Ok((name, version))
}
