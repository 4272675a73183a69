//! The slow machine: one byte at a time, simple enough to be trusted. It defines the result of the fast one, and the
//! tests compare the two.
//!
//! If the comment byte is the first byte of what would be a record, everything up to the next terminator is skipped.
//! In all other lines, these rules apply to a byte, in this order:
//!
//! 1. Inside quotes the escape byte escapes the next byte, a quote closes the field (or is half of a doubled one), and
//!    everything else is text, including line ends.
//! 2. Elsewhere the terminator ends the record. If it is `\n` or `\r\n`, any other `\r` is a fault.
//! 3. The delimiter ends the field.
//! 4. A quote as the first byte of a field opens it.
//! 5. In a dialect without quotes the escape byte escapes the next byte, even a byte of a delimiter, a `\r` or a line
//!    end.
//! 6. Anything else is text. After a closing quote, such text is a fault, and so is another quote.
//!
//! The rules for fields at declared positions are in `reference_fixed`.

use crate::dialect::{Dialect, Escape};
use crate::error::{Scan, ScanError, TextEnd};
use crate::found_record::FoundRecord;
use crate::records::{Fault, FaultKind, Record, Records};
use crate::reference_fixed::find_fixed_record;
use crate::terminator::Terminator;

/// Scans as [`Scanner::scan`](crate::Scanner::scan) does.
pub fn scan_reference(
    dialect: &Dialect,
    text: &[u8],
    end: impl Into<TextEnd>,
    records: &mut Records,
) -> Result<Scan, ScanError> {
    let end = end.into();
    records.clear();
    records.gap_bytes = dialect.delimiter.len() as u32;
    let mut start = 0;
    while start < text.len() {
        let line = records.line_count;
        let too_long = |end: usize| {
            ScanError::record_too_long(
                text,
                start as u32,
                end as u32,
                line,
                dialect.line_byte(),
                dialect.record_bytes_max,
            )
        };
        let is_comment = dialect.comment == Some(text[start]);
        let found = match &dialect.fixed {
            _ if is_comment => find_comment(dialect, text, start, end),
            Some(fixed) => find_fixed_record(dialect, fixed, text, start, end),
            None => find_record(dialect, text, start, end),
        };
        let Some(found) = found else {
            // Bytes that may begin a terminator are not counted as part of the record.
            let begun_bytes = dialect.terminator.begun_bytes(&text[start..]);
            if text.len() - begun_bytes - start > dialect.record_bytes_max {
                return Err(too_long(text.len()));
            }
            break;
        };
        if found.end - start > dialect.record_bytes_max {
            return Err(too_long(found.end));
        }
        let bytes = &text[start..found.end];
        let blank_is_record = dialect.blank_lines_are_records && !dialect.trailing_delimiter;
        let is_marker = dialect.has_end_marker() && bytes == b"\\.";
        let is_last = found.next == text.len();
        if is_marker && is_last && end == TextEnd::More {
            // Whether text follows it is not known yet.
            break;
        }
        if is_comment {
            records.comment_count += 1;
        } else if bytes.is_empty() && !blank_is_record {
            records.blank_count += 1;
        } else if is_marker && is_last && end == TextEnd::File {
            records.end_marker_count += 1;
        } else {
            let fault = match is_marker {
                true => Some((FaultKind::EndMarker, start)),
                false => found.fault,
            };
            if let Some((kind, position)) = fault {
                records.faults.push(Fault {
                    record_index: records.records.len() as u32,
                    kind,
                    position: position as u32,
                });
            }
            let special =
                |byte: &u8| Some(*byte) == dialect.quote || Escape::Byte(*byte) == dialect.escape;
            records.records.push(Record {
                start: start as u32,
                end: found.end as u32,
                line,
                first_field: records.field_ends.len() as u32,
                escaped: bytes.iter().any(special),
            });
            let positions = |list: &[usize]| -> Vec<u32> {
                list.iter().map(|position| *position as u32).collect()
            };
            records.field_starts.extend(positions(&found.field_starts));
            records.field_ends.extend(positions(&found.field_ends));
        }
        records.line_count += match dialect.line_byte() {
            Some(line_byte) => {
                let lines = text[start..found.next].iter().filter(|b| **b == line_byte);
                lines.count() as u32
            }
            None => u32::from(found.ends_line),
        };
        start = found.next;
    }
    Ok(Scan {
        bytes_consumed: start,
    })
}

