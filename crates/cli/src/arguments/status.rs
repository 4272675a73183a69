//! `inrush status`.

use clap::Args;

use super::common::LedgerArguments;

/// Show the stopped and running loads of a database
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Shows the runs that were stopped before their switch, and the runs in progress: the package, the
committed units, and the staged rows with their size in bytes. For incremental loads (`since`) it
also shows where the next run begins. Nothing is changed.",
    after_long_help = STATUS_HELP
)]
pub struct StatusArguments {
    /// The ledger, and the form of the output.
    #[command(flatten)]
    pub ledger: LedgerArguments,

    /// Show only the marks of incremental loads (`since`), as a table; with --json for programs
    #[arg(long)]
    pub marks: bool,
}

const STATUS_HELP: &str = "\
Examples:
  The stopped runs of one package:
      inrush status etlwr.toml

  All stopped runs of a database:
      inrush status --to postgresql://etl@dw/tpch

  Where the next run of an incremental load begins, for a program:
      inrush status orders.toml --marks --json

Exit status: 0 done, even if there are no runs; 1 the server cannot be used; 2 a mistake in the
arguments.";
