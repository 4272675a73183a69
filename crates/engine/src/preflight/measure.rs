//! Measures a plan in the order in which data flows, for any destination: the files, the loader, the destination, and then
//! the whole run.

use std::time::Duration;

use super::client::Client;
use super::flow_found::FlowFound;
use super::read::ReadFound;
use super::result::{Finding, PreflightReport, StepFound};
use super::{MeasuringTime, files, steps};
use crate::error::Error;
use crate::plan::PlannedFlow;
use crate::run::plan::RunPlan;

/// A plan with its destination. [`measure`] calls these in the order in which they are listed.
pub trait MeasuredDestination {
    /// The plan.
    type Plan: RunPlan;
    /// What was measured of the destination.
    type Found;

    /// The plan.
    fn plan(&self) -> &Self::Plan;

    /// The loader, as the plan has it.
    fn client(&self) -> Client<'_>;

    /// The flows that have rows left to load, the largest first, each with its sample.
    fn flows(&self) -> Result<Vec<FlowFound>, Error>;

    /// Makes rows of a flow's sample as a stream makes them.
    fn decode(
        &self,
        client: &Client<'_>,
        found: &mut FlowFound,
        measuring_time: Duration,
    ) -> Result<(), Error>;

    /// Measures how fast the destination takes the rows of the flows, alone and with all steps together.
    fn destination(
        &self,
        flows: &mut [FlowFound],
        measuring_time: MeasuringTime,
    ) -> Result<Self::Found, Error>;

    /// Findings about the destination.
    fn findings(&self, _: &Self::Found) -> Vec<Finding> {
        Vec::new()
    }

    /// The measured steps from the network on.
    fn steps(&self, flows: &[FlowFound], destination: &Self::Found) -> Vec<StepFound>;

    /// Predicts the run, if a flow has a measured speed or no rows are left.
    fn predict(
        &self,
        flows: &[FlowFound],
        read: &ReadFound,
        destination: &Self::Found,
        report: &mut PreflightReport,
    );
}

/// Measures each step and all of them together, and predicts the run.
pub fn measure<D: MeasuredDestination>(
    measured: &D,
    report: &mut PreflightReport,
) -> Result<(), Error> {
    let plan = measured.plan();
    let streams = plan.facts().streams;
    let client = measured.client();
    let mut flows = measured.flows()?;
    let read = client.read(&mut flows)?;
    let measuring_time = MeasuringTime::of(flows.len());
    for found in &mut flows {
        measured.decode(&client, found, measuring_time.step)?;
    }
    let destination = measured.destination(&mut flows, measuring_time)?;
    for found in &flows {
        let reading = plan.flows()[found.index].reading();
        let rejected = steps::rejected(reading, found.decoded.as_ref());
        report.findings.extend(rejected);
    }
    report.findings.extend(measured.findings(&destination));
    let splits = plan.flows().iter().map(PlannedFlow::all_splits);
    report.files = files::of_all(splits, &flows, read.cached_share);
    report.steps = steps::client(&flows, &read, streams);
    report.steps.extend(measured.steps(&flows, &destination));
    measured.predict(&flows, &read, &destination, report);
    Ok(())
}
