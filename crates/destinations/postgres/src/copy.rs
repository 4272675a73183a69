//! COPY: blocks of encoded rows into a table.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::SinkExt;
use inrush_pgclient::ClientError;
use inrush_pgclient::block_socket::{BLOCK_BYTES, Outgoing};
use inrush_rows::cancel::Stop;
use inrush_verdict::Phase;
use tokio_postgres::CopyInSink;

use super::error::PostgresError;
use super::session::Session;

/// Buffers that are exchanged between a stream and its connection, so that no block needs an allocation.
#[derive(Clone, Default)]
pub struct BlockPool {
    free: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl BlockPool {
    /// An empty buffer.
    pub fn take(&self) -> Vec<u8> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.pop()
            .unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 4))
    }

    /// Takes a buffer back, unless a long record has made it very large.
    fn give(&self, mut block: Vec<u8>) {
        if block.capacity() <= 4 * BLOCK_BYTES {
            block.clear();
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.push(block);
        }
    }

    fn lend(&self, block: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent {
            block,
            pool: self.clone(),
        })
    }
}

/// A buffer that is being sent; it returns to the pool afterwards.
struct Lent {
    block: Vec<u8>,
    pool: BlockPool,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.block
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.block));
    }
}

/// Why a COPY ended early.
#[derive(Debug)]
pub enum CopyStop {
    /// The run was asked to stop; the sent rows are rolled back with their transaction.
    Asked,
    /// The server refused, or is gone.
    Failed(PostgresError),
}

/// A COPY under way. Dropping it aborts the COPY, even if a block is half sent; the connection stays usable.
pub struct CopyWriter {
    session: Session,
    /// The driver's sink; `None` once this is dropped.
    sink: Option<Sink>,
    /// The block that is being sent without tokio-postgres.
    outgoing: Option<Outgoing>,
    pool: BlockPool,
    stop: Stop,
    doing: String,
}

type Sink = Pin<Box<CopyInSink<Bytes>>>;

impl CopyWriter {
    /// Begins a COPY by its statement.
    pub async fn begin(
        session: &Session,
        statement: &str,
        pool: BlockPool,
        stop: Stop,
        doing: String,
    ) -> Result<CopyWriter, PostgresError> {
        session.watch.forget_error();
        // The statement waits here for the locks that it needs.
        let _waiting = session.meter.enter(Phase::ServerWait);
        let sink = session
            .client
            .copy_in::<_, Bytes>(statement)
            .await
            .map_err(|error| session.error(error, doing.clone()))?;
        Ok(CopyWriter {
            session: session.clone(),
            sink: Some(Box::pin(sink)),
            outgoing: None,
            pool,
            stop,
            doing,
        })
    }

    /// Sends a block and returns an empty one.
    pub async fn send(&mut self, block: Vec<u8>) -> Result<Vec<u8>, CopyStop> {
        if self.stop.asked().is_some() {
            return Err(CopyStop::Asked);
        }
        if self.session.watch.error_seen() {
            // The server refused an earlier block, so the rest of the file need not be sent.
            return Err(self.refusal().await);
        }
        let meter = &self.session.meter;
        meter.add_sent(block.len() as u64);
        let paced = meter.enter(Phase::PaceWait);
        self.session.pace.pass(block.len(), &self.stop).await;
        drop(paced);
        match self.pass_on(block).await {
            Some(empty) => Ok(empty),
            None => Err(self.refusal().await),
        }
    }

    /// Passes a block to the server and returns an empty one; `None` if the connection accepts no more.
    async fn pass_on(&mut self, block: Vec<u8>) -> Option<Vec<u8>> {
        let meter = &self.session.meter;
        let Some(blocks) = &self.session.blocks else {
            let block = self.pool.lend(block);
            let _sending = meter.enter(Phase::SendWait);
            self.sink.as_mut()?.send(block).await.ok()?;
            return Some(self.pool.take());
        };
        let _sending = meter.enter(Phase::Encode);
        let outgoing = self.outgoing.insert(Outgoing::new(block));
        let sent = blocks.send(outgoing, || meter.enter(Phase::SendWait)).await;
        let outgoing = self.outgoing.take()?;
        if sent.is_err() && outgoing.is_cut() {
            // Only a part of the block was sent, so the server would read the driver's end of the COPY as the rest of
            // the block.
            blocks.close();
        }
        sent.ok()?;
        self.pool.give(outgoing.into_block());
        Some(self.pool.take())
    }

    /// Ends the COPY. Returns the server's own count of its rows.
    pub async fn finish(mut self) -> Result<u64, CopyStop> {
        let meter = Arc::clone(&self.session.meter);
        let _waiting = meter.enter(Phase::SendWait);
        let finished = self.end().await;
        finished.map_err(|error| CopyStop::Failed(self.session.error(error, self.doing.clone())))
    }

    async fn end(&mut self) -> Result<u64, tokio_postgres::Error> {
        match &mut self.sink {
            Some(sink) => sink.as_mut().finish().await,
            None => unreachable!("only a drop takes it"),
        }
    }

    /// The server's error; the driver returns it only when the COPY is ended.
    async fn refusal(&mut self) -> CopyStop {
        match self.end().await {
            Err(error) => CopyStop::Failed(self.session.error(error, self.doing.clone())),
            Ok(_) => {
                let lost = ClientError::Lost {
                    doing: self.doing.clone(),
                    reason: "the server ended the COPY early".to_owned(),
                };
                CopyStop::Failed(lost.into())
            }
        }
    }
}

impl Drop for CopyWriter {
    fn drop(&mut self) {
        let (Some(blocks), Some(outgoing)) = (&self.session.blocks, self.outgoing.take()) else {
            return;
        };
        if !outgoing.is_cut() {
            return;
        }
        // The driver ends the COPY with a message, which must not be sent in the middle of this block. So the rest of
        // the block is sent first, and the session's next statement waits for that.
        let (blocks, sink) = (Arc::clone(blocks), self.sink.take());
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                if blocks.finish(outgoing).await.is_err() {
                    blocks.close();
                }
                drop(sink);
            })),
            Err(_) => blocks.close(),
        }
    }
}
