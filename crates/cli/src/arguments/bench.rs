//! `inrush bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::bench_clients::{CallsArguments, InsertsArguments};

/// Repeat the record workloads at any scale
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Repeats the workloads of published record runs at any scale, on any machine, and writes the
measured times beside the published figures.

`etlwr` is the ETL world record: TPC-H in as many parts as there were streams, loaded into tables
with a partition for each part. `inserts` inserts rows by many connections at once, and `calls`
calls a server by 1 to N clients; both say what limits them.",
    after_long_help = BENCH_HELP
)]
pub struct BenchArguments {
    /// The workload.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// The workload to repeat.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchCommand {
    Etlwr(Box<EtlwrArguments>),
    Inserts(Box<InsertsArguments>),
    Calls(Box<CallsArguments>),
}

const BENCH_HELP: &str = "\
Examples:
  Run the record workload at a small scale, with nothing to set up:
      inrush bench etlwr

  Measure it with 1, 2 and 4 streams, and draw the curve:
      inrush bench etlwr --scale 1 --sweep 1,2,4

  Insert rows by 8 to 128 connections, and call a server by 1 to 20 clients:
      inrush bench inserts
      inrush bench calls --clients 1-20

Exit status: 0 measured, 1 failed, 2 a mistake in the arguments, 4 a file has rows that cannot be
loaded, 5 the loaded rows differ from dbgen's or from those that the server confirmed, 130
interrupted. The help of each workload says more.";

/// Load TPC-H as the record runs of 2009 and 2016 did, and measure it
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    long_about = "\
Repeats the ETL world record of 2009 (1.18 TB of TPC-H in 56 parts, 1,794 s) and the simpler
load of 2016 (lineitem alone, 1 TB in 30 min) at any scale. It generates dbgen's files, creates
the tables, loads all parts in parallel streams, switches each part in as a partition, verifies
the contents of the database, and writes the results beside the published figures.

Without a subcommand it does all of this at a small scale, on an embedded PostgreSQL that is
removed at the end. Before it generates files it checks the space on the disks, the folders, the
database and the privileges. `generate` only generates files, all parts or some of them, so that
several machines can share the work. `run` loads and measures files that exist.

The tables are those of 2009: customer, supplier, part, partsupp, orders and lineitem, without
indexes and statistics, which the record did not count either. The measured time is that of
loading and switching, from the start of the first stream until all rows are in their tables.",
    after_long_help = ETLWR_HELP
)]
pub struct EtlwrArguments {
    /// A part of the work.
    #[command(subcommand)]
    pub command: Option<EtlwrCommand>,

    /// All of it.
    #[command(flatten)]
    pub whole: WholeArguments,
}

/// A part of the work.
#[derive(Clone, Debug, Subcommand)]
pub enum EtlwrCommand {
    Generate(GenerateArguments),
    Run(EtlwrRunArguments),
}

/// All of the work.
#[derive(Clone, Debug, Args)]
pub struct WholeArguments {
    /// TPC-H's scale factor; 1 is about 1.1 GB of text, 1000 is the record's 1.18 TB
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.1,
        allow_negative_numbers = true
    )]
    pub scale: f64,

    /// Parts of each table, each a file and a partition; the record had 56
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub parts: u32,

    /// Generate the files in this folder and keep them; files that exist there are used
    ///
    /// Default: a temporary folder that is removed when the command ends.
    #[arg(long, value_name = "FOLDER", value_parser = super::common::local_path())]
    pub data: Option<PathBuf>,

    /// The tables and parts.
    #[command(flatten)]
    pub which: WhichArguments,

    /// The settings of the measurement.
    #[command(flatten)]
    pub measure: MeasureArguments,
}

/// Generate the files of the record workload, or some parts of them
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Generates the files of TPC-H byte for byte as dbgen does: `lineitem.tbl.6` of 56 parts equals the
output of `dbgen -C 56 -S 6`. Each part can be generated alone, so several machines can share the
work.

