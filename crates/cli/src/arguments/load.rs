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

The table is made where it does not exist; then --columns say what the files hold, or it is
guessed from samples, as `inrush init` does it, and told. Where the table exists, its own columns
are taken: by the names in the files' headers, else in its order.

With --partition-by the table is partitioned by ranges of a column, and each file becomes one
partition; the rows are seen all at once, when everything is loaded and counted.

Give the same command again after a stop, and it goes on where it stopped.",
    after_long_help = LOAD_HELP
)]
pub struct LoadArguments {
    /// Files, or globs in quotes; `-` is the standard input
    ///
    /// .gz, .zst, .bz2, .xz and the members of .zip (`orders.zip/*.csv`) are decompressed on the way.
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<String>,

    /// Where to: postgresql://USER@HOST/DATABASE, `embedded`, embedded:FOLDER, FILE.duckdb,
    /// parquet:FOLDER or adbc:DRIVER
    ///
    /// What the URL leaves out is taken from a service (`?service=NAME` or PGSERVICE), from PGHOST,
    /// PGPORT, PGUSER, PGDATABASE, PGPASSWORD and others, and from ~/.pgpass, as psql does it. Of
    /// several hosts the primary is taken. A password in the URL is refused; ${env:NAME} in it stands
    /// for a variable of the environment.
    #[arg(long, value_name = "URL")]
    pub to: String,

    /// An option of the destination, such as codec=zstd or uri=FILE (repeatable)
    ///
    /// docs/destinations.md lists those of Parquet files; those of ADBC go to the driver as they are.
    /// A password is refused here: ${env:NAME} in the value stands for a variable of the environment.
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::common::pair)]
    pub option: Vec<(String, String)>,

    /// The table: TABLE or SCHEMA.TABLE, odd names in double quotes
    #[arg(long, value_name = "TABLE")]
    pub table: String,

    /// How the files are written: a preset and what differs from it
    ///
    /// Presets are `tbl` (dbgen's: | with a trailing delimiter), `csv` (RFC 4180 with a header)
    /// and `tsv` (COPY's text form); without one, the files' names tell (.tbl, .csv, .tsv), else
    /// it is csv. Settings with a value are delimiter, quote, escape, terminator (any, lf, crlf, cr, or a
    /// text), comment, null, trim (none, start, end, both), missing_fields (reject, null),
    /// extra_fields (reject, ignore), decimal_separator, group_separator, skip_lines, record_bytes_max,
    /// compression (none, gzip, zstd, bzip2, xz, zip) and encoding; without one header, no_header,
    /// trailing_delimiter, no_trailing_delimiter, null_quoted and no_null. `\t` stands for a tab;
    /// an empty quote or escape for none. A package can say more (fixed width, several NULL
    /// markers); docs/flat-files.md says what each means.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// The files' columns: "id bigint not null, name text, ..."
    ///
    /// With a header they are matched by name, else they stand in the files' order. Every field is
    /// listed: "x skip" passes one over, "* skip" all that are not named. Without columns a new
    /// table has those that are guessed from the files.
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<String>,

    /// The column whose ranges are the partitions
    #[arg(long, value_name = "COLUMN")]
    pub partition_by: Option<String>,

    /// Where the partitions begin and end
    ///
    /// `data`: each file is a partition, from its own smallest key to its own largest (the
    /// default). `every 1 month` (or hours, days, weeks, years; or a number of keys): partitions
    /// of that width. A list of values, `1992-01-01, 1995-01-01, 1999-01-01`: N + 1 values bound
    /// N partitions. `8 parts`: a large file in the order of its key is cut into partitions of
    /// about the same size. Else the rows of a file must all lie within one partition; those that do not are
    /// rejected.
    #[arg(long, value_name = "BOUNDS", requires = "partition_by")]
    pub bounds: Option<String>,

    /// Each row goes to its own partition, whichever file it stands in
    ///
    /// For files that do not line up with partitions. Into a table that exists rows go to the
    /// partitions that it has, and to those that --bounds adds; a new table needs --bounds
    /// (`every ...` or a list). Tables partitioned by list, hash, several columns or an
    /// expression, or with partitions of partitions, are always loaded so.
    #[arg(long)]
    pub routing: bool,

    /// What becomes of the table
    #[arg(long, value_name = "MODE", value_enum, default_value_t = LoadMode::Create)]
    pub mode: LoadMode,

    /// How many rows may be rejected
    ///
    /// Rejected rows are kept in the run's folder with file, line, column, value and reason. One
    /// more than this, and nothing is switched in.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub max_rejects: u64,

    /// How much of what the database holds is held against the files before it is switched in
    ///
    /// docs/verify.md says what each level proves and costs.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = VerifyLevel::Count)]
    pub verify: VerifyLevel,

    /// Warn about columns whose values the server may change silently, or refuse them
    ///
    /// Those are columns whose text only the server reads: ranges, composites, shapes of floats,
    /// text search, XML, types of extensions. All others are checked before they are sent.
    #[arg(long, value_name = "ANSWER", value_enum, default_value_t = UncheckedTypesAnswer::Warn)]
    pub unchecked_types: UncheckedTypesAnswer,

    /// Write the package that says the same as these arguments, for `inrush run`
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save_package: Option<PathBuf>,

    /// How it runs.
    #[command(flatten)]
    pub run: RunArguments,
}

/// How much is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VerifyLevel {
    /// The number of rows
    Count,
    /// For each column the number of values, and a sum of them
    Sums,
    /// Every value of every row, by a sum of hashes
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

/// The answer to a load into columns that are not checked here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UncheckedTypesAnswer {
    /// Load them; the plan and the report name them
    Warn,
    /// Refuse the load before it begins
    Refuse,
}

/// What becomes of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadMode {
    /// It is made, or it exists and is empty
    Create,
    /// Rows join those that it has
    Append,
    /// Rows take the place of those that it has; it is made where it does not exist
    Replace,
}

const LOAD_HELP: &str = "\
Examples:
  Files of dbgen into a new table, each file a partition:
      inrush load 'lineitem.tbl.*' --to postgresql://etl@dw/tpch --table lineitem \\
          --partition-by l_orderkey --columns 'l_orderkey bigint not null, ...'

  A CSV file into a table that exists; up to 100 bad rows are kept aside:
      inrush load people.csv.gz --to postgresql://etl@dw/crm --table crm.people \\
          --mode append --max-rejects 100

  Semicolons, no header, NULL written as \\N:
      inrush load 'feed/*.txt' --to embedded:warehouse --table feed \\
          --format 'csv,delimiter=;,no_header,null=\\N' --columns 'id int, day date, note text'

  A partition for every month:
      inrush load 'sales.*.csv' --to postgresql://etl@dw/shop --table sales \\
          --partition-by sold_on --bounds 'every 1 month'

  The same from files whose rows stand in any order:
      inrush load export.csv --to postgresql://etl@dw/shop --table sales \\
          --partition-by sold_on --bounds 'every 1 month' --routing

  The same, written down to be edited and run every night:
      inrush load ... --save-package sales.toml
      inrush run sales.toml

Exit status: 0 loaded, 1 failed, 2 a mistake in the arguments, 3 loaded with rejects within the
limit, 4 too many rejects, 5 the server counts other rows, 130 interrupted.";
