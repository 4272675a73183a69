//! Tables and queries of PostgreSQL as a source.
//!
//! # One snapshot
//!
//! Opening a [`Database`] begins a transaction that is read-only and repeatable read, locks the tables against changes
//! of their definition (ACCESS SHARE), and exports its snapshot ([`snapshot`]). All sources of a run that read this
//! database, and all of their streams, read in transactions of this snapshot. So all splits show all tables at one
//! moment, whatever is written meanwhile. The locks come before the snapshot: a TRUNCATE between the two would
//! otherwise show an empty table.
//!
//! # Inputs and splits
//!
//! A table without partitions is one input, and each partition of a partitioned table is one ([`relations`]). An input
//! that has pages is cut into ranges of pages, which the server reads by a TID range scan. A view, a foreign table or a
//! query is one input with one split. With `split_by`, any of them is one input, cut into ranges of a key ([`keys`]). A
//! split is a range of bytes of the input's size, and each page or range of the key has the same number of bytes. The
//! position of a row is its page times 65,536 plus its number in the page, or its number in the order of reading.
//!
//! # Rows
//!
//! The session that keeps the snapshot samples the states of the reading sessions, for the run's verdict
//! ([`sampler`]).
//!
//! The rows come by `COPY (SELECT ...) TO STDOUT (FORMAT binary)` and are decoded a block at a time ([`reader`]). Types that
//! the decoder does not know are refused, unless the settings ask for their text: `tags::text`.
//!
//! # Changes since an earlier run
//!
//! The state of an input is the snapshot itself, which changes with every transaction of the server that writes. If it
//! has changed, ranges that were loaded before are read again and their hashes are compared. Rows that can change
//! without such a write ([`unseen_changes`]), and rows of a standby ([`snapshot`]), have another state each time. A
//! table that is declared `stable` is not read again. With `proven` in the settings the server counts and hashes the
//! rows of each range ([`proof`]), and only the ranges that have changed are loaded again. An incremental load keeps
//! rows of a stopped run if nothing was written to the server since ([`since`]): then it reads the same range.

mod catalog;
mod columns;
mod compare;
mod compare_splits;
mod database;
mod error;
mod explained;
mod hazards;
mod input;
mod keys;
mod listing;
mod pool;
mod proof;
mod ranges;
mod read_relations;
mod reader;
mod relations;
mod rows;
mod sampler;
mod since;
mod snapshot;
mod snapshot_age;
mod source;
mod structure;
mod unseen_changes;

pub use columns::Column;
pub use compare::{Limits, Side, compare};
pub use database::{Database, Wanted};
pub use inrush_pgclient::DatabaseAddress;
pub use inrush_source::{ProvenRanges, ReadLimits, Rows, Since};
pub use listing::{TablePattern, tables_like};
pub use source::PostgresSource;
pub use structure::StructureAsked;

/// The source's settings.
#[derive(Clone)]
pub struct Settings {
    /// The database.
    pub address: DatabaseAddress,
    /// What is read.
    pub rows: Rows,
    /// The columns: `name`, or `name::text` for the server's text of its values. If it is empty, all columns are read.
    pub columns: Vec<String>,
    /// A condition on the rows, as in WHERE.
    pub filter: Option<String>,
    /// The column by whose ranges the rows are cut into splits.
    pub split_by: Option<String>,
    /// True if rows in which this column is NULL are read with the first range; otherwise they are refused.
    pub split_nulls: bool,
    /// Limits of connections, one of which keeps the snapshot (2 or more), and of the bytes of COPY that are read. Sources
    /// that share a database share the limits that it was opened with.
    pub limits: ReadLimits,
    /// True if the rows are declared not to change between runs.
    pub is_stable: bool,
    /// If set, each range of `split_by` is an input, and a resumed run compares the count of its rows and the sum of
    /// their hashes.
    pub proven: Option<ProvenRanges>,
    /// If set, only rows with values in this range are read.
    pub since: Option<Since>,
    /// What a new target gets in addition to its columns and its primary key.
    pub structure: StructureAsked,
}
