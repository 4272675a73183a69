//! The machine for uncommon dialects: delimiters of several bytes, comments, other terminators. It walks the set bits
//! of the masks, which mark where a delimiter or a terminator may begin, and reads the text there. [`crate::reference`]
//! defines the result.

use crate::dialect::{Dialect, Escape};
use crate::error::{Scan, ScanError, TextEnd};
use crate::masks::{BLOCK_BYTES, Masks, Needles};
use crate::records::{Fault, FaultKind, Record, Records};
use crate::terminator::Terminator;

/// The bytes to look for in a dialect, where its delimiters and terminators may begin. Delimiters and terminators that
/// begin with a carriage return are found by `Masks::returns`.
pub(crate) fn needles(dialect: &Dialect) -> Needles {
    let (special, special_count) = dialect.specials();
    Needles {
        delimiter: dialect.delimiter.first(),
        newline: match dialect.terminator {
            Terminator::Any | Terminator::Lf => b'\n',
            Terminator::CrLf | Terminator::Cr => b'\r',
            Terminator::Text(text) => text.first(),
        },
        special,
        special_count,
    }
}

/// The position of the machine in a record. `field_start` tells whether a field has begun.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Outside quotes.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// After the closing quote, which is at this position.
    Closed(u32),
    /// Inside a comment.
    Comment,
}

/// The state between two special bytes, and the result so far.
pub(crate) struct GeneralMachine<'a> {
    dialect: &'a Dialect,
    text: &'a [u8],
    records: &'a mut Records,
    mode: Mode,
    /// Bytes before this position belong to a part that was already read: a delimiter, an escaped byte.
    next: u32,
    field_start: u32,
    quote_opened: u32,
    start: u32,
    first_field: u32,
    escaped: bool,
    fault: Option<(FaultKind, u32)>,
}

