//! The slow machine: one byte at a time, to be read and trusted. It says what the fast one
//! must find, and the tests hold the two against each other.
//!
//! The rules of a record, in the order in which a byte is asked:
//!
//! 1. Inside quotes the escape byte makes the next one ordinary, a quote closes the field (or
//!    is half of a doubled one), and everything else is text, line ends included.
//! 2. Elsewhere `\n` and `\r\n` end the record; a `\r` without `\n` behind it is text.
//! 3. The delimiter ends the field.
//! 4. A quote as the first byte of a field opens it.
//! 5. In a dialect without quotes the escape byte makes the next one ordinary, be it a
//!    delimiter, a `\r` or a line end.
//! 6. Anything else is text. After a closing quote that is a fault, and so is a quote.

use crate::dialect::{Dialect, Escape};
use crate::error::{Scan, ScanError};
use crate::records::{Fault, FaultKind, Record, Records};

/// Scans as [`Scanner::scan`](crate::Scanner::scan) does.
pub fn scan_reference(
    dialect: &Dialect,
    text: &[u8],
    at_end: bool,
    records: &mut Records,
) -> Result<Scan, ScanError> {
    records.clear();
    let mut start = 0;
    while start < text.len() {
        let line = records.line_count;
        let too_long = |end: usize| {
            ScanError::record_too_long(
                text,
                start as u32,
                end as u32,
                line,
                dialect.record_bytes_max,
            )
        };
        let Some(found) = find_record(dialect, text, start, at_end) else {
            // A carriage return at the end may belong to a terminator.
            let carriage_return = usize::from(text.last() == Some(&b'\r'));
            if text.len() - carriage_return - start > dialect.record_bytes_max {
                return Err(too_long(text.len()));
            }
            break;
        };
        if found.end - start > dialect.record_bytes_max {
            return Err(too_long(found.end));
        }
        let bytes = &text[start..found.end];
        let is_record = dialect.blank_lines_are_records && !dialect.trailing_delimiter;
        if bytes.is_empty() && !is_record {
            records.blank_count += 1;
        } else {
            if let Some((kind, position)) = found.fault {
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
            records
                .field_ends
                .extend(found.field_ends.iter().map(|end| *end as u32));
        }
        let lines = text[start..found.next].iter().filter(|b| **b == b'\n');
        records.line_count += lines.count() as u32;
        start = found.next;
    }
    Ok(Scan {
        bytes_consumed: start,
    })
}

/// A record, and where the next one starts.
struct Found {
    end: usize,
    next: usize,
    field_ends: Vec<usize>,
    fault: Option<(FaultKind, usize)>,
}

/// Where in a field the machine stands.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before its first byte.
    Start,
    /// In text without quotes.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// Right behind the closing quote.
    Closed,
}

/// The record at `start`, or nothing if more text is needed to find its end.
fn find_record(dialect: &Dialect, text: &[u8], start: usize, at_end: bool) -> Option<Found> {
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
        terminator_bytes = match (byte, next) {
            (b'\n', _) => 1,
            (b'\r', Some(b'\n')) => 2,
            _ => 0,
        };
        if terminator_bytes > 0 {
            break;
        }
        if byte == dialect.delimiter {
            field_ends.push(at);
            state = State::Start;
            at += 1;
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
    if terminator_bytes == 0 && !at_end {
        return None;
    }
    // An escape at the very end reaches one byte too far.
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
    Some(Found {
        end,
        next: end + terminator_bytes,
        field_ends,
        fault,
    })
}
