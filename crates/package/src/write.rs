//! Writes a package as a person would write it, so that it can be edited.

use std::collections::BTreeMap;
use std::fmt::Write;

use inrush_rows::printable::{is_unsafe, one_line};
use serde::Serialize;

use super::url_passwords::names_secret;
use super::url_passwords::url_without_password;
use super::{
    BoundValue, Bounds, BoundsWord, CheckElse, ColumnDetail, ColumnNull, ColumnSpec, FieldChoice,
    Flow, Format, IndexPolicy, Keep, LoadOrder, Mode, NullMarker, OneOrMany, Output, OutputElse,
    Package, RejectLimit, Replace, ReplaceBy, ReplaceScope, RunSettings, ServerCopy, Step,
    TriggerPolicy, Unmatched, UnmatchedWord, Verify,
};

/// The most columns that are written in one line.
const LINE_CHARACTERS_MAX: usize = 96;

/// Comments for the settings of a package, line by line. Columns and format are those of
/// the first flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comments {
    /// At the beginning.
    pub beginning: Vec<String>,
    /// Before the format.
    pub format: Vec<String>,
    /// Before each column, in their order.
    pub columns: Vec<Vec<String>>,
    /// Checks that are proposed, behind the flow: each is a comment.
    pub checks: Vec<Step>,
}

impl Package {
    /// The package as TOML, with comments on settings that are often changed. Passwords in URLs are left out.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(&Comments::default())
    }

    /// Like [`to_toml`](Package::to_toml), with these comments.
    pub fn to_toml_with(&self, comments: &Comments) -> String {
        let mut out = String::from(
            "# A package of Inrush. `inrush check FILE` prints its plan, `inrush run FILE` runs \
             it.\n",
        );
        if !comments.beginning.is_empty() {
            out.push_str("#\n");
        }
        comment(&mut out, "", &comments.beginning);
        out.push('\n');
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
            let written = connection.url_written.as_ref().unwrap_or(&connection.url);
            let url = url_without_password(written);
            if url != *written {
                out.push_str(
                    "# The password is not written here: put it into ~/.pgpass or PGPASSWORD.\n",
                );
            }
            setting(&mut out, "url", &text(&url));
            let mut told = connection.options.clone();
            told.extend(connection.options_written.clone());
            options(&mut out, &told);
        }
        run(&mut out, &self.run);
        let none = Comments::default();
        for (index, one) in self.flows.iter().enumerate() {
            flow(&mut out, one, if index == 0 { comments } else { &none });
        }
        out
    }
}

/// Options of a connection, without secrets.
fn options(out: &mut String, options: &BTreeMap<String, String>) {
    let (secret, told): (Vec<_>, Vec<_>) = options
        .iter()
        .partition(|(name, value)| names_secret(name) && !value.contains("${env:"));
    for (name, _) in secret {
        let name = one_line(name);
        out.push_str(&format!(
            "# The option {name} is a secret, and not written here: {name} = \"${{env:NAME}}\"\n"
        ));
    }
    if told.is_empty() {
        return;
    }
    let told = told
        .iter()
        .map(|(name, value)| format!("{} = {}", key(name), text(&url_without_password(value))));
    let told: Vec<String> = told.collect();
    line(out, &format!("options = {{ {} }}", told.join(", ")));
}

/// Lines of a comment. A line break in a comment would end it, and the rest would be read as TOML.
fn comment(out: &mut String, indent: &str, lines: &[String]) {
    for text in lines {
        line(out, format!("{indent}# {}", one_line(text)).trim_end());
    }
}

