//! The current phase of a stream's thread and its work so far. That thread writes them; the sampling thread reads them.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use inrush_destination::StreamMeter;
use inrush_source::{ReadingSession, SourceMeter};
use inrush_system::process::thread_id;
use inrush_system::tcp::TcpConnection;
use inrush_verdict::{PHASES, Phase};

use crate::meter::{Meter, nanoseconds};

/// The number for the time between phases.
const BETWEEN: u8 = PHASES.len() as u8;

/// A stream's clock and counters. Only one thread writes them, so it adds by a plain load and store. The times of
/// phases do not overlap, because an inner phase stops the clock of the outer one.
#[derive(Debug)]
pub struct Gauge {
    began: Instant,
    /// When the current phase began, in nanoseconds since `began`.
    since_ns: AtomicU64,
    /// The current phase by its number in [`PHASES`], or [`BETWEEN`].
    doing: AtomicU8,
    spent_ns: [AtomicU64; PHASES.len() + 1],
    stored_bytes: AtomicU64,
    text_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    rows: AtomicU64,
    thread_id: AtomicI32,
    process_id: AtomicI32,
    tcp: OnceLock<Arc<TcpConnection>>,
    reading_session: Mutex<Option<ReadingSession>>,
}

/// A phase under way. It ends when this value is dropped, and then the phase around it continues.
#[derive(Debug)]
#[must_use = "the phase ends when this is dropped"]
pub struct PhaseSpan<'a> {
    gauge: &'a Gauge,
    around: u8,
}

impl Drop for PhaseSpan<'_> {
    fn drop(&mut self) {
        self.gauge.go_to(self.around);
    }
}

impl Default for Gauge {
    fn default() -> Gauge {
        Gauge {
            began: Instant::now(),
            since_ns: AtomicU64::new(0),
            doing: AtomicU8::new(BETWEEN),
            spent_ns: Default::default(),
            stored_bytes: AtomicU64::new(0),
            text_bytes: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            thread_id: AtomicI32::new(0),
            process_id: AtomicI32::new(0),
            tcp: OnceLock::new(),
            reading_session: Mutex::default(),
        }
    }
}

