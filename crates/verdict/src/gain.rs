//! The most time that a change can save. If the change removes the first limit of a load, the next limit remains.

use crate::cpu::Holder;
use crate::facts::Facts;
use crate::measurements::Phase;
use crate::network::Link;
use crate::parts::Part;
use crate::timeline::{seconds_at, seconds_of};
use crate::verdict::Cause;

/// If streams wait for a pace for this share of their time, the pace limits them.
const PACED: f64 = 0.1;
/// A disk that is busy for this share of a step is full.
const DISK_FULL: f64 = 0.95;

/// The most seconds that loading would save if the cause were removed.
pub(crate) fn gain_without(facts: &Facts, cause: Cause) -> f64 {
    let limits = [
        slowest_stream_s(facts, cause),
        backends_s(facts, cause),
        source_backends_s(facts, cause),
        cpu_s(facts, cause),
        disk_s(facts, cause),
        network_s(facts, cause),
        pace_s(facts, cause),
    ];
    let next_s = limits.into_iter().fold(0.0, f64::max);
    (facts.load_s - next_s).clamp(0.0, facts.load_s)
}

/// Seconds that loading would save if both the loader and the server had enough CPUs: their computing time stays, their
/// waits for a CPU end. `None` if those waits were not measured.
pub(crate) fn gain_with_cpus(facts: &Facts, holder: Holder) -> Option<f64> {
    facts.cpu.streams_wait.and(facts.cpu.backends_wait)?;
    let cpus = [Cause::ClientCpu, Cause::DestinationCpu];
    let limits = [
        slowest_rest_s(facts, &cpus),
        threads_s(facts),
        shared_cpu_s(facts, holder),
        disk_s(facts, Cause::ClientCpu),
        network_s(facts, Cause::ClientCpu),
        pace_s(facts, Cause::ClientCpu),
    ];
    let next_s = limits.into_iter().fold(0.0, f64::max);
    Some((facts.load_s - next_s).clamp(0.0, facts.load_s))
}

/// Seconds that loading would save with more streams, each as fast as the present ones.
pub(crate) fn gain_with_streams(facts: &Facts, cause: Cause, streams: usize) -> f64 {
    let now = facts.streams.len() as f64;
    let spread_s = facts.load_s * (1.0 - now / streams.max(facts.streams.len()).max(1) as f64);
    spread_s.min(gain_without(facts, cause))
}

/// The time of the stream that would still take longest. Without a long tail, each stream would take an equal part of
/// all work.
fn slowest_stream_s(facts: &Facts, cause: Cause) -> f64 {
    if cause == Cause::Coordination {
        let work_s = facts.stream_s() - facts.parts.of_cause(cause);
        return work_s / facts.streams.len().max(1) as f64;
    }
    slowest_rest_s(facts, &[cause])
}

/// The time of the stream that would take longest without these causes.
fn slowest_rest_s(facts: &Facts, causes: &[Cause]) -> f64 {
    let rests_s = facts.streams.iter().map(|stream| {
        let without_s = causes.iter().map(|&cause| stream.parts.of_cause(cause));
        stream.ended_s() - without_s.sum::<f64>()
    });
    rests_s.fold(0.0, f64::max)
}

/// The time of the thread or backend that ran longest: one thread can use at most one core.
fn threads_s(facts: &Facts) -> f64 {
    let ran_s = facts.streams.iter().map(|stream| {
        let thread_s = stream.series.cpu_us.as_deref().map_or(0.0, seconds_of);
        let backend = stream.series.backend.as_ref();
        let backend_s = backend
            .and_then(|backend| backend.cpu_us.as_deref())
            .map_or(0.0, seconds_of);
        thread_s.max(backend_s).min(stream.ended_s())
    });
    ran_s.fold(0.0, f64::max)
}

/// The CPU seconds of the loader and the backends divided by all cores. If only these two use the cores and one of them
/// moves to another machine, each of them can use as many cores as both together now.
fn shared_cpu_s(facts: &Facts, holder: Holder) -> f64 {
    let cpu = &facts.cpu;
    let backends_s = cpu.backends_s.unwrap_or(0.0);
    let needed_s = match holder {
        Holder::Both => cpu.loader_s.max(backends_s),
        _ => cpu.loader_s + backends_s,
    };
    (needed_s + cpu.sources_s.unwrap_or(0.0)) / cpu.cores
}

