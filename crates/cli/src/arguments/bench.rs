//! `inrush bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Repeat the record workloads, at any scale
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Repeats the workloads of the record runs that Inrush answers, at any scale, on any machine, and
writes what it took beside the published figures.

`etlwr` is the ETL world record: TPC-H in as many parts as there were streams, loaded into tables
with a partition for each part.",
    after_long_help = BENCH_HELP
)]
pub struct BenchArguments {
    /// Which workload.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// Which workload is repeated.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchCommand {
    Etlwr(Box<EtlwrArguments>),
}

const BENCH_HELP: &str = "\
Examples:
  The record workload in small, with nothing to set up:
      inrush bench etlwr

  Its curve over numbers of streams:
      inrush bench etlwr --scale 1 --sweep 1,2,4

Exit status: 0 measured, 1 failed, 2 a mistake in the arguments, 4 a file has rows that cannot be
loaded, 5 what was loaded is not what dbgen makes, 130 interrupted. `inrush bench etlwr --help`
says more.";

/// Load TPC-H as the record runs of 2009 and 2016 did, and measure it
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    long_about = "\
Repeats the ETL world record of 2009 (1.18 TB of TPC-H in 56 parts, 1,794 s) and its simpler
answer of 2016 (lineitem alone, 1 TB in 30 min) at any scale: makes the files of dbgen, creates
the tables, loads all parts in parallel streams, switches each part in as a partition, verifies
what the database holds, and writes the results beside the published figures.

Without a subcommand it does all of it, at a small scale, on an embedded PostgreSQL that goes when
it ends. Before it makes files it looks for what would end it later: room on the disks, folders,
the database, privileges. `generate` only makes files, any parts of them, so that several machines
can each make their own; `run` loads and measures files that are there.

The tables are those of 2009: customer, supplier, part, partsupp, orders and lineitem, without
indexes and statistics, which the record did not count either. What is measured is loading and
switching, from the first stream's start until all rows are in their tables.",
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

    /// Make the files here and leave them; those that are there are taken as they are
    ///
    /// Without it they are made in a folder that goes when the command ends.
    #[arg(long, value_name = "FOLDER", value_parser = super::common::local_path())]
    pub data: Option<PathBuf>,

    /// What is loaded.
    #[command(flatten)]
    pub which: WhichArguments,

    /// How it is measured.
    #[command(flatten)]
    pub measure: MeasureArguments,
}

/// Make the files of the record workload, or any parts of them
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Makes the files of TPC-H byte for byte as dbgen does: `lineitem.tbl.6` of 56 parts is what
`dbgen -C 56 -S 6` writes. Any part can be made alone, so each of several machines makes its own.

A file has its name once it is whole. The same command again makes those that are not there, after
a stop of whatever kind. Beside the files stands etlwr.json, which says of which scale they are,
so that no two scales get mixed.",
    after_long_help = GENERATE_HELP
)]
pub struct GenerateArguments {
    /// TPC-H's scale factor; 1 is about 1.1 GB of text, 1000 is the record's 1.18 TB
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub scale: f64,

    /// In how many parts each table comes; the record had 56
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub parts: u32,

    /// Which parts are made.
    #[command(flatten)]
    pub which: WhichArguments,

    /// Where the files are made
    #[arg(long, value_name = "FOLDER", value_parser = super::common::local_path())]
    pub to: PathBuf,

    /// How many files are made at a time; else one for each core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Do not look whether the files fit on the disk
    #[arg(long)]
    pub no_disk_check: bool,

    /// Write one line of JSON for each file, and one at the end
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Load the record workload from its files, and measure it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads files that `inrush bench etlwr generate` has made, verifies what the database holds, and
writes the results beside the published figures. Files that were made on several machines are
found in several folders: give --data for each of them.

It is the load of `inrush run`, with all that it promises: --save-package writes the package. The
tables must not exist; they are dropped at the end, before the next load of a sweep too, unless
--keep leaves them. A load that was stopped goes on when the same command is given again; what was
loaded in two goes is verified, and no figure is made of it. A sweep, or more than one round,
removes what stopped loads of the workload have left, and starts anew.",
    after_long_help = RUN_HELP
)]
pub struct EtlwrRunArguments {
    /// A folder with files of the workload; may be given several times
    #[arg(long, value_name = "FOLDER", required = true, value_parser = super::common::local_path())]
    pub data: Vec<PathBuf>,

    /// What is loaded.
    #[command(flatten)]
    pub which: WhichArguments,

    /// How it is measured.
    #[command(flatten)]
    pub measure: MeasureArguments,
}

/// Which tables and parts are meant.
#[derive(Clone, Debug, Args)]
pub struct WhichArguments {
    /// Tables with commas between them, or `all`, which has nation and region too
    ///
    /// Without it the six of 2009. The workload of 2016 is `--tables lineitem`.
    #[arg(long, value_name = "TABLES")]
    pub tables: Option<String>,

    /// Parts, such as 6, 1-14 or 1-3,8; all of them without it
    #[arg(long, value_name = "PARTS")]
    pub part: Option<String>,

