//! Reads from a source and measures the cost.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{Chunks, SourceError, SourceMeter};
use inrush_verdict::Phase;

use crate::gauge::Gauge;

/// Adds the cost of reading a source to a stream's gauge, including that of opening it.
pub struct ReadingMeter<'a> {
    gauge: &'a Gauge,
    told: SourceMeter,
}

impl<'a> ReadingMeter<'a> {
    /// For a source that was just opened within [`Phase::Read`]. Opening it may already have read a large part.
    pub fn new(gauge: &'a Gauge) -> ReadingMeter<'a> {
        ReadingMeter {
            gauge,
            told: SourceMeter::default(),
        }
    }

    /// The next chunk.
    pub fn next_chunk(
        &mut self,
        source: &mut (impl Chunks + ?Sized),
        records: &mut Records,
    ) -> Result<Option<Chunk>, SourceError> {
        let reading = self.gauge.enter(Phase::Read);
        let chunk = source.next_chunk(records)?;
        drop(reading);
        let now = source.meter();
        self.gauge.add_reading(&self.told, &now);
        self.told = now;
        Ok(chunk)
    }
}
