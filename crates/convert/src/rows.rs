//! Selects the records of a chunk that become rows of a batch, and rejects the others. So faults in the form of a
//! record are found before any of its values is converted.

use std::ops::Range;
use std::sync::Arc;

use inrush_rows::chunk::Chunk;
use inrush_rows::encoding::TextEncoding;
use inrush_rows::reject::{Reject, RejectCode, VALUE_BYTES_MAX};
use inrush_rows::typed_rows::TypedRows;
use inrush_scan::{
    Dialect, ExtraFields, Fault, FaultKind, FixedWidth, MissingFields, PositionUnit, Record,
    RecordEnd, Records, ShortText, decode_field,
};

use super::error::ValueError;

/// A record that takes part in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Row {
    /// Index in the scan's records.
    pub record: u32,
    /// The index of its first field in the scan's list of field ends.
    pub first_field: u32,
}

/// A reject and its record, until all rejects of a batch are put in order.
pub(super) struct PendingReject {
    pub record: u32,
    pub reject: Reject,
}

/// Properties of a batch's rows, other than the positions of their fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Selected {
    /// True if any row contains a quote or an escape.
    pub any_escaped: bool,
    /// True if any row may lack fields.
    pub any_ragged: bool,
}

/// Selects the well-formed rows of `range` into `rows`.
pub(super) fn select(
    chunk: &Chunk,
    records: &Records,
    range: Range<usize>,
    dialect: &Dialect,
    field_count: usize,
    rows: &mut Vec<Row>,
    pending: &mut Vec<PendingReject>,
) -> Selected {
    rows.clear();
    let fills_missing = dialect.missing_fields == MissingFields::Null;
    // Records with fixed positions list all fields, also those beyond their end.
    let mut any_ragged = fills_missing && dialect.fixed.is_some();
    let (faults, any_fault) = from_range(&records.faults, |fault| fault.record_index, &range);
    let (invalid, any_invalid) = from_range(&chunk.invalid_utf8, |record| *record, &range);
    if !any_fault
        && !any_invalid
        && let Some(any_escaped) = select_regular(records, range.clone(), field_count, rows)
    {
        return Selected {
            any_escaped,
            any_ragged,
        };
    }
    rows.clear();
    let mut faults = faults.iter().peekable();
    let mut invalid = invalid.iter().peekable();
    let mut any_escaped = false;
    for index in range {
        let record = &records.records[index];
        let is_fault = faults
            .peek()
            .is_some_and(|fault| fault.record_index as usize == index);
        let is_invalid = invalid
            .peek()
            .is_some_and(|record| **record as usize == index);
        let found = records.field_count(index);
        let is_ragged = found < field_count && fills_missing;
        let fits = found == field_count
            || is_ragged
            || found > field_count && dialect.extra_fields == ExtraFields::Ignore;
        if is_fault || is_invalid || !fits {
            let error = if is_invalid {
                utf8_error(
                    &chunk.text()[record.start as usize..record.end as usize],
                    chunk.encoding().map(TextEncoding::name),
                    dialect,
                )
            } else if let (true, Some(fault)) = (is_fault, faults.peek()) {
                fault_error(fault, record, dialect)
            } else {
                field_count_error(chunk, records, index, dialect, field_count)
            };
            if is_fault {
                faults.next();
            }
            if is_invalid {
                invalid.next();
            }
            pending.push(PendingReject {
                record: index as u32,
                reject: reject(chunk, records, index as u32, None, error),
            });
            continue;
        }
        any_escaped |= record.escaped;
        any_ragged |= is_ragged;
        rows.push(Row {
            record: index as u32,
            first_field: record.first_field,
        });
    }
    Selected {
        any_escaped,
        any_ragged,
    }
}

