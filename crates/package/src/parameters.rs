//! Inserts the values: parameters for `{name}`, environment variables for `${env:NAME}`, and the replacements of
//! `--set` and `--connection`.

use inrush_rows::suggest::suggestion;

use super::Package;
use super::braces::{BraceValues, Environment, escape_but_variables, expand, written};
use super::connection::Connection;
use super::error::{PackageError, PackageFault, PackageFaultKind};
use super::place::Place;
use super::texts::TextKind;
use super::url_passwords::note_secrets_of_sql;

/// The settings of a package that a command's arguments replace.
#[derive(Clone, Default)]
pub struct Overrides {
    /// `--set name=value`; if a name occurs twice, the last one counts.
    pub parameters: Vec<(String, String)>,
    /// `--connection name=url`.
    pub connections: Vec<(String, String)>,
}

impl Package {
    /// The package with every parameter, environment variable and override inserted.
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
            connection.note_options_written();
        }
        package.each_text(
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

    /// Replaces the URL of a connection, as `--connection` does, in a package that is already resolved. Environment
    /// variables are inserted into the new URL only.
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
    /// Inserts environment variables into the URLs and options of a resolved package: the package that a run stores has
    /// their names instead of their values.
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
        self.connections
            .values_mut()
            .for_each(Connection::note_options_written);
        self.each_text(&mut |path, _, text| {
            if !path.starts_with("connections.") {
                *text = change(text);
            }
        });
    }
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

#[cfg(test)]
mod tests {
    use std::env::VarError;
    use std::path::Path;

    use super::*;
    use crate::{BoundValue, Bounds, ColumnSpec, OneOrMany};

    const TEXT: &str = "name = 'p'\n[parameters]\ndata = 'tpch'\n\
        [connections.warehouse]\nurl = 'postgresql://etl:${env:PASSWORD}@${env:HOST}/{data}'\n\
        [[flow]]\nfiles = '{data}/${env:FOLDER}/{{x}}.tbl'\ntable = '{data}.t'\n\
        partition_by = 'k'\nbounds = ['{data}', 'z']\n\
        columns = ['k {data}', { name = '{data}', type = '{data}' }]\n";

    fn environment(name: &str) -> Result<String, VarError> {
        match name {
            "PASSWORD" => Ok("s/e@c?r".to_owned()),
            "HOST" => Ok("dw:5433".to_owned()),
            "FOLDER" => Ok("a b".to_owned()),
            "BYTES" => Err(VarError::NotUnicode("verify-full".into())),
            _ => Err(VarError::NotPresent),
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
    fn a_variable_that_is_not_text_is_named_and_not_shown() {
        let overrides = Overrides {
            connections: vec![("warehouse".to_owned(), "${env:BYTES}".to_owned())],
            ..Overrides::default()
        };
        assert_eq!(
            resolve(TEXT, &overrides).expect_err("no text"),
            "--connection warehouse: the environment variable `BYTES` is not UTF-8 text\n\
             hint: set `BYTES` to text in UTF-8"
        );
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
            // The value of a variable is not shown.
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
    }
}
