//! Tables and queries of DuckDB, SQLite and any database with an ADBC driver as a source; and streams of Arrow batches that a
//! program hands over ([`RowStream`]).
//!
//! # One moment
//!
//! - A file of DuckDB is opened for reading only. DuckDB's lock on it keeps every other program from writing to it until the
//!   source is closed, so all streams read the same rows.
//! - A file of SQLite is opened for reading only, by one connection, in one transaction that is open as long as the
//!   source. It shows the file at one moment, whatever is written meanwhile. If the file has no write-ahead log, no
//!   writer can COMMIT during this transaction. Further connections then show the same moment, and several connections
//!   read the ranges of a key.
//! - Other databases are read by one connection in one read-only transaction. PostgreSQL's transaction shows one
//!   moment. For databases other than PostgreSQL, the plan says that Inrush cannot tell whether the transaction shows
//!   one moment. Several connections read ranges of a key only if `max_connections` is set.
//!
//! No file is ever created.
//!
//! # Inputs and splits
//!
//! A table or a query is one input. With `split_by` it is cut into ranges of a key ([`keys`]), and the place of a row
//! is its key. A table of DuckDB is cut into ranges of its `rowid`, and the place of a row is its `rowid`. Everything
//! else has one split, and its rows are numbered in the order in which the database sends them.
//!
//! # Rows
//!
//! The driver's Arrow batches are passed on as they are ([`reader`]). Types without a counterpart are refused by name,
//! unless the settings ask for their text: `tags::text`. SQLite has no types of columns, only of values: the values of
//! a column must have the type that its declaration means. A row with another value becomes a reject ([`sqlite`]).
//!
//! # Changes since an earlier run
//!
//! The state of an input is the state of its file and of the write-ahead log: inode, size and times. For a database
//! without a file the state differs each time, so the loaded rows are read again and compared. An incremental load
//! reads another range each time ([`since`]).

mod arrays;
mod columns;
mod database;
mod duckdb;
mod duckdb_plan;
mod error;
mod keys;
mod other;
mod pool;
mod reader;
mod row_stream;
mod session;
mod since;
mod since_standard;
mod source;
mod sqlite;
mod stopping;
mod table;

pub use columns::Column;
pub use database::{Database, Databases, Vendor, file_of};
pub use inrush_source::{DatabaseSettings as Settings, Rows, Since};
pub use row_stream::RowStream;
pub use source::AdbcSource;