/// Selects all records of a range if each of them has the right number of fields; returns `None` otherwise. True if any
/// of them contains a quote or an escape.
fn select_regular(
    records: &Records,
    range: Range<usize>,
    field_count: usize,
    rows: &mut Vec<Row>,
) -> Option<bool> {
    let mut any_escaped = false;
    let selected = &records.records[range.clone()];
    let mut expected = selected.first().map_or(0, |first| first.first_field);
    let mut differences = 0;
    let indexed = selected.iter().zip(range.start as u32..);
    rows.extend(indexed.map(|(record, index)| {
        any_escaped |= record.escaped;
        // If each record has the right number of fields, each begins that many fields after the previous one.
        differences |= record.first_field ^ expected;
        expected = expected.wrapping_add(field_count as u32);
        Row {
            record: index,
            first_field: record.first_field,
        }
    }));
    let is_regular =
        differences == 0 && (range.is_empty() || records.field_count(range.end - 1) == field_count);
    is_regular.then_some(any_escaped)
}

/// The part of a sorted list that begins at the start of `range`, and whether any of its records is in `range`.
fn from_range<'a, T>(
    list: &'a [T],
    record_index: impl Fn(&T) -> u32,
    range: &Range<usize>,
) -> (&'a [T], bool) {
    let first = list.partition_point(|item| (record_index(item) as usize) < range.start);
    let rest = &list[first..];
    let any = rest
        .first()
        .is_some_and(|item| (record_index(item) as usize) < range.end);
    (rest, any)
}

/// The reject of a record; `at` is the column at fault and its field, if there is one.
pub(super) fn reject(
    chunk: &Chunk,
    records: &Records,
    record_index: u32,
    at: Option<(&Arc<str>, Option<Range<usize>>)>,
    error: ValueError,
) -> Reject {
    let record = &records.records[record_index as usize];
    let text = chunk.text();
    Reject {
        location: chunk.location(record.start, record.line),
        column: at.as_ref().map(|(column, _)| Arc::clone(column)),
        value: at
            .and_then(|(_, field)| field)
            .map(|field| shortened(&text[field])),
        code: error.code,
        reason: error.reason,
        raw: chunk
            .original(record.start as usize..record.end as usize)
            .to_vec(),
        encoding: chunk.encoding(),
        of_target: false,
    }
}

/// The reject of a row of typed values; `at` is the column at fault and the number of its field, if there is one.
pub(super) fn typed_reject(
    chunk: &Chunk,
    typed: &TypedRows,
    record: &Record,
    at: Option<(&Arc<str>, Option<usize>)>,
    error: ValueError,
) -> Reject {
    let (text, fields) = typed.row_text(record.start as usize);
    // The kept line is CSV; the value is as in the file.
    let value = |written: &[u8]| {
        let mut unquoted = Vec::new();
        let decoded = decode_field(written, &Dialect::csv(), &mut unquoted);
        shortened(decoded.text().unwrap_or_default())
    };
    Reject {
        location: chunk.location(record.start, record.line),
        column: at.map(|(column, _)| Arc::clone(column)),
        value: at
            .and_then(|(_, field)| field)
            .map(|field| value(&text[fields[field].clone()])),
        code: error.code,
        reason: error.reason,
        raw: text,
        encoding: None,
        of_target: false,
    }
}

