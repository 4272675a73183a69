//! Writes a package as a person would write it, so that it can be edited.

mod columns;
mod format;
mod steps;
mod toml_text;

use std::collections::BTreeMap;

use inrush_rows::printable::one_line;

use self::columns::{column, commented_columns};
use self::format::format;
use self::steps::{output, proposed, step};
use self::toml_text::{
    Settings, comment, inline, key, line, list, one_or_many, setting, text, word,
};
use super::url_passwords::names_secret;
use super::url_passwords::url_without_password;
use super::{
    BoundValue, Bounds, BoundsWord, Flow, Format, IndexPolicy, Keep, LoadOrder, Mode, OutputElse,
    Package, RejectLimit, Replace, ReplaceBy, ReplaceScope, RunSettings, ServerCopy, Step,
    TriggerPolicy, Verify,
};

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
    /// Proposed checks, written after the flow, each as a comment.
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
    // Steps come last, because settings after a step would belong to the step.
    for one in &flow.steps {
        step(out, one);
    }
    for one in &flow.outputs {
        output(out, one);
    }
    proposed(out, &comments.checks);
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

fn bound(value: &BoundValue) -> String {
    match value {
        BoundValue::Integer(number) => number.to_string(),
        BoundValue::Text(value) => text(value),
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
    let mut settings = Settings::default();
    settings.add("rows_max", limit.rows_max.map(|rows| rows.to_string()));
    // A share as a TOML float: `1` would be an integer.
    settings.add(
        "share_max",
        limit.share_max.map(|share| format!("{share:?}")),
    );
    settings.add("bytes_max", limit.bytes_max.map(|bytes| bytes.to_string()));
    settings.inline()
}

fn replace(replace: &Replace) -> String {
    let mut settings = Settings::default();
    let scope = (replace.scope != ReplaceScope::default()).then(|| word(replace.scope));
    let by = (replace.by != ReplaceBy::default()).then(|| word(replace.by));
    settings.add("scope", scope);
    settings.add("by", by);
    settings.add(
        "keep",
        match &replace.keep {
            Keep::Whether(false) => None,
            Keep::Whether(true) => Some("true".to_owned()),
            Keep::Name(name) => Some(text(name)),
        },
    );
    settings.inline()
}
