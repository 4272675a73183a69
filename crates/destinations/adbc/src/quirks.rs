//! The differences between databases: one entry for each.

use inrush_destination::Streams;

/// The database, as its driver identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// DuckDB.
    DuckDb,
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// Any other: only features of the SQL standard are used.
    Other,
}

/// How a run is protected from being loaded twice at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLock {
    /// The database lets only one process open its file.
    DatabaseFile,
    /// A file beside the database's own, locked by the system.
    LockFile,
    /// An advisory lock of the session.
    Advisory,
    /// The ledger names the holder, but nothing shows whether its process is alive.
    LedgerOnly,
}

/// The properties of a database.
#[derive(Debug)]
pub struct Quirks {
    /// The database.
    pub vendor: Vendor,
    /// The query for the schema of tables without an explicit one; `None` if tables have no schema.
    pub current_schema: Option<&'static str>,
    /// The prefix of `run` and `unit` in the names of the ledger's tables. In PostgreSQL, the same schema may have the
    /// tables of loads through postgresql://.
    pub ledger_prefix: &'static str,
    /// Statements for each new connection.
    pub on_connect: &'static [&'static str],
    /// How many streams can fill a table at the same time.
    pub streams: Streams,
    /// CREATE, DROP and ALTER TABLE are part of a transaction.
    pub transactional_ddl: bool,
    /// The setting for the number of threads of a statement. It is set to 1 during a load, because each stream has a
    /// thread of its own. DuckDB's driver flushes 204,800 rows at a time by an INSERT. With several threads, each of
    /// them inserts a part of these rows. Then hardly any row group of 122,880 rows is complete, and incomplete ones
    /// are written again at the checkpoint. For lineitem (scale 1, two streams) that takes 22 CPU seconds and a file of
    /// 281 MB instead of 12 CPU seconds and 184 MB.
    pub threads: Option<&'static str>,
    /// The setting for the most memory of its buffers.
    pub memory_limit: Option<&'static str>,
    /// The driver counts the rows of an ingest.
    pub ingest_counts: bool,
    /// How a run is protected from being loaded twice at the same time.
    pub run_lock: RunLock,
    /// The clause with which a SELECT locks the run's row until the transaction ends.
    pub hold_row: &'static str,
    /// Counting all rows of a table is cheap.
    pub counts_quickly: bool,
    /// Names that differ only in case are one name.
    pub folds_names: bool,
    /// The rows of a target are counted before and after, because its rules may silently leave out or replace rows.
    pub counts_targets: bool,
    /// Its catalog has the constraints of a target, so that rows which they refuse can be found.
    pub finds_refused_rows: bool,
    /// Rows can be merged into a target by a key.
    pub merges: bool,
    /// An index may have a condition.
    pub partial_indexes: bool,
    /// The most bytes of a name; longer names would be cut off silently.
    pub name_bytes_max: Option<usize>,
    /// The lock mode that keeps other writers away from a table, but not readers. Transactions that take the next run
    /// number hold it, and so does a merge.
    pub lock_table: Option<&'static str>,
    /// The query for the bytes of a table, with `{}` for its name as a text. It returns NULL if the size of the table
    /// is unknown.
    pub table_bytes: Option<&'static str>,
    /// The least bytes of text of a unit. For DuckDB a unit should have several row groups, so that the last,
    /// incomplete one does not matter.
    pub unit_bytes: u64,
    /// The best number of rows in a batch for the driver.
    pub batch_rows: u32,
    /// A run can be undone, and the rows that it replaces can be kept. This needs DDL in transactions, and one writer
    /// at a time.
    pub undoes: bool,
    /// `ANALYZE table` updates the statistics of a table. DuckDB has the statement but hardly needs it: every write updates
    /// the statistics, and what ANALYZE finds in a sample is lost when the file is closed, unless rows were written after the
    /// last checkpoint.
    pub analyzes: bool,
    /// The statements before and after an ANALYZE that limit its wait for a lock to five seconds; `None` if the
    /// database needs no such limit.
    pub analyze_wait: Option<[&'static str; 2]>,
    /// Promises of a destination that this database does not keep, as sentences for the user.
    pub not_promised: &'static [&'static str],
}

const DUCKDB: Quirks = Quirks {
    vendor: Vendor::DuckDb,
    current_schema: Some("SELECT current_schema()"),
    ledger_prefix: "",
    on_connect: &[],
    streams: Streams::Many,
    transactional_ddl: true,
    threads: Some("threads"),
    memory_limit: Some("memory_limit"),
    ingest_counts: true,
    run_lock: RunLock::DatabaseFile,
    hold_row: "",
    counts_quickly: true,
    folds_names: true,
    counts_targets: false,
    finds_refused_rows: true,
    merges: true,
    partial_indexes: false,
    name_bytes_max: None,
    lock_table: None,
    table_bytes: Some(
        "SELECT CASE WHEN bool_and(persistent) THEN count(DISTINCT block_id) FILTER (block_id >= 0) \
         * (SELECT block_size FROM pragma_database_size() WHERE database_name = current_database()) \
         END FROM pragma_storage_info({})",
    ),
    unit_bytes: 128 << 20,
    batch_rows: 8_192,
    undoes: true,
    analyzes: false,
    analyze_wait: None,
    not_promised: &[],
};

