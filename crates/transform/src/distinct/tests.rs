use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Int64Array, StringViewArray};
use inrush_rows::column_type::ColumnType;

use super::*;

fn columns() -> Vec<InputColumn> {
    let text = ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    };
    let types = [
        ("n", ColumnType::Int64),
        ("t", text),
        ("x", ColumnType::Float64),
    ];
    types
        .map(|(name, column_type)| InputColumn {
            name: name.to_owned(),
            column_type,
        })
        .to_vec()
}

fn planned(names: &[&str], bytes_max: u64) -> Result<PlannedDistinct, Vec<StepError>> {
    let spec = DistinctSpec {
        columns: names.iter().map(|name| (*name).to_owned()).collect(),
        bytes_max,
    };
    PlannedDistinct::plan(&spec, &columns(), 3)
}

/// A row: a number, a text, and its place.
type Row = (Option<i64>, Option<&'static str>, RowPlace);

fn batch(rows: &[Row]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("t", texts, true)])
        .expect("two columns")
}

fn at(input: u32, offset: u64) -> RowPlace {
    RowPlace {
        input,
        offset,
        part: 0,
    }
}

/// The places of the rows that a runner keeps.
fn kept(runner: &mut DistinctRunner, rows: &[Row]) -> Result<Vec<RowPlace>, RunError> {
    let stepped = runner.run(&batch(rows), &|row| rows[row].2)?;
    let count = stepped.counts[0];
    assert_eq!(count.rows_in, rows.len() as u64);
    assert_eq!(count.rows_out(), stepped.batch.num_rows() as u64);
    let left = 0..stepped.batch.num_rows();
    Ok(left.map(|row| rows[stepped.origin(row).0].2).collect())
}

/// Rows with few different keys, in the order of their source.
fn random_rows(count: usize) -> Vec<Row> {
    const TEXTS: [Option<&str>; 4] = [None, Some(""), Some("a"), Some("b")];
    (0..count)
        .map(|number| {
            let random = XxHash3_64::oneshot(&number.to_le_bytes());
            let value = (!random.is_multiple_of(40)).then_some((random % 40) as i64);
            let place = at((number * 3 / count) as u32, (number % 400) as u64 * 7);
            (value, TEXTS[(random >> 32) as usize % 4], place)
        })
        .collect()
}

#[test]
fn any_order_and_any_cut_keep_the_first_rows() {
    let mut rows = random_rows(1_200);
    let mut seen = HashSet::new();
    let first = |row: &&Row| seen.insert((row.0, row.1));
    let expected: Vec<RowPlace> = rows.iter().filter(first).map(|row| row.2).collect();
    assert!(
        expected.len() > 100 && expected.len() < 200,
        "{}",
        expected.len()
    );

    // In the order of the source no pass is needed.
    let serial = planned(&["n", "t"], 1 << 20).expect("a key");
    let mut runner = DistinctRunner::new(serial);
    let parts = rows.chunks(7).map(|part| kept(&mut runner, part));
    let found: Vec<RowPlace> = parts.flat_map(|part| part.expect("small")).collect();
    assert_eq!(found, expected);

    rows.sort_by_key(|row| XxHash3_64::oneshot(&row.2.offset.to_le_bytes()));
    for size in [1, 13, 500, 1_200] {
        let step = planned(&["n", "t"], 1 << 20).expect("a key");
        let builder = FirstRowsBuilder::default();
        std::thread::scope(|scope| {
            for part in rows.chunks(size.max(100)) {
                let (step, builder) = (&step, &builder);
                scope.spawn(move || {
                    let noted = step.note(&batch(part), &|row| part[row].2, builder);
                    noted.expect("small");
                });
            }
        });
        assert_eq!(builder.key_count(), expected.len() as u64);
        step.take_first_rows(builder.build());
        assert!(step.has_first_rows());
        let mut runner = DistinctRunner::new(step.clone());
        // Rows that are met twice are kept twice, as by another attempt to load them.
        for _ in 0..2 {
            let parts = rows.chunks(size).rev().map(|part| kept(&mut runner, part));
            let mut found: Vec<RowPlace> = parts.flat_map(|part| part.expect("known")).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{size}");
        }
    }
}

#[test]
fn null_is_equal_to_null_and_columns_are_kept_apart() {
    let rows = [
        (None, Some("a"), at(0, 0)),
        (None, Some("a"), at(0, 1)),
        (Some(1), None, at(0, 2)),
        (Some(1), Some(""), at(0, 3)),
        (Some(1), None, at(1, 0)),
    ];
    let mut runner = DistinctRunner::new(planned(&["n", "t"], 1 << 20).expect("a key"));
    let found = kept(&mut runner, &rows).expect("small");
    assert_eq!(found, [at(0, 0), at(0, 2), at(0, 3)]);
}

#[test]
fn keys_have_a_limit() {
    let rows: Vec<Row> = (0..100)
        .map(|number| (Some(number), None, at(0, number as u64)))
        .collect();
    let step = planned(&["n"], 1_000).expect("a key");
    let mut runner = DistinctRunner::new(step.clone());
    let found = kept(&mut runner, &rows).expect_err("they are too large");
    assert!(
        matches!(
            found,
            RunError::KeysTooLarge {
                step: 3,
                limit: 1_000,
                ..
            }
        ),
        "{found}"
    );
    let builder = FirstRowsBuilder::default();
    let noted = step.note(&batch(&rows), &|row| rows[row].2, &builder);
    assert_eq!(noted.expect_err("they are too large"), found);
    // Equal keys take no more memory.
    let rows: Vec<Row> = rows.iter().map(|row| (Some(7), None, row.2)).collect();
    let builder = FirstRowsBuilder::default();
    step.note(&batch(&rows), &|row| rows[row].2, &builder)
        .expect("one key");
}

#[test]
fn a_row_that_was_not_there_is_refused() {
    let rows = [(Some(1), Some("a"), at(0, 10))];
    let step = planned(&["n", "t"], 1_000).expect("a key");
    let builder = FirstRowsBuilder::default();
    step.note(&batch(&rows), &|row| rows[row].2, &builder)
        .expect("small");
    step.take_first_rows(builder.build());
    let mut runner = DistinctRunner::new(step);
    for changed in [
        (Some(2), Some("a"), at(0, 10)),
        // A row before the one that was the first.
        (Some(1), Some("a"), at(0, 9)),
    ] {
        let found = kept(&mut runner, &[changed]).expect_err("it is another row");
        assert!(
            matches!(&found, RunError::KeyChanged { key, .. } if key.contains("\"a\"")),
            "{found}"
        );
    }
}

#[test]
fn columns_that_are_no_key_are_refused() {
    let told = |names: &[&str]| {
        let faults = planned(names, 1_000).expect_err("they are no key");
        let faults = faults.iter().map(ToString::to_string);
        faults.collect::<Vec<_>>()
    };
    let [unknown, float] = &told(&["nn", "x"])[..] else {
        panic!("two faults");
    };
    assert!(
        unknown.contains("step 3, `distinct_on`: there is no column `nn`"),
        "{unknown}"
    );
    assert!(
        unknown.contains("the columns here are `n`, `t` and `x`"),
        "{unknown}"
    );
    assert!(float.contains("`x` has the type DOUBLE"), "{float}");
    assert!(float.contains("CAST(x AS"), "{float}");
}