fn run(out: &mut String, run: &RunSettings) {
    let usual = RunSettings::default();
    out.push_str("\n[run]\n");
    match run.streams {
        Some(streams) => setting(out, "streams", &streams.to_string()),
        None => out
            .push_str("# streams = 8  # each has its own connection; default: one for each core\n"),
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
    for (name, value) in [
        ("rate_bytes_max", run.rate_bytes_max),
        ("replica_lag_bytes_max", run.replica_lag_bytes_max),
        ("slot_bytes_max", run.slot_bytes_max),
    ] {
        if let Some(value) = value {
            setting(out, name, &value.to_string());
        }
    }
    if run.disk_check != usual.disk_check {
        setting(out, "disk_check", &run.disk_check.to_string());
    }
    if run.unchecked_types != usual.unchecked_types {
        setting(out, "unchecked_types", &text("refuse"));
    }
    if run.server_copy != usual.server_copy {
        setting(out, "server_copy", &text(server_copy_word(run.server_copy)));
    }
    if run.freeze != usual.freeze {
        setting(out, "freeze", &run.freeze.to_string());
    }
    if let Some(analyze) = run.analyze {
        setting(out, "analyze", &analyze.to_string());
    }
    if run.order == LoadOrder::Package {
        setting(out, "order", &text("package"));
    }
    if run.staging != usual.staging {
        setting(out, "staging", &run.staging.to_string());
    }
    if run.verify != usual.verify {
        setting(out, "verify", &text(verify_word(run.verify)));
    }
    if let Some(open_lineage) = &run.open_lineage {
        setting(out, "open_lineage", &inline(open_lineage));
    }
    if run.ledger_schema != usual.ledger_schema {
        setting(out, "ledger_schema", &text(&run.ledger_schema));
    }
    if run.staging_schema != usual.staging_schema {
        setting(out, "staging_schema", &text(&run.staging_schema));
    }
}

fn flow(out: &mut String, flow: &Flow, comments: &Comments) {
    out.push_str("\n[[flow]]\n");
    if let Some(name) = &flow.name {
        setting(out, "name", &text(name));
    }
    if let Some(connection) = &flow.connection {
        setting(out, "connection", &text(connection));
    }
    match &flow.source {
        None => one_or_many(out, "files", &flow.files),
        Some(source) => setting(out, "source", &inline(source)),
    }
    comment(out, "", &comments.format);
    if flow.format != Format::default() {
        setting(out, "format", &format(&flow.format));
    }
    if !flow.table.is_empty() || flow.outputs.is_empty() {
        setting(out, "table", &text(&flow.table));
    }
    if let Some(number) = flow.output_number {
        setting(out, "output_number", &number.to_string());
    }
    if flow.each {
        setting(out, "each", "true");
    }
    match flow.otherwise {
        None => {}
        Some(OutputElse::Reject) => setting(out, "else", &text("reject")),
        Some(OutputElse::Filter) => setting(out, "else", &text("filter")),
    }
    if !flow.columns.is_empty() {
        let columns: Vec<String> = flow.columns.iter().map(column).collect();
        match comments.columns.is_empty() {
            true => setting(out, "columns", &list(columns)),
            false => commented_columns(out, &columns, &comments.columns),
        }
    }
    partitions(out, flow);
    line(
        out,
        &format!(
            "mode = {}  # create: a new or empty table; append: add rows; replace: replace the \
             table's rows; upsert: replace rows with the same key",
            text(mode_word(flow.mode))
        ),
    );
    if flow.replace != Replace::default() {
        setting(out, "replace", &replace(&flow.replace));
    }
    let written = [
        ("key", &flow.key),
        ("pre_sql", &flow.pre_sql),
        ("post_sql", &flow.post_sql),
    ];
    for (name, own) in written {
        if let Some(own) = own {
            one_or_many(out, name, own);
        }
    }
    if let Some(scd) = &flow.scd {
        setting(out, "scd", &inline(scd));
    }
    if !flow.atomic {
        setting(out, "atomic", "false");
    }
    if flow.triggers == TriggerPolicy::Skip {
        setting(out, "triggers", &text("skip"));
    }
    if flow.indexes == IndexPolicy::Rebuild {
        setting(out, "indexes", &text("rebuild"));
    }
    if flow.rejects != RejectLimit::default() {
        setting(out, "rejects", &reject_limit(&flow.rejects));
    }
    if let Some(verify) = flow.verify {
        setting(out, "verify", &text(verify_word(verify)));
    }
    if let Some(trailer) = &flow.trailer {
        setting(out, "trailer", &inline(trailer));
    }
    if let Some(control_file) = &flow.control_file {
        setting(out, "control_file", &inline(control_file));
    }
    if let Some(expect) = &flow.expect {
        setting(out, "expect", &inline(expect));
    }
    // Settings that follow would be those of the step.
    for one in &flow.steps {
        step(out, one);
    }
    for one in &flow.outputs {
        output(out, one);
    }
    proposed(out, &comments.checks);
}

/// Checks as comments, which become steps without their `#`.
fn proposed(out: &mut String, checks: &[Step]) {
    if checks.is_empty() {
        return;
    }
    out.push_str(
        "\n# All rows that were read pass these checks. Remove the # before those that must hold.\n",
    );
    for check in checks {
        let mut text = String::new();
        step(&mut text, check);
        for line_of_step in text.trim_start().lines() {
            line(out, &format!("# {line_of_step}"));
        }
    }
}

fn output(out: &mut String, output: &Output) {
    out.push_str("\n[[flow.output]]\n");
    if let Some(when) = &output.when {
        setting(out, "when", &text(when));
    }
    setting(out, "table", &text(&output.table));
    if let Some(column) = &output.partition_by {
        setting(out, "partition_by", &text(column));
    }
    if let Some(own) = &output.bounds {
        setting(out, "bounds", &bounds(own).unwrap_or_else(|| text("data")));
    }
    if let Some(mode) = output.mode {
        setting(out, "mode", &text(mode_word(mode)));
    }
    if let Some(own) = &output.key {
        one_or_many(out, "key", own);
    }
    if let Some(own) = &output.replace {
        setting(out, "replace", &replace(own));
    }
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Create => "create",
        Mode::Append => "append",
        Mode::Replace => "replace",
        Mode::Upsert => "upsert",
    }
}

