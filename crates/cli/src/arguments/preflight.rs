//! `inrush preflight`.

use std::path::PathBuf;

use clap::Args;

use super::common::OverrideArguments;

/// Measure each step of a load on a sample, and predict its time, its limit and its problems
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Measures each step of a load for a second or two, on a sample of the package's own files: reading,
decompressing, scanning, converting, the network, the destination's speed by one connection and by
all connections, and all steps together. Prints the speed of each step, the time that the run will
take, the step that limits it, and every problem that will slow it down or stop it.

It takes about ten seconds, whatever the size of the files. Rows of the sample are loaded into
tables and rolled back, so nothing stays in the database. The sampled parts of the files are in
the page cache afterwards; only --cold removes anything from it. The report of the run that
follows repeats the prediction.",
    after_long_help = PREFLIGHT_HELP
)]
pub struct PreflightArguments {
    /// The package
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// How many streams the run will have
    ///
    /// Default: the package's setting; without one, one stream for each core of this machine. The prediction applies
    /// only to a run of the same files with the same number of streams.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Plan as `inrush run --again` does: measure files that are loaded already, too
    #[arg(long)]
    pub again: bool,

    /// Remove the sample from the page cache before it is read, to measure the disk
    ///
    /// Other programs that use these files have to read them from the disk once more.
    #[arg(long)]
    pub cold: bool,

    /// The folder of the runs; the prediction is kept there for the report of the run
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Write the result as JSON; docs/preflight.schema.json describes it
    #[arg(long)]
    pub json: bool,

    /// Options that replace its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const PREFLIGHT_HELP: &str = "\
Examples:
  Predict the run of a package:
      inrush preflight etlwr.toml

  Predict it with 8 streams, and measure the disk even if the page cache holds the files:
      inrush preflight etlwr.toml --streams 8 --cold

  Predict the load of another day's files, and write the result as JSON:
      inrush preflight feed.toml --set day=2024-05-31 --json

Exit status: 0 the run can succeed, 1 the preflight itself failed, 2 a mistake in the arguments or
the package (a pipe among its files is one), 6 the run cannot succeed (all reasons are printed),
130 interrupted.";
