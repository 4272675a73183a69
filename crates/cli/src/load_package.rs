//! `inrush load` turned into a package.

use std::collections::BTreeMap;

use inrush::package::{ColumnSpec, Flow, Package, PackageOrigin, escape_braces, split_columns};

use crate::arguments::{LoadArguments, parse_format};
use crate::errors::CommandError;
use crate::target_package;

/// The package with the settings of the arguments, not yet resolved or checked.
pub fn package_of(arguments: &LoadArguments) -> Result<Package, CommandError> {
    let format = match &arguments.format {
        Some(text) => parse_format(text).map_err(|what| CommandError::Usage {
            what: format!("--format: {what}"),
            hint: "write a preset and the settings that differ from it: csv,delimiter=;,no_header"
                .to_owned(),
        })?,
        None => Default::default(),
    };
    let files: Vec<String> = arguments
        .files
        .iter()
        .map(|file| escape_braces(file))
        .collect();
    let mut flow = Flow {
        format,
        columns: match &arguments.columns {
            Some(text) => split_columns(text)
                .iter()
                .map(|column| ColumnSpec::Short(escape_braces(column)))
                .collect(),
            None => Vec::new(),
        },
        ..Flow::new(files.into(), &escape_braces(&arguments.table))
    };
    target_package::set_flow(&mut flow, &arguments.target);
    Ok(Package {
        // A stopped run is found in the ledger by this name and the target.
        name: format!("load_{}", escape_braces(&arguments.table)),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([target_package::connection(&arguments.to)]),
        run: target_package::run_settings(&arguments.target, &arguments.run),
        flows: vec![flow],
        origin: PackageOrigin::of_arguments([
            ("name", "--table"),
            ("connections.target.url", "--to"),
            ("run.streams", "--streams"),
            ("run.verify", "--verify"),
            ("run.unchecked_types", "--unchecked-types"),
            ("flow[0].files", "FILES"),
            ("flow[0].format", "--format"),
            ("flow[0].columns", "--columns"),
            ("flow[0].table", "--table"),
            ("flow[0].partition_by", "--partition-by"),
            ("flow[0].bounds", "--bounds"),
            ("flow[0].routing", "--routing"),
            ("flow[0].rejects", "--max-rejects"),
        ]),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;
    use inrush::package::{BoundValue, Bounds, Mode};

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn package(words: &[&str]) -> Result<Package, CommandError> {
        let words = ["inrush", "load"].iter().chain(words);
        match Arguments::try_parse_from(words)
            .expect("they are right")
            .command
        {
            Command::Load(arguments) => package_of(&arguments),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_become_a_package() {
        let package = package(&[
            "a{1}.csv",
            "b.csv",
            "--to",
            "postgresql://etl@dw/x",
            "--table",
            "s.\"T t\"",
            "--columns",
            "id int not null, \"a,b\" numeric(3,1)",
            "--partition-by",
            "id",
            "--bounds",
            "1, 10,100",
            "--mode",
            "append",
            "--streams",
            "3",
            "--max-rejects",
            "7",
            "--format",
            "csv,delimiter=;",
        ])
        .expect("it is right");
        let resolved = package
            .resolve(&Default::default(), &|_| {
                Err(std::env::VarError::NotPresent)
            })
            .expect("it is right");
        resolved.check().expect("it is right");
        let flow = &resolved.flows[0];
        assert_eq!(flow.files.patterns(), ["a{1}.csv", "b.csv"]);
        assert_eq!(flow.columns.len(), 2);
        assert_eq!(
            flow.bounds,
            Bounds::List([1, 10, 100].map(BoundValue::Integer).to_vec())
        );
        assert_eq!((flow.mode, flow.rejects.rows_max), (Mode::Append, Some(7)));
        assert_eq!(resolved.run.streams, Some(3));
        // A package that is saved and read again has the same settings.
        let written = package.to_toml();
        let read = Package::parse(&written, Path::new("p.toml")).expect(&written);
        assert_eq!(read, package);
    }

    #[test]
    fn mistakes_name_their_argument() {
        let package = package(&[
            "a.csv",
            "--to",
            "mysql://dw/x",
            "--table",
            "a;b",
            "--columns",
            "id int; drop",
            "--partition-by",
            "id",
            "--bounds",
            "3,2",
        ])
        .expect("that is found later");
        let error = package
            .resolve(&Default::default(), &|_| {
                Err(std::env::VarError::NotPresent)
            })
            .and_then(|package| package.check())
            .expect_err("nothing is right")
            .to_string();
        for argument in ["--to: ", "--table: ", "--columns: ", "--bounds: "] {
            assert!(error.contains(argument), "{argument} is not in {error}");
        }
    }
}
