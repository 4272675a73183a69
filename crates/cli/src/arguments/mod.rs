//! The arguments of the command. The text of `--help` is written here, and only here.

mod bench;
mod bench_clients;
mod check;
mod cleanup;
mod common;
mod copy;
mod demo;
mod format;
mod init;
mod join;
mod lineage;
mod load;
mod peek;
mod preflight;
mod rejects;
mod report;
mod run;
mod source_limits;
mod status;
mod target;
mod undo;
mod verify;

use clap::{Parser, Subcommand};

pub use bench::{
    BenchArguments, BenchCommand, EtlwrArguments, EtlwrCommand, EtlwrOrder, EtlwrRunArguments,
    GenerateArguments, MeasureArguments, WhichArguments, WholeArguments,
};
pub use bench_clients::{
    CallArgument, CallsArguments, ClientsArguments, InsertsArguments, KeyArgument, OnOff,
    ProtocolArgument,
};
pub use check::CheckArguments;
pub use cleanup::CleanupArguments;
pub use common::{LedgerArguments, OverrideArguments, RunArguments};
pub use copy::CopyArguments;
pub use demo::DemoArguments;
pub use format::parse_format;
pub use init::InitArguments;
pub use join::JoinArguments;
pub use lineage::LineageArguments;
pub use load::LoadArguments;
pub use peek::PeekArguments;
pub use preflight::{PreflightArguments, WhatIf};
pub use rejects::{RejectsArguments, RejectsCommand, ReplayArguments, ShowArguments};
pub use report::ReportArguments;
pub use run::RunCommandArguments;
pub use status::StatusArguments;
pub use target::{LoadMode, TargetArguments, ToArguments, UncheckedTypesAnswer, VerifyLevel};
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
allows, accounts for every row, and names what limited the load.

A load is all or nothing: each part of the files goes into a staging table of its own, and
all of them become partitions of their targets in one transaction. To resume a load that
stopped for any reason, run the same command again: it continues where the load stopped. After
success the same command finds nothing left to do.",
    after_long_help = COMMAND_HELP,
    arg_required_else_help = true,
    disable_help_subcommand = false
)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands. The help of each command is in the file of its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    Load(LoadArguments),
    Copy(CopyArguments),
    Init(InitArguments),
    Run(RunCommandArguments),
    #[command(hide = true)]
    Join(JoinArguments),
    Check(CheckArguments),
    Peek(PeekArguments),
    Preflight(PreflightArguments),
    Verify(VerifyArguments),
    Status(StatusArguments),
    Lineage(LineageArguments),
    Cleanup(CleanupArguments),
    Rejects(RejectsArguments),
    Report(ReportArguments),
    Undo(UndoArguments),
    Demo(DemoArguments),
    Bench(BenchArguments),
}

impl Command {
    /// True if the command changes or measures a destination, so that its exit status tells the outcome. All other
    /// commands are run for their output.
    pub fn changes_something(&self) -> bool {
        match self {
            Command::Load(_)
            | Command::Copy(_)
            | Command::Run(_)
            | Command::Join(_)
            | Command::Cleanup(_)
            | Command::Undo(_)
            | Command::Demo(_)
            | Command::Bench(_) => true,
            Command::Rejects(arguments) => matches!(arguments.command, RejectsCommand::Replay(_)),
            Command::Init(_)
            | Command::Check(_)
            | Command::Peek(_)
            | Command::Preflight(_)
            | Command::Verify(_)
            | Command::Status(_)
            | Command::Lineage(_)
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

  Copy tables of another database:
      inrush copy --from postgresql://reader@crm/crm --table 'sales.*' \\
          --to postgresql://etl@dw/shop

  Guess a package from the files, then edit and run it:
      inrush init 'sales.*.csv' --to postgresql://etl@dw/shop
      inrush run sales.toml

  Load a nightly feed that a package describes:
      inrush check feed.toml --set day=2024-05-31
      inrush preflight feed.toml --set day=2024-05-31
      inrush run feed.toml --set day=2024-05-31

  Write the report page of the newest run: its rows, its times and what limited it:
      inrush report

  Undo a load:
      inrush undo RUN --to postgresql://etl@dw/tpch

  `inrush COMMAND --help` describes each command, with examples.

Exit status:
    0  loaded (or loaded already by an earlier run)
    1  failed: because of a file, the server or the machine
    2  a mistake in the arguments or the package
    3  loaded (or loaded already), with rejected rows within the limit
    4  more rejects than a limit allows; nothing was switched in
    5  the server's row count differs from the rows sent; nothing was switched in
    6  preflight: the run cannot succeed
  130  interrupted; the same command resumes the load

Environment:
  PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGPASSFILE, PGSSLMODE, PGSSLROOTCERT and
  ~/.pgpass supply what a connection's URL leaves out, as they do for psql; for SQL Server it is
  SQLCMDSERVER, SQLCMDUSER, SQLCMDPASSWORD and SQLCMDDBNAME. A password in an argument is
  refused, because other users of the machine could read it.
  INRUSH_POSTGRES_BIN names the folder with the embedded server's programs.";
