//! The fast machine: walks masks, not bytes.
//!
//! Most blocks of 64 bytes are regular: for the whole block at once, arithmetic on the masks finds the delimiters and
//! line feeds that count ([`crate::regular`]), and their positions are then written without reading the text. A block
//! with a quote in an unexpected position is read one special byte after the other instead ([`crate::special_bytes`]).
//! The state before and after a block is the same for both ways, so any block can be read in either way.
//! [`crate::reference`] defines the result of both, byte by byte.
//!
//! This machine reads the common dialects: a delimiter of one byte, records that end with line feeds (with or without
//! a carriage return before them) or with carriage returns, no comments. Other dialects are read by
//! [`crate::general`].
//!
//! The loop over blocks is compiled once for each [`InstructionSet`]; the code that differs is in [`crate::positions`].
//!
//! This module and [`crate::instruction_set`] need each other: the instruction set chooses the loop for each stripe,
//! and calls the loops that are compiled here.

#[cfg(target_arch = "x86_64")]
use crate::cpu::Avx512Vbmi2;
use crate::dialect::{Dialect, Escape};
use crate::error::{Scan, ScanError, TextEnd};
use crate::instruction_set::InstructionSet;
use crate::masks::{BLOCK_BYTES, Masks, Needles};
use crate::positions::{BitInstructions, Portable};
use crate::records::{Fault, FaultKind, Record, Records};
use crate::regular;
use crate::terminator::Terminator;

/// The settings of a dialect that the machine needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) form: Form,
    pub(crate) needles: Needles,
    pub(crate) terminator: Terminator,
    /// True if a `\r` before a line feed is part of the line end, and any other `\r` outside quotes is a fault.
    pub(crate) strips_returns: bool,
    pub(crate) has_end_marker: bool,
    pub(crate) trailing_delimiter: bool,
    pub(crate) blank_lines_are_records: bool,
    pub(crate) record_bytes_max: usize,
}

impl Settings {
    /// The settings of a common dialect; `None` for any other.
    pub(crate) fn of(dialect: &Dialect) -> Option<Settings> {
        let newline = match dialect.terminator {
            Terminator::Any | Terminator::Lf => b'\n',
            Terminator::Cr => b'\r',
            Terminator::CrLf | Terminator::Text(_) => return None,
        };
        if dialect.comment.is_some() || dialect.fixed.is_some() {
            return None;
        }
        let (special, special_count) = dialect.specials();
        Some(Settings {
            form: Form::of(dialect),
            needles: Needles {
                delimiter: dialect.delimiter.only_byte()?,
                newline,
                special,
                special_count,
            },
            terminator: dialect.terminator,
            strips_returns: dialect.terminator == Terminator::Any,
            has_end_marker: dialect.has_end_marker(),
            trailing_delimiter: dialect.trailing_delimiter,
            blank_lines_are_records: dialect.blank_is_record(),
            record_bytes_max: dialect.record_bytes_max,
        })
    }
}

/// The kind of quotes and escapes of a dialect, which decides how masks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// No quotes and no escapes: every delimiter and every line feed counts.
    Plain,
    /// Quotes; a quote inside quotes is doubled.
    DoubledQuotes,
    /// Quotes that are not doubled. Inside quotes an escape byte escapes the next byte, or there are no escapes.
    Quotes { quote: u8 },
    /// No quotes, but an escape byte.
    Escapes,
}

impl Form {
    pub(crate) fn of(dialect: &Dialect) -> Form {
        match (dialect.quote, dialect.escape) {
            (Some(_), Escape::DoubledQuote) => Form::DoubledQuotes,
            (Some(quote), Escape::None | Escape::Byte(_)) => Form::Quotes { quote },
            (None, Escape::Byte(_)) => Form::Escapes,
            // `Dialect::check` refuses doubled quotes without a quote.
            (None, Escape::None | Escape::DoubledQuote) => Form::Plain,
        }
    }
}

/// The position in a field between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Before a field or in text without quotes.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// A quote inside quotes was the last special byte, at this position: it closes the field
    /// or is the first half of a doubled one.
    Closed(u32),
}

