//! The part of a preflight that is about a destination of the contract.

use std::time::Duration;

use inrush_destination::{Destination, ExpectedLoad, LoadVolume};
use inrush_package::Package;
use inrush_rows::finding::Finding;
use inrush_source::Split;

use super::scratch::Scratch;
use super::{batches, predict, together};
use crate::driver::OpenDestination;
use crate::driver::load::prepare;
use crate::driver::plan::{ContractEarlier, ContractPlan};
use crate::error::Error;
use crate::pipeline::RunOptions;
use crate::plan::load_unit::LoadUnit;
use crate::preflight::client::Client;
use crate::preflight::decode::Ways;
use crate::preflight::flow_found::{self, FlowFound};
use crate::preflight::measure::MeasuredDestination;
use crate::preflight::read::ReadFound;
use crate::preflight::result::{PreflightReport, PreflightStep, StepFound};
use crate::preflight::{MeasuringTime, PreflightOptions, findings, sample_batches, steps};
use crate::run::plan::LoadPlan;

/// Why rows are not written, if no [`Scratch`] can be made.
const NO_SCRATCH: &str = "the destination has no other place for a trial load";

/// A plan that is measured.
pub struct ContractPreflight<'a> {
    /// Opens the destination that the sample is loaded into.
    pub open: OpenDestination,
    /// The package.
    pub package: &'a Package,
    /// The destination, open.
    pub destination: &'a dyn Destination,
    /// The plan.
    pub plan: &'a ContractPlan,
    /// The options of a run.
    pub options: &'a RunOptions<'a>,
    /// The options of the preflight itself.
    pub preflight_options: &'a PreflightOptions,
    /// Seconds that planning took.
    pub plan_s: f64,
}

impl MeasuredDestination for ContractPreflight<'_> {
    /// The reason if a figure is missing.
    type Found = String;

    fn plan(&self) -> LoadPlan {
        self.plan.to_load_plan()
    }

    fn client(&self) -> Client<'_> {
        Client::of(self.plan, self.options, self.preflight_options)
    }

    fn flows(&self) -> Result<Vec<FlowFound>, Error> {
        let mut found = Vec::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let splits = self.left(index).flat_map(|unit| &unit.splits);
            let splits: Vec<Split> = splits.cloned().collect();
            let stored_bytes: u64 = splits.iter().map(|split| split.size_bytes).sum();
            let source = &*flow.reading.source;
            let works = match splits.is_empty() {
                true => Vec::new(),
                false => vec![(0, splits.clone())],
            };
            let streams = self.plan.streams;
            let stored_bytes = stored_bytes as f64;
            let left = splits.iter();
            found.extend(FlowFound::of(
                index,
                source,
                stored_bytes,
                left,
                works,
                streams,
            )?);
        }
        Ok(flow_found::largest(found))
    }

    fn decode(
        &self,
        client: &Client<'_>,
        found: &mut FlowFound,
        measuring_time: Duration,
    ) -> Result<(), Error> {
        let reading = &self.plan.flows[found.index].reading;
        let rows = || sample_batches::row_maker(reading);
        let ways: Ways<'_> = (&rows, &|| None);
        client.decode(found, reading, ways, measuring_time)
    }

    fn destination(
        &self,
        flows: &mut [FlowFound],
        measuring_time: MeasuringTime,
    ) -> Result<String, Error> {
        let measured = Scratch::make(self).and_then(|scratch| {
            let Some(scratch) = scratch else {
                return Ok(NO_SCRATCH);
            };
            let mut flows = flows.iter_mut();
            flows.try_for_each(|found| take(&scratch, found, measuring_time))?;
            Ok("no row of the sample reached this step")
        });
        match measured {
            Ok(why_not) => Ok(why_not.to_owned()),
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(error) => Ok(findings::words(&error)),
        }
    }

    /// A scratch destination does not show how much its tables and its log take.
    fn volume(&self, flows: &[FlowFound], _: &ReadFound, _: &String) -> Option<LoadVolume> {
        Some(LoadVolume {
            text_bytes: self.text_bytes_left(flows),
            table_bytes: None,
            log_bytes: None,
        })
    }

    fn hazards(&self, expected: &ExpectedLoad) -> inrush_destination::Result<Vec<Finding>> {
        let targets = prepare::targets(self.plan);
        self.destination.hazards(&targets, expected)
    }

    fn steps(&self, flows: &[FlowFound], why_not: &String) -> Vec<StepFound> {
        vec![
            StepFound::not_measured(
                PreflightStep::Network,
                "the network to this destination is not measured",
            ),
            steps::destination(flows, self.plan.streams, why_not),
            steps::together(flows, why_not),
        ]
    }

    fn predict(
        &self,
        flows: &[FlowFound],
        read: &ReadFound,
        _: &String,
        report: &mut PreflightReport,
    ) {
        predict::predict(self, flows, read, report);
    }
}

impl ContractPreflight<'_> {
    /// The units of the flow with this index that are left to load. For a unit that several streams fill, the part that is
    /// left is not known.
    pub fn left(&self, flow: usize) -> impl Iterator<Item = &LoadUnit> {
        let kept = match &self.plan.earlier {
            ContractEarlier::Stopped { kept, .. } => kept.of_flow(flow),
            _ => &[],
        };
        let units = self.plan.flows[flow].units.iter().enumerate();
        let left = units
            .filter(|(at, unit)| unit.is_shared || !kept.get(*at).is_some_and(Option::is_some));
        left.map(|(_, unit)| unit)
    }

    /// Bytes of text that are left to load, estimated from the sample.
    fn text_bytes_left(&self, flows: &[FlowFound]) -> u64 {
        let mut bytes = 0.0;
        for flow in 0..self.plan.flows.len() {
            let like = flow_found::like(flows, flow);
            for split in self.left(flow).flat_map(|unit| &unit.splits) {
                let stored_bytes = split.size_bytes as f64;
                bytes += like.map_or(stored_bytes, |like| like.text_bytes_of(split));
            }
        }
        bytes.round() as u64
    }
}

/// The speed at which the destination takes a flow's rows, by one stream and by all.
fn take(
    scratch: &Scratch<'_>,
    found: &mut FlowFound,
    measuring_time: MeasuringTime,
) -> Result<(), Error> {
    let streams = scratch.preflight.plan.streams;
    let batches = batches::of_sample(scratch.preflight, found)?;
    // If all rows of a batch are rejected, the batch is empty.
    if !batches.has_rows() {
        return Ok(());
    }
    found.paced_of_text = batches.paced_of_text();
    let write = |streams| batches.write(scratch, found.index, streams, measuring_time.step);
    let one = write(1)?;
    let all = match streams {
        1 => one,
        _ => write(streams)?,
    };
    (found.destination, found.destination_all) = (Some(one), Some(all));
    let together =
        |streams, measuring_time| together::measure(scratch, found, streams, measuring_time);
    let one = match streams {
        1 => None,
        // One stream alone is measured for half of the time.
        _ => Some(together(1, measuring_time.together / 2)?),
    };
    let all = together(streams, measuring_time.together)?;
    found.together = one.or_else(|| Some(all.clone()));
    found.together_all = Some(all);
    Ok(())
}
