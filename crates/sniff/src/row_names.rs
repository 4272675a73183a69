//! Files whose header has one name fewer than the rows have fields: R's `write.table` writes the row names as a first
//! column that has no name in the header.
//!
//! ```text
//! "mpg" "cyl"
//! "Mazda RX4" 21 6
//! "Datsun 710" 22.8 4
//! ```
//!
//! A file whose header lacks its *last* name looks the same, and so does a file in which an unquoted decimal comma cuts
//! a number in two (`name,amount` above `Smith,1,00`). If such a file were read like R's, every value would be loaded
//! one column too far. If the names do not have the types of their columns, this is no evidence: in the other two
//! cases the names do not have these types either. R's row names are accepted only if all files begin with the same
//! header, all of the first rows have one field more, no two rows of a file have the same first field, the first name
//! is not itself a usual name for row numbers (`id`), and either
//!
//! - names and first fields are in quotes, and the rows are numbered (`"1"`, `"2"`, ...), as R writes by default; if
//!   the delimiter is a comma, no two adjacent fields may be one number with a decimal comma; or
//! - the delimiter is a blank or a tab, and the rows are numbered, or names and first fields are in quotes.
//!
//! The load then skips the header's line, and the columns get their names here: the first one is [`NAME`]. All other
//! such files with at least two names are [`Unnamed`]: a load refuses them, and `inrush init` prints the possible
//! readings.

use std::collections::BTreeSet;

use inrush_package::POSTGRES_NAME_BYTES_MAX;
use inrush_scan::decode_field;

use super::cut_sample::{Cut, cut};
use super::error::SniffError;
use super::form::Form;
use super::header_detection::{are_distinct, is_name};
use super::mapping;
use super::sample::{Sample, Samples};

/// The name of the column of row names.
const NAME: &str = "row_name";

/// How many rows of each file are examined.
const ROWS_MAX: usize = 1000;

/// A header without a name for the first field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowNames {
    /// The number of lines in each file before the first row.
    pub lines: u32,
    /// The names in the header.
    pub names: Vec<String>,
    /// True if the names and the first fields of rows are in quotes.
    are_quoted: bool,
    /// True if all of them can be names.
    are_names: bool,
    /// True if no two rows of a file have the same name.
    are_unique: bool,
    /// True if the names of rows are 1, 2, 3 and so on.
    are_numbered: bool,
    /// True if two adjacent fields may be one number with a decimal comma.
    may_have_decimal_commas: bool,
}

/// A header with one name fewer than the rows have fields, if it is not clearly a header of R.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    what: String,
    fix: String,
}

impl Unnamed {
    /// The possible readings, and the fix for each.
    pub fn told(&self) -> String {
        format!("{}; {}", self.what, self.fix)
    }

    /// Why the files are not loaded.
    pub fn refused(&self, path: &std::path::Path) -> SniffError {
        SniffError::Records {
            path: path.to_path_buf(),
            what: self.what.clone(),
            mend: self.fix.clone(),
        }
    }
}

impl RowNames {
    /// The beginnings of the samples, if they may be such a header.
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
                // A file without this header would lose its first line.
                Some(known) if known.names != other.names || known.lines != other.lines => {
                    return None;
                }
                Some(known) => {
                    known.are_quoted &= other.are_quoted;
                    known.are_unique &= other.are_unique;
                    known.are_numbered &= other.are_numbered;
                    known.may_have_decimal_commas |= other.may_have_decimal_commas;
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
        // A single broken row is left as a reject, except if it is the first row.
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
        let is_number = |row: usize, field: usize| {
            let written = &cut.chunk.text()[records.field(row, field)];
            !written.is_empty() && written.iter().all(u8::is_ascii_digit)
        };
        let is_whole = |row: usize, field: usize| {
            is_number(row, field)
                || cut.chunk.text()[records.field(row, field)]
                    .strip_prefix(b"-")
                    .is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
        };
        let has_point = |row: usize, field: usize| {
            let text = text_of(&cut, form, row, field);
            text.contains('.') && text.parse::<f64>().is_ok()
        };
        let may_be_cut = |field: usize| {
            rows.clone()
                .all(|row| is_whole(row, field) && is_number(row, field + 1))
        };
        let may_have_decimal_commas = form.delimiter == b","
            && (1..field_count - 1).any(may_be_cut)
            && !rows
                .clone()
                .any(|row| (1..field_count).any(|field| has_point(row, field)));
        Some(RowNames {
            lines: records.records[1].line,
            are_quoted: (0..field_count - 1).all(|field| is_quoted(0, field))
                && rows.clone().all(|row| is_quoted(row, 0)),
            are_names: names.iter().all(|name| is_name(name)),
            may_have_decimal_commas,
            are_numbered: (1_u64..)
                .zip(&firsts)
                .all(|(number, first)| *first == number.to_string()),
            are_unique: distinct.len() == firsts.len() && !firsts.iter().any(String::is_empty),
            names,
        })
    }

