//! Predicts a run: passes the measurements and the costs of the run ([`RunCosts`]) to the model, and formats its answer.

use std::sync::Arc;

use inrush_plan::load_plan::PlanFacts;
use inrush_rows::ids::RunKey;
use inrush_rows::pace::Pace;
use inrush_system::threads::cores;
use inrush_verdict::Cause;

use super::capacity::{CostsFound, Resources};
use super::findings;
use super::flow_found::FlowFound;
use super::model::{self, Answer, ObservedLoad, SharedSeconds, Speed, WorkPiece};
use super::read::ReadFound;
use super::result::{Finding, PreflightReport};
use super::together::Together;
use crate::pipeline::RunOptions;
use crate::report::{Prediction, leave_prediction};

/// A load longer than this has effects that a trial of a few seconds does not show.
const SHORT_S: f64 = 60.0;

/// The costs of a run, besides the speed of the rows.
pub struct RunCosts {
    /// True if an earlier run has loaded every row and was stopped before its publish.
    pub is_loaded: bool,
    /// The pieces of work that are left, in the order in which streams take them; none if no flow has a measured speed.
    pub pieces: Vec<WorkPiece>,
    /// Bytes that are left to read, as stored.
    pub stored_bytes: f64,
    /// Bytes that count for the rate limit of the package.
    pub paced_bytes: f64,
    /// Seconds that the server's log needs for all bytes that the run writes to it.
    pub log_s: f64,
    /// Seconds before the first row, in which the beginnings of the pieces are found.
    pub split_s: f64,
    /// The seconds before the streams and after them; the seconds of the streams are not set.
    pub around: PredictedPhases,
    /// The speeds of a server; `None` if neither the network nor a log was measured.
    pub server: Option<ServerSpeeds>,
    /// The parts of the run that the prediction does not cover, each in words.
    pub leaves_out: Vec<String>,
    /// One more thing that the prediction does not cover, if the load takes more than a minute.
    pub leaves_out_if_long: Option<String>,
    /// Findings about the predicted run.
    pub findings: Vec<Finding>,
}

/// The speeds of a server alone.
pub struct ServerSpeeds {
    /// Bytes that are sent for each byte of text.
    pub sent_per_text: f64,
    /// Bytes that the network carries in a second, for all streams.
    pub network_bytes_s: Option<f64>,
    /// Bytes that its log takes in a second.
    pub log_bytes_s: Option<f64>,
}

/// Predicts the run. Makes no prediction if rows are left to load and no flow has a measured speed.
pub fn predict(
    facts: &PlanFacts,
    options: &RunOptions<'_>,
    (flows, read): (&[FlowFound], &ReadFound),
    paces: &[(Vec<usize>, Arc<Pace>)],
    costs: RunCosts,
    report: &mut PreflightReport,
) {
    if costs.is_loaded {
        tell_loaded(report, options, &facts.run_key, &costs.around);
    }
    let with_speed: Vec<&FlowFound> = flows.iter().filter(|flow| flow.has_speed()).collect();
    let pieces = &costs.pieces;
    let text_bytes: f64 = pieces.iter().map(|piece| piece.text_bytes).sum();
    let Some(largest) = with_speed.first().filter(|_| text_bytes > 0.0) else {
        return;
    };
    let streams = facts.streams;
    let schedule = model::schedule(pieces, &speeds(&with_speed, streams), streams);
    let left = LeftToRead {
        stored_bytes: costs.stored_bytes,
        text_bytes,
        paces,
    };
    let reading = shared(flows, read, &left);
    let sent_pace_s = match facts.settings.rate_bytes_max {
        Some(rate) => costs.paced_bytes / rate as f64,
        None => 0.0,
    };
    let shared = SharedSeconds {
        log_s: costs.log_s,
        pace_s: reading.pace_s.max(sent_pace_s),
        ..reading
    };
    let seen = seen(largest, costs.server.as_ref(), streams);
    let answer = model::answer(&schedule, &shared, &seen);
    let phases = PredictedPhases {
        load_s: answer.load_s + costs.split_s,
        ..costs.around
    };
    let found = costs_found(&with_speed, read, pieces, &phases, streams);
    report.costs = found.map(|found| match &costs.server {
        None => found,
        Some(server) => found.with_server(
            server.sent_per_text,
            server.network_bytes_s,
            server.log_bytes_s,
        ),
    });
    report.findings.extend(costs.findings);
    let mut leaves_out = costs.leaves_out;
    let is_long = schedule.load_s > SHORT_S;
    leaves_out.extend(costs.leaves_out_if_long.filter(|_| is_long));
    leaves_out.extend(of_unknown_size(flows));
    let key = &facts.run_key;
    tell(report, options, key, &phases, answer, leaves_out);
}

