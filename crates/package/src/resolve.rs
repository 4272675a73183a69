//! Puts in the values: parameters for `{name}`, the environment for `${env:NAME}`, and what
//! `--set` and `--connection` replace.

use std::collections::BTreeMap;

use inrush_rows::suggest::suggestion;

use super::error::{PackageError, PackageFault, PackageFaultKind};
use super::percent::percent_encode;
use super::place::Place;
use super::url::{note_secrets_of_sql, redacted_url};
use super::{
    BoundValue, Bounds, ColumnSpec, Connection, FieldChoice, Keep, OneOrMany, Package, sql_value,
};
use crate::secrets::{is_shown_path, note_variable};

/// What a command's arguments replace in a package.
#[derive(Clone, Default)]
pub struct Overrides {
    /// `--set name=value`; of the same name the last one counts.
    pub parameters: Vec<(String, String)>,
    /// `--connection name=url`.
    pub connections: Vec<(String, String)>,
}

/// The value of an environment variable; the library never reads the environment itself.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What may stand in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    /// A connection's URL: `${env:NAME}` may be a secret, and must not end a part of the URL.
    Url,
    /// Paths, and options of a connection: `${env:NAME}` is taken as it is.
    Files,
    /// Statements: a value that a command gives must not end the text or the name that it stands in.
    Sql,
    /// Anything else: no `${env:NAME}`.
    Other,
}

/// What stands for names in braces.
struct BraceValues<'a> {
    parameters: &'a BTreeMap<String, String>,
    /// Those that a command gave in place of the package's own.
    given: &'a [(String, String)],
    environment: Environment<'a>,
}

impl Package {
    /// The package with every parameter, environment variable and override put in.
    pub fn resolve(
        &self,
        overrides: &Overrides,
        environment: Environment<'_>,
    ) -> Result<Package, PackageError> {
        let mut package = self.clone();
        let mut faults = Vec::new();
        override_parameters(&mut package, overrides, &mut faults);
        override_connections(&mut package, overrides, &mut faults);
        let overridden: Vec<&String> = overrides.connections.iter().map(|(name, _)| name).collect();

        let parameters = package.parameters.clone();
        let values = BraceValues {
            parameters: &parameters,
            given: &overrides.parameters,
            environment,
        };
        for connection in package.connections.values_mut() {
            connection.url_written = written(&connection.url, &parameters);
        }
        each_text(
            &mut package,
            &mut |path, kind, text| match expand(text, kind, &values, path) {
                Ok(expanded) => {
                    if kind == TextKind::Sql {
                        note_secrets_of_sql(&expanded);
                    }
                    *text = expanded;
                }
                Err(kind) => faults.push(PackageFault {
                    place: match overridden
                        .iter()
                        .find(|name| path == format!("connections.{name}.url"))
                    {
                        Some(name) => Place::of_argument(&format!("--connection {name}")),
                        None => self.origin.place(path),
                    },
                    kind,
                }),
            },
        );
        package
            .connections
            .values()
            .for_each(Connection::note_secrets);
        PackageError::of(faults)?;
        Ok(package)
    }

    /// Gives a connection of a package that is resolved already another URL, as `--connection`
    /// does; in it alone variables of the environment are put in.
    pub fn connect(
        &mut self,
        name: &str,
        url: &str,
        environment: Environment<'_>,
    ) -> Result<(), PackageError> {
        let mut faults = Vec::new();
        let overrides = Overrides {
            parameters: Vec::new(),
            connections: vec![(name.to_owned(), url.to_owned())],
        };
        override_connections(self, &overrides, &mut faults);
        if let Some(connection) = self.connections.get_mut(name) {
            let path = format!("connections.{name}.url");
            let values = BraceValues {
                parameters: &self.parameters,
                given: &[],
                environment,
            };
            match expand(url, TextKind::Url, &values, &path) {
                Ok(expanded) => {
                    connection.url_written = written(url, &self.parameters);
                    connection.url = expanded;
                    connection.note_secrets();
                }
                Err(kind) => faults.push(PackageFault {
                    place: Place::of_argument(&format!("--connection {name}")),
                    kind,
                }),
            }
        }
        PackageError::of(faults)
    }
}

