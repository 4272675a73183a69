//! Measures a plan in the order in which data flows, for any destination: the files, the loader, the destination, and then
//! the whole run.

use std::sync::Arc;

use inrush_destination::{ExpectedLoad, LoadVolume};
use inrush_source::ExpectedReading;

use super::client::Client;
use super::decode::MakeEncoder;
use super::flow_found::FlowFound;
use super::predict::{self, RunCosts};
use super::result::{Finding, PreflightReport, PreflightStep, StepFound, Weight};
use super::trial::{TrialFlow, TrialFound, TrialSettings, Trials};
use super::{MeasuringTime, PreflightOptions, files, findings, steps};
use crate::error::Error;
use crate::pipeline::RunOptions;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::source_paces::source_paces;

/// A plan with its destination. [`measure`] calls these functions in the order in which they are listed.
pub trait MeasuredDestination {
    /// The measurements of the destination.
    type Found;

    /// The plan.
    fn plan(&self) -> LoadPlan;

    /// The options of the run.
    fn options(&self) -> &RunOptions<'_>;

    /// The options of the preflight itself.
    fn preflight_options(&self) -> &PreflightOptions;

    /// The flows that have rows left to load, the largest first, each with its sample.
    fn flows(&self) -> Result<Vec<FlowFound>, Error>;

    /// Makes encoders of a flow's rows; `None` if the destination takes batches.
    fn encoder(&self, _flow: usize) -> Option<MakeEncoder<'_>> {
        None
    }

    /// Measures how fast the destination takes the rows of the flows ([`Trials::measure`]), and figures that only this
    /// destination has.
    fn destination(&self, trials: &mut Trials<'_>) -> Result<Self::Found, Error>;

    /// The amount that the load is expected to write; `None` if the measurements do not show it.
    fn volume(&self, flows: &[FlowFound], destination: &Self::Found) -> Option<LoadVolume>;

    /// The hazards of the destination for such a load, as [`Destination::hazards`](inrush_destination::Destination::hazards)
    /// answers.
    fn hazards(&self, expected: &ExpectedLoad) -> inrush_destination::Result<Vec<Finding>>;

    /// The measurement of the network to the destination. `why_not` is the reason if the network is not measured.
    fn network(&self, flows: &[FlowFound], destination: &Self::Found, why_not: &str) -> StepFound;

    /// The measurement of a server's log; `None` if the destination has no log.
    fn log(&self, _: &[FlowFound], _: &Self::Found, _why_not: &str) -> Option<StepFound> {
        None
    }

    /// The costs of the run that the destination knows, for the prediction.
    fn run_costs(&self, flows: &[FlowFound], destination: &Self::Found) -> RunCosts;
}

/// Measures each step and all of them together, and predicts the run.
pub fn measure<D: MeasuredDestination>(
    measured: &D,
    report: &mut PreflightReport,
) -> Result<(), Error> {
    let plan = measured.plan();
    let streams = plan.streams;
    let client = Client::of(&plan, measured.options(), measured.preflight_options());
    let mut expected = ExpectedReading {
        streams,
        seconds: None,
    };
    let mut load = ExpectedLoad {
        streams,
        volume: None,
    };
    report.findings.extend(of_destination(measured, &load));
    let early = hazards(&plan.flows, &expected);
    if early.iter().any(|found| found.weight == Weight::Stops) {
        report.findings.extend(early);
        return Ok(());
    }
    let mut flows = measured.flows()?;
    let read = client.read(&mut flows)?;
    let measuring_time = MeasuringTime::of(flows.len());
    for found in &mut flows {
        let reading = &plan.flows[found.index].reading;
        client.read_source(found, reading, measuring_time.step)?;
    }
    let mut trials = Trials {
        settings: TrialSettings {
            client,
            rate_bytes_max: plan.settings.rate_bytes_max,
            measuring_time,
        },
        flows: Vec::with_capacity(flows.len()),
        found: TrialFound::default(),
    };
    for found in &mut flows {
        let flow = &plan.flows[found.index];
        let units = flow.units.iter().collect();
        let encoder = measured.encoder(found.index);
        let mut flow = TrialFlow {
            found,
            reading: &flow.reading,
            units,
            is_encoded: encoder.is_some(),
            has_rows: false,
        };
        flow.decode(&client, encoder.as_ref(), measuring_time.step)?;
        trials.flows.push(flow);
    }
    let destination = measured.destination(&mut trials)?;
    let tried = trials.found;
    for found in &flows {
        let reading = &plan.flows[found.index].reading;
        let rejected = steps::rejected(reading, found.decoded.as_ref());
        report.findings.extend(rejected);
    }
    report.findings.extend(tried.findings.iter().cloned());
    load.volume = measured.volume(&flows, &destination);
    if load.volume.is_some() {
        report.findings.extend(of_destination(measured, &load));
    }
    let splits = plan.flows.iter().map(|flow| flow.splits());
    report.files = files::of_all(splits, &flows, read.cached_share);
    report.steps = steps::client(&flows, &read, streams);
    let why_not = |step| tried.why_not(step);
    let network = measured.network(&flows, &destination, why_not(PreflightStep::Network));
    let alone = steps::destination(&flows, streams, why_not(PreflightStep::Destination));
    let log = measured.log(&flows, &destination, why_not(PreflightStep::Log));
    let together = steps::together(&flows, why_not(PreflightStep::Together));
    let of_destination = [Some(network), Some(alone), log, Some(together)];
    report.steps.extend(of_destination.into_iter().flatten());
    let costs = measured.run_costs(&flows, &destination);
    let paces = source_paces(&plan.flows);
    let found = (flows.as_slice(), &read);
    predict::predict(&plan, measured.options(), found, &paces, costs, report);
    expected.seconds = report.prediction.as_ref().map(|found| found.predicted_s);
    report.findings.extend(hazards(&plan.flows, &expected));
    for found in &flows {
        report.findings.extend(of_reading(&plan, found));
    }
    Ok(())
}

/// The hazards of the destination. If it cannot be asked, a note says so.
fn of_destination<D: MeasuredDestination>(measured: &D, load: &ExpectedLoad) -> Vec<Finding> {
    let asked = measured.hazards(load);
    asked.unwrap_or_else(|error| {
        vec![Finding::tells(format!(
            "the settings of the destination could not be read: {}",
            findings::words(&error)
        ))]
    })
}

/// The hazards of all sources, each once.
fn hazards(flows: &[Arc<LoadFlow>], expected: &ExpectedReading) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for flow in flows {
        let source = &flow.reading.source;
        let own = match source.hazards(expected) {
            Ok(hazards) => hazards,
            Err(error) => vec![Finding::tells(format!(
                "the settings of {} could not be read: {error}",
                source.describe()
            ))],
        };
        found.extend(own);
    }
    found
}

/// Findings from reading a flow's sample from its database, apart from its speed.
fn of_reading(plan: &LoadPlan, found: &FlowFound) -> Vec<Finding> {
    let name = &plan.flows[found.index].reading.name;
    let mut told = Vec::new();
    if let Some(read) = found.source.as_ref().filter(|read| read.is_slow_to_begin()) {
        told.push(Finding::tells(format!(
            "flow `{name}`: its first row came after {:.1} s, so its rows were not read again to measure the later steps",
            read.first_row_s
        )));
    }
    told.extend(found.of_unknown_size.iter().map(|input| {
        Finding::tells(format!(
            "flow `{name}`: the time for the rows of {input} is not predicted, because their number is not known before they are read"
        ))
    }));
    told
}
