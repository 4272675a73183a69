//! `inrush preflight`.

use std::path::PathBuf;

use clap::Args;

use super::common::OverrideArguments;

/// Measure each step of a load on a sample, and say what will limit, hurt or stop it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Measures each step of a load for a second or two on a sample of the package's very files: reading,
decompressing, scanning, converting, the network, what the destination takes by one connection and
by all, and all of it together. Prints each step's speed, the time that the run should take and
the step that limits it, and what will hurt it or stop it: all of it, not only the first.

It takes about ten seconds, whatever the size of the files. Rows of the sample go into tables that
are rolled back: nothing is left in the database. What of the files is read is in the page cache
afterwards; nothing is thrown out of it without --cold. The run that follows says in its report
what was predicted for it.",
    after_long_help = PREFLIGHT_HELP
)]
pub struct PreflightArguments {
    /// The package
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// How many streams the run will have
    ///
    /// Else what the package says, else one for each core of this machine. A run with another number, or of other
    /// files, does not take the prediction for its own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Plan as `run --again` does: files that are loaded already are measured too
    #[arg(long)]
    pub again: bool,

    /// Let the page cache go of the sample before it is read, so that the disk is measured
    ///
    /// Whoever else reads these files reads them from the disk then, once.
    #[arg(long)]
    pub cold: bool,

    /// Where the folders of runs are made: the prediction waits there for the run
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Write the result as JSON, which docs/preflight.schema.json describes
    #[arg(long)]
    pub json: bool,

    /// What replaces its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const PREFLIGHT_HELP: &str = "\
Examples:
  What the run of a package should take, and what stands in its way:
      inrush preflight etlwr.toml

  With more streams, and the disk measured even where the page cache holds the files:
      inrush preflight etlwr.toml --streams 8 --cold

  Of another day's files, for a program that reads the result:
      inrush preflight feed.toml --set day=2024-05-31 --json

Exit status: 0 it can run, 1 the preflight itself failed, 2 a mistake in the arguments or the
package (a pipe among its files is one), 6 the run cannot succeed (all reasons are printed), 130
interrupted.";
