//! `inrush join`.

use std::path::PathBuf;

use clap::Args;

use super::common::OverrideArguments;

/// Load a share of a run that another host has begun
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads one share of a run that `inrush run PACKAGE --shares N` has begun, on this or another host.
The package is that of the run. The rows are published by that other command, once all shares are
loaded.

If this command is stopped, give it again: it keeps the units that were committed.",
    after_long_help = JOIN_HELP
)]
pub struct JoinArguments {
    /// The package of the run; relative paths in it are relative to its folder
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// The plan: the file plan.json in the run's folder, which both hosts see
    #[arg(value_name = "PLAN", value_parser = super::common::local_path())]
    pub plan: PathBuf,

    /// The number of the share, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub share: u16,

    /// Options that replace values of the package; the same as those of the run
    #[command(flatten)]
    pub overrides: OverrideArguments,

    /// How many streams load at a time [default: the package's setting, or one for each core of this host]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Write one line of JSON for each event to standard output
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

const JOIN_HELP: &str = "\
Examples:
  Two hosts load a package; /shared is a folder that both see:
      host a:  inrush run /shared/feed.toml --runs-folder /shared/runs --shares 2
      host a:  inrush join /shared/feed.toml /shared/runs/RUN/plan.json --share 1
      host b:  inrush join /shared/feed.toml /shared/runs/RUN/plan.json --share 2

Exit status: 0 loaded, 1 failed, 2 a mistake in the arguments or another plan, 3 loaded with
rejects within the limit, 4 too many rejects, 130 interrupted.";
