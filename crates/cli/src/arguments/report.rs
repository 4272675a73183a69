//! `inrush report`.

use std::path::PathBuf;

use clap::Args;

/// Make the page of a run's report
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Makes the page of a run's report: the account of its rows, what held it back and the evidence, its
streams, connections and server over time, its rejects, and what a stranger needs to repeat it.

The page is one file that needs no network and no other file. A run writes it by itself, beside
its report.json; this command makes it once more, of report.json alone, also of one that was
copied from another machine. No database is asked.",
    after_long_help = REPORT_HELP
)]
pub struct ReportArguments {
    /// The run, by its name, its folder or its report.json; else the newest one
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Where the folders of runs are
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Where the page is written, `-` for the standard output; else report.html beside the report
    #[arg(long, short, value_name = "FILE", value_parser = super::common::local_path())]
    pub output: Option<PathBuf>,
}

const REPORT_HELP: &str = "\
Examples:
  The page of the newest run, to be opened in a browser:
      inrush report

  Of another run, into a file of its own:
      inrush report 20261121T084717Z-feed-1b3ab8 --output feed.html

  Of a report that somebody sent:
      inrush report Downloads/report.json

Exit status: 0 made; 1 it cannot be written; 2 there is no such run, what is there is no report
that this Inrush knows, or the page would be written over it.";
