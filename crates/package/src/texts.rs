//! The texts of a package that may contain `{parameters}`.
//!
//! Each type names all of its fields here, without `..`, so that a new setting does not compile until it is decided
//! whether it may contain parameters. The test compares the result with the schema, so it also notices a type that is
//! not visited at all.

use std::collections::BTreeMap;

use super::{
    BoundValue, Bounds, BoundsEvery, ColumnDetail, ColumnSpec, Connection, ControlFile, Expect,
    FieldChoice, Flow, FlowSource, Keep, LookupSource, OneOrMany, OpenLineage, Output, Package,
    Replace, RunSettings, Scd, Since, Step, Trailer, Unmatched, UnmatchedDefault, Unpivot,
};

/// The kind of a text, which decides which placeholders are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A connection's URL: `${env:NAME}` may be a secret, and must not end a part of the URL.
    Url,
    /// Paths, and options of a connection: the value of `${env:NAME}` is inserted unchanged.
    Files,
    /// Statements: a value from a command must not end the text or the name that contains it.
    Sql,
    /// Other texts: `${env:NAME}` is not allowed.
    Other,
}

/// A function that is called with the path of a text's setting (`flow[0].columns[1].type`), its kind, and the text.
type Visit<'a> = &'a mut dyn FnMut(&str, TextKind, &mut String);

impl Package {
    /// Visits every text that may contain parameters, in the order in which their faults are reported.
    pub(super) fn each_text(&mut self, visit: Visit<'_>) {
        let Package {
            name,
            parameters: _,
            connections,
            run,
            flows,
            origin: _,
        } = self;
        name.each_text("name", TextKind::Other, visit);
        connections.each_text("connections", TextKind::Other, visit);
        run.each_text("run", TextKind::Other, visit);
        flows.each_text("flow", TextKind::Other, visit);
    }
}

/// A value of a package that contains texts.
trait EachText {
    /// Visits the texts of the setting at the path `at`. `kind` is the kind of plain texts in it.
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>);
}

impl EachText for String {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        visit(at, kind, self);
    }
}

impl<T: EachText> EachText for Option<T> {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        if let Some(value) = self {
            value.each_text(at, kind, visit);
        }
    }
}

impl<T: EachText> EachText for Vec<T> {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        for (index, item) in self.iter_mut().enumerate() {
            item.each_text(&format!("{at}[{index}]"), kind, visit);
        }
    }
}

impl<T: EachText> EachText for BTreeMap<String, T> {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        for (key, value) in self {
            value.each_text(&format!("{at}.{key}"), kind, visit);
        }
    }
}

impl EachText for Connection {
    fn each_text(&mut self, at: &str, _: TextKind, visit: Visit<'_>) {
        let Connection {
            url,
            url_written: _,
            options,
            options_written: _,
            reached_at: _,
        } = self;
        url.each_text(&format!("{at}.url"), TextKind::Url, visit);
        options.each_text(&format!("{at}.options"), TextKind::Files, visit);
    }
}

impl EachText for RunSettings {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let RunSettings {
            streams: _,
            chunk_bytes: _,
            batch_rows: _,
            freeze: _,
            analyze: _,
            lock_timeout_ms: _,
            order: _,
            staging: _,
            verify: _,
            rate_bytes_max: _,
            replica_lag_bytes_max: _,
            slot_bytes_max: _,
            disk_check: _,
            unchecked_types: _,
            server_copy: _,
            open_lineage,
            ledger_schema,
            staging_schema,
        } = self;
        open_lineage.each_text(&format!("{at}.open_lineage"), kind, visit);
        ledger_schema.each_text(&format!("{at}.ledger_schema"), kind, visit);
        staging_schema.each_text(&format!("{at}.staging_schema"), kind, visit);
    }
}

impl EachText for OpenLineage {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let OpenLineage { to, namespace } = self;
        to.each_text(&format!("{at}.to"), kind, visit);
        namespace.each_text(&format!("{at}.namespace"), kind, visit);
    }
}