/// The speed of each flow's rows through all steps, with this many streams.
fn speeds(flows: &[&FlowFound], streams: usize) -> Vec<Speed> {
    let speed = |flow: &&FlowFound| Speed {
        one: one_stream(flow, streams).unwrap_or(1.0),
        all: flow
            .together_all
            .as_ref()
            .map_or(1.0, |all| all.text_bytes_s),
    };
    flows.iter().map(speed).collect()
}

/// Bytes of text per second of one stream alone. It is at least the speed that each stream had while all of them
/// loaded, because another program may have disturbed the measurement of one stream.
fn one_stream(flow: &FlowFound, streams: usize) -> Option<f64> {
    let one = flow.together.as_ref().map(|one| one.text_bytes_s);
    let all = flow.together_all.as_ref();
    let share = all.map(|all| all.text_bytes_s / streams.max(1) as f64);
    one.into_iter().chain(share).reduce(f64::max)
}

/// The work that is left, and the limits of reading it.
struct LeftToRead<'a> {
    /// Bytes as stored.
    stored_bytes: f64,
    /// Bytes of text.
    text_bytes: f64,
    /// The limited rates of databases, with the flows that share each.
    paces: &'a [(Vec<usize>, Arc<Pace>)],
}

/// Seconds of the shared resources: the disk, the readers of files that cannot be cut, and source databases.
fn shared(flows: &[FlowFound], read: &ReadFound, left: &LeftToRead<'_>) -> SharedSeconds {
    let uncached = 1.0 - read.cached_share.unwrap_or(0.0);
    let disk_s = match read.disk.all {
        Some(speed) if speed > 0.0 => left.stored_bytes * uncached / speed,
        _ => 0.0,
    };
    let mut feed_s = 0.0;
    for flow in flows.iter().filter(|flow| flow.is_fed) {
        if let Some(decoded) = &flow.decoded {
            let meter = &decoded.work.meter;
            // The reader only finds record ends, which costs less than a scan.
            let seconds = (meter.read_ns + meter.decompress_ns) as f64 / 1e9;
            feed_s += seconds * flow.stored_bytes / (meter.stored_bytes as f64).max(1.0);
        }
    }
    // Flows that were not measured are assumed to be like those that were.
    let measured: f64 = flows.iter().map(FlowFound::text_bytes_left).sum();
    let all_of_measured = left.text_bytes / measured.max(1.0);
    let mut source_s = 0.0;
    for flow in flows {
        if let Some(source) = &flow.source
            && source.all.text_bytes_s > 0.0
        {
            source_s += flow.text_bytes_left() * all_of_measured / source.all.text_bytes_s;
        }
    }
    let read_pace_s = left.paces.iter().map(|(sharing, pace)| {
        let own = flows.iter().filter(|flow| sharing.contains(&flow.index));
        let text_bytes: f64 = own.map(FlowFound::text_bytes_left).sum();
        let rate = pace.rate_bytes_max().unwrap_or(u64::MAX);
        text_bytes * all_of_measured / rate as f64
    });
    SharedSeconds {
        disk_s,
        feed_s,
        source_s,
        pace_s: read_pace_s.fold(0.0, f64::max),
        ..SharedSeconds::default()
    }
}

/// The inputs that a prediction leaves out, because their size is not known before they are read.
fn of_unknown_size(flows: &[FlowFound]) -> impl Iterator<Item = String> {
    let names = flows.iter().flat_map(|flow| &flow.of_unknown_size);
    names.map(|name| format!("the rows of {name}: their number is not known before they are read"))
}

/// The observations while all streams loaded rows of the largest flow, and of a server alone.
fn seen<'a>(
    largest: &'a FlowFound,
    server: Option<&ServerSpeeds>,
    streams: usize,
) -> ObservedLoad<'a> {
    let tried = largest.together_all.as_ref();
    let network = server.and_then(|server| Some(server.network_bytes_s? / server.sent_per_text));
    let destination = largest.destination_all.filter(|_| server.is_some());
    ObservedLoad {
        client_share: tried.map_or(0.0, Together::client_share),
        transform_share: tried.map_or(0.0, Together::transform_share),
        source_share: tried.map_or(0.0, Together::source_share),
        source: largest.source.as_ref().and_then(|read| read.limit.as_ref()),
        source_cores: tried.and_then(|tried| tried.source_cores),
        client_cores: tried.map_or(0.0, |tried| tried.client_cores),
        server_cores: tried.and_then(|tried| tried.server_cores),
        cores: cores() as f64,
        network,
        destination: destination.map(|took| took.sent_bytes_s * largest.text_of_sent()),
        streams,
    }
}

