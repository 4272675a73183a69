//! The work that is left, with its measurements: the pieces of work for the model, the volume of the load, and the costs of
//! the run.

use std::collections::BTreeMap;

use inrush_destination::{
    LoadVolume, LogSpeed, MeasuredLoad, MeasuredPlan, NetworkSpeed, PieceOfWork, TriedTarget,
};
use inrush_plan::UnitPlace;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::units::work_items::WorkItem;
use inrush_system::threads::cores;

use super::flow_found::{self, FlowFound};
use super::model::{Beside, WorkPiece};
use super::predict::{PredictedPhases, RunCosts, ServerSpeeds};
use super::steps;
use super::work_left::WorkLeft;

/// The work that is left, with its measurements.
pub struct MeasuredWork<'a> {
    plan: &'a LoadPlan,
    destination: &'a dyn MeasuredPlan,
    left: &'a WorkLeft<'a>,
    flows: &'a [FlowFound],
    /// The measurements, as the destination gets them. The tried targets are `with_speed`, in the same order.
    pub load: MeasuredLoad,
    /// The flows with a speed for all steps together, the largest first.
    with_speed: Vec<&'a FlowFound>,
    /// The pieces of work, in the order in which streams take them; none if no flow has a measured speed.
    pieces: Vec<WorkPiece>,
}

/// The time of the plan, and the measurements that the destination has made itself.
pub struct ServerFound {
    /// Seconds that the preflight took for its plan.
    pub plan_s: f64,
    /// The network, if it was measured.
    pub network: Option<NetworkSpeed>,
    /// The log, if it was measured.
    pub log: Option<LogSpeed>,
}

/// The part of a unit that is left.
#[derive(Debug, PartialEq)]
struct UnitLeft {
    /// The index of its last piece of work.
    last: usize,
    /// Bytes of text of all pieces.
    text_bytes: f64,
}

impl<'a> MeasuredWork<'a> {
    /// The work that is left of this plan, with the measurements of these flows and of the destination.
    pub fn new(
        (plan, destination): (&'a LoadPlan, &'a dyn MeasuredPlan),
        left: &'a WorkLeft<'a>,
        flows: &'a [FlowFound],
        server: ServerFound,
    ) -> MeasuredWork<'a> {
        let with_speed: Vec<&FlowFound> = flows.iter().filter(|flow| flow.has_speed()).collect();
        let mut work = MeasuredWork {
            plan,
            destination,
            left,
            flows,
            load: MeasuredLoad {
                streams: plan.streams,
                plan_s: server.plan_s,
                network: server.network,
                log: server.log,
                tried: with_speed.iter().map(|flow| tried(flow)).collect(),
            },
            with_speed,
            pieces: Vec::new(),
        };
        if !work.with_speed.is_empty() {
            work.find_pieces();
        }
        work
    }

    /// The flow with a speed that a flow is assumed to be like, by its index in `with_speed`: itself, or else the largest.
    fn like(&self, flow: usize) -> usize {
        let own = self.with_speed.iter().position(|own| own.index == flow);
        own.unwrap_or(0)
    }

    fn find_pieces(&mut self) {
        let items = &self.left.items;
        let mut pieces = Vec::with_capacity(items.len());
        for item in items {
            let place = self.like(item.flow);
            let like = self.with_speed[place];
            let text_bytes = self.left.text_bytes_of(item, like);
            let tried = &mut self.load.tried[place];
            tried.text_bytes_left += text_bytes;
            tried.rows_left += self.left.rows_of(item, like);
            pieces.push(WorkPiece {
                flow: place,
                text_bytes,
                beside: Beside::default(),
            });
        }
        let places = items.iter().map(WorkItem::unit_place);
        let units = units_left(places.zip(pieces.iter().map(|piece| piece.text_bytes)));
        for (number, (item, piece)) in items.iter().zip(&mut pieces).enumerate() {
            let unit = &units[&item.unit_place()];
            let of_destination = PieceOfWork {
                target: item.flow,
                unit: item.unit,
                is_first_of_stream: number < self.load.streams,
                is_last_of_unit: number == unit.last,
                text_bytes: piece.text_bytes,
                unit_text_bytes: unit.text_bytes,
                like: &self.load.tried[piece.flow],
            };
            let seconds = self.destination.beside_rows(&of_destination, &self.load);
            piece.beside = Beside {
                server_s: seconds.server_s,
                flush_s: seconds.flush_s,
            };
        }
        self.pieces = pieces;
    }

    /// Bytes of text of all pieces.
    fn text_bytes(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.text_bytes).sum()
    }

    /// The amount that the load is expected to write. Tables and the log are known if the trials show them.
    pub fn volume(&self) -> LoadVolume {
        if self.pieces.is_empty() {
            return LoadVolume {
                text_bytes: self.left.text_bytes(self.flows).round() as u64,
                ..LoadVolume::default()
            };
        }
        let text_bytes = self.text_bytes();
        let times = text_bytes / self.load.text_bytes().max(1.0);
        let whole = |tried: f64| (tried * times).round() as u64;
        let table_bytes = Some(self.load.table_bytes()).filter(|bytes| *bytes > 0.0);
        LoadVolume {
            text_bytes: text_bytes.round() as u64,
            table_bytes: table_bytes.map(whole),
            log_bytes: self.destination.log_bytes(&self.load).map(whole),
        }
    }

    /// The costs of the run, for the prediction.
    pub fn run_costs(self, volume: &LoadVolume) -> RunCosts {
        let MeasuredLoad { network, log, .. } = &self.load;
        let log_bytes_s = log.as_ref().map(|log| log.all_bytes_s);
        let network_bytes_s = network.as_ref().map(|network| network.all_bytes_s);
        let is_server = network.is_some() || log.is_some();
        let around = self.destination.around_streams(&self.load);
        let paced = self.pieces.iter().map(|piece| {
            let like = self.with_speed[piece.flow];
            piece.text_bytes * like.paced_of_text
        });
        RunCosts {
            is_loaded: self.left.is_loaded(),
            stored_bytes: self.left.stored_bytes(),
            paced_bytes: paced.sum(),
            log_s: log_s(log.as_ref(), volume),
            split_s: split_s(self.plan, self.flows),
            around: PredictedPhases {
                plan_s: around.before_s,
                load_s: 0.0,
                switch_s: around.publish_s,
                analyze_s: around.analyze_s,
                after_fixed_s: around.after_fixed_s,
            },
            server: is_server.then(|| ServerSpeeds {
                sent_per_text: 1.0 / steps::text_of_sent(self.flows),
                network_bytes_s,
                log_bytes_s,
            }),
            leaves_out: self.destination.leaves_out(),
            leaves_out_if_long: self.destination.leaves_out_if_long(),
            findings: self.destination.findings(),
            pieces: self.pieces,
        }
    }
}

