//! Measures a plan in the order in which data flows: the files, the loader, the server, and then the whole run.

use std::time::Duration;

use arrow_array::RecordBatch;
use tokio::runtime::Runtime;

use super::predict::{self, MeasuredPlan};
use super::server::ServerFound;
use super::steps as server_steps;
use super::work_left::WorkLeft;
use crate::block_socket::BLOCK_BYTES;
use crate::engine::error::Error;
use crate::engine::pipeline::RunOptions;
use crate::engine::preflight::client::Client;
use crate::engine::preflight::decode::{self, EncodeRows, Ways};
use crate::engine::preflight::flow_found::FlowFound;
use crate::engine::preflight::result::PreflightReport;
use crate::engine::preflight::sample_batches::{self, stamped};
use crate::engine::preflight::{MeasuringTime, PreflightOptions, files, steps};
use crate::load::encoder::Encoder;
use crate::load::rows;
use crate::plan::Plan;
use crate::{DatabaseAddress, Session};

// The measured rows are sent in blocks as large as those of a load.
const _: () = assert!(decode::BLOCK_BYTES == BLOCK_BYTES);

impl EncodeRows for Encoder {
    fn encode(&mut self, batch: &RecordBatch, block: &mut Vec<u8>) -> Result<(), Error> {
        Ok(Encoder::encode(self, batch, block)?)
    }
}

/// A plan that is measured.
pub struct Preflight<'a> {
    /// The runtime of the connections.
    pub runtime: &'a Runtime,
    /// The address of the server.
    pub address: &'a DatabaseAddress,
    /// A session with it.
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
    /// Measures each step and all of them together, and predicts the run.
    pub fn measure(&self, report: &mut PreflightReport) -> Result<(), Error> {
        let plan = self.plan;
        let left = WorkLeft::of(plan);
        let client = Client {
            streams: plan.streams,
            chunk_bytes: plan.settings.chunk_bytes as usize,
            batch_rows: plan.settings.batch_rows as usize,
            preflight_options: self.preflight_options,
            stop: &self.options.stop,
        };
        let mut flows = left.flows()?;
        let read = client.read(&mut flows)?;
        let measuring_time = MeasuringTime::of(flows.len());
        for flow in &mut flows {
            self.decode(&client, flow, measuring_time.step)?;
        }
        let server = ServerFound::measure(self, &mut flows, measuring_time)?;
        for flow in &flows {
            let reading = &plan.flows[flow.index].reading;
            let rejected = steps::rejected(reading, flow.decoded.as_ref());
            report.findings.extend(rejected);
        }
        report.findings.extend(server.findings.iter().cloned());
        let units = plan.flows.iter().map(|flow| &flow.units);
        let splits = units.map(|units| units.iter().flat_map(|unit| &unit.splits));
        report.files = files::of_all(splits, &flows, read.cached_share);
        report.steps = steps::client(&flows, &read, plan.streams);
        report
            .steps
            .extend(server_steps::server(plan, &flows, &server));
        let measured = MeasuredPlan::new(plan, &left, &flows, &read, &server);
        predict::predict(self, &measured, report);
        Ok(())
    }

    fn decode(
        &self,
        client: &Client<'_>,
        found: &mut FlowFound,
        measuring_time: Duration,
    ) -> Result<(), Error> {
        let flow = &self.plan.flows[found.index];
        let Some((unit, _)) = found.works.first() else {
            return Ok(());
        };
        let unit = &flow.units[*unit];
        let is_one = found.works.len() == 1;
        // A sample over several units has rows with several bounds, and rows of one unit are not rejects of another.
        let converter = || match is_one {
            true => Ok(stamped(rows::converter(flow, unit)?)),
            false => sample_batches::converter(&flow.reading),
        };
        let encoder = || Some(Box::new(Encoder::new(flow)) as Box<dyn EncodeRows>);
        let ways: Ways<'_> = (&converter, &encoder);
        client.decode(found, &flow.reading, ways, measuring_time)
    }
}
