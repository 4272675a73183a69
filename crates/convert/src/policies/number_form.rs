//! Numbers in other forms than SQL's: a decimal comma, groups of three digits, an accountant's or a mainframe's minus,
//! digits to be rounded, `NaN` for NULL. They are rewritten in the form that the kernels read.
//!
//! A number that does not have the declared form is rejected, never guessed: if the point separates groups, `1.5` is
//! rejected, and not read as 15.

use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::is_separator;
use inrush_rows::column_policy::{NanPolicy, NegativeForm, NumberForm, Rounding};
use inrush_rows::plural::{counted, counted_do};

use super::super::error::{ConvertError, ValueError};
use super::super::kernel::trim;
use super::super::lossless::Lossless;
use super::super::number::{is_any_word, is_not_finite};
use super::round::rounded;

/// The result of rewriting a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rewritten {
    /// It needs no rewriting, or its kernel will find the fault.
    AsWritten,
    /// It means NULL.
    Null,
    /// It was appended to the output.
    Built {
        /// True if digits were lost.
        rounded: bool,
    },
}

/// Rewrites the numbers of a column in SQL's form.
pub(super) struct NumberRewriter {
    decimal: Vec<u8>,
    group: Vec<u8>,
    negative: NegativeForm,
    /// True if a number may have another form than SQL's.
    has_form: bool,
    is_nan_null: bool,
    rounding: Rounding,
    lossless: Option<Lossless>,
    scale: i64,
    is_whole: bool,
}

impl NumberRewriter {
    /// The rewriter of a column of numbers; `None` if it needs none.
    pub fn of(column: &Column) -> Result<Option<NumberRewriter>, ConvertError> {
        let policies = &column.policies;
        let form = &policies.numbers;
        check(column, form)?;
        let (scale, is_whole) = match &column.column_type {
            ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => (0, true),
            ColumnType::Decimal { scale, .. } => (i64::from(*scale), false),
            ColumnType::DecimalText { limit } => {
                (limit.map_or(0, |(_, scale)| i64::from(scale)), false)
            }
            _ => (0, false),
        };
        let has_form = *form != NumberForm::default();
        let is_nan_null = policies.nan == NanPolicy::Null;
        if !has_form && !is_nan_null && policies.round == Rounding::Reject {
            return Ok(None);
        }
        let bytes = |separator: char| separator.to_string().into_bytes();
        Ok(Some(NumberRewriter {
            decimal: bytes(form.decimal_separator.unwrap_or('.')),
            group: form.group_separator.map(bytes).unwrap_or_default(),
            negative: form.negative,
            has_form,
            is_nan_null,
            rounding: policies.round,
            lossless: Lossless::before_rounding(column),
            scale,
            is_whole,
        }))
    }