/// The position of the machine in a field.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before its first byte.
    Start,
    /// In text without quotes.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// Directly after the closing quote.
    Closed,
}

/// The comment at `start`; `None` if more text is needed to find its end.
fn find_comment(dialect: &Dialect, text: &[u8], start: usize, end: TextEnd) -> Option<FoundRecord> {
    let mut at = start;
    while at < text.len() && dialect.terminator.bytes_at(&text[at..]) == 0 {
        at += 1;
    }
    let terminator_bytes = dialect.terminator.bytes_at(&text[at..]);
    if terminator_bytes == 0 && end != TextEnd::File {
        return None;
    }
    Some(FoundRecord {
        end: at,
        next: at + terminator_bytes,
        ends_line: terminator_bytes > 0,
        field_starts: Vec::new(),
        field_ends: Vec::new(),
        fault: None,
    })
}

/// The record at `start`; `None` if more text is needed to find its end.
fn find_record(dialect: &Dialect, text: &[u8], start: usize, end: TextEnd) -> Option<FoundRecord> {
    let is_escape = |byte: u8| Escape::Byte(byte) == dialect.escape;
    let is_quote = |byte: u8| Some(byte) == dialect.quote;
    let mut state = State::Start;
    let mut field_ends = Vec::new();
    let mut fault = None;
    let mut quote_opened = start;
    let mut at = start;
    let mut terminator_bytes = 0;
    while at < text.len() {
        let byte = text[at];
        let next = text.get(at + 1).copied();
        if state == State::Quoted {
            let doubled = is_quote(byte)
                && dialect.escape == Escape::DoubledQuote
                && next.is_some_and(is_quote);
            if doubled || is_escape(byte) {
                at += 2;
            } else {
                if is_quote(byte) {
                    state = State::Closed;
                }
                at += 1;
            }
            continue;
        }
        terminator_bytes = dialect.terminator.bytes_at(&text[at..]);
        if terminator_bytes > 0 {
            break;
        }
        if byte == b'\r' && dialect.terminator == Terminator::Any {
            fault.get_or_insert((FaultKind::BareCarriageReturn, at));
        }
        if dialect.delimiter.begins(&text[at..]) {
            field_ends.push(at);
            state = State::Start;
            at += dialect.delimiter.len();
        } else if state == State::Start && is_quote(byte) {
            state = State::Quoted;
            quote_opened = at;
            at += 1;
        } else if dialect.quote.is_none() && is_escape(byte) {
            if next.is_none() {
                fault.get_or_insert((FaultKind::DanglingEscape, at));
            }
            state = State::Unquoted;
            at += 2;
        } else {
            if state == State::Closed {
                fault.get_or_insert((FaultKind::TextAfterQuote, at));
            } else if is_quote(byte) {
                fault.get_or_insert((FaultKind::StrayQuote, at));
            }
            state = State::Unquoted;
            at += 1;
        }
    }
    if terminator_bytes == 0 && end != TextEnd::File {
        return None;
    }
    // After an escape at the very end, the position is one byte too far.
    let end = at.min(text.len());
    if state == State::Quoted {
        fault.get_or_insert((FaultKind::UnclosedQuote, quote_opened));
    }
    if !dialect.trailing_delimiter {
        field_ends.push(end);
    } else if state != State::Start {
        field_ends.push(end);
        fault.get_or_insert((FaultKind::TrailingDelimiterMissing, end));
    }
    Some(FoundRecord {
        end,
        next: end + terminator_bytes,
        ends_line: terminator_bytes > 0,
        field_starts: Vec::new(),
        field_ends,
        fault,
    })
}
