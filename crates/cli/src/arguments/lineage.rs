//! `inrush lineage`.

use clap::Args;

use super::common::LedgerArguments;

/// Show where the values of a table or column come from, and which runs loaded it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Shows from which columns of the source the values of a loaded column come, through which
expressions and lookups, and which runs loaded it. The ledger of the destination has this for
each run. Nothing is changed.",
    after_long_help = LINEAGE_HELP
)]
pub struct LineageArguments {
    /// The table, or a column of it: TABLE, SCHEMA.TABLE, TABLE.COLUMN or SCHEMA.TABLE.COLUMN
    #[arg(value_name = "TABLE.COLUMN")]
    pub name: String,

    /// The ledger, and the form of the output.
    #[command(flatten)]
    pub ledger: LedgerArguments,
}

const LINEAGE_HELP: &str = "\
Examples:
  Where the values of a column come from:
      inrush lineage lineitem.revenue lineitem.toml

  All columns of a table, and the runs that loaded it:
      inrush lineage public.lineitem --to postgresql://etl@dw/tpch

  For a program:
      inrush lineage lineitem.revenue --to tpch.duckdb --json

Exit status: 0 shown; 1 the server cannot be used; 2 a mistake in the arguments, or no run of the
ledger has loaded such a table or column.";