impl Package {
    /// Puts variables of the environment into the URLs and options of a package that is resolved already: what a
    /// run writes of its package has their names in place of their values.
    pub fn fill_connections(&mut self, environment: Environment<'_>) -> Result<(), PackageError> {
        let mut faults = Vec::new();
        let values = BraceValues {
            parameters: &self.parameters,
            given: &[],
            environment,
        };
        for (name, connection) in &mut self.connections {
            if connection.url.contains("${env:") {
                let path = format!("connections.{name}.url");
                match expand(&connection.url, TextKind::Url, &values, &path) {
                    Ok(expanded) => {
                        let url = std::mem::replace(&mut connection.url, expanded);
                        connection.url_written = Some(url);
                    }
                    Err(kind) => faults.push(PackageFault {
                        place: Place::of_argument(&path),
                        kind,
                    }),
                }
            }
            for (option, value) in &mut connection.options {
                if !value.contains("${env:") {
                    continue;
                }
                let path = format!("connections.{name}.options.{option}");
                match expand(value, TextKind::Files, &values, &path) {
                    Ok(expanded) => {
                        let written = &mut connection.options_written;
                        written.insert(option.clone(), std::mem::replace(value, expanded));
                    }
                    Err(kind) => faults.push(PackageFault {
                        place: Place::of_argument(&path),
                        kind,
                    }),
                }
            }
            connection.note_secrets();
        }
        PackageError::of(faults)
    }
}

impl Package {
    /// Doubles the braces of a resolved package's texts, so that it can be written and resolved again. The names of
    /// variables stay as they are. URLs and options are left alone.
    pub fn escape(&mut self) {
        self.change_texts(&escape_but_variables);
    }

    /// Undoes [`escape`](Package::escape).
    pub fn unescape(&mut self) {
        self.change_texts(&|text| text.replace("{{", "{").replace("}}", "}"));
    }

    fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        each_text(self, &mut |path, _, text| {
            if !path.starts_with("connections.") {
                *text = change(text);
            }
        });
    }
}

fn escape_but_variables(text: &str) -> String {
    let mut parts = text.split("${env:");
    let mut escaped = escape_braces(parts.next().unwrap_or_default());
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) => {
                escaped.push_str(&format!("${{env:{name}}}{}", escape_braces(rest)));
            }
            None => escaped.push_str(&escape_braces(&format!("${{env:{part}"))),
        }
    }
    escaped
}

/// The text with every brace doubled, so that resolving gives it back as it is.
pub fn escape_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

fn override_parameters(
    package: &mut Package,
    overrides: &Overrides,
    faults: &mut Vec<PackageFault>,
) {
    for (name, value) in &overrides.parameters {
        match package.parameters.get_mut(name) {
            Some(parameter) => *parameter = value.clone(),
            None => faults.push(unknown_override(
                "--set",
                "parameter",
                name,
                package.parameters.keys(),
            )),
        }
    }
}

fn override_connections(
    package: &mut Package,
    overrides: &Overrides,
    faults: &mut Vec<PackageFault>,
) {
    for (name, url) in &overrides.connections {
        match package.connections.get_mut(name) {
            Some(connection) => connection.url = url.clone(),
            None => faults.push(unknown_override(
                "--connection",
                "connection",
                name,
                package.connections.keys(),
            )),
        }
    }
}

fn unknown_override<'a>(
    argument: &str,
    what: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> PackageFault {
    let known: Vec<String> = known.cloned().collect();
    PackageFault {
        place: Place::of_argument(argument),
        kind: PackageFaultKind::UnknownOverride {
            what,
            name: name.to_owned(),
            suggestion: suggestion(name, known.iter().map(String::as_str)),
            known,
        },
    }
}

