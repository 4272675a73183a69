//! The options of a connection: those of the session, and those of a load.

use inrush_destination::{Address, Error, Result};
use inrush_tdsclient::SessionOptions;
use inrush_tdsclient::address::refuse_unknown;

use crate::connection;

/// Options of a load.
const OF_LOAD: [&str; 1] = ["table_lock"];

/// All options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Those of the session.
    pub session: SessionOptions,
    /// Bulk loads take the lock of the whole staging table, which bulk loads into the same heap share: extents are
    /// allocated at once, and the log is minimal where the database's recovery model allows it.
    pub table_lock: bool,
}

impl Options {
    /// Reads URL and options. Unknown ones are refused by name.
    pub fn read(address: &Address<'_>) -> Result<Options> {
        let (session, mut others) =
            SessionOptions::parse(address.url, address.options, address.folder)
                .map_err(connection::address_error)?;
        let table_lock = match others.remove("table_lock").as_deref() {
            None | Some("yes" | "true") => true,
            Some("no" | "false") => false,
            Some(other) => {
                return Err(Error::Address {
                    what: format!("option table_lock of SQL Server: {other:?} is not understood"),
                    hint: "write yes or no".to_owned(),
                });
            }
        };
        refuse_unknown(&others, &OF_LOAD).map_err(connection::address_error)?;
        Ok(Options {
            session,
            table_lock,
        })
    }
}
