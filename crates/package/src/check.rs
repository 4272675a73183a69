//! Checks of a package that need no database: settings that must go together, names, numbers.

use std::collections::HashMap;
use std::path::Path;

use inrush_destination::address::DestinationKind;
use inrush_rows::suggest::suggestion;

use super::check_direct_writes::check_direct_writes;
use super::check_flow::check_flow;
use super::check_names::{check_names, fits_postgres};
use super::error::{PackageError, PackageFaultKind};
use super::faults::Faults;
use super::flow_source::check_flow_source;
use super::local_path::not_local;
use super::lookup::check_lookup_connections;
use super::name::{NameFault, TableName, valid};
use super::open_lineage::check_open_lineage;
use super::place::Place;
use super::schema::range;
use super::url_passwords::redacted_url;
use super::{Connection, Flow, Package};

impl Package {
    /// Checks a resolved package for all that can be seen without a database.
    pub fn check(&self) -> Result<(), PackageError> {
        let mut faults = Faults::of(self);
        if self.name.trim().is_empty() {
            faults.value(
                "name",
                &self.name,
                "the ledger finds a run by the name of its package",
                "write a name",
            );
        }
        check_parameters(self, &mut faults);
        check_connections(self, &mut faults);
        check_run(self, &mut faults);
        if self.flows.is_empty() {
            faults.add("flow", PackageFaultKind::NoFlow);
        }
        for (index, flow) in self.flows.iter().enumerate() {
            check_flow(index, flow, &mut faults);
            check_flow_source(self, index, flow, &mut faults);
            check_lookup_connections(self, index, flow, &mut faults);
        }
        if self.loads_into_postgres() {
            check_direct_writes(self, &mut faults);
        }
        check_flow_connections(self, &mut faults);
        check_flow_names(self, &mut faults);
        check_names(self, &mut faults);
        check_flow_tables(self, &mut faults);
        faults.into_result()
    }

    /// The connection that all flows load into, because one transaction switches them in.
    pub fn single_connection(&self) -> Result<&Connection, PackageError> {
        let mut first: Option<&str> = None;
        for (index, flow) in self.flows.iter().enumerate() {
            let fault = |kind| {
                PackageError::new(
                    self.origin.place(&format!("flow[{index}].connection")),
                    kind,
                )
            };
            let name = self.connection_of(flow).map_err(fault)?;
            match first {
                Some(first) if first != name => {
                    return Err(fault(PackageFaultKind::ConnectionsDiffer {
                        first: first.to_owned(),
                        second: name.to_owned(),
                    }));
                }
                _ => first = Some(name),
            }
        }
        match first {
            Some(name) => Ok(&self.connections[name]),
            None => Err(PackageError::new(
                self.origin.place("flow"),
                PackageFaultKind::NoFlow,
            )),
        }
    }

    /// The connection of a flow: the one that it names, or the package's only one.
    pub fn connection_of<'a>(&'a self, flow: &'a Flow) -> Result<&'a str, PackageFaultKind> {
        match &flow.connection {
            Some(name) if self.connections.contains_key(name) => Ok(name),
            Some(name) => Err(self.unknown_connection(name)),
            None => {
                let mut names = self.connections.keys();
                match (names.next(), names.next()) {
                    (Some(only), None) => return Ok(only),
                    (None, _) => return Err(PackageFaultKind::NoConnection),
                    _ => {}
                }
                // Rows do not go to connections that are only read.
                let is_read = |name: &str| {
                    let mut sources = self.flows.iter().filter_map(|flow| flow.source.as_ref());
                    sources.any(|source| source.connection == name)
                };
                let is_looked_up = |name: &str| {
                    let mut steps = self.flows.iter().flat_map(|flow| &flow.steps);
                    steps.any(|step| {
                        let lookup = step.lookup.as_ref();
                        lookup.is_some_and(|lookup| lookup.connection.as_deref() == Some(name))
                    })
                };
                let others: Vec<&String> = self
                    .connections
                    .keys()
                    .filter(|name| !is_read(name))
                    .collect();
                let mut not_looked_up = others.iter().filter(|name| !is_looked_up(name));
                match (
                    others.as_slice(),
                    not_looked_up.next(),
                    not_looked_up.next(),
                ) {
                    ([only], _, _) => Ok(only),
                    (_, Some(only), None) => Ok(only),
                    _ => Err(PackageFaultKind::ConnectionNotNamed {
                        known: self.connections.keys().cloned().collect(),
                    }),
                }
            }
        }
    }

