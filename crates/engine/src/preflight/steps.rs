//! Combines the measurements of all flows into one line for each step.

use inrush_destination::{MeasuredLoad, NetworkSpeed};
use inrush_plan::Reading;

use super::decode::Decoded;
use super::flow_found::FlowFound;
use super::read::ReadFound;
use super::result::{Finding, PreflightStep, StepFound, Weight};
use super::source_read::{RowSpeed, SourceRead};
use super::throughput::Throughput;
use super::together::Together;

/// Seconds until the first row of a database that are worth a note.
const NOTABLE_FIRST_ROW_S: f64 = 0.5;

/// The mean speed if all flows load one after the other, each with its own part of the text. `None` if a flow has no
/// speed.
fn speed(flows: &[FlowFound], of_flow: impl Fn(&FlowFound) -> Option<f64>) -> Option<f64> {
    let (mut text, mut seconds) = (0.0, 0.0);
    for flow in flows {
        let Some(speed) = of_flow(flow).filter(|speed| *speed > 0.0) else {
            continue;
        };
        text += flow.text_bytes_left();
        seconds += flow.text_bytes_left() / speed;
    }
    (seconds > 0.0).then(|| text / seconds)
}

/// Nanoseconds of a sample that one step took.
type SpentNs = fn(&Decoded) -> u64;

/// The measurements of the loader's steps, up to the destination's bytes.
pub fn client(flows: &[FlowFound], read: &ReadFound, streams: usize) -> Vec<StepFound> {
    let stored: f64 = flows.iter().map(|flow| flow.stored_bytes).sum();
    let text: f64 = flows.iter().map(FlowFound::text_bytes_left).sum();
    let text_of_stored = match stored > 0.0 {
        true => text / stored,
        false => 1.0,
    };
    let mut found = Vec::new();
    let sources = [
        (
            PreflightStep::ReadDisk,
            read.disk,
            "the page cache holds the whole sample (--cold removes it first)",
        ),
        (
            PreflightStep::ReadCache,
            read.cached,
            "no part of the sample was in the page cache",
        ),
    ];
    // A load that reads only from databases reads no file.
    let has_source = flows.iter().any(|flow| flow.is_of_database);
    let of_files = sources
        .into_iter()
        .filter(|_| read.has_files || !has_source);
    for (step, speeds, why_not) in of_files {
        found.push(match speeds.one {
            None => StepFound::not_measured(step, why_not),
            Some(one) => StepFound {
                step,
                one_bytes_s: Some(one * text_of_stored),
                all_bytes_s: speeds.all.map(|all| all * text_of_stored),
                rows_s: None,
                sample_bytes: speeds.bytes,
                took_s: speeds.took_s,
                note: read.note.clone(),
            },
        });
    }
    found.extend(source(flows));
    let sample_bytes: u64 = flows
        .iter()
        .filter_map(|flow| flow.decoded.as_ref())
        .map(|decoded| decoded.work.meter.text_bytes)
        .sum();
    let nanoseconds: [(PreflightStep, SpentNs); 6] = [
        (PreflightStep::Decompress, |decoded| {
            decoded.work.meter.decompress_ns
        }),
        (PreflightStep::Scan, |decoded| decoded.work.meter.scan_ns),
        (PreflightStep::Convert, |decoded| {
            decoded.work.meter.convert_ns
        }),
        (PreflightStep::Transform, |decoded| {
            decoded.work.meter.transform_ns
        }),
        (PreflightStep::Verify, |decoded| {
            decoded.work.meter.verify_ns
        }),
        (PreflightStep::Encode, |decoded| {
            decoded.work.meter.encode_ns
        }),
    ];
    for (step, of) in nanoseconds {
        let seconds: f64 = flows
            .iter()
            .filter_map(|flow| flow.decoded.as_ref())
            .map(|decoded| of(decoded) as f64 / 1e9)
            .sum();
        let of_flow = |flow: &FlowFound| {
            let decoded = flow.decoded.as_ref()?;
            Some(decoded.text_bytes() / (of(decoded) as f64 / 1e9))
        };
        let is_idle = seconds == 0.0;
        if is_idle
            && matches!(
                step,
                PreflightStep::Decompress
                    | PreflightStep::Transform
                    | PreflightStep::Verify
                    | PreflightStep::Encode
            )
        {
            // This load has no such step.
            continue;
        }
        found.push(StepFound {
            step,
            one_bytes_s: speed(flows, |flow| {
                of_flow(flow).filter(|speed| speed.is_finite())
            }),
            all_bytes_s: None,
            rows_s: None,
            sample_bytes,
            took_s: seconds,
            note: None,
        });
    }
    let of = |decoded: &Option<Decoded>| decoded.as_ref().map(|decoded| decoded.text_bytes_s);
    let one = speed(flows, |flow| of(&flow.decoded));
    let all = match streams {
        0 | 1 => one,
        _ => speed(flows, |flow| of(&flow.decoded_all)),
    };
    let both = flows
        .iter()
        .flat_map(|flow| [&flow.decoded, &flow.decoded_all])
        .flatten();
    found.push(StepFound {
        step: PreflightStep::Client,
        one_bytes_s: one,
        all_bytes_s: all,
        rows_s: all.map(|all| all * rows_of_text(flows)),
        sample_bytes: both.clone().map(|one| one.work.meter.text_bytes).sum(),
        took_s: both.map(|one| one.took_s).sum(),
        note: one
            .is_none()
            .then(|| "no row of the files is in the sample".to_owned()),
    });
    found
}

