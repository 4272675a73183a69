//! A plan for a server, as a preflight measures it.

use std::time::Duration;

use arrow_array::RecordBatch;
use inrush_destination::{
    Available, EncodeRows, ExpectedLoad, LogSpeed, MeasuredLoad, MeasuredPlan, NetworkSpeed,
    PieceOfWork, Result, SecondsAroundStreams, SecondsBesideRows, TrialPlace,
};
use inrush_rows::cancel::Stop;
use inrush_rows::finding::Finding;
use inrush_system::threads::cores;
use tokio::runtime::Handle;

use super::server::TrialFacts;
use super::trial_server::TrialServer;
use super::{around_streams, beside_rows, hazards, network, not_predicted, wal};
use crate::load::encoder::Encoder;
use crate::plan::Plan;
use crate::{DatabaseAddress, Session};

/// The longest time for writing to the server's WAL.
const WAL_PATIENCE: Duration = Duration::from_millis(1500);

impl EncodeRows for Encoder {
    fn encode(&mut self, batch: &RecordBatch, block: &mut Vec<u8>) -> Result<()> {
        Ok(Encoder::encode(self, batch, block)?)
    }
}

/// A plan that is measured on its server.
pub struct MeasuredServer<'a> {
    /// The runtime of the connections.
    pub runtime: &'a Handle,
    /// The address of the server.
    pub address: &'a DatabaseAddress,
    /// A session with the server.
    pub session: Session,
    /// The plan.
    pub plan: &'a Plan,
    /// Asks to stop.
    pub stop: &'a Stop,
    /// The server, as it was before the measurements.
    pub server: TrialFacts,
}

impl MeasuredServer<'_> {
    /// The server as the place of trial loads.
    fn trial_server(&self) -> Available<TrialServer<'_>> {
        match &self.server.ground {
            Some(ground) => Available::Yes(TrialServer {
                runtime: self.runtime,
                address: self.address,
                session: &self.session,
                plan: self.plan,
                ground,
                stop: self.stop,
            }),
            None => {
                Available::No("the role may not create tables, not even temporary ones".to_owned())
            }
        }
    }
}

impl MeasuredPlan for MeasuredServer<'_> {
    fn hazards(&self, expected: &ExpectedLoad) -> Result<Vec<Finding>> {
        let asked = hazards::of_load(&self.session, self.plan, expected);
        Ok(self.runtime.block_on(asked)?)
    }

    fn encoder(&self, target: usize) -> Option<Box<dyn EncodeRows>> {
        Some(Box::new(Encoder::new(&self.plan.flows[target])))
    }

    fn tries_units(&self) -> bool {
        true
    }

    fn network(&self, streams: usize) -> Result<Available<NetworkSpeed>> {
        self.trial_server().try_map(|server| {
            Ok(NetworkSpeed {
                round_trip_s: self.server.round_trip_s,
                ..network::measure(&server, streams)?
            })
        })
    }

    fn trial_place(&self) -> Result<Available<Box<dyn TrialPlace + '_>>> {
        let boxed = |server| Ok(Box::new(server) as Box<dyn TrialPlace>);
        self.trial_server().try_map(boxed)
    }

    fn log(&self, streams: usize) -> Result<Option<Available<LogSpeed>>> {
        let measured = self.trial_server().try_map(|server| {
            Ok(LogSpeed {
                is_flushed: self.server.wal.is_flushed,
                ..wal::measure(&server, streams, WAL_PATIENCE)?
            })
        });
        measured.map(Some)
    }

    fn beside_rows(&self, piece: &PieceOfWork<'_>, measured: &MeasuredLoad) -> SecondsBesideRows {
        beside_rows::seconds(self.plan, self.server.round_trip_s, piece, measured)
    }

    fn around_streams(&self, measured: &MeasuredLoad) -> SecondsAroundStreams {
        around_streams::seconds(self.plan, self.server.round_trip_s, measured)
    }

    fn log_bytes(&self, measured: &MeasuredLoad) -> Option<f64> {
        Some(log_bytes(self.plan, measured))
    }

    fn leaves_out(&self) -> Vec<String> {
        not_predicted::parts(self.plan)
    }

    fn leaves_out_if_long(&self) -> Option<String> {
        Some(not_predicted::IN_LONG_RUNS.to_owned())
    }

    fn findings(&self) -> Vec<Finding> {
        of_streams(self.plan).into_iter().collect()
    }
}

/// Bytes of WAL that a run would write for the rows of all trials.
fn log_bytes(plan: &Plan, measured: &MeasuredLoad) -> f64 {
    let tried = measured.tried.iter();
    let written: f64 = tried.map(|tried| tried.log_bytes.unwrap_or(0.0)).sum();
    if plan.server.wal_level != "minimal" {
        return written;
    }
    // A table that several streams fill is created and committed before their rows, so the rows are written to the WAL. The
    // tables of the trial were created in the transaction of their rows.
    let units = plan.flows.iter().flat_map(|flow| &flow.units);
    let bytes = |of_shared: bool| -> f64 {
        let own = units.clone().filter(|unit| unit.is_shared || !of_shared);
        own.map(|unit| unit.bytes_count as f64).sum()
    };
    written.max(measured.table_bytes() * bytes(true) / bytes(false).max(1.0))
}

/// The finding that more streams are possible.
fn of_streams(plan: &Plan) -> Option<Finding> {
    let possible = cores();
    (plan.streams < possible).then(|| {
        Finding::tells(format!(
            "the run has {} of {possible} possible streams: as many as the package or --streams says, or as there are \
             pieces of work",
            plan.streams
        ))
    })
}
