//! `inrush copy` turned into a package.

use std::collections::BTreeMap;

use inrush::package::{
    Connection, Flow, FlowSource, OneOrMany, Package, PackageOrigin, TableName, UnchangedBy,
    escape_braces, quoted_where_needed,
};

use crate::arguments::CopyArguments;
use crate::errors::CommandError;
use crate::target_package::{self, TARGET};

/// The name of the connection that is read.
pub const SOURCE: &str = "source";

/// The package with the settings of the arguments, not yet resolved or checked. `tables` are the tables that the
/// arguments name, with the found tables in place of patterns.
pub fn package_of(arguments: &CopyArguments, tables: &[String]) -> Result<Package, CommandError> {
    refuse_what_needs_one_table(arguments, tables)?;
    let sources = sources(arguments, tables)?;
    let mut origin = vec![
        ("name".to_owned(), "--table"),
        (format!("connections.{SOURCE}.url"), "--from"),
        (format!("connections.{SOURCE}.options"), "--from-option"),
        (format!("connections.{TARGET}.url"), "--to"),
        ("run.streams".to_owned(), "--streams"),
        ("run.verify".to_owned(), "--verify"),
        ("run.unchecked_types".to_owned(), "--unchecked-types"),
    ];
    let mut flows = Vec::with_capacity(sources.len());
    for (index, (source, table)) in sources.into_iter().enumerate() {
        let named_by = match (&arguments.into, &arguments.into_schema) {
            (Some(_), _) => "--into",
            (None, Some(_)) => "--into-schema",
            (None, None) => "--table",
        };
        for (setting, argument) in [
            ("source.connection", "--from"),
            ("source.table", "--table"),
            ("source.query", "--query"),
            ("source.columns", "--columns"),
            ("source.where", "--where"),
            ("source.split_by", "--split-by"),
            ("source.max_connections", "--source-connections"),
            ("source.indexes", "--with-indexes"),
            ("source.partitions", "--with-partitions"),
            ("source.rate_bytes_max", "--source-max-rate"),
            ("table", named_by),
            ("partition_by", "--partition-by"),
            ("bounds", "--bounds"),
            ("routing", "--routing"),
            ("rejects", "--max-rejects"),
        ] {
            origin.push((format!("flow[{index}].{setting}"), argument));
        }
        let mut flow = Flow {
            connection: Some(TARGET.to_owned()),
            source: Some(source),
            ..Flow::new(OneOrMany::default(), &escape_braces(&table))
        };
        target_package::set_flow(&mut flow, &arguments.target);
        flows.push(flow);
    }
    let first = flows.first().map_or("", |flow| flow.table.as_str());
    Ok(Package {
        // A stopped run is found in the ledger by this name and the targets.
        name: match flows.len() {
            0 | 1 => format!("copy_{first}"),
            more => format!("copy_{first}_and_{}_more", more - 1),
        },
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([
            (SOURCE.to_owned(), source_connection(arguments)),
            target_package::connection(&arguments.to),
        ]),
        run: target_package::run_settings(&arguments.target, &arguments.run),
        flows,
        origin: PackageOrigin::of_arguments(origin),
    })
}

/// The connection that is read.
fn source_connection(arguments: &CopyArguments) -> Connection {
    Connection {
        options: arguments.from_option.iter().cloned().collect(),
        ..Connection::new(&arguments.from)
    }
}

/// What is read, and the name of its target.
fn sources(
    arguments: &CopyArguments,
    tables: &[String],
) -> Result<Vec<(FlowSource, String)>, CommandError> {
    let escaped = |text: &Option<String>| text.as_deref().map(escape_braces);
    let columns = arguments.columns.iter().flat_map(|text| text.split(','));
    let source = FlowSource {
        connection: SOURCE.to_owned(),
        query: escaped(&arguments.query),
        columns: columns.map(|name| escape_braces(name.trim())).collect(),
        filter: escaped(&arguments.filter),
        split_by: escaped(&arguments.split_by),
        split_nulls: arguments.split_nulls,
        max_connections: arguments.limits.source_connections,
        rate_bytes_max: arguments.limits.source_max_rate,
        stable: arguments.stable,
        unchanged_by: arguments.unchanged_by_sums.then_some(UnchangedBy::Sums),
        indexes: arguments.with_indexes,
        partitions: arguments.with_partitions,
        ..FlowSource::default()
    };
    let into = arguments.into.as_ref();
    if arguments.query.is_some() {
        let table = into.cloned().unwrap_or_default();
        return Ok(vec![(source, table)]);
    }
    let of_table = |table: &String| {
        let source = FlowSource {
            table: Some(escape_braces(table)),
            ..source.clone()
        };
        let target = match (into, &arguments.into_schema) {
            (Some(into), _) => into.clone(),
            (None, Some(schema)) => in_schema(schema, table)?,
            (None, None) => table.clone(),
        };
        Ok((source, target))
    };
    tables.iter().map(of_table).collect()
}

