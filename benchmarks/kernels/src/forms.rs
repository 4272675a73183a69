//! Writes the same lines in other forms: other delimiters, quotes, fields without a value.

use crate::Random;
use crate::lineitem::TEXT_FIELDS;

/// dbgen's lines with `delimiter` between fields and `end` after the last one. `write` is given the index of each
/// field.
pub fn rewritten(
    text: &str,
    delimiter: &str,
    end: &str,
    mut write: impl FnMut(&mut String, usize, &str),
) -> String {
    let mut written = String::with_capacity(text.len() * 3 / 2);
    for line in text.lines() {
        for (index, field) in fields(line).enumerate() {
            if index > 0 {
                written.push_str(delimiter);
            }
            write(&mut written, index, field);
        }
        written.push_str(end);
    }
    written
}

/// The unchanged field.
pub fn as_it_is(written: &mut String, _index: usize, field: &str) {
    written.push_str(field);
}

/// Quotes around lineitem's text fields.
pub fn text_quoted(written: &mut String, index: usize, field: &str) {
    match TEXT_FIELDS.contains(&index) {
        true => all_quoted(written, index, field),
        false => as_it_is(written, index, field),
    }
}

/// Quotes around every field; no field contains a quote.
pub fn all_quoted(written: &mut String, _index: usize, field: &str) {
    written.push('"');
    written.push_str(field);
    written.push('"');
}

/// The lines with a random tenth of the fields empty.
pub fn with_nulls(text: &str, seed: u64) -> String {
    let mut random = Random::new(seed);
    rewritten(text, "|", "|\n", |written, _, field| {
        if random.below(10) > 0 {
            written.push_str(field);
        }
    })
}

/// The number of bytes that one field has in all lines together, including the delimiter after it.
pub fn field_bytes(text: &str, index: usize) -> usize {
    text.lines()
        .filter_map(|line| fields(line).nth(index))
        .map(|field| field.len() + 1)
        .sum()
}

fn fields(line: &str) -> std::str::Split<'_, char> {
    line.strip_suffix('|').unwrap_or(line).split('|')
}