    /// The fault of a name that no connection has.
    pub(super) fn unknown_connection(&self, name: &str) -> PackageFaultKind {
        PackageFaultKind::UnknownConnection {
            name: name.to_owned(),
            suggestion: suggestion(name, self.connections.keys().map(String::as_str)),
            known: self.connections.keys().cloned().collect(),
        }
    }

    /// The place of a setting, for messages about it: `flow[0].files`.
    pub fn place(&self, path: &str) -> Place {
        self.origin.place(path)
    }
}

fn check_parameters(package: &Package, faults: &mut Faults<'_>) {
    for name in package.parameters.keys() {
        let is_word = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !is_word {
            faults.value(
                &format!("parameters.{name}"),
                name,
                "it would be ambiguous in a text",
                "a parameter's name has letters, digits, _ and -",
            );
        }
    }
}

/// The kinds of destinations.
pub const URLS: &str = "write \"postgresql://user@host/database\", \"embedded\", \"embedded:FOLDER\", \"FILE.duckdb\", \
                        \"parquet:FOLDER\", \"adbc:DRIVER\" or \"mssql://user@host/database\"";

fn check_connections(package: &Package, faults: &mut Faults<'_>) {
    if package.connections.is_empty() {
        faults.add("connections", PackageFaultKind::NoConnection);
    }
    for (name, connection) in &package.connections {
        let url = connection.url.trim();
        let path = format!("connections.{name}.url");
        let elsewhere = match url.strip_prefix("embedded:") {
            Some(folder) => not_local(folder.trim_start()),
            None => DestinationKind::of(url)
                .and_then(|kind| kind.fault(package.origin.folder().unwrap_or(Path::new("")))),
        };
        if let Some((cause, mend)) = elsewhere {
            faults.value(&path, &connection.redacted_url(), &cause, &mend);
            continue;
        }
        let of_options = DestinationKind::of(url);
        if let Some((option, cause, mend)) = of_options
            .as_ref()
            .and_then(|kind| kind.option_fault(&connection.options))
        {
            let path = format!("connections.{name}.options.{option}");
            let written = connection.options_written.get(option);
            let shown = written.unwrap_or(&connection.options[option]);
            faults.value(&path, &redacted_url(shown), &cause, &mend);
            continue;
        }
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        let cause = match scheme {
            Some("postgresql" | "postgres") => continue,
            _ if DestinationKind::of(url).is_some() => continue,
            None if url == "embedded" => continue,
            None if url
                .strip_prefix("embedded:")
                .is_some_and(|folder| !folder.is_empty()) =>
            {
                continue;
            }
            Some(scheme) if inrush_destination::address::scheme(url) == Some(scheme) => {
                format!("Inrush has no destination for `{scheme}`")
            }
            Some(_) => "it is not a URL".to_owned(),
            None if url.is_empty() => "it is empty".to_owned(),
            None => "it is not a URL".to_owned(),
        };
        faults.value(&path, &connection.redacted_url(), &cause, URLS);
    }
}