/// Every text of a package in which parameters may stand, and its place.
fn each_text(package: &mut Package, visit: &mut dyn FnMut(&str, TextKind, &mut String)) {
    visit("name", TextKind::Other, &mut package.name);
    for (name, connection) in &mut package.connections {
        visit(
            &format!("connections.{name}.url"),
            TextKind::Url,
            &mut connection.url,
        );
        for (option, value) in &mut connection.options {
            if value.contains("${env:") {
                let written = &mut connection.options_written;
                written.insert(option.clone(), value.clone());
            }
            let path = format!("connections.{name}.options.{option}");
            visit(&path, TextKind::Files, value);
        }
    }
    visit(
        "run.ledger_schema",
        TextKind::Other,
        &mut package.run.ledger_schema,
    );
    visit(
        "run.staging_schema",
        TextKind::Other,
        &mut package.run.staging_schema,
    );
    for (index, flow) in package.flows.iter_mut().enumerate() {
        let at = |setting: &str| format!("flow[{index}].{setting}");
        if let Some(name) = &mut flow.name {
            visit(&at("name"), TextKind::Other, name);
        }
        if let Some(connection) = &mut flow.connection {
            visit(&at("connection"), TextKind::Other, connection);
        }
        match &mut flow.files {
            OneOrMany::One(file) => visit(&at("files"), TextKind::Files, file),
            OneOrMany::Many(files) => {
                for (item, file) in files.iter_mut().enumerate() {
                    visit(&at(&format!("files[{item}]")), TextKind::Files, file);
                }
            }
        }
        for (item, column) in flow.columns.iter_mut().enumerate() {
            let at = |setting: &str| at(&format!("columns[{item}]{setting}"));
            match column {
                ColumnSpec::Short(text) => visit(&at(""), TextKind::Other, text),
                ColumnSpec::Long(detail) => {
                    visit(&at(".name"), TextKind::Other, &mut detail.name);
                    for (setting, text) in [
                        (".type", &mut detail.type_name),
                        (".zone", &mut detail.zone),
                        (".value", &mut detail.value),
                        (".default", &mut detail.default),
                    ] {
                        if let Some(text) = text {
                            visit(&at(setting), TextKind::Other, text);
                        }
                    }
                    if let Some(FieldChoice::Name(name)) = &mut detail.field {
                        visit(&at(".field"), TextKind::Other, name);
                    }
                    match &mut detail.format {
                        None => {}
                        Some(OneOrMany::One(format)) => {
                            visit(&at(".format"), TextKind::Other, format);
                        }
                        Some(OneOrMany::Many(formats)) => {
                            for (item, format) in formats.iter_mut().enumerate() {
                                visit(&at(&format!(".format[{item}]")), TextKind::Other, format);
                            }
                        }
                    }
                }
            }
        }
        visit(&at("table"), TextKind::Other, &mut flow.table);
        if let Some(column) = &mut flow.partition_by {
            visit(&at("partition_by"), TextKind::Other, column);
        }
        if let Some(trailer) = &mut flow.trailer {
            visit(
                &at("trailer.starts_with"),
                TextKind::Other,
                &mut trailer.starts_with,
            );
        }
        if let Some(control) = &mut flow.control_file {
            for (setting, text) in [
                ("suffix", &mut control.suffix),
                ("extension", &mut control.extension),
                ("path", &mut control.path),
            ] {
                if let Some(text) = text {
                    visit(
                        &at(&format!("control_file.{setting}")),
                        TextKind::Other,
                        text,
                    );
                }
            }
        }
        if let Some(expect) = &mut flow.expect {
            if let Some(BoundValue::Text(text)) = &mut expect.rows {
                visit(&at("expect.rows"), TextKind::Other, text);
            }
            for (column, value) in &mut expect.sums {
                if let BoundValue::Text(text) = value {
                    visit(&at(&format!("expect.sums.{column}")), TextKind::Other, text);
                }
            }
        }
        for (name, kind, texts) in [
            ("key", TextKind::Other, &mut flow.key),
            ("pre_sql", TextKind::Sql, &mut flow.pre_sql),
            ("post_sql", TextKind::Sql, &mut flow.post_sql),
        ] {
            match texts {
                None => {}
                Some(OneOrMany::One(one)) => visit(&at(name), kind, one),
                Some(OneOrMany::Many(many)) => {
                    for (item, one) in many.iter_mut().enumerate() {
                        visit(&at(&format!("{name}[{item}]")), kind, one);
                    }
                }
            }
        }
        if let Keep::Name(name) = &mut flow.replace.keep {
            visit(&at("replace.keep"), TextKind::Other, name);
        }
        match &mut flow.bounds {
            Bounds::Word(_) | Bounds::Parts(_) => {}
            Bounds::Every(every) => {
                if let BoundValue::Text(text) = &mut every.every {
                    visit(&at("bounds.every"), TextKind::Other, text);
                }
            }
            Bounds::List(values) => {
                for (item, value) in values.iter_mut().enumerate() {
                    if let BoundValue::Text(text) = value {
                        visit(&at(&format!("bounds[{item}]")), TextKind::Other, text);
                    }
                }
            }
        }
    }
}

