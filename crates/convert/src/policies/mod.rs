//! Policies that change how a field is read before its type's kernel gets it: trimming, null markers of the column,
//! defaults, forms of numbers, cutting and rounding.
//!
//! A column without policies is not read here: how its fields are gathered is chosen when the converter is made.
//! Policies for the kernels themselves (formats of dates, the words of a boolean, rounding of seconds) are in the
//! kernels.
//!
//! `column_converter`, `array`, `key` and `policies` depend on each other: the converter of an array contains the
//! converter of its elements; `column_converter` makes the values of keys; `key` and `policies` read their texts (a
//! bound, a default) with the converter of the column.

mod gather;
mod number_form;
mod round;

use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::{ColumnPolicies, DefaultFor, NanPolicy, OnTruncate};
use inrush_rows::reject::RejectCode;
use inrush_scan::{Dialect, Escape, MissingFields};

use self::number_form::{NumberRewriter, Rewritten};
use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::exact_float::ExactFloat;

/// The policy for the fields of one column.
pub(super) struct FieldPolicy {
    /// The dialect without its own null markers, and without its trimming.
    dialect: Dialect,
    null_markers: Vec<Box<[u8]>>,
    null_quoted: bool,
    trim_ends: (bool, bool),
    trim_quoted: bool,
    rewrite: Rewrite,
    /// The default, in the form that the kernel reads.
    default: Option<(Vec<u8>, DefaultFor)>,
    /// The words for NULL, for the reason of a reject.
    null_words: String,
}

/// The rewriting of a field's text.
enum Rewrite {
    Nothing,
    Number(NumberRewriter),
    /// At most this many characters are kept.
    Cut {
        characters_max: usize,
        /// True if blanks beyond these characters do not count; the kernel removes such blanks.
        blank_padded: bool,
    },
}

