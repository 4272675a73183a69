//! Reading, with its cost.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{Chunks, SourceError, SourceMeter};
use inrush_verdict::Phase;

use crate::gauge::Gauge;

/// Adds the cost of a source to a stream's gauge, from its opening on.
pub struct ReadingMeter<'a> {
    gauge: &'a Gauge,
    told: SourceMeter,
}

impl<'a> ReadingMeter<'a> {
    /// For a source that was just opened, in a span of [`Phase::Read`]: opening it may already have read a good part.
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
