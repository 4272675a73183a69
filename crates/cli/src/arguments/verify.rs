//! `inrush verify`.

use clap::Args;

use super::common::OverrideArguments;

/// Prove that files are read in pieces as one careful reader reads them
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Reads each file twice: in many pieces at the same time, as a load with several streams does, and
from its first byte to its last by one reader. Every record must be the same, with its fields,
its byte and its line. Nothing is loaded, and no database is asked.

A package (NAME.toml) stands for the files of its flows, read in the formats that it declares: so
fixed width is checked, and whatever else --format has no words for.",
    after_long_help = VERIFY_HELP
)]
pub struct VerifyArguments {
    /// Hold reading in pieces against reading in one go
    #[arg(long, required = true)]
    pub split: bool,

    /// Files, or globs in quotes; or one package
    #[arg(required = true, value_name = "FILES|PACKAGE")]
    pub files: Vec<String>,

    /// How the files are written, as for `inrush load`; guessed where it is not said
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// Of a package only this flow; may be given several times
    #[arg(long, value_name = "NAME")]
    pub flow: Vec<String>,

    /// Bytes of a piece; else small ones, so that there are many places to get wrong
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub range_bytes: Option<u64>,

    /// Threads that read at the same time; else as many as there are cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// What replaces the package's values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const VERIFY_HELP: &str = "\
Examples:
  A feed with line feeds inside of quotes:
      inrush verify --split orders.csv

  All parts, each cut at every 4096 bytes:
      inrush verify --split 'parts/*.csv' --format csv,no_header --range-bytes 4096

  The files of one flow of a package, in the format that stands there:
      inrush verify --split feed.toml --flow orders --set day=2024-05-31

Exit status: 0 the same, 1 a file cannot be read, 2 a mistake in the arguments, 5 not the same
(please report it, with the file if you can).";
