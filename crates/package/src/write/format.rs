//! The format of a flow's files.

use super::toml_text::{Settings, in_brackets, text, word};
use crate::{Format, NullMarker};

/// A format in one line.
pub fn format(format: &Format) -> String {
    let mut settings = Settings::default();
    let mut add = |name: &str, value: Option<String>| settings.add(name, value);
    add("preset", format.preset.map(word));
    add("delimiter", format.delimiter.as_deref().map(text));
    add("quote", format.quote.as_deref().map(text));
    add("escape", format.escape.as_deref().map(text));
    add("terminator", format.terminator.as_deref().map(text));
    add("comment", format.comment.as_deref().map(text));
    add(
        "trailing_delimiter",
        format.trailing_delimiter.map(|value| value.to_string()),
    );
    add(
        "skip_lines",
        format.skip_lines.map(|value| value.to_string()),
    );
    add("header", format.header.map(|value| value.to_string()));
    add(
        "null",
        format.null.as_ref().map(|null| match null {
            NullMarker::Text(marker) => text(marker),
            NullMarker::Many(markers) => in_brackets(markers.iter().map(|marker| text(marker))),
            NullMarker::Never(value) => value.to_string(),
        }),
    );
    add(
        "decimal_separator",
        format.decimal_separator.as_deref().map(text),
    );
    add(
        "group_separator",
        format.group_separator.as_deref().map(text),
    );
    add("lossless", format.lossless.map(|value| value.to_string()));
    add(
        "null_quoted",
        format.null_quoted.map(|value| value.to_string()),
    );
    add("trim", format.trim.map(word));
    add("missing_fields", format.missing_fields.map(word));
    add("extra_fields", format.extra_fields.map(word));
    add(
        "fixed",
        format.fixed.as_ref().map(|fields| {
            in_brackets(
                fields
                    .iter()
                    .map(|field| in_brackets(field.iter().map(u32::to_string))),
            )
        }),
    );
    add("fixed_unit", format.fixed_unit.map(word));
    add(
        "record_length",
        format.record_length.map(|value| value.to_string()),
    );
    add(
        "record_bytes",
        format.record_bytes.map(|value| value.to_string()),
    );
    add(
        "record_bytes_max",
        format.record_bytes_max.map(|value| value.to_string()),
    );
    add("compression", format.compression.map(word));
    add("encoding", format.encoding.as_deref().map(text));
    settings.inline()
}
