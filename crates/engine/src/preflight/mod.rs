//! `inrush preflight`: measures each step of a load for a second or two, on a sample of the real files and with the
//! code of a real run. It reports how long the run should take, what limits it, and what will slow it down or stop it.
//! It leaves only the prediction behind, which the run's report uses.
//!
//! [`planning`] gathers obstacles of the run as [`findings`]; [`sample`] chooses pieces of the files and tables. [`read`] and
//! [`decode`] measure the loader's own steps, and [`source_read`] a source database; [`model`] turns measurements into seconds,
//! by arithmetic alone. [`measure`] has the order of the measurements. [`trial`] measures how fast the destination takes rows,
//! alone and with all steps [`together`], by the trial loads of the contract. [`work_left`] lists the work that is left,
//! [`measured_work`] adds its measurements, and [`predict`] predicts the run.
//!
//! All of this is the same for every destination. A destination adds what only it can measure or know, by
//! [`MeasuredPlan`](inrush_destination::MeasuredPlan).

pub(crate) mod at_once;
pub mod capacity;
pub(crate) mod client;
pub(crate) mod decode;
pub(crate) mod files;
pub(crate) mod findings;
pub(crate) mod flow_found;
pub(crate) mod measure;
pub(crate) mod measured_work;
pub(crate) mod measuring_time;
pub(crate) mod model;
pub(crate) mod planning;
pub(crate) mod predict;
pub(crate) mod read;
mod residency;
pub(crate) mod result;
pub(crate) mod sample;
pub(crate) mod sample_batches;
#[cfg(test)]
mod schema_test;
pub(crate) mod source_read;
pub(crate) mod steps;
pub(crate) mod throughput;
pub(crate) mod together;
pub(crate) mod trial;
pub(crate) mod work_left;

use std::time::Duration;

use inrush_package::Package;

use crate::pipeline::RunOptions;

pub(crate) use self::measuring_time::MeasuringTime;
pub(crate) use self::planning::{missing_inputs, plan_with_findings};
pub use self::result::{
    FilesFound, Finding, PREFLIGHT_VERSION, PreflightReport, PreflightStep, StepFound, Weight,
    preflight_schema,
};

/// The time of each measurement of reading: with one thread and with all threads, from the cache and from the disk.
const READ_TIME: Duration = Duration::from_millis(600);

/// Options of a preflight in addition to those of a run.
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
            streams: options.streams(&package.run),
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
