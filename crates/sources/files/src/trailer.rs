//! Trailer records: removed from the rows as they are read, and kept for the check before the switch.

use inrush_rows::chunk::Chunk;
use inrush_rows::location::Location;
use inrush_scan::Records;
use inrush_source::SourceError;

/// Looks for the trailer of a file while it is read.
pub(super) struct TrailerCatch {
    starts_with: Vec<u8>,
    found: Option<(String, Location)>,
}

impl TrailerCatch {
    /// Looks for a last record that begins with this text.
    pub(super) fn new(starts_with: &str) -> TrailerCatch {
        TrailerCatch {
            starts_with: starts_with.as_bytes().to_vec(),
            found: None,
        }
    }

    /// Removes the last record of a chunk if it is a trailer. Returns how many were removed. A record after the trailer
    /// is an error. An earlier record of the chunk that begins like a trailer is a row.
    pub(super) fn take_from(
        &mut self,
        chunk: &mut Chunk,
        records: &mut Records,
    ) -> Result<u64, SourceError> {
        let Some(last) = records.records.last().copied() else {
            return Ok(0);
        };
        if let Some((_, location)) = &self.found {
            return Err(SourceError::TrailerNotLast {
                location: location.clone(),
            });
        }
        let text = chunk.record_text(&last);
        if !text.starts_with(&self.starts_with) {
            return Ok(0);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        self.found = Some((text, chunk.location(last.start, last.line)));
        let index = records.records.len() as u32 - 1;
        records.records.pop();
        records.field_ends.truncate(last.first_field as usize);
        records.field_starts.truncate(last.first_field as usize);
        records.faults.retain(|fault| fault.record_index != index);
        chunk.invalid_utf8.retain(|record| *record != index);
        Ok(1)
    }

    /// The trailer that was found since the last call.
    pub(super) fn take(&mut self) -> Option<String> {
        self.found.take().map(|(text, _)| text)
    }
}
