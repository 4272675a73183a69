//! `inrush copy`.

use clap::Args;

use super::common::RunArguments;
use super::source_limits::SourceLimitArguments;
use super::target::{TargetArguments, ToArguments};

/// Copy tables of PostgreSQL, DuckDB, SQLite and other databases into another database or into files, without a package
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Copies tables or the rows of a query into another destination, without a package. The source is a
PostgreSQL database, SQL Server, a DuckDB file, or a database with an ADBC driver, such as SQLite.

In PostgreSQL all streams read at one snapshot: all tables are copied as they were at one moment,
whatever is written meanwhile. A table is read in ranges of its pages, by all streams. A new table
gets the columns of the source; if the table exists, columns are matched by their names. All rows
of all tables become visible together, after everything is loaded and counted.

To resume a copy that was stopped, run the same command again. Ranges that were loaded are read
again and compared, unless --stable says that nothing has changed.

A DuckDB file is locked while it is read, so it does not change either. Patterns, --with-indexes
and --with-partitions need PostgreSQL.",
    after_long_help = COPY_HELP
)]
pub struct CopyArguments {
    /// The database that is read: postgresql://USER@HOST/DATABASE, mssql://USER@HOST/DATABASE,
    /// FILE.duckdb or adbc:DRIVER
    ///
    /// A standby can be read, too. Parts that the URL leaves out come from the same places as those of
    /// --to. A password in the URL is refused; ${env:NAME} in it stands for an environment variable.
    #[arg(long, value_name = "URL")]
    pub from: String,

    /// An option of the database that is read, such as uri=FILE for adbc:sqlite (repeatable)
    ///
    /// Options of DuckDB and of an ADBC driver are passed to it unchanged; --option is for the
    /// destination. A password in the value is refused; ${env:NAME} in it stands for an environment
    /// variable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::common::pair)]
    pub from_option: Vec<(String, String)>,

    /// The destination.
    #[command(flatten)]
    pub to: ToArguments,

    /// A table or a view, or a pattern of tables in quotes, such as 'sales.*' (repeatable)
    ///
    /// TABLE or SCHEMA.TABLE, unusual names in double quotes. In a pattern `*` stands for any characters
    /// and `?` for one; it means tables, with their partitions, but neither views nor tables without
    /// columns. Each table is copied into a table of the same name. Its schema must exist in the
    /// destination, or --into-schema names another.
    #[arg(long, value_name = "TABLE", required_unless_present = "query")]
    pub table: Vec<String>,

    /// A SELECT whose rows are copied, instead of tables; --into names its table
    #[arg(
        long,
        value_name = "SELECT",
        conflicts_with = "table",
        requires = "into"
    )]
    pub query: Option<String>,

    /// The table into which the rows of the only --table, or of --query, are copied
    #[arg(long, value_name = "TABLE")]
    pub into: Option<String>,

    /// The schema into which all tables are copied, instead of their own
    ///
    /// A new DuckDB file has only the schema `main`.
    #[arg(long, value_name = "SCHEMA", conflicts_with = "into")]
    pub into_schema: Option<String>,

    /// A condition on the rows of each table, as in SQL
    #[arg(long = "where", value_name = "CONDITION")]
    pub filter: Option<String>,

    /// The columns of the only table: `id, note, tags::text`
    ///
    /// Names as the database has them. `tags::text` reads the database's text of a type that has no
    /// counterpart. Without this option all columns are copied.
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<String>,

    /// A column by whose ranges the rows are cut for several streams
    ///
    /// Without it, one stream reads a view or a query. The ranges come from the database's statistics of
    /// the column, or from a sample. A query is run once for each range.
    #[arg(long, value_name = "COLUMN")]
    pub split_by: Option<String>,

    /// Read rows in which the column of --split-by is NULL with its first range, instead of refusing them
    #[arg(long, requires = "split_by")]
    pub split_nulls: bool,

    /// Give new tables the indexes and unique constraints of the tables that are read
    ///
    /// Both databases must be PostgreSQL. The indexes are built once all rows are loaded, before the rows
    /// become visible. Indexes that the new table cannot have are named.
    #[arg(long, conflicts_with = "query")]
    pub with_indexes: bool,

    /// Give new tables the partitions of the tables that are read, with their bounds and names
    ///
    /// Both databases must be PostgreSQL. Partitions by RANGE, LIST and HASH are copied, on all levels.
    #[arg(long, conflicts_with_all = ["query", "partition_by"])]
    pub with_partitions: bool,

    /// Limits that protect the database that is read.
    #[command(flatten)]
    pub limits: SourceLimitArguments,

    /// The rows do not change between runs: a copy that is resumed does not read again what it has loaded
    #[arg(long)]
    pub stable: bool,

    /// A resumed copy reads again only the ranges of --split-by that have changed
    ///
    /// The server of the source counts and hashes the rows of each range, once after they were read and
    /// once more when the copy is resumed. PostgreSQL only.
    #[arg(long, requires = "split_by", conflicts_with = "stable")]
    pub unchanged_by_sums: bool,

    /// How rows are brought into the tables.
    #[command(flatten)]
    pub target: TargetArguments,

    /// The settings of the run.
    #[command(flatten)]
    pub run: RunArguments,
}

const COPY_HELP: &str = "\
Examples:
  Two tables into another PostgreSQL database:
      inrush copy --from postgresql://reader@crm/crm --table sales.orders --table sales.lines \\
          --to postgresql://etl@dw/shop

  All tables of a schema into a DuckDB file:
      inrush copy --from postgresql://reader@crm/crm --table 'sales.*' --to sales.duckdb \\
          --into-schema main

  A table with its indexes and its partitions:
      inrush copy --from postgresql://reader@crm/crm --table sales.orders \\
          --to postgresql://etl@dw/shop --with-indexes --with-partitions

  A part of a table into Parquet files:
      inrush copy --from postgresql://reader@crm/crm --table sales.orders \\
          --where \"placed >= '2024-01-01'\" --to parquet:lake

  A query, by several streams:
      inrush copy --from postgresql://reader@crm/crm --split-by id --into big_orders \\
          --query \"$(cat big_orders.sql)\" --to parquet:lake

  Save a copy as a package, to edit it and run it every night:
      inrush copy ... --save-package nightly.toml
      inrush run nightly.toml

docs/database-sources.md says what is promised, and what a stop costs.

Exit status: 0 copied, 1 failed, 2 a mistake in the arguments, 3 copied with rejects within the
limit, 4 too many rejects, 5 the server's row count differs, 130 interrupted.";
