//! The format of a flow's files.

use super::toml_text::{in_brackets, text};
use crate::{Format, NullMarker};

/// A format in one line.
pub fn format(format: &Format) -> String {
    let mut settings = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            settings.push(format!("{name} = {value}"));
        }
    };
    let word = |value: serde_json::Value| text(value.as_str().unwrap_or_default());
    add(
        "preset",
        format.preset.map(|preset| word(serde_json::json!(preset))),
    );
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
    add(
        "trim",
        format.trim.map(|trim| word(serde_json::json!(trim))),
    );
    add(
        "missing_fields",
        format
            .missing_fields
            .map(|rule| word(serde_json::json!(rule))),
    );
    add(
        "extra_fields",
        format
            .extra_fields
            .map(|rule| word(serde_json::json!(rule))),
    );
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
    add(
        "fixed_unit",
        format.fixed_unit.map(|unit| word(serde_json::json!(unit))),
    );
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
    add(
        "compression",
        format
            .compression
            .map(|compression| word(serde_json::json!(compression))),
    );
    add("encoding", format.encoding.as_deref().map(text));
    format!("{{ {} }}", settings.join(", "))
}