const SQLITE: Quirks = Quirks {
    vendor: Vendor::Sqlite,
    current_schema: None,
    ledger_prefix: "inrush_",
    on_connect: &["PRAGMA busy_timeout = 5000"],
    streams: Streams::One,
    transactional_ddl: true,
    threads: None,
    memory_limit: None,
    ingest_counts: true,
    run_lock: RunLock::LockFile,
    hold_row: "",
    counts_quickly: false,
    folds_names: true,
    counts_targets: true,
    finds_refused_rows: true,
    merges: true,
    partial_indexes: true,
    name_bytes_max: None,
    lock_table: None,
    table_bytes: Some("SELECT sum(pgsize) FROM dbstat WHERE name = {}"),
    unit_bytes: 64 << 20,
    batch_rows: 8_192,
    undoes: true,
    analyzes: true,
    analyze_wait: None,
    not_promised: &[
        "SQLite has no types for decimals, dates, times, intervals, UUIDs and JSON: they are \
         stored as exact text, which compares and sorts as text",
        "other programs can write to the SQLite file between two units; a program that finds it \
         locked waits, and fails after five seconds",
    ],
};

const POSTGRES: Quirks = Quirks {
    vendor: Vendor::Postgres,
    current_schema: Some("SELECT current_schema()"),
    ledger_prefix: "adbc_",
    on_connect: &[],
    streams: Streams::Many,
    transactional_ddl: true,
    threads: None,
    memory_limit: None,
    ingest_counts: true,
    run_lock: RunLock::Advisory,
    hold_row: " FOR SHARE",
    counts_quickly: false,
    folds_names: false,
    counts_targets: false,
    finds_refused_rows: true,
    merges: true,
    partial_indexes: true,
    name_bytes_max: Some(63),
    lock_table: Some("IN SHARE ROW EXCLUSIVE MODE"),
    table_bytes: Some("SELECT pg_catalog.pg_total_relation_size({}::regclass)"),
    unit_bytes: 64 << 20,
    batch_rows: 8_192,
    undoes: false,
    analyzes: true,
    analyze_wait: Some(["SET lock_timeout = 5000", "RESET lock_timeout"]),
    not_promised: &[
        "through ADBC a PostgreSQL table is loaded as a whole and with WAL; loads through \
         postgresql:// also use partitions, FREEZE and other features",
        "if a pooler gives the connection to another client between transactions, the run's \
         advisory lock is lost, and only the epoch in the ledger protects the run",
    ],
};

const OTHER: Quirks = Quirks {
    vendor: Vendor::Other,
    current_schema: None,
    ledger_prefix: "inrush_",
    on_connect: &[],
    streams: Streams::One,
    transactional_ddl: false,
    threads: None,
    memory_limit: None,
    ingest_counts: false,
    run_lock: RunLock::LedgerOnly,
    hold_row: "",
    counts_quickly: false,
    folds_names: false,
    counts_targets: false,
    finds_refused_rows: false,
    merges: false,
    partial_indexes: false,
    name_bytes_max: None,
    lock_table: None,
    table_bytes: None,
    unit_bytes: 64 << 20,
    batch_rows: 8_192,
    undoes: false,
    analyzes: false,
    analyze_wait: None,
    not_promised: &[
        "Inrush is not tested with this database: only plain SQL and the driver's ingest are used",
        "it is not known whether CREATE, DROP and ALTER TABLE are part of a transaction: a new \
         target is visible and empty until all rows are copied into the targets, in one \
         transaction",
        "a database without transactions, or one whose driver cannot turn autocommit off, is refused \
         when the first unit begins",
        "Inrush cannot tell whether another run of the same package is in progress or has stopped: \
         do not start two at the same time",
    ],
};

impl Quirks {
    /// The entry of the database with this name.
    pub fn of(vendor_name: &str) -> &'static Quirks {
        match vendor_name.to_lowercase().as_str() {
            "duckdb" => &DUCKDB,
            "sqlite" => &SQLITE,
            "postgresql" => &POSTGRES,
            _ => &OTHER,
        }
    }

    /// True if tables have schemas.
    pub fn has_schemas(&self) -> bool {
        self.current_schema.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_known_by_their_names() {
        assert_eq!(Quirks::of("duckdb").vendor, Vendor::DuckDb);
        assert_eq!(Quirks::of("SQLite").vendor, Vendor::Sqlite);
        assert_eq!(Quirks::of("PostgreSQL").vendor, Vendor::Postgres);
        assert_eq!(Quirks::of("Oracle").vendor, Vendor::Other);
    }
}
