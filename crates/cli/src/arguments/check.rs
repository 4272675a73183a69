//! `inrush check`.

use std::path::PathBuf;

use clap::Args;

use super::common::OverrideArguments;
use super::source_limits::SourceLimitArguments;

/// Print the plan of a package, and change nothing
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Prints the plan of a package and changes nothing. The plan lists the files and their sizes, the
columns and the source of their types, the load units and streams, every statement of staging and
switch, the privileges that the run needs and those that it has, and the most memory that it uses.
A run does nothing that the plan does not list.

With --sql it prints the statements alone, as a script for a database administrator to read. The
script can be run in an empty database or in a copy: it makes the tables of a load, without rows.
Steps that a script cannot do are comments in it.",
    after_long_help = CHECK_HELP
)]
pub struct CheckArguments {
    /// The package
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// How many streams the run will have [default: the package's setting, or one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Plan as `inrush run --again` does: include files that are loaded already
    #[arg(long)]
    pub again: bool,

    /// Plan as `inrush run --from VALUE` does
    #[arg(long, value_name = "VALUE")]
    pub from: Option<String>,

    /// Print the statements alone, as a script in the SQL of the destination
    #[arg(long)]
    pub sql: bool,

    /// Options that replace its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,

    /// Limits of the databases that are read, in place of those of the package.
    #[command(flatten)]
    pub limits: SourceLimitArguments,
}

const CHECK_HELP: &str = "\
Examples:
      inrush check etlwr.toml
      inrush check feed.toml --set day=2024-05-31 | less
      inrush check feed.toml --sql > feed.sql

Exit status: 0 the package can run, 1 a file or the server prevents it, 2 a mistake in the
package.";