    /// True if the header is accepted by the rule at the head of this file.
    pub fn is_believed(&self, form: &Form) -> bool {
        let is_usual = self.are_quoted && self.are_numbered && !self.may_have_decimal_commas;
        let is_blank = matches!(form.delimiter.as_slice(), b" " | b"\t");
        // A header of a single word needs more evidence, because it may be a title.
        let are_told = self.names.len() > 1 && self.are_names && self.are_numbered;
        self.are_unique
            && !self.names.first().is_some_and(|name| numbers_rows(name))
            && (is_usual || is_blank && (are_told || self.are_quoted))
    }

    /// The note if the header is not accepted; `None` if the first record looks like a title or a row.
    pub fn unnamed(&self, form: &Form, skip_lines: u32) -> Option<Unnamed> {
        if self.names.len() < 2 || !self.are_names {
            return None;
        }
        let comma = match form.delimiter.as_slice() {
            b"," => ", or an unquoted decimal comma cuts a number in two",
            _ => "",
        };
        let rewrite = match form.delimiter.as_slice() {
            b"," => {
                "; for decimal commas: write the file again with quotes around such numbers, or with another delimiter"
            }
            _ => "",
        };
        let format = match form.delimiter.as_slice() {
            b"," => "csv".to_owned(),
            b"\t" => "csv,delimiter=\\t".to_owned(),
            other => format!("csv,delimiter={}", String::from_utf8_lossy(other)),
        };
        let format = format!("{format},skip_lines={},no_header", skip_lines + self.lines);
        let listed = |names: &[String]| {
            let texts: Vec<String> = super::names::of_header(names, POSTGRES_NAME_BYTES_MAX)
                .0
                .iter()
                .map(|name| format!("{name} text"))
                .collect();
            super::sentence_parts::shortened(texts.join(", ").as_bytes())
        };
        let mut last = self.names.clone();
        last.push("last_column".to_owned());
        Some(Unnamed {
            what: format!(
                "the header has {} and the rows have {}: either the first column holds row names, for which R's \
                 write.table writes no name, or the name of the last column is missing{comma}",
                inrush_rows::plural::counted(self.names.len() as u64, "name"),
                inrush_rows::plural::counted(self.names.len() as u64 + 1, "field")
            ),
            fix: format!(
                "for row names: --format '{format}' --columns '{}'; for a missing last name: --format '{format}' \
                 --columns '{}', or add the name to the header{rewrite}",
                listed(&self.all_names()),
                listed(&last)
            ),
        })
    }

    /// The names of all columns, as a header would have them.
    pub fn all_names(&self) -> Vec<String> {
        std::iter::once(NAME.to_owned())
            .chain(self.names.iter().cloned())
            .collect()
    }

    /// The observation, in one sentence.
    pub fn seen(&self) -> String {
        format!(
            "the header has {} and the rows have {}, as R's write.table writes them: the first \
             field is the name of the row and becomes the column {NAME}, and the header is skipped",
            inrush_rows::plural::counted(self.names.len() as u64, "name"),
            inrush_rows::plural::counted(self.names.len() as u64 + 1, "field")
        )
    }
}

/// The problem if files are declared to have a header, and it has one name fewer than their rows have fields.
pub fn header_lacks_a_name(names: usize) -> String {
    format!(
        "the header has {} and the rows have {}, as R's write.table writes them: the column of row names has no name",
        inrush_rows::plural::counted(names as u64, "name"),
        inrush_rows::plural::counted(names as u64 + 1, "field")
    )
}