    /// Appends a number to `out` in the form that the kernels read, if it has another form.
    pub fn rewrite(&self, field: &[u8], out: &mut Vec<u8>) -> Result<Rewritten, ValueError> {
        let text = trim(field);
        let unsigned = text.strip_prefix(b"-").unwrap_or(text);
        if !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit) && self.scale >= 0 {
            return Ok(Rewritten::AsWritten);
        }
        if is_not_finite(text) {
            let is_nan = is_any_word(text, &["nan", "+nan", "-nan"]);
            return Ok(if is_nan && self.is_nan_null {
                Rewritten::Null
            } else {
                Rewritten::AsWritten
            });
        }
        let start = out.len();
        if self.has_form
            && let Err(error) = self.plain(text, out)
        {
            out.truncate(start);
            return Err(error);
        }
        let plain = if self.has_form { &out[start..] } else { text };
        match rounded(plain, self.scale, self.is_whole, self.rounding) {
            Some(number) => {
                let lost = self.lossless.as_ref().and_then(|one| one.loss(plain));
                out.truncate(start);
                if let Some(error) = lost {
                    return Err(error);
                }
                out.extend_from_slice(number.text.as_bytes());
                Ok(Rewritten::Built {
                    rounded: number.changed,
                })
            }
            None if self.has_form => Ok(Rewritten::Built { rounded: false }),
            None => Ok(Rewritten::AsWritten),
        }
    }

    /// Appends a number without surrounding blanks, with a point, without groups and with its sign in front.
    fn plain(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
        let (sign, body) = match (self.negative, text) {
            (NegativeForm::Parentheses, [b'(', inner @ .., b')']) => (Some(b'-'), trim(inner)),
            (NegativeForm::Trailing, [inner @ .., b'-']) if !inner.is_empty() => {
                (Some(b'-'), trim(inner))
            }
            // A plus is kept, because `lossless` columns reject it.
            (_, [sign @ (b'-' | b'+'), inner @ ..]) => (Some(*sign), inner),
            _ => (None, text),
        };
        out.extend(sign);
        let after_integer = self.integer(body, out)?;
        let mut rest = &body[after_integer..];
        let mut has_digits = after_integer > 0;
        if let Some(fraction) = rest.strip_prefix(self.decimal.as_slice()) {
            let count = digit_count(fraction);
            out.push(b'.');
            out.extend_from_slice(&fraction[..count]);
            rest = &fraction[count..];
            has_digits |= count > 0;
        }
        if let [letter @ (b'e' | b'E'), exponent @ ..] = rest
            && has_digits
        {
            let sign = usize::from(matches!(exponent.first(), Some(b'+' | b'-')));
            let count = digit_count(&exponent[sign..]);
            if count > 0 {
                out.push(*letter);
                out.extend_from_slice(&exponent[..sign + count]);
                rest = &exponent[sign + count..];
            }
        }
        if has_digits && rest.is_empty() {
            return Ok(());
        }
        Err(self.refused(text, rest, sign == Some(b'-')))
    }

    /// Appends the digits before the decimal separator; returns where they end.
    fn integer(&self, body: &[u8], out: &mut Vec<u8>) -> Result<usize, ValueError> {
        let mut at = digit_count(body);
        out.extend_from_slice(&body[..at]);
        if self.group.is_empty() || !body[at..].starts_with(&self.group) {
            return Ok(at);
        }
        let shown = String::from_utf8_lossy(&self.group).into_owned();
        if !(1..=3).contains(&at) {
            return Err(ValueError::syntax(format!(
                "not a number in groups of three digits: it has {} before the first {shown:?}, the \
                 column's group_separator; fix the row; or likely the columns are not in the \
                 file's order",
                counted(at as u64, "digit")
            )));
        }
        if body[0] == b'0' {
            return Err(ValueError::syntax(format!(
                "a number in groups cannot begin with 0; likely {shown:?} is the file's decimal \
                 separator: swap decimal_separator and group_separator of the column"
            )));
        }
        while body[at..].starts_with(&self.group) {
            let digits = &body[at + self.group.len()..];
            let count = digit_count(digits);
            if count != 3 {
                return Err(ValueError::syntax(format!(
                    "not a number in groups of three digits: {} a {shown:?}, the column's \
                     group_separator; fix the row, or if {shown:?} is the file's decimal \
                     separator, declare it as decimal_separator",
                    counted_do(count as u64, "digit", "follow")
                )));
            }
            out.extend_from_slice(&digits[..3]);
            at += self.group.len() + 3;
        }
        Ok(at)
    }

    fn refused(&self, text: &[u8], rest: &[u8], is_negative: bool) -> ValueError {
        let (decimal, group) = (
            String::from_utf8_lossy(&self.decimal).into_owned(),
            String::from_utf8_lossy(&self.group).into_owned(),
        );
        let example = format!("1{group}234{decimal}56");
        let rest = String::from_utf8_lossy(rest);
        let cause = match rest.chars().next() {
            None if text.is_empty() => {
                "the field is empty: if that means NULL, set null = \"\" in the format or for the \
                                        column"
                    .to_owned()
            }
            None => "it has no digit".to_owned(),
            Some(first) if group == first.to_string() => {
                "a group separator is after its decimal separator".to_owned()
            }
            Some('.') if decimal != "." => format!(
                "it contains a point, but the column's decimal_separator is {decimal:?}: fix the \
                 row, or declare group_separator = \".\" if the point separates groups"
            ),
            Some(',') => "it contains a comma, which is not a separator of the column".to_owned(),
            Some('-') if is_negative => "it has more than one minus sign".to_owned(),
            Some('-') => "its minus sign is at the end: declare negative = \"trailing\"".to_owned(),
            Some('(') => {
                "round brackets are an accountant's minus: declare negative = \"parentheses\""
                    .to_owned()
            }
            Some(first) if first.is_whitespace() => {
                "it contains a blank: declare group_separator if blanks separate groups".to_owned()
            }
            Some(first) if first.is_alphabetic() && !text.iter().any(u8::is_ascii_digit) => {
                "likely the columns are not in the file's order, or it is a null marker: set \
                 `null` to it"
                    .to_owned()
            }
            Some(first) => format!(
                "it contains {first:?}: units and currency signs are not read; remove them in the \
                 export"
            ),
        };
        ValueError::syntax(format!(
            "not a number in the column's form ({example}); {cause}"
        ))
    }
}

