//! A running ingest: the driver takes batches on a separate thread.

use std::sync::Arc;
use std::thread::JoinHandle;

use adbc_core::error::{Error as AdbcError, Status};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use inrush_destination::{Error, Result};

use crate::connection::{IngestName, Taker};
use crate::interrupt::Interrupt;
use crate::queue::{Abandoned, BatchQueue, QueueReader};
use crate::session::AdbcSession;

const DOING: &str = "cannot add rows to staging";

/// A running ingest. If it is dropped before its end, its rows are discarded.
pub struct Ingest {
    queue: Arc<BatchQueue>,
    worker: Option<JoinHandle<std::result::Result<Option<i64>, AdbcError>>>,
}

impl Ingest {
    /// Begins an ingest.
    pub fn begin(
        session: &mut AdbcSession,
        interrupt: &Interrupt,
        into: &IngestName,
        schema: &SchemaRef,
    ) -> Result<Ingest> {
        let (queue, reader) = Ingest::queue(interrupt, schema);
        Ingest::start(queue, session.ingest(into, reader)?)
    }

    /// Begins an ingest by the statement that `insert` returns. The argument of `insert` is the name of the rows.
    pub fn begin_by(
        session: &mut AdbcSession,
        interrupt: &Interrupt,
        insert: &dyn Fn(&str) -> String,
        schema: &SchemaRef,
    ) -> Result<Ingest> {
        let (queue, reader) = Ingest::queue(interrupt, schema);
        Ingest::start(queue, session.ingest_by(insert, reader)?)
    }

    fn queue(interrupt: &Interrupt, schema: &SchemaRef) -> (Arc<BatchQueue>, QueueReader) {
        let queue = Arc::new(BatchQueue::default());
        interrupt.watch_queue(&queue);
        let reader = QueueReader::new(queue.clone(), schema.clone());
        (queue, reader)
    }

    fn start(queue: Arc<BatchQueue>, taker: Taker) -> Result<Ingest> {
        let worker = std::thread::Builder::new()
            .name("inrush-ingest".to_owned())
            .spawn(taker)
            .map_err(|error| Error::Refused {
                doing: DOING.to_owned(),
                message: format!("no thread can be started: {error}"),
                hint: Some("raise the limit of processes and threads (ulimit -u)".to_owned()),
            })?;
        Ok(Ingest {
            queue,
            worker: Some(worker),
        })
    }

    /// Passes on a batch. An error of the driver is returned by this function or by [`Ingest::finish`].
    pub fn push(&mut self, session: &AdbcSession, batch: RecordBatch) -> Result<()> {
        match self.queue.push(batch) {
            Ok(()) => Ok(()),
            Err(Abandoned) => Err(match self.join() {
                Err(error) => session.refused(DOING, &error),
                // DuckDB's driver treats an error of the reader as the end of its rows.
                Ok(_) if session.is_interrupted() => Error::Interrupted,
                Ok(_) => Error::Refused {
                    doing: DOING.to_owned(),
                    message: "the driver stopped before all rows were sent".to_owned(),
                    hint: None,
                },
            }),
        }
    }

    /// Ends the ingest. Returns the number of rows, if the driver counts them.
    pub fn finish(mut self, session: &AdbcSession) -> Result<Option<u64>> {
        self.queue.end();
        let counted = self
            .join()
            .map_err(|error| session.refused(DOING, &error))?;
        if session.is_interrupted() {
            return Err(Error::Interrupted);
        }
        Ok(counted.and_then(|rows| u64::try_from(rows).ok()))
    }

    fn join(&mut self) -> std::result::Result<Option<i64>, AdbcError> {
        let Some(worker) = self.worker.take() else {
            return Ok(None);
        };
        worker.join().unwrap_or_else(|_| {
            let message = "the driver's thread panicked";
            Err(AdbcError::with_message_and_status(
                message,
                Status::Internal,
            ))
        })
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.queue.abort();
        // The result of the ingest does not matter any more.
        let _ = self.join();
    }
}
