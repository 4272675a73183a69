//! Checks the demo's tables in the database against the files, row for row.
//!
//! Each row is hashed on both sides: here as its line in the file, in the database as the same text composed from its
//! columns. The sums of these hashes and the row counts must be equal. The check uses no code of the engine, so it also
//! finds the engine's faults.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush::postgres::DatabaseAddress;
use inrush::report::TableReport;
use inrush_system::threads::on_threads;
use sha2::{Digest, Sha256};

use crate::error::WorkloadError;
use crate::session::with_session;
use crate::tpch::{GeneratedTable, TABLES, Table};

/// The number of bytes of each hash that are summed.
const HASH_BYTES: usize = 6;

/// Rows, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    hashes: u128,
}

/// Compares all tables; the error names the tables that differ.
pub fn check(
    address: &DatabaseAddress,
    loaded: &[TableReport],
    made: &[GeneratedTable],
    threads: usize,
) -> Result<(), WorkloadError> {
    let expected = sums_of_files(made, threads)?;
    let found = sums_of_tables(address, loaded)?;
    let differences: Vec<String> = TABLES
        .iter()
        .zip(&found)
        .filter_map(|(table, found)| {
            let index = made.iter().position(|made| made.table == table.name)?;
            difference(table.name, expected[index], *found)
        })
        .collect();
    match differences.is_empty() {
        true => Ok(()),
        false => Err(WorkloadError::Contents { differences }),
    }
}

fn difference(table: &str, expected: Sum, found: Sum) -> Option<String> {
    if expected.rows != found.rows {
        return Some(format!(
            "{table} has {} rows and was generated with {}",
            found.rows, expected.rows
        ));
    }
    (expected != found).then(|| {
        format!(
            "{table}: the sum of its rows' hashes is {}, but {} in the generated files",
            found.hashes, expected.hashes
        )
    })
}

fn sums_of_tables(
    address: &DatabaseAddress,
    loaded: &[TableReport],
) -> Result<Vec<Sum>, WorkloadError> {
    with_session(address, "inrush demo", async |session| {
        let mut sums = Vec::new();
        for table in &TABLES {
            let rows = session
                .query(
                    &sum_statement(table, target(table, loaded)),
                    &[],
                    "checking the contents",
                )
                .await?;
            let hashes: String = rows[0].get(1);
            sums.push(Sum {
                rows: rows[0].get::<_, i64>(0).unsigned_abs(),
                hashes: hashes.parse().unwrap_or(u128::MAX),
            });
        }
        Ok(sums)
    })
}

/// The table as SQL names it, with its schema, because the session has no search path.
fn target<'a>(table: &'a Table, loaded: &'a [TableReport]) -> &'a str {
    loaded
        .iter()
        .find(|loaded| loaded.flow == table.name)
        .map_or(table.name, |loaded| &loaded.target)
}

fn sum_statement(table: &Table, target: &str) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|(name, _)| match *name {
            // dbgen writes this column without digits after the point, and its type has two.
            "l_quantity" => format!("{name}::bigint::text"),
            // The cast removes the blanks with which `char(n)` is padded.
            name => format!("{name}::text"),
        })
        .collect();
    format!(
        "SELECT count(*), coalesce(sum(('x' || encode(substring(sha256(convert_to(\
         concat_ws('|', {}), 'UTF8')) for {HASH_BYTES}), 'hex'))::bit({})::bigint), 0)::text \
         FROM {target}",
        columns.join(", "),
        HASH_BYTES * 8,
    )
}

/// A sum for each table, made by several threads, a file at a time.
fn sums_of_files(made: &[GeneratedTable], threads: usize) -> Result<Vec<Sum>, WorkloadError> {
    let jobs: Vec<(usize, &Path)> = made
        .iter()
        .enumerate()
        .flat_map(|(index, table)| table.files.iter().map(move |file| (index, file.as_path())))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut sums = Vec::new();
        while let Some((index, file)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sum = sum_of_file(file).map_err(|source| WorkloadError::File {
                doing: "cannot read",
                path: file.to_path_buf(),
                source,
            })?;
            sums.push((*index, sum));
        }
        Ok::<_, WorkloadError>(sums)
    };
    let mut sums = vec![Sum::default(); made.len()];
    for (index, sum) in on_threads(threads.min(jobs.len()), &work)? {
        sums[index].rows += sum.rows;
        sums[index].hashes += sum.hashes;
    }
    Ok(sums)
}

fn sum_of_file(file: &Path) -> io::Result<Sum> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(file)?);
    let mut sum = Sum::default();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let row = line.strip_suffix(b"\n").unwrap_or(&line);
        // The trailing delimiter is not part of the row.
        let row = row.strip_suffix(b"|").unwrap_or(row);
        let hash = Sha256::digest(row);
        sum.rows += 1;
        sum.hashes += hash[..HASH_BYTES]
            .iter()
            .fold(0, |number, byte| number << 8 | u128::from(*byte));
        line.clear();
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_summed_line_by_line() {
        let folder = tempfile::tempdir().expect("there is a folder");
        let file = folder.path().join("a");
        std::fs::write(&file, "abc|\nabc").expect("it can be written");
        // SHA-256 of `abc` begins with ba7816bf8f01.
        assert_eq!(
            sum_of_file(&file).expect("it can be read"),
            Sum {
                rows: 2,
                hashes: 2 * 0xba78_16bf_8f01
            }
        );
    }

    #[test]
    fn differences_are_named() {
        let sum = Sum { rows: 2, hashes: 3 };
        assert_eq!(difference("t", sum, sum), None);
        let fewer = difference("t", sum, Sum { rows: 1, hashes: 3 });
        assert_eq!(
            fewer.as_deref(),
            Some("t has 1 rows and was generated with 2")
        );
        assert!(difference("t", sum, Sum { rows: 2, hashes: 4 }).is_some());
    }
}
