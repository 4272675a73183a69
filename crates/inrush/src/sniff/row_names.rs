//! Files whose header has one name fewer than the rows have fields: R's `write.table` writes the row names as a first
//! column that has no name in the header.
//!
//! ```text
//! "mpg" "cyl"
//! "Mazda RX4" 21 6
//! "Datsun 710" 22.8 4
//! ```
//!
//! The header is believed to be one where all files begin with the same one, all of the first rows have one field more,
//! the first field of each row is filled and no two of them are the same in a file, and both of these hold: names and
//! first fields stand in quotes, as R writes them, or names are plain words; and names do not fit the types of their
//! columns, or the rows are numbered in quotes (`"1"`, `"2"`, ...). A first row of texts that lacks a field would be lost
//! otherwise. The load then passes over the header's lines, and the columns are named here: the first one is [`NAME`].
//! Where the evidence is not enough, the user is told.

use std::collections::BTreeSet;

use inrush_scan::decode_field;

use super::cut::{Cut, cut};
use super::decide::Decision;
use super::evidence::Evidence;
use super::form::Form;
use super::header::{are_distinct, is_name, misfits};
use super::mapping;
use super::sample::{Sample, Samples};

/// What the column of row names is called.
const NAME: &str = "row_name";

/// Rows of each file that are looked at.
const ROWS_MAX: usize = 1000;

/// A header without a name for the first field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowNames {
    /// Lines of each file up to the first row.
    pub lines: u32,
    /// The names in the header.
    pub names: Vec<String>,
    /// Names, and the first fields of rows, stand in quotes.
    are_quoted: bool,
    /// Names are words as programs name things.
    are_words: bool,
    /// No two rows of a file have the same name.
    are_unique: bool,
    /// The names of rows are 1, 2, 3 and so on.
    are_numbered: bool,
}

impl RowNames {
    /// What the samples begin with, where it may be such a header.
    pub fn find(samples: &Samples, form: &Form, field_count: usize) -> Option<RowNames> {
        if field_count < 2 || form.trailing_delimiter || form.is_single_column {
            return None;
        }
        let mut found: Option<RowNames> = None;
        for sample in samples
            .beginnings()
            .filter(|sample| !sample.bytes.is_empty())
        {
            let other = RowNames::of(sample, form, field_count)?;
            match &mut found {
                None => found = Some(other),
                // Lines of a file without this header would be passed over.
                Some(known) if known.names != other.names || known.lines != other.lines => {
                    return None;
                }
                Some(known) => {
                    known.are_quoted &= other.are_quoted;
                    known.are_unique &= other.are_unique;
                    known.are_numbered &= other.are_numbered;
                }
            }
        }
        found
    }

    fn of(sample: &Sample, form: &Form, field_count: usize) -> Option<RowNames> {
        let cut = cut(sample, form, field_count)?;
        let records = &cut.records;
        let count = records.len().min(ROWS_MAX + 1);
        let has_fields = |index: usize, fields: usize| {
            let faults = &records.faults;
            records.field_count(index) == fields
                && faults
                    .iter()
                    .take_while(|fault| fault.record_index as usize <= index)
                    .all(|fault| fault.record_index as usize != index)
        };
        // One row that is broken is for the rejects; the first one must not be.
        let whole = (1..count)
            .filter(|index| has_fields(*index, field_count))
            .count();
        if count < 2
            || !has_fields(0, field_count - 1)
            || !has_fields(1, field_count)
            || whole * 10 < (count - 1) * 9
        {
            return None;
        }
        let names: Vec<String> = (0..field_count - 1)
            .map(|field| text_of(&cut, form, 0, field))
            .collect();
        if !are_distinct(&names) || names.iter().any(|name| name.is_empty()) {
            return None;
        }
        let is_quoted = |index: usize, field: usize| {
            let written = &cut.chunk.text()[records.field(index, field)];
            form.quote.is_some() && written.first() == form.quote.as_ref()
        };
        let rows = (1..count).filter(|index| records.field_count(*index) == field_count);
        let firsts: Vec<String> = rows
            .clone()
            .map(|row| text_of(&cut, form, row, 0))
            .collect();
        let distinct: BTreeSet<&String> = firsts.iter().collect();
        let is_word = |name: &String| {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            is_name(name) && name.chars().all(is_part)
        };
        Some(RowNames {
            lines: records.records[1].line,
            are_quoted: (0..field_count - 1).all(|field| is_quoted(0, field))
                && rows.clone().all(|row| is_quoted(row, 0)),
            are_words: names.iter().all(is_word),
            are_numbered: (1_u64..)
                .zip(&firsts)
                .all(|(number, first)| first.parse::<u64>() == Ok(number)),
            are_unique: distinct.len() == firsts.len() && !firsts.iter().any(String::is_empty),
            names,
        })
    }