/// At most [`VALUE_BYTES_MAX`] bytes of a value, cut between characters.
fn shortened(value: &[u8]) -> String {
    if value.len() <= VALUE_BYTES_MAX {
        return String::from_utf8_lossy(value).into_owned();
    }
    let mut end = VALUE_BYTES_MAX;
    // A character has at most three continuation bytes.
    while end > VALUE_BYTES_MAX - 4 && value[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    String::from_utf8_lossy(&value[..end]).into_owned()
}

fn utf8_error(raw: &[u8], encoding: Option<&str>, dialect: &Dialect) -> ValueError {
    if let Some(cut) = cut_record_error(raw, dialect) {
        return cut;
    }
    if let Some(encoding) = encoding {
        let valid = match std::str::from_utf8(raw) {
            Err(error) => &raw[..error.valid_up_to()],
            Ok(_) => raw,
        };
        let character = String::from_utf8_lossy(valid).chars().count() + 1;
        return ValueError::new(
            RejectCode::InvalidUtf8,
            format!(
                "character {character} of the record is not a character of {encoding} (in the kept \
                 row each byte of it is 0xff); likely the file has another encoding: declare it as \
                 format.encoding"
            ),
        );
    }
    let place = match std::str::from_utf8(raw) {
        Err(error) => {
            let at = error.valid_up_to();
            format!("byte {} of the record (0x{:02x})", at + 1, raw[at])
        }
        Ok(_) => "the record".to_owned(),
    };
    ValueError::new(
        RejectCode::InvalidUtf8,
        format!(
            "{place} is not valid UTF-8; likely the file is in another encoding, such as \
             Latin-1: declare it, for example as format.encoding = \"windows-1252\""
        ),
    )
}

/// The error for a fixed-length record that begins or ends inside a character; `None` if it does neither.
fn cut_record_error(raw: &[u8], dialect: &Dialect) -> Option<ValueError> {
    let RecordEnd::Bytes(bytes) = dialect.fixed.as_ref()?.record else {
        return None;
    };
    let error = std::str::from_utf8(raw).err()?;
    let at = error.valid_up_to();
    let begins_within = at == 0 && raw[0] & 0xC0 == 0x80;
    let verb = match (begins_within, error.error_len()) {
        (true, _) => "begins",
        (false, None) => "ends",
        (false, Some(_)) => return None,
    };
    Some(ValueError::new(
        RejectCode::InvalidUtf8,
        format!(
            "the record {verb} inside a character (byte {}, 0x{:02x}); record_bytes = {bytes} \
             counts bytes of UTF-8: likely the file's records have this many characters, or the \
             file has another encoding; such files can be read only if each record is a line: \
             leave out record_bytes, and set fixed_unit = \"characters\" and `encoding`",
            at + 1,
            raw[at],
        ),
    ))
}

fn fault_error(fault: &Fault, record: &Record, dialect: &Dialect) -> ValueError {
    let byte = fault.position.saturating_sub(record.start) + 1;
    let quote = dialect.quote.map_or('"', char::from);
    match fault.kind {
        FaultKind::StrayQuote => ValueError::new(
            RejectCode::StrayQuote,
            format!(
                "a quote ({quote}) is inside an unquoted field at byte {byte} of the record; a \
                 field that contains quotes must be quoted, with its quotes doubled or escaped. If \
                 quotes have no meaning in this file, set quote = \"\" in the format"
            ),
        ),
        FaultKind::TextAfterQuote => ValueError::new(
            RejectCode::TextAfterQuote,
            format!(
                "text follows a closing quote ({quote}) at byte {byte} of the record; likely a \
                 quote inside the field was neither doubled nor escaped, or the file has another \
                 `escape` than the format"
            ),
        ),
        FaultKind::UnclosedQuote => ValueError::new(
            RejectCode::UnclosedQuote,
            format!(
                "the file ends inside the quoted field that begins at byte {byte} of the record; \
                 likely the file was cut off, or a quote ({quote}) is missing"
            ),
        ),
        FaultKind::DanglingEscape => ValueError::new(
            RejectCode::DanglingEscape,
            "the file ends right after an escape character; likely it was cut off".to_owned(),
        ),
        FaultKind::TrailingDelimiterMissing => ValueError::new(
            RejectCode::TrailingDelimiterMissing,
            format!(
                "the record does not end with {}, which the format's trailing_delimiter = true \
                 demands; likely the record was cut off. If the file has no trailing delimiters, \
                 set trailing_delimiter = false",
                dialect.delimiter
            ),
        ),
        FaultKind::BareCarriageReturn => ValueError::new(
            RejectCode::BareCarriageReturn,
            format!(
                "a carriage return without a line feed after it is at byte {byte} of the record, \
                 outside quotes. If lines end with it, as on old Macs, set terminator = \"cr\" in \
                 the format; if they end with \\r\\r\\n, because the file was copied as text \
                 twice, set terminator = \"\\r\\r\\n\"; if it is data, set terminator = \"lf\" or \
                 \"crlf\""
            ),
        ),
        FaultKind::EndMarker => ValueError::new(
            RejectCode::EndMarker,
            "the record is \\., COPY's end-of-data marker, and text follows it; likely several \
             exports were joined, or statements of a dump follow the data: remove the line if the \
             whole file is data, otherwise remove the text after it"
                .to_owned(),
        ),
        FaultKind::RecordLength => record_length_error(record, fault.position, dialect),
    }
}

fn record_length_error(record: &Record, position: u32, dialect: &Dialect) -> ValueError {
    let fixed = dialect.fixed.as_ref();
    let expected = fixed.map_or(0, FixedWidth::record_length);
    let unit = match fixed.map(|fixed| fixed.unit) {
        Some(PositionUnit::Characters) => "characters",
        _ => "bytes",
    };
    // A record that is too long is wrong from the position where it should have ended.
    let reason = if position < record.end {
        format!(
            "the record is longer than {expected} {unit}, where its last field ends; likely the \
             layout lacks a field, or positions count {}. If the rest of the line has no meaning, \
             set extra_fields = \"ignore\" in the format",
            other_unit(unit)
        )
    } else {
        format!(
            "the record is shorter than {expected} {unit}; likely blanks at the end of the line \
             were cut off, or positions count {}. If fields may be missing, set missing_fields = \
             \"null\" in the format",
            other_unit(unit)
        )
    };
    ValueError::new(RejectCode::RecordLength, reason)
}

fn other_unit(unit: &str) -> &'static str {
    match unit {
        "bytes" => "characters (fixed_unit = \"characters\")",
        _ => "bytes (fixed_unit = \"bytes\")",
    }
}

