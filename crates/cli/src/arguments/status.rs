//! `inrush status`.

use clap::Args;

use super::common::{DestinationArguments, OverrideArguments};

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
    /// Which database.
    #[command(flatten)]
    pub destination: DestinationArguments,

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

const STATUS_HELP: &str = "\
Examples:
  The stopped runs of one package:
      inrush status etlwr.toml

  All stopped runs of a database:
      inrush status --to postgresql://etl@dw/tpch

Exit status: 0, also where nothing was found; 1 the server stands in the way; 2 a mistake in the
arguments.";
