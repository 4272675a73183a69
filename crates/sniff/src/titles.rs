//! Lines before the table: `sep=;`, as Excel reads and writes it, and the title of a report.
//!
//! Lines count as a title only if a header follows them, because a record before the header cannot be a row. All other
//! text before the first good record is named in a note and left to be rejected.

use super::choose_form::FormChoice;
use super::cut_sample::cut;
use super::form::shown;
use super::mapping;
use super::sample::{Sample, Samples};
use super::sentence_parts::shortened;
use super::tally::{TITLE_RECORDS_MAX, is_comment, title_records};

/// A line that names the delimiter: `sep=;`, in upper or lower case, with or without quotes.
pub(super) fn separator(samples: &Samples) -> Option<u8> {
    let mut beginnings = samples
        .beginnings()
        .filter(|sample| !sample.bytes.is_empty());
    let first = separator_of(beginnings.next()?)?;
    // If another file has no title, one of its rows would be skipped.
    beginnings
        .all(|other| separator_of(other) == Some(first))
        .then_some(first)
}

fn separator_of(sample: &Sample) -> Option<u8> {
    let line = sample.bytes.split(|byte| *byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = match line {
        [b'"', inner @ .., b'"'] => inner,
        line => line,
    };
    match line {
        [s, e, p, b'=', delimiter]
            if [*s, *e, *p].eq_ignore_ascii_case(b"sep") && *delimiter != b'\n' =>
        {
            Some(*delimiter)
        }
        _ => None,
    }
}

/// Lines that may be a title.
#[derive(Debug)]
pub(super) struct Title {
    /// The number of its lines, including blank ones.
    pub lines: u32,
    /// The texts of its records.
    pub records: Vec<String>,
    /// True if it cannot be a row: its records are one text each, and the records of the table are not.
    pub is_clear: bool,
    /// True if some of its records have as many fields as the table, and could be rows of it.
    pub may_be_rows: bool,
}

/// The possible title of the first file: the records before the first one that has all fields.
pub(super) fn find(samples: &Samples, choice: &FormChoice) -> Option<Title> {
    let sample = samples
        .beginnings()
        .find(|sample| !sample.bytes.is_empty())?;
    let field_count = choice.field_count;
    if field_count < 2 {
        return None;
    }
    let cut = cut(sample, &choice.form, field_count)?;
    let records = &cut.records;
    let text = cut.chunk.text();
    let filled = |index: usize| {
        (0..records.field_count(index))
            .filter(|field| {
                let written = &text[records.field(index, *field)];
                !matches!(written.trim_ascii(), b"" | b"\"\"" | b"''")
            })
            .count()
    };
    let other_form = title_records(records, field_count);
    // Spreadsheets add delimiters to the lines of a title.
    let last = records.len().min(TITLE_RECORDS_MAX + 1);
    let is_whole =
        |index: &usize| records.field_count(*index) == field_count && filled(*index) == field_count;
    let is_hollow = |index: usize| {
        is_comment(text, records, index)
            || records.field_count(index) == field_count && filled(index) * 2 <= field_count
            || records.field_count(index) != field_count
    };
    let header = match (other_form..last).find(is_whole) {
        Some(whole) if (other_form..whole).all(is_hollow) => whole,
        _ => other_form,
    };
    let titles: Vec<usize> = (0..header)
        .filter(|index| !is_comment(text, records, *index))
        .collect();
    if titles.is_empty() {
        return None;
    }
    Some(Title {
        lines: records.records[header].line,
        records: titles
            .iter()
            .map(|index| {
                let record = &records.records[*index];
                let written = &text[record.start as usize..record.end as usize];
                // The delimiters after it are not shown.
                let delimiter = &choice.form.delimiter;
                let end = written
                    .iter()
                    .rposition(|byte| !delimiter.contains(byte))
                    .map_or(0, |at| at + 1);
                shortened(&written[..end])
            })
            .filter(|record| !record.is_empty())
            .take(3)
            .collect(),
        may_be_rows: header > other_form,
        is_clear: header == other_form && titles.iter().all(|index| filled(*index) <= 1),
    })
}

impl Title {
    /// The observation, in one sentence.
    pub fn seen(&self) -> String {
        format!(
            "the header is in line {}: the lines before it are a title ({}) and are skipped",
            self.lines + 1,
            self.shown()
        )
    }

    /// The note if it is not accepted as a title, so its records are rows.
    pub fn unsure(&self) -> String {
        format!(
            "the first records ({}) were taken as rows; if they are a title, and line {} is the \
             header, set skip_lines = {} and header = true in `format`",
            self.shown(),
            self.lines + 1,
            self.lines
        )
    }

    fn shown(&self) -> String {
        let records: Vec<String> = self
            .records
            .iter()
            .map(|record| format!("`{record}`"))
            .collect();
        records.join(", ")
    }
}

/// The samples without the line that names the delimiter, and the observation.
pub(super) fn without_separator(samples: &Samples, delimiter: u8) -> (Samples, String) {
    let seen = format!(
        "the first line declares the delimiter, {}, and is skipped",
        shown(&[delimiter])
    );
    (samples.without_lines(1, &mapping::lines_dialect()), seen)
}
