//! A folder of JSON files as a destination: the example of `docs/adding-a-destination.md`. No URL of the command names it.
//!
//! ```text
//! FOLDER/
//!   catalog.json                    the tables: their columns, and the folders that have their rows
//!   rows/RUN/TARGET/UNIT.json       the rows of a unit: an array of objects, one object on each line
//!   .inrush/
//!     locks/RUN_KEY                 locked while a process holds the run
//!     locks/catalog                 locked while a process writes `catalog.json`
//!     runs/RUN/run.json             the run, and the staging of its targets
//!     runs/RUN/units/TARGET/UNIT.json   the record of a committed unit
//! ```
//!
//! **Commit.** The rows of a unit are safe on disk before its record is renamed into place: rows without a record count as
//! never written, and `begin` removes them.
//!
//! **Switch.** `catalog.json` names the folders of a table's rows, and the runs that are switched. One rename of it publishes
//! all targets of a run and marks the run. Rows are never moved: before the rename, no table of the catalog has their folder.
//!
//! **Readers** read the catalog, then the files of the folders that it names. The folders of replaced rows stay until the next
//! run begins, so that a reader of the earlier catalog finds its files. To drop a table, remove it from the catalog, then
//! remove its folders.

mod catalog;
mod destination;
mod files;
mod json_rows;
mod ledger;
mod run;
mod steps;
mod stream;
mod types;

use std::path::Path;

use inrush_destination::{Address, Destination, Error, Result};

use destination::JsonFolder;
use files::Layout;

/// Opens a folder. Nothing is made in it before a run begins.
pub fn open(address: &Address<'_>, folder: &Path) -> Result<Box<dyn Destination>> {
    if let Some(option) = address.options.keys().next() {
        return Err(Error::Address {
            what: format!("a folder of JSON files has no option `{option}`"),
            hint: "remove the option: this destination takes none".to_owned(),
        });
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Error::Address {
            what: format!("{} is not a folder", folder.display()),
            hint: "write the path of a folder, which need not exist yet".to_owned(),
        });
    }
    Ok(Box::new(JsonFolder::new(Layout::new(folder))))
}
