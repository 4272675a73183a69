//! `inrush demo`.

use std::path::PathBuf;

use clap::Args;

/// Load TPC-H into an embedded PostgreSQL and check every table
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Shows a complete load, with nothing to set up. It generates the files of the eight tables of
TPC-H, byte for byte as dbgen does, and starts an embedded PostgreSQL. It loads all tables, six of
them with a partition for each part, and compares the database with sums of the generated rows.
Then it prints the account and stops the server.",
    after_long_help = DEMO_HELP
)]
pub struct DemoArguments {
    /// TPC-H's scale factor; 1 is about 1.1 GB of text
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.1,
        allow_negative_numbers = true
    )]
    pub scale: f64,

    /// Parts of each of the six large tables
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub parts: u32,

    /// How many streams load at a time [default: one for each core]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Load into this database; the eight tables must not exist in it
    #[arg(long, value_name = "URL", default_value = "embedded")]
    pub to: String,

    /// Keep the generated files, the package and the embedded server's data (see --folder)
    #[arg(long)]
    pub keep: bool,

    /// The folder in which --keep keeps the files, the package and the data
    #[arg(long, value_name = "FOLDER", default_value = "demo", value_parser = super::common::local_path())]
    pub folder: PathBuf,

    /// The folder that gets a subfolder for each run
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,
}

const DEMO_HELP: &str = "\
Examples:
  Load about 110 MB of text, 48 files and two small ones:
      inrush demo

  Load ten times as much, and keep it:
      inrush demo --scale 1 --parts 4 --streams 2 --keep

  Load into your own server:
      createdb tpch
      inrush demo --to postgresql://etl@localhost/tpch

Exit status: 0 loaded and checked, 1 failed, 5 the contents differ from the generated rows,
130 interrupted.";
