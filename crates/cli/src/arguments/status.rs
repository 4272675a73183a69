//! `inrush status`.

use clap::Args;

use super::common::LedgerArguments;

/// Show what stopped runs left in a database
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Shows the runs that were stopped before their switch, and those at work now: their package, the
units that are committed, the rows that are staged and the bytes that they take. Nothing is
changed.",
    after_long_help = STATUS_HELP
)]
pub struct StatusArguments {
    /// Which ledger, and how it is told.
    #[command(flatten)]
    pub ledger: LedgerArguments,
}

const STATUS_HELP: &str = "\
Examples:
  The stopped runs of one package:
      inrush status etlwr.toml

  All stopped runs of a database:
      inrush status --to postgresql://etl@dw/tpch

Exit status: 0, also where nothing was found; 1 the server stands in the way; 2 a mistake in the
arguments.";
