//! The part of a preflight that is about a server.

use arrow_array::RecordBatch;
use inrush_destination::{EncodeRows, ExpectedLoad, LoadVolume};
use inrush_engine::error::Error;
use inrush_engine::pipeline::RunOptions;
use inrush_engine::planner::preflight::flow_found::FlowFound;
use inrush_engine::planner::preflight::predict::RunCosts;
use inrush_engine::planner::preflight::{MakeEncoder, MeasuredDestination, Trials, measure};
use inrush_engine::preflight::{Finding, PreflightOptions, PreflightReport, StepFound};
use inrush_plan::LoadPlan;
use tokio::runtime::Runtime;

use super::predict::{self, MeasuredPlan};
use super::server::ServerFound;
use super::steps as server_steps;
use super::volume::Volume;
use super::work_left::WorkLeft;
use super::{hazards, pieces};
use crate::load::encoder::Encoder;
use crate::plan::Plan;
use crate::{DatabaseAddress, Session};

impl EncodeRows for Encoder {
    fn encode(
        &mut self,
        batch: &RecordBatch,
        block: &mut Vec<u8>,
    ) -> inrush_destination::Result<()> {
        Ok(Encoder::encode(self, batch, block)?)
    }
}

/// A plan that is measured.
pub struct Preflight<'a> {
    /// The runtime of the connections.
    pub runtime: &'a Runtime,
    /// The address of the server.
    pub address: &'a DatabaseAddress,
    /// A session with the server.
    pub session: &'a Session,
    /// The plan.
    pub plan: &'a Plan,
    /// The options of the run.
    pub options: &'a RunOptions<'a>,
    /// The options of the preflight itself.
    pub preflight_options: &'a PreflightOptions,
    /// Seconds that planning took.
    pub plan_s: f64,
}

impl Preflight<'_> {
    /// Measures the plan, and predicts its run.
    pub fn measure(&self, report: &mut PreflightReport) -> Result<(), Error> {
        let measured = MeasuredServer {
            preflight: self,
            left: WorkLeft::of(self.plan),
        };
        measure(&measured, report)
    }
}

/// A plan that is measured, with the part of its work that is left.
struct MeasuredServer<'a> {
    preflight: &'a Preflight<'a>,
    left: WorkLeft<'a>,
}

impl MeasuredDestination for MeasuredServer<'_> {
    type Found = ServerFound;

    fn plan(&self) -> LoadPlan {
        self.preflight.plan.to_load_plan()
    }

    fn options(&self) -> &RunOptions<'_> {
        self.preflight.options
    }

    fn preflight_options(&self) -> &PreflightOptions {
        self.preflight.preflight_options
    }

    fn flows(&self) -> Result<Vec<FlowFound>, Error> {
        self.left.flows()
    }

    fn encoder(&self, flow: usize) -> Option<MakeEncoder<'_>> {
        let flow = &self.preflight.plan.flows[flow];
        Some(Box::new(|| Box::new(Encoder::new(flow))))
    }

    fn destination(&self, trials: &mut Trials<'_>) -> Result<ServerFound, Error> {
        ServerFound::measure(self.preflight, trials)
    }

    fn volume(&self, flows: &[FlowFound], server: &ServerFound) -> Option<LoadVolume> {
        let measured = MeasuredPlan::new(self.preflight.plan, &self.left, flows, server);
        let volume = Volume::of_all(&measured, &pieces::of(&measured))?;
        Some(volume.of_load())
    }

    fn hazards(&self, expected: &ExpectedLoad) -> inrush_destination::Result<Vec<Finding>> {
        let Preflight {
            runtime,
            session,
            plan,
            ..
        } = self.preflight;
        Ok(runtime.block_on(hazards::of_load(session, plan, expected))?)
    }

    fn network(&self, flows: &[FlowFound], server: &ServerFound, why_not: &str) -> StepFound {
        server_steps::network(flows, server, why_not)
    }

    fn log(&self, flows: &[FlowFound], server: &ServerFound, why_not: &str) -> Option<StepFound> {
        Some(server_steps::log(
            self.preflight.plan,
            flows,
            server,
            why_not,
        ))
    }

    fn run_costs(&self, flows: &[FlowFound], server: &ServerFound) -> RunCosts {
        let measured = MeasuredPlan::new(self.preflight.plan, &self.left, flows, server);
        predict::run_costs(self.preflight, &measured)
    }
}