/// The units of these pieces of work. Each piece is given by its unit and its bytes of text.
fn units_left(pieces: impl Iterator<Item = (UnitPlace, f64)>) -> BTreeMap<UnitPlace, UnitLeft> {
    let mut units: BTreeMap<UnitPlace, UnitLeft> = BTreeMap::new();
    for (number, (place, text_bytes)) in pieces.enumerate() {
        let unit = units.entry(place).or_insert(UnitLeft {
            last: number,
            text_bytes: 0.0,
        });
        unit.last = number;
        unit.text_bytes += text_bytes;
    }
    units
}

/// The trial of a flow by all streams, without the work that is left.
fn tried(flow: &FlowFound) -> TriedTarget {
    let (target, unit) = (flow.index, flow.works.first().and_then(|(unit, _)| *unit));
    let Some(all) = &flow.together_all else {
        return TriedTarget {
            target,
            unit,
            ..TriedTarget::default()
        };
    };
    TriedTarget {
        target,
        unit,
        text_bytes: all.work.meter.text_bytes as f64,
        rows_of_stream: all.beside.rows,
        table_bytes: all.table_bytes as f64,
        log_bytes: all.wal_bytes.map(|bytes| bytes as f64),
        connect_s: all.beside.connect_s,
        create_s: all.beside.create_s,
        measure_s: all.beside.measure_s,
        ready_s: all.beside.ready_s,
        analyze_s: all.beside.analyze_s,
        publish_s: all.beside.copy_s,
        text_bytes_left: 0.0,
        rows_left: 0.0,
    }
}

/// Seconds that the log needs for all bytes that the run writes to it; 0 if no COMMIT waits for it, or its speed is not
/// known.
fn log_s(log: Option<&LogSpeed>, volume: &LoadVolume) -> f64 {
    match (log, volume.log_bytes) {
        (Some(log), Some(bytes)) if log.is_flushed && log.all_bytes_s > 0.0 => {
            bytes as f64 / log.all_bytes_s
        }
        _ => 0.0,
    }
}

/// Seconds of the pass over the files that finds the first record of each range, for dialects that need it.
fn split_s(plan: &LoadPlan, flows: &[FlowFound]) -> f64 {
    let mut seconds = 0.0;
    for (index, flow) in plan.flows.iter().enumerate() {
        let source = &flow.reading.source;
        let splits = flow.units.iter().filter(|unit| unit.is_shared);
        let cut = splits
            .flat_map(|unit| &unit.splits)
            .filter(|split| !split.is_whole() && source.needs_locate(split.input.index()));
        let bytes: u64 = cut.map(|split| split.size_bytes).sum();
        let scan = flow_found::like(flows, index)
            .and_then(FlowFound::scan_bytes_s)
            .filter(|scan| *scan > 0.0);
        let threads = plan.streams.min(cores()) as f64;
        seconds += scan.map_or(0.0, |scan| bytes as f64 / (scan * threads));
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_ends_with_its_last_piece() {
        let pieces = [
            ((0, 1), 30.0),
            ((1, 0), 20.0),
            ((0, 1), 10.0),
            ((0, 0), 5.0),
        ];
        let units = units_left(pieces.into_iter());
        let of = |last, text_bytes| UnitLeft { last, text_bytes };
        let expected = [
            ((0, 0), of(3, 5.0)),
            ((0, 1), of(2, 40.0)),
            ((1, 0), of(1, 20.0)),
        ];
        assert_eq!(units.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_log_that_is_not_flushed_takes_no_time() {
        let volume = LoadVolume {
            log_bytes: Some(4_000),
            ..LoadVolume::default()
        };
        let mut log = LogSpeed {
            all_bytes_s: 1_000.0,
            is_flushed: true,
            ..LogSpeed::default()
        };
        assert_eq!(log_s(Some(&log), &volume), 4.0);
        assert_eq!(log_s(Some(&log), &LoadVolume::default()), 0.0);
        assert_eq!(log_s(None, &volume), 0.0);
        log.is_flushed = false;
        assert_eq!(log_s(Some(&log), &volume), 0.0);
    }
}
