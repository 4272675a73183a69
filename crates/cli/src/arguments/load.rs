//! `inrush load`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use inrush::package::Verify;

use super::common::RunArguments;

/// Load files into a table, without a package
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads files into a table, without a package.

If the table does not exist, it is created with the columns that --columns lists. Without
--columns, they are guessed from samples, as `inrush init` does, and printed. If the table exists,
its own columns are used: matched to the files by the names in their headers, or by position if
the files have no header.

With --partition-by the table is partitioned by ranges of a column, and each file becomes one
partition. All rows become visible together, after everything is loaded and counted.

To resume a load that was stopped, run the same command again.",
    after_long_help = LOAD_HELP
)]
pub struct LoadArguments {
    /// Files, or globs in quotes; `-` is standard input
    ///
    /// .gz, .zst, .bz2, .xz and the members of .zip (`orders.zip/*.csv`) are decompressed while they are read.
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<String>,

    /// The destination: postgresql://USER@HOST/DATABASE, `embedded`, embedded:FOLDER, FILE.duckdb,
    /// parquet:FOLDER or adbc:DRIVER
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

    /// The table: TABLE or SCHEMA.TABLE, unusual names in double quotes
    #[arg(long, value_name = "TABLE")]
    pub table: String,

    /// The format of the files: a preset, and settings that differ from it
    ///
    /// Presets are `tbl` (dbgen's: | with a trailing delimiter), `csv` (RFC 4180 with a header)
    /// and `tsv` (COPY's text form). Default: the preset of the files' extension (.tbl, .csv, .tsv),
    /// or csv. Settings with a value are delimiter, quote, escape, terminator (any, lf, crlf, cr, or a
    /// text), comment, null, trim (none, start, end, both), missing_fields (reject, null),
    /// extra_fields (reject, ignore), decimal_separator, group_separator, skip_lines, record_bytes_max,
    /// compression (none, gzip, zstd, bzip2, xz, zip) and encoding. Settings without a value are header, no_header,
    /// trailing_delimiter, no_trailing_delimiter, null_quoted and no_null. `\t` stands for a tab;
    /// an empty quote or escape means that there is none. A package has more settings (fixed width,
    /// several NULL markers); docs/flat-files.md describes all of them.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// The files' columns: "id bigint not null, name text, ..."
    ///
    /// If the files have a header, columns are matched by name; otherwise they are listed in the files'
    /// order. List every field: "x skip" leaves out the field x, "* skip" leaves out all fields that
    /// are not listed. Without this option, the columns of a new table are guessed from the files.
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<String>,

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
    /// Rejected rows are kept in the run's folder with file, line, column, value and reason. If more
    /// rows are rejected, nothing is switched in.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub max_rejects: u64,

    /// What is compared between the database and the files before the rows are switched in
    ///
    /// docs/verify.md describes what each level proves and costs.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = VerifyLevel::Count)]
    pub verify: VerifyLevel,

    /// Warn about columns whose values the server may change silently, or refuse them
    ///
    /// These are columns whose text only the server reads: ranges, composites, geometric types,
    /// text search, XML, types of extensions. Values of all other types are checked before they are sent.
    #[arg(long, value_name = "ANSWER", value_enum, default_value_t = UncheckedTypesAnswer::Warn)]
    pub unchecked_types: UncheckedTypesAnswer,

    /// Write a package with the same settings as these arguments, for `inrush run`
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save_package: Option<PathBuf>,

    /// The settings of the run.
    #[command(flatten)]
    pub run: RunArguments,
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

/// The answer to a load into columns whose values only the server checks.
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

const LOAD_HELP: &str = "\
Examples:
  Files of dbgen into a new table, each file a partition:
      inrush load 'lineitem.tbl.*' --to postgresql://etl@dw/tpch --table lineitem \\
          --partition-by l_orderkey --columns 'l_orderkey bigint not null, ...'

  A CSV file into a table that exists, with up to 100 rejected rows:
      inrush load people.csv.gz --to postgresql://etl@dw/crm --table crm.people \\
          --mode append --max-rejects 100

  Semicolons, no header, NULL written as \\N:
      inrush load 'feed/*.txt' --to embedded:warehouse --table feed \\
          --format 'csv,delimiter=;,no_header,null=\\N' --columns 'id int, day date, note text'

  A partition for every month:
      inrush load 'sales.*.csv' --to postgresql://etl@dw/shop --table sales \\
          --partition-by sold_on --bounds 'every 1 month'

  The same from files whose rows are in any order:
      inrush load export.csv --to postgresql://etl@dw/shop --table sales \\
          --partition-by sold_on --bounds 'every 1 month' --routing

  Save a load as a package, to edit it and run it every night:
      inrush load ... --save-package sales.toml
      inrush run sales.toml

Exit status: 0 loaded, 1 failed, 2 a mistake in the arguments, 3 loaded with rejects within the
limit, 4 too many rejects, 5 the server's row count differs, 130 interrupted.";
