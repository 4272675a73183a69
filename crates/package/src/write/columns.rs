//! The columns of a flow.

use super::toml_text::{Settings, comment, in_brackets, line, text, word};
use crate::{ColumnDetail, ColumnNull, ColumnSpec, FieldChoice, OneOrMany};

/// The list of columns, each with comments before it.
pub fn commented_columns(out: &mut String, columns: &[String], comments: &[Vec<String>]) {
    out.push_str("columns = [\n");
    for (index, column) in columns.iter().enumerate() {
        if let Some(lines) = comments.get(index) {
            comment(out, "    ", lines);
        }
        line(out, &format!("    {column},"));
    }
    out.push_str("]\n");
}

/// A column in one line.
pub fn column(column: &ColumnSpec) -> String {
    match column {
        ColumnSpec::Short(short) => text(short),
        ColumnSpec::Long(detail) => column_settings(detail).inline(),
    }
}

fn column_settings(detail: &ColumnDetail) -> Settings {
    let mut settings = Settings::default();
    let mut add = |name: &str, value: Option<String>| settings.add(name, value);
    let texts = |values: &Vec<String>| in_brackets(values.iter().map(|value| text(value)));
    add("name", Some(text(&detail.name)));
    add("type", detail.type_name.as_deref().map(text));
    add(
        "field",
        detail.field.as_ref().map(|field| match field {
            FieldChoice::Number(number) => number.to_string(),
            FieldChoice::Name(name) => text(name),
        }),
    );
    add("skip", detail.skip.then(|| "true".to_owned()));
    add("load", (!detail.load).then(|| "false".to_owned()));
    add("source", detail.source.map(word));
    add("value", detail.value.as_deref().map(text));
    add(
        "format",
        detail.format.as_ref().map(|format| match format {
            OneOrMany::One(format) => text(format),
            OneOrMany::Many(formats) => texts(formats),
        }),
    );
    add("zone", detail.zone.as_deref().map(text));
    add("year_pivot", detail.year_pivot.map(|year| year.to_string()));
    add("default", detail.default.as_deref().map(text));
    add("default_for", detail.default_for.map(word));
    add("trim", detail.trim.map(word));
    add("trim_quoted", detail.trim_quoted.then(|| "true".to_owned()));
    add(
        "null",
        detail.null.as_ref().map(|null| match null {
            ColumnNull::Text(marker) => text(marker),
            ColumnNull::Texts(markers) => texts(markers),
            ColumnNull::Never(value) => value.to_string(),
        }),
    );
    add(
        "decimal_separator",
        detail.decimal_separator.as_deref().map(text),
    );
    add(
        "group_separator",
        detail.group_separator.as_deref().map(text),
    );
    add("negative", detail.negative.map(word));
    add("nan", detail.nan.map(word));
    add("true_words", detail.true_words.as_ref().map(texts));
    add("false_words", detail.false_words.as_ref().map(texts));
    add("on_truncate", detail.on_truncate.map(word));
    add("round", detail.round.map(word));
    add("lossless", detail.lossless.map(|value| value.to_string()));
    add("nullable", (!detail.nullable).then(|| "false".to_owned()));
    settings
}
