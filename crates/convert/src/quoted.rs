//! Gathers the fields of a column whose quotes enclose whole fields, as usual: the field is the text between the
//! quotes. A field of another form is decoded byte by byte.
//!
//! `fields`, `kernel`, `quoted` and `simd` depend on each other. `fields` gathers the fields of a column, by the quick
//! path of `quoted` if their quotes are simple; `kernel` makes values of the fields. `simd` compiles the loops of these
//! three modules once more for other instructions, and they call it.

use inrush_scan::{DialectTrim, Escape};

use super::fields::{GatherInput, Gatherer, Marks, ONES, Span, zero_bytes};
use super::kernel::{Fault, WINDOW_BYTES, Window};

/// The quotes of a dialect that needs no other processing of its fields.
pub(super) struct SimpleQuotes {
    quote: u8,
    /// Quote and escape; equal if there is only one of them.
    special: [u8; 2],
    empty_is_null: bool,
}

impl SimpleQuotes {
    /// The quotes of a batch; `None` if fields are trimmed, may be missing or contain a NUL byte, or if other texts
    /// than the empty one are NULL.
    pub fn of(input: &GatherInput<'_>) -> Option<SimpleQuotes> {
        let dialect = input.dialect;
        let empty_is_null = match dialect.nulls.as_slice() {
            [] => false,
            [marker] if marker.is_empty() && !dialect.null_quoted => true,
            _ => return None,
        };
        let is_simple = dialect.trim == DialectTrim::None
            && !input.any_nul
            && !input.selected.any_ragged
            && input.records.field_starts.is_empty();
        let quote = dialect.quote.filter(|_| is_simple)?;
        let escape = match dialect.escape {
            Escape::Byte(byte) => byte,
            Escape::None | Escape::DoubledQuote => quote,
        };
        Some(SimpleQuotes {
            quote,
            special: [quote, escape],
            empty_is_null,
        })
    }

    /// The span of the field between `start` and `end`, if nothing in it must be unescaped and the closing quote is
    /// near.
    #[inline(always)]
    fn span(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        first_of: impl Fn(&Window, [u8; 2]) -> usize,
    ) -> Option<Span> {
        let whole = Span {
            start: start as u32,
            length: end.wrapping_sub(start) as u32,
        };
        if start == end {
            return Some(if self.empty_is_null {
                Span::NULL
            } else {
                whole
            });
        }
        if text[start] != self.quote {
            return Some(whole);
        }
        let inner = start + 1;
        let window: &Window = text[inner..inner + WINDOW_BYTES]
            .try_into()
            .expect("a window long");
        // The field is simple only if its first quote or escape is the closing quote.
        let length = first_of(window, self.special);
        let closes = inner + length + 1 == end && text[end - 1] == self.quote;
        closes.then_some(Span {
            start: inner as u32,
            length: length as u32,
        })
    }
}

impl Gatherer {
    /// [`Gatherer::gather_quoted_with`] for AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt"
    )]
    pub(super) fn gather_quoted_avx512(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        marks: &Marks<'_>,
        quotes: &SimpleQuotes,
        faults: &mut Vec<Fault>,
    ) {
        let first_of = |window: &Window, bytes| super::simd::quotes::first_of(window, bytes);
        self.gather_quoted_with(input, field_index, marks, quotes, first_of, faults);
    }

    /// [`Gatherer::gather_quoted_with`] compiled for AVX2 and the rest of x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
    pub(super) fn gather_quoted_avx2(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        marks: &Marks<'_>,
        quotes: &SimpleQuotes,
        faults: &mut Vec<Fault>,
    ) {
        self.gather_quoted_with(input, field_index, marks, quotes, first_of, faults);
    }

    /// Gathers a column with simple quotes. The loop is compiled for the instructions of its caller.
    #[inline(always)]
    pub(super) fn gather_quoted_with(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        marks: &Marks<'_>,
        quotes: &SimpleQuotes,
        first_of: impl Fn(&Window, [u8; 2]) -> usize + Copy,
        faults: &mut Vec<Fault>,
    ) {
        let records = input.records;
        let field_ends = records.field_ends.as_slice();
        let gap_bytes = records.gap_bytes;
        let mut end_max = 0;
        let mut is_ordered = true;
        for (place, row) in input.rows.iter().enumerate() {
            let at = row.first_field as usize + field_index;
            let (start, end) = if field_index == 0 {
                (records.records[row.record as usize].start, field_ends[at])
            } else {
                let [before, end] = field_ends[at - 1..=at] else {
                    unreachable!("two neighbours");
                };
                (before + gap_bytes, end)
            };
            end_max = end_max.max(end);
            is_ordered &= start <= end;
            let span = match quotes.span(input.text, start as usize, end as usize, first_of) {
                Some(span) => span,
                None => self.escaped_span(input, place, field_index, marks, faults),
            };
            self.null_count += usize::from(span.is_null());
            self.spans.push(span);
        }
        assert!(
            is_ordered && end_max as usize <= input.bytes_count,
            "a scan's fields lie in order within its chunk"
        );
    }
}

