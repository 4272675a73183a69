//! `inrush verify`.

use clap::Args;

use super::common::OverrideArguments;

/// Compare files read in pieces with files read whole, or loaded tables with their sources
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
With --split, reads each file twice: in many pieces at the same time, as a load with several
streams does, and from its first byte to its last by one reader. Every record must be the same,
with its fields, its byte offset and its line. Nothing is loaded, and no database is needed.

If a package (NAME.toml) is given, the files of its flows are read in the formats that it
declares. This way you can check fixed width and other formats that --format cannot express.

With --compare, the rows of each flow of a package are hashed on both sides, and the sums of the
hashes are compared part by part. If both sides are PostgreSQL, their servers compute the hashes;
otherwise Inrush reads all rows of both. Each part that differs is printed with the number of its
rows and their sum on both sides, and up to ten keys. Nothing is changed.",
    after_long_help = VERIFY_HELP
)]
pub struct VerifyArguments {
    /// Compare reading in pieces with reading in one go
    #[arg(long)]
    pub split: bool,

    /// Compare the rows of a package's tables and queries with those of their targets, by hashes
    #[arg(long, conflicts_with_all = ["split", "format", "range_bytes", "streams"])]
    pub compare: bool,

    /// Files, or globs in quotes; or one package
    #[arg(required = true, value_name = "FILES|PACKAGE")]
    pub files: Vec<String>,

    /// The format of the files, as for `inrush load` [default: guessed]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// Check only this flow of the package (repeatable)
    #[arg(long, value_name = "NAME")]
    pub flow: Vec<String>,

    /// The size of a piece in bytes [default: small, so that files are cut at many places]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub range_bytes: Option<u64>,

    /// How many threads read at the same time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Options that replace the package's values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

const VERIFY_HELP: &str = "\
Examples:
  A feed with line feeds inside quotes:
      inrush verify --split orders.csv

  All parts, each cut at every 4096 bytes:
      inrush verify --split 'parts/*.csv' --format csv,no_header --range-bytes 4096

  The files of one flow of a package, in the flow's format:
      inrush verify --split feed.toml --flow orders --set day=2024-05-31

  Tables that were copied, and their source:
      inrush verify --compare copy.toml

Exit status: 0 all records are the same, 1 a file or a server cannot be read, 2 a mistake in the
arguments, 5 a record differs (with --split please report it, with the file if you can).";
