//! Translates guesses into the types of other crates: a scanner's dialect, a package's format and columns. Only this
//! file does so. It also decides what to do with a guess that those types cannot express.

use std::collections::BTreeMap;

use inrush_package::{
    ColumnDetail, ColumnSpec, FieldChoice, Format, NAME_BYTES_MAX, NullMarker, OneOrMany, Preset,
};
use inrush_rows::column::Column;
use inrush_scan::{Dialect, Escape, ShortText};

use super::column_guess::ColumnGuess;
use super::form::{Form, FormEscape};
use super::kinds::TypeGuess;

/// The dialect of a form.
pub(super) fn dialect(form: &Form) -> Dialect {
    if let Some(declared) = &form.declared {
        return Dialect {
            header: form.header,
            blank_lines_are_records: form.is_single_column && !form.trailing_delimiter,
            ..Dialect::clone(declared)
        };
    }
    Dialect {
        delimiter: ShortText::new(&form.delimiter).unwrap_or(ShortText::byte(b',')),
        quote: form.quote,
        escape: match form.escape {
            FormEscape::None => Escape::None,
            FormEscape::DoubledQuote => Escape::DoubledQuote,
            FormEscape::Backslash => Escape::Byte(b'\\'),
            FormEscape::Other(byte) => Escape::Byte(byte),
        },
        trailing_delimiter: form.trailing_delimiter,
        skip_lines: form.skip_lines,
        header: form.header,
        comment: form.comment,
        nulls: form.nulls.iter().take(1).cloned().collect(),
        blank_lines_are_records: form.is_single_column && !form.trailing_delimiter,
        ..Dialect::tbl()
    }
}

/// The form of a declared dialect, or of a preset.
pub(super) fn form_of(dialect: &Dialect) -> Form {
    Form {
        delimiter: dialect.delimiter.as_bytes().to_vec(),
        quote: dialect.quote,
        escape: match dialect.escape {
            Escape::None => FormEscape::None,
            Escape::DoubledQuote => FormEscape::DoubledQuote,
            Escape::Byte(b'\\') => FormEscape::Backslash,
            Escape::Byte(byte) => FormEscape::Other(byte),
        },
        trailing_delimiter: dialect.trailing_delimiter,
        header: dialect.header,
        nulls: dialect.nulls.clone(),
        comment: dialect.comment,
        skip_lines: dialect.skip_lines,
        is_single_column: false,
        declared: Some(Box::new(dialect.clone())),
    }
}

/// The dialect for a first look at the samples: lines without special bytes.
pub(super) fn lines_dialect() -> Dialect {
    Dialect {
        delimiter: ShortText::byte(0x1f),
        quote: None,
        escape: Escape::None,
        trailing_delimiter: false,
        header: false,
        nulls: Vec::new(),
        blank_lines_are_records: true,
        ..Dialect::tbl()
    }
}

/// The format with all settings of a form, so that nothing depends on a file's name.
pub(super) fn format(form: &Form, declared: &Format) -> Format {
    if form.declared.is_some() {
        return Format {
            header: Some(form.header),
            ..declared.clone()
        };
    }
    let preset = nearest_preset(form);
    let usual = preset.dialect();
    let wanted = dialect(form);
    let text = |byte: u8| char::from(byte).to_string();
    let changes = |is_changed: bool| is_changed.then_some(());
    Format {
        preset: Some(preset),
        delimiter: changes(wanted.delimiter != usual.delimiter)
            .map(|()| String::from_utf8_lossy(wanted.delimiter.as_bytes()).into_owned()),
        quote: changes(wanted.quote != usual.quote)
            .map(|()| wanted.quote.map(text).unwrap_or_default()),
        escape: changes(wanted.escape != implied_escape(&usual, wanted.quote)).map(
            |()| match wanted.escape {
                Escape::None => String::new(),
                Escape::DoubledQuote => wanted.quote.map(text).unwrap_or_default(),
                Escape::Byte(byte) => text(byte),
            },
        ),
        trailing_delimiter: changes(wanted.trailing_delimiter != usual.trailing_delimiter)
            .map(|()| wanted.trailing_delimiter),
        skip_lines: changes(wanted.skip_lines > 0).map(|()| wanted.skip_lines),
        header: Some(wanted.header),
        comment: wanted.comment.map(text),
        null: changes(wanted.nulls != usual.nulls).map(|()| match wanted.nulls.first() {
            Some(marker) => NullMarker::Text(marker.clone()),
            None => NullMarker::Never(false),
        }),
        compression: declared.compression,
        encoding: declared.encoding.clone(),
        ..Format::default()
    }
}