impl EachText for Flow {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Flow {
            name,
            connection,
            files,
            source,
            // The format is not visited: braces in it are ordinary characters, which may be delimiters.
            format: _,
            columns,
            steps,
            table,
            outputs,
            each: _,
            otherwise: _,
            output_number: _,
            partition_by,
            bounds,
            routing: _,
            mode: _,
            replace,
            key,
            scd,
            pre_sql,
            post_sql,
            atomic: _,
            triggers: _,
            indexes: _,
            rejects: _,
            verify: _,
            trailer,
            control_file,
            expect,
        } = self;
        let at = |setting: &str| format!("{at}.{setting}");
        name.each_text(&at("name"), kind, visit);
        connection.each_text(&at("connection"), kind, visit);
        files.each_text(&at("files"), TextKind::Files, visit);
        source.each_text(&at("source"), kind, visit);
        columns.each_text(&at("columns"), kind, visit);
        steps.each_text(&at("step"), kind, visit);
        table.each_text(&at("table"), kind, visit);
        outputs.each_text(&at("output"), kind, visit);
        partition_by.each_text(&at("partition_by"), kind, visit);
        trailer.each_text(&at("trailer"), kind, visit);
        control_file.each_text(&at("control_file"), kind, visit);
        expect.each_text(&at("expect"), kind, visit);
        key.each_text(&at("key"), kind, visit);
        scd.each_text(&at("scd"), kind, visit);
        pre_sql.each_text(&at("pre_sql"), TextKind::Sql, visit);
        post_sql.each_text(&at("post_sql"), TextKind::Sql, visit);
        replace.each_text(&at("replace"), kind, visit);
        bounds.each_text(&at("bounds"), kind, visit);
    }
}

impl EachText for Output {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Output {
            when,
            table,
            partition_by,
            bounds,
            mode: _,
            key,
            scd,
            replace,
        } = self;
        when.each_text(&format!("{at}.when"), TextKind::Sql, visit);
        table.each_text(&format!("{at}.table"), kind, visit);
        partition_by.each_text(&format!("{at}.partition_by"), kind, visit);
        bounds.each_text(&format!("{at}.bounds"), kind, visit);
        key.each_text(&format!("{at}.key"), kind, visit);
        scd.each_text(&format!("{at}.scd"), kind, visit);
        replace.each_text(&format!("{at}.replace"), kind, visit);
    }
}

impl EachText for Scd {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Scd {
            track,
            valid_from,
            valid_to,
            current,
        } = self;
        track.each_text(&format!("{at}.track"), kind, visit);
        valid_from.each_text(&format!("{at}.valid_from"), kind, visit);
        valid_to.each_text(&format!("{at}.valid_to"), kind, visit);
        current.each_text(&format!("{at}.current"), kind, visit);
    }
}

impl EachText for FlowSource {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let FlowSource {
            connection,
            table,
            query,
            columns,
            filter,
            split_by,
            split_nulls: _,
            max_connections: _,
            rate_bytes_max: _,
            stable: _,
            unchanged_by: _,
            indexes: _,
            partitions: _,
            since,
        } = self;
        let at = |setting: &str| format!("{at}.{setting}");
        connection.each_text(&at("connection"), kind, visit);
        table.each_text(&at("table"), kind, visit);
        query.each_text(&at("query"), TextKind::Sql, visit);
        columns.each_text(&at("columns"), kind, visit);
        filter.each_text(&at("where"), TextKind::Sql, visit);
        split_by.each_text(&at("split_by"), kind, visit);
        if let Some(Since {
            column,
            from,
            lag,
            nulls: _,
        }) = since
        {
            column.each_text(&at("since.column"), kind, visit);
            from.each_text(&at("since.from"), kind, visit);
            lag.each_text(&at("since.lag"), kind, visit);
        }
    }
}

impl EachText for Step {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Step {
            derive,
            filter,
            check,
            name,
            otherwise: _,
            load: _,
            lookup,
            on,
            fold,
            take,
            unmatched,
            distinct_on,
            memory_bytes_max: _,
            unpivot,
        } = self;
        let at = |setting: &str| format!("{at}.{setting}");
        if let Some(lookup) = lookup {
            lookup.each_text(&at("lookup"), kind, visit);
        }
        on.each_text(&at("on"), kind, visit);
        fold.each_text(&at("fold"), kind, visit);
        take.each_text(&at("take"), kind, visit);
        if let Some(Unmatched::Default(UnmatchedDefault { default })) = unmatched {
            default.each_text(&at("unmatched.default"), kind, visit);
        }
        derive.each_text(&at("derive"), TextKind::Sql, visit);
        filter.each_text(&at("where"), TextKind::Sql, visit);
        check.each_text(&at("check"), TextKind::Sql, visit);
        name.each_text(&at("name"), kind, visit);
        distinct_on.each_text(&at("distinct_on"), kind, visit);
        if let Some(Unpivot {
            columns,
            name,
            value,
        }) = unpivot
        {
            columns.each_text(&at("unpivot.columns"), kind, visit);
            name.each_text(&at("unpivot.name"), kind, visit);
            value.each_text(&at("unpivot.value"), kind, visit);
        }
    }
}