impl Gauge {
    /// Begins a phase.
    pub fn enter(&self, phase: Phase) -> PhaseSpan<'_> {
        PhaseSpan {
            around: self.go_to(phase as u8),
            gauge: self,
        }
    }

    /// Adds the times for decompressing and scanning that a reader has measured within a span of [`Phase::Read`], and
    /// subtracts them from the time of that phase.
    pub fn add_reading(&self, before: &SourceMeter, after: &SourceMeter) {
        let (decompress_ns, scan_ns) = (
            after.decompress_ns - before.decompress_ns,
            after.scan_ns - before.scan_ns,
        );
        add(&self.spent_ns[Phase::Decompress as usize], decompress_ns);
        add(&self.spent_ns[Phase::Scan as usize], scan_ns);
        let read = &self.spent_ns[Phase::Read as usize];
        let other_ns = decompress_ns + scan_ns;
        read.store(
            read.load(Ordering::Relaxed).saturating_sub(other_ns),
            Ordering::Relaxed,
        );
        add(&self.stored_bytes, after.stored_bytes - before.stored_bytes);
        add(&self.text_bytes, after.text_bytes - before.text_bytes);
    }

    /// Adds bytes that were sent to the server.
    pub fn add_sent(&self, bytes: u64) {
        add(&self.sent_bytes, bytes);
    }

    /// Adds rows that were sent to the server.
    pub fn add_rows(&self, rows: u64) {
        add(&self.rows, rows);
    }

    /// Records the calling thread as the stream's.
    pub fn is_mine(&self) {
        self.thread_id.store(thread_id(), Ordering::Relaxed);
    }

    /// The system's id of the stream's thread; 0 before it runs.
    pub fn thread_id(&self) -> i32 {
        self.thread_id.load(Ordering::Relaxed)
    }

    /// Records the process that serves the stream, and the connection if it is TCP. A stream has one connection.
    pub fn served_by(&self, process_id: i32, tcp: Option<Arc<TcpConnection>>) {
        if let Some(tcp) = tcp {
            let _ = self.tcp.set(tcp);
        }
        self.process_id.store(process_id, Ordering::Relaxed);
    }

    /// The stream's connection, if it is TCP.
    pub fn tcp(&self) -> Option<&TcpConnection> {
        self.tcp.get().map(Arc::as_ref)
    }

    /// The process that serves the stream; 0 if there is none.
    pub fn process_id(&self) -> i32 {
        self.process_id.load(Ordering::Relaxed)
    }

    /// Records the session of the source's server from which the stream reads now; `None` if it reads from none.
    pub fn reads_from(&self, session: Option<ReadingSession>) {
        let now = self.reading_session.lock();
        *now.unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// The session of the source's server from which the stream reads now.
    pub fn reading_session(&self) -> Option<ReadingSession> {
        let now = self.reading_session.lock();
        now.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The current phase; `None` between phases.
    pub fn doing(&self) -> Option<Phase> {
        PHASES
            .get(usize::from(self.doing.load(Ordering::Relaxed)))
            .copied()
    }

    /// The totals so far, including the current phase. Another thread may read values that are some microseconds off;
    /// the next reading corrects that.
    pub fn meter(&self) -> Meter {
        let doing = self.doing.load(Ordering::Relaxed);
        let under_way =
            nanoseconds(self.began.elapsed()).saturating_sub(self.since_ns.load(Ordering::Relaxed));
        let spent = |phase: Phase| {
            let before = self.spent_ns[phase as usize].load(Ordering::Relaxed);
            before + if phase as u8 == doing { under_way } else { 0 }
        };
        Meter {
            read_ns: spent(Phase::Read),
            decompress_ns: spent(Phase::Decompress),
            scan_ns: spent(Phase::Scan),
            convert_ns: spent(Phase::Convert),
            transform_ns: spent(Phase::Transform),
            verify_ns: spent(Phase::Verify),
            encode_ns: spent(Phase::Encode),
            feed_wait_ns: spent(Phase::FeedWait),
            pace_wait_ns: spent(Phase::PaceWait),
            send_wait_ns: spent(Phase::SendWait),
            verify_wait_ns: spent(Phase::VerifyWait),
            server_wait_ns: spent(Phase::ServerWait),
            busy_ns: nanoseconds(self.began.elapsed()),
            stored_bytes: self.stored_bytes.load(Ordering::Relaxed),
            text_bytes: self.text_bytes.load(Ordering::Relaxed),
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
        }
    }

    /// Switches to another phase, and returns the previous one.
    fn go_to(&self, phase: u8) -> u8 {
        let now = nanoseconds(self.began.elapsed());
        let before = self.doing.load(Ordering::Relaxed);
        let since = self.since_ns.load(Ordering::Relaxed);
        add(
            &self.spent_ns[usize::from(before)],
            now.saturating_sub(since),
        );
        self.since_ns.store(now, Ordering::Relaxed);
        self.doing.store(phase, Ordering::Relaxed);
        before
    }
}

impl StreamMeter for Gauge {
    fn go_to(&self, phase: Option<Phase>) -> Option<Phase> {
        let before = self.go_to(phase.map_or(BETWEEN, |phase| phase as u8));
        PHASES.get(usize::from(before)).copied()
    }

    fn add_sent(&self, bytes: u64) {
        self.add_sent(bytes);
    }

    fn served_by(&self, session: i32, tcp: Option<Arc<TcpConnection>>) {
        self.served_by(session, tcp);
    }
}

/// Adds to a counter that only this thread writes.
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_do_not_overlap() {
        let gauge = Gauge::default();
        assert_eq!(gauge.doing(), None);
        {
            let _waiting = gauge.enter(Phase::ServerWait);
            assert_eq!(gauge.doing(), Some(Phase::ServerWait));
            {
                let _verifying = gauge.enter(Phase::VerifyWait);
                assert_eq!(gauge.doing(), Some(Phase::VerifyWait));
            }
            assert_eq!(gauge.doing(), Some(Phase::ServerWait));
        }
        assert_eq!(gauge.doing(), None);
        let meter = gauge.meter();
        let phases = meter.server_wait_ns + meter.verify_wait_ns;
        assert!(phases > 0 && phases <= meter.busy_ns, "{meter:?}");
    }

    #[test]
    fn what_a_reader_says_is_taken_out_of_its_span() {
        let gauge = Gauge::default();
        add(&gauge.spent_ns[Phase::Read as usize], 1_000);
        let after = SourceMeter {
            decompress_ns: 300,
            scan_ns: 200,
            read_ns: 400,
            stored_bytes: 7,
            text_bytes: 9,
            ..SourceMeter::default()
        };
        gauge.add_reading(&SourceMeter::default(), &after);
        let meter = gauge.meter();
        assert_eq!(
            (meter.read_ns, meter.decompress_ns, meter.scan_ns),
            (500, 300, 200)
        );
        assert_eq!((meter.stored_bytes, meter.text_bytes), (7, 9));
    }
}
