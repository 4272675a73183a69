//! Proves that a columnstore has the values of the files: the number of values and a sum of each column, once read from the
//! text of the files by a few lines that share nothing with the engine, and once asked from the columnstore.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush::quantity::{count, counted};
use inrush::verify::ExactSum;
use inrush::{ColumnSums, Measure, SummedColumn};
use inrush_system::threads::on_threads;

use super::data::{DataSet, TableFiles};
use crate::error::WorkloadError;
use crate::tpch::Table;

/// Bytes that are read from a file at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// The sums of the files of a table, in the order of its columns.
pub struct TableSums {
    /// The table.
    pub table: &'static Table,
    columns: Vec<FileSum>,
}

/// The sum of a column in files.
#[derive(Clone, Debug, Default)]
struct FileSum {
    values: u64,
    /// Fields that are no value of the column's type.
    odd: u64,
    sum: ExactSum,
}

/// The measured columns of a table, in their order.
pub fn summed(table: &Table) -> Vec<SummedColumn> {
    let column = |(name, kind): &(&str, &str)| SummedColumn {
        name: (*name).to_owned(),
        measure: measure_of(kind),
    };
    table.columns.iter().map(column).collect()
}

/// The measure of a type as the tables of TPC-H write it.
fn measure_of(kind: &str) -> Measure {
    match kind.split([' ', '(']).next() {
        Some("bigint" | "integer" | "numeric") => Measure::Number,
        Some("date") => Measure::Days,
        _ => Measure::Octets,
    }
}

/// Sums up the files of a set, by as many threads as there are cores.
pub fn of_files(set: &DataSet) -> Result<Vec<TableSums>, WorkloadError> {
    set.tables.iter().map(of_table).collect()
}

fn of_table(files: &TableFiles) -> Result<TableSums, WorkloadError> {
    let measures: Vec<Measure> = summed(files.table)
        .iter()
        .map(|column| column.measure)
        .collect();
    let paths: Vec<&PathBuf> = files.files.values().collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Vec<FileSum>>, WorkloadError> {
        let mut sums = vec![FileSum::default(); measures.len()];
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            add_file(path, &measures, &mut sums).map_err(|source| WorkloadError::File {
                doing: "cannot read",
                path: path.to_path_buf(),
                source,
            })?;
        }
        Ok(vec![sums])
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut columns = vec![FileSum::default(); measures.len()];
    for part in on_threads(cores.min(paths.len()), &work)? {
        for (sum, own) in columns.iter_mut().zip(part) {
            sum.values += own.values;
            sum.odd += own.odd;
            sum.sum.add_sum(&own.sum);
        }
    }
    Ok(TableSums {
        table: files.table,
        columns,
    })
}

fn add_file(path: &Path, measures: &[Measure], sums: &mut [FileSum]) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let row = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut fields = row.split(|byte| *byte == b'|');
        for (measure, sum) in measures.iter().zip(&mut *sums) {
            match fields.next().and_then(|field| measured(*measure, field)) {
                Some((exponent, number)) => {
                    sum.values += 1;
                    sum.sum.add_at(exponent, number);
                }
                None => sum.odd += 1,
            }
        }
        line.clear();
    }
    Ok(())
}

/// The measure of a field, as a number times a power of ten.
fn measured(measure: Measure, field: &[u8]) -> Option<(i32, i128)> {
    match measure {
        Measure::Number => number(field),
        Measure::Days => days(field).map(|days| (0, days)),
        Measure::Octets => Some((0, field.trim_ascii_end().len() as i128)),
    }
}

fn number(field: &[u8]) -> Option<(i32, i128)> {
    let (sign, digits) = match field {
        [b'-', rest @ ..] => (-1, rest),
        _ => (1, field),
    };
    let (mut number, mut places, mut is_behind) = (0_i128, 0, false);
    if digits.is_empty() {
        return None;
    }
    for byte in digits {
        match byte {
            b'.' if !is_behind => is_behind = true,
            b'0'..=b'9' => {
                number = number.checked_mul(10)? + i128::from(byte - b'0');
                places += i32::from(is_behind);
            }
            _ => return None,
        }
    }
    Some((-places, sign * number))
}

