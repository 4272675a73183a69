//! The machine's slow way through a block: one special byte after another. It is used if quotes have escapes, if a
//! quote is in an irregular position, and if a field's closing quote is the last byte of the block.

use crate::error::ScanError;
use crate::mask_walker::{Form, MaskWalker, Mode, OpenRecord};
use crate::masks::Masks;
use crate::records::FaultKind;

impl MaskWalker<'_> {
    /// Processes a block, one special byte after another. It is only for dialects with quotes.
    #[inline(never)]
    pub(crate) fn read_block_by_special_bytes(
        &mut self,
        base: u32,
        masks: &Masks,
        bare_returns: u64,
    ) -> Result<(), ScanError> {
        let mut bits = masks.delimiters | masks.newlines | masks.specials | bare_returns;
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            let position = base + bit.trailing_zeros();
            let is_special = masks.specials & bit != 0;
            if self.mode == Mode::Quoted {
                if is_special {
                    self.special_in_quotes(position);
                }
                continue;
            }
            if let Mode::Closed(closed) = self.mode {
                if is_special && self.settings.form == Form::DoubledQuotes && position == closed + 1
                {
                    self.mode = Mode::Quoted;
                    continue;
                }
                let is_newline = masks.newlines & bit != 0;
                let is_end = !is_special && bare_returns & bit == 0;
                self.leave_quotes(closed, position, is_end, is_newline);
            }
            if bare_returns & bit != 0 {
                self.note_bare_return(position);
            } else if is_special {
                self.special_outside_quotes(position);
            } else if masks.delimiters & bit != 0 {
                self.records.field_ends[self.field_count] = position;
                self.field_count += 1;
            } else {
                let line = self.line_count + (masks.newlines & (bit | (bit - 1))).count_ones();
                self.end_record_at_newline(position, line)?;
            }
        }
        Ok(())
    }

    fn special_in_quotes(&mut self, position: u32) {
        if self.escaped_position == Some(position) {
            return;
        }
        let is_quote = match self.settings.form {
            Form::Quotes { quote } => self.text[position as usize] == quote,
            _ => true,
        };
        if is_quote {
            self.mode = Mode::Closed(position);
        } else {
            self.escaped_position = Some(position + 1);
        }
    }

    /// Checks the bytes between the closing quote at `closed` and the special byte at `position`.
    fn leave_quotes(&mut self, closed: u32, position: u32, is_end: bool, is_newline: bool) {
        self.mode = Mode::Unquoted;
        let adjacent = position == closed + 1 && is_end;
        let carriage_return = self.settings.strips_returns
            && is_newline
            && position == closed + 2
            && self.text[closed as usize + 1] == b'\r';
        if !adjacent && !carriage_return {
            let fault = self.fault_after_quote(closed);
            self.record.fault.get_or_insert(fault);
        }
    }

    /// Processes a quote, or an escape byte that has no meaning here.
    fn special_outside_quotes(&mut self, position: u32) {
        self.record.escaped = true;
        if let Form::Quotes { quote } = self.settings.form
            && self.text[position as usize] != quote
        {
            return;
        }
        let at_field_start = position == self.record.start
            || self.text[position as usize - 1] == self.settings.needles.delimiter;
        if at_field_start {
            self.mode = Mode::Quoted;
            self.quote_opened = position;
        } else {
            self.record
                .fault
                .get_or_insert((FaultKind::StrayQuote, position));
        }
    }

    fn end_record_at_newline(&mut self, newline: u32, line: u32) -> Result<(), ScanError> {
        let start = self.record.start;
        let carriage_return = self.settings.strips_returns
            && newline > start
            && self.text[newline as usize - 1] == b'\r';
        let end = newline - u32::from(carriage_return);
        if end == start && !self.settings.blank_lines_are_records {
            self.records.blank_count += 1;
        } else {
            self.end_last_field(end);
            self.push_record(end)?;
        }
        self.record = OpenRecord {
            start: newline + 1,
            line,
            first_field: self.field_count as u32,
            escaped: false,
            fault: None,
        };
        Ok(())
    }
}