    /// A tenth of the data in as many parts, as most runs of 2009 were tried
    ///
    /// The files are those of a tenth of the scale, in the folder `ten-percent` beside the whole
    /// ones, so that the same commands do either.
    #[arg(long)]
    pub ten_percent: bool,
}

/// How the workload is loaded and measured.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How it is measured")]
pub struct MeasureArguments {
    /// The database: postgresql://USER@HOST/DATABASE, embedded:FOLDER or embedded
    ///
    /// `embedded` is a private server that goes with the command; of `embedded:FOLDER` the data stay there.
    #[arg(long, value_name = "URL", default_value = "embedded")]
    pub to: String,

    /// How many streams load at a time; else one for each core. The record had one for each part
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

    /// Measure this often, each number of streams in turn; the median counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,

    /// Which parts the streams take first
    #[arg(long, value_name = "ORDER", default_value = "sequence")]
    pub order: EtlwrOrder,

    /// What is verified of each part before its COMMIT; its time is counted
    #[arg(long, value_name = "WHAT", default_value = "sums")]
    pub verify: super::VerifyLevel,

    /// ANALYZE the tables too; its time is told and not counted
    #[arg(long)]
    pub analyze: bool,

    /// Cores of all machines that take part, for MB/s per core
    ///
    /// Needed where the server is on another machine; else they are those of this one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cores: Option<u32>,

    /// Where the results are written, in a folder named by the first run
    #[arg(long, value_name = "FOLDER", default_value = "etlwr-results", value_parser = super::common::local_path())]
    pub results: PathBuf,

    /// Where the folders of runs are made, each with its report
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Leave the tables of the last load in the database
    #[arg(long)]
    pub keep: bool,

    /// Write the package of the load to a file, for `inrush run`
    ///
    /// It names the files where they are: those that go when the command ends are gone for it too.
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save_package: Option<PathBuf>,

    /// Do not look whether files and database fit on the disk
    #[arg(long)]
    pub no_disk_check: bool,

    /// Write one line of JSON for each event, of each load and of the measurement
    ///
    /// Beside the events of `inrush run`: `file` and `generated`, `measured` for each load, and
    /// `results` with the whole results file at the end.
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Which parts the streams take first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EtlwrOrder {
    /// Table by table, lineitem at the end, as each stream of 2009 did.
    Sequence,
    /// The largest parts of all tables, as `inrush run` does by itself.
    LargestFirst,
}

const ETLWR_HELP: &str = "\
Examples:
  All of it in small: 110 MB of text in 24 files, an embedded server, a minute:
      inrush bench etlwr

  The curve of the 2016 account, lineitem alone, three times each, the files kept:
      inrush bench etlwr --scale 1 --parts 8 --tables lineitem --sweep 1,2,4,8 --rounds 3 \\
          --data etlwr-data

  The record itself, its files made on four machines of 14 parts each:
      inrush bench etlwr generate --scale 1000 --parts 56 --part 1-14 --to /data/etlwr
      inrush bench etlwr run --data /mnt/source1 --data /mnt/source2 --data /mnt/source3 \\
          --data /mnt/source4 --to postgresql://etl@dw/tpch --streams 56 --cores 96

Files: etlwr-results/RUN/results.json, summary.md and, of a sweep, sweep.svg.

Exit status: 0 measured, 1 failed (no room on the disk is one), 2 a mistake in the arguments, 4 a
file has rows that cannot be loaded, 5 what was loaded is not what dbgen makes, 130 interrupted.";

const GENERATE_HELP: &str = "\
Examples:
  The second of four machines makes its 14 of 56 parts:
      inrush bench etlwr generate --scale 1000 --parts 56 --part 15-28 --to /data/etlwr

  A single file, as dbgen's -T L -s 2000 -C 48 -S 6:
      inrush bench etlwr generate --scale 2000 --parts 48 --part 6 --tables lineitem \\
          --to /data/etlwr

  A tenth of it beside it, to try things with:
      inrush bench etlwr generate --scale 1000 --parts 56 --part 15-28 --ten-percent \\
          --to /data/etlwr

Exit status: 0 all files are there, 1 failed (no room on the disk is one), 2 a mistake in the
arguments, 130 interrupted; the same command goes on.";

const RUN_HELP: &str = "\
Examples:
  Files of this machine, into an embedded server that goes again:
      inrush bench etlwr run --data etlwr-data --streams 4

  As in 2016: lineitem alone, more and more streams, on a server of yours:
      inrush bench etlwr run --data etlwr-data --tables lineitem --sweep 1,2,4,8,16 \\
          --to postgresql://etl@dw/tpch --cores 48

  What Inrush would do by itself, against what the record did:
      inrush bench etlwr run --data etlwr-data --order largest-first

Exit status: 0 measured, 1 failed (no room on the disk is one), 2 a mistake in the arguments, 4 a
file has rows that cannot be loaded, 5 what was loaded is not what dbgen makes, 130 interrupted.";
