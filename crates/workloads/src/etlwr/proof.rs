//! Compares the loaded rows with dbgen's: the number of rows of each part, and a partition for each part.

use std::collections::BTreeMap;

use inrush::quantity::count;
use inrush::report::RunReport;

use super::data::{DataSet, TableFiles};
use super::results::ProofResult;
use crate::tpch::{parts_of, rows_of_parts};

/// The number of rows that dbgen generates for each loaded part.
pub struct Expected {
    tables: Vec<(&'static str, BTreeMap<String, u64>)>,
    is_partitioned: bool,
}

impl Expected {
    /// The expected rows of all files of a set, by their paths. `is_partitioned`: each part must be a partition.
    pub fn of(set: &DataSet, is_partitioned: bool) -> Expected {
        let tables = set.tables.iter();
        Expected {
            tables: tables
                .map(|table| (table.table.name, of_table(set, table)))
                .collect(),
            is_partitioned,
        }
    }

    /// Compares the rows of a run with the expected ones.
    pub fn hold(&self, report: &RunReport, verified: &str) -> ProofResult {
        let mut differences = Vec::new();
        for (table, expected) in &self.tables {
            let units = report.units.iter().filter(|unit| unit.flow == *table);
            let mut found: BTreeMap<&str, u64> = BTreeMap::new();
            for unit in units {
                // The server's own count, which the engine has compared with the number of rows sent.
                let rows = unit.rows_counted.unwrap_or(unit.account.rows_loaded);
                if let Some(file) = unit.files.first() {
                    *found.entry(file).or_default() += rows;
                }
            }
            differences.extend(compare(table, expected, &found));
            let partitions = report.tables.iter().find(|loaded| loaded.flow == *table);
            let partitions = partitions.map_or(0, |loaded| loaded.partitions.len());
            let wanted = match !self.is_partitioned || ["nation", "region"].contains(table) {
                true => 0,
                // A part without rows is not a partition.
                false => expected.values().filter(|rows| **rows > 0).count(),
            };
            if partitions != wanted {
                differences.push(format!(
                    "{table} has {partitions} partitions, but dbgen makes {wanted} parts with rows"
                ));
            }
        }
        ProofResult {
            rows_are_dbgens: differences.is_empty(),
            verified: verified.to_owned(),
            differences,
        }
    }
}

fn of_table(set: &DataSet, table: &TableFiles) -> BTreeMap<String, u64> {
    let parts: Vec<u32> = table.files.keys().copied().collect();
    let name = table.table.name;
    let of = parts_of(name, set.manifest.parts);
    let rows = rows_of_parts(name, set.manifest.scale, of, &parts);
    let paths = table.files.values();
    let paths = paths.map(|path| path.display().to_string());
    paths.zip(rows).collect()
}

fn compare(
    table: &str,
    expected: &BTreeMap<String, u64>,
    found: &BTreeMap<&str, u64>,
) -> Vec<String> {
    let files = expected.iter().filter_map(|(file, expected)| {
        let found = found.get(file.as_str()).copied().unwrap_or(0);
        (found != *expected).then(|| {
            format!(
                "{table}: {} rows of {file}, of which dbgen makes {}",
                count(found),
                count(*expected)
            )
        })
    });
    let others = found.keys().filter(|file| !expected.contains_key(**file));
    let others = others.map(|file| format!("{table}: rows of {file}, which was not requested"));
    files.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_file_by_file() {
        let expected = BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 0)]);
        assert_eq!(
            compare("t", &expected, &BTreeMap::from([("a", 3)])),
            [""; 0]
        );
        let differences = compare("t", &expected, &BTreeMap::from([("a", 1234), ("c", 1)]));
        assert_eq!(
            differences,
            [
                "t: 1,234 rows of a, of which dbgen makes 3",
                "t: rows of c, which was not requested"
            ]
        );
    }
}
