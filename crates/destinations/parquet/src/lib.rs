//! A folder of Parquet files: one folder for each table.
//!
//! Rows become whole files in staging, a unit's at a time ([`unit_writer`]); readers see nothing of
//! it. To publish ([`publish`]), the table's next generation is made beside it, as a folder with links
//! to the files that stay and to the new ones, and takes the table's name in one step of the file system
//! (`RENAME_EXCHANGE`). What tells which runs are in a table lies in its folder and comes and goes with it
//! ([`ledger`]).
//!
//! # What readers see
//!
//! - Who opens the table after the exchange sees all of the new generation, who opened its files
//!   before goes on with the old ones, which live as long as somebody has them open.
//! - A reader of a glob pattern (`table/**/*.parquet`) lists first and opens later. Names of files are
//!   never used twice, and files that stay keep theirs: if the exchange comes in between, after an
//!   append such a reader sees the old rows, and after a replace it fails, as files that it has
//!   listed are gone. It never sees rows of both generations, with one exception: in a table with
//!   partitions, folders are listed one after the other, and those listed after the exchange are the new
//!   ones. Who cannot have that reads when no load runs, or opens the table's folder once and
//!   lists through it (`openat`).
//! - Several tables of a run are exchanged one right after the other. A crash in between is gone on
//!   with when the same command is given again.
//!
//! # After a crash
//!
//! Files are made lasting (`fsync`) before the record of their unit is, and that before
//! `commit` returns; likewise a generation before it is exchanged. So a unit that was committed and a
//! run that was published outlast the end of the process and of the system, and the loss of power as far
//! as the disk keeps what it says it has written.

mod adapt;
mod cancel;
mod column_sums;
mod data_file;
mod destination;
mod encoding;
mod files;
mod layout;
mod ledger;
mod lock;
mod merging;
mod names;
mod options;
mod partition;
mod publish;
mod recover;
mod run;
mod run_target;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod unit_writer;
mod write_back;

use std::path::Path;

use inrush_destination::{Address, Destination, Result};

/// Opens a folder of tables. It is made when the first run begins.
pub fn open(address: &Address<'_>, folder: &Path) -> Result<Box<dyn Destination>> {
    Ok(Box::new(destination::ParquetFolder::open(address, folder)?))
}