    /// Whether it is believed, by what the rows below it show.
    pub fn is_believed(&self, evidence: &Evidence, decisions: &[Decision]) -> bool {
        let misfits = misfits(&self.names, &evidence.columns[1..], &decisions[1..]);
        // Of a single word more than its look is asked: it may be a title.
        let are_words = self.are_words && self.names.len() > 1;
        self.are_unique
            && (misfits && (self.are_quoted || are_words) || self.are_quoted && self.are_numbered)
    }

    /// The names of all columns, as a header would have them.
    pub fn all_names(&self) -> Vec<String> {
        std::iter::once(NAME.to_owned())
            .chain(self.names.iter().cloned())
            .collect()
    }

    /// What was seen, in one sentence.
    pub fn seen(&self) -> String {
        format!(
            "the header has {} and the rows have {}, as R's write.table writes them: the first field is the name of the \
             row and becomes the column {NAME}, and the header's line is passed over",
            super::words::counted(self.names.len() as u64, "name"),
            super::words::counted(self.names.len() as u64 + 1, "field")
        )
    }

    /// What to tell where it is not believed.
    pub fn unsure(&self) -> String {
        format!(
            "the first record has {} and the rows have {}; if it is a header of R's write.table, which leaves out \
             the name of the row names, set skip_lines = {} and header = false in `format` and name the columns: {}",
            super::words::counted(self.names.len() as u64, "field"),
            super::words::counted(self.names.len() as u64 + 1, "field"),
            self.lines,
            super::words::shortened(self.all_names().join(", ").as_bytes())
        )
    }
}

/// What is wrong with files that are declared to have a header, where it has one name less than their rows have fields.
pub fn header_lacks_a_name(names: usize) -> String {
    format!(
        "the header has {} and the rows have {}, as R's write.table writes them: the column of row names has no name",
        super::words::counted(names as u64, "name"),
        super::words::counted(names as u64 + 1, "field")
    )
}

/// What to do about it.
pub const LACKS_A_NAME_HINT: &str = "write the file again with col.names = NA or row.names = FALSE; or pass over the header \
    and give all columns, the row names first: --format csv,skip_lines=1,no_header --columns \"row_name text, ...\"";

/// The text of a field.
fn text_of(cut: &Cut, form: &Form, index: usize, field: usize) -> String {
    let mut scratch = Vec::new();
    let written = &cut.chunk.text()[cut.records.field(index, field)];
    let decoded = decode_field(written, &mapping::dialect(form), &mut scratch);
    String::from_utf8_lossy(decoded.text().unwrap_or_default()).into_owned()
}

/// Whether the first line of all beginnings is nothing but texts in quotes with a blank between them, as R writes a header.
/// Only then is a blank tried as the delimiter: it stands in too many texts.
pub(super) fn may_be_blank_delimited(looks: &[Sample]) -> bool {
    let mut beginnings = looks.iter().filter(|look| look.starts_file).peekable();
    beginnings.peek().is_some()
        && beginnings.all(|look| {
            let line = look.bytes.split(|byte| *byte == b'\n').next();
            let line = line.unwrap_or_default();
            are_quoted_words(line.strip_suffix(b"\r").unwrap_or(line))
        })
}

fn are_quoted_words(mut line: &[u8]) -> bool {
    loop {
        let Some(rest) = line.strip_prefix(b"\"") else {
            return false;
        };
        let Some(end) = rest.iter().position(|byte| *byte == b'"') else {
            return false;
        };
        line = match &rest[end + 1..] {
            [] => return end > 0,
            [b' ', after @ ..] => after,
            _ => return false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_quoted_words_are_told() {
        for (line, expected) in [
            ("\"a\" \"b c\" \"d\"", true),
            ("\"a\"", true),
            ("\"a\" b", false),
            ("\"a\",\"b\"", false),
            ("\"a\" ", false),
            ("a b", false),
            ("\"\"", false),
            ("", false),
        ] {
            assert_eq!(are_quoted_words(line.as_bytes()), expected, "{line}");
        }
    }
}