/// The seconds of a backend's own work, which stays the same if other parts become faster.
fn backends_s(facts: &Facts, cause: Cause) -> f64 {
    let is_its_own = matches!(
        cause,
        Cause::DestinationCpu | Cause::DestinationDisk | Cause::DestinationLocks
    );
    let busy_s = facts
        .streams
        .iter()
        .map(|stream| stream.waits.backend_busy_s.min(stream.ended_s()));
    match cause {
        _ if is_its_own => 0.0,
        Cause::Coordination => busy_s.sum::<f64>() / facts.streams.len().max(1) as f64,
        _ => busy_s.fold(0.0, f64::max),
    }
}

/// The seconds of the own work of the source's backend, which stays the same if other parts become faster.
fn source_backends_s(facts: &Facts, cause: Cause) -> f64 {
    let is_its_own = matches!(
        cause,
        Cause::SourceRead | Cause::SourceDatabaseCpu | Cause::SourceDatabaseDisk
    );
    let busy_s = facts.streams.iter().map(|stream| {
        let busy_s = stream.source_waits.backend_busy_s;
        busy_s.min(stream.ended_s())
    });
    match cause {
        _ if is_its_own => 0.0,
        Cause::Coordination => busy_s.sum::<f64>() / facts.streams.len().max(1) as f64,
        _ => busy_s.fold(0.0, f64::max),
    }
}

/// The CPU seconds of everything except the cause, divided by all cores.
fn cpu_s(facts: &Facts, cause: Cause) -> f64 {
    let cpu = &facts.cpu;
    let servers_s = cpu.servers_s();
    let needed_s = match cause {
        Cause::ClientCpu => servers_s,
        Cause::TransformCpu => {
            let own_s = facts.parts.of(Part::Transform);
            (cpu.loader_s - own_s).max(0.0) + servers_s
        }
        // Less decompression needs less CPU; the work of a feed would only be spread over more threads.
        Cause::Decompression => {
            let own_s = facts.parts.of(Part::FileDecompress);
            (cpu.loader_s - own_s).max(0.0) + servers_s
        }
        Cause::DestinationCpu => cpu.loader_s + cpu.sources_s.unwrap_or(0.0),
        Cause::SourceDatabaseCpu => cpu.loader_s + cpu.backends_s.unwrap_or(0.0),
        _ => cpu.loader_s + servers_s,
    };
    needed_s / cpu.cores
}

/// The time in which a disk was full, unless the cause that is removed is that disk.
fn disk_s(facts: &Facts, cause: Cause) -> f64 {
    if matches!(
        cause,
        Cause::SourceRead | Cause::SourceDatabaseDisk | Cause::DestinationDisk
    ) {
        return 0.0;
    }
    let step_s = f64::from(facts.measurements.step_ms) / 1e3;
    let busy_ms = facts.measurements.machine.disk_busy_ms.iter();
    let full = busy_ms.filter(|&&ms| step_s > 0.0 && f64::from(ms) / 1e3 >= DISK_FULL * step_s);
    full.count() as f64 * step_s
}

/// The time in which a link was full or lost segments, for the connection where it was longest.
fn network_s(facts: &Facts, cause: Cause) -> f64 {
    if matches!(
        cause,
        Cause::NetworkLatency | Cause::NetworkRate | Cause::NetworkLoss
    ) {
        return 0.0;
    }
    let under_way_s = facts.streams.iter().filter_map(|stream| {
        let link = stream.link.as_ref()?;
        let tcp = stream.series.tcp.as_ref()?;
        limits_by_itself(link).then(|| {
            let steps = 0..tcp.busy_us.len();
            let open_s = steps.map(|step| {
                let shut_s = seconds_at(&tcp.receiver_limited_us, step);
                (seconds_at(&tcp.busy_us, step) - shut_s).max(0.0)
            });
            open_s.sum::<f64>().min(stream.ended_s())
        })
    });
    under_way_s.fold(0.0, f64::max)
}

fn limits_by_itself(link: &Link) -> bool {
    link.has_queue() || link.limit() == Part::Loss
}

/// The time of a paced load: its bytes divided by the pace.
fn pace_s(facts: &Facts, cause: Cause) -> f64 {
    let paced = facts.share(facts.in_phase(Phase::PaceWait));
    if cause != Cause::Pace && paced >= PACED {
        facts.load_s
    } else {
        0.0
    }
}