/// Bounds as TOML; `None` for those of the data, which are the default.
fn bounds(bounds: &Bounds) -> Option<String> {
    match bounds {
        Bounds::Word(BoundsWord::Data) => None,
        Bounds::Every(every) => Some(format!("{{ every = {} }}", bound(&every.every))),
        Bounds::Parts(parts) => Some(format!("{{ parts = {} }}", parts.parts)),
        Bounds::List(values) => Some(list(values.iter().map(bound).collect())),
    }
}

fn step(out: &mut String, step: &Step) {
    out.push_str("\n[[flow.step]]\n");
    if let Some(derive) = &step.derive {
        setting(out, "derive", &inline(derive));
    }
    let texts = [
        ("where", &step.filter),
        ("check", &step.check),
        ("name", &step.name),
    ];
    for (name, own) in texts {
        if let Some(own) = own {
            setting(out, name, &text(own));
        }
    }
    if let Some(otherwise) = step.otherwise {
        let word = match otherwise {
            CheckElse::Reject => "reject",
            CheckElse::Warn => "warn",
            CheckElse::Fail => "fail",
        };
        setting(out, "else", &text(word));
    }
    if let Some(lookup) = &step.lookup {
        setting(out, "lookup", &inline(lookup));
    }
    for (name, columns) in [("on", &step.on), ("take", &step.take)] {
        if let Some(columns) = columns {
            setting(out, name, &inline(columns));
        }
    }
    if !step.fold.is_empty() {
        one_or_many(out, "fold", &step.fold);
    }
    match &step.unmatched {
        None => {}
        Some(Unmatched::Word(UnmatchedWord::Reject)) => setting(out, "unmatched", &text("reject")),
        Some(Unmatched::Word(UnmatchedWord::Null)) => setting(out, "unmatched", &text("null")),
        Some(Unmatched::Word(UnmatchedWord::Add)) => setting(out, "unmatched", &text("add")),
        Some(Unmatched::Default(default)) => setting(out, "unmatched", &inline(default)),
    }
    if let Some(columns) = &step.distinct_on {
        let columns = columns.iter().map(|column| text(column));
        setting(out, "distinct_on", &list(columns.collect()));
    }
    if let Some(unpivot) = &step.unpivot {
        setting(out, "unpivot", &inline(unpivot));
    }
    if let Some(bytes) = step.memory_bytes_max {
        setting(out, "memory_bytes_max", &bytes.to_string());
    }
    if let Some(load) = step.load {
        setting(out, "load", &load.to_string());
    }
}

