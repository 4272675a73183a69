//! `inrush load`.

use clap::Args;

use super::common::RunArguments;
use super::target::{TargetArguments, ToArguments};

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

    /// The destination.
    #[command(flatten)]
    pub to: ToArguments,

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

    /// How rows are brought into the table.
    #[command(flatten)]
    pub target: TargetArguments,

    /// The settings of the run.
    #[command(flatten)]
    pub run: RunArguments,
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
