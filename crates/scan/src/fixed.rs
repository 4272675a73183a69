//! The machine for fields at declared positions. The masks mark possible line ends; the positions of a record's fields
//! follow from its first byte. `reference_fixed` defines the result.

use crate::dialect::{Dialect, ExtraFields, MissingFields};
use crate::error::{Scan, ScanError, TextEnd};
use crate::fixed_width::{FixedWidth, PositionUnit, RecordEnd};
use crate::masks::{BLOCK_BYTES, Masks};
use crate::records::{Fault, FaultKind, Record, Records};
use crate::terminator::Terminator;

/// The state between two lines, and the result so far.
pub(crate) struct FixedMachine<'a> {
    dialect: &'a Dialect,
    fixed: &'a FixedWidth,
    text: &'a [u8],
    records: &'a mut Records,
    /// First byte of the open record.
    start: u32,
    /// The first carriage return of the open record that ends no line, if the dialect makes that a fault.
    bare_return: Option<u32>,
    /// The offset of each character's first byte in a record. It is kept here so that its memory is reused.
    characters: Vec<u32>,
}

impl<'a> FixedMachine<'a> {
    pub(crate) fn new(
        dialect: &'a Dialect,
        text: &'a [u8],
        records: &'a mut Records,
    ) -> FixedMachine<'a> {
        let fixed = dialect.fixed.as_ref();
        FixedMachine {
            dialect,
            fixed: fixed.expect("the scanner takes this machine where positions are declared"),
            text,
            records,
            start: 0,
            bare_return: None,
            characters: Vec::new(),
        }
    }

    /// Processes the masks of the blocks that begin at `base`.
    pub(crate) fn take(&mut self, base: u32, masks: &[Masks]) -> Result<(), ScanError> {
        if let RecordEnd::Bytes(_) = self.fixed.record {
            return Ok(());
        }
        let terminator = self.dialect.terminator;
        let mut base = base;
        for masks in masks {
            let mut bits = masks.newlines;
            if terminator == Terminator::Any {
                bits |= masks.returns;
            }
            while bits != 0 {
                let position = base + bits.trailing_zeros();
                bits &= bits - 1;
                if position < self.start {
                    continue;
                }
                let terminator_bytes = terminator.bytes_at(&self.text[position as usize..]);
                if terminator_bytes > 0 {
                    self.end_line(position, terminator_bytes as u32)?;
                } else if terminator == Terminator::Any {
                    self.bare_return.get_or_insert(position);
                }
            }
            base = base.wrapping_add(BLOCK_BYTES as u32);
        }
        Ok(())
    }

    /// Ends the line at `end`, the position of its terminator or the end of the text.
    fn end_line(&mut self, end: u32, terminator_bytes: u32) -> Result<(), ScanError> {
        self.check_length(end, end)?;
        let next = end + terminator_bytes;
        if self.dialect.comment == Some(self.text[self.start as usize]) {
            self.records.comment_count += 1;
        } else if end == self.start && !self.dialect.blank_is_record() {
            self.records.blank_count += 1;
        } else {
            self.push_record(end);
        }
        self.records.line_count += match self.dialect.line_byte() {
            Some(line_byte) => {
                let bytes = &self.text[self.start as usize..next as usize];
                bytes.iter().filter(|byte| **byte == line_byte).count() as u32
            }
            None => u32::from(terminator_bytes > 0),
        };
        self.start = next;
        self.bare_return = None;
        Ok(())
    }

    fn push_record(&mut self, end: u32) {
        let start = self.start;
        let bytes = &self.text[start as usize..end as usize];
        let is_characters = self.fixed.unit == PositionUnit::Characters && !bytes.is_ascii();
        if is_characters {
            let starts = bytes.iter().enumerate();
            let starts = starts.filter(|(at, byte)| *at == 0 || **byte & 0xC0 != 0x80);
            self.characters.clear();
            self.characters
                .extend(starts.map(|(at, _)| start + at as u32));
        }
        let length = match is_characters {
            true => self.characters.len() as u64,
            false => bytes.len() as u64,
        };
        // The offset at which a unit begins; past the end of the record, the offset of its end.
        let place = |unit: u64| match is_characters {
            true => self.characters.get(unit as usize).copied().unwrap_or(end),
            false => start + unit.min(length) as u32,
        };
        let declared = self.fixed.record_length();
        let is_short = length < declared && self.dialect.missing_fields == MissingFields::Reject;
        let is_long = length > declared && self.dialect.extra_fields == ExtraFields::Reject;
        let fault = if let Some(position) = self.bare_return {
            Some((FaultKind::BareCarriageReturn, position))
        } else if is_short {
            Some((FaultKind::RecordLength, end))
        } else if is_long {
            Some((FaultKind::RecordLength, place(declared)))
        } else {
            None
        };
        if let Some((kind, position)) = fault {
            self.records.faults.push(Fault {
                record_index: self.records.records.len() as u32,
                kind,
                position,
            });
        }
        self.records.records.push(Record {
            start,
            end,
            line: self.records.line_count,
            first_field: self.records.field_ends.len() as u32,
            escaped: false,
        });
        let fields = self.fixed.fields.iter();
        let starts = fields.clone().map(|field| place(field.start.into()));
        self.records.field_starts.extend(starts);
        self.records
            .field_ends
            .extend(fields.map(|field| place(field.end())));
    }

    /// Called after the last block.
    pub(crate) fn finish(mut self, text_end: TextEnd) -> Result<Scan, ScanError> {
        let end = self.text.len() as u32;
        if let RecordEnd::Bytes(bytes) = self.fixed.record {
            while end - self.start >= bytes {
                self.check_length(self.start + bytes, self.start + bytes)?;
                self.push_record(self.start + bytes);
                self.records.line_count += 1;
                self.start += bytes;
            }
        }
        if self.start < end {
            if text_end == TextEnd::File {
                self.end_last(end)?;
            } else {
                let rest = &self.text[self.start as usize..];
                let begun_bytes = self.dialect.terminator.begun_bytes(rest);
                self.check_length(end - begun_bytes as u32, end)?;
            }
        }
        Ok(Scan {
            bytes_consumed: self.start as usize,
        })
    }

    /// Ends the text after the last terminator.
    fn end_last(&mut self, end: u32) -> Result<(), ScanError> {
        match self.fixed.record {
            RecordEnd::Line { .. } => self.end_line(end, 0),
            RecordEnd::Bytes(_) => {
                self.check_length(end, end)?;
                self.push_record(end);
                self.start = end;
                Ok(())
            }
        }
    }

    /// Checks that the open record may extend to `end`; `seen_end` is the end of the scanned part.
    fn check_length(&self, end: u32, seen_end: u32) -> Result<(), ScanError> {
        self.records
            .check_length(self.dialect, self.text, self.start..end, seen_end)
    }
}
