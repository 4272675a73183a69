//! `inrush report`.

use std::path::PathBuf;

use clap::Args;

/// Write the report page of a run
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Writes the report page of a run: the account of its rows, what limited it with the evidence, its
streams, connections and server over time, its rejects, and all that is needed to repeat it.

The page is one file that needs no network and no other file. Each run writes it beside its
report.json. This command writes it again from report.json alone, which may come from another
machine. No database is needed.",
    after_long_help = REPORT_HELP
)]
pub struct ReportArguments {
    /// The run, by its name, its folder or its report.json [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// The folder of the runs
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// The file to write the page to; `-` is standard output [default: report.html beside the report]
    #[arg(long, short, value_name = "FILE", value_parser = super::common::local_path())]
    pub output: Option<PathBuf>,
}

const REPORT_HELP: &str = "\
Examples:
  Write the page of the newest run, to open it in a browser:
      inrush report

  Write the page of another run into another file:
      inrush report 20261121T084717Z-feed-1b3ab8 --output feed.html

  Write the page of a report that somebody sent you:
      inrush report Downloads/report.json

Exit status: 0 written; 1 the page cannot be written; 2 there is no such run, this Inrush does not
know the report's format, or the page would overwrite the report.";
