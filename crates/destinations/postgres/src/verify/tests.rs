//! Tests of what the loader computes for `verify = "sums"` and `"rows"`, without a server. `tests/postgres/test_verify.py`
//! compares it with the servers' answers.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringViewArray};
use inrush_destination::sums::{ColumnForm, SumForm};
use inrush_package::Verify;
use inrush_plan::verify::Tally;

use super::*;

fn plan(level: Verify) -> Arc<Comparison> {
    let column = |name: &str, form| ComparedColumn {
        name: name.to_owned(),
        form,
        type_sql: "?".to_owned(),
    };
    Arc::new(Comparison {
        level,
        is_utf8: true,
        columns: vec![
            column("number", ColumnForm::Number(SumForm::Int32)),
            column("text", ColumnForm::Text),
        ],
    })
}

fn batch(rows: &[(Option<i32>, Option<&str>)]) -> RecordBatch {
    let numbers: Int32Array = rows.iter().map(|(number, _)| *number).collect();
    let texts: StringViewArray = rows.iter().map(|(_, text)| *text).collect();
    let columns: [(&str, ArrayRef); 2] = [("number", Arc::new(numbers)), ("text", Arc::new(texts))];
    RecordBatch::try_from_iter(columns).expect("two columns of one length")
}

fn tally(level: Verify, batches: &[RecordBatch]) -> Vec<String> {
    let mut tally = Tally::new(&plan(level).alone()).expect("the level computes sums");
    for batch in batches {
        tally.add(batch);
    }
    tally.take()
}

const ROWS: [(Option<i32>, Option<&str>); 4] = [
    (Some(7), Some("seven")),
    (None, Some("")),
    (Some(-9), None),
    (Some(i32::MAX), Some("more than twelve bytes")),
];

#[test]
fn sums_are_of_values_that_are_not_null() {
    let sums = tally(Verify::Sums, &[batch(&ROWS)]);
    assert_eq!(sums, ["4", "3", "2147483645", "3", "27"]);
}

#[test]
fn rows_are_hashed_alike_in_any_batches_and_order() {
    let whole = tally(Verify::Rows, &[batch(&ROWS)]);
    let parts = [batch(&ROWS[2..]), batch(&[]), batch(&ROWS[..2])];
    assert_eq!(tally(Verify::Rows, &parts), whole);
}

#[test]
fn values_in_other_rows_change_the_hash_of_rows_alone() {
    let mut rows = ROWS;
    (rows[0].0, rows[2].0) = (rows[2].0, rows[0].0);
    let (one, other) = (
        tally(Verify::Rows, &[batch(&ROWS)]),
        tally(Verify::Rows, &[batch(&rows)]),
    );
    assert_ne!(one[1], other[1]);
    assert_eq!(one[2..], other[2..]);
    assert_eq!(
        tally(Verify::Sums, &[batch(&ROWS)]),
        tally(Verify::Sums, &[batch(&rows)])
    );
}

#[test]
fn differences_are_named() {
    let plan = plan(Verify::Sums);
    let sent = tally(Verify::Sums, &[batch(&ROWS)]);
    let total = plan
        .alone()
        .total([Some(sent.as_slice())].into_iter())
        .expect("of this plan");
    let mut answer = sent.clone();
    assert_eq!(plan.differences(&total, &answer), []);
    answer[4] = "26.0".to_owned();
    let found = plan.differences(&total, &answer);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "column `text`, octets: 26.0 in the database, 27 sent"
    );
}

#[test]
fn splits_without_sums_cannot_be_compared() {
    let plan = plan(Verify::Sums).alone();
    let sent = tally(Verify::Sums, &[batch(&ROWS)]);
    assert!(
        plan.total([Some(sent.as_slice()), None].into_iter())
            .is_none()
    );
    assert!(plan.total([Some(&sent[1..])].into_iter()).is_none());
}