/// The state between two blocks, and the result so far.
pub(crate) struct MaskWalker<'a> {
    pub(crate) settings: Settings,
    instruction_set: InstructionSet,
    pub(crate) text: &'a [u8],
    pub(crate) records: &'a mut Records,
    /// The number of field ends found so far; [`Records::field_ends`] is longer while the machine runs.
    pub(crate) field_count: usize,
    /// The number of line feeds before the block.
    pub(crate) line_count: u32,
    pub(crate) mode: Mode,
    /// The position of the quote that opened the field; meaningless in the mode `Unquoted`.
    pub(crate) quote_opened: u32,
    /// The last escaped byte, if it matters: a special byte inside quotes, or the first byte after the blocks so far.
    pub(crate) escaped_position: Option<u32>,
    /// True if the last byte before the block was escaped.
    follows_escaped: bool,
    /// The record that is open.
    pub(crate) record: OpenRecord,
}

/// The state of the record that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenRecord {
    pub(crate) start: u32,
    pub(crate) line: u32,
    pub(crate) first_field: u32,
    pub(crate) escaped: bool,
    pub(crate) fault: Option<(FaultKind, u32)>,
}

/// The bytes of a block that matter for the ends of fields and records; bits as in [`Masks`].
#[derive(Clone, Copy)]
struct Ends {
    /// The delimiters that end fields.
    delimiters: u64,
    /// The line ends that end records.
    newlines: u64,
    /// The bytes that an escape has made ordinary.
    escaped: u64,
    /// The carriage returns outside quotes that no line feed follows.
    bare_returns: u64,
}

impl Ends {
    /// The ends of a block without quotes and escapes: all its delimiters and line ends.
    #[inline(always)]
    fn of(masks: &Masks, bare_returns: u64) -> Ends {
        Ends {
            delimiters: masks.delimiters,
            newlines: masks.newlines,
            escaped: 0,
            bare_returns,
        }
    }
}

