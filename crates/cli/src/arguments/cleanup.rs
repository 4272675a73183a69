//! `inrush cleanup`.

use clap::Args;

use super::common::LedgerArguments;

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
    /// Only the run of this name
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

    /// Which ledger, and how it is told.
    #[command(flatten)]
    pub ledger: LedgerArguments,
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
