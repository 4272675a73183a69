//! The package of the workload: one flow for each table, one file for each part.

use std::collections::BTreeMap;
use std::path::Path;

use inrush::package::{
    ColumnSpec, Connection, Flow, Format, LoadOrder, OneOrMany, Origin, Package, Preset,
    RunSettings, Verify, escape_braces,
};

use super::data::{DataSet, TableFiles};
use crate::arguments::{EtlwrOrder, MeasureArguments, VerifyLevel};
use crate::package_file::from_here;

/// Its name, by which the ledger finds a stopped run again.
pub const NAME: &str = "etlwr";

/// The package that loads these files.
pub fn package(set: &DataSet, arguments: &MeasureArguments) -> Package {
    package_of(&set.tables, arguments)
}

/// The package of these tables, whose files may still have to be made.
pub fn package_of(tables: &[TableFiles], arguments: &MeasureArguments) -> Package {
    Package {
        name: NAME.to_owned(),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([(
            "target".to_owned(),
            Connection::new(&from_here(&arguments.to)),
        )]),
        run: RunSettings {
            streams: arguments.streams,
            order: match arguments.order {
                EtlwrOrder::Sequence => LoadOrder::Package,
                EtlwrOrder::LargestFirst => LoadOrder::LargestFirst,
            },
            verify: match arguments.verify {
                VerifyLevel::Count => Verify::Count,
                VerifyLevel::Sums => Verify::Sums,
                VerifyLevel::Rows => Verify::Rows,
            },
            analyze: arguments.analyze,
            disk_check: !arguments.no_disk_check,
            ..RunSettings::default()
        },
        flows: tables.iter().map(flow).collect(),
        origin: Origin::of_arguments([
            ("connections.target.url", "--to"),
            ("run.streams", "--streams"),
            ("run.verify", "--verify"),
        ]),
    }
}

fn flow(files: &TableFiles) -> Flow {
    let table = files.table;
    let columns = table.columns.iter();
    Flow {
        format: Format {
            preset: Some(Preset::Tbl),
            ..Format::default()
        },
        columns: columns
            .map(|(name, kind)| ColumnSpec::Short(format!("{name} {kind}")))
            .collect(),
        partition_by: table.partition_by.map(str::to_owned),
        ..Flow::new(
            OneOrMany::Many(files.files.values().map(|file| literal(file)).collect()),
            table.name,
        )
    }
}

/// A path as a pattern that means nothing else.
fn literal(path: &Path) -> String {
    let mut pattern = String::new();
    for character in path.to_string_lossy().chars() {
        match character {
            '*' | '?' | '[' => {
                pattern.push('[');
                pattern.push(character);
                pattern.push(']');
            }
            other => pattern.push(other),
        }
    }
    escape_braces(&pattern)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, BenchCommand, Command, EtlwrCommand};
    use crate::bench::etlwr::data::Manifest;
    use inrush_workloads::tpch;

    fn measure(words: &[&str]) -> MeasureArguments {
        let words = ["inrush", "bench", "etlwr", "run", "--data", "x"]
            .iter()
            .chain(words);
        let Command::Bench(bench) = Arguments::try_parse_from(words)
            .expect("they are right")
            .command
        else {
            panic!("it is bench")
        };
        let BenchCommand::Etlwr(etlwr) = bench.command;
        match etlwr.command {
            Some(EtlwrCommand::Run(run)) => run.measure,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_a_package_that_loads_the_files() {
        let files = |name: &str| TableFiles {
            table: tpch::table(name).expect("it is one"),
            files: [1, 2]
                .map(|part| (part, format!("/x{{y}}/[z]/{name}.tbl.{part}").into()))
                .into(),
            bytes: 1,
        };
        let set = DataSet {
            manifest: Manifest {
                scale: 1.0,
                parts: 2,
                ten_percent: false,
            },
            folders: vec!["/x".into()],
            tables: vec![files("customer"), files("lineitem")],
        };
        let package = package(&set, &measure(&["--streams", "3"]));
        let resolved = package
            .resolve(&Default::default(), &|_| None)
            .expect("it is right");
        resolved.check().expect("it is right");
        assert_eq!(resolved.run.order, LoadOrder::Package);
        assert_eq!(
            (resolved.run.streams, resolved.run.analyze),
            (Some(3), false)
        );
        assert_eq!(
            resolved.flows[1].files.patterns()[0],
            "/x{y}/[[]z]/lineitem.tbl.1"
        );
        let written = package.to_toml();
        let read = Package::parse(&written, Path::new("p.toml")).expect(&written);
        assert_eq!(read, package);
        let other = super::package(&set, &measure(&["--order", "largest-first"]));
        assert_eq!(other.run.order, LoadOrder::LargestFirst);
    }
}
