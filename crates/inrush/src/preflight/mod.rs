//! `inrush preflight`: measures each step of a load for a second or two on a sample of the very files, with what a run
//! reads, scans, converts, encodes and sends with, and says what the run should take, what limits it, and what will
//! hurt or stop it. Nothing is left behind but the prediction, for the run to find.
//!
//! [`sample`] chooses pieces of the files; [`read`], [`decode`], [`network`], [`destination`], [`wal`] measure one step
//! each, and [`together`] all of them at once; [`model`] makes seconds of it, by arithmetic alone; [`findings`] looks for
//! what hurts; [`postgres`] and [`contract`] connect them, for the two kinds of destinations.

mod at_once;
mod contract;
mod decode;
mod destination;
mod findings;
mod model;
mod network;
mod postgres;
mod read;
mod residency;
mod result;
mod sample;
#[cfg(test)]
mod schema_test;
mod steps;
mod together;
mod trial;
mod wal;
mod walk;

use std::time::Duration;

use self::model::Shared;
use self::read::ReadFound;
use self::steps::FlowFound;
use crate::error::Error;
use crate::package::Package;
use crate::pipeline::{RunOptions, contract as by_contract};
use crate::report::{Prediction, leave_prediction};

pub use self::contract::scratch_folder;
pub use self::result::{
    FilesFound, Finding, PREFLIGHT_VERSION, PreflightReport, Step, StepFound, Weight,
    preflight_schema,
};

/// For each of the measurements of reading: by one thread and by all, from the cache and from the disk.
const READ_PATIENCE: Duration = Duration::from_millis(600);
/// For each measurement of a step, all flows together.
const STEP_PATIENCE: Duration = Duration::from_millis(1000);
/// For writing to the server's log.
const WAL_PATIENCE: Duration = Duration::from_millis(1500);
/// For all steps together: what the prediction rests on.
const TOGETHER_PATIENCE: Duration = Duration::from_millis(2500);

/// What a user wishes beside what a run is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Let the page cache go of the sample, so that the disk is read.
    pub cold: bool,
}

/// Measures a resolved package, and predicts its run. What stops the run is a finding; an error is a package that is
/// wrong in itself, or a preflight that could not be carried out.
pub fn preflight(
    package: &Package,
    options: &RunOptions<'_>,
    wish: &Wish,
) -> Result<PreflightReport, Error> {
    package.check()?;
    match by_contract::is_meant(package)? {
        true => contract::preflight(package, options, wish),
        false => postgres::preflight(package, options, wish),
    }
}

/// A result without findings.
fn frame(package: &Package, options: &RunOptions<'_>) -> PreflightReport {
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
        findings: Vec::new(),
        took_s: 0.0,
    }
}

/// What stops the run comes first, then what hurts it.
fn order(report: &mut PreflightReport) {
    report.findings.sort_by_key(|finding| finding.weight);
    let mut seen = std::collections::BTreeSet::new();
    report
        .findings
        .retain(|finding| seen.insert(finding.what.clone()));
}

/// What all streams share: the disk, and the readers of files that cannot be cut.
fn shared_of(flows: &[FlowFound], read: &ReadFound, stored_bytes: f64) -> Shared {
    let uncached = 1.0 - read.cached_share.unwrap_or(0.0);
    let disk_s = match read.disk.all {
        Some(speed) if speed > 0.0 => stored_bytes * uncached / speed,
        _ => 0.0,
    };
    let mut feed_s = 0.0;
    for flow in flows.iter().filter(|flow| flow.is_fed) {
        if let Some(decoded) = &flow.decoded {
            let meter = &decoded.walked.meter;
            // The reader looks for record ends alone, which is less than a scan.
            let seconds = (meter.read_ns + meter.decompress_ns) as f64 / 1e9;
            feed_s += seconds * flow.stored_bytes / (meter.stored_bytes as f64).max(1.0);
        }
    }
    Shared {
        disk_s,
        feed_s,
        ..Shared::default()
    }
}

/// Leaves a prediction for the run to find. A preflight is worth having where that cannot be.
fn leave(
    report: &mut PreflightReport,
    options: &RunOptions<'_>,
    run_key: &str,
    prediction: &Prediction,
) {
    if report.is_stopped() {
        return;
    }
    if let Err(error) = leave_prediction(&options.runs_folder, run_key, prediction) {
        report.findings.push(findings::tells(format!(
            "the run's report will not have this prediction beside what it took: {}",
            findings::words(&error)
        )));
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
