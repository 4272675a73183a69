//! Writes a package as a person would, so that it can be edited.

use std::fmt::Write;

use super::url::url_without_password;
use super::{
    BoundValue, Bounds, BoundsWord, ColumnSpec, Flow, Format, Mode, NullMarker, OneOrMany, Package,
    RejectLimit, RunSettings,
};

/// Columns that are written in one line at most.
const LINE_CHARACTERS_MAX: usize = 96;

impl Package {
    /// The package as TOML, with comments on what is often changed. Passwords in URLs are left
    /// out.
    pub fn to_toml(&self) -> String {
        let mut out = String::from(
            "# A package of Inrush. `inrush check FILE` prints what it would do, \
             `inrush run FILE` does it.\n\n",
        );
        setting(&mut out, "name", &text(&self.name));
        if !self.parameters.is_empty() {
            out.push_str("\n# `{name}` in other texts; --set name=value replaces them.\n");
            out.push_str("[parameters]\n");
            for (name, value) in &self.parameters {
                setting(&mut out, &key(name), &text(value));
            }
        }
        for (name, connection) in &self.connections {
            line(&mut out, &format!("\n[connections.{}]", key(name)));
            let url = url_without_password(&connection.url);
            if url != connection.url {
                out.push_str(
                    "# The password is not written here: put it into ~/.pgpass or PGPASSWORD.\n",
                );
            }
            setting(&mut out, "url", &text(&url));
        }
        run(&mut out, &self.run);
        for one in &self.flows {
            flow(&mut out, one);
        }
        out
    }
}

fn run(out: &mut String, run: &RunSettings) {
    let usual = RunSettings::default();
    out.push_str("\n[run]\n");
    match run.streams {
        Some(streams) => setting(out, "streams", &streams.to_string()),
        None => {
            out.push_str("# streams = 8  # each has its own connection; else one for each core\n")
        }
    }
    let mut number = |name: &str, value: u32, usual: u32| {
        if value != usual {
            setting(out, name, &value.to_string());
        }
    };
    number("chunk_bytes", run.chunk_bytes, usual.chunk_bytes);
    number("batch_rows", run.batch_rows, usual.batch_rows);
    number(
        "lock_timeout_ms",
        run.lock_timeout_ms,
        usual.lock_timeout_ms,
    );
    if run.freeze != usual.freeze {
        setting(out, "freeze", &run.freeze.to_string());
    }
    if run.analyze != usual.analyze {
        setting(out, "analyze", &run.analyze.to_string());
    }
    if run.ledger_schema != usual.ledger_schema {
        setting(out, "ledger_schema", &text(&run.ledger_schema));
    }
    if run.staging_schema != usual.staging_schema {
        setting(out, "staging_schema", &text(&run.staging_schema));
    }
}

fn flow(out: &mut String, flow: &Flow) {
    out.push_str("\n[[flow]]\n");
    if let Some(name) = &flow.name {
        setting(out, "name", &text(name));
    }
    if let Some(connection) = &flow.connection {
        setting(out, "connection", &text(connection));
    }
    match &flow.files {
        OneOrMany::One(file) => setting(out, "files", &text(file)),
        OneOrMany::Many(files) => {
            setting(
                out,
                "files",
                &list(files.iter().map(|file| text(file)).collect()),
            );
        }
    }
    if flow.format != Format::default() {
        setting(out, "format", &format(&flow.format));
    }
    setting(out, "table", &text(&flow.table));
    if !flow.columns.is_empty() {
        let columns = flow.columns.iter().map(column).collect();
        setting(out, "columns", &list(columns));
    }
    match &flow.partition_by {
        Some(column) => setting(out, "partition_by", &text(column)),
        None => out.push_str("# partition_by = \"COLUMN\"  # its ranges become the partitions\n"),
    }
    match &flow.bounds {
        Bounds::Word(BoundsWord::Data) => {}
        Bounds::Every(every) => setting(
            out,
            "bounds",
            &format!("{{ every = {} }}", bound(&every.every)),
        ),
        Bounds::List(values) => setting(out, "bounds", &list(values.iter().map(bound).collect())),
    }
    let mode = match flow.mode {
        Mode::Create => "create",
        Mode::Append => "append",
    };
    line(
        out,
        &format!(
            "mode = {}  # create: the table is made, or it is empty; append: rows are added",
            text(mode)
        ),
    );
    if flow.rejects != RejectLimit::default() {
        setting(
            out,
            "rejects",
            &format!("{{ rows_max = {} }}", flow.rejects.rows_max),
        );
    }
}

fn format(format: &Format) -> String {
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
    format!("{{ {} }}", settings.join(", "))
}

fn in_brackets(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn column(column: &ColumnSpec) -> String {
    match column {
        ColumnSpec::Short(short) => text(short),
        ColumnSpec::Long(detail) => {
            let mut settings = vec![format!("name = {}", text(&detail.name))];
            for (name, value) in [
                ("type", &detail.type_name),
                ("format", &detail.format),
                ("zone", &detail.zone),
            ] {
                if let Some(value) = value {
                    settings.push(format!("{name} = {}", text(value)));
                }
            }
            if !detail.nullable {
                settings.push("nullable = false".to_owned());
            }
            format!("{{ {} }}", settings.join(", "))
        }
    }
}

fn bound(value: &BoundValue) -> String {
    match value {
        BoundValue::Integer(number) => number.to_string(),
        BoundValue::Text(value) => text(value),
    }
}

fn list(items: Vec<String>) -> String {
    let one_line = format!("[{}]", items.join(", "));
    if one_line.chars().count() + 16 <= LINE_CHARACTERS_MAX {
        return one_line;
    }
    format!("[\n    {},\n]", items.join(",\n    "))
}

fn setting(out: &mut String, name: &str, value: &str) {
    line(out, &format!("{name} = {value}"));
}

fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a String takes any text");
}

/// A key, in quotes where it needs them.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => text(name),
    }
}

/// A basic string of TOML.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                write!(out, "\\u{:04X}", u32::from(control)).expect("a String takes any text");
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
