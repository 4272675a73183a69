//! SQL Server as a destination: bulk loads over TDS into staging tables, then a switch in one transaction.
//!
//! Each target gets one staging table, a heap in the schema of the target, and all streams fill it by `INSERT BULK`
//! with TABLOCK, whose lock they share. A unit is one transaction: its rows, the server's count of them, and the unit's
//! row in the ledger. [`publish`] loads all targets in one transaction: it renames the staging table if the target is
//! new. Otherwise it switches the rows into the target, or copies them where SWITCH is not possible.
//!
//! | file | what it owns |
//! |---|---|
//! | [`destination`] | the server before a run: abilities, names, earlier runs |
//! | [`run`], [`stream`] | a run, and its streams |
//! | [`bulk_target`], [`bulk_writer`], [`careful`] | INSERT BULK; which rows a target refuses |
//! | [`hazards`] | risks in the database that a preflight reports |
//! | [`nodes`] | the endpoints and NUMA nodes of streams |
//! | [`sampler`], [`session_waits`] | the present waits of the sessions of streams, for the verdict; their waits in total |
//! | [`sums`] | sums of the staged rows, computed by the server |
//! | [`publish`], [`filling`], [`ways`] | the last step of a run; one target in it; how rows get into each target |
//! | [`copying`], [`emptying`] | the statements that add rows to a target, or remove its rows |
//! | [`steps`] | the steps of a run, as `inrush check` prints them |
//! | [`ledger`], [`changes`], [`lock`] | runs, units and what runs did to their targets, in the database; the lock of a run |
//! | [`undo`], [`moved_rows`] | the undo of a run; rows that are moved out of a table into a separate one, and back |
//! | [`staging`], [`catalog`], [`types`] | tables of a run; existing tables; types |
//! | [`members`] | members that lookups add to a table of the database |
//! | [`shape`], [`indexes`], [`partitions`] | the properties that a staging table must share with its target; the indexes and partitions of both |
//! | [`added_partitions`], [`last_before`] | partitions that a table gets after its last one; bounds of RANGE LEFT |
//! | [`columnstore`] | clustered columnstores as targets, and their rowgroups |
//! | [`connection`], [`server`], [`options`] | sessions and their errors; version and edition of the server; options of a load |
//!
//! It has not been run against a real SQL Server yet: `docs/sql-server.md` describes what the tests use instead.

mod added_partitions;
mod bulk_target;
mod bulk_writer;
mod careful;
mod catalog;
mod changes;
mod columnstore;
mod connection;
mod copying;
mod destination;
mod emptying;
mod filling;
mod hazards;
mod indexes;
mod insert;
mod last_before;
mod ledger;
mod lock;
mod members;
mod merge;
mod moved_rows;
mod nodes;
mod options;
mod partitions;
mod publish;
mod run;
mod sampler;
mod server;
mod session_waits;
mod shape;
mod sql;
mod staging;
mod steps;
mod stream;
mod sums;
mod switch_obstacles;
mod types;
mod undo;
mod ways;

use inrush_destination::{Address, Destination, Result};
pub use inrush_tdsclient::address::{SQLCMD_VARIABLES, left_out};

/// Connects to the server of an `mssql://` address. Nothing is changed there.
pub fn open(address: &Address<'_>) -> Result<Box<dyn Destination>> {
    Ok(Box::new(destination::SqlServer::open(address)?))
}
