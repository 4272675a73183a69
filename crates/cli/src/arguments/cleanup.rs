//! `inrush cleanup`.

use clap::Args;

use super::common::LedgerArguments;

/// Remove the staging tables of stopped runs
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Removes the staging tables of runs that were stopped before their switch, and marks these runs
as discarded, so that the same command loads everything again. Targets and runs in progress are
not changed.",
    after_long_help = CLEANUP_HELP
)]
pub struct CleanupArguments {
    /// Clean up only this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

    /// The ledger, and the form of the output.
    #[command(flatten)]
    pub ledger: LedgerArguments,
}

const CLEANUP_HELP: &str = "\
Examples:
  Clean up after the stopped runs of one package:
      inrush cleanup etlwr.toml

  Clean up after one run:
      inrush status --to postgresql://etl@dw/tpch
      inrush cleanup --to postgresql://etl@dw/tpch --run RUN

Exit status: 0 done, even if there are no runs; 1 the server cannot be used; 2 a mistake in the
arguments.";
