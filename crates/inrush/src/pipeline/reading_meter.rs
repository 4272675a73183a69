//! Reading, with what it costs.

use inrush_scan::Records;
use inrush_verdict::Phase;

use crate::chunk::Chunk;
use crate::gauge::Gauge;
use crate::source::{Chunks, SourceError};

/// The next chunk of a source, whose cost goes to a stream's gauge.
pub fn read_chunk(
    gauge: &Gauge,
    source: &mut impl Chunks,
    records: &mut Records,
) -> Result<Option<Chunk>, SourceError> {
    let before = source.meter();
    let reading = gauge.enter(Phase::Read);
    let chunk = source.next_chunk(records)?;
    drop(reading);
    gauge.add_reading(&before, &source.meter());
    Ok(chunk)
}
