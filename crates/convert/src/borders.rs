//! Fixed-width fields must begin and end between characters. If one does not, the positions were not counted in bytes
//! of UTF-8, and the row is rejected.

use inrush_rows::chunk::Chunk;
use inrush_rows::reject::RejectCode;
use inrush_scan::{Dialect, PositionUnit, Records};

use super::error::ValueError;
use super::rows::Row;

/// The first field of a row that begins or ends inside a character.
#[derive(Debug)]
pub(super) struct CutField {
    /// Its index among the rows.
    pub row: usize,
    /// The index of the field in the record.
    pub field_index: usize,
    pub error: ValueError,
}

/// The rows with a field that begins or ends inside a character, in order. Records are valid UTF-8 here.
pub(super) fn cut_fields(
    chunk: &Chunk,
    records: &Records,
    dialect: &Dialect,
    rows: &[Row],
) -> Vec<CutField> {
    let is_in_bytes = |unit| unit == PositionUnit::Bytes;
    if !dialect
        .fixed
        .as_ref()
        .is_some_and(|fixed| is_in_bytes(fixed.unit))
    {
        return Vec::new();
    }
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Vec::new();
    };
    let text = chunk.text();
    let begin = records.records[first.record as usize].start as usize;
    let end = records.records[last.record as usize].end as usize;
    if text[begin..end].is_ascii() {
        return Vec::new();
    }
    rows.iter()
        .enumerate()
        .filter_map(|(row, place)| {
            let (field_index, error) = cut_field(text, records, place.record as usize)?;
            Some(CutField {
                row,
                field_index,
                error,
            })
        })
        .collect()
}

/// The first field of a record that begins or ends inside a character.
fn cut_field(text: &[u8], records: &Records, record: usize) -> Option<(usize, ValueError)> {
    let whole = &records.records[record];
    let text = &text[..whole.end as usize];
    (0..records.field_count(record)).find_map(|index| {
        let field = records.field(record, index);
        let (at, verb) = [(field.start, "begins"), (field.end, "ends")]
            .into_iter()
            .find(|(at, _)| is_within_character(text, *at))?;
        Some((index, error(text, whole.start as usize, at, index, verb)))
    })
}

/// True if the byte at `at` continues the character of the byte before it.
fn is_within_character(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80)
}

#[cold]
fn error(text: &[u8], record_start: usize, at: usize, index: usize, verb: &str) -> ValueError {
    let begin = (record_start..at)
        .rev()
        .find(|at| !is_within_character(text, *at))
        .unwrap_or(record_start);
    let character = String::from_utf8_lossy(&text[begin..])
        .chars()
        .next()
        .expect("a byte at least");
    ValueError::new(
        RejectCode::InvalidUtf8,
        format!(
            "field {} {verb} inside the character {character:?}, which is in bytes {} to {} of the \
             record; positions count bytes of UTF-8 here, and the file's positions likely count \
             characters: set fixed_unit = \"characters\" in the format, or fix the positions",
            index + 1,
            begin - record_start + 1,
            begin - record_start + character.len_utf8(),
        ),
    )
}