/// Whether a variable is the beginning of a path: of files, or of a destination on this machine.
fn stands_for_path(kind: TextKind, setting: &str, before: &str) -> bool {
    match kind {
        TextKind::Files => setting.starts_with("flow[") && before.is_empty(),
        TextKind::Url => matches!(before, "" | "parquet:" | "embedded:"),
        TextKind::Sql | TextKind::Other => false,
    }
}

fn expand(
    text: &str,
    kind: TextKind,
    values: &BraceValues<'_>,
    path: &str,
) -> Result<String, PackageFaultKind> {
    let parameters = values.parameters;
    let shown = || match kind {
        TextKind::Url => redacted_url(text),
        _ => text.to_owned(),
    };
    let mut expanded = String::with_capacity(text.len());
    let mut statement = sql_value::StatementText::new();
    let mut rest = text;
    while let Some(position) = rest.find(['{', '}']) {
        let (before, at) = rest.split_at(position);
        expanded.push_str(before);
        if at.starts_with("{{") || at.starts_with("}}") {
            expanded.push_str(&at[..1]);
            rest = &at[2..];
            continue;
        }
        if let Some(after) = at.strip_prefix('}') {
            expanded.push('}');
            rest = after;
            continue;
        }
        let (name, after) = at[1..]
            .split_once('}')
            .ok_or_else(|| PackageFaultKind::BraceNotClosed { text: shown() })?;
        rest = after;
        let variable = name.strip_prefix("env:");
        match (expanded.strip_suffix('$'), variable) {
            (Some(before), Some(variable)) => {
                if matches!(kind, TextKind::Sql | TextKind::Other) {
                    return Err(PackageFaultKind::EnvironmentMisplaced {
                        name: variable.to_owned(),
                        setting: path.rsplit('.').next().unwrap_or(path).to_owned(),
                    });
                }
                let is_path = stands_for_path(kind, path, before);
                expanded.truncate(before.len());
                let value = (values.environment)(variable).ok_or_else(|| {
                    PackageFaultKind::EnvironmentMissing {
                        name: variable.to_owned(),
                    }
                })?;
                if !(is_path && is_shown_path(&value)) {
                    note_variable(variable, &value);
                }
                match kind == TextKind::Url && must_be_encoded(&expanded, rest) {
                    true => percent_encode(&value, &mut expanded),
                    false => expanded.push_str(&value),
                }
            }
            _ => match (parameters.get(name), kind) {
                (Some(value), TextKind::Sql) => {
                    let given = values.given.iter().any(|(given, _)| given == name);
                    statement.push_bare(name, value, given, &mut expanded)?;
                }
                (Some(value), _) => expanded.push_str(value),
                (None, _)
                    if let Some((parameter, form)) = name.split_once(':')
                        && let Some(value) = parameters.get(parameter) =>
                {
                    if kind != TextKind::Sql {
                        return Err(sql_value::misplaced(name, parameter, path));
                    }
                    statement.push_quoted(parameter, form, value, &mut expanded)?;
                }
                (None, _) => {
                    return Err(PackageFaultKind::UnknownParameter {
                        name: name.to_owned(),
                        text: shown(),
                        suggestion: match variable {
                            Some(_) => Some(format!("${{{name}}}")),
                            None => suggestion(name, parameters.keys().map(String::as_str)),
                        },
                        known: parameters.keys().cloned().collect(),
                    });
                }
            },
        }
    }
    expanded.push_str(rest);
    if kind == TextKind::Sql {
        statement.finish(&expanded)?;
    }
    Ok(expanded)
}

