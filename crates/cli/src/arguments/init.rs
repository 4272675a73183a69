//! `inrush init`.

use std::path::PathBuf;

use clap::Args;

/// Guess the format and columns of files, and write a package
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Guesses the format and the columns of files, and writes a package to edit and run.

Inrush samples the beginnings of the files, up to 64 places in the middle, and their ends, 16 MiB
in all. It tries types with the converters of a load, so a guessed type fits every sampled value.
Unsure guesses are printed and noted in comments of the package, each with the evidence that is
missing. Nothing is loaded, and no database is needed.",
    after_long_help = INIT_HELP
)]
pub struct InitArguments {
    /// Files, or globs in quotes; all files must have the same columns
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<String>,

    /// The database that the package loads into
    #[arg(long, value_name = "URL", default_value = "embedded:inrush-data")]
    pub to: String,

    /// The table [default: named after the first file]
    #[arg(long, value_name = "TABLE")]
    pub table: Option<String>,

    /// The file to write the package to; `-` is standard output [default: TABLE.toml]
    #[arg(long, value_name = "FILE", value_parser = super::common::local_path())]
    pub save: Option<PathBuf>,

    /// Overwrite an existing package
    #[arg(long)]
    pub force: bool,

    /// Look at every row of every file: nothing is guessed from a sample, but it takes as long as reading all files
    #[arg(long)]
    pub all: bool,

    /// The format of the files, as for `inrush load` [default: guessed]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

const INIT_HELP: &str = "\
Examples:
  Guess a package, edit it, print its plan, then load:
      inrush init 'sales.*.csv' --to postgresql://etl@dw/shop
      inrush check sales.toml
      inrush run sales.toml

  Look at every row, and write the package to standard output:
      inrush init feed.txt --all --save - | less

Exit status: 0 a package was written, even if a guess is unsure, 1 a file cannot be read, 2 a
mistake in the arguments.";
