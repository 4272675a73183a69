//! A folder of Parquet files, with one folder for each table.
//!
//! Rows become complete files in staging, one unit at a time ([`unit_writer`]); readers do not see them. To publish
//! ([`publish`]), the table's next generation is made beside the table, as a folder with hard links to the files that
//! stay and to the new ones. It takes the table's name in one step of the file system (`RENAME_EXCHANGE`). The list of
//! runs in a table is in the table's folder, so it is replaced together with the rows ([`ledger`]).
//!
//! # What readers see
//!
//! - A reader that opens the table after the exchange sees all of the new generation. A reader that has opened its
//!   files before continues with the old ones, which exist as long as somebody has them open.
//! - A reader of a glob pattern (`table/**/*.parquet`) lists first and opens later. File names are never used twice,
//!   and files that stay keep theirs. So if the exchange comes in between, such a reader sees the old rows after an
//!   append; after a replace it fails, because files that it has listed are gone. It never sees rows of both
//!   generations, with one exception: in a table with partitions, folders are listed one after the other, and folders
//!   that are listed after the exchange are the new ones. To avoid that, read when no load runs, or open the table's
//!   folder once and list through it (`openat`).
//! - Several tables of a run are exchanged one right after the other. After a crash in between, the same command
//!   exchanges the rest.
//!
//! # After a crash
//!
//! The files of a unit are flushed to the disk (`fsync`) before the unit's record, and the record before `commit`
//! returns. A generation is flushed before it is exchanged. So a committed unit and a published run survive the end of
//! the process, a crash of the system, and a loss of power if the disk really keeps what it reports as written.

mod adapt;
mod cancel;
mod data_file;
mod destination;
mod encoding;
mod files;
mod joined;
mod layout;
mod ledger;
mod lock;
mod merging;
mod names;
mod next_generation;
mod options;
mod partition;
mod publish;
mod recover;
mod run;
mod run_target;
mod steps;
mod stream;
mod sums;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod undo;
mod unit_writer;
mod write_back;

use std::path::Path;

use inrush_destination::{Address, Destination, Result};

/// Opens a folder of tables. The first run creates it.
pub fn open(address: &Address<'_>, folder: &Path) -> Result<Box<dyn Destination>> {
    Ok(Box::new(destination::ParquetFolder::open(address, folder)?))
}
