//! The data that the streams of a run share, for any destination.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use inrush_convert::RunStamp;
use inrush_fault::Fault;
use inrush_plan::UnitPlace;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::units::load_unit::LoadUnit;
use inrush_rows::cancel::Stop;

use super::straight_lock::StraightLock;
use crate::pipeline::event_sink::EventSink;
use crate::pipeline::fed_files::FedFiles;
use crate::pipeline::metering::FlowCount;
use crate::pipeline::reject_count::RejectCount;
use crate::pipeline::sharing::Sharing;

/// The data that the streams of a run share.
pub struct LoadRun<'a> {
    /// The flows of the plan.
    pub flows: &'a [Arc<LoadFlow>],
    /// The run, for columns of provenance.
    pub stamp: RunStamp,
    /// Gets events and progress.
    pub event_sink: EventSink<'a>,
    /// Asks the run to stop.
    pub stop: &'a Stop,
    /// The fault to cause, for tests.
    pub fault: Option<&'a Fault>,
    /// Files that streams take from feeds.
    pub fed_files: &'a FedFiles,
    /// The progress of each shared unit.
    pub sharing: &'a BTreeMap<UnitPlace, Sharing>,
    /// Rejects of each flow so far.
    pub rejects: &'a [RejectCount],
    /// The rows and bytes of each flow so far.
    pub flow_counts: &'a [FlowCount],
    /// Bytes of a chunk of text.
    pub chunk_bytes: usize,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
    /// Bytes of text that a stream takes from a feed for one transaction.
    pub fed_bytes: u64,
    /// For each flow: true once its steps have failed in the destination. The rest of its rows pass the engine's own
    /// steps.
    pub own_steps: Vec<AtomicBool>,
    /// The lock of transactions that write directly to targets.
    pub straight_lock: StraightLock,
}

impl LoadRun<'_> {
    /// A unit and its flow.
    pub fn unit(&self, (flow, unit): UnitPlace) -> (&LoadFlow, &LoadUnit) {
        let flow = &self.flows[flow];
        (flow, &flow.units[unit])
    }
}
