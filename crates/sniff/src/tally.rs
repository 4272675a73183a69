//! Counts the records and fields that a form finds in the samples.

use std::collections::BTreeMap;

use inrush_scan::{FaultKind, Records, Scanner};

use super::cut_sample::cut;
use super::form::Form;
use super::mapping;
use super::sample::Sample;

/// The most records before the first good one that may be a title.
pub(super) const TITLE_RECORDS_MAX: usize = 20;

/// The result of cutting the samples by a form.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// The number of records, without titles and comments.
    pub records: u64,
    /// The number of records before the first good one of a file, which may be a title.
    pub titles: u64,
    /// The number of records with the usual number of fields and without a fault.
    pub good: u64,
    /// The number of fields that most records have.
    pub field_count: usize,
    /// The number of good records whose last field is empty.
    pub empty_at_end: u64,
    /// The number of quoted fields in good records.
    pub quoted: u64,
    /// The number of escaped quotes inside quoted fields.
    pub escaped_quotes: u64,
    /// The number of fields with quotes that are not around the field.
    pub stray_quotes: u64,
    /// The backslashes in unquoted fields of good records, without fields that are `\N`.
    pub backslashes: Backslashes,
    /// The number of unquoted empty fields.
    pub empties: u64,
    /// The number of unquoted fields that are `\N`.
    pub null_marks: u64,
}

/// Numbers of backslashes outside of quotes, by the byte after each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backslashes {
    /// The number of backslashes before a delimiter or a line end, which can only be escapes.
    pub needed: u64,
    /// The number of backslashes before another backslash.
    pub doubled: u64,
    /// The number of backslashes before a letter or digit that COPY and MySQL escape.
    pub letters: u64,
    /// The number of backslashes before any other byte: ordinary characters, as in Windows paths.
    pub lone: u64,
}

impl Backslashes {
    /// The number of backslashes that can be escapes.
    pub fn escapes(&self) -> u64 {
        self.needed + self.doubled + self.letters
    }

    fn count(&mut self, written: &[u8], delimiter: &[u8]) {
        let mut at = 0;
        while let Some(found) = written[at..].iter().position(|byte| *byte == b'\\') {
            let next = written.get(at + found + 1);
            match next {
                Some(b'\n' | b'\r') => self.needed += 1,
                Some(next) if delimiter.contains(next) => self.needed += 1,
                // Two backslashes at the beginning may also begin the path of a Windows share.
                Some(b'\\') if at + found > 0 => self.doubled += 1,
                Some(b'\\') => self.letters += 1,
                Some(
                    b't' | b'n' | b'r' | b'b' | b'f' | b'v' | b'N' | b'Z' | b'0'..=b'7' | b'x',
                ) => {
                    self.letters += 1;
                }
                Some(b'"' | b'\'') => self.letters += 1,
                _ => self.lone += 1,
            }
            at = (at + found + 2).min(written.len());
        }
    }
}

impl Tally {
    /// The share of good records.
    pub fn share(&self) -> f64 {
        match self.records {
            0 => 0.0,
            records => self.good as f64 / records as f64,
        }
    }

    /// Like [`share`](Tally::share), with the records of titles counted as bad.
    pub fn share_with_titles(&self) -> f64 {
        match self.records + self.titles {
            0 => 0.0,
            records => self.good as f64 / records as f64,
        }
    }

    /// True if every record ends with one more delimiter; a header may lack it.
    pub fn has_trailing_delimiter(&self) -> bool {
        self.good > 0
            && self.empty_at_end == self.good
            // If a single record ends with an empty field, that may be a NULL.
            && (self.good > 1 || self.field_count > 2)
    }
}

/// Counts the records and fields of the samples by a form.
pub(super) fn tally(samples: &[Sample], form: &Form) -> Tally {
    let beginnings: Vec<(&Sample, Records)> = samples
        .iter()
        .filter(|sample| sample.starts_file)
        .map(|sample| (sample, records_of(sample, form)))
        .collect();
    let mut tally = Tally {
        field_count: usual_field_count(&beginnings),
        ..Tally::default()
    };
    for (sample, records) in &beginnings {
        let title = title_records(records, tally.field_count);
        count(&mut tally, &sample.bytes, records, title, form);
    }
    for sample in samples.iter().filter(|sample| !sample.starts_file) {
        match cut(sample, form, tally.field_count) {
            Some(cut) => count(&mut tally, cut.chunk.text(), &cut.records, 0, form),
            // Under this form no record is found in this sample.
            None => tally.records += 1,
        }
    }
    tally
}

/// The number of fields that most records have; among equals the greater one.
fn usual_field_count(beginnings: &[(&Sample, Records)]) -> usize {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for (sample, records) in beginnings {
        for index in 0..records.len() {
            if !is_comment(&sample.bytes, records, index) {
                *counts.entry(records.field_count(index)).or_default() += 1;
            }
        }
    }
    counts
        .into_iter()
        .max_by_key(|(fields, count)| (*count, *fields))
        .map_or(0, |(fields, _)| fields)
}

/// True if a record begins with the sign of a comment.
pub(super) fn is_comment(text: &[u8], records: &Records, index: usize) -> bool {
    text.get(records.records[index].start as usize) == Some(&b'#')
}

/// The number of records before the first good one, if they may be a title.
pub(super) fn title_records(records: &Records, field_count: usize) -> usize {
    let is_good = |index: usize| records.field_count(index) == field_count;
    let first_good = (0..records.len().min(TITLE_RECORDS_MAX + 1)).find(|index| is_good(*index));
    first_good.unwrap_or(0)
}

fn count(tally: &mut Tally, text: &[u8], records: &Records, title: usize, form: &Form) {
    let mut faults = records.faults.iter().peekable();
    for index in 0..records.len() {
        let fault = faults.next_if(|fault| fault.record_index as usize == index);
        let fields = records.field_count(index);
        let is_good = fault.is_none() && fields == tally.field_count;
        // A title and comments are not records; a comment that looks like a record counts as one.
        if !is_good && is_comment(text, records, index) {
            continue;
        }
        if !is_good && index < title {
            tally.titles += 1;
            continue;
        }
        tally.records += 1;
        if fault.is_some_and(|fault| fault.kind == FaultKind::StrayQuote) {
            tally.stray_quotes += 1;
        }
        if !is_good {
            continue;
        }
        tally.good += 1;
        tally.empty_at_end += u64::from(records.field(index, fields - 1).is_empty());
        for field in 0..fields {
            look(tally, &text[records.field(index, field)], form);
        }
    }
}

fn look(tally: &mut Tally, written: &[u8], form: &Form) {
    match form.quote {
        Some(quote) if written.first() == Some(&quote) => {
            tally.quoted += 1;
            tally.escaped_quotes += written
                .windows(2)
                .filter(|pair| pair[0] == b'\\' && pair[1] == quote)
                .count() as u64;
            return;
        }
        None => tally.stray_quotes += u64::from(written.contains(&b'"')),
        Some(_) => {}
    }
    tally.empties += u64::from(written.is_empty());
    // A mark of NULL does not show what other backslashes mean.
    if written == b"\\N" {
        tally.null_marks += 1;
    } else {
        tally.backslashes.count(written, &form.delimiter);
    }
}

/// Cuts the whole text of a sample, for counting.
fn records_of(sample: &Sample, form: &Form) -> Records {
    let mut records = Records::default();
    // If a sample cannot be scanned, it has no good record.
    if Scanner::new(&mapping::dialect(form))
        .scan(&sample.bytes, sample.ends_file, &mut records)
        .is_err()
    {
        records.clear();
    }
    records
}
