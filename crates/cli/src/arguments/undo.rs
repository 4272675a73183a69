//! `inrush undo`.

use clap::Args;

use super::common::LedgerArguments;

/// Take out what a run loaded, and put back what it replaced
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Takes the tables out of the targets that a run switched in, and puts back those that it replaced
and kept (replace = { keep = true }), all in one transaction: readers see the one or the other.

What is taken out is kept in the staging schema under names that are printed, or dropped with
--drop. A run is refused, with the reason, where that would not be exact: it put its rows among
others in a plain table, what it replaced was dropped, or the target has changed since.
What pre_sql and post_sql did is not undone. Afterwards the same files can be loaded again.",
    override_usage = "inrush undo [OPTIONS] <RUN> <PACKAGE|--to <URL>>",
    after_long_help = UNDO_HELP
)]
pub struct UndoArguments {
    /// The run, as it is named in its report and by its folder
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Drop what is taken out
    #[arg(long)]
    pub drop: bool,

    /// How long each lock is waited for, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000,
          value_parser = clap::value_parser!(u32).range(1..=86_400_000))]
    pub lock_timeout_ms: u32,

    /// Which ledger, and how it is told.
    #[command(flatten)]
    pub ledger: LedgerArguments,
}

const UNDO_HELP: &str = "\
Examples:
  Last night's load was wrong, and what it replaced was kept:
      inrush undo 20260131T020000Z-nightly-1a2b3c nightly.toml

  The same, by the database's URL:
      inrush undo 20260131T020000Z-nightly-1a2b3c --to postgresql://etl@dw/shop

Exit status: 0, also where it was undone before; 1 it cannot be undone, or the server stands in
the way; 2 a mistake in the arguments.";