impl EachText for LookupSource {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let LookupSource {
            connection,
            table,
            query,
            filter,
            files,
            format: _,
            columns,
            first,
            memory_bytes_max: _,
        } = self;
        let at = |setting: &str| format!("{at}.{setting}");
        connection.each_text(&at("connection"), kind, visit);
        table.each_text(&at("table"), kind, visit);
        query.each_text(&at("query"), TextKind::Sql, visit);
        filter.each_text(&at("where"), TextKind::Sql, visit);
        files.each_text(&at("files"), TextKind::Files, visit);
        columns.each_text(&at("columns"), kind, visit);
        first.each_text(&at("first"), kind, visit);
    }
}

impl EachText for OneOrMany {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        match self {
            OneOrMany::One(one) => one.each_text(at, kind, visit),
            OneOrMany::Many(many) => many.each_text(at, kind, visit),
        }
    }
}

impl EachText for ColumnSpec {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        match self {
            ColumnSpec::Short(text) => text.each_text(at, kind, visit),
            ColumnSpec::Long(detail) => detail.each_text(at, kind, visit),
        }
    }
}

impl EachText for ColumnDetail {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let ColumnDetail {
            name,
            type_name,
            nullable: _,
            field,
            skip: _,
            load: _,
            source: _,
            value,
            format,
            zone,
            year_pivot: _,
            default,
            default_for: _,
            trim: _,
            trim_quoted: _,
            // Marks and words of the files, in which braces are ordinary characters.
            null: _,
            decimal_separator: _,
            group_separator: _,
            negative: _,
            nan: _,
            true_words: _,
            false_words: _,
            on_truncate: _,
            round: _,
            lossless: _,
        } = self;
        let at = |setting: &str| format!("{at}.{setting}");
        name.each_text(&at("name"), kind, visit);
        type_name.each_text(&at("type"), kind, visit);
        zone.each_text(&at("zone"), kind, visit);
        value.each_text(&at("value"), kind, visit);
        default.each_text(&at("default"), kind, visit);
        field.each_text(&at("field"), kind, visit);
        format.each_text(&at("format"), kind, visit);
    }
}

impl EachText for FieldChoice {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        match self {
            FieldChoice::Number(_) => {}
            FieldChoice::Name(name) => name.each_text(at, kind, visit),
        }
    }
}

impl EachText for Trailer {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Trailer {
            starts_with,
            rows_field: _,
            also_counts: _,
            sum_fields: _,
        } = self;
        starts_with.each_text(&format!("{at}.starts_with"), kind, visit);
    }
}

impl EachText for ControlFile {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let ControlFile {
            suffix,
            extension,
            path,
            delimiter: _,
            file_field: _,
            rows_field: _,
            also_counts: _,
            sum_fields: _,
        } = self;
        suffix.each_text(&format!("{at}.suffix"), kind, visit);
        extension.each_text(&format!("{at}.extension"), kind, visit);
        path.each_text(&format!("{at}.path"), kind, visit);
    }
}

impl EachText for Expect {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Expect { rows, sums } = self;
        rows.each_text(&format!("{at}.rows"), kind, visit);
        sums.each_text(&format!("{at}.sums"), kind, visit);
    }
}

impl EachText for BoundValue {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        match self {
            BoundValue::Integer(_) => {}
            BoundValue::Text(text) => text.each_text(at, kind, visit),
        }
    }
}

impl EachText for Replace {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        let Replace {
            scope: _,
            by: _,
            keep,
        } = self;
        match keep {
            Keep::Whether(_) => {}
            Keep::Name(name) => name.each_text(&format!("{at}.keep"), kind, visit),
        }
    }
}

