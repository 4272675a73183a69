//! The options of a connection: those of the session, and those of a load.

use std::collections::BTreeMap;

use inrush_destination::{Address, Error, Result};
use inrush_tdsclient::SessionOptions;
use inrush_tdsclient::address::refuse_unknown;

use crate::connection;

/// Options of a load.
const OF_LOAD: [&str; 4] = ["columnstore", "filegroups", "switch", "table_lock"];

/// All options.
#[derive(Clone, Debug)]
pub struct Options {
    /// The options of the session.
    pub session: SessionOptions,
    /// Bulk loads take the lock of the whole staging table, which bulk loads into the same heap share: extents are
    /// allocated at once, and the log is minimal where the database's recovery model allows it.
    pub table_lock: bool,
    /// Rows are switched into tables that exist, where that is possible; otherwise they are always copied.
    pub switch: bool,
    /// New tables are clustered columnstores.
    pub columnstore: bool,
    /// The partitions of new tables are assigned to these filegroups in turn; to PRIMARY if there are none.
    pub filegroups: Vec<String>,
}

impl Options {
    /// Reads URL and options. Unknown ones are refused by name.
    pub fn read(address: &Address<'_>) -> Result<Options> {
        let (session, mut others) =
            SessionOptions::parse(address.url, address.options, address.folder)
                .map_err(connection::address_error)?;
        let table_lock = yes_or_no(&mut others, "table_lock", true)?;
        let switch = yes_or_no(&mut others, "switch", true)?;
        let columnstore = yes_or_no(&mut others, "columnstore", false)?;
        let filegroups = others.remove("filegroups").unwrap_or_default();
        let filegroups = filegroups.split(',').map(str::trim);
        refuse_unknown(&others, &OF_LOAD).map_err(connection::address_error)?;
        Ok(Options {
            session,
            table_lock,
            switch,
            columnstore,
            filegroups: filegroups
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }
}

/// An option that is `yes` or `no`.
fn yes_or_no(options: &mut BTreeMap<String, String>, name: &str, without: bool) -> Result<bool> {
    match options.remove(name).as_deref() {
        None => Ok(without),
        Some("yes" | "true") => Ok(true),
        Some("no" | "false") => Ok(false),
        Some(other) => Err(Error::Address {
            what: format!("option {name} of SQL Server: {other:?} is not understood"),
            hint: "write yes or no".to_owned(),
        }),
    }
}
