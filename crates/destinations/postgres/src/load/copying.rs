//! Sends rows to one table: encodes batches into blocks, and sends the blocks by COPY.

use std::borrow::Cow;

use arrow_array::RecordBatch;
use inrush_rows::cancel::Stop;
use inrush_verdict::Phase;

use super::encoder::Encoder;
use crate::Session;
use crate::block_socket::BLOCK_BYTES;
use crate::copy::{BlockPool, CopyWriter};
use crate::fast_copy::{self, KeyEnds};
use crate::load_error::LoadError;
use crate::plan::FlowPlan;

/// A COPY in progress, with the block that is being filled.
pub struct Copying<'a> {
    session: Session,
    statement: Cow<'a, str>,
    stop: Stop,
    doing: String,
    pool: BlockPool,
    encoder: Encoder,
    /// `None` only after a statement between two COPYs has failed.
    writer: Option<CopyWriter>,
    block: Vec<u8>,
    /// Rows that the server counted in finished COPYs.
    counted: u64,
    sent: u64,
    /// The smallest and largest key of each finished COPY; `None` if nobody asks for them.
    keys: Option<Vec<KeyEnds>>,
}

/// The server's answer about the rows that were copied.
#[derive(Debug, Default)]
pub struct Copied {
    /// The server's own count of the rows.
    pub rows: u64,
    /// The smallest and largest key of each COPY, if the extension reports them.
    pub keys: Vec<KeyEnds>,
}

impl<'a> Copying<'a> {
    /// Begins a COPY. `doing` names the source and the table, for errors.
    pub async fn begin(
        session: &Session,
        flow: &FlowPlan,
        statement: Cow<'a, str>,
        pool: BlockPool,
        stop: Stop,
        doing: String,
    ) -> Result<Copying<'a>, LoadError> {
        let encoder = Encoder::new(flow);
        encoder.check(flow)?;
        let (writer, block) = open(session, &statement, &encoder, &pool, &stop, &doing).await?;
        Ok(Copying {
            session: session.clone(),
            statement,
            stop,
            doing,
            pool,
            encoder,
            writer: Some(writer),
            block,
            counted: 0,
            sent: 0,
            keys: None,
        })
    }

    /// Asks the server extension for the smallest and largest key after each COPY.
    pub fn telling_keys(mut self) -> Copying<'a> {
        self.keys = Some(Vec::new());
        self
    }

    /// Sends the rows of a batch.
    pub async fn send(&mut self, batch: &RecordBatch) -> Result<(), LoadError> {
        let encoding = self.session.meter.enter(Phase::Encode);
        self.encoder.encode(batch, &mut self.block)?;
        drop(encoding);
        self.appended(batch.num_rows() as u64).await
    }

    /// The block that is being filled with rows in the binary form of COPY, and the size from which it is sent.
    pub fn block(&mut self) -> (&mut Vec<u8>, usize) {
        (&mut self.block, BLOCK_BYTES)
    }

    /// Counts rows that were appended to the block, and sends it if it is full.
    pub async fn appended(&mut self, rows: u64) -> Result<(), LoadError> {
        self.sent += rows;
        if self.block.len() >= BLOCK_BYTES {
            let block = std::mem::take(&mut self.block);
            let Some(writer) = &mut self.writer else {
                unreachable!("a COPY that was not begun again has ended the load");
            };
            self.block = writer.send(block).await?;
        }
        Ok(())
    }

    /// Ends the COPY, runs a statement, and sends further rows by another COPY.
    pub async fn interrupt(&mut self, statement: &str) -> Result<(), LoadError> {
        self.end_one().await?;
        let _waiting = self.session.meter.enter(Phase::ServerWait);
        self.session.execute(statement, &self.doing).await?;
        let (writer, block) = open(
            &self.session,
            &self.statement,
            &self.encoder,
            &self.pool,
            &self.stop,
            &self.doing,
        )
        .await?;
        self.writer = Some(writer);
        self.block = block;
        Ok(())
    }

    /// Ends the COPY. Fails if the server's count differs from the number of rows sent.
    pub async fn end(mut self) -> Result<Copied, LoadError> {
        self.end_one().await?;
        if self.counted != self.sent {
            let error = LoadError::Count {
                what: format!("the COPY for {}", self.doing),
                counted: self.counted,
                sent: self.sent,
            };
            return Err(error);
        }
        Ok(Copied {
            rows: self.counted,
            keys: self.keys.unwrap_or_default(),
        })
    }

    /// Ends the COPY in progress, and adds the server's count of its rows to the total.
    async fn end_one(&mut self) -> Result<(), LoadError> {
        if let Some(writer) = self.writer.take() {
            let block = std::mem::take(&mut self.block);
            let counted = end(writer, &self.encoder, block).await?;
            self.counted += counted;
            if let Some(keys) = &mut self.keys {
                let _waiting = self.session.meter.enter(Phase::ServerWait);
                let told = fast_copy::last_load(&self.session).await?;
                if told.rows != counted {
                    let error = LoadError::Count {
                        what: format!("the COPY for {}, as the extension remembers it", self.doing),
                        counted: told.rows,
                        sent: counted,
                    };
                    return Err(error);
                }
                keys.push(told);
            }
        }
        Ok(())
    }
}

/// A COPY with its first block, which begins with the header of COPY's data.
async fn open(
    session: &Session,
    statement: &str,
    encoder: &Encoder,
    pool: &BlockPool,
    stop: &Stop,
    doing: &str,
) -> Result<(CopyWriter, Vec<u8>), LoadError> {
    let (pool_of_writer, stop) = (pool.clone(), stop.clone());
    let writer =
        CopyWriter::begin(session, statement, pool_of_writer, stop, doing.to_owned()).await?;
    let mut block = pool.take();
    encoder.begin(&mut block);
    Ok((writer, block))
}

async fn end(
    mut writer: CopyWriter,
    encoder: &Encoder,
    mut block: Vec<u8>,
) -> Result<u64, LoadError> {
    encoder.end(&mut block);
    if !block.is_empty() {
        writer.send(block).await?;
    }
    Ok(writer.finish().await?)
}
