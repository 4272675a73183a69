//! Writes batches into one table by INSERT BULK. A message of rows begins with the first batch and ends when the caller
//! ends it.

use std::collections::BTreeSet;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use inrush_destination::{Error, Misfit, Result};
use inrush_tds::{BulkEncoder, EncodeError, PacketSize};

use crate::bulk_target::BulkTarget;
use crate::connection::{self, SqlSession};

/// Whole packets are sent when they have at least this many bytes.
const SEND_BYTES: usize = 256 << 10;

/// Writes batches into one table.
pub struct BulkWriter {
    target: BulkTarget,
    /// The step, for errors.
    doing: String,
    encoder: BulkEncoder,
    sent_rows: u64,
    /// INSERT BULK was run, and the server waits for packets.
    is_begun: bool,
}

impl BulkWriter {
    /// A writer that has sent nothing.
    pub fn new(target: BulkTarget, doing: String, packet_size: PacketSize) -> BulkWriter {
        BulkWriter {
            encoder: BulkEncoder::new(target.columns.clone(), packet_size),
            target,
            doing,
            sent_rows: 0,
            is_begun: false,
        }
    }

    /// The rows that were encoded.
    pub fn sent_rows(&self) -> u64 {
        self.sent_rows
    }

    /// Writes the rows that fit, and returns the others.
    pub fn write(&mut self, session: &mut SqlSession, batch: &RecordBatch) -> Result<Vec<Misfit>> {
        if !self.is_begun {
            session
                .bulk()
                .begin_bulk_load(&self.target.statement)
                .map_err(|error| connection::refused(&self.doing, error))?;
            self.encoder.begin();
            self.is_begun = true;
        }
        let misfits = self.encode(batch)?;
        if self.encoder.ready().len() >= SEND_BYTES {
            self.send(session)?;
        }
        Ok(misfits)
    }

    /// Ends the message of rows, if there is one. Returns the server's count.
    pub fn end(&mut self, session: &mut SqlSession) -> Result<u64> {
        if !self.is_begun {
            return Ok(0);
        }
        self.encoder.end();
        self.send(session)?;
        self.is_begun = false;
        session
            .bulk()
            .end_bulk_load()
            .map_err(|error| connection::refused(&self.doing, error))
    }

    /// Sends the complete packets; at the end of a message, all of its packets.
    fn send(&mut self, session: &mut SqlSession) -> Result<()> {
        let sent = session.bulk().send(self.encoder.ready());
        self.encoder.clear_ready();
        sent.map_err(|error| connection::refused(&self.doing, error))
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Misfit>> {
        let doing = &self.doing;
        let unconverted = |message: String| Error::Refused {
            doing: doing.clone(),
            message,
            hint: None,
        };
        let places = &self.target.places;
        let batch = batch.project(places);
        let batch = batch.map_err(|error| unconverted(error.to_string()))?;
        match self.encoder.encode(&batch) {
            Ok(()) => {
                self.sent_rows += batch.num_rows() as u64;
                return Ok(Vec::new());
            }
            Err(EncodeError::Value(_)) => {}
            Err(error) => return Err(unconverted(error.to_string())),
        }
        let found = self.encoder.misfits(&batch);
        let found = found.map_err(|error| unconverted(error.to_string()))?;
        let mut misfits: Vec<Misfit> = Vec::new();
        for misfit in found {
            // One fault of a row is reported: the first.
            if misfits.last().is_none_or(|last| last.row != misfit.row) {
                misfits.push(Misfit {
                    row: misfit.row,
                    column: places[misfit.column_index],
                    reason: format!(
                        "does not fit into its column of SQL Server: {}",
                        misfit.fault
                    ),
                });
            }
        }
        let left_out: BTreeSet<usize> = misfits.iter().map(|misfit| misfit.row).collect();
        let fits: BooleanArray = (0..batch.num_rows())
            .map(|row| Some(!left_out.contains(&row)))
            .collect();
        let rest = filter_record_batch(&batch, &fits);
        let rest = rest.map_err(|error| unconverted(error.to_string()))?;
        if rest.num_rows() > 0 {
            let encoded = self.encoder.encode(&rest);
            encoded.map_err(|error| unconverted(error.to_string()))?;
        }
        self.sent_rows += rest.num_rows() as u64;
        Ok(misfits)
    }
}
