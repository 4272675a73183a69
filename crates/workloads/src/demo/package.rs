//! The demo's package: one flow for each table of TPC-H.

use std::collections::BTreeMap;
use std::path::Path;

use inrush::package::{
    ColumnSpec, Connection, Flow, Format, OneOrMany, Package, PackageOrigin, Preset, RunSettings,
    escape_braces,
};

use crate::error::WorkloadError;
use crate::tpch::{GeneratedTable, TABLES};

/// The name of its file.
pub const FILE_NAME: &str = "demo.toml";

/// The package that loads these files.
pub fn package(made: &[GeneratedTable], url: &str, streams: Option<u16>) -> Package {
    let flows = TABLES
        .iter()
        .filter_map(|table| {
            let made = made.iter().find(|made| made.table == table.name)?;
            Some(Flow {
                format: Format {
                    preset: Some(Preset::Tbl),
                    ..Format::default()
                },
                columns: table
                    .columns
                    .iter()
                    .map(|(name, kind)| ColumnSpec::Short(format!("{name} {kind}")))
                    .collect(),
                partition_by: table.partition_by.map(str::to_owned),
                ..Flow::new(
                    OneOrMany::Many(made.files.iter().map(|file| name(file)).collect()),
                    table.name,
                )
            })
        })
        .collect();
    Package {
        name: "demo".to_owned(),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([("target".to_owned(), Connection::new(url))]),
        run: RunSettings {
            streams,
            ..RunSettings::default()
        },
        flows,
        origin: PackageOrigin::of_arguments([
            ("connections.target.url", "--to"),
            ("run.streams", "--streams"),
        ]),
    }
}

/// Writes a package of [`package()`] into the folder of its files, as [`FILE_NAME`].
pub fn save(package: &Package, folder: &Path) -> Result<(), WorkloadError> {
    let path = folder.join(FILE_NAME);
    std::fs::write(&path, package.to_toml()).map_err(|source| WorkloadError::File {
        doing: "cannot write",
        path,
        source,
    })
}

/// The file's name in the folder of the package.
fn name(file: &Path) -> String {
    escape_braces(&file.file_name().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_package_of_eight_flows() {
        let made: Vec<GeneratedTable> = TABLES
            .iter()
            .map(|table| GeneratedTable {
                table: table.name.to_owned(),
                files: vec![format!("/x/{}.tbl", table.name).into()],
                rows: 0,
                bytes: 0,
            })
            .collect();
        let package = package(&made, "embedded", Some(2));
        package.check().expect("it is right");
        assert_eq!(package.flows.len(), 8);
        let partitioned = package
            .flows
            .iter()
            .filter(|flow| flow.partition_by.is_some());
        assert_eq!(partitioned.count(), 6);
        let written = package.to_toml();
        assert_eq!(
            Package::parse(&written, Path::new("p.toml")).expect(&written),
            package
        );
    }
}
