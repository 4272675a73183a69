//! `inrush run`.

use std::path::PathBuf;

use clap::Args;

use super::common::{OverrideArguments, RunArguments};

/// Load what a package says
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads what a package says: all of its flows, switched in together in one transaction.

Give the same command again after a stop, by a signal, a crash or a lost server, and it keeps
the units that were committed and loads the rest. After success it finds nothing left to do,
says which run loaded these files, and ends with 0.",
    after_long_help = RUN_HELP
)]
pub struct RunCommandArguments {
    /// The package; relative paths in it start at its folder
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// What replaces its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,

    /// How it runs.
    #[command(flatten)]
    pub run: RunArguments,
}

const RUN_HELP: &str = "\
Examples:
  What it will do, then doing it:
      inrush check etlwr.toml
      inrush run etlwr.toml

  Another day, another server, more streams:
      inrush run feed.toml --set day=2024-05-31 \\
          --connection warehouse=postgresql://etl@test-dw/tpch --streams 16

  A password that is in no argument and no file:
      PGPASSWORD=... inrush run feed.toml

  For a program to follow:
      inrush run feed.toml --json | jq -r 'select(.event == \"unit_committed\")'

Exit status: 0 loaded, 1 failed, 2 a mistake in the package, 3 loaded with rejects within the
limit, 4 too many rejects, 5 the server counts other rows, 130 interrupted.";
