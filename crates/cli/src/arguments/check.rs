//! `inrush check`.

use std::path::PathBuf;

use clap::Args;

use super::common::OverrideArguments;

/// Print what a package would do, and do none of it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Prints what a package would do, and does none of it: the files and their sizes, the columns and
where their types come from, units and streams, every statement of staging and switch, the
privileges that are needed beside those held, and the most memory that it takes. A run does
nothing that is not printed here.",
    after_long_help = CHECK_HELP
)]
pub struct CheckArguments {
    /// The package
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// How many streams
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Plan as `run --again` does
    #[arg(long)]
    pub again: bool,

    /// What replaces its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const CHECK_HELP: &str = "\
Examples:
      inrush check etlwr.toml
      inrush check feed.toml --set day=2024-05-31 | less

Exit status: 0 it can run, 1 a file or the server stands in the way, 2 a mistake in the package.";
