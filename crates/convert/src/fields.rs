//! The fields of one column over the rows of a batch: their positions, which of them are NULL, and the text of the
//! fields that had to be unescaped.
//!
//! After this step a field is valid UTF-8 without a NUL byte, or its row is rejected.
//!
//! `fields`, `kernel`, `quoted` and `simd` depend on each other. `fields` gathers the fields of a column, by the quick
//! path of `quoted` if their quotes are simple; `kernel` makes values of the fields. `simd` compiles the loops of these
//! three modules once more for other instructions, and they call it.

use std::ops::Range;

use inrush_rows::reject::RejectCode;
use inrush_scan::{Dialect, DialectTrim, Escape, FieldText, Records, decode_field};

use super::error::ValueError;
use super::kernel::{Fault, WINDOW_BYTES, Window};
use super::quoted::SimpleQuotes;
use super::rows::{Row, Selected};
use super::simd::Instructions;

/// Set in the start of a field that is in the unescaped text.
pub(super) const UNESCAPED: u32 = 1 << 31;

/// The position of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Span {
    /// The position of the first byte. If [`UNESCAPED`] is set, it is a position in the unescaped text.
    pub start: u32,
    /// The number of bytes.
    pub length: u32,
}

impl Span {
    pub const NULL: Span = Span {
        start: u32::MAX,
        length: 0,
    };

    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.start == u32::MAX
    }

    /// The bytes of a field in the chunk.
    #[inline(always)]
    fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..][..self.length as usize]
    }
}

/// The text that contains a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The chunk.
    Chunk,
    /// The unescaped text of this column.
    Unescaped,
}

/// The fields of one column.
pub(super) struct Fields<'a> {
    /// One for every row.
    pub spans: &'a [Span],
    /// True if no field is NULL and all are in the chunk.
    pub is_plain: bool,
    /// The number of NULLs.
    pub null_count: usize,
    /// The chunk with its padding.
    pub text: &'a [u8],
    /// The unescaped text with padding like the chunk's.
    pub unescaped: &'a [u8],
    /// A part of `text` that is known to be ASCII.
    pub ascii: Range<usize>,
    /// The instructions with which the column is made.
    pub instructions: Instructions,
}

impl Fields<'_> {
    /// The position of a row's field; `None` for NULL.
    #[inline]
    pub fn place(&self, row: usize) -> Option<(Home, usize, usize)> {
        let span = self.spans[row];
        if span.is_null() {
            None
        } else if span.start & UNESCAPED == 0 {
            Some((Home::Chunk, span.start as usize, span.length as usize))
        } else {
            let start = (span.start & !UNESCAPED) as usize;
            Some((Home::Unescaped, start, span.length as usize))
        }
    }

    /// The field of a row; `None` for NULL.
    #[inline]
    pub fn field(&self, row: usize) -> Option<&[u8]> {
        let (home, start, length) = self.place(row)?;
        Some(&self.home(home)[start..start + length])
    }

    /// The window and length of a field; `None` for NULL.
    #[inline]
    pub fn window(&self, row: usize) -> Option<(&Window, usize)> {
        let (home, start, length) = self.place(row)?;
        let window = self.home(home)[start..start + WINDOW_BYTES]
            .try_into()
            .expect("a window long");
        Some((window, length))
    }

    /// The first field that is not NULL; `None` unless all fields are in the chunk and at most half of them are NULL.
    /// It is used to avoid a branch for NULL, which the processor cannot predict if there are few NULLs. If most fields
    /// are NULL, the branch costs nothing.
    #[inline]
    pub fn first_among_nulls(&self) -> Option<Span> {
        if !self.unescaped.is_empty() || self.null_count > self.spans.len() / 2 {
            return None;
        }
        self.spans.iter().find(|span| !span.is_null()).copied()
    }

    #[inline]
    fn home(&self, home: Home) -> &[u8] {
        match home {
            Home::Chunk => self.text,
            Home::Unescaped => self.unescaped,
        }
    }
}

/// Gathers the fields of a column. Its memory is reused for the next column.
#[derive(Default)]
pub(super) struct Gatherer {
    pub(super) spans: Vec<Span>,
    pub(super) unescaped: Vec<u8>,
    pub(super) scratch: Vec<u8>,
    pub(super) null_count: usize,
    /// The instructions with which columns are made.
    pub instructions: Instructions,
}

/// The input of a gatherer.
pub(super) struct GatherInput<'a> {
    /// The chunk with its padding.
    pub text: &'a [u8],
    /// The number of valid bytes in `text`.
    pub bytes_count: usize,
    pub records: &'a Records,
    pub rows: &'a [Row],
    pub dialect: &'a Dialect,
    /// The properties of the rows.
    pub selected: Selected,
    /// True if any row contains a NUL byte.
    pub any_nul: bool,
    /// A part of the text that is known to be ASCII.
    pub ascii: Range<usize>,
}

