//! Number literals in all common forms, and the messages for texts that are not numbers.

use super::error::ValueError;

/// The parts of a decimal literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal<'a> {
    pub negative: bool,
    /// Digits before the point.
    pub integer: &'a [u8],
    /// Digits after the point.
    pub fraction: &'a [u8],
    /// The power of ten, limited to ten digits, which is far beyond the range of any type.
    pub exponent: i64,
}

impl Literal<'_> {
    /// All digits in order.
    pub fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + Clone {
        self.integer.iter().chain(self.fraction).copied()
    }
}

/// Parses a literal without surrounding blanks: `[+-]digits[.digits][e[+-]digits]`, with at least one digit before or
/// after the point.
pub(super) fn literal(text: &[u8]) -> Result<Literal<'_>, ValueError> {
    parse(text).ok_or_else(|| ValueError::syntax(not_a_number(text, "a number")))
}

fn parse(text: &[u8]) -> Option<Literal<'_>> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (integer, rest) = digits(rest);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        rest => (&rest[..0], rest),
    };
    if integer.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => {
            let (is_negative, rest) = match rest {
                [b'-', rest @ ..] => (true, rest),
                [b'+', rest @ ..] => (false, rest),
                rest => (false, rest),
            };
            let (exponent, rest) = digits(rest);
            if exponent.is_empty() || !rest.is_empty() {
                return None;
            }
            let size = exponent.iter().fold(0i64, |size, digit| {
                (size * 10 + i64::from(digit - b'0')).min(9_999_999_999)
            });
            if is_negative { -size } else { size }
        }
        _ => return None,
    };
    Some(Literal {
        negative,
        integer,
        fraction,
        exponent,
    })
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let count = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(count)
}

/// The reason why a text without surrounding blanks is not a number: the expected form, the fault and the fix.
pub(super) fn not_a_number(text: &[u8], expected: &str) -> String {
    let cause = if text.is_empty() {
        "the field is empty: if that means NULL, set null = \"\" in the format"
    } else if is_hexadecimal(text) {
        "it is hexadecimal: write decimal digits"
    } else if text.contains(&b'_') {
        "it has underscores between its digits; if they separate groups of three, declare \
         group_separator = \"_\" for the column"
    } else if text.starts_with(b"(") && text.ends_with(b")") {
        "round brackets are an accountant's minus: declare negative = \"parentheses\" for the \
         column, or write a minus sign before the digits"
    } else if text.len() > 1 && text.ends_with(b"-") {
        "the minus sign is after the digits: declare negative = \"trailing\" for the column, or \
         write it before the digits"
    } else if text.ends_with(b"%") {
        "remove the percent sign"
    } else if text.contains(&b',') && is_made_of(text, b"0123456789+-.,") {
        "it contains a comma: declare decimal_separator = \",\" for the column, or group_separator \
         = \",\" if the comma separates groups of three digits"
    } else if text.iter().filter(|byte| **byte == b'.').count() > 1
        && is_made_of(text, b"0123456789+-.")
    {
        "it has more than one point; likely separators of thousands (decimal_separator = \",\" and \
         group_separator = \".\" of the column), or a date in this column"
    } else if text.contains(&b' ') && is_made_of(text, b"0123456789+-. ") {
        "it has a blank between its digits; if it separates groups of three, declare \
         group_separator = \" \" for the column"
    } else if text.iter().any(u8::is_ascii_digit) {
        "it has other characters than digits: likely a unit or a currency, or the columns are not \
         in the file's order"
    } else if is_any_word(
        text,
        &["null", "nil", "none", "n/a", "na", "\\n", "-", "?", "#n/a"],
    ) {
        "it looks like a null marker: set `null` in the format to it"
    } else {
        "likely the value belongs to another column, or the record is not a row of data: a title, a \
         total, or a header that is not declared (header = true)"
    };
    format!("not {expected}; {cause}")
}

/// True if a text without blanks around it is one of these words, in any case.
pub(super) fn is_any_word(text: &[u8], words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| word.as_bytes().eq_ignore_ascii_case(text))
}

/// True if a text is `NaN` or an infinity in PostgreSQL's spelling.
pub(super) fn is_not_finite(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'+' | b'-', rest @ ..] => rest,
        rest => rest,
    };
    is_any_word(unsigned, &["nan", "inf", "infinity"])
}

fn is_hexadecimal(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    text.len() > 2
        && text[0] == b'0'
        && matches!(text[1], b'x' | b'X')
        && text[2..].iter().all(u8::is_ascii_hexdigit)
}

fn is_made_of(text: &[u8], allowed: &[u8]) -> bool {
    text.iter().all(|byte| allowed.contains(byte))
}