/// The measurement of reading alone from databases; `None` if no flow reads a database.
fn source(flows: &[FlowFound]) -> Option<StepFound> {
    let of = |flow: &FlowFound, speed: fn(&SourceRead) -> RowSpeed| flow.source.as_ref().map(speed);
    if !flows.iter().any(|flow| flow.is_of_database) {
        return None;
    }
    let read = flows.iter().filter_map(|flow| flow.source.as_ref());
    // With one stream, the single measurement counts for both.
    let both = read.clone().flat_map(|read| match read.one == read.all {
        true => vec![read.one],
        false => vec![read.one, read.all],
    });
    if read.clone().all(|read| read.one.text_bytes == 0) {
        return Some(StepFound::not_measured(
            PreflightStep::ReadSource,
            "no row reached this step",
        ));
    }
    let all = speed(flows, |flow| {
        of(flow, |read| read.all).map(|all| all.text_bytes_s)
    });
    let rows = read.clone().map(|read| read.all.rows_s).sum::<f64>();
    let limits = read.clone().filter_map(|read| read.limit.as_ref());
    let slowest = read.map(|read| read.first_row_s).fold(0.0, f64::max);
    let mut notes: Vec<String> = limits.map(|limit| limit.because.clone()).collect();
    if slowest >= NOTABLE_FIRST_ROW_S {
        notes.push(format!("the first row came after {slowest:.1} s"));
    }
    Some(StepFound {
        step: PreflightStep::ReadSource,
        one_bytes_s: speed(flows, |flow| {
            of(flow, |read| read.one).map(|one| one.text_bytes_s)
        }),
        all_bytes_s: all,
        rows_s: Some(rows).filter(|rows| *rows > 0.0),
        sample_bytes: both.clone().map(|one| one.text_bytes).sum(),
        took_s: both.map(|one| one.took_s).sum(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    })
}

fn rows_of_text(flows: &[FlowFound]) -> f64 {
    let rows: f64 = flows.iter().map(FlowFound::rows_left).sum();
    let text: f64 = flows.iter().map(FlowFound::text_bytes_left).sum();
    match text > 0.0 {
        true => rows / text,
        false => 0.0,
    }
}

/// The measurement of the destination alone.
pub fn destination(flows: &[FlowFound], streams: usize, why_not: &str) -> StepFound {
    let of = |flow: &FlowFound, throughput: &Option<Throughput>| {
        throughput.map(|throughput| throughput.sent_bytes_s * flow.text_of_sent())
    };
    let one = speed(flows, |flow| of(flow, &flow.destination));
    let all = speed(flows, |flow| of(flow, &flow.destination_all));
    // With one stream, the single measurement counts for both.
    let both = flows
        .iter()
        .flat_map(|flow| {
            let all = flow.destination_all.filter(|_| streams > 1);
            [flow.destination, all].map(|throughput| (flow, throughput))
        })
        .filter_map(|(flow, throughput)| Some((flow, throughput?)));
    if one.is_none() {
        return StepFound::not_measured(PreflightStep::Destination, why_not);
    }
    StepFound {
        step: PreflightStep::Destination,
        one_bytes_s: one,
        all_bytes_s: all,
        rows_s: all.map(|all| all * rows_of_text(flows)),
        sample_bytes: both
            .clone()
            .map(|(flow, throughput)| (throughput.sent_bytes as f64 * flow.text_of_sent()) as u64)
            .sum(),
        took_s: both.map(|(_, throughput)| throughput.took_s).sum(),
        note: all
            .is_none()
            .then(|| format!("not measured with all streams: {why_not}")),
    }
}

/// The measurement of the network to the destination.
pub fn network(flows: &[FlowFound], network: Option<&NetworkSpeed>, why_not: &str) -> StepFound {
    let text_of_sent = text_of_sent(flows);
    match network {
        Some(network) => StepFound {
            step: PreflightStep::Network,
            one_bytes_s: Some(network.one_bytes_s * text_of_sent),
            all_bytes_s: Some(network.all_bytes_s * text_of_sent),
            rows_s: None,
            sample_bytes: network.bytes,
            took_s: network.took_s,
            note: Some(format!("round trip {:.2} ms", network.round_trip_s * 1e3)),
        },
        None => StepFound::not_measured(PreflightStep::Network, why_not),
    }
}

/// The measurement of the destination's log.
pub fn log(load: &MeasuredLoad, why_not: &str) -> StepFound {
    let table_bytes = load.table_bytes();
    match &load.log {
        Some(log) if table_bytes > 0.0 => {
            // The log gets about as many bytes as the tables.
            let text_of_table = load.text_bytes() / table_bytes;
            StepFound {
                step: PreflightStep::Log,
                one_bytes_s: None,
                all_bytes_s: Some(log.all_bytes_s * text_of_table),
                rows_s: None,
                sample_bytes: (log.bytes as f64 * text_of_table) as u64,
                took_s: log.took_s,
                note: Some(format!(
                    "{}; a COMMIT that has little to flush takes {:.1} ms",
                    log.setting,
                    log.commit_s * 1e3
                )),
            }
        }
        _ => StepFound::not_measured(PreflightStep::Log, why_not),
    }
}

/// Bytes of text for each byte that is sent, of all flows.
pub fn text_of_sent(flows: &[FlowFound]) -> f64 {
    let text: f64 = flows.iter().map(FlowFound::text_bytes_left).sum();
    let sent: f64 = flows
        .iter()
        .map(|flow| flow.text_bytes_left() / flow.text_of_sent())
        .sum();
    match sent > 0.0 {
        true => text / sent,
        false => 1.0,
    }
}

/// The measurement of all steps together.
pub fn together(flows: &[FlowFound], why_not: &str) -> StepFound {
    let of = |tried: &Option<Together>| tried.as_ref().map(|tried| tried.text_bytes_s);
    let one = speed(flows, |flow| of(&flow.together));
    let all = speed(flows, |flow| of(&flow.together_all));
    if all.is_none() {
        return StepFound::not_measured(PreflightStep::Together, why_not);
    }
    let tried = flows.iter().filter_map(|flow| flow.together_all.as_ref());
    let wal: Option<u64> = tried.clone().map(|tried| tried.wal_bytes).sum();
    let rows: u64 = tried.clone().map(|tried| tried.work.meter.rows).sum();
    StepFound {
        step: PreflightStep::Together,
        one_bytes_s: one,
        all_bytes_s: all,
        rows_s: all.map(|all| all * rows_of_text(flows)),
        sample_bytes: tried.clone().map(|tried| tried.work.meter.text_bytes).sum(),
        took_s: tried.map(|tried| tried.took_s).sum(),
        note: wal
            .filter(|_| rows > 0)
            .map(|wal| format!("{:.0} bytes of WAL for each row", wal as f64 / rows as f64)),
    }
}

/// Rows of the sample that would be rejected.
pub fn rejected(reading: &Reading, decoded: Option<&Decoded>) -> Option<Finding> {
    let work = &decoded?.work;
    if work.rows_rejected == 0 {
        return None;
    }
    let limit = &reading.reject_limit;
    let share = work.rows_rejected as f64 / work.rows_read.max(1) as f64;
    let is_over = work.rows_rejected > limit.rows_accepted()
        // The sample need not be typical of all rows.
        && limit.share_max.is_none_or(|most| share > most);
    let first = work.first_reject.as_ref().map_or(String::new(), |reject| {
        format!("; the first is {}", reject.summary())
    });
    Some(Finding {
        weight: match is_over {
            true => Weight::Stops,
            false => Weight::Hurts,
        },
        what: format!(
            "flow `{}`: {} of {} rows of the sample would be rejected{}{first}",
            reading.name,
            work.rows_rejected,
            work.rows_read,
            match is_over {
                true => ", more than it accepts",
                false => "",
            }
        ),
        hint: Some(format!(
            "{} or {}, or accept rejects (`rejects`)",
            reading.input_kind().fix_rows(),
            reading.input_kind().settings()
        )),
    })
}