impl<'a> MaskWalker<'a> {
    pub(crate) fn new(
        settings: Settings,
        instruction_set: InstructionSet,
        text: &'a [u8],
        records: &'a mut Records,
    ) -> MaskWalker<'a> {
        MaskWalker {
            settings,
            instruction_set,
            text,
            records,
            field_count: 0,
            line_count: 0,
            mode: Mode::Unquoted,
            quote_opened: 0,
            escaped_position: None,
            follows_escaped: false,
            record: OpenRecord {
                start: 0,
                line: 0,
                first_field: 0,
                escaped: false,
                fault: None,
            },
        }
    }

    /// Takes the masks of the blocks that begin at `base`.
    pub(crate) fn take(&mut self, base: u32, masks: &[Masks]) -> Result<(), ScanError> {
        // Space for every byte of the stripe, for the positions that blocks write beyond their own count, and for an
        // additional field end before each terminator.
        let room = self.field_count + (masks.len() + 1) * 2 * BLOCK_BYTES;
        if self.records.field_ends.len() < room {
            // No more space than that, because `resize` writes every new value, and all of them are overwritten later.
            self.records.field_ends.resize(room, 0);
        }
        let instruction_set = self.instruction_set;
        instruction_set.take(self, base, masks)
    }

    /// Processes the blocks of a stripe; [`MaskWalker::take`] has made space. It is inlined with everything that it
    /// calls for each block, so that each caller is compiled for its own instructions.
    #[inline(always)]
    pub(crate) fn take_blocks<I: BitInstructions>(
        &mut self,
        instructions: I,
        base: u32,
        masks: &[Masks],
    ) -> Result<(), ScanError> {
        let mut base = base;
        for masks in masks {
            self.take_block(instructions, base, masks)?;
            self.line_count += masks.newlines.count_ones();
            base = base.wrapping_add(BLOCK_BYTES as u32);
        }
        Ok(())
    }

    #[inline(always)]
    fn take_block<I: BitInstructions>(
        &mut self,
        instructions: I,
        base: u32,
        masks: &Masks,
    ) -> Result<(), ScanError> {
        let (paired_returns, bare_returns) = match masks.returns {
            0 => (0, 0),
            _ => self.sorted_returns(base, masks),
        };
        match self.settings.form {
            Form::Plain => {
                let ends = Ends::of(masks, bare_returns);
                self.regular_block::<I, false>(instructions, base, masks, ends)
            }
            Form::DoubledQuotes => {
                let prior = match self.mode {
                    Mode::Unquoted => regular::Prior::Unquoted {
                        // The byte before a quote outside quotes. It is not a quote, because then the mode would
                        // differ.
                        at_field_start: base == self.record.start
                            || self.text[base as usize - 1] == self.settings.needles.delimiter,
                    },
                    Mode::Quoted => regular::Prior::Quoted,
                    Mode::Closed(at) if at + 1 == base => regular::Prior::Closed,
                    Mode::Closed(_) => {
                        return self.read_block_by_special_bytes(base, masks, bare_returns);
                    }
                };
                match regular::doubled_quotes(masks, prior, paired_returns) {
                    Some(found) => {
                        if let Some(at) = found.opened {
                            self.quote_opened = base + at;
                        }
                        let ends = Ends {
                            delimiters: found.delimiters,
                            newlines: found.newlines,
                            escaped: 0,
                            bare_returns: bare_returns & !found.inside,
                        };
                        self.regular_block::<I, false>(instructions, base, masks, ends)?;
                        self.mode = match found.after {
                            regular::Prior::Unquoted { .. } => Mode::Unquoted,
                            regular::Prior::Quoted => Mode::Quoted,
                            regular::Prior::Closed => Mode::Closed(base + 63),
                        };
                        Ok(())
                    }
                    None => self.read_block_by_special_bytes(base, masks, bare_returns),
                }
            }
            Form::Escapes => {
                let carried = self.escaped_position == Some(base);
                let escaped = regular::escaped(masks.specials, carried);
                let ends = Ends {
                    delimiters: masks.delimiters & !escaped.bytes,
                    newlines: masks.newlines & !escaped.bytes,
                    escaped: escaped.bytes,
                    bare_returns: bare_returns & !escaped.bytes,
                };
                self.regular_block::<I, true>(instructions, base, masks, ends)?;
                self.follows_escaped = escaped.bytes >> 63 != 0;
                let behind = self.text.len() - base as usize;
                let carries = if behind < BLOCK_BYTES {
                    // The text ends inside this block.
                    escaped.bytes >> behind & 1 != 0
                } else {
                    escaped.carries
                };
                if carries {
                    self.escaped_position = Some(base + behind.min(BLOCK_BYTES) as u32);
                }
                Ok(())
            }
            Form::Quotes { .. } => match self.mode {
                Mode::Unquoted if masks.specials == 0 => {
                    let ends = Ends::of(masks, bare_returns);
                    self.regular_block::<I, false>(instructions, base, masks, ends)
                }
                Mode::Quoted if masks.specials == 0 => Ok(()),
                _ => self.read_block_by_special_bytes(base, masks, bare_returns),
            },
        }
    }

    /// The carriage returns that belong to the line feed after them, and all others; both are empty if carriage returns
    /// have no meaning. This is a separate function, so that blocks without carriage returns stay fast.
    #[cold]
    #[inline(never)]
    fn sorted_returns(&self, base: u32, masks: &Masks) -> (u64, u64) {
        if !self.settings.strips_returns {
            return (0, 0);
        }
        let behind = self.text.get(base as usize + BLOCK_BYTES) == Some(&b'\n');
        let paired = masks.returns & (masks.newlines >> 1 | u64::from(behind) << 63);
        (paired, masks.returns & !paired)
    }

    /// Processes a block in which all ends of fields and records are known.
    #[inline(always)]
    fn regular_block<I: BitInstructions, const ESCAPES: bool>(
        &mut self,
        instructions: I,
        base: u32,
        masks: &Masks,
        ends: Ends,
    ) -> Result<(), ScanError> {
        if ends.bare_returns == 0 {
            self.take_ends::<I, ESCAPES, false>(instructions, base, masks, ends)
        } else {
            let Ends {
                delimiters,
                newlines,
                escaped,
                bare_returns,
            } = ends;
            self.take_ends_and_returns::<ESCAPES>(
                base,
                masks,
                delimiters,
                newlines,
                escaped,
                bare_returns,
            )
        }
    }

    /// Like `take_ends`, for a block with a carriage return that is a fault. It is a separate function, so that the
    /// usual path has no check for such a carriage return. Its parameters are numbers, which are passed in registers;
    /// an `Ends` would be passed in memory.
    #[cold]
    #[inline(never)]
    fn take_ends_and_returns<const ESCAPES: bool>(
        &mut self,
        base: u32,
        masks: &Masks,
        delimiters: u64,
        newlines: u64,
        escaped: u64,
        bare_returns: u64,
    ) -> Result<(), ScanError> {
        let ends = Ends {
            delimiters,
            newlines,
            escaped,
            bare_returns,
        };
        self.take_ends::<Portable, ESCAPES, true>(Portable, base, masks, ends)
    }

    #[inline(always)] // Once for each form: measured, a tenth quicker than one for all.
    fn take_ends<I: BitInstructions, const ESCAPES: bool, const RETURNS: bool>(
        &mut self,
        instructions: I,
        base: u32,
        masks: &Masks,
        ends: Ends,
    ) -> Result<(), ScanError> {
        let Ends {
            delimiters,
            newlines,
            escaped,
            bare_returns,
        } = ends;
        let ends = if self.settings.trailing_delimiter {
            delimiters
        } else {
            delimiters | newlines
        };
        let before = self.field_count;
        let slots = self.records.field_ends[before..].first_chunk_mut();
        let slots = slots.expect("`take` made room for every byte");
        instructions.write_positions(ends, base, slots);
        let mut end_count = ends.count_ones() as usize;
        let mut newlines = newlines;
        // The number of field ends that were added to the field ends of the masks, or removed from them if it is
        // negative.
        let mut shift = 0isize;
        let mut specials = masks.specials;
        let mut bare_returns = bare_returns;
        while newlines != 0 {
            let bit = newlines & newlines.wrapping_neg();
            let at = newlines.trailing_zeros();
            newlines ^= bit;
            let below = bit - 1;
            let newline = base + at;
            let mut end = newline;
            if self.settings.strips_returns
                && end > self.record.start
                && self.text[end as usize - 1] == b'\r'
            {
                // A carriage return that was escaped is text.
                let is_escaped = match at {
                    0 => self.follows_escaped,
                    _ => escaped & (bit >> 1) != 0,
                };
                end -= u32::from(!is_escaped);
            }
            let index = (before + (ends & below).count_ones() as usize).wrapping_add_signed(shift);
            let mut next_field = index;
            if RETURNS && bare_returns & below != 0 {
                self.note_bare_return(base + bare_returns.trailing_zeros());
                bare_returns &= !below;
            }
            if end == self.record.start && !self.settings.blank_lines_are_records {
                self.records.blank_count += 1;
                if !self.settings.trailing_delimiter {
                    // The line feed was recorded as a field's end.
                    self.records
                        .field_ends
                        .copy_within(index + 1..before + end_count, index);
                    end_count -= 1;
                    shift -= 1;
                }
            } else {
                if !self.settings.trailing_delimiter {
                    self.records.field_ends[index] = end;
                    next_field += 1;
                } else if index == self.record.first_field as usize
                    || self.records.field_ends[index - 1] + 1 != end
                {
                    self.records
                        .field_ends
                        .copy_within(index..before + end_count, index + 1);
                    self.records.field_ends[index] = end;
                    end_count += 1;
                    shift += 1;
                    next_field += 1;
                    self.record
                        .fault
                        .get_or_insert((FaultKind::TrailingDelimiterMissing, end));
                }
                self.record.escaped |= specials & below != 0;
                if ESCAPES {
                    self.note_end_marker(end);
                }
                self.push_record(end)?;
            }
            specials &= !below;
            self.record = OpenRecord {
                start: newline + 1,
                line: self.line_count + (masks.newlines & (below | bit)).count_ones(),
                first_field: next_field as u32,
                escaped: false,
                fault: None,
            };
        }
        if RETURNS && bare_returns != 0 {
            self.note_bare_return(base + bare_returns.trailing_zeros());
        }
        self.record.escaped |= specials != 0;
        self.field_count = before + end_count;
        Ok(())
    }

    #[cold]
    pub(crate) fn note_bare_return(&mut self, position: u32) {
        let fault = (FaultKind::BareCarriageReturn, position);
        self.record.fault.get_or_insert(fault);
    }

    /// Notes a fault if the record is COPY's end-of-data marker. [`Records::settle_end_marker`] removes the fault
    /// again if the file ends with the marker.
    #[inline]
    fn note_end_marker(&mut self, end: u32) {
        let start = self.record.start;
        if self.settings.has_end_marker
            && self.record.escaped
            && end - start == 2
            && &self.text[start as usize..end as usize] == b"\\."
        {
            self.record.fault = Some((FaultKind::EndMarker, start));
        }
    }

    #[inline]
    pub(crate) fn push_record(&mut self, end: u32) -> Result<(), ScanError> {
        let record = &self.record;
        if (end - record.start) as usize > self.settings.record_bytes_max {
            return Err(self.too_long(end));
        }
        if let Some((kind, position)) = record.fault {
            self.records.faults.push(Fault {
                record_index: self.records.records.len() as u32,
                kind,
                position,
            });
        }
        self.records.records.push(Record {
            start: record.start,
            end,
            line: record.line,
            first_field: record.first_field,
            escaped: record.escaped,
        });
        Ok(())
    }

    /// Lists the last field, unless it is the empty one after a trailing delimiter.
    pub(crate) fn end_last_field(&mut self, end: u32) {
        let count = self.field_count;
        if self.settings.trailing_delimiter {
            let has_fields = count > self.record.first_field as usize;
            if has_fields && self.records.field_ends[count - 1] + 1 == end {
                return;
            }
            self.record
                .fault
                .get_or_insert((FaultKind::TrailingDelimiterMissing, end));
        }
        self.records.field_ends[count] = end;
        self.field_count += 1;
    }

    /// Ends the walk after the last block.
    pub(crate) fn finish(mut self, text_end: TextEnd) -> Result<Scan, ScanError> {
        let end = self.text.len() as u32;
        let at_end = text_end == TextEnd::File;
        let mut consumed = self.record.start;
        if self.record.start < end {
            if at_end {
                self.end_record_at_end(end)?;
                consumed = end;
                self.record.line = self.line_count;
            } else {
                // A carriage return at the end may belong to a terminator.
                let may_end = self.settings.strips_returns && self.text.last() == Some(&b'\r');
                let carriage_return = u32::from(may_end);
                let bytes = (end - carriage_return - self.record.start) as usize;
                if bytes > self.settings.record_bytes_max {
                    return Err(self.too_long(end));
                }
                // The fields of this record will be found again, with its rest.
                self.field_count = self.record.first_field as usize;
            }
        }
        self.records.field_ends.truncate(self.field_count);
        self.records.line_count = self.record.line;
        let terminator = self.settings.terminator;
        if self.settings.has_end_marker
            && consumed == end
            && let Some(start) = self
                .records
                .settle_end_marker(self.text, terminator, text_end)
        {
            consumed = start;
        }
        Ok(Scan {
            bytes_consumed: consumed as usize,
        })
    }

    fn end_record_at_end(&mut self, end: u32) -> Result<(), ScanError> {
        let fault = match self.mode {
            _ if self.settings.form == Form::Escapes && self.escaped_position == Some(end) => {
                Some((FaultKind::DanglingEscape, end - 1))
            }
            Mode::Quoted => Some((FaultKind::UnclosedQuote, self.quote_opened)),
            Mode::Closed(closed) if closed + 1 != end => Some(self.fault_after_quote(closed)),
            Mode::Closed(_) | Mode::Unquoted => None,
        };
        self.record.fault = self.record.fault.or(fault);
        self.records.field_ends.resize(self.field_count + 1, 0);
        self.end_last_field(end);
        self.note_end_marker(end);
        self.push_record(end)
    }

    /// The fault after the closing quote at `closed`, and its position. The text there is neither a delimiter nor a
    /// terminator.
    pub(crate) fn fault_after_quote(&self, closed: u32) -> (FaultKind, u32) {
        let position = closed + 1;
        let is_bare_return = self.settings.strips_returns
            && self.text[position as usize] == b'\r'
            && self.text.get(position as usize + 1) != Some(&b'\n');
        match is_bare_return {
            true => (FaultKind::BareCarriageReturn, position),
            false => (FaultKind::TextAfterQuote, position),
        }
    }

    #[cold]
    fn too_long(&self, end: u32) -> ScanError {
        ScanError::record_too_long(
            self.text,
            self.record.start,
            end,
            self.record.line,
            Some(self.settings.needles.newline),
            self.settings.record_bytes_max,
        )
    }
}

/// [`MaskWalker::take_blocks`] with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn take_avx512(
    machine: &mut MaskWalker,
    base: u32,
    masks: &[Masks],
    avx512: Avx512Vbmi2,
) -> Result<(), ScanError> {
    machine.take_blocks(avx512, base, masks)
}

/// [`MaskWalker::take_blocks`] with the instructions for bits that came with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn take_avx2(
    machine: &mut MaskWalker,
    base: u32,
    masks: &[Masks],
) -> Result<(), ScanError> {
    machine.take_blocks(Portable, base, masks)
}