/// Refuses separators that could be mistaken for something else.
fn check(column: &Column, form: &NumberForm) -> Result<(), ConvertError> {
    let invalid = |setting: &'static str, reason: &str| ConvertError::PolicyInvalid {
        column: column.name.clone(),
        setting,
        reason: reason.to_owned(),
    };
    for (setting, separator) in [
        ("decimal_separator", form.decimal_separator),
        ("group_separator", form.group_separator),
    ] {
        if separator.is_some_and(|separator| !is_separator(separator)) {
            return Err(invalid(
                setting,
                "a digit, a letter, a sign or a bracket cannot separate digits; take a mark such \
                 as \",\", \".\", \"'\" or a blank",
            ));
        }
    }
    if form.group_separator == Some(form.decimal_separator.unwrap_or('.')) {
        return Err(invalid(
            "group_separator",
            "it is also the decimal separator; declare another decimal_separator",
        ));
    }
    Ok(())
}

fn digit_count(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMERIC: ColumnType = ColumnType::DecimalText { limit: None };

    fn rewriter(decimal: char, group: Option<char>, negative: NegativeForm) -> NumberRewriter {
        let mut column = Column::new("n", NUMERIC, 0);
        column.policies.numbers = NumberForm {
            decimal_separator: Some(decimal),
            group_separator: group,
            negative,
        };
        NumberRewriter::of(&column)
            .expect("separators that can be used")
            .expect("a form of its own")
    }

    /// The number as the kernel gets it, or the reason why it is rejected.
    fn rewritten(rewriter: &NumberRewriter, text: &str) -> Result<String, String> {
        let mut out = b"before".to_vec();
        match rewriter.rewrite(text.as_bytes(), &mut out) {
            Ok(Rewritten::AsWritten) => Ok(text.to_owned()),
            Ok(Rewritten::Null) => Ok("NULL".to_owned()),
            Ok(Rewritten::Built { .. }) => {
                Ok(String::from_utf8(out.split_off(6)).expect("digits are ASCII"))
            }
            Err(error) => {
                assert_eq!(out, b"before");
                Err(error.reason)
            }
        }
    }

    macro_rules! numbers {
        ($($name:ident: $decimal:expr, $group:expr, $negative:ident, $text:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                let found = rewritten(&rewriter($decimal, $group, NegativeForm::$negative), $text);
                let expected: Result<&str, &str> = $expected;
                match (&found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                    (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
                    _ => panic!("{found:?}"),
                }
            }
        )*};
    }

    numbers! {
        comma: ',', None, Leading, "1234,5" => Ok("1234.5");
        comma_without_fraction: ',', None, Leading, "1234" => Ok("1234");
        comma_first: ',', None, Leading, "-,5" => Ok("-.5");
        comma_last: ',', None, Leading, "5," => Ok("5.");
        comma_alone: ',', None, Leading, "," => Err("no digit");
        comma_twice: ',', None, Leading, "1,2,3" => Err("it contains a comma");
        point_is_refused: ',', None, Leading, "1.5" => Err("it contains a point");
        groups: ',', Some('.'), Leading, "1.234.567,89" => Ok("1234567.89");
        groups_may_lack: ',', Some('.'), Leading, "1234567,89" => Ok("1234567.89");
        group_of_two: ',', Some('.'), Leading, "1.23.456" => Err("2 digits follow a \".\"");
        group_of_four: ',', Some('.'), Leading, "1.2345" => Err("4 digits follow");
        group_long_first: ',', Some('.'), Leading, "1234.567" => Err("it has 4 digits before");
        group_first: ',', Some('.'), Leading, ".567" => Err("it has 0 digits before");
        group_last: ',', Some('.'), Leading, "1." => Err("0 digits follow");
        group_lakh: '.', Some(','), Leading, "12,34,567" => Err("2 digits follow");
        group_of_zero: ',', Some('.'), Leading, "0.125" => Err("cannot begin with 0");
        group_in_fraction: ',', Some('.'), Leading, "1,234.567" => Err("after its decimal");
        blank_groups: ',', Some(' '), Leading, " 1 234,5 " => Ok("1234.5");
        hard_blank_groups: ',', Some('\u{a0}'), Leading, "1\u{a0}234,5" => Ok("1234.5");
        blank_is_not_a_hard_blank: ',', Some('\u{a0}'), Leading, "1 234,5" => Err("a blank");
        swiss_groups: '.', Some('\''), Leading, "1'234.5" => Ok("1234.5");
        underscores: '.', Some('_'), Leading, "1_234" => Ok("1234");
        plus: ',', Some('.'), Leading, "+1.234" => Ok("+1234");
        minus: ',', Some('.'), Leading, "-1.234,5" => Ok("-1234.5");
        exponent: ',', None, Leading, "1,5e-3" => Ok("1.5e-3");
        exponent_alone: ',', None, Leading, "1,5e" => Err("it contains 'e'");
        brackets: '.', Some(','), Parentheses, "(1,234.00)" => Ok("-1234.00");
        brackets_and_blanks: '.', Some(','), Parentheses, "( 1 )" => Ok("-1");
        brackets_not_needed: '.', Some(','), Parentheses, "-1" => Ok("-1");
        brackets_and_minus: '.', Some(','), Parentheses, "(-1)" => Err("minus");
        brackets_undeclared: '.', Some(','), Leading, "(1)" => Err("negative = \"parentheses\"");
        minus_behind: '.', None, Trailing, "12.5-" => Ok("-12.5");
        minus_behind_undeclared: ',', None, Leading, "12,5-" => Err("negative = \"trailing\"");
        minus_twice: '.', None, Trailing, "-12-" => Err("minus");
        currency: ',', None, Leading, "€ 5" => Err("currency");
        words_stay: ',', None, Leading, "NaN" => Ok("NaN");
        empty: ',', None, Leading, "" => Err("the field is empty");
        text: ',', None, Leading, "abc" => Err("order");
    }

    #[test]
    fn nan_for_null() {
        let mut column = Column::new("n", NUMERIC, 0);
        column.policies.nan = NanPolicy::Null;
        let rewriter = NumberRewriter::of(&column).expect("right").expect("one");
        for text in ["NaN", " nan ", "-NAN"] {
            assert_eq!(rewritten(&rewriter, text), Ok("NULL".to_owned()));
        }
        for text in ["Infinity", "nanx", "1.5", ""] {
            assert_eq!(rewritten(&rewriter, text), Ok(text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn groups_are_taken_off(value: i64, fraction in "[0-9]{0,4}") {
            let digits = value.unsigned_abs().to_string();
            let mut grouped = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at).is_multiple_of(3) {
                    grouped.push('.');
                }
                grouped.push(digit);
            }
            let sign = if value < 0 { "-" } else { "" };
            let rewriter = rewriter(',', Some('.'), NegativeForm::Leading);
            prop_assert_eq!(
                rewritten(&rewriter, &format!("{sign}{grouped},{fraction}")),
                Ok(format!("{sign}{digits}.{fraction}"))
            );
        }

        #[test]
        fn nothing_panics(text in "[-+()0-9.,e \u{a0}]{0,12}") {
            for group in [None, Some('.'), Some('\u{a0}')] {
                for negative in [NegativeForm::Leading, NegativeForm::Parentheses, NegativeForm::Trailing] {
                    let _ = rewritten(&rewriter(',', group, negative), &text);
                }
            }
        }
    }
}
