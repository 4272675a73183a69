//! `inrush cleanup`.

use clap::Args;

use super::common::{DestinationArguments, OverrideArguments};

/// Remove what stopped runs left in a database
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Removes the staging tables of runs that were stopped before their switch, and marks these runs
as discarded, so that the same command loads everything anew. Targets are not touched. Runs that
are at work are left alone.",
    after_long_help = CLEANUP_HELP
)]
pub struct CleanupArguments {
    /// Which database.
    #[command(flatten)]
    pub destination: DestinationArguments,

    /// Only the run of this name
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

    /// The schema of the ledger; else what the package says
    #[arg(long, value_name = "SCHEMA")]
    pub ledger_schema: Option<String>,

    /// Write JSON
    #[arg(long)]
    pub json: bool,

    /// What replaces the package's values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const CLEANUP_HELP: &str = "\
Examples:
  What the stopped runs of one package left:
      inrush cleanup etlwr.toml

  What one run left:
      inrush status --to postgresql://etl@dw/tpch
      inrush cleanup --to postgresql://etl@dw/tpch --run RUN

Exit status: 0, also where nothing was found; 1 the server stands in the way; 2 a mistake in the
arguments.";