/// Facts of a column's spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The largest end.
    pub end_max: u32,
    /// True if a field ends before it begins.
    pub any_reversed: bool,
    /// The number of fields that became NULL.
    pub null_count: usize,
}

impl Gatherer {
    /// Gathers field `field_index` of all rows.
    pub fn gather<'a>(
        &'a mut self,
        input: &GatherInput<'a>,
        field_index: usize,
        faults: &mut Vec<Fault>,
    ) -> Fields<'a> {
        self.clear();
        if input.selected.any_escaped || input.selected.any_ragged {
            self.gather_escaped(input, field_index, faults);
        } else {
            self.gather_plain(input, field_index);
            if input.any_nul {
                self.find_nul(input.text, faults);
            }
        }
        self.gathered(input)
    }

    /// Clears the last column.
    pub fn clear(&mut self) {
        self.spans.clear();
        self.unescaped.clear();
        self.null_count = 0;
    }

    /// The fields whose spans have been filled in.
    pub fn gathered<'a>(&'a mut self, input: &GatherInput<'a>) -> Fields<'a> {
        // A kernel may read past the end of a field, so the unescaped text gets padding unless no field is in it.
        if self.unescaped.is_empty() {
            return self.fields(input, self.null_count == 0);
        }
        let length = self.unescaped.len() + WINDOW_BYTES;
        self.unescaped.resize(length, 0);
        self.fields(input, false)
    }

    fn fields<'a>(&'a self, input: &GatherInput<'a>, is_plain: bool) -> Fields<'a> {
        Fields {
            spans: &self.spans,
            is_plain,
            null_count: self.null_count,
            text: input.text,
            unescaped: &self.unescaped,
            ascii: input.ascii.clone(),
            instructions: self.instructions,
        }
    }

    /// The unescaped text, with its padding, for an array to keep.
    pub fn take_unescaped(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unescaped)
    }

    fn gather_plain(&mut self, input: &GatherInput<'_>, field_index: usize) {
        let empty_is_null = input.dialect.trim == DialectTrim::None && input.dialect.nulls == [""];
        let seen = self.append_spans(input, field_index, empty_is_null);
        assert!(
            !seen.any_reversed && seen.end_max as usize <= input.bytes_count,
            "a scan's fields lie in order within its chunk"
        );
        if empty_is_null {
            self.null_count = seen.null_count;
            return;
        }
        if input.dialect.trim != DialectTrim::None {
            self.trim(input);
        }
        match input.dialect.nulls.as_slice() {
            [] => {}
            [marker] if marker.is_empty() => {
                for span in &mut self.spans {
                    if span.length == 0 {
                        *span = Span::NULL;
                        self.null_count += 1;
                    }
                }
            }
            [marker] => {
                let marker = marker.as_bytes();
                for span in &mut self.spans {
                    let start = span.start as usize;
                    if span.length as usize == marker.len()
                        && &input.text[start..start + marker.len()] == marker
                    {
                        *span = Span::NULL;
                        self.null_count += 1;
                    }
                }
            }
            _ => {
                for span in &mut self.spans {
                    if input.dialect.is_null(span.of(input.text)) {
                        *span = Span::NULL;
                        self.null_count += 1;
                    }
                }
            }
        }
    }

    /// [`Gatherer::append_spans_with`] compiled for AVX2 and the rest of x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
    pub(super) fn append_spans_avx2(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        empty_is_null: bool,
    ) -> Seen {
        self.append_spans_with(input, field_index, empty_is_null)
    }

    /// The spans of all rows as the scan found them; with `empty_is_null`, empty ones become NULL. The loops are
    /// compiled for the instructions of their caller.
    #[inline(always)]
    pub(super) fn append_spans_with(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        empty_is_null: bool,
    ) -> Seen {
        let records = input.records;
        let field_ends = records.field_ends.as_slice();
        let mut seen = Seen::default();
        let mut span = |start: u32, end: u32| {
            seen.end_max = seen.end_max.max(end);
            seen.any_reversed |= start > end;
            let is_null = empty_is_null & (start == end);
            seen.null_count += usize::from(is_null);
            Span {
                start: if is_null { Span::NULL.start } else { start },
                length: end.wrapping_sub(start),
            }
        };
        // A loop over slices, as in the kernels.
        self.spans.resize(input.rows.len(), Span::NULL);
        let places = input.rows.iter().zip(&mut self.spans);
        if !records.field_starts.is_empty() {
            for (row, made) in places {
                let at = row.first_field as usize + field_index;
                *made = span(records.field_starts[at], field_ends[at]);
            }
        } else if field_index == 0 {
            for (row, made) in places {
                let start = records.records[row.record as usize].start;
                *made = span(start, field_ends[row.first_field as usize]);
            }
        } else {
            let gap_bytes = records.gap_bytes;
            for (row, made) in places {
                let at = row.first_field as usize + field_index;
                let [before, end] = field_ends[at - 1..=at] else {
                    unreachable!("two neighbours");
                };
                *made = span(before + gap_bytes, end);
            }
        }
        seen
    }

    /// Removes the blanks that the dialect trims.
    fn trim(&mut self, input: &GatherInput<'_>) {
        for span in &mut self.spans {
            let written = span.of(input.text);
            let trimmed = input.dialect.trimmed(written);
            // The rest is a part of the field, so its offset from the start is small.
            span.start += (trimmed.as_ptr().addr() - written.as_ptr().addr()) as u32;
            span.length = trimmed.len() as u32;
        }
    }

    fn gather_escaped(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        faults: &mut Vec<Fault>,
    ) {
        let marks = Marks::of(input.dialect);
        if let Some(quotes) = SimpleQuotes::of(input) {
            return self.gather_quoted(input, field_index, &marks, &quotes, faults);
        }
        for place in 0..input.rows.len() {
            let span = self.escaped_span(input, place, field_index, &marks, faults);
            self.null_count += usize::from(span.is_null());
            self.spans.push(span);
        }
    }

    /// The position of a row's field: in the chunk or, if it has escapes, in the unescaped text.
    pub(super) fn escaped_span(
        &mut self,
        input: &GatherInput<'_>,
        place: usize,
        field_index: usize,
        marks: &Marks<'_>,
        faults: &mut Vec<Fault>,
    ) -> Span {
        let valid = &input.text[..input.bytes_count];
        let record = input.rows[place].record as usize;
        let Some(range) = input.records.field_if_present(record, field_index) else {
            return Span::NULL;
        };
        let is_escaped = input.records.records[record].escaped;
        if !input.any_nul
            && let Some(span) = marks.span_without_undoing(input.text, &range, is_escaped)
        {
            return span;
        }
        let written = &valid[range.clone()];
        match decode_field(written, input.dialect, &mut self.scratch) {
            FieldText::Null => Span::NULL,
            FieldText::Written(text) => {
                if input.any_nul && text.contains(&0) {
                    faults.push(Fault {
                        row: place,
                        error: nul_error(),
                    });
                }
                // The written text is a part of the field, so its offset from the start is small.
                let start = range.start + (text.as_ptr().addr() - written.as_ptr().addr());
                Span {
                    start: start as u32,
                    length: text.len() as u32,
                }
            }
            // Nothing of the field remains. Any position is right; one in the chunk needs no padding.
            FieldText::Unescaped([]) => Span {
                start: range.start as u32,
                length: 0,
            },
            FieldText::Unescaped(text) => {
                let start = self.unescaped.len() as u32 | UNESCAPED;
                let error = if simdutf8::basic::from_utf8(text).is_err() {
                    Some(unescaped_utf8_error())
                } else if text.contains(&0) {
                    Some(nul_error())
                } else {
                    None
                };
                match error {
                    None => {
                        self.unescaped.extend_from_slice(text);
                        Span {
                            start,
                            length: text.len() as u32,
                        }
                    }
                    Some(error) => {
                        faults.push(Fault { row: place, error });
                        // Keeps the row's index; the row itself is dropped.
                        Span::NULL
                    }
                }
            }
        }
    }

    fn find_nul(&self, text: &[u8], faults: &mut Vec<Fault>) {
        for (row, span) in self.spans.iter().enumerate() {
            if span.is_null() {
                continue;
            }
            let start = span.start as usize;
            if text[start..start + span.length as usize].contains(&0) {
                faults.push(Fault {
                    row,
                    error: nul_error(),
                });
            }
        }
    }
}

