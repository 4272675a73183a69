//! Reads the rows of a reference, once or twice.

use arrow_array::RecordBatch;
use inrush_convert::Converter;
use inrush_scan::Records;
use inrush_source::{ReadSettings, Source, SourceSplit};
use inrush_transform::fold::Folds;
use inrush_transform::lookup::ReferenceFault;

use super::reference::ReadReference;
use crate::error::PlanError;

/// Bytes of text that are read at a time.
const CHUNK_BYTES: usize = 512 << 10;

/// How a reading of all rows ended.
pub enum Read {
    /// All rows were read.
    All,
    /// The rows need more memory than the reference may have.
    TooLarge(ReferenceFault),
}

/// The rows of a reference. If they need more memory than is allowed, they are read a second time and written to disk.
pub struct ReferenceRows<'a> {
    /// The lookup.
    pub reading: &'a ReadReference<'a>,
    /// The name of the reference, for messages.
    pub name: &'a str,
    /// Differences between texts of the key that are ignored.
    pub folds: Folds,
    /// The opened source.
    pub source: &'a dyn Source,
    /// Makes the columns of the reference.
    pub converter: Converter,
}

impl ReferenceRows<'_> {
    /// True if a pipe is among its inputs.
    pub fn is_read_once(&self) -> bool {
        let mut inputs = (0..self.source.input_count()).map(|index| self.source.input(index));
        inputs.any(|input| input.is_read_once())
    }

    /// Reads all rows.
    pub fn each(
        &mut self,
        add: &mut dyn FnMut(&RecordBatch) -> Result<(), ReferenceFault>,
    ) -> Result<Read, PlanError> {
        let mut stream = self.source.open_stream(ReadSettings {
            chunk_bytes: CHUNK_BYTES,
        })?;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        for input in 0..self.source.input_count() {
            for split in self.source.splits(input, u64::MAX)? {
                let whole = SourceSplit {
                    is_shared: false,
                    ..split
                };
                let mut reader = stream.open(&whole)?;
                while let Some(chunk) = reader.next_chunk(&mut records)? {
                    let all = 0..records.len();
                    let batch = self.converter.convert(&chunk, &records, all, &mut rejects);
                    if let Some(reject) = rejects.first() {
                        return Err(self.reading.refused(
                            self.name,
                            &format!("a row cannot be read: {}", reject.summary()),
                            "correct the row, or exclude it with a condition",
                        ));
                    }
                    match add(&batch) {
                        Ok(()) => {}
                        Err(fault @ ReferenceFault::TooLarge { .. }) => {
                            return Ok(Read::TooLarge(fault));
                        }
                        Err(fault) => {
                            return Err(self.reading.fault(self.name, self.folds, &fault));
                        }
                    }
                    drop(batch);
                    reader.recycle(chunk);
                }
            }
        }
        Ok(Read::All)
    }
}
