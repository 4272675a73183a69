//! Arguments of the commands that load without a package: the destination, and how rows are brought into it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use inrush::package::Verify;

/// The destination.
#[derive(Clone, Debug, Args)]
pub struct ToArguments {
    /// The destination: postgresql://USER@HOST/DATABASE, `embedded`, embedded:FOLDER, FILE.duckdb,
    /// parquet:FOLDER, adbc:DRIVER or mssql://USER@HOST/DATABASE
    ///
    /// Parts that the URL leaves out come from a service (`?service=NAME` or PGSERVICE), from PGHOST,
    /// PGPORT, PGUSER, PGDATABASE, PGPASSWORD and others, and from ~/.pgpass, as in psql. If the URL
    /// names several hosts, the primary is used. A password in the URL is refused; ${env:NAME} in it
    /// stands for an environment variable.
    #[arg(long, value_name = "URL")]
    pub to: String,

    /// An option of the destination, such as codec=zstd or uri=FILE (repeatable)
    ///
    /// docs/destinations.md lists the options of Parquet files. Options of an ADBC destination are
    /// passed to the driver unchanged. A password in the value is refused; ${env:NAME} in it stands for
    /// an environment variable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::common::pair)]
    pub option: Vec<(String, String)>,
}

/// How rows are brought into their tables.
#[derive(Clone, Debug, Args)]
pub struct TargetArguments {
    /// The column by whose ranges the table is partitioned
    #[arg(long, value_name = "COLUMN")]
    pub partition_by: Option<String>,

    /// The bounds of the partitions
    ///
    /// `data` (the default): each file is a partition, from its smallest key to its largest. `every 1 month` (or hours,
    /// days, weeks, years; or a number of keys): partitions of that width. A list of values, `1992-01-01, 1995-01-01,
    /// 1999-01-01`: N + 1 values bound N partitions. `8 parts`: a large file that is sorted by its key is cut into
    /// partitions of about the same size. Except with `8 parts`, all rows of a file must lie within one partition; rows
    /// outside it are rejected.
    #[arg(long, value_name = "BOUNDS", requires = "partition_by")]
    pub bounds: Option<String>,

    /// Load each row into the partition of its key, whichever file it is in
    ///
    /// For files that do not line up with partitions. If the table exists, rows go to its partitions
    /// and to those that --bounds adds. A new table needs --bounds (`every ...` or a list). Tables
    /// that are partitioned by list, hash, several columns or an expression, or that have
    /// subpartitions, are always loaded this way.
    #[arg(long)]
    pub routing: bool,

    /// How rows are added to the table
    #[arg(long, value_name = "MODE", value_enum, default_value_t = LoadMode::Create)]
    pub mode: LoadMode,

    /// The most rows that may be rejected
    ///
    /// Rejected rows are kept in the run's folder with their place, column, value and reason. If more
    /// rows are rejected, nothing is switched in.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub max_rejects: u64,

    /// How the rows that were read are compared with the loaded rows before the switch
    ///
    /// docs/verify.md describes what each level proves and costs.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = VerifyLevel::Count)]
    pub verify: VerifyLevel,

    /// Warn about columns whose values the server may change silently, or refuse the load
    ///
    /// These are columns whose text only the server reads: ranges, composites, geometric types,
    /// text search, XML, types of extensions. Values of all other types are checked before they are sent.
    #[arg(long, value_name = "ANSWER", value_enum, default_value_t = UncheckedTypesAnswer::Warn)]
    pub unchecked_types: UncheckedTypesAnswer,

    /// Write a package with the same settings as these arguments, for `inrush run`
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save_package: Option<PathBuf>,
}

/// The level of verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VerifyLevel {
    /// The number of rows
    Count,
    /// For each column, the number of values and a sum over them
    Sums,
    /// Every value of every row, by a sum of row hashes
    Rows,
}

impl From<VerifyLevel> for Verify {
    fn from(level: VerifyLevel) -> Verify {
        match level {
            VerifyLevel::Count => Verify::Count,
            VerifyLevel::Sums => Verify::Sums,
            VerifyLevel::Rows => Verify::Rows,
        }
    }
}

/// What is done about columns whose values only the server checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UncheckedTypesAnswer {
    /// Load them, and name them in the plan and the report
    Warn,
    /// Refuse the load before it begins
    Refuse,
}

/// The mode of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadMode {
    /// Create the table, or load it if it exists and is empty
    Create,
    /// Add the rows to the table's rows
    Append,
    /// Replace the table's rows; create the table if it does not exist
    Replace,
}
