//! The slow machine for fields at fixed positions.
//!
//! 1. A record is a line, or a declared number of bytes. The last record of a file may be incomplete.
//! 2. A record that is shorter or longer than declared is a fault, unless the dialect allows missing or extra fields.
//!    If lines end with `\n` or `\r\n`, any other `\r` is also a fault.
//! 3. A field is the text at its position; in a short record, the part of it that exists. A field whose position is
//!    beyond the record is listed as empty at the record's end.

use crate::dialect::{Dialect, ExtraFields, MissingFields};
use crate::error::TextEnd;
use crate::fixed_width::{FixedWidth, PositionUnit, RecordEnd};
use crate::found_record::FoundRecord;
use crate::records::FaultKind;
use crate::terminator::Terminator;

/// The record at `start`; `None` if more text is needed to find its end.
pub(crate) fn find_fixed_record(
    dialect: &Dialect,
    fixed: &FixedWidth,
    text: &[u8],
    start: usize,
    end: TextEnd,
) -> Option<FoundRecord> {
    let rest = &text[start..];
    let (bytes, terminator_bytes) = match fixed.record {
        RecordEnd::Bytes(bytes) => (rest.len().min(bytes as usize), 0),
        RecordEnd::Line { .. } => {
            let is_end = |at: &usize| dialect.terminator.bytes_at(&rest[*at..]) > 0;
            let bytes = (0..rest.len()).find(is_end).unwrap_or(rest.len());
            (bytes, dialect.terminator.bytes_at(&rest[bytes..]))
        }
    };
    let is_whole = match fixed.record {
        RecordEnd::Bytes(declared) => bytes == declared as usize,
        RecordEnd::Line { .. } => terminator_bytes > 0,
    };
    if !is_whole && end != TextEnd::File {
        return None;
    }
    let record = &rest[..bytes];
    // The first byte of every unit, and the end of the record.
    let mut units: Vec<usize> = (0..bytes)
        .filter(|at| match fixed.unit {
            PositionUnit::Bytes => true,
            PositionUnit::Characters => *at == 0 || record[*at] & 0xC0 != 0x80,
        })
        .collect();
    let length = units.len() as u64;
    units.push(bytes);
    let place = |unit: u64| start + units[unit.min(length) as usize];
    let is_short =
        length < fixed.record_length() && dialect.missing_fields == MissingFields::Reject;
    let is_long = length > fixed.record_length() && dialect.extra_fields == ExtraFields::Reject;
    let bare_return = record.iter().position(|byte| *byte == b'\r');
    let fault = match (bare_return, fixed.record, dialect.terminator) {
        (Some(at), RecordEnd::Line { .. }, Terminator::Any) => {
            Some((FaultKind::BareCarriageReturn, start + at))
        }
        _ if is_short => Some((FaultKind::RecordLength, start + bytes)),
        _ if is_long => Some((FaultKind::RecordLength, place(fixed.record_length()))),
        _ => None,
    };
    let fields = fixed.fields.iter();
    Some(FoundRecord {
        end: start + bytes,
        next: start + bytes + terminator_bytes,
        ends_line: is_whole,
        field_starts: fields.clone().map(|f| place(f.start.into())).collect(),
        field_ends: fields.map(|f| place(f.end())).collect(),
        fault,
    })
}
