//! The package of the workload: one flow for each table, one file for each part.

use std::collections::BTreeMap;
use std::path::Path;

use inrush::package::{
    ColumnSpec, Connection, Flow, Format, LoadOrder, OneOrMany, Package, PackageOrigin, Preset,
    RunSettings, escape_braces,
};

use super::data::TableFiles;
use super::settings::{Order, Settings};
use super::transforms::References;

/// The name of the package. The ledger finds a stopped run again by this name.
pub const NAME: &str = "etlwr";

/// The package that loads these tables, whose files need not exist yet. It has the number of streams of the settings; a
/// sweep sets the number for each load.
/// With `references`, the rows of each table go through steps.
pub fn package(
    tables: &[TableFiles],
    settings: &Settings,
    references: Option<&References>,
) -> Package {
    Package {
        name: NAME.to_owned(),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([("target".to_owned(), Connection::new(&settings.url))]),
        run: RunSettings {
            streams: settings.streams,
            order: match settings.order {
                Order::Sequence => LoadOrder::Package,
                Order::LargestFirst => LoadOrder::LargestFirst,
            },
            verify: settings.verify,
            analyze: Some(settings.analyze),
            disk_check: settings.disk_check,
            ..RunSettings::default()
        },
        flows: tables
            .iter()
            .map(|files| flow(files, settings.columnstore().is_none(), references))
            .collect(),
        origin: PackageOrigin::of_arguments([
            ("connections.target.url", "--to"),
            ("run.streams", "--streams"),
            ("run.verify", "--verify"),
        ]),
    }
}

/// The flow of a table. `is_partitioned`: each part becomes a partition; a columnstore on this machine has no range
/// partitions.
fn flow(files: &TableFiles, is_partitioned: bool, references: Option<&References>) -> Flow {
    let table = files.table;
    let columns = table.columns.iter();
    let columns = columns.map(|(name, kind)| ColumnSpec::Short(format!("{name} {kind}")));
    let lineage = references.map(|_| References::lineage_columns(table));
    Flow {
        format: Format {
            preset: Some(Preset::Tbl),
            ..Format::default()
        },
        columns: columns.chain(lineage.into_iter().flatten()).collect(),
        steps: references.map_or_else(Vec::new, |references| references.steps(table)),
        partition_by: table
            .partition_by
            .filter(|_| is_partitioned)
            .map(str::to_owned),
        ..Flow::new(
            OneOrMany::Many(files.files.values().map(|file| literal(file)).collect()),
            table.name,
        )
    }
}

/// A pattern that matches only this path.
pub(super) fn literal(path: &Path) -> String {
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
    use super::*;
    use crate::etlwr::settings::tests::settings;
    use crate::tpch;

    #[test]
    fn it_is_a_package_that_loads_the_files() {
        let files = |name: &str| TableFiles {
            table: tpch::table(name).expect("it is one"),
            files: [1, 2]
                .map(|part| (part, format!("/x{{y}}/[z]/{name}.tbl.{part}").into()))
                .into(),
            bytes: 1,
        };
        let tables = [files("customer"), files("lineitem")];
        let three = Settings {
            streams: Some(3),
            ..settings()
        };
        let package = package(&tables, &three, None);
        let resolved = package
            .resolve(&Default::default(), &|_| {
                Err(std::env::VarError::NotPresent)
            })
            .expect("it is right");
        resolved.check().expect("it is right");
        assert_eq!(resolved.run.order, LoadOrder::Package);
        assert_eq!(
            (resolved.run.streams, resolved.run.analyze),
            (Some(3), Some(false))
        );
        assert_eq!(
            resolved.flows[1].files.patterns()[0],
            "/x{y}/[[]z]/lineitem.tbl.1"
        );
        let written = package.to_toml();
        let read = Package::parse(&written, Path::new("p.toml")).expect(&written);
        assert_eq!(read, package);
        let largest_first = Settings {
            order: Order::LargestFirst,
            ..settings()
        };
        let other = super::package(&tables, &largest_first, None);
        assert_eq!(other.run.order, LoadOrder::LargestFirst);
    }
}
