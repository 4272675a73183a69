//! The part of a preflight that is about a destination of the contract.

use inrush_destination::{Destination, ExpectedLoad, LoadVolume, TrialPlace};
use inrush_package::{Connection, Package};
use inrush_rows::finding::Finding;
use inrush_source::Split;

use super::predict;
use super::scratch::Scratch;
use crate::driver::OpenDestination;
use crate::driver::load::prepare;
use crate::driver::plan::{ContractEarlier, ContractPlan};
use crate::error::Error;
use crate::pipeline::RunOptions;
use crate::preflight::flow_found::{self, FlowFound};
use crate::preflight::measure::MeasuredDestination;
use crate::preflight::predict::RunCosts;
use crate::preflight::result::{PreflightStep, StepFound};
use crate::preflight::trial::Trials;
use crate::preflight::{PreflightOptions, findings};
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::load_unit::LoadUnit;

/// Why rows are not written, if no [`Scratch`] can be made.
const NO_SCRATCH: &str = "the destination has no other place for a trial load";

/// A plan that is measured.
pub struct ContractPreflight<'a> {
    /// Opens the destination that the sample is loaded into.
    pub open: OpenDestination,
    /// The package.
    pub package: &'a Package,
    /// Its connection.
    pub connection: &'a Connection,
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
    type Found = ();

    fn plan(&self) -> LoadPlan {
        self.plan.to_load_plan()
    }

    fn options(&self) -> &RunOptions<'_> {
        self.options
    }

    fn preflight_options(&self) -> &PreflightOptions {
        self.preflight_options
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
                false => vec![(None, splits.clone())],
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

    fn destination(&self, trials: &mut Trials<'_>) -> Result<(), Error> {
        let steps = [PreflightStep::Destination, PreflightStep::Together];
        match self.trial_place() {
            Ok(Some(place)) => return trials.measure(&*place),
            Ok(None) => trials.found.not_measured(&steps, NO_SCRATCH),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => trials.found.not_measured(&steps, &findings::words(&error)),
        }
        Ok(())
    }

    /// A scratch destination does not show how much its tables and its log take.
    fn volume(&self, flows: &[FlowFound], (): &()) -> Option<LoadVolume> {
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

    fn network(&self, _: &[FlowFound], (): &(), _: &str) -> StepFound {
        StepFound::not_measured(
            PreflightStep::Network,
            "the network to this destination is not measured",
        )
    }

    fn run_costs(&self, flows: &[FlowFound], (): &()) -> RunCosts {
        predict::run_costs(self, flows)
    }
}

impl ContractPreflight<'_> {
    /// The destination's own place for trial loads, or else a temporary destination beside it.
    fn trial_place(&self) -> Result<Option<Box<dyn TrialPlace + '_>>, Error> {
        let own = self.destination.trial_place(&prepare::targets(self.plan))?;
        if own.is_some() {
            return Ok(own);
        }
        let scratch = Scratch::make(self)?;
        Ok(scratch.map(|scratch| Box::new(scratch) as Box<dyn TrialPlace>))
    }

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
