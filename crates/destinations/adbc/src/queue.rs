//! The queue of batches from a stream's thread to the driver's thread, limited in bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// The most bytes that wait in a queue; one batch may always wait. A batch that waits long has left the CPU's caches
/// before the driver takes it.
pub const QUEUE_BYTES_MAX: usize = 1 << 20;

/// Waiting batches.
#[derive(Default)]
pub struct BatchQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    batches: VecDeque<(RecordBatch, usize)>,
    bytes: usize,
    /// No more batches will come; the waiting ones are still taken.
    ended: bool,
    /// The waiting batches are not wanted any more.
    aborted: bool,
    /// The reader is gone.
    abandoned: bool,
}

/// The reader is gone: the driver has ended before it has taken all rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Abandoned;

impl BatchQueue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch, and waits for room if there is none.
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

    /// Ends the queue: no more batches will come.
    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Makes the driver's ingest fail, so that no row is kept.
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

/// The reader of a queue, for a driver. When it is dropped, nobody waits for room any more.
pub struct QueueReader {
    queue: Arc<BatchQueue>,
    schema: SchemaRef,
}

impl QueueReader {
    /// The reader of a queue whose batches have this schema.
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