/// The table of this name in another schema.
fn in_schema(schema: &str, table: &str) -> Result<String, CommandError> {
    let named = TableName::parse(table).map_err(|fault| CommandError::Usage {
        what: format!("--table: {fault}"),
        hint: "write TABLE or SCHEMA.TABLE, unusual names in double quotes".to_owned(),
    })?;
    Ok(format!("{schema}.{}", quoted_where_needed(&named.name)))
}

/// Refuses arguments for one table (its target, columns or partitions) if several tables are copied.
fn refuse_what_needs_one_table(
    arguments: &CopyArguments,
    tables: &[String],
) -> Result<(), CommandError> {
    if tables.len() < 2 {
        return Ok(());
    }
    let needs_one = [
        ("--into", arguments.into.is_some()),
        ("--columns", arguments.columns.is_some()),
        ("--partition-by", arguments.target.partition_by.is_some()),
    ];
    match needs_one.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((argument, _)) => Err(CommandError::Usage {
            what: format!(
                "{argument} is for one table, and {} are copied: {}",
                tables.len(),
                tables.join(", ")
            ),
            hint: "copy this table by a command of its own, or write a package".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn package(words: &[&str]) -> Result<Package, CommandError> {
        let words = ["inrush", "copy"].iter().chain(words);
        match Arguments::try_parse_from(words)
            .expect("they are right")
            .command
        {
            Command::Copy(arguments) => package_of(&arguments, &arguments.table),
            other => panic!("{other:?}"),
        }
    }

    fn check(package: &Package) -> Result<Package, String> {
        let resolved = package
            .resolve(&Default::default(), &|_| {
                Err(std::env::VarError::NotPresent)
            })
            .map_err(|error| error.to_string())?;
        resolved.check().map_err(|error| error.to_string())?;
        Ok(resolved)
    }

    const BOTH: [&str; 4] = ["--from", "postgresql://crm/crm", "--to", "x.duckdb"];

    #[test]
    fn tables_become_flows() {
        let words = [
            "--table",
            "sales.orders",
            "--table",
            "s.\"T {1}\"",
            "--where",
            "id > 1",
        ];
        let package = package(&[&BOTH[..], &words].concat()).expect("it is right");
        let resolved = check(&package).expect("it is right");
        let tables = resolved.flows.iter().map(|flow| flow.table.as_str());
        assert_eq!(tables.collect::<Vec<_>>(), ["sales.orders", "s.\"T {1}\""]);
        for flow in &resolved.flows {
            let source = flow.source.as_ref().expect("a source");
            assert_eq!(source.table.as_ref(), Some(&flow.table));
            assert_eq!(source.filter.as_deref(), Some("id > 1"));
        }
        let written = package.to_toml();
        let read = Package::parse(&written, Path::new("p.toml")).expect(&written);
        assert_eq!(read, package);
    }

    #[test]
    fn tables_have_the_schema_that_is_asked_for() {
        let words = [
            "--table",
            "sales.\"A b\"",
            "--table",
            "lines",
            "--into-schema",
            "main",
        ];
        let package = package(&[&BOTH[..], &words].concat()).expect("it is right");
        let resolved = check(&package).expect("it is right");
        let tables = resolved.flows.iter().map(|flow| flow.table.as_str());
        assert_eq!(tables.collect::<Vec<_>>(), ["main.\"A b\"", "main.lines"]);
    }

    #[test]
    fn a_query_has_a_target() {
        let words = ["--query", "SELECT 1 AS a", "--into", "t", "--split-by", "a"];
        let package = package(&[&BOTH[..], &words].concat()).expect("it is right");
        let resolved = check(&package).expect("it is right");
        assert_eq!(resolved.flows[0].table, "t");
        let missing = ["inrush", "copy"].iter().chain(&BOTH).chain(&words[..2]);
        assert!(Arguments::try_parse_from(missing).is_err());
    }

    #[test]
    fn mistakes_name_their_argument() {
        let two = ["--table", "a", "--table", "b", "--into", "c"];
        let error = package(&[&BOTH[..], &two].concat()).expect_err("two tables, one target");
        assert!(error.to_string().contains("--into"), "{error}");
        let odd = package(&[&BOTH[..], &["--table", "a;b"]].concat()).expect("found later");
        let error = check(&odd).expect_err("no name of a table");
        assert!(error.contains("--table: "), "{error}");
        let from = [
            "--from",
            "parquet:folder",
            "--to",
            "y.duckdb",
            "--table",
            "a",
        ];
        let error = check(&package(&from).expect("found later")).expect_err("no database");
        assert!(error.contains("--from: "), "{error}");
    }
}