/// The bytes of a dialect that change the meaning of a field.
pub(super) struct Marks<'a> {
    quote: Option<u8>,
    /// Quote and escape, eight times each; the same byte if there is only one of them.
    special: [u64; 2],
    dialect: &'a Dialect,
}

impl Marks<'_> {
    fn of(dialect: &Dialect) -> Marks<'_> {
        let escape = match dialect.escape {
            Escape::Byte(byte) => Some(byte),
            Escape::None | Escape::DoubledQuote => None,
        };
        let special = match (dialect.quote, escape) {
            (Some(quote), Some(escape)) => [quote, escape],
            (Some(byte), None) | (None, Some(byte)) => [byte, byte],
            // Rows are never flagged in such a dialect; NUL bytes were searched for earlier.
            (None, None) => [0, 0],
        };
        Marks {
            quote: dialect.quote,
            special: special.map(|byte| u64::from(byte) * ONES),
            dialect,
        }
    }

    /// The position of the field if it contains no quote or escape that must be removed, as most fields do. Gives the
    /// same answer as `decode_field`, but faster.
    #[inline(always)]
    fn span_without_undoing(
        &self,
        text: &[u8],
        range: &Range<usize>,
        is_escaped: bool,
    ) -> Option<Span> {
        let mut inner = range.clone();
        let is_quoted = is_escaped && !range.is_empty() && self.quote == Some(text[range.start]);
        if is_quoted {
            if range.len() < 2 || self.quote != Some(text[range.end - 1]) {
                return None;
            }
            inner = range.start + 1..range.end - 1;
        } else {
            let written = &text[range.clone()];
            let trimmed = self.dialect.trimmed(written);
            inner.start += trimmed.as_ptr().addr() - written.as_ptr().addr();
            inner.end = inner.start + trimmed.len();
            if self.dialect.is_null(trimmed) {
                return Some(Span::NULL);
            }
        }
        // A dialect has escapes outside of quotes only if it has no quotes.
        if is_escaped && (is_quoted || self.quote.is_none()) && self.is_special_in(text, &inner) {
            return None;
        }
        if is_quoted && self.dialect.null_quoted && self.dialect.is_null(&text[inner.clone()]) {
            return Some(Span::NULL);
        }
        Some(Span {
            start: inner.start as u32,
            length: inner.len() as u32,
        })
    }

    /// True if a quote or an escape is in this part of a text, which has padding after it.
    #[inline(always)]
    fn is_special_in(&self, text: &[u8], part: &Range<usize>) -> bool {
        let mut at = part.start;
        while at < part.end {
            let bytes: [u8; 8] = text[at..at + 8].try_into().expect("eight bytes");
            let word = u64::from_le_bytes(bytes);
            let found = zero_bytes(word ^ self.special[0]) | zero_bytes(word ^ self.special[1]);
            // The lowest mark is right even if others above it are not.
            let left = part.end - at;
            if found != 0 && ((found.trailing_zeros() / 8) as usize) < left {
                return true;
            }
            at += 8;
        }
        false
    }
}