/// The escape of a preset with this quote, if the format does not set one.
fn implied_escape(usual: &Dialect, quote: Option<u8>) -> Escape {
    match (usual.escape, quote) {
        (Escape::DoubledQuote, None) => Escape::None,
        (Escape::None, Some(_)) => Escape::DoubledQuote,
        (escape, _) => escape,
    }
}

fn nearest_preset(form: &Form) -> Preset {
    match (form.trailing_delimiter, form.escape, form.quote) {
        (true, _, None) => Preset::Tbl,
        (_, FormEscape::Backslash | FormEscape::Other(_), None) => Preset::Tsv,
        _ => Preset::Csv,
    }
}

/// The columns of a package. With `is_lossless`, booleans accept only the words that were seen; for numbers, the
/// format has the setting `lossless`.
pub(super) fn column_specs(columns: &[ColumnGuess], is_lossless: bool) -> Vec<ColumnSpec> {
    let folded = folded_fields(columns);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in folded.iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    columns
        .iter()
        .zip(&folded)
        .enumerate()
        .map(|(index, (column, folded))| {
            let words = column
                .column_type
                .boolean_words()
                .filter(|_| is_lossless)
                .map(|words| (words.true_words, words.false_words))
                .unzip();
            let is_unique = |name: &str| counts.get(name) == Some(&1);
            let detail = ColumnDetail {
                true_words: words.0,
                false_words: words.1,
                type_name: Some(column.column_type.sql()),
                field: folded
                    .as_deref()
                    .and_then(|name| field_choice(column, index, name, is_unique(name))),
                format: column
                    .column_type
                    .format()
                    .map(|format| OneOrMany::One(format.to_owned())),
                ..ColumnDetail::named(&column.name)
            };
            ColumnSpec::short(&detail).unwrap_or_else(|| ColumnSpec::Long(Box::new(detail)))
        })
        .collect()
}

/// The name of each column in the header, in the form in which names are compared.
fn folded_fields(columns: &[ColumnGuess]) -> Vec<Option<String>> {
    columns
        .iter()
        .map(|column| Some(column.field.as_deref()?.trim().to_lowercase()))
        .collect()
}

/// A field that is not loaded.
pub(super) fn skipped(field: &str) -> ColumnSpec {
    let detail = ColumnDetail {
        skip: true,
        ..ColumnDetail::named(field)
    };
    ColumnSpec::short(&detail).unwrap_or_else(|| ColumnSpec::Long(Box::new(detail)))
}

/// The field of a column, if the column's name does not identify it. It is the name in the header or, if that name is
/// not unique or cannot be written in a package, the field's number.
fn field_choice(
    column: &ColumnGuess,
    index: usize,
    folded: &str,
    is_unique: bool,
) -> Option<FieldChoice> {
    if is_unique && folded == column.name {
        return None;
    }
    let text = column.field.as_deref().unwrap_or_default().trim();
    let is_writable = !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        // In a package, braces mark parameters.
        && !text.contains(|c: char| c.is_control() || c == '{' || c == '}');
    Some(match is_unique && is_writable {
        true => FieldChoice::Name(text.to_owned()),
        false => FieldChoice::Number(u32::try_from(index + 1).unwrap_or(u32::MAX)),
    })
}

/// The column for the converters when the guess is loaded. Values that would lose something are rejects.
pub(super) fn lossless_column(name: &str, column_type: &TypeGuess, field_index: usize) -> Column {
    let mut column = column(name, column_type, field_index);
    column.policies.lossless = column_type.is_number();
    column.policies.words = column_type.boolean_words();
    column
}

/// The column as the converters need it.
pub(super) fn column(name: &str, column_type: &TypeGuess, field_index: usize) -> Column {
    Column {
        formats: column_type
            .format()
            .map(str::to_owned)
            .into_iter()
            .collect(),
        ..Column::new(name, column_type.column_type(), field_index)
    }
}