fn field_count_error(
    chunk: &Chunk,
    records: &Records,
    index: usize,
    dialect: &Dialect,
    expected: usize,
) -> ValueError {
    let found = records.field_count(index);
    let record = &records.records[index];
    let raw = &chunk.text()[record.start as usize..record.end as usize];
    let delimiter = dialect.delimiter;
    let cause = if found == expected + 1 && records.field(index, found - 1).is_empty() {
        format!(
            "it ends with {delimiter}: if every record does, set trailing_delimiter = true in the \
             format"
        )
    } else if found > expected {
        match dialect.quote {
            Some(quote) => format!(
                "likely a {delimiter} is inside a field that is not quoted with {}; or `columns` \
                 lists too few",
                char::from(quote)
            ),
            None => format!(
                "likely a {delimiter} is inside a field, and the format has no quote; or `columns` \
                 lists too few"
            ),
        }
    } else if let Some(other) = likely_delimiter(raw, dialect.delimiter, expected) {
        format!("likely the delimiter is {other:?}: set delimiter = {other:?} in the format")
    } else {
        "likely a line break is inside a field that is not quoted, the record was cut off, or \
         `columns` lists too many"
            .to_owned()
    };
    let fields = if found == 1 { "field" } else { "fields" };
    ValueError::new(
        RejectCode::FieldCount,
        format!("the record has {found} {fields}, but {expected} were expected; {cause}"),
    )
}

/// Another usual delimiter that would give the right number of fields.
fn likely_delimiter(raw: &[u8], delimiter: ShortText, expected: usize) -> Option<char> {
    if expected < 2 {
        return None;
    }
    [b',', b';', b'\t', b'|']
        .into_iter()
        .filter(|other| delimiter.only_byte() != Some(*other))
        .find(|other| {
            let count = raw.iter().filter(|byte| *byte == other).count();
            count == expected - 1 || count == expected && raw.last() == Some(other)
        })
        .map(char::from)
}
