//! `inrush peek`.

use std::path::PathBuf;

use clap::Args;

use super::common::OverrideArguments;

/// Show rows as they leave a step of a flow, and load nothing
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Reads the first rows of a flow, passes them through its steps, and shows the rows that leave a
step, each with its place in the source. Below them it shows how many of the rows that were read
each step filtered and rejected, and the last rejected rows with the reasons. Nothing is loaded.",
    after_long_help = PEEK_HELP
)]
pub struct PeekArguments {
    /// The package
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// The step whose rows are shown, counted from 1; 0 for the rows before the first step [default: the last step]
    #[arg(long, value_name = "N")]
    pub step: Option<usize>,

    /// How many rows are shown
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub rows: u16,

    /// The flow, by its name [default: the package's first flow]
    #[arg(long, value_name = "NAME")]
    pub flow: Option<String>,

    /// Options that replace its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const PEEK_HELP: &str = "\
Examples:
      inrush peek lineitem.toml
      inrush peek lineitem.toml --step 2 --rows 5

Exit status: 0 rows were shown, 1 a file or the server prevents it, 2 a mistake in the package or
in the arguments.";
