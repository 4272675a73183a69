//! The fields of one column over the rows of a batch: where they stand, which are NULL, and
//! those that had to be unescaped.
//!
//! After this step a field is valid UTF-8 without a NUL byte, or its row is at fault.

use inrush_scan::{Dialect, FieldText, Records, decode_field};

use super::error::ValueError;
use super::kernel::{Fault, WINDOW_BYTES, Window};
use super::rows::Row;
use crate::reject::RejectCode;

/// Set in the start of a field that stands in the unescaped text.
const UNESCAPED: u32 = 1 << 31;

/// Where a field stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// First byte; with [`UNESCAPED`] set, in the unescaped text.
    pub start: u32,
    /// Bytes.
    pub length: u32,
}

impl Span {
    const NULL: Span = Span {
        start: u32::MAX,
        length: 0,
    };

    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.start == u32::MAX
    }
}

/// Which text a field stands in.
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
    /// No field is NULL and all stand in the chunk.
    pub is_plain: bool,
    /// How many are NULL.
    pub null_count: usize,
    /// The chunk with its padding.
    pub text: &'a [u8],
    /// The unescaped text with padding like the chunk's.
    pub unescaped: &'a [u8],
}

impl Fields<'_> {
    /// Where the field of a row stands; nothing for NULL.
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

    /// The field of a row; nothing for NULL.
    #[inline]
    pub fn field(&self, row: usize) -> Option<&[u8]> {
        let (home, start, length) = self.place(row)?;
        Some(&self.home(home)[start..start + length])
    }

    /// A field's window and length; nothing for NULL.
    #[inline]
    pub fn window(&self, row: usize) -> Option<(&Window, usize)> {
        let (home, start, length) = self.place(row)?;
        let window = self.home(home)[start..start + WINDOW_BYTES]
            .try_into()
            .expect("a window long");
        Some((window, length))
    }

    #[inline]
    fn home(&self, home: Home) -> &[u8] {
        match home {
            Home::Chunk => self.text,
            Home::Unescaped => self.unescaped,
        }
    }
}

/// Gathers the fields of a column. Its memory is used again for the next one.
#[derive(Default)]
pub(super) struct Gatherer {
    spans: Vec<Span>,
    unescaped: Vec<u8>,
    scratch: Vec<u8>,
    null_count: usize,
}

/// What a gatherer reads.
pub(super) struct GatherInput<'a> {
    /// The chunk with its padding.
    pub text: &'a [u8],
    /// Valid bytes of it.
    pub bytes_count: usize,
    pub records: &'a Records,
    pub rows: &'a [Row],
    pub dialect: &'a Dialect,
    /// Any row holds a quote or an escape.
    pub any_escaped: bool,
    /// Any row holds a NUL byte.
    pub any_nul: bool,
}

impl Gatherer {
    /// Gathers field `field_index` of all rows.
    pub fn gather<'a>(
        &'a mut self,
        input: &GatherInput<'a>,
        field_index: usize,
        faults: &mut Vec<Fault>,
    ) -> Fields<'a> {
        self.spans.clear();
        self.unescaped.clear();
        self.null_count = 0;
        if input.any_escaped {
            self.gather_escaped(input, field_index, faults);
        } else {
            self.gather_plain(input, field_index);
            if input.any_nul {
                self.find_nul(input.text, faults);
            }
        }
        if !self.unescaped.is_empty() {
            let length = self.unescaped.len() + WINDOW_BYTES;
            self.unescaped.resize(length, 0);
        }
        Fields {
            spans: &self.spans,
            is_plain: self.null_count == 0 && self.unescaped.is_empty(),
            null_count: self.null_count,
            text: input.text,
            unescaped: &self.unescaped,
        }
    }

    /// The unescaped text, with its padding, for an array to keep.
    pub fn take_unescaped(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unescaped)
    }

    fn gather_plain(&mut self, input: &GatherInput<'_>, field_index: usize) {
        let records = input.records;
        let field_ends = records.field_ends.as_slice();
        let mut end_max = 0;
        let mut is_ordered = true;
        let mut span = |start: u32, end: u32| {
            end_max = end_max.max(end);
            is_ordered &= start <= end;
            Span {
                start,
                length: end.wrapping_sub(start),
            }
        };
        if field_index == 0 {
            self.spans.extend(input.rows.iter().map(|row| {
                span(
                    records.records[row.record as usize].start,
                    field_ends[row.first_field as usize],
                )
            }));
        } else {
            self.spans.extend(input.rows.iter().map(|row| {
                let at = row.first_field as usize + field_index;
                let [before, end] = field_ends[at - 1..=at] else {
                    unreachable!("two neighbours");
                };
                span(before + 1, end)
            }));
        }
        assert!(
            is_ordered && end_max as usize <= input.bytes_count,
            "a scan's fields lie in order within its chunk"
        );
        match input.dialect.null.as_deref() {
            None => {}
            Some("") => {
                for span in &mut self.spans {
                    if span.length == 0 {
                        *span = Span::NULL;
                        self.null_count += 1;
                    }
                }
            }
            Some(marker) => {
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
        }
    }

    fn gather_escaped(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        faults: &mut Vec<Fault>,
    ) {
        let valid = &input.text[..input.bytes_count];
        let null = input.dialect.null.as_deref().map(str::as_bytes);
        for (place, row) in input.rows.iter().enumerate() {
            let range = input.records.field(row.record as usize, field_index);
            // Most rows of most files have nothing to undo.
            let is_escaped = input.records.records[row.record as usize].escaped;
            if !is_escaped && !input.any_nul {
                let span = if null == Some(&valid[range.clone()]) {
                    self.null_count += 1;
                    Span::NULL
                } else {
                    Span {
                        start: range.start as u32,
                        length: range.len() as u32,
                    }
                };
                self.spans.push(span);
                continue;
            }
            let written = &valid[range.clone()];
            let span = match decode_field(written, input.dialect, &mut self.scratch) {
                FieldText::Null => {
                    self.null_count += 1;
                    Span::NULL
                }
                FieldText::Written(text) => {
                    if input.any_nul && text.contains(&0) {
                        faults.push(Fault {
                            row: place,
                            error: nul_error(),
                        });
                    }
                    // What is written is a part of the field: the way from its start is short.
                    let start = range.start + (text.as_ptr().addr() - written.as_ptr().addr());
                    Span {
                        start: start as u32,
                        length: text.len() as u32,
                    }
                }
                // Nothing is left of it: any place will do, and the chunk's needs no padding.
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
                            // Keeps the row's place; the row itself is dropped.
                            self.null_count += 1;
                            Span::NULL
                        }
                    }
                }
            };
            self.spans.push(span);
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

fn nul_error() -> ValueError {
    ValueError::new(
        RejectCode::NulByte,
        "the field holds a NUL byte (0x00), which no text in a database can hold; likely a \
         binary column or UTF-16 in the export: export it as hex or as UTF-8",
    )
}

fn unescaped_utf8_error() -> ValueError {
    ValueError::new(
        RejectCode::InvalidUtf8,
        "with its escapes undone the field is not valid UTF-8; likely bytes of another \
         encoding were written as escapes: export as UTF-8",
    )
}
