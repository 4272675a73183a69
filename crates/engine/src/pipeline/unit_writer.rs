//! Writes the rows of an open unit to the destination, split by split, within the rate of the run.

use arrow_array::RecordBatch;
use inrush_destination::{LoadMethod, UnitStream, Written, WrittenSplits};
use inrush_fault::{self as fault, Fault, FaultPoint};
use inrush_rows::cancel::Stop;
use inrush_rows::pace::{Pace, value_bytes};
use inrush_verdict::Phase;
use tokio::runtime::Runtime;

use crate::error::Error;
use crate::gauge::Gauge;

/// Writes rows into the open unit of a stream.
pub struct UnitWriter<'a> {
    /// The stream, whose unit was begun.
    pub stream: &'a mut dyn UnitStream,
    /// How the unit was begun.
    pub method: LoadMethod,
    /// The stream's gauge.
    pub gauge: &'a Gauge,
    /// The runtime in which it waits for the rate.
    pub runtime: &'a Runtime,
    /// The rate of the run.
    pub pace: &'a Pace,
    /// Asks the run to stop.
    pub stop: &'a Stop,
    /// The fault to cause, for tests.
    pub fault: Option<&'a Fault>,
}

impl UnitWriter<'_> {
    /// Called before the rows of a split.
    pub fn begin_split(&mut self, name: &str) -> Result<(), Error> {
        Ok(self.stream.begin_split(name)?)
    }

    /// Writes the rows of a batch. If a destination finds many faulty rows, it may stop before the last row; it may also stop
    /// once it has refused `refused_max` rows. The caller counts the rejects, and calls again for the rest.
    pub fn write(&mut self, batch: &RecordBatch, refused_max: u64) -> Result<Written, Error> {
        let written = match self.stream.is_metered() {
            true => self.stream.write(batch, refused_max)?,
            false => {
                self.pace(batch);
                let _sending = self.gauge.enter(Phase::SendWait);
                self.stream.write(batch, refused_max)?
            }
        };
        if self.method == LoadMethod::Careful {
            fault::reach(self.fault, FaultPoint::InCarefulCopy);
        }
        Ok(written)
    }

    /// The block that is being filled for the destination, and the size at which it is sent. Rows in the source's own
    /// form may be appended to it. `None` if rows must be written as batches.
    pub fn native_block(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        self.stream.native_block()
    }

    /// Called when the block has this many more rows.
    pub fn appended(&mut self, rows: u64) -> Result<(), Error> {
        Ok(self.stream.appended(rows)?)
    }

    /// Waits until the written rows have passed the steps in the destination. Returns the number of rows that the steps
    /// kept.
    pub fn end_steps(&mut self) -> Result<u64, Error> {
        let _sending = self.gauge.enter(Phase::SendWait);
        Ok(self.stream.end_steps()?)
    }

    /// Called when all rows of the split are written.
    pub fn end_split(&mut self) -> Result<(), Error> {
        Ok(self.stream.end_split()?)
    }

    /// Passes on the records of splits, for a destination that keeps them.
    pub fn record(&mut self, written: WrittenSplits) -> Result<(), Error> {
        Ok(self.stream.record(written)?)
    }

    /// Waits until a batch may be written. The rate limit counts the bytes of its Arrow columns.
    fn pace(&self, batch: &RecordBatch) {
        if self.pace.is_limited() {
            let _paced = self.gauge.enter(Phase::PaceWait);
            let bytes = value_bytes(batch) as usize;
            self.runtime.block_on(self.pace.pass(bytes, self.stop));
        }
    }
}