/// The fix.
pub const LACKS_A_NAME_HINT: &str = "write the file again with col.names = NA or row.names = \
    FALSE; or skip the header and give all columns, the row names first: --format \
    csv,skip_lines=1,no_header --columns \"row_name text, ...\". If the last name is missing, or \
    an unquoted decimal comma cuts a number in two, fix the header, or write such numbers in \
    quotes";

/// True if this is a usual name for a column of row numbers.
fn numbers_rows(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "#", "id", "idx", "index", "key", "line", "n", "no", "nr", "num", "number", "pos", "row",
        "rank",
    ];
    let name = name.trim().trim_end_matches('.').to_lowercase();
    WORDS.contains(&name.as_str())
        || [" id", "_id", ".id", "-id", "_no", "_nr", " no", " nr"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// The text of a field.
fn text_of(cut: &Cut, form: &Form, index: usize, field: usize) -> String {
    let mut scratch = Vec::new();
    let written = &cut.chunk.text()[cut.records.field(index, field)];
    let decoded = decode_field(written, &mapping::dialect(form), &mut scratch);
    String::from_utf8_lossy(decoded.text().unwrap_or_default()).into_owned()
}

/// True if all beginnings look like R's tables with blanks: the first line consists of texts in quotes, or the rows
/// below it are numbered. Only then is a blank tried as the delimiter, because too many texts contain one.
pub(super) fn may_be_blank_delimited(looks: &[Sample]) -> bool {
    let mut beginnings = looks.iter().filter(|look| look.starts_file).peekable();
    beginnings.peek().is_some()
        && beginnings.all(|look| {
            let line = look.bytes.split(|byte| *byte == b'\n').next();
            let line = line.unwrap_or_default();
            are_quoted_words(line.strip_suffix(b"\r").unwrap_or(line))
                || are_numbered_rows(&look.bytes, look.ends_file)
        })
}

/// True if the first line consists of words with blanks between them, and the rows below have one field more, are
/// numbered from 1, and have a column of numbers: `x y z` above `1 2 1.5 a`, as R writes without quotes. A list of
/// texts has no such column.
fn are_numbered_rows(text: &[u8], is_whole: bool) -> bool {
    const ROWS_MIN: usize = 2;
    let Ok(text) = std::str::from_utf8(match (is_whole, text.iter().rposition(|b| *b == b'\n')) {
        (true, _) | (_, None) => text,
        (false, Some(end)) => &text[..end],
    }) else {
        return false;
    };
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let is_word = |name: &&str| {
        is_name(name)
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
    };
    if names.len() < 2 || !names.iter().all(is_word) || !are_distinct(&names) {
        return false;
    }
    let mut are_numbers = vec![true; names.len()];
    let mut count = 0;
    for (number, line) in (1_usize..).zip(lines.take(ROWS_MAX)) {
        let mut fields = line.split(' ');
        if fields.next() != Some(number.to_string().as_str()) {
            return false;
        }
        let fields: Vec<&str> = fields.collect();
        if fields.len() != names.len() {
            return false;
        }
        for (is_number, field) in are_numbers.iter_mut().zip(&fields) {
            *is_number &= *field == "NA" || field.parse::<f64>().is_ok();
        }
        count = number;
    }
    count >= ROWS_MIN && are_numbers.contains(&true)
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

    #[test]
    fn numbered_rows_between_blanks_are_told() {
        for (text, expected) in [
            ("x y z\n1 2 1.5 1\n2 4 2.5 a\n", true),
            ("x y\r\n1 2 a\r\n2 NA b\r\n", true),
            ("x y\n1 2 3\n", false),
            ("x y\n1 2 3\n3 4 5\n", false),
            ("x y\n1 2\n2 3\n", false),
            ("x x\n1 2 3\n2 3 4\n", false),
            ("Items\n1 5\n2 6\n", false),
            ("Shopping list\n1 red apples\n2 ripe pears\n", false),
            ("", false),
        ] {
            assert_eq!(are_numbered_rows(text.as_bytes(), true), expected, "{text}");
        }
    }
}