/// The text with its parameters put in and the names of variables left as they are; none where it names no variable, or
/// is wrong, which is told elsewhere.
fn written(text: &str, parameters: &BTreeMap<String, String>) -> Option<String> {
    if !text.contains("${env:") {
        return None;
    }
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find(['{', '}']) {
        let (before, at) = rest.split_at(position);
        written.push_str(before);
        if at.starts_with("{{") || at.starts_with("}}") {
            written.push_str(&at[..1]);
            rest = &at[2..];
            continue;
        }
        let end = at.find('}')?;
        let name = at[..end].trim_start_matches('{');
        match parameters.get(name) {
            Some(value) => written.push_str(value),
            None => written.push_str(&at[..=end]),
        }
        rest = &at[end + 1..];
    }
    written.push_str(rest);
    Some(written)
}

/// Whether a variable stands in the user, password or query of a URL, where a `/` or `@` of a
/// password would end that part. A whole URL, a host or a database is taken as it is.
fn must_be_encoded(before: &str, after: &str) -> bool {
    let Some(authority) = before.find("://").map(|start| &before[start + 3..]) else {
        return false;
    };
    authority.contains('?')
        || (!authority.contains(['@', '/'])
            && after
                .split('?')
                .next()
                .is_some_and(|rest| rest.contains('@')))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "name = 'p'\n[parameters]\ndata = 'tpch'\n\
        [connections.warehouse]\nurl = 'postgresql://etl:${env:PASSWORD}@${env:HOST}/{data}'\n\
        [[flow]]\nfiles = '{data}/${env:FOLDER}/{{x}}.tbl'\ntable = '{data}.t'\n\
        partition_by = 'k'\nbounds = ['{data}', 'z']\n\
        columns = ['k {data}', { name = '{data}', type = '{data}' }]\n";

    fn environment(name: &str) -> Option<String> {
        match name {
            "PASSWORD" => Some("s/e@c?r".to_owned()),
            "HOST" => Some("dw:5433".to_owned()),
            "FOLDER" => Some("a b".to_owned()),
            _ => None,
        }
    }

    fn values(parameters: &BTreeMap<String, String>) -> BraceValues<'_> {
        BraceValues {
            parameters,
            given: &[],
            environment: &|_| None,
        }
    }

    fn resolve(text: &str, overrides: &Overrides) -> Result<Package, String> {
        Package::parse(text, Path::new("p.toml"))
            .expect("it is right")
            .resolve(overrides, &environment)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_put_in_everywhere() {
        let package = resolve(TEXT, &Overrides::default()).expect("it is right");
        assert_eq!(
            package.connections["warehouse"].url,
            "postgresql://etl:s%2Fe%40c%3Fr@dw:5433/tpch"
        );
        let flow = &package.flows[0];
        assert_eq!(flow.files, OneOrMany::One("tpch/a b/{x}.tbl".to_owned()));
        assert_eq!(flow.table, "tpch.t");
        assert_eq!(
            flow.bounds,
            Bounds::List(vec![
                BoundValue::Text("tpch".to_owned()),
                BoundValue::Text("z".to_owned())
            ])
        );
        assert_eq!(flow.columns[0], ColumnSpec::Short("k tpch".to_owned()));
        let detail = flow.columns[1].detail().expect("it is right");
        assert_eq!(
            (detail.name.as_str(), detail.type_name.as_deref()),
            ("tpch", Some("tpch"))
        );
    }

    #[test]
    fn overrides_replace() {
        let overrides = Overrides {
            parameters: vec![
                ("data".to_owned(), "x".to_owned()),
                ("data".to_owned(), "y{z".to_owned()),
            ],
            connections: vec![("warehouse".to_owned(), "${env:URL}".to_owned())],
        };
        let error = resolve(TEXT, &overrides).expect_err("URL is not set");
        assert_eq!(
            error,
            "--connection warehouse: the environment variable `URL` is not set\n\
             hint: set it before the command: export URL=..."
        );
        let overrides = Overrides {
            connections: vec![("warehouse".to_owned(), "embedded:{data}".to_owned())],
            ..overrides
        };
        let package = resolve(TEXT, &overrides).expect("it is right");
        assert_eq!(package.connections["warehouse"].url, "embedded:y{z");
        assert_eq!(package.parameters["data"], "y{z");
    }

    #[test]
    fn overrides_of_what_is_not_there_are_refused_together() {
        let error = resolve(
            TEXT,
            &Overrides {
                parameters: vec![("date".to_owned(), "x".to_owned())],
                connections: vec![("lake".to_owned(), "embedded".to_owned())],
            },
        )
        .expect_err("neither is there");
        assert_eq!(
            error,
            "--set: the package has no parameter `date`\nhint: did you mean `data`?\n\n\
             --connection: the package has no connection `lake`\n\
             hint: the connections here are `warehouse`"
        );
    }

    #[test]
    fn secrets_do_not_leak() {
        let package = resolve(
            &TEXT.replace("etl:${env:PASSWORD}", "etl:literal"),
            &Overrides::default(),
        )
        .expect("it is right");
        let other = resolve(TEXT, &Overrides::default()).expect("it is right");
        for package in [package, other] {
            let shown = format!(
                "{package:?} {} {}",
                serde_json::to_string(&package).expect("it is text"),
                package.to_toml()
            );
            for secret in ["literal", "s/e@c", "s%2Fe"] {
                assert!(!shown.contains(secret), "{secret} in {shown}");
            }
            // What a variable holds is not shown, whatever it means.
            assert!(!shown.contains("dw:5433"), "{shown}");
            assert!(shown.contains("@${env:HOST}/tpch"), "{shown}");
        }
    }

    #[test]
    fn a_message_about_a_url_does_not_show_its_password() {
        let error = resolve(
            &TEXT
                .replace("etl:${env:PASSWORD}", "etl:literal")
                .replace("/{data}'", "/{datta}'"),
            &Overrides::default(),
        )
        .expect_err("datta is not there");
        assert!(
            error.contains("`data`") && !error.contains("literal"),
            "{error}"
        );
    }

    #[test]
    fn escaped_braces_are_given_back() {
        let text = "a{b}}{{c";
        let expanded = expand(
            &escape_braces(text),
            TextKind::Other,
            &values(&BTreeMap::new()),
            "x",
        );
        assert_eq!(expanded.as_deref(), Ok(text));
    }

    #[test]
    fn a_resolved_package_can_be_written_and_resolved_again() {
        let text = "name = 'p'\n[connections.c]\nurl = 'embedded'\n[[flow]]\n\
            files = '{{x}}-{{{{y}}}}.tbl'\ntable = 't{{'\npost_sql = \"SELECT '{{{{1}}}}'\"\n";
        let package = resolve(text, &Overrides::default()).expect("it is right");
        let mut escaped = package.clone();
        escaped.escape();
        let again = resolve(&escaped.to_toml(), &Overrides::default()).expect("it is right");
        assert_eq!(again.flows, package.flows);
        escaped.unescape();
        assert_eq!(escaped.flows, package.flows);
        assert_eq!(escape_but_variables("{a}${env:B}{c}"), "{{a}}${env:B}{{c}}");
    }

    #[test]
    fn what_is_wrong_in_braces_is_told() {
        let parameters = BTreeMap::from([("data".to_owned(), "v".to_owned())]);
        for (text, expected) in [
            ("{data", "`{` without `}` in `{data`"),
            ("{dta}", "unknown parameter `{dta}` in `{dta}`"),
            ("${env:X}", "`${env:X}` cannot stand in `table`"),
        ] {
            let kind = expand(text, TextKind::Other, &values(&parameters), "flow[0].table")
                .expect_err(text);
            assert_eq!(kind.to_string(), expected);
        }
        let kind = expand("{env:X}", TextKind::Files, &values(&parameters), "").expect_err("no $");
        assert_eq!(
            kind.mend().as_deref(),
            Some("did you mean `${env:X}`?; `{{` stands for a brace")
        );
    }
}
