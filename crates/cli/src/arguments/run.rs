//! `inrush run`.

use std::path::PathBuf;

use clap::Args;

use super::common::{OverrideArguments, RunArguments};
use super::source_limits::SourceLimitArguments;

/// Run the load that a package describes
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Runs all flows of a package and switches their rows in together, in one transaction.

To resume a run that was stopped by a signal, a crash or a lost server, run the same command
again: it keeps the units that were committed and loads the rest. After success the same command
finds nothing left to do, names the run that loaded the files, and ends with status 0.",
    after_long_help = RUN_HELP
)]
pub struct RunCommandArguments {
    /// The package; relative paths in it are relative to its folder
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// Options that replace its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,

    /// The settings of the run.
    #[command(flatten)]
    pub run: RunArguments,

    /// Limits of the databases that are read, in place of those of the package.
    #[command(flatten)]
    pub limits: SourceLimitArguments,

    /// Where flows with `since` begin, in place of the mark of the last run: a time such as 2026-01-31 (UTC)
    ///
    /// All rows from there on are loaded, including those that an earlier run has loaded.
    #[arg(long, value_name = "VALUE")]
    pub from: Option<String>,

    /// Divide the work into N shares, which `inrush join` loads on other hosts, and publish the rows when all are loaded
    ///
    /// The hosts need a folder in common for --runs-folder, and the same files at the same paths.
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub shares: Option<u16>,

    /// Fail if no process that loads a share gives a sign of life for this many seconds [default: 3600]
    #[arg(long, value_name = "SECONDS", hide = true, requires = "shares", value_parser = clap::value_parser!(u64).range(3..=31_536_000))]
    pub shares_wait: Option<u64>,
}

const RUN_HELP: &str = "\
Examples:
  Print the plan, then run it:
      inrush check etlwr.toml
      inrush run etlwr.toml

  Another day, another server, more streams:
      inrush run feed.toml --set day=2024-05-31 \\
          --connection warehouse=postgresql://etl@test-dw/tpch --streams 16

  Give the password in the environment:
      PGPASSWORD=... inrush run feed.toml

  Follow the run in another program:
      inrush run feed.toml --json | jq -r 'select(.event == \"unit_committed\")'

Exit status: 0 loaded, 1 failed, 2 a mistake in the package, 3 loaded with rejects within the
limit, 4 too many rejects, 5 the server's row count differs, 130 interrupted.";
