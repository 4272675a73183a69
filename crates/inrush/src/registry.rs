//! The destinations of this build. This is the only file that names their crates: everything else knows them by the
//! traits of `inrush_destination`.

use inrush_destination::address::Kind;
use inrush_destination::{Address, Destination, Error, Result};

/// Opens the destination that an address means. [`Error::Address`] says why there is none, and which URLs there are.
pub fn open(address: &Address<'_>) -> Result<Box<dyn Destination>> {
    let Some(kind) = Kind::of(address.url) else {
        return Err(Error::Address {
            what: "the URL names no destination".to_owned(),
            hint:
                "write FILE.duckdb, parquet:FOLDER, adbc:DRIVER, or postgresql://USER@HOST/DATABASE"
                    .to_owned(),
        });
    };
    if let Some((what, hint)) = kind.fault(address.folder) {
        return Err(Error::Address { what, hint });
    }
    match kind {
        Kind::DuckDb(file) => inrush_adbc::open_duckdb(address, &address.folder.join(file)),
        Kind::Adbc(driver) => inrush_adbc::open_driver(address, &driver),
        Kind::Parquet(folder) => inrush_parquet::open(address, &address.folder.join(folder)),
    }
}
