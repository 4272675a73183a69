//! Decides whether a field looks like one value, or like several values with another delimiter between them. Only the
//! choice of the delimiter uses this; types are tested with the load's converters.

use super::form::Form;

/// Delimiters that separate values if no blank follows them.
const SUSPECTS: [u8; 4] = [b',', b';', b'|', b'\t'];

/// Delimiters that separate values only if they divide all records into the same number of fields. Otherwise they are
/// ordinary characters, as in `~ann`, `a^2`, `#5`.
pub(super) const RIVALS: [u8; 4] = [b'~', b'^', b'!', b'#'];

/// How much a field, as it is written, looks like one value under this form, 0 to 1. `rivals` are the delimiters of
/// [`RIVALS`] that divide all records evenly. A field that contains one of them counts half, because such a delimiter
/// proves nothing.
pub(super) fn cleanness(written: &[u8], form: &Form, rivals: &[u8]) -> f64 {
    if !is_clean(written, form) {
        return 0.0;
    }
    let delimiter = form.delimiter[0];
    let is_quoted = form.quote.is_some() && written.first() == form.quote.as_ref();
    let parts = |at: usize| {
        let byte = written[at];
        byte != delimiter && rivals.contains(&byte) && is_between(written, at)
    };
    match !is_quoted && (0..written.len()).any(parts) {
        true => 0.5,
        false => 1.0,
    }
}

/// True if there is text before a byte, and text other than a blank after it.
fn is_between(written: &[u8], at: usize) -> bool {
    at > 0 && !matches!(written.get(at + 1), Some(b' ') | None)
}

/// True if a field, as it is written, looks like one value under this form.
fn is_clean(written: &[u8], form: &Form) -> bool {
    if form.quote.is_some() && written.first() == form.quote.as_ref() {
        return true;
    }
    // The two sides of a colon in a time belong together.
    if form.delimiter == b":" && is_part_of_time(written) {
        return false;
    }
    let delimiter = form.delimiter[0];
    let is_control = |byte: &u8| *byte < 0x20 && *byte != delimiter && !SUSPECTS.contains(byte);
    if written.iter().any(is_control) {
        return false;
    }
    let odd = |at: &usize| {
        let byte = written[*at];
        SUSPECTS.contains(&byte)
            && byte != delimiter
            && !matches!(written.get(at + 1), Some(b' ') | None)
    };
    (0..written.len()).find(odd).is_none() || is_number(written) || is_bracketed(written)
}

/// True for digits with points and commas between them, as some countries write numbers.
fn is_number(written: &[u8]) -> bool {
    let text = match written {
        [b'-' | b'+', rest @ ..] => rest,
        text => text,
    };
    text.first().is_some_and(u8::is_ascii_digit)
        && text
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
        && text.last().is_some_and(u8::is_ascii_digit)
}

/// True for texts such as JSON, which contain commas themselves.
fn is_bracketed(written: &[u8]) -> bool {
    matches!(
        (written.first(), written.last()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) | (Some(b'('), Some(b')'))
    )
}

/// True if there are two digits on each side, as around the colons of a time.
fn is_part_of_time(written: &[u8]) -> bool {
    let is_two = |part: &[u8]| part.len() == 2 && part.iter().all(u8::is_ascii_digit);
    let ends = |part: &[u8]| part.len() >= 2 && is_two(&part[part.len() - 2..]);
    let begins = |part: &[u8]| part.len() >= 2 && is_two(&part[..2]);
    is_two(written) || ends(written) || begins(written)
}
