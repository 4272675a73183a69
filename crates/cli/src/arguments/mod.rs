//! The arguments of the command. What they mean is said here once, for `--help`.

mod bench;
mod check;
mod cleanup;
mod common;
mod demo;
mod format;
mod init;
mod load;
mod preflight;
mod rejects;
mod report;
mod run;
mod status;
mod undo;
mod verify;

use clap::{Parser, Subcommand};

pub use bench::{
    BenchArguments, BenchCommand, EtlwrArguments, EtlwrCommand, EtlwrOrder, EtlwrRunArguments,
    GenerateArguments, MeasureArguments, WhichArguments, WholeArguments,
};
pub use check::CheckArguments;
pub use cleanup::CleanupArguments;
pub use common::{LedgerArguments, OverrideArguments, RunArguments};
pub use demo::DemoArguments;
pub use format::parse_format;
pub use init::InitArguments;
pub use load::{LoadArguments, LoadMode, UncheckedTypesAnswer, VerifyLevel};
pub use preflight::PreflightArguments;
pub use rejects::{RejectsArguments, RejectsCommand, ReplayArguments, ShowArguments};
pub use report::ReportArguments;
pub use run::RunCommandArguments;
pub use status::StatusArguments;
pub use undo::UndoArguments;
pub use verify::VerifyArguments;

/// Loads very large sets of flat files into a partitioned database.
#[derive(Debug, Parser)]
#[command(
    name = "inrush",
    version,
    about = "Loads very large sets of flat files into a partitioned database",
    long_about = "\
Loads very large sets of flat files into a partitioned database, as fast as the machine
allows, accounts for every row, and says what held it back.

A load is all or nothing: each part of the files goes into a staging table of its own, and
all of them become partitions of their targets in one transaction. A load that was stopped,
by whatever it was, goes on where it stopped when the same command is given again; after
success the same command finds nothing left to do.",
    after_long_help = COMMAND_HELP,
    arg_required_else_help = true,
    disable_help_subcommand = false
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do. What `--help` says of a command stands with its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    Load(LoadArguments),
    Init(InitArguments),
    Run(RunCommandArguments),
    Check(CheckArguments),
    Preflight(PreflightArguments),
    Verify(VerifyArguments),
    Status(StatusArguments),
    Cleanup(CleanupArguments),
    Rejects(RejectsArguments),
    Report(ReportArguments),
    Undo(UndoArguments),
    Demo(DemoArguments),
    Bench(BenchArguments),
}

impl Command {
    /// Whether it changes a destination or measures one, so that its exit status tells what became of that. The others
    /// are asked for their output alone.
    pub fn changes_something(&self) -> bool {
        match self {
            Command::Load(_)
            | Command::Run(_)
            | Command::Cleanup(_)
            | Command::Undo(_)
            | Command::Demo(_)
            | Command::Bench(_) => true,
            Command::Rejects(arguments) => matches!(arguments.command, RejectsCommand::Replay(_)),
            Command::Init(_)
            | Command::Check(_)
            | Command::Preflight(_)
            | Command::Verify(_)
            | Command::Status(_)
            | Command::Report(_) => false,
        }
    }
}

const COMMAND_HELP: &str = "\
Examples:
  See it work, with nothing to set up:
      inrush demo

  Load the parts of one table, each part a partition:
      inrush load 'lineitem.tbl.*' --to postgresql://etl@dw/tpch --table lineitem \\
          --partition-by l_orderkey

  Let a package be guessed from the files, then edit and run it:
      inrush init 'sales.*.csv' --to postgresql://etl@dw/shop

  Load a night's feed that a package describes:
      inrush check feed.toml --set day=2024-05-31
      inrush preflight feed.toml --set day=2024-05-31
      inrush run feed.toml --set day=2024-05-31

  Look at what a run did, and what held it back (writes report.html; a run does so too):
      inrush report

  Take a load out again:
      inrush undo RUN --to postgresql://etl@dw/tpch

  `inrush COMMAND --help` says more of each command, with examples.

Exit status:
    0  loaded (or loaded already by an earlier run)
    1  failed: a file, the server or the machine stood in the way
    2  a mistake in the arguments or the package
    3  loaded (or loaded already), with rejected rows within the limit
    4  more rejects than a limit allows; nothing was switched in
    5  the server counts other rows than were sent; nothing was switched in
    6  preflight: the run cannot succeed
  130  interrupted; the same command goes on where it stopped

Environment:
  PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGPASSFILE, PGSSLMODE and PGSSLROOTCERT fill
  the gaps of a connection's URL as they do for psql, and so does ~/.pgpass. A password in an
  argument is refused: others could read it there.
  INRUSH_POSTGRES_BIN names the folder of the programs that the embedded server is run from.";
