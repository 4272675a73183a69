//! `inrush init`.

use std::path::PathBuf;

use clap::Args;

/// Guess how files are written and what they hold, and write a package
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Guesses how files are written and what their columns are, and writes a package to edit and run.

Samples are taken all over the files: their beginnings, up to 64 places in the middle, and their
ends, 16 MiB in all. Types are tried with the load's own converters, so a guess is never looser
than the load. What is unsure is told here and stands in the package's comments, with what would
have decided it. Nothing is loaded, and no database is asked.",
    after_long_help = INIT_HELP
)]
pub struct InitArguments {
    /// Files, or globs in quotes; all of them have the same columns
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<String>,

    /// The database that the package loads into
    #[arg(long, value_name = "URL", default_value = "embedded:inrush-data")]
    pub to: String,

    /// The table; else it is called like the first file
    #[arg(long, value_name = "TABLE")]
    pub table: Option<String>,

    /// Where the package is written, `-` for the standard output; else TABLE.toml
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save: Option<PathBuf>,

    /// Write over a package that is there
    #[arg(long)]
    pub force: bool,

    /// Look at every row of every file: certain, and as slow as reading them
    #[arg(long)]
    pub all: bool,

    /// How the files are written, where it is not to be guessed: as for `inrush load`
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

const INIT_HELP: &str = "\
Examples:
  Guess, look at what is unsure, then see the plan and load:
      inrush init 'sales.*.csv' --to postgresql://etl@dw/shop
      inrush check sales.toml
      inrush run sales.toml

  Every row is looked at, and the package goes to the standard output:
      inrush init feed.txt --all --save - | less

Exit status: 0 also where something is unsure, 1 a file stands in the way, 2 a mistake in the
arguments.";