/// One text, or a list of them.
fn one_or_many(out: &mut String, name: &str, texts: &OneOrMany) {
    match texts {
        OneOrMany::One(one) => setting(out, name, &text(one)),
        OneOrMany::Many(many) => {
            setting(out, name, &list(many.iter().map(|one| text(one)).collect()));
        }
    }
}

/// The settings of the target's partitions.
fn partitions(out: &mut String, flow: &Flow) {
    match &flow.partition_by {
        Some(column) => setting(out, "partition_by", &text(column)),
        None => out.push_str("# partition_by = \"COLUMN\"  # its ranges become the partitions\n"),
    }
    if let Some(own) = bounds(&flow.bounds) {
        setting(out, "bounds", &own);
    }
    if let Some(routing) = flow.routing {
        setting(out, "routing", if routing { "true" } else { "false" });
    }
}

/// A table in one line.
fn inline(table: &impl Serialize) -> String {
    toml::Value::try_from(table)
        .expect("settings are texts, numbers and tables of them")
        .to_string()
}

fn verify_word(verify: Verify) -> &'static str {
    match verify {
        Verify::Count => "count",
        Verify::Sums => "sums",
        Verify::Rows => "rows",
    }
}

fn server_copy_word(server_copy: ServerCopy) -> &'static str {
    match server_copy {
        ServerCopy::Auto => "auto",
        ServerCopy::Plain => "plain",
        ServerCopy::Require => "require",
        ServerCopy::Pages => "pages",
    }
}

fn reject_limit(limit: &RejectLimit) -> String {
    let rows = limit.rows_max.map(|rows| format!("rows_max = {rows}"));
    // A share as a TOML float: `1` would be an integer.
    let share = limit
        .share_max
        .map(|share| format!("share_max = {share:?}"));
    let bytes = limit.bytes_max.map(|bytes| format!("bytes_max = {bytes}"));
    let settings: Vec<String> = rows.into_iter().chain(share).chain(bytes).collect();
    format!("{{ {} }}", settings.join(", "))
}

fn replace(replace: &Replace) -> String {
    let mut settings = Vec::new();
    if replace.scope != ReplaceScope::default() {
        settings.push(format!("scope = {}", word(replace.scope)));
    }
    if replace.by != ReplaceBy::default() {
        settings.push(format!("by = {}", word(replace.by)));
    }
    match &replace.keep {
        Keep::Whether(false) => {}
        Keep::Whether(true) => settings.push("keep = true".to_owned()),
        Keep::Name(name) => settings.push(format!("keep = {}", text(name))),
    }
    format!("{{ {} }}", settings.join(", "))
}

fn commented_columns(out: &mut String, columns: &[String], comments: &[Vec<String>]) {
    out.push_str("columns = [\n");
    for (index, column) in columns.iter().enumerate() {
        if let Some(lines) = comments.get(index) {
            comment(out, "    ", lines);
        }
        line(out, &format!("    {column},"));
    }
    out.push_str("]\n");
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

fn in_brackets(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn column(column: &ColumnSpec) -> String {
    match column {
        ColumnSpec::Short(short) => text(short),
        ColumnSpec::Long(detail) => {
            format!("{{ {} }}", column_settings(detail).join(", "))
        }
    }
}

fn column_settings(detail: &ColumnDetail) -> Vec<String> {
    let mut settings = vec![format!("name = {}", text(&detail.name))];
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            settings.push(format!("{name} = {value}"));
        }
    };
    let texts = |values: &Vec<String>| {
        let values: Vec<String> = values.iter().map(|value| text(value)).collect();
        format!("[{}]", values.join(", "))
    };
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

/// A word of an enum, as TOML has it.
fn word(value: impl Serialize) -> String {
    let value = serde_json::json!(value);
    text(value.as_str().unwrap_or_default())
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

/// A key, in quotes if it needs them.
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
            hidden if is_unsafe(hidden) => {
                write!(out, "\\U{:08X}", u32::from(hidden)).expect("a String takes any text");
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
