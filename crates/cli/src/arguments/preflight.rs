//! `inrush preflight`.

use std::path::PathBuf;

use clap::Args;

use inrush_workloads::clients::{amount_of_time, size_in_bytes};

use super::common::OverrideArguments;
use super::source_limits::SourceLimitArguments;

const CAPACITY: &str = "What would be needed";

/// A resource of `--what-if`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhatIf {
    /// Cores that loader and server share.
    SharedCores(f64),
    /// Cores of the loader.
    LoaderCores(f64),
    /// Cores of the server.
    ServerCores(f64),
    /// Bytes per second of the network.
    Network(f64),
    /// Bytes per second that the server's disk writes.
    Disk(f64),
    /// Bytes per second at which files are read.
    Read(f64),
    /// Streams.
    Streams(usize),
}

fn what_if(text: &str) -> Result<WhatIf, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    let number = || {
        let number = value.trim().parse::<f64>().ok();
        number
            .filter(|number| (0.1..=100_000.0).contains(number))
            .ok_or_else(|| format!("`{value}` is not a number of cores"))
    };
    let rate = || {
        let rate = value.trim().trim_end_matches("/s");
        match rate.strip_suffix("bit") {
            // The speed of a network is given in bits, with the same prefixes as bytes.
            Some(bits) => size_in_bytes(bits).map(|bits| bits as f64 / 8.0),
            None => size_in_bytes(rate).map(|bytes| bytes as f64),
        }
        .map_err(|_| format!("`{value}` is not a rate: write it as 10Gbit or 2GB/s"))
    };
    Ok(match name.trim() {
        "shared_cores" => WhatIf::SharedCores(number()?),
        "loader_cores" => WhatIf::LoaderCores(number()?),
        "server_cores" => WhatIf::ServerCores(number()?),
        "network" => WhatIf::Network(rate()?),
        "disk" => WhatIf::Disk(rate()?),
        "read" => WhatIf::Read(rate()?),
        "streams" => {
            let streams = value.trim().parse::<usize>().ok();
            let streams = streams.filter(|streams| (1..=1024).contains(streams));
            WhatIf::Streams(
                streams
                    .ok_or_else(|| format!("`{value}` is not a number of streams, 1 to 1024"))?,
            )
        }
        other => {
            return Err(format!(
                "`{other}` is not one of shared_cores, loader_cores, server_cores, network, disk, read and streams"
            ));
        }
    })
}

/// Measure each step of a load on a sample, and predict its time, its limit and its problems
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Measures each step of a load for a second or two, on a sample of the package's own files: reading,
decompressing, scanning, converting, the network, the destination's speed by one connection and by
all connections, and all steps together. Prints the speed of each step, the time that the run will
take, the step that limits it, and every problem that will slow it down or stop it.

It takes about ten seconds, whatever the size of the files. Rows of the sample are loaded into
tables and rolled back, so nothing stays in the database. The sampled parts of the files are in
the page cache afterwards; only --cold removes anything from it. The report of the run that
follows repeats the prediction.",
    after_long_help = PREFLIGHT_HELP
)]
pub struct PreflightArguments {
    /// The package
    #[arg(value_name = "PACKAGE", value_parser = super::common::local_path())]
    pub package: PathBuf,

    /// How many streams the run will have
    ///
    /// Default: the package's setting; without one, one stream for each core of this machine. The prediction applies
    /// only to a run of the same files with the same number of streams.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// Plan as `inrush run --again` does: measure files that are loaded already, too
    #[arg(long)]
    pub again: bool,

    /// Remove the sample from the page cache before it is read, to measure the disk
    ///
    /// Other programs that use these files have to read them from the disk once more.
    #[arg(long)]
    pub cold: bool,

    /// Say how long a load of this size would take, such as 1TB of text
    #[arg(long, value_name = "SIZE", value_parser = size_in_bytes, help_heading = CAPACITY)]
    pub size: Option<u64>,

    /// Say what a load within this time would need: cores, disk, network, WAL and streams
    #[arg(long, value_name = "TIME", value_parser = amount_of_time, help_heading = CAPACITY)]
    pub within: Option<f64>,

    /// Say how long it would take with other resources, such as server_cores=16,network=10Gbit
    ///
    /// shared_cores=N (loader and server on one machine), loader_cores=N and server_cores=N (on a machine each),
    /// network=10Gbit, disk=2GB/s (at which the server writes), read=1GB/s (at which files are read), streams=N.
    #[arg(long, value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = what_if, help_heading = CAPACITY)]
    pub what_if: Vec<WhatIf>,

    /// The folder of the runs; the prediction is kept there for the report of the run
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = super::common::local_path())]
    pub runs_folder: PathBuf,

    /// Write the result as JSON; docs/preflight.schema.json describes it
    #[arg(long)]
    pub json: bool,

    /// Options that replace its values.
    #[command(flatten)]
    pub overrides: OverrideArguments,

    /// Limits of the databases that are read, in place of those of the package.
    #[command(flatten)]
    pub limits: SourceLimitArguments,
}

const PREFLIGHT_HELP: &str = "\
Examples:
  Predict the run of a package:
      inrush preflight etlwr.toml

  Predict it with 8 streams, and measure the disk even if the page cache holds the files:
      inrush preflight etlwr.toml --streams 8 --cold

  What a load of 1 TB within 30 minutes needs, and what it takes on larger machines:
      inrush preflight etlwr.toml --size 1TB --within 30min
      inrush preflight etlwr.toml --size 1TB --what-if server_cores=16,network=10Gbit

  Predict the load of another day's files, and write the result as JSON:
      inrush preflight feed.toml --set day=2024-05-31 --json

Exit status: 0 the run can succeed, 1 the preflight itself failed, 2 a mistake in the arguments or
the package (such as a pipe among its files), 6 the run cannot succeed (all reasons are printed),
130 interrupted.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_as_people_write_them() {
        assert_eq!(what_if("server_cores=16"), Ok(WhatIf::ServerCores(16.0)));
        assert_eq!(what_if("shared_cores=2"), Ok(WhatIf::SharedCores(2.0)));
        assert_eq!(what_if("network=10Gbit"), Ok(WhatIf::Network(1.25e9)));
        assert_eq!(what_if("disk=2GB/s"), Ok(WhatIf::Disk(2e9)));
        assert_eq!(what_if("streams=8"), Ok(WhatIf::Streams(8)));
        for wrong in [
            "cores=3",
            "network=fast",
            "server_cores=0",
            "streams=0",
            "disk",
        ] {
            assert!(what_if(wrong).is_err(), "{wrong}");
        }
    }
}