impl FieldPolicy {
    /// The policy of a column; `None` if its fields are read in the usual way.
    pub fn of(column: &Column, dialect: &Dialect) -> Result<Option<FieldPolicy>, ConvertError> {
        let policies = &column.policies;
        let rewrite = Rewrite::of(column)?;
        let is_usual = policies.trim.is_none()
            && !policies.trim_quoted
            && policies.null.is_none()
            && policies.default.is_none()
            && matches!(rewrite, Rewrite::Nothing);
        if is_usual {
            return Ok(None);
        }
        let markers: Vec<String> = match &policies.null {
            Some(markers) => markers.clone(),
            None => dialect.nulls.clone(),
        };
        let invalid = |setting: &'static str, reason: &str| ConvertError::PolicyInvalid {
            column: column.name.clone(),
            setting,
            reason: reason.to_owned(),
        };
        let applies_to = policies.default.as_ref().map(|default| default.applies_to);
        if applies_to == Some(DefaultFor::Missing) && dialect.missing_fields != MissingFields::Null
        {
            return Err(invalid(
                "default",
                "no field is ever missing, because records with too few fields are rejects; set \
                 missing_fields = \"null\" in the format, or default_for = \"null\" for the column",
            ));
        }
        let trim_ends = match policies.trim {
            Some(trim) => trim.ends(),
            None => match dialect.trim {
                inrush_scan::DialectTrim::None => (false, false),
                inrush_scan::DialectTrim::Start => (true, false),
                inrush_scan::DialectTrim::End => (false, true),
                inrush_scan::DialectTrim::Both => (true, true),
            },
        };
        if policies.null.is_some() {
            for marker in &markers {
                check_marker(marker, trim_ends, dialect)
                    .map_err(|reason| invalid("null", &reason))?;
            }
        }
        let mut policy = FieldPolicy {
            dialect: Dialect {
                nulls: Vec::new(),
                trim: inrush_scan::DialectTrim::None,
                ..dialect.clone()
            },
            null_quoted: dialect.null_quoted,
            null_words: null_words(&markers, policies),
            null_markers: markers
                .into_iter()
                .map(|marker| marker.into_bytes().into_boxed_slice())
                .collect(),
            trim_ends,
            trim_quoted: policies.trim_quoted,
            rewrite,
            default: None,
        };
        if let Some(default) = &policies.default {
            let text =
                policy
                    .rewritten(&default.text)
                    .map_err(|error| ConvertError::TextInvalid {
                        column: column.name.clone(),
                        setting: "default",
                        text: default.text.clone(),
                        reason: error.reason,
                    })?;
            policy.default = Some((text, default.applies_to));
        }
        Ok(Some(policy))
    }

    /// Refuses a default that the column cannot hold.
    pub fn check_default(
        &self,
        column: &Column,
        converter: &ColumnConverter,
    ) -> Result<(), ConvertError> {
        let Some((text, _)) = &self.default else {
            return Ok(());
        };
        converter
            .check_text(text)
            .and_then(|()| ExactFloat::check_text(column, text))
            .map_err(|error| ConvertError::TextInvalid {
                column: column.name.clone(),
                setting: "default",
                text: String::from_utf8_lossy(text).into_owned(),
                reason: error.reason,
            })
    }

    /// A text in the package, in the form that the kernel reads.
    pub fn rewritten(&self, text: &str) -> Result<Vec<u8>, ValueError> {
        let mut out = Vec::new();
        let text = text.as_bytes();
        match &self.rewrite {
            Rewrite::Nothing => {}
            Rewrite::Number(number) => match number.rewrite(text, &mut out)? {
                Rewritten::Built { .. } => return Ok(out),
                Rewritten::AsWritten => {}
                Rewritten::Null => {
                    return Err(ValueError::syntax(
                        "it means NULL (nan = \"null\"); write a number",
                    ));
                }
            },
            // A text in the package that is too long is probably a mistake.
            Rewrite::Cut { .. } => {}
        }
        Ok(text.to_vec())
    }

    /// The text of a field outside of the file's rows (a key for the planner), in the form that the kernel reads;
    /// `None` for NULL.
    pub fn single(&self, text: Option<&str>) -> Result<Option<Vec<u8>>, ValueError> {
        let default = || match &self.default {
            Some((text, DefaultFor::Null)) => Some(text.clone()),
            _ => None,
        };
        let Some(text) = text else {
            return Ok(default());
        };
        let trimmed = trimmed(text.as_bytes(), self.trim_ends);
        if self.is_null(trimmed) {
            return Ok(default());
        }
        let mut out = Vec::new();
        Ok(match &self.rewrite {
            Rewrite::Nothing => Some(trimmed.to_vec()),
            Rewrite::Number(number) => match number.rewrite(trimmed, &mut out)? {
                Rewritten::Built { .. } => Some(out),
                Rewritten::AsWritten => Some(trimmed.to_vec()),
                Rewritten::Null => default(),
            },
            Rewrite::Cut {
                characters_max,
                blank_padded,
            } => Some(cut(trimmed, *characters_max, *blank_padded).to_vec()),
        })
    }

    /// The error for NULL in a column that does not allow it.
    pub fn null_error(&self) -> ValueError {
        ValueError::new(
            RejectCode::NullNotAllowed,
            format!(
                "the field means NULL ({}), but the column is not nullable; fix the row, declare \
                 another `null` or a `default` with default_for = \"null\" for the column, or make \
                 the column nullable",
                self.null_words
            ),
        )
    }

    fn is_null(&self, text: &[u8]) -> bool {
        self.null_markers.iter().any(|marker| **marker == *text)
    }

    /// True if a field is written in quotes.
    fn is_quoted(&self, written: &[u8]) -> bool {
        self.dialect.quote.is_some() && written.first().copied() == self.dialect.quote
    }

    /// An unquoted field as it is written, without the blanks and tabs that are trimmed. An escaped blank stays.
    fn trimmed_as_written<'a>(&self, written: &'a [u8]) -> &'a [u8] {
        let rest = trimmed(written, self.trim_ends);
        let Escape::Byte(escape) = self.dialect.escape else {
            return rest;
        };
        let start = rest.as_ptr().addr() - written.as_ptr().addr();
        let escapes = rest
            .iter()
            .rev()
            .take_while(|byte| **byte == escape)
            .count();
        let is_cut = start + rest.len() < written.len();
        if self.dialect.quote.is_none() && is_cut && escapes % 2 == 1 {
            return &written[start..=start + rest.len()];
        }
        rest
    }
}