/// The measured costs of a load, without the costs of a server's connection and disk.
fn costs_found(
    with_speed: &[&FlowFound],
    read: &ReadFound,
    pieces: &[WorkPiece],
    phases: &PredictedPhases,
    streams: usize,
) -> Option<CostsFound> {
    let largest = with_speed.first()?;
    let tried = largest.together_all.as_ref()?;
    let text_bytes: f64 = pieces.iter().map(|piece| piece.text_bytes).sum();
    if text_bytes <= 0.0 {
        return None;
    }
    let tried_text = (tried.work.meter.text_bytes as f64).max(1.0);
    let for_a_gb = |cores: f64| cores / tried.text_bytes_s * 1e9;
    let mean =
        |of: fn(&WorkPiece) -> f64| pieces.iter().map(of).sum::<f64>() / pieces.len().max(1) as f64;
    let own_cores = Some(cores() as f64);
    let is_shared = tried.server_cores.is_some();
    Some(CostsFound {
        loader_cpu_s_per_gb: for_a_gb(tried.client_cores),
        server_cpu_s_per_gb: tried.server_cores.map(for_a_gb),
        read_per_text: 1.0 / largest.text_of_stored().max(1e-9),
        is_of_database: largest.is_of_database,
        sent_per_text: None,
        table_per_text: tried.table_bytes as f64 / tried_text,
        wal_per_text: tried.wal_bytes.map(|wal| wal as f64 / tried_text),
        stream_bytes_s: one_stream(largest, streams).unwrap_or(1.0),
        all_bytes_s: Some(tried.text_bytes_s),
        piece_bytes: mean(|piece| piece.text_bytes),
        beside_s: mean(|piece| piece.beside.total()),
        beside_cpu_share: tried.beside.cpu_share(),
        flush_s: mean(|piece| piece.beside.flush_s),
        before_s: phases.plan_s,
        after_s: phases.switch_s + phases.analyze_s,
        after_fixed_s: phases.after_fixed_s,
        text_bytes,
        streams,
        here: Resources {
            shared_cores: own_cores.filter(|_| is_shared),
            loader_cores: own_cores.filter(|_| !is_shared),
            disk_read_bytes_s: read.disk.all,
            ..Resources::default()
        },
    })
}

/// Predicted seconds of a run, by phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct PredictedPhases {
    /// Seconds of planning and of the ledger's work before the streams begin.
    pub plan_s: f64,
    /// Seconds of the streams.
    pub load_s: f64,
    /// Seconds of the switch.
    pub switch_s: f64,
    /// Seconds of ANALYZE.
    pub analyze_s: f64,
    /// Seconds of the switch and of ANALYZE that are the same for a load of any size.
    pub after_fixed_s: f64,
}

/// Predicts a run that was stopped after its last row: nothing was measured, because nothing is left to load.
fn tell_loaded(
    report: &mut PreflightReport,
    options: &RunOptions<'_>,
    run_key: &RunKey,
    phases: &PredictedPhases,
) {
    let answer = Answer {
        load_s: 0.0,
        limiting: Cause::Undecided,
        because: "every row is loaded, and the run has only to publish them".to_owned(),
    };
    let leaves_out = vec![
        "the size of the published data: a switch that copies rows takes longer, and so does ANALYZE".to_owned(),
    ];
    tell(report, options, run_key, phases, answer, leaves_out);
}

/// Reports a prediction, and writes it for the run. If it cannot be written, the preflight still succeeds.
fn tell(
    report: &mut PreflightReport,
    options: &RunOptions<'_>,
    run_key: &RunKey,
    phases: &PredictedPhases,
    answer: Answer,
    leaves_out: Vec<String>,
) {
    let PredictedPhases {
        plan_s,
        load_s,
        switch_s,
        analyze_s,
        ..
    } = *phases;
    let prediction = Prediction {
        made_at: report.made_at.clone(),
        streams: report.streams,
        stored_bytes: report.files.stored_bytes,
        predicted_s: plan_s + load_s + switch_s + analyze_s,
        plan_s,
        load_s,
        switch_s,
        analyze_s,
        limiting: answer.limiting,
        because: answer.because,
        leaves_out,
    };
    // A run that cannot succeed makes no report with the prediction.
    if !report.is_stopped()
        && let Err(error) = leave_prediction(&options.runs_folder, run_key, &prediction)
    {
        report.findings.push(Finding::tells(format!(
            "the run's report will not have this prediction: {}",
            findings::words(&error)
        )));
    }
    report.prediction = Some(prediction);
}
