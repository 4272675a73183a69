//! Batches on their way from a stream's thread to the driver's, bounded in bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// Bytes that wait in a queue at most; one batch may always wait. What waits for long is in no cache any
/// more when the driver takes it.
pub const QUEUE_BYTES_MAX: usize = 1 << 20;

/// Batches that wait.
#[derive(Default)]
pub struct BatchQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    batches: VecDeque<(RecordBatch, usize)>,
    bytes: usize,
    /// No more will come; what waits is taken.
    ended: bool,
    /// What waits is not wanted any more.
    aborted: bool,
    /// Nobody takes any more.
    abandoned: bool,
}

/// Nobody takes batches any more: the driver came to an end before its rows did.
#[derive(Debug, PartialEq, Eq)]
pub struct Abandoned;

impl BatchQueue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a batch into the queue, and waits for room if need be.
    pub fn push(&self, batch: RecordBatch) -> Result<(), Abandoned> {
        let bytes = batch.get_array_memory_size();
        let mut state = self.state();
        loop {
            if state.abandoned || state.aborted {
                return Err(Abandoned);
            }
            if state.batches.is_empty() || state.bytes + bytes <= QUEUE_BYTES_MAX {
                state.bytes += bytes;
                state.batches.push_back((batch, bytes));
                self.changed.notify_all();
                return Ok(());
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that no more will come.
    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Makes the driver's side fail, so that nothing of what was sent is kept.
    pub fn abort(&self) {
        self.state().aborted = true;
        self.changed.notify_all();
    }

    fn next(&self) -> Option<Result<RecordBatch, ArrowError>> {
        let mut state = self.state();
        loop {
            if state.aborted {
                return Some(Err(ArrowError::ExternalError("taken back".into())));
            }
            if let Some((batch, bytes)) = state.batches.pop_front() {
                state.bytes -= bytes;
                self.changed.notify_all();
                return Some(Ok(batch));
            }
            if state.ended {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The end of a queue that a driver reads. Dropped, it lets nobody wait for room.
pub struct QueueReader {
    queue: Arc<BatchQueue>,
    schema: SchemaRef,
}

impl QueueReader {
    /// Of a queue whose batches have this schema.
    pub fn new(queue: Arc<BatchQueue>, schema: SchemaRef) -> QueueReader {
        QueueReader { queue, schema }
    }
}

impl Iterator for QueueReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.queue.next()
    }
}

impl RecordBatchReader for QueueReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for QueueReader {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.abandoned = true;
        state.batches.clear();
        state.bytes = 0;
        drop(state);
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};

    fn batch(rows: usize) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![7; rows]));
        RecordBatch::try_from_iter([("a", column)]).expect("one column")
    }

    fn reader(queue: &Arc<BatchQueue>) -> QueueReader {
        QueueReader::new(queue.clone(), batch(1).schema())
    }

    #[test]
    fn batches_come_in_order_and_end() {
        let queue = Arc::new(BatchQueue::default());
        let taken = std::thread::scope(|scope| {
            let reader = reader(&queue);
            let taker = scope.spawn(move || {
                reader
                    .map(|one| one.map(|one| one.num_rows()))
                    .collect::<Vec<_>>()
            });
            for rows in [1, 4_000_000, 3_000_000, 2] {
                queue.push(batch(rows)).expect("taken");
            }
            queue.end();
            taker.join().expect("no panic")
        });
        let rows: Vec<usize> = taken.into_iter().map(|one| one.expect("a batch")).collect();
        assert_eq!(rows, [1, 4_000_000, 3_000_000, 2]);
    }

    #[test]
    fn nobody_waits_for_a_reader_that_is_gone() {
        let queue = Arc::new(BatchQueue::default());
        let reader = reader(&queue);
        queue.push(batch(4_000_000)).expect("one batch has room");
        std::thread::scope(|scope| {
            let pusher = scope.spawn(|| queue.push(batch(4_000_000)));
            drop(reader);
            assert_eq!(pusher.join().expect("no panic"), Err(Abandoned));
        });
    }

    #[test]
    fn a_reader_fails_when_it_is_taken_back() {
        let queue = Arc::new(BatchQueue::default());
        let mut reader = reader(&queue);
        queue.push(batch(1)).expect("room");
        queue.abort();
        assert!(reader.next().expect("an answer").is_err());
    }
}