/// The position of the first of two bytes in a window; the window's length if there is none.
#[inline(always)]
pub(super) fn first_of(window: &Window, bytes: [u8; 2]) -> usize {
    let [first, second] = bytes.map(|byte| u64::from(byte) * ONES);
    let (words, _) = window.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest mark is right even if others above it are not.
        let found = zero_bytes(word ^ first) | zero_bytes(word ^ second);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    WINDOW_BYTES
}

#[cfg(test)]
mod tests {
    use inrush_scan::{Dialect, Records, Scanner};
    use proptest::prelude::*;

    use super::super::rows::{Row, Selected};
    use super::super::simd::Instructions;
    use super::*;

    /// The fields of a column with and without the quick path; `None` for NULL.
    fn gathered(
        dialect: &Dialect,
        text: &str,
        field_index: usize,
        instructions: Instructions,
        is_short: bool,
    ) -> Vec<Option<String>> {
        let mut records = Records::default();
        Scanner::new(dialect)
            .scan(text.as_bytes(), true, &mut records)
            .expect("a text that can be scanned");
        let has_fault = |index: u32| records.faults.iter().any(|at| at.record_index == index);
        let rows: Vec<Row> = (0..records.len() as u32)
            .filter(|index| !has_fault(*index) && records.field_count(*index as usize) == 2)
            .map(|record| Row {
                record,
                first_field: records.records[record as usize].first_field,
            })
            .collect();
        let mut padded = text.as_bytes().to_vec();
        // Quotes after the last field do not belong to it.
        padded.resize(text.len() + WINDOW_BYTES, b'"');
        let input = GatherInput {
            text: &padded,
            bytes_count: text.len(),
            records: &records,
            rows: &rows,
            dialect,
            selected: Selected {
                any_escaped: true,
                // Rows that may lack fields are decoded byte by byte.
                any_ragged: !is_short,
            },
            any_nul: false,
            ascii: 0..0,
        };
        assert_eq!(SimpleQuotes::of(&input).is_some(), is_short);
        let mut gatherer = Gatherer {
            instructions,
            ..Gatherer::default()
        };
        let mut faults = Vec::new();
        let fields = gatherer.gather(&input, field_index, &mut faults);
        assert!(faults.is_empty());
        (0..rows.len())
            .map(|row| {
                let field = fields.field(row)?;
                Some(String::from_utf8(field.to_vec()).expect("text"))
            })
            .collect()
    }

    fn agree(text: &str) {
        let csv = Dialect {
            header: false,
            ..Dialect::csv()
        };
        let escaped = Dialect {
            escape: Escape::Byte(b'\\'),
            ..csv.clone()
        };
        let never_null = Dialect {
            nulls: Vec::new(),
            ..csv.clone()
        };
        for dialect in [csv, escaped, never_null] {
            for field_index in 0..2 {
                for instructions in Instructions::available() {
                    let [short, long] = [true, false].map(|is_short| {
                        gathered(&dialect, text, field_index, instructions, is_short)
                    });
                    assert_eq!(short, long, "{text:?} {dialect:?} {instructions:?}");
                }
            }
        }
    }

    #[test]
    fn quoted_fields_of_every_length() {
        for length in 0..140 {
            let field = "x".repeat(length);
            agree(&format!(
                "\"{field}\",{field}\n{field},\"{field}\"\n,\"{field}\""
            ));
            agree(&format!("\"{field}\"\"\",1\n\"\"\"{field}\",\"\"\n"));
        }
    }

    proptest! {
        #[test]
        fn as_the_long_way(text in "((\"([a-z\\\\]|\"\"|,|é){0,70}\"|[a-z0-9]{0,6}),(\"([a-z]|\"\"){0,6}\"|[a-z]{0,3}|\"\")\n){0,8}") {
            agree(&text);
        }

        #[test]
        fn first_of_as_searched(window in prop::collection::vec(prop::sample::select(vec![b'a', b'"', b'\\', 0, 0x80, b'#']), WINDOW_BYTES), second in prop::sample::select(vec![b'"', b'\\'])) {
            let bytes = [b'"', second];
            let window: &Window = window.as_slice().try_into().expect("a window long");
            let expected = window
                .iter()
                .position(|byte| bytes.contains(byte))
                .unwrap_or(WINDOW_BYTES);
            prop_assert_eq!(first_of(window, bytes), expected);
            #[cfg(target_arch = "x86_64")]
            if let Some(found) = super::super::simd::first_of_avx512(window, bytes) {
                prop_assert_eq!(found, expected);
            }
        }
    }
}
