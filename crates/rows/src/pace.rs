//! The pace of a load: a requested rate, and pauses while a server's replicas catch up.
//!
//! Every block or batch of every stream passes here before it is sent. The rows of a source with a rate limit pass here
//! after they are received. The pipeline decides when to pause, and why.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use tokio::sync::watch;
use tokio::time::sleep_until;

use crate::cancel::Stop;

/// The longest sleep of a thread that may be asked to stop meanwhile.
const NAP: Duration = Duration::from_millis(50);

/// The rate limit and the pauses of all streams of a run. Without a limit, blocks pass at once.
#[derive(Debug)]
pub struct Pace {
    /// Bytes in a second, for all streams together.
    rate_bytes_max: Option<u64>,
    /// The moment at which the next block may be sent.
    next: Mutex<Option<Instant>>,
    paused: watch::Sender<bool>,
    waited_ns: AtomicU64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::new(None)
    }
}

impl Pace {
    /// A pace with this rate limit, in bytes per second.
    pub fn new(rate_bytes_max: Option<u64>) -> Pace {
        Pace {
            rate_bytes_max,
            next: Mutex::default(),
            paused: watch::Sender::new(false),
            waited_ns: AtomicU64::new(0),
        }
    }

    /// True if there is a rate limit.
    pub fn is_limited(&self) -> bool {
        self.rate_bytes_max.is_some()
    }

    /// This pace, if there is a rate limit.
    pub fn if_limited(self: &Arc<Pace>) -> Option<&Arc<Pace>> {
        self.is_limited().then_some(self)
    }

    /// The rate limit, in bytes per second.
    pub fn rate_bytes_max(&self) -> Option<u64> {
        self.rate_bytes_max
    }

    /// Stops all blocks, or lets them pass again.
    pub fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Waits until a block may be sent. Returns at once if the run is asked to stop: the sender checks for that too.
    pub async fn pass(&self, block_bytes: usize, stop: &Stop) {
        if self.rate_bytes_max.is_none() && !*self.paused.borrow() {
            return;
        }
        let begun = Instant::now();
        let mut paused = self.paused.subscribe();
        tokio::select! {
            biased;
            _ = stop.wait() => return,
            _ = paused.wait_for(|paused| !paused) => {}
        }
        if let Some(moment) = self.turn(block_bytes, Instant::now()) {
            tokio::select! {
                biased;
                _ = stop.wait() => return,
                () = sleep_until(moment.into()) => {}
            }
        }
        self.add_waited(begun);
    }

    /// Like [`pass`](Pace::pass), for a thread without a runtime. Only the rate limit applies, not the pauses.
    pub fn pass_on_thread(&self, block_bytes: usize, stop: &Stop) {
        let begun = Instant::now();
        let Some(moment) = self.turn(block_bytes, begun) else {
            return;
        };
        while stop.asked().is_none() {
            let left = moment.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                break;
            }
            std::thread::sleep(left.min(NAP));
        }
        self.add_waited(begun);
    }

    fn add_waited(&self, begun: Instant) {
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waited_ns.fetch_add(waited, Ordering::Relaxed);
    }

    /// The time at which a block that arrives now may be sent. Unused time is not saved up, so no burst follows a
    /// pause.
    fn turn(&self, block_bytes: usize, now: Instant) -> Option<Instant> {
        let rate = self.rate_bytes_max?;
        let length = Duration::from_secs_f64(block_bytes as f64 / rate as f64);
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let moment = next.map_or(now, |next| next.max(now));
        *next = Some(moment + length);
        (moment > now).then_some(moment)
    }

    /// The time that all streams together have waited here.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns.load(Ordering::Relaxed))
    }
}

/// Bytes of a batch's values in their Arrow buffers. A rate limit counts them if rows are passed on as batches.
pub fn value_bytes(batch: &RecordBatch) -> u64 {
    let bytes = batch.columns().iter().map(|column| {
        // No column has more bytes than the type can count.
        let own = column.to_data().get_slice_memory_size().unwrap_or(0);
        own + long_text_bytes(column)
    });
    bytes.sum::<usize>() as u64
}

/// Bytes of texts and binary values outside their views; Arrow counts only the views of such columns.
fn long_text_bytes(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::StopReason;

    #[test]
    fn blocks_take_turns_at_the_rate() {
        let pace = Pace::new(Some(1_000));
        let now = Instant::now();
        assert_eq!(pace.turn(500, now), None);
        assert_eq!(pace.turn(500, now), Some(now + Duration::from_millis(500)));
        assert_eq!(pace.turn(1, now), Some(now + Duration::from_secs(1)));
        // Nothing was sent for a while: the next block passes at once, and the one after it waits.
        let later = now + Duration::from_secs(9);
        assert_eq!(pace.turn(500, later), None);
        assert_eq!(
            pace.turn(1, later),
            Some(later + Duration::from_millis(500))
        );
    }

    #[test]
    fn a_slice_counts_its_own_values() {
        let column: ArrayRef =
            std::sync::Arc::new(arrow_array::Int64Array::from_iter_values(0..1_000));
        let batch = RecordBatch::try_from_iter([("n", column)]).expect("a batch");
        assert_eq!(value_bytes(&batch), 8_000);
        assert_eq!(value_bytes(&batch.slice(10, 100)), 800);
    }

    #[test]
    fn long_texts_count_with_their_views() {
        let texts = ["short", "longer than a view", "just as long text "];
        let column: ArrayRef =
            std::sync::Arc::new(arrow_array::StringViewArray::from_iter_values(texts));
        let batch = RecordBatch::try_from_iter([("text", column)]).expect("a batch");
        assert_eq!(value_bytes(&batch), 3 * 16 + 2 * 18);
        assert_eq!(value_bytes(&batch.slice(0, 2)), 2 * 16 + 18);
    }

    #[tokio::test]
    async fn a_stop_ends_every_wait() {
        let stop = Stop::default();
        stop.ask(StopReason::Interrupted);
        let pace = Pace::new(Some(1));
        pace.pause(true);
        for _ in 0..3 {
            pace.pass(1 << 20, &stop).await;
        }
    }

    #[test]
    fn a_thread_waits_for_its_turn_until_a_stop_is_asked() {
        let pace = Pace::new(Some(1_000_000));
        let stop = Stop::default();
        let begun = Instant::now();
        pace.pass_on_thread(20_000, &stop);
        pace.pass_on_thread(1, &stop);
        assert!(begun.elapsed() >= Duration::from_millis(20));
        // Bytes for an hour at this rate.
        pace.pass_on_thread(3_600_000_000, &stop);
        stop.ask(StopReason::Interrupted);
        pace.pass_on_thread(1, &stop);
    }

    #[tokio::test]
    async fn a_pause_ends() {
        let pace = Pace::default();
        pace.pause(true);
        let stop = Stop::default();
        tokio::join!(pace.pass(1, &stop), async { pace.pause(false) });
        assert!(pace.waited() > Duration::ZERO);
    }
}