A file gets its name only when it is complete. After any stop, run the same command again: it
generates the missing files. The file etlwr.json beside them records their scale, so that files of
two scales are never mixed.",
    after_long_help = GENERATE_HELP
)]
pub struct GenerateArguments {
    /// TPC-H's scale factor; 1 is about 1.1 GB of text, 1000 is the record's 1.18 TB
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub scale: f64,

    /// The number of parts of each table; the record had 56
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub parts: u32,

    /// The tables and parts.
    #[command(flatten)]
    pub which: WhichArguments,

    /// The folder to generate the files in
    #[arg(long, value_name = "FOLDER", value_parser = super::common::local_path())]
    pub to: PathBuf,

    /// How many files are generated at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Do not check whether the files fit on the disk
    #[arg(long)]
    pub no_disk_check: bool,

    /// Write one line of JSON for each file, and one at the end
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Load the record workload from its files, and measure it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads files that `inrush bench etlwr generate` has made, verifies the contents of the database,
and writes the results beside the published figures. If the files are in several folders, for
example because several machines generated them, give --data for each folder.

The load is that of `inrush run`, with the same promises; --save-package writes its package. The
tables must not exist. They are dropped after each load of a sweep and at the end, unless --keep
is given. If a load was stopped, the same command resumes it. A resumed load is verified, but not
measured. A sweep, or more than one round, cleans up after stopped loads of the workload and
starts again from the beginning.",
    after_long_help = RUN_HELP
)]
pub struct EtlwrRunArguments {
    /// A folder with files of the workload (repeatable)
    #[arg(long, value_name = "FOLDER", required = true, value_parser = super::common::local_path())]
    pub data: Vec<PathBuf>,

    /// The tables and parts.
    #[command(flatten)]
    pub which: WhichArguments,

    /// The settings of the measurement.
    #[command(flatten)]
    pub measure: MeasureArguments,
}

/// A choice of tables and parts.
#[derive(Clone, Debug, Args)]
pub struct WhichArguments {
    /// The tables, separated by commas, or `all`, which includes nation and region
    ///
    /// Default: the six tables of 2009. The workload of 2016 is `--tables lineitem`.
    #[arg(long, value_name = "TABLES")]
    pub tables: Option<String>,

    /// The parts, such as 6, 1-14 or 1-3,8 [default: all]
    #[arg(long, value_name = "PARTS")]
    pub part: Option<String>,

    /// Use a tenth of the data, in the same number of parts, like most trial runs of 2009
    ///
    /// The files have a tenth of the scale. They are in the subfolder `ten-percent`, so the same commands work with
    /// both.
    #[arg(long)]
    pub ten_percent: bool,
}

/// The settings of the load and of the measurement.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How it is measured")]
pub struct MeasureArguments {
    /// The database: postgresql://USER@HOST/DATABASE, embedded:FOLDER, embedded, FILE.duckdb or parquet:FOLDER
    ///
    /// `embedded` is a private server that is removed when the command ends; `embedded:FOLDER` keeps its data.
    /// FILE.duckdb and parquet:FOLDER measure loads into a columnstore; they must not exist, and are removed at the end
    /// unless --keep is given.
    #[arg(long, value_name = "URL", default_value = "embedded")]
    pub to: String,

