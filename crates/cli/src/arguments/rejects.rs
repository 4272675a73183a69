//! `inrush rejects`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::RunArguments;

/// Show rejected rows, or load them after you have fixed them
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Rows that a run could not load are kept in its folder (runs/RUN/rejects), as they were in the
files. A .jsonl file beside them has the place of each row and the reason for its rejection.

`show` groups the rejected rows by cause. `replay` loads them after you have fixed them in the
files of that folder; it uses the settings of the run's own package.",
    after_long_help = REJECTS_HELP
)]
pub struct RejectsArguments {
    /// The command.
    #[command(subcommand)]
    pub command: RejectsCommand,
}

/// A command for rejected rows.
#[derive(Clone, Debug, Subcommand)]
pub enum RejectsCommand {
    Show(ShowArguments),
    Replay(ReplayArguments),
}

/// Show why rows of a run were rejected
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Shows why rows of a run were rejected, grouped by flow, cause and column. The groups with the most
rows come first, each with examples and their places. No database is needed.",
    after_long_help = SHOW_HELP
)]
pub struct ShowArguments {
    /// The run, by its name or folder [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// The folder of the runs
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Load the rejected rows of a run after you have fixed them
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Loads the rejected rows of a run after you have fixed them in its folder
(runs/RUN/rejects/*.rejects). It uses the settings of the run's own package and appends the rows
to the same targets. To give up a row, delete it from its file.

A replay is itself a run, all or nothing, and its report names the run whose rejects it loaded. It
loads only once: the same command again finds nothing left to do, even if you have changed the
files since. Rows that are rejected again are in the replay's folder; fix and replay them from
there.",
    after_long_help = REPLAY_HELP
)]
pub struct ReplayArguments {
    /// The run whose rejects to load, by its name or folder
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Set a connection of the package to another URL (repeatable)
    #[arg(long, value_name = "NAME=URL", value_parser = super::common::pair)]
    pub connection: Vec<(String, String)>,

    /// Allow code that the run's package brings: drivers named by a path or an option, and data folders
    #[arg(long)]
    pub trust: bool,

    /// The most rows that may be rejected again [default: the package's setting]
    #[arg(long, value_name = "N")]
    pub max_rejects: Option<u64>,

    /// The settings of the run.
    #[command(flatten)]
    pub run_arguments: RunArguments,
}

const REJECTS_HELP: &str = "\
Examples:
  Show why rows of the newest run were rejected:
      inrush rejects show

  Fix them, then load them:
      $EDITOR runs/20261121T084717Z-feed-1b3ab8/rejects/orders.*.rejects
      inrush rejects replay 20261121T084717Z-feed-1b3ab8

Exit status: 0 done; 2 a mistake in the arguments; `replay` has those of `inrush run`, too.";

const SHOW_HELP: &str = "\
Examples:
  The newest run, and another one:
      inrush rejects show
      inrush rejects show 20261121T084717Z-feed-1b3ab8

  Count the rows of each cause, as JSON:
      inrush rejects show --json | jq '.causes[] | {code, column, rows}'

Exit status: 0 done, even if no row was rejected; 2 there is no such run.";

const REPLAY_HELP: &str = "\
Examples:
  Load the fixed rows:
      inrush rejects replay 20261121T084717Z-feed-1b3ab8

  The same, with the run's folder elsewhere and up to 5 rows rejected again:
      inrush rejects replay /data/runs/20261121T084717Z-feed-1b3ab8 --max-rejects 5

Exit status: 0 loaded, or loaded already; 1 failed; 2 there is no such run, or it switched
nothing in; 3 loaded with rejects within the limit; 4 too many rejects; 5 the server's row count
differs; 130 interrupted, and the same command resumes the load.";
