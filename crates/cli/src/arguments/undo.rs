//! `inrush undo`.

use clap::Args;

use super::common::LedgerArguments;

/// Undo a run: remove the tables that it loaded, and restore those that it replaced
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Removes from their targets the tables that a run switched in, and puts back the tables that it
replaced and kept (replace = { keep = true }). All this is one transaction: readers see the state
before it or the state after it.

The removed tables are kept in the staging schema under names that are printed; --drop drops them.
In a folder of Parquet files, the files of the run are taken out of its tables, one table after
the other, and kept in a folder whose name is printed; --drop removes them.
A run that cannot be undone exactly is refused, with the reason: its rows are mixed with others in
a plain table, the tables that it replaced were dropped, or the target has changed since. The
effects of pre_sql and post_sql are not undone. Afterwards the same files can be loaded again.",
    override_usage = "inrush undo [OPTIONS] <RUN> <PACKAGE|--to <URL>>",
    after_long_help = UNDO_HELP
)]
pub struct UndoArguments {
    /// The name of the run, as in its report and its folder
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Drop the removed tables, or remove the files
    #[arg(long)]
    pub drop: bool,

    /// The longest wait for each lock, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000,
          value_parser = clap::value_parser!(u32).range(1..=86_400_000))]
    pub lock_timeout_ms: u32,

    /// The ledger, and the form of the output.
    #[command(flatten)]
    pub ledger: LedgerArguments,
}

const UNDO_HELP: &str = "\
Examples:
  Undo last night's load:
      inrush undo 20260131T020000Z-nightly-1a2b3c nightly.toml

  The same, by the database's URL:
      inrush undo 20260131T020000Z-nightly-1a2b3c --to postgresql://etl@dw/shop

Exit status: 0 undone, now or earlier; 1 the run cannot be undone, or the server cannot be used; 2
a mistake in the arguments.";