    /// How many streams load at a time [default: one for each core]; the record had one for each part
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "sweep")]
    pub streams: Option<u16>,

    /// Load once with each of these numbers of streams, and draw the curve
    #[arg(
        long,
        value_name = "N,N,...",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub sweep: Vec<u16>,

    /// How often to measure each number of streams, in turn; the median is reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,

    /// Which parts the streams take first
    #[arg(long, value_name = "ORDER", default_value = "sequence")]
    pub order: EtlwrOrder,

    /// How the database is compared with the files [default: sums]
    ///
    /// A server verifies each part before its COMMIT. A columnstore counts the rows of each part at that time, and
    /// compares the sums of whole tables before the switch. Both are within the measured time.
    #[arg(long, value_name = "WHAT")]
    pub verify: Option<super::VerifyLevel>,

    /// ANALYZE the tables, too; the time is reported but does not count
    #[arg(long)]
    pub analyze: bool,

    /// Measure each load a second time with steps that the runs of 2009 left out: reformat, check, look up, lineage
    ///
    /// The rows go through steps (`[[flow.step]]`), which need the Python package `duckdb`. The keys of nations and
    /// suppliers are looked up in files that are generated into the folder `references` of the data.
    #[arg(long)]
    pub transforms: bool,

    /// The number of cores of all machines involved, for MB/s per core [default: those of this machine]
    ///
    /// Needed if the server runs on another machine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cores: Option<u32>,

    /// The folder for the results, which go into a subfolder named after the first run
    #[arg(long, value_name = "FOLDER", default_value = "etlwr-results", value_parser = super::common::local_path())]
    pub results: PathBuf,

    /// The folder that gets a subfolder for each run, with its report
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Keep the tables of the last load in the database
    #[arg(long)]
    pub keep: bool,

    /// Write the package of the load to a file, for `inrush run`
    ///
    /// The package names the files by their paths. It works only as long as the files exist: use --data to keep them.
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save_package: Option<PathBuf>,

    /// Do not check whether files and database fit on the disk
    #[arg(long)]
    pub no_disk_check: bool,

    /// Write one line of JSON for each event of the loads and of the measurement
    ///
    /// In addition to the events of `inrush run`: `file` and `generated`, `measured` for each load, and `results` with
    /// the whole results file at the end.
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The order in which streams take parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EtlwrOrder {
    /// Table by table, lineitem last, as each stream of 2009 did.
    Sequence,
    /// The largest parts of all tables first, as `inrush run` does.
    LargestFirst,
}

const ETLWR_HELP: &str = "\
Examples:
  Do all of it at a small scale: 110 MB of text in 24 files, an embedded server, a minute:
      inrush bench etlwr

  Draw the curve of 2016: lineitem alone, three rounds; keep the files:
      inrush bench etlwr --scale 1 --parts 8 --tables lineitem --sweep 1,2,4,8 --rounds 3 \\
          --data etlwr-data

  Measure it without and with steps, three times in turn:
      inrush bench etlwr --scale 1 --transforms --rounds 3

  Repeat the record itself, with files of four machines, 14 parts each:
      inrush bench etlwr generate --scale 1000 --parts 56 --part 1-14 --to /data/etlwr
      inrush bench etlwr run --data /mnt/source1 --data /mnt/source2 --data /mnt/source3 \\
          --data /mnt/source4 --to postgresql://etl@dw/tpch --streams 56 --cores 96

Files: etlwr-results/RUN/results.json, summary.md and, of a sweep, sweep.svg.

Exit status: 0 measured, 1 failed (such as no room on the disk), 2 a mistake in the arguments, 4 a
file has rows that cannot be loaded, 5 the loaded rows differ from dbgen's, 130 interrupted.";

const GENERATE_HELP: &str = "\
Examples:
  Generate the 14 of 56 parts of the second of four machines:
      inrush bench etlwr generate --scale 1000 --parts 56 --part 15-28 --to /data/etlwr

  Generate a single file, as dbgen's -T L -s 2000 -C 48 -S 6:
      inrush bench etlwr generate --scale 2000 --parts 48 --part 6 --tables lineitem \\
          --to /data/etlwr

  Generate a tenth of the data, for trial runs:
      inrush bench etlwr generate --scale 1000 --parts 56 --part 15-28 --ten-percent \\
          --to /data/etlwr

Exit status: 0 all files are there, 1 failed (such as no room on the disk), 2 a mistake in the
arguments, 130 interrupted, and the same command generates the missing files.";

const RUN_HELP: &str = "\
Examples:
  Load files of this machine into an embedded server:
      inrush bench etlwr run --data etlwr-data --streams 4

  As in 2016: load lineitem alone into your own server, with 1 to 16 streams:
      inrush bench etlwr run --data etlwr-data --tables lineitem --sweep 1,2,4,8,16 \\
          --to postgresql://etl@dw/tpch --cores 48

  Load the largest parts first, as `inrush run` does:
      inrush bench etlwr run --data etlwr-data --order largest-first

Exit status: 0 measured, 1 failed (such as no room on the disk), 2 a mistake in the arguments, 4 a
file has rows that cannot be loaded, 5 the loaded rows differ from dbgen's, 130 interrupted.";
