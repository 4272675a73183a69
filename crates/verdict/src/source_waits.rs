//! Divides a stream's waits for the rows of a source database by their cause.
//!
//! The arithmetic is the same as in `waits`, but the direction of the data is opposite: here the backend sends, and the
//! stream receives. If both wait for each other, the network between them holds the rows. By chance some pairs of
//! samples show both waiting although they never waited at the same time, so the same bounds hold. Let W be the seconds
//! in which the stream reads, A the seconds in which it does something else, and C the seconds that the backend waits
//! for us. Then both wait for at least C - A seconds, and for at most the smaller of W and C. A part of the reading is
//! the loader's own work: it receives bytes that have arrived.

use crate::backend_time::{BackendTime, Process, awake_s, share_of_workers};
use crate::measurements::{BackendState, Measurements, Phase, StreamSeries};
use crate::parts::{ByPart, CAUSES, Part};
use crate::samples::{Group, Joint, States};
use crate::timeline::{CPU_PHASES, Timeline, seconds_of};
use crate::waits::{PAIRS_CHANCE, PAIRS_SURE};

/// The causes of one stream's reading, in shares that add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SourceWaits {
    /// The part while the stream read.
    pub read: ByPart,
    /// The variance of each cause, in square seconds, because of sampling.
    pub variance: [f64; CAUSES.len()],
    /// Seconds that the source's backend was busy, as far as known: the stream cannot be faster.
    pub backend_busy_s: f64,
}

impl SourceWaits {
    /// The causes of one stream's reading. `pooled` has the samples of the source's backends of all streams.
    pub(crate) fn of(
        series: &StreamSeries,
        timeline: &Timeline,
        measurements: &Measurements,
        pooled: &Joint,
    ) -> SourceWaits {
        let mut waits = SourceWaits {
            read: ByPart::default(),
            variance: [0.0; CAUSES.len()],
            backend_busy_s: 0.0,
        };
        let backend = series.source_backend.as_ref();
        let own = backend.map(Joint::of_source).unwrap_or_default();
        let read_s = timeline.in_phase(Phase::Read);
        let work_s = timeline.elsewhere_s(Phase::Read);
        // If the run also reads files, a part of this phase is time for which no backend is responsible.
        let seen = match measurements.reads_database {
            true => [Group::Read, Group::Work].map(|group| States::during(group, &own, pooled)),
            false => [None, None],
        };
        let groups = [(seen[0], read_s), (seen[1], work_s)];
        let less_cpu = BackendTime::of(backend, &own, &groups).cpu_too_much();
        let [read, seen_working] =
            seen.map(|states| states.map(|states| states.with_less_cpu(less_cpu)));
        let Some(read) = read else {
            waits.read.add(Part::FileRead, 1.0);
            return waits;
        };
        let work = seen_working.unwrap_or(read);
        let groups = [(Some(read), read_s), (Some(work), work_s)];
        let process = BackendTime::of(backend, &own, &groups).process(read_s);
        let known = [(Some(read), read_s), (seen_working, work_s)];
        waits.backend_busy_s =
            BackendTime::of(backend, &own, &known).busy_s(backend.and_then(awake_s));

        let server = measurements.source_server.as_ref();
        let is_network = server.is_some_and(|server| server.is_over_network);
        let both_s = both_wait_s(&read, &work, read_s, work_s, is_network);
        let both = share(both_s, read_s);
        let mut shares = of_backend(&read, &process, share_of_workers(backend));
        shares = shares.scaled_to(1.0 - both);
        // If only waits for us were seen, nothing can be scaled.
        let between = both + (1.0 - both - shares.total()).max(0.0);
        let receive = match is_network {
            true => between.min(share(receiving_s(series, timeline), read_s)),
            false => between,
        };
        shares.add(Part::Receive, receive);
        shares.add(Part::SourceNetwork, between - receive);
        shares = shares.scaled_to(1.0 - process.stopped);
        shares.add(Part::SourceStopped, process.stopped);
        waits.read = shares.scaled_to(1.0);
        for (variance, cause) in waits.variance.iter_mut().zip(CAUSES) {
            let share = waits.read.of_cause(cause).clamp(0.0, 1.0);
            *variance = read_s * read_s * share * (1.0 - share) / read.samples.max(1.0);
        }
        waits
    }
}

/// Seconds that stream and backend waited for each other.
fn both_wait_s(read: &States, work: &States, read_s: f64, work_s: f64, is_network: bool) -> f64 {
    let seen = read.waits_for_us();
    let backend_s = work_s * work.waits_for_us() + read_s * seen;
    let least_s = (backend_s - work_s).max(0.0);
    let most_s = read_s.min(backend_s);
    let likely_s = match is_network {
        true => {
            let sure = (seen - PAIRS_CHANCE) / (PAIRS_SURE - PAIRS_CHANCE);
            read_s * seen * sure.clamp(0.0, 1.0)
        }
        false => read_s * (seen - work.waits_for_us()),
    };
    likely_s.max(least_s).min(most_s)
}

/// The work of the backend while it did not wait for us.
fn of_backend(states: &States, process: &Process, workers: f64) -> ByPart {
    let mut shares = ByPart::default();
    let cpu = states.share(BackendState::Cpu);
    shares.add(Part::SourceCompute, cpu * (1.0 - process.cpu_at_disk));
    shares.add(Part::SourceFiles, cpu * process.cpu_at_disk);
    let files = states.share(BackendState::DataFile) + states.share(BackendState::Wal);
    shares.add(Part::SourceFiles, files * (1.0 - process.disk_on_cpu));
    shares.add(Part::SourceCompute, files * process.disk_on_cpu);
    let locks = states.share(BackendState::Lock) + states.share(BackendState::Internal);
    shares.add(Part::FileRead, locks);
    // Waits for parallel workers count as computing, because the workers compute.
    let other = states.share(BackendState::Other);
    shares.add(Part::SourceCompute, other * workers);
    shares.add(Part::FileRead, other * (1.0 - workers));
    shares
}

/// Seconds of the reading in which the stream's thread ran, or waited for a CPU. The time in which the thread was awake
/// is first assigned to the phases that need a CPU; only the rest counts here.
fn receiving_s(series: &StreamSeries, timeline: &Timeline) -> f64 {
    let Some(cpu_us) = series.cpu_us.as_deref() else {
        return 0.0;
    };
    let awake_s = seconds_of(cpu_us) + series.cpu_wait_us.as_deref().map_or(0.0, seconds_of);
    let work_s: f64 = CPU_PHASES
        .iter()
        .map(|&phase| timeline.in_phase(phase))
        .sum();
    (awake_s - work_s).max(0.0)
}

fn share(part_s: f64, whole_s: f64) -> f64 {
    if whole_s > 0.0 {
        (part_s / whole_s).clamp(0.0, 1.0)
    } else {
        0.0
    }
}