impl<'a> GeneralMachine<'a> {
    pub(crate) fn new(
        dialect: &'a Dialect,
        text: &'a [u8],
        records: &'a mut Records,
    ) -> GeneralMachine<'a> {
        let mut machine = GeneralMachine {
            dialect,
            text,
            records,
            mode: Mode::Unquoted,
            next: 0,
            field_start: 0,
            quote_opened: 0,
            start: 0,
            first_field: 0,
            escaped: false,
            fault: None,
        };
        machine.begin_record(0);
        machine
    }

    /// Takes the masks of the blocks that begin at `base`.
    pub(crate) fn take(&mut self, base: u32, masks: &[Masks]) -> Result<(), ScanError> {
        let mut base = base;
        let asks_returns = self.dialect.terminator == Terminator::Any;
        for masks in masks {
            let mut bits = masks.delimiters | masks.newlines | masks.specials;
            if asks_returns {
                bits |= masks.returns;
            }
            while bits != 0 {
                let position = base + bits.trailing_zeros();
                bits &= bits - 1;
                if position >= self.next {
                    self.take_byte(position)?;
                }
            }
            base = base.wrapping_add(BLOCK_BYTES as u32);
        }
        Ok(())
    }

    /// Processes a byte that may be special and that is not part of something before it.
    #[inline]
    fn take_byte(&mut self, position: u32) -> Result<(), ScanError> {
        let rest = &self.text[position as usize..];
        let byte = rest[0];
        let is_quote = self.dialect.quote == Some(byte);
        let is_escape = self.dialect.escape == Escape::Byte(byte);
        if self.mode == Mode::Quoted {
            let doubled = is_quote
                && self.dialect.escape == Escape::DoubledQuote
                && rest.get(1) == Some(&byte);
            if doubled || is_escape {
                self.next = position + 2;
            } else if is_quote {
                self.mode = Mode::Closed(position);
            }
            return Ok(());
        }
        let terminator_bytes = self.dialect.terminator.bytes_at(rest) as u32;
        if self.mode == Mode::Comment {
            if terminator_bytes > 0 {
                self.end_comment(position, terminator_bytes)?;
            }
            return Ok(());
        }
        if let Mode::Closed(closed) = self.mode
            && position > closed + 1
        {
            self.note(FaultKind::TextAfterQuote, closed + 1);
            self.mode = Mode::Unquoted;
        }
        if terminator_bytes > 0 {
            return self.end_record(position, terminator_bytes);
        }
        if byte == b'\r' && self.dialect.terminator == Terminator::Any {
            self.note(FaultKind::BareCarriageReturn, position);
        }
        if self.dialect.delimiter.begins(rest) {
            self.records.field_ends.push(position);
            self.next = position + self.dialect.delimiter.len() as u32;
            self.field_start = self.next;
            self.mode = Mode::Unquoted;
            return Ok(());
        }
        self.escaped |= is_quote || is_escape;
        if is_quote && position == self.field_start {
            self.mode = Mode::Quoted;
            self.quote_opened = position;
        } else if self.dialect.quote.is_none() && is_escape {
            if rest.len() == 1 {
                self.note(FaultKind::DanglingEscape, position);
            }
            self.next = position + 2;
        } else {
            if let Mode::Closed(_) = self.mode {
                self.note(FaultKind::TextAfterQuote, position);
            } else if is_quote {
                self.note(FaultKind::StrayQuote, position);
            }
            self.mode = Mode::Unquoted;
        }
        Ok(())
    }

    fn note(&mut self, kind: FaultKind, position: u32) {
        self.fault.get_or_insert((kind, position));
    }

    fn begin_record(&mut self, start: u32) {
        self.start = start;
        self.next = start;
        self.field_start = start;
        self.first_field = self.records.field_ends.len() as u32;
        self.escaped = false;
        self.fault = None;
        let first = self.text.get(start as usize).copied();
        self.mode = match self.dialect.comment {
            Some(comment) if first == Some(comment) => Mode::Comment,
            _ => Mode::Unquoted,
        };
    }

    fn end_comment(&mut self, end: u32, terminator_bytes: u32) -> Result<(), ScanError> {
        self.check_length(end)?;
        self.records.comment_count += 1;
        self.end_line(end, terminator_bytes);
        Ok(())
    }

    /// Ends the record at `end`, where its terminator begins or the text ends.
    fn end_record(&mut self, end: u32, terminator_bytes: u32) -> Result<(), ScanError> {
        self.check_length(end)?;
        if end == self.start && !self.dialect.blank_is_record() {
            self.records.blank_count += 1;
            self.end_line(end, terminator_bytes);
            return Ok(());
        }
        let has_more = end != self.field_start;
        if !self.dialect.trailing_delimiter {
            self.records.field_ends.push(end);
        } else if has_more {
            self.records.field_ends.push(end);
            self.note(FaultKind::TrailingDelimiterMissing, end);
        }
        let bytes = &self.text[self.start as usize..end as usize];
        if self.dialect.has_end_marker() && bytes == b"\\." {
            self.fault = Some((FaultKind::EndMarker, self.start));
        }
        if let Some((kind, position)) = self.fault {
            self.records.faults.push(Fault {
                record_index: self.records.records.len() as u32,
                kind,
                position,
            });
        }
        self.records.records.push(Record {
            start: self.start,
            end,
            line: self.records.line_count,
            first_field: self.first_field,
            escaped: self.escaped,
        });
        self.end_line(end, terminator_bytes);
        Ok(())
    }

    /// Counts the lines up to the end of the terminator, and begins the next record.
    fn end_line(&mut self, end: u32, terminator_bytes: u32) {
        let next = end + terminator_bytes;
        self.records.line_count += match self.dialect.line_byte() {
            Some(line_byte) => {
                let bytes = &self.text[self.start as usize..next as usize];
                bytes.iter().filter(|byte| **byte == line_byte).count() as u32
            }
            None => u32::from(terminator_bytes > 0),
        };
        self.begin_record(next);
    }

    /// Ends the walk after the last block.
    pub(crate) fn finish(mut self, text_end: TextEnd) -> Result<Scan, ScanError> {
        let end = self.text.len() as u32;
        if self.start < end {
            if text_end == TextEnd::File {
                self.end_at_end(end)?;
            } else {
                let rest = &self.text[self.start as usize..];
                let begun_bytes = self.dialect.terminator.begun_bytes(rest);
                self.check_length_to(end - begun_bytes as u32, end)?;
                // The fields of this record will be found again together with the rest of it.
                self.records.field_ends.truncate(self.first_field as usize);
            }
        }
        let mut consumed = self.start;
        if self.dialect.has_end_marker() && consumed == end {
            let terminator = self.dialect.terminator;
            let unsettled = self
                .records
                .settle_end_marker(self.text, terminator, text_end);
            consumed = unsettled.unwrap_or(consumed);
        }
        Ok(Scan {
            bytes_consumed: consumed as usize,
        })
    }

    fn end_at_end(&mut self, end: u32) -> Result<(), ScanError> {
        match self.mode {
            Mode::Comment => return self.end_comment(end, 0),
            Mode::Quoted => self.note(FaultKind::UnclosedQuote, self.quote_opened),
            Mode::Closed(closed) if closed + 1 != end => {
                self.note(FaultKind::TextAfterQuote, closed + 1);
            }
            Mode::Closed(_) | Mode::Unquoted => {}
        }
        self.end_record(end, 0)
    }

    fn check_length(&self, end: u32) -> Result<(), ScanError> {
        self.check_length_to(end, end)
    }

    /// Checks that the open record or comment may extend to `end`; `seen_end` is the end of the scanned part.
    fn check_length_to(&self, end: u32, seen_end: u32) -> Result<(), ScanError> {
        self.records
            .check_length(self.dialect, self.text, self.start..end, seen_end)
    }
}