pub(super) const ONES: u64 = 0x0101_0101_0101_0101;

/// A word whose lowest set bit is in the lowest zero byte of `word`; zero if no byte is zero.
#[inline(always)]
pub(super) fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

pub(super) fn nul_error() -> ValueError {
    ValueError::new(
        RejectCode::NulByte,
        "the field contains a NUL byte (0x00), which a text in a database cannot contain; likely \
         the export has a binary column or UTF-16: export it as hex or as UTF-8",
    )
}

pub(super) fn unescaped_utf8_error() -> ValueError {
    ValueError::new(
        RejectCode::InvalidUtf8,
        "after its escapes are decoded, the field is not valid UTF-8; likely bytes of another \
         encoding were written as escapes: export as UTF-8",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dialects() -> Vec<Dialect> {
        let csv = Dialect::csv();
        let escaped = Dialect {
            escape: Escape::Byte(b'\\'),
            ..csv.clone()
        };
        let marker = Dialect {
            nulls: vec!["NULL".to_owned()],
            ..csv.clone()
        };
        let never = Dialect {
            nulls: Vec::new(),
            ..csv.clone()
        };
        let many = Dialect {
            nulls: vec![String::new(), "NULL".to_owned(), "a".to_owned()],
            null_quoted: true,
            trim: DialectTrim::Both,
            ..escaped.clone()
        };
        let trimmed = Dialect {
            trim: DialectTrim::End,
            ..Dialect::tsv()
        };
        vec![csv, escaped, marker, never, many, trimmed, Dialect::tsv()]
    }

    proptest! {
        /// Spans that are found without decoding equal those of the scanner's own decoder.
        #[test]
        fn spans_as_decoded(field in "[\"\\\\a,]{0,4}|\"[a-z]{0,20}\"|\"[a-z\"\\\\]{0,20}\"|\\\\N|NULL|[a-z]{0,20}| ?a ?|\"a\"|[ \ta\\\\]{0,6}", behind in "[\"\\\\a]{8}") {
            for dialect in dialects() {
                let marks = Marks::of(&dialect);
                let mut text = field.clone().into_bytes();
                text.extend_from_slice(behind.as_bytes());
                text.resize(text.len() + WINDOW_BYTES, b'"');
                let Some(span) = marks.span_without_undoing(&text, &(0..field.len()), true) else {
                    continue;
                };
                let mut scratch = Vec::new();
                let expected = decode_field(field.as_bytes(), &dialect, &mut scratch);
                let found = (!span.is_null())
                    .then(|| &text[span.start as usize..][..span.length as usize]);
                prop_assert_eq!(found, expected.text(), "{:?} in {:?}", field, dialect);
            }
        }
    }
}