impl EachText for Bounds {
    fn each_text(&mut self, at: &str, kind: TextKind, visit: Visit<'_>) {
        match self {
            Bounds::Word(_) | Bounds::Parts(_) => {}
            Bounds::List(values) => values.each_text(at, kind, visit),
            Bounds::Every(BoundsEvery { every }) => {
                every.each_text(&format!("{at}.every"), kind, visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::schema::{schema, target};

    /// A text that occurs only in the setting under test.
    const MARK: &str = "{mark}";

    /// Texts in which braces are ordinary characters: values of parameters; delimiters, marks and words of the files;
    /// names of lines and fields in control files.
    const LITERAL: [&str; 22] = [
        "parameters.any",
        "flow[0].format.delimiter",
        "flow[0].format.quote",
        "flow[0].format.escape",
        "flow[0].format.terminator",
        "flow[0].format.comment",
        "flow[0].format.null",
        "flow[0].format.null[0]",
        "flow[0].format.decimal_separator",
        "flow[0].format.group_separator",
        "flow[0].format.encoding",
        "flow[0].columns[0].null",
        "flow[0].columns[0].null[0]",
        "flow[0].columns[0].decimal_separator",
        "flow[0].columns[0].group_separator",
        "flow[0].columns[0].true_words[0]",
        "flow[0].columns[0].false_words[0]",
        "flow[0].trailer.rows_field",
        "flow[0].trailer.sum_fields.any",
        "flow[0].control_file.delimiter",
        "flow[0].control_file.rows_field",
        "flow[0].control_file.sum_fields.any",
    ];

    #[test]
    fn every_text_of_the_schema_is_visited_or_known_to_be_literal() {
        let literal = BTreeSet::from(LITERAL);
        let mut literal_seen = BTreeSet::new();
        for (path, document) in with_mark(schema()) {
            let path = path.trim_start_matches('.');
            let mut package: Package = serde_json::from_value(document).expect(path);
            let mut visited = Vec::new();
            package.each_text(&mut |at, _, text| {
                if text == MARK {
                    visited.push(at.to_owned());
                }
            });
            // The files of a lookup are described as those of a flow.
            let of_flow = path.replace(".step[0].lookup", "");
            match literal.get(of_flow.as_str()) {
                Some(literal) => {
                    literal_seen.insert(*literal);
                    assert!(visited.is_empty(), "{path} is visited, and listed too");
                }
                None => assert_eq!(visited, [path], "parameters in {path}"),
            }
        }
        assert_eq!(literal_seen, literal, "all that are listed are settings");
    }

    /// For every text that a schema has: its path, and the smallest value in which that text is [`MARK`].
    fn with_mark(schema: &'static Value) -> Vec<(String, Value)> {
        let schema = target(schema);
        if let Some(forms) = forms(schema) {
            return forms.iter().flat_map(with_mark).collect();
        }
        match schema["type"].as_str() {
            Some("string") if schema.get("const").is_none() && schema.get("enum").is_none() => {
                vec![(String::new(), json!(MARK))]
            }
            Some("array") => with_mark(&schema["items"])
                .into_iter()
                .map(|(path, item)| (format!("[0]{path}"), json!([item])))
                .collect(),
            Some("object") => {
                let any = schema["additionalProperties"].as_object().map(|_| "any");
                let any = any.map(|key| (key, &schema["additionalProperties"]));
                let properties = schema["properties"].as_object().into_iter().flatten();
                properties
                    .map(|(key, property)| (key.as_str(), property))
                    .chain(any)
                    .flat_map(|(key, property)| {
                        with_mark(property).into_iter().map(move |(path, value)| {
                            let mut table = smallest(schema);
                            table[key] = value;
                            (format!(".{key}{path}"), table)
                        })
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The smallest value that a schema allows.
    fn smallest(schema: &'static Value) -> Value {
        let schema = target(schema);
        if let Some(forms) = forms(schema) {
            return smallest(&forms[0]);
        }
        match schema["type"].as_str() {
            Some("string") => json!("x"),
            Some("integer") => json!(1),
            Some("array") => json!([]),
            _ => schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(|key| (key.to_owned(), smallest(&schema["properties"][key])))
                .collect::<serde_json::Map<String, Value>>()
                .into(),
        }
    }

    fn forms(schema: &'static Value) -> Option<&'static Vec<Value>> {
        let forms = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key));
        forms.and_then(Value::as_array)
    }
}