/// Days since 1970-01-01 of `YYYY-MM-DD`.
fn days(field: &[u8]) -> Option<i128> {
    let date: jiff::civil::Date = std::str::from_utf8(field).ok()?.parse().ok()?;
    let since = jiff::civil::date(1970, 1, 1).until(date).ok()?;
    Some(i128::from(since.get_days()))
}

/// The differences between the files of a table and the columnstore, in sentences.
pub fn differences(expected: &TableSums, found: &[ColumnSums]) -> Vec<String> {
    let columns = summed(expected.table);
    let mut differences = Vec::new();
    for ((column, expected), found) in columns.iter().zip(&expected.columns).zip(found) {
        let name = &column.name;
        if expected.odd > 0 {
            differences.push(format!(
                "{name}: {} in the files cannot be read",
                counted(expected.odd, "field")
            ));
        }
        if found.values != expected.values {
            differences.push(format!(
                "{name}: {} stored, and {} in the files",
                counted(found.values, "value"),
                count(expected.values)
            ));
        }
        let mut sum = ExactSum::default();
        if !sum.add_text(&found.sum) || sum != expected.sum {
            let what = match column.measure {
                Measure::Number => "the sum of its values",
                Measure::Days => "the sum of its days",
                Measure::Octets => "the sum of its octets",
            };
            differences.push(format!(
                "{name}: {what} is {}, and {} in the files",
                found.sum, expected.sum
            ));
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch;

    fn sums_of(table: &'static Table, text: &str) -> TableSums {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("part.tbl.1");
        std::fs::write(&path, text).expect("written");
        of_table(&TableFiles {
            table,
            files: [(1, path)].into(),
            bytes: text.len() as u64,
        })
        .expect("it can be read")
    }

    fn stored(values: u64, sum: &str) -> ColumnSums {
        ColumnSums {
            values,
            sum: sum.to_owned(),
        }
    }

    #[test]
    fn a_changed_value_is_named_by_its_column() {
        let region = tpch::table("region").expect("it is one");
        let expected = sums_of(region, "0|AFRICA|dé|\n1|ASIA|x|\n");
        let right = [stored(2, "1"), stored(2, "10"), stored(2, "4.0")];
        assert_eq!(differences(&expected, &right), [""; 0]);
        let wrong = [stored(2, "1"), stored(1, "4"), stored(2, "5")];
        assert_eq!(
            differences(&expected, &wrong),
            [
                "r_name: 1 value stored, and 2 in the files",
                "r_name: the sum of its octets is 4, and 10 in the files",
                "r_comment: the sum of its octets is 5, and 4 in the files",
            ]
        );
        let odd = sums_of(region, "x|AFRICA|dé|\n1|ASIA|x|\n");
        assert!(
            differences(&odd, &right)[0]
                .starts_with("r_regionkey: 1 field in the files cannot be read"),
        );
    }

    #[test]
    fn fields_are_measured_by_their_types() {
        let all = [
            (Measure::Number, "-12.50", Some((-2, -1250))),
            (Measure::Number, "7", Some((0, 7))),
            (Measure::Number, "", None),
            (Measure::Number, "1e5", None),
            (Measure::Days, "1970-01-02", Some((0, 1))),
            (Measure::Days, "1969-12-31", Some((0, -1))),
            (Measure::Days, "1998-08-02", Some((0, 10_440))),
            (Measure::Days, "1998-13-02", None),
            (Measure::Octets, "dé  ", Some((0, 3))),
        ];
        for (measure, field, expected) in all {
            assert_eq!(measured(measure, field.as_bytes()), expected, "{field}");
        }
        assert_eq!(measure_of("numeric(15,2) not null"), Measure::Number);
        assert_eq!(measure_of("date not null"), Measure::Days);
        assert_eq!(measure_of("char(25) not null"), Measure::Octets);
    }
}
