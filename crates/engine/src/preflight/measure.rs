//! Measures a plan in the order in which data flows, for any destination: the files, the loader, the destination, and then
//! the whole run.

use std::sync::Arc;

use inrush_destination::{ExpectedLoad, MeasuredPlan};
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::reading::source_paces::source_paces;
use inrush_source::ExpectedReading;

use super::client::Client;
use super::decode::MakeEncoder;
use super::flow_found::FlowFound;
use super::measured_work::{MeasuredWork, ServerFound};
use super::predict;
use super::result::{Finding, PreflightReport, PreflightStep, Weight};
use super::trial::{TrialFlow, TrialFound, TrialSettings, Trials};
use super::work_left::{CommittedPart, WorkLeft};
use super::{MeasuringTime, PreflightOptions, files, findings, steps};
use crate::error::Error;
use crate::pipeline::RunOptions;

/// A run that is measured and predicted.
pub struct MeasuredRun<'a> {
    /// The plan.
    pub plan: &'a LoadPlan,
    /// The plan, as its destination knows it. Its targets are the flows.
    pub destination: &'a dyn MeasuredPlan,
    /// Tells what earlier runs have committed.
    pub committed: CommittedPart<'a>,
    /// The options of the run.
    pub options: &'a RunOptions<'a>,
    /// The options of the preflight itself.
    pub preflight_options: &'a PreflightOptions,
    /// Seconds that planning took.
    pub plan_s: f64,
}

/// Measures each step and all of them together, and predicts the run.
pub fn measure(run: &MeasuredRun<'_>, report: &mut PreflightReport) -> Result<(), Error> {
    let MeasuredRun {
        plan, destination, ..
    } = *run;
    let streams = plan.streams;
    let client = Client::of(plan, run.options, run.preflight_options);
    let mut expected = ExpectedReading {
        streams,
        seconds: None,
    };
    let mut load = ExpectedLoad {
        streams,
        volume: None,
    };
    report.findings.extend(of_destination(destination, &load));
    let early = hazards(&plan.flows, &expected);
    if early.iter().any(|found| found.weight == Weight::Stops) {
        report.findings.extend(early);
        return Ok(());
    }
    let left = WorkLeft::of(plan, run.committed);
    let mut flows = left.flows(destination.tries_units())?;
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
        let encoder = encoder(destination, found.index);
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
    let network = destination.network(streams);
    let network = trials.found.available(PreflightStep::Network, network)?;
    trials.measure_in(destination.trial_place())?;
    let log = destination.log(streams);
    let has_log = !matches!(log, Ok(None));
    let log = match log.transpose() {
        Some(log) => trials.found.available(PreflightStep::Log, log)?,
        None => None,
    };
    let tried = trials.found;
    for found in &flows {
        let reading = &plan.flows[found.index].reading;
        let rejected = steps::rejected(reading, found.decoded.as_ref());
        report.findings.extend(rejected);
    }
    report.findings.extend(tried.findings.iter().cloned());
    let server = ServerFound {
        plan_s: run.plan_s,
        network,
        log,
    };
    let work = MeasuredWork::new((plan, destination), &left, &flows, server);
    let volume = work.volume();
    load.volume = Some(volume);
    report.findings.extend(of_destination(destination, &load));
    let splits = plan.flows.iter().map(|flow| flow.splits());
    report.files = files::of_all(splits, &flows, read.cached_share);
    report.steps = steps::client(&flows, &read, streams);
    let why_not = |step| tried.why_not(step);
    let network = steps::network(
        &flows,
        work.load.network.as_ref(),
        why_not(PreflightStep::Network),
    );
    let alone = steps::destination(&flows, streams, why_not(PreflightStep::Destination));
    let log = steps::log(&work.load, why_not(PreflightStep::Log));
    let together = steps::together(&flows, why_not(PreflightStep::Together));
    let log = Some(log).filter(|_| has_log);
    let of_destination = [Some(network), Some(alone), log, Some(together)];
    report.steps.extend(of_destination.into_iter().flatten());
    let costs = work.run_costs(&volume);
    let paces = source_paces(&plan.flows);
    let found = (flows.as_slice(), &read);
    predict::predict(plan, run.options, found, &paces, costs, report);
    expected.seconds = report.prediction.as_ref().map(|found| found.predicted_s);
    report.findings.extend(hazards(&plan.flows, &expected));
    for found in &flows {
        report.findings.extend(of_reading(plan, found));
    }
    Ok(())
}

/// Makes encoders of a flow's rows; `None` if the destination takes batches.
fn encoder(destination: &dyn MeasuredPlan, flow: usize) -> Option<MakeEncoder<'_>> {
    destination.encoder(flow)?;
    Some(Box::new(move || {
        let encoder = destination.encoder(flow);
        encoder.expect("a destination that encodes rows of a flow does so in each thread")
    }))
}

/// The hazards of the destination. If it cannot be asked, a note says so.
fn of_destination(destination: &dyn MeasuredPlan, load: &ExpectedLoad) -> Vec<Finding> {
    let asked = destination.hazards(load);
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
