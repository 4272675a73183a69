//! `inrush rejects`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::RunArguments;

/// Show rejected rows, or load them once they are fixed
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Rows that a run could not load are kept in its folder (runs/RUN/rejects), as they were in the
files, with a .jsonl beside that says where each of them was and why it was rejected.

`show` tells why rows were rejected, by cause. `replay` loads them, once they are fixed in those
files, by the settings of the run's own package.",
    after_long_help = REJECTS_HELP
)]
pub struct RejectsArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: RejectsCommand,
}

/// What to do with rejected rows.
#[derive(Clone, Debug, Subcommand)]
pub enum RejectsCommand {
    Show(ShowArguments),
    Replay(ReplayArguments),
}

/// Tell why rows of a run were rejected
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Tells why rows of a run were rejected: by flow, cause and column, those with the most rows first,
each with examples and their places. No database is asked.",
    after_long_help = SHOW_HELP
)]
pub struct ShowArguments {
    /// The run, by its name or folder; else the newest one
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Where the folders of runs are
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Load the rows that a run rejected, once they are fixed
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads the rows that a run rejected, once they are fixed in the files of its folder
(runs/RUN/rejects/*.rejects): by the settings of the run's own package, into the same targets,
where they join the rows that are there. A row that is to be given up is taken out of its file.

It is a run of its own, all or nothing, with a report that names the run it fixes. It loads once:
the same command again finds nothing left to do, whatever was changed in the files since. Rows
that are rejected again stand in its own folder, and are fixed and replayed from there.",
    after_long_help = REPLAY_HELP
)]
pub struct ReplayArguments {
    /// The run whose rejects are loaded, by its name or folder
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Give a connection of the package another URL
    #[arg(long, value_name = "NAME=URL", value_parser = super::common::pair)]
    pub connection: Vec<(String, String)>,

    /// Let the run's package run code that it brings: drivers by a path or an option, and data folders
    #[arg(long)]
    pub trust: bool,

    /// How many rows may be rejected again; else what the package says
    #[arg(long, value_name = "N")]
    pub max_rejects: Option<u64>,

    /// How it runs.
    #[command(flatten)]
    pub run_arguments: RunArguments,
}

const REJECTS_HELP: &str = "\
Examples:
  Why rows of the newest run were rejected:
      inrush rejects show

  Fix them, then load them:
      $EDITOR runs/20261121T084717Z-feed-1b3ab8/rejects/orders.*.rejects
      inrush rejects replay 20261121T084717Z-feed-1b3ab8

Exit status: 0 done; of replay all those of `inrush run`; 2 a mistake in the arguments.";

const SHOW_HELP: &str = "\
Examples:
  The newest run, and another one:
      inrush rejects show
      inrush rejects show 20261121T084717Z-feed-1b3ab8

  How many rows of each cause, for a program:
      inrush rejects show --json | jq '.causes[] | {code, column, rows}'

Exit status: 0, also where nothing was rejected; 2 there is no such run.";

const REPLAY_HELP: &str = "\
Examples:
  Load what was fixed:
      inrush rejects replay 20261121T084717Z-feed-1b3ab8

  The same, where the run's folder is elsewhere and up to 5 rows may be bad again:
      inrush rejects replay /data/runs/20261121T084717Z-feed-1b3ab8 --max-rejects 5

Exit status: 0 loaded, or loaded already; 1 failed; 2 there is no such run, or it switched
nothing in; 3 loaded with rejects within the limit; 4 too many rejects; 5 the server counts other
rows; 130 interrupted; the same command goes on.";
