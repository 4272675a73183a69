//! Cuts a sample into records under one form.
//!
//! A sample from the middle of a file begins inside some record, and under a form with quotes its first bytes may be
//! inside or outside a quoted field. So both are assumed, and each assumption cuts the sample. If the two begin a
//! record at the same byte, they agree from there on, and the rest is certain. If they never do, an assumption is
//! accepted only if its records have the right number of fields, and the records of the other assumption do not. A
//! sample that settles nothing is left out and counted.

use std::sync::Arc;

use inrush_rows::chunk::Chunk;
use inrush_rows::encoding::TextEncoding;
use inrush_rows::padded_text::PaddedText;
use inrush_scan::{Records, Scanner};

use super::form::{Form, FormEscape};
use super::mapping;
use super::sample::Sample;

/// At least this share of the records under the right assumption, in percent, have the right form.
const GOOD_PERCENT_MIN: usize = 90;

/// At most this share of the records under the wrong assumption, in percent, have the right form.
const GOOD_PERCENT_WRONG_MAX: usize = 50;

/// The records of a sample.
pub(super) struct Cut {
    /// The text from the first record on, as the load would hold it.
    pub chunk: Chunk,
    pub records: Records,
    /// True if the first record is the first of its file.
    pub starts_file: bool,
    /// True if lines are counted from the file's first line.
    pub is_line_known: bool,
    /// The encoding that the text was translated from; `None` if it is read as UTF-8.
    pub translated_from: Option<TextEncoding>,
}

/// Cuts a sample; `None` if it is not clear where its records begin, or if it holds no whole record. `field_count` is
/// the number of fields of a good record.
pub(super) fn cut(sample: &Sample, form: &Form, field_count: usize) -> Option<Cut> {
    let start = match sample.starts_file {
        true => 0,
        false => first_record(&sample.bytes, form, field_count)?,
    };
    let text = &sample.bytes[start..];
    let mut records = Records::default();
    let scan = Scanner::new(&mapping::dialect(form))
        .scan(text, sample.ends_file, &mut records)
        .ok()?;
    let text = &text[..scan.bytes_consumed];
    let invalid_utf8 = (0..records.len() as u32)
        .filter(|index| {
            let record = &records.records[*index as usize];
            std::str::from_utf8(&text[record.start as usize..record.end as usize]).is_err()
        })
        .collect();
    Some(Cut {
        chunk: Chunk {
            text: PaddedText::of(text),
            file: Arc::clone(&sample.file.path),
            byte_offset: sample.byte_offset + start as u64,
            line_offset: sample.line_offset,
            invalid_utf8,
            places: None,
            typed: None,
        },
        records,
        starts_file: sample.starts_file,
        is_line_known: sample.starts_file,
        translated_from: sample.translated_from,
    })
}

/// The position at which the first whole record of a sample from the middle begins.
fn first_record(bytes: &[u8], form: &Form, field_count: usize) -> Option<usize> {
    let Some(quote) = form.quote else {
        return first_line(bytes, form.escape);
    };
    let outside = assume(bytes, form, field_count, 0);
    let mut quoted = Vec::with_capacity(bytes.len() + 1);
    quoted.push(quote);
    quoted.extend_from_slice(bytes);
    let inside = assume(&quoted, form, field_count, 1);
    match (outside, inside) {
        (Some(outside), Some(inside)) => {
            if let Some(start) = first_common(&outside.starts, &inside.starts) {
                Some(start)
            } else if outside.is_right() && inside.is_wrong() {
                outside.starts.first().copied()
            } else if inside.is_right() && outside.is_wrong() {
                inside.starts.first().copied()
            } else {
                None
            }
        }
        (Some(one), None) | (None, Some(one)) => {
            one.starts.first().copied().filter(|_| one.is_right())
        }
        (None, None) => None,
    }
}

/// The result of an assumption.
struct Assumed {
    /// The positions where records begin in the sample, without the first one, which is incomplete.
    starts: Vec<usize>,
    /// The number of these records that have the right form.
    good: usize,
}

impl Assumed {
    fn is_right(&self) -> bool {
        self.good > 0 && self.good * 100 >= self.starts.len() * GOOD_PERCENT_MIN
    }

    fn is_wrong(&self) -> bool {
        self.good * 100 <= self.starts.len() * GOOD_PERCENT_WRONG_MAX
    }
}

/// Cuts a sample whose first `shift` bytes were added as an assumption.
fn assume(bytes: &[u8], form: &Form, field_count: usize, shift: usize) -> Option<Assumed> {
    let mut records = Records::default();
    // The end of the sample is not the end of a record.
    Scanner::new(&mapping::dialect(form))
        .scan(bytes, false, &mut records)
        .ok()?;
    let mut faults = records.faults.iter().peekable();
    let mut good = 0;
    for index in 0..records.len() {
        let fault = faults.next_if(|fault| fault.record_index as usize == index);
        let is_good = fault.is_none() && records.field_count(index) == field_count;
        good += usize::from(index > 0 && is_good);
    }
    let starts: Vec<usize> = records
        .records
        .iter()
        .skip(1)
        .map(|record| record.start as usize - shift)
        .collect();
    (!starts.is_empty()).then_some(Assumed { starts, good })
}

/// The first place where a record begins under both assumptions. From there on they cut the
/// same records, so it is certain.
fn first_common(left: &[usize], right: &[usize]) -> Option<usize> {
    left.iter()
        .copied()
        .find(|start| right.binary_search(start).is_ok())
}

/// The position after the first line end that is not escaped.
fn first_line(bytes: &[u8], escape: FormEscape) -> Option<usize> {
    (0..bytes.len())
        .filter(|at| bytes[*at] == b'\n')
        .find(|at| {
            let escapes = bytes[..*at]
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count();
            // If a sample begins with escapes, it is unknown how many were before it.
            escape != FormEscape::Backslash || escapes % 2 == 0 && escapes < *at
        })
        .map(|at| at + 1)
}
