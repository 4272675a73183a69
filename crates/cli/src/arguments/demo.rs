//! `inrush demo`.

use std::path::PathBuf;

use clap::Args;

/// Load TPC-H into an embedded PostgreSQL and check every table
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Shows the main job with nothing to set up: makes the eight tables of TPC-H, byte for byte as
dbgen does, starts an embedded PostgreSQL, loads all tables (six of them partitioned, a partition
for each part), checks the contents in the database against sums that were made from the rows as
they were generated, prints the account, and stops the server.",
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

    /// How many streams load at a time; else one for each core
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Load into this database, not into an embedded one; the eight tables must not exist
    #[arg(long, value_name = "URL", default_value = "embedded")]
    pub to: String,

    /// Keep the generated files, the package and the embedded server's data in the folder
    #[arg(long)]
    pub keep: bool,

    /// Where --keep puts the files, the package and the data; without it they go when it ends
    #[arg(long, value_name = "FOLDER", default_value = "demo", value_parser = super::common::local_path())]
    pub folder: PathBuf,

    /// Where the folders of runs are made
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,
}

const DEMO_HELP: &str = "\
Examples:
  About 110 MB of text in 48 files and two small ones:
      inrush demo

  Ten times as much, kept to look at afterwards:
      inrush demo --scale 1 --parts 4 --streams 2 --keep

  Into a server of yours:
      createdb tpch
      inrush demo --to postgresql://etl@localhost/tpch

Exit status: 0 loaded and checked, 1 failed, 5 the contents are not what was generated, 130
interrupted.";