impl Rewrite {
    fn of(column: &Column) -> Result<Rewrite, ConvertError> {
        let policies = &column.policies;
        Ok(match &column.column_type {
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Float32
            | ColumnType::Float64
            | ColumnType::Decimal { .. }
            | ColumnType::DecimalText { .. } => match NumberRewriter::of(column)? {
                Some(number) => Rewrite::Number(number),
                None => Rewrite::Nothing,
            },
            ColumnType::Text {
                characters_max: Some(characters_max),
                blank_padded,
            } if policies.on_truncate == OnTruncate::Truncate => Rewrite::Cut {
                characters_max: *characters_max as usize,
                blank_padded: *blank_padded,
            },
            _ => Rewrite::Nothing,
        })
    }
}

/// The first characters of a text; the whole text if only blanks that do not count follow.
fn cut(text: &[u8], characters_max: usize, blank_padded: bool) -> &[u8] {
    if text.len() <= characters_max {
        return text;
    }
    let end = text
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte & 0xC0 != 0x80)
        .nth(characters_max)
        .map_or(text.len(), |(at, _)| at);
    if blank_padded && text[end..].iter().all(|byte| *byte == b' ') {
        return text;
    }
    &text[..end]
}

/// A text without blanks and tabs at the ends that are trimmed.
fn trimmed(text: &[u8], (at_start, at_end): (bool, bool)) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut rest = text;
    while let ([first, after @ ..], true) = (rest, at_start)
        && is_blank(first)
    {
        rest = after;
    }
    while let ([before @ .., last], true) = (rest, at_end)
        && is_blank(last)
    {
        rest = before;
    }
    rest
}

/// Refuses a null marker that no field can equal, because it would silently never be found.
fn check_marker(marker: &str, trim_ends: (bool, bool), dialect: &Dialect) -> Result<(), String> {
    let bytes = marker.as_bytes();
    if dialect.quote.is_some_and(|quote| bytes.contains(&quote)) {
        return Err(format!(
            "{marker:?} contains the quote, but a quoted field is never NULL; write the marker \
             without quotes"
        ));
    }
    let delimiter = dialect.delimiter.as_bytes();
    let cannot_stand = |byte: &u8| [b'\n', b'\r', 0].contains(byte);
    if bytes.windows(delimiter.len()).any(|part| part == delimiter)
        || bytes.iter().any(cannot_stand)
    {
        return Err(format!(
            "{marker:?} contains a delimiter, a line end or a NUL byte, which no field can \
             contain; choose a marker without them"
        ));
    }
    if trimmed(bytes, trim_ends).len() < bytes.len() {
        return Err(format!(
            "{marker:?} has blanks at its ends, but `trim` removes them from the fields; write it \
             without blanks"
        ));
    }
    Ok(())
}

/// The words for NULL in a column.
fn null_words(markers: &[String], policies: &ColumnPolicies) -> String {
    let mut words: Vec<String> = markers
        .iter()
        .map(|marker| match marker.as_str() {
            "" => "an empty unquoted field".to_owned(),
            marker => format!("{marker:?}"),
        })
        .collect();
    if policies.nan == NanPolicy::Null {
        words.push("NaN".to_owned());
    }
    words.push("a field that is missing".to_owned());
    words.join(", or ")
}