fn check_run(package: &Package, faults: &mut Faults<'_>) {
    let run = &package.run;
    // A number that does not fit is past every limit.
    let wide = |value: Option<u64>| value.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    let numbers = [
        ("rate_bytes_max", wide(run.rate_bytes_max)),
        ("replica_lag_bytes_max", wide(run.replica_lag_bytes_max)),
        ("slot_bytes_max", wide(run.slot_bytes_max)),
        ("streams", run.streams.map(i64::from)),
        ("chunk_bytes", Some(i64::from(run.chunk_bytes))),
        ("batch_rows", Some(i64::from(run.batch_rows))),
        ("lock_timeout_ms", Some(i64::from(run.lock_timeout_ms))),
    ];
    for (setting, value) in numbers {
        let (minimum, maximum) = range("RunSettings", setting);
        if let Some(value) = value.filter(|value| !(minimum..=maximum).contains(value)) {
            faults.add(
                &format!("run.{setting}"),
                PackageFaultKind::OutOfRange {
                    setting: setting.to_owned(),
                    value: value.to_string(),
                    minimum: minimum.to_string(),
                    maximum: maximum.to_string(),
                },
            );
        }
    }
    if let Some(open_lineage) = &run.open_lineage {
        check_open_lineage(open_lineage, faults);
    }
    for (path, schema) in [
        ("run.ledger_schema", &run.ledger_schema),
        ("run.staging_schema", &run.staging_schema),
    ] {
        if let Err(NameFault { cause, mend }) = valid(schema) {
            faults.value(path, schema, &cause, &mend);
        } else if package.loads_into_postgres()
            && let Err(NameFault { cause, mend }) = fits_postgres(schema)
        {
            faults.value(path, schema, &cause, &mend);
        } else if schema.starts_with("pg_") && package.loads_into_postgres() {
            faults.value(
                path,
                schema,
                "names that start with pg_ are reserved by PostgreSQL",
                "take another name",
            );
        }
    }
}

fn check_flow_connections(package: &Package, faults: &mut Faults<'_>) {
    let mut first: Option<&str> = None;
    for (index, flow) in package.flows.iter().enumerate() {
        let path = format!("flow[{index}].connection");
        match (package.connection_of(flow), first) {
            // A package without any connection is already reported.
            (Err(PackageFaultKind::NoConnection), _) => {}
            (Err(kind), _) => faults.add(&path, kind),
            (Ok(name), None) => first = Some(name),
            (Ok(name), Some(first)) if name != first => faults.add(
                &path,
                PackageFaultKind::ConnectionsDiffer {
                    first: first.to_owned(),
                    second: name.to_owned(),
                },
            ),
            (Ok(_), Some(_)) => {}
        }
    }
}

fn check_flow_names(package: &Package, faults: &mut Faults<'_>) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, flow) in package.flows.iter().enumerate() {
        let Some(name) = flow.name.as_deref() else {
            continue;
        };
        let path = format!("flow[{index}].name");
        if name.trim().is_empty() {
            faults.value(&path, name, "it is empty", "write a name, or leave it out");
        }
        match seen.get(name) {
            Some(first) => {
                let kind = PackageFaultKind::Duplicate {
                    what: "a flow called",
                    name: name.to_owned(),
                    first_line: faults.line(&format!("flow[{first}].name")),
                    mend: "give each flow its own name",
                };
                faults.add(&path, kind);
            }
            None => {
                seen.insert(name, index);
            }
        }
    }
}

fn check_flow_tables(package: &Package, faults: &mut Faults<'_>) {
    let mut seen: HashMap<TableName, usize> = HashMap::new();
    for (index, flow) in package.flows.iter().enumerate() {
        // A name that cannot be read is already reported.
        let Ok(table) = TableName::parse(&flow.table) else {
            continue;
        };
        match seen.get(&table) {
            Some(first) => {
                let kind = PackageFaultKind::Duplicate {
                    what: "a flow into the table",
                    name: flow.table.clone(),
                    first_line: faults.line(&format!("flow[{first}].table")),
                    mend: match flow.output_number {
                        Some(_) => "write one output for the table, and join the conditions by OR",
                        None => {
                            "put all files of a table into one flow: files = [\"...\", \"...\"]"
                        }
                    },
                };
                faults.add(&format!("flow[{index}].table"), kind);
            }
            None => {
                seen.insert(table, index);
            }
        }
    }
}
