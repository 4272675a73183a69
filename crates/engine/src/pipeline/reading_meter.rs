//! Reads from a source and measures the cost.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{Chunks, NativeRows, SourceError, SourceMeter};
use inrush_verdict::Phase;

use crate::gauge::Gauge;

/// Adds the cost of reading a source to a stream's gauge, including the cost of opening the source.
pub struct ReadingMeter<'a> {
    gauge: &'a Gauge,
    told: SourceMeter,
}

impl<'a> ReadingMeter<'a> {
    /// Makes a meter for a source that was just opened within [`Phase::Read`]. Opening it may already have read a large
    /// part.
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
        self.keep_pace(source);
        let reading = self.gauge.enter(Phase::Read);
        let chunk = source.next_chunk(records)?;
        drop(reading);
        self.tell(source.meter());
        Ok(chunk)
    }

    /// The next rows in the source's own form.
    pub fn append_rows(
        &mut self,
        source: &mut dyn NativeRows,
        block: &mut Vec<u8>,
        until: usize,
    ) -> Result<Option<u64>, SourceError> {
        self.keep_pace(source);
        let reading = self.gauge.enter(Phase::Read);
        let count = source.append_rows(block, until)?;
        drop(reading);
        self.tell(source.meter());
        Ok(count)
    }

    /// Waiting because of the rate limit does not count as [`Phase::Read`].
    fn keep_pace(&self, source: &mut (impl Chunks + ?Sized)) {
        let _waiting = self.gauge.enter(Phase::PaceWait);
        source.keep_pace();
    }

    fn tell(&mut self, now: SourceMeter) {
        self.gauge.add_reading(&self.told, &now);
        self.told = now;
    }
}
