//! `inrush preflight`: measures each step of a load for a second or two, on a sample of the real files and with the
//! code of a real run. It reports how long the run should take, what limits it, and what will slow it down or stop it.
//! It leaves only the prediction behind, which the run's report uses.
//!
//! [`planning`] gathers obstacles of the run as [`findings`]; [`sample`] chooses pieces of the files and tables. [`read`] and
//! [`decode`] measure the loader's own steps, and [`source_read`] a source database; [`model`] turns measurements into seconds,
//! by arithmetic alone. [`measure`] has the order of the measurements; the driver measures its destination, alone and with all
//! steps [`together`].
//! [`client`], [`files`], [`steps`] and [`predict`] are shared by all destinations.

pub mod at_once;
pub mod capacity;
pub mod client;
pub mod decode;
pub mod files;
pub mod findings;
pub mod flow_found;
pub mod measure;
pub mod model;
pub mod planning;
pub mod predict;
pub mod read;
mod residency;
pub mod result;
pub mod sample;
pub mod sample_batches;
#[cfg(test)]
mod schema_test;
pub mod source_read;
pub mod steps;
pub mod throughput;
pub mod together;

use std::time::Duration;

use inrush_package::Package;

use crate::error::Error;
use crate::pipeline::RunOptions;

pub use self::result::{
    FilesFound, Finding, PREFLIGHT_VERSION, PreflightReport, PreflightStep, StepFound, Weight,
    preflight_schema,
};

/// For each of the measurements of reading: with one thread and with all, from the cache and from the disk.
const READ_TIME: Duration = Duration::from_millis(600);
/// For each measurement of a step, all flows together.
pub const STEP_TIME: Duration = Duration::from_millis(1000);
/// The time for all steps together, on which the prediction rests.
const TOGETHER_TIME: Duration = Duration::from_millis(2500);

/// The time of each measurement of a flow.
#[derive(Clone, Copy, Debug)]
pub struct MeasuringTime {
    /// Each step.
    pub step: Duration,
    /// All steps together.
    pub together: Duration,
}

impl MeasuringTime {
    /// The times for this number of flows.
    pub fn of(flows: usize) -> MeasuringTime {
        let flows = flows.max(1) as f64;
        MeasuringTime {
            step: STEP_TIME.div_f64(flows),
            together: TOGETHER_TIME.div_f64(flows),
        }
    }
}

/// Options of a preflight beside those of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreflightOptions {
    /// Remove the sample from the page cache before it is read, so that the disk is measured.
    pub cold: bool,
}

impl PreflightReport {
    /// An empty report, without findings.
    pub fn begin(package: &Package, options: &RunOptions<'_>) -> PreflightReport {
        PreflightReport {
            preflight_version: PREFLIGHT_VERSION,
            inrush_version: env!("CARGO_PKG_VERSION").to_owned(),
            package: package.name.clone(),
            package_hash: package.hash(),
            made_at: jiff::Timestamp::now().to_string(),
            destination: String::new(),
            streams: package
                .run
                .streams
                .map_or(options.streams_default, usize::from),
            files: FilesFound::default(),
            steps: Vec::new(),
            prediction: None,
            costs: None,
            capacity: None,
            findings: Vec::new(),
            took_s: 0.0,
        }
    }

    /// Completes the report: findings that stop the run come first, then those that slow it down; duplicates are
    /// removed.
    pub fn finish(&mut self, took: Duration) {
        self.findings.sort_by_key(|finding| finding.weight);
        let mut seen = std::collections::BTreeSet::new();
        self.findings
            .retain(|finding| seen.insert(finding.what.clone()));
        self.took_s = took.as_secs_f64();
    }
}

/// Records an error of the input files as a finding, so that the preflight can continue; returns other errors.
pub fn record_input_error(
    report: &mut PreflightReport,
    measured: Result<(), Error>,
) -> Result<(), Error> {
    match measured {
        Err(error @ (Error::Source(_) | Error::Header { .. } | Error::Convert { .. })) => {
            report.findings.push(findings::of_error(&error));
            Ok(())
        }
        other => other,
    }
}

/// Cores of this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
