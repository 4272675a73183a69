//! Rows that pass through steps: what is kept, filtered and rejected, and why.

mod case;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Date32Array, RecordBatch, StringViewArray};
use case::{check, columns, derive, evaluator, keep, plan, rows, run, word};
use inrush_transform::error::RunError;
use inrush_transform::outcome::{FaultKind, StepCount};
use inrush_transform::runner::StepRunner;
use inrush_transform::spec::{Otherwise, StepSpec};

/// More rows than DuckDB has in a vector, and not a multiple of it.
const ROWS: usize = 5_000;

fn ids(batch: &RecordBatch) -> Vec<i32> {
    batch
        .column(0)
        .as_primitive::<Int32Type>()
        .values()
        .to_vec()
}

#[test]
fn columns_are_derived_and_all_others_stay_the_arrays_that_they_are() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows(0, ROWS);
    let steps = [
        derive(&[("double", "price * 2"), ("word_length", "length(word)")]),
        derive(&[("more", "double + 1")]),
    ];
    let stepped = run(evaluator, &steps, &batch);
    assert!(stepped.origins.is_none() && stepped.faults.is_empty());
    for (own, column) in batch.columns().iter().zip(stepped.batch.columns()) {
        assert!(Arc::ptr_eq(own, column));
    }
    let double = stepped.batch.column(6).as_primitive::<Decimal128Type>();
    let lengths = stepped.batch.column(7).as_primitive::<Int64Type>();
    let more = stepped.batch.column(8).as_primitive::<Decimal128Type>();
    for row in 0..ROWS {
        assert_eq!(double.value(row), 2 * row as i128);
        assert_eq!(more.value(row), 2 * row as i128 + 100);
        let length = word(row).map(|word| word.len() as i64);
        assert_eq!(
            lengths.is_valid(row).then(|| lengths.value(row)),
            length,
            "{row}"
        );
    }
    let all = StepCount {
        rows_in: ROWS as u64,
        ..StepCount::default()
    };
    assert_eq!(stepped.counts, [all, all]);
}

#[test]
fn rows_that_do_not_hold_are_filtered_and_null_does_not_hold() {
    let Some(evaluator) = evaluator() else { return };
    let stepped = run(
        evaluator,
        &[keep("flag"), keep("id % 4 = 0")],
        &rows(0, ROWS),
    );
    let holds = |row: &usize| row % 11 != 4 && row.is_multiple_of(2);
    let even = (0..ROWS).filter(holds).count() as u64;
    let expected: Vec<i32> = (0..ROWS)
        .filter(holds)
        .filter(|row| row.is_multiple_of(4))
        .map(|row| row as i32)
        .collect();
    assert_eq!(ids(&stepped.batch), expected);
    let origins = stepped.origins.expect("not all are kept");
    let expected: Vec<u64> = expected.iter().map(|id| *id as u64).collect();
    assert_eq!(origins, expected);
    let count = |rows_in, rows_out| StepCount {
        rows_in,
        filtered: rows_in - rows_out,
        ..StepCount::default()
    };
    assert_eq!(
        stepped.counts,
        [count(ROWS as u64, even), count(even, expected.len() as u64)]
    );
}

#[test]
fn a_check_rejects_warns_or_fails_and_null_passes() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows(0, 100);
    let failing: Vec<usize> = (0..100)
        .filter(|row| row % 11 != 4 && row % 2 == 1)
        .collect();
    let named = StepSpec::Check {
        name: Some("flag is set".to_owned()),
        condition: "flag".to_owned(),
        otherwise: Otherwise::Reject,
    };
    let stepped = run(evaluator, &[named], &batch);
    let rejected: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    assert_eq!(
        (rejected, stepped.batch.num_rows()),
        (failing.clone(), 100 - failing.len())
    );
    let first = &stepped.faults[0];
    assert_eq!(
        (first.kind, first.step, first.column.as_deref()),
        (FaultKind::Check, 0, Some("flag"))
    );
    assert_eq!(first.reason, "the check `flag is set` (step 1) is not met");
    assert_eq!(stepped.counts[0].rejected, failing.len() as u64);

    let stepped = run(
        evaluator,
        &[check("flag", Otherwise::Warn), keep("id < 50")],
        &batch,
    );
    assert_eq!(
        (stepped.counts[0].warned, stepped.counts[0].rows_out()),
        (failing.len() as u64, 100)
    );
    assert_eq!((stepped.faults.len(), stepped.batch.num_rows()), (0, 50));

    let stepped = run(evaluator, &[check("flag", Otherwise::Fail)], &batch);
    assert_eq!(
        (stepped.faults[0].kind, stepped.faults[0].row),
        (FaultKind::FatalCheck, failing[0])
    );
}

#[test]
fn an_expression_that_fails_rejects_its_row_with_the_reason_of_duckdb() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows(0, ROWS);
    let steps = [
        derive(&[("number", "CAST(word AS integer)"), ("same", "id")]),
        derive(&[("twice", "number * 2")]),
    ];
    let stepped = run(evaluator, &steps, &batch);
    let is_bad = |row: &usize| word(*row).is_some_and(|word| word.starts_with('w'));
    let bad: Vec<usize> = (0..ROWS).filter(is_bad).collect();
    assert!(bad.len() > 100, "{}", bad.len());
    let found: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    assert_eq!(found, bad);
    for fault in &stepped.faults {
        assert_eq!(
            (fault.step, fault.column.as_deref(), fault.kind),
            (0, Some("number"), FaultKind::Expression)
        );
        let text = format!(
            "the expression of step 1 failed: Could not convert string 'w{}' to INT32",
            fault.row
        );
        assert!(fault.reason.starts_with(&text), "{}", fault.reason);
    }
    // NULL stays NULL, and the other columns have the values of the rows that are left.
    let (numbers, twice) = (stepped.batch.column(6), stepped.batch.column(8));
    let numbers = numbers.as_primitive::<Int32Type>();
    for (at, id) in ids(&stepped.batch).into_iter().enumerate() {
        let expected = word(id as usize).map(|_| id);
        assert_eq!(numbers.is_valid(at).then(|| numbers.value(at)), expected);
        assert_eq!(
            stepped
                .batch
                .column(7)
                .as_primitive::<Int32Type>()
                .value(at),
            id
        );
        let twice = twice.as_primitive::<Int32Type>();
        assert_eq!(
            twice.is_valid(at).then(|| twice.value(at)),
            expected.map(|id| 2 * id)
        );
    }
    let counts: Vec<(u64, u64)> = stepped
        .counts
        .iter()
        .map(|count| (count.rows_in, count.rejected))
        .collect();
    let left = (ROWS - bad.len()) as u64;
    assert_eq!(counts, [(ROWS as u64, bad.len() as u64), (left, 0)]);
}

#[test]
fn no_error_becomes_null_or_infinity() {
    let Some(evaluator) = evaluator() else { return };
    for (expression, reason) in [
        ("10 // (id - 3)", "Division by zero"),
        ("10 % (id - 3)", "Division by zero"),
        ("10 / (id - 3)", "Division by zero"),
        ("price / (id - 3)", "Division by zero"),
        (
            "sqrt(-id * (CASE WHEN id = 3 THEN 1 ELSE 0 END))",
            "square root of a negative number",
        ),
        ("ln(abs(id - 3))", "logarithm of zero"),
        (
            "id + (CASE WHEN id = 3 THEN 2147483647 ELSE 0 END)",
            "Overflow in addition of INT32",
        ),
        (
            "CAST(id + (CASE WHEN id = 3 THEN 40000 ELSE 0 END) AS smallint)",
            "out of range",
        ),
        (
            "CAST('1' || (CASE WHEN id = 3 THEN 'x' ELSE '' END) AS int) + CAST('1' || (CASE WHEN id = 3 THEN 'x' ELSE '' END) AS int)",
            "Could not convert string '1x'",
        ),
        (
            "CASE WHEN flag OR true THEN 10 // (id - 3) END",
            "Division by zero",
        ),
    ] {
        let stepped = run(evaluator, &[derive(&[("x", expression)])], &rows(0, 10));
        let found: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
        assert_eq!(found, [3], "{expression}");
        assert!(
            stepped.faults[0].reason.contains(reason),
            "{}",
            stepped.faults[0].reason
        );
    }
}

#[test]
fn a_later_step_sees_only_the_rows_that_are_left() {
    let Some(evaluator) = evaluator() else { return };
    for first in [keep("id <> 3"), check("id <> 3", Otherwise::Reject)] {
        let stepped = run(
            evaluator,
            &[first, derive(&[("x", "10 // (id - 3)")])],
            &rows(0, 10),
        );
        let failed = stepped
            .faults
            .iter()
            .filter(|fault| fault.kind == FaultKind::Expression);
        assert_eq!((failed.count(), stepped.batch.num_rows()), (0, 9));
    }
    // A row is rejected once, by the first expression that fails.
    let steps = [
        derive(&[("a", "10 // (id - 3)"), ("b", "10 // (id - 3) + 1")]),
        keep("a + 10 // (id - 3) is null"),
    ];
    let stepped = run(evaluator, &steps, &rows(0, 10));
    assert_eq!(stepped.faults.len(), 1);
    assert_eq!(stepped.faults[0].column.as_deref(), Some("a"));
    assert_eq!(
        (stepped.counts[0].rejected, stepped.counts[1].rows_in),
        (1, 9)
    );
}

#[test]
fn any_cut_of_the_rows_gives_the_same_result() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [
        keep("flag is distinct from false or id % 3 = 0"),
        derive(&[("number", "CAST(word AS integer) * 2"), ("constant", "1.5")]),
        check("number is null or number % 5 <> 0", Otherwise::Reject),
        check("id % 13 <> 0", Otherwise::Warn),
    ];
    let planned = Arc::new(plan(evaluator, &steps).expect("a plan"));
    let whole = StepRunner::new(evaluator, &planned)
        .expect("a runner")
        .run(&rows(0, ROWS), true)
        .expect("a result");
    std::thread::scope(|scope| {
        for size in [1, 7, 1_024, 2_048, 2_049, ROWS] {
            let (planned, whole) = (&planned, &whole);
            scope.spawn(move || {
                let runner = StepRunner::new(evaluator, planned).expect("a runner");
                let (mut found, mut faults) = (Vec::new(), Vec::new());
                let mut counts = vec![StepCount::default(); planned.steps.len()];
                let all = rows(0, ROWS);
                // Small batches cost much, so only some are taken.
                let end = ROWS.min(300 * size);
                for first in (0..end).step_by(size) {
                    let part = runner
                        .run(&all.slice(first, size.min(end - first)), true)
                        .expect("a result");
                    found.extend(ids(&part.batch));
                    faults.extend(part.faults.into_iter().map(|mut fault| {
                        fault.row += first;
                        fault
                    }));
                    counts
                        .iter_mut()
                        .zip(&part.counts)
                        .for_each(|(sum, own)| sum.add(own));
                }
                let expected: Vec<i32> = ids(&whole.batch)
                    .into_iter()
                    .filter(|id| (*id as usize) < end)
                    .collect();
                assert_eq!(found, expected, "{size}");
                let expected = whole.faults.iter().filter(|fault| fault.row < end).cloned();
                assert_eq!(faults, expected.collect::<Vec<_>>(), "{size}");
                if end == ROWS {
                    assert_eq!(counts, whole.counts, "{size}");
                }
            });
        }
    });
}

#[test]
fn no_rows_are_no_fault() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [derive(&[("x", "id + 1"), ("t", "word")]), keep("x > 0")];
    let stepped = run(evaluator, &steps, &rows(0, 0));
    assert_eq!(
        (stepped.batch.num_rows(), stepped.batch.num_columns()),
        (0, columns().len() + 2)
    );
    assert!(stepped.origins.is_none() && stepped.faults.is_empty());
    let stepped = run(evaluator, &[], &rows(0, 3));
    assert_eq!((stepped.batch.num_rows(), stepped.counts.len()), (3, 0));
}

#[test]
fn steps_without_columns_have_one_result_for_each_row() {
    let Some(evaluator) = evaluator() else { return };
    let stepped = run(
        evaluator,
        &[derive(&[("x", "'a' || 1 + 1")]), keep("true")],
        &rows(0, ROWS),
    );
    assert_eq!(stepped.batch.num_rows(), ROWS);
    assert_eq!(
        run(evaluator, &[keep("false")], &rows(0, ROWS)).counts[0].filtered,
        ROWS as u64
    );
    assert_eq!(
        run(evaluator, &[keep("null")], &rows(0, 3)).counts[0].filtered,
        3
    );
    let stepped = run(evaluator, &[derive(&[("x", "1 // 0")])], &rows(0, 5));
    assert_eq!((stepped.faults.len(), stepped.batch.num_rows()), (5, 0));
}

#[test]
fn infinite_dates_are_those_of_duckdb() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows(0, 3);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![
        Some(i32::MIN),
        Some(i32::MAX),
        None,
    ]));
    let mut arrays = batch.columns().to_vec();
    arrays[3] = days;
    let batch = RecordBatch::try_new(batch.schema(), arrays).expect("a batch");
    let steps = [derive(&[
        ("same", "day"),
        ("is_finite", "isfinite(day)"),
        ("text", "CAST(day AS varchar)"),
    ])];
    let stepped = run(evaluator, &steps, &batch);
    let same = stepped.batch.column(6).as_primitive::<Date32Type>();
    assert_eq!(same, batch.column(3).as_primitive::<Date32Type>());
    let texts: Vec<Option<&str>> = stepped.batch.column(8).as_string_view().iter().collect();
    assert_eq!(texts, [Some("-infinity"), Some("infinity"), None]);
}

#[test]
fn a_text_with_a_nul_byte_rejects_its_row() {
    let Some(evaluator) = evaluator() else { return };
    let stepped = run(evaluator, &[derive(&[("x", "chr(id)")])], &rows(0, 3));
    let [fault] = stepped.faults.as_slice() else {
        panic!("{:?}", stepped.faults)
    };
    assert_eq!(
        (fault.row, fault.kind, fault.column.as_deref()),
        (0, FaultKind::NulByte, Some("x"))
    );
}

#[test]
fn an_infinite_result_of_finite_values_rejects_its_row() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [derive(&[
        ("large", "CAST(id AS DOUBLE) * 1e307"),
        ("asked", "CASE WHEN id = 1 THEN CAST('inf' AS DOUBLE) END"),
    ])];
    let stepped = run(evaluator, &steps, &rows(0, 20));
    let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    // 18e307 is larger than the largest DOUBLE.
    assert_eq!(lost, [18, 19]);
    let fault = &stepped.faults[0];
    assert_eq!(
        (fault.kind, fault.column.as_deref(), fault.value.as_deref()),
        (FaultKind::Expression, Some("large"), Some("18"))
    );
    assert_eq!(stepped.batch.num_rows(), 18);
}

#[test]
fn a_result_that_is_no_number_rejects_its_row_unless_an_argument_is_none() {
    let Some(evaluator) = evaluator() else { return };
    let words = ["NaN", "b", "c", "-inf"];
    let steps = [derive(&[
        ("root", "pow(1.0 - id, 0.5)"),
        ("power", "CAST(1 - id AS FLOAT) ** 0.5"),
        ("asked", "CASE WHEN id = 0 THEN CAST(word AS DOUBLE) END"),
    ])];
    let stepped = run(evaluator, &steps, &rows_with_words(&words));
    let lost: Vec<(usize, Option<&str>)> = stepped
        .faults
        .iter()
        .map(|fault| (fault.row, fault.column.as_deref()))
        .collect();
    assert_eq!(lost, [(2, Some("root")), (3, Some("root"))]);
    let reason = &stepped.faults[0].reason;
    assert!(reason.contains("step 1 is not a number (NaN)"), "{reason}");
    // If an argument is a special number, the result may be one, too.
    let steps = [
        derive(&[("number", "CAST(word AS DOUBLE)")]),
        derive(&[("double", "number * 2"), ("none", "number - number")]),
    ];
    let words = ["NaN", "inf", "-inf"];
    let stepped = run(evaluator, &steps, &rows_with_words(&words));
    assert!(stepped.faults.is_empty(), "{:?}", stepped.faults);
}

/// [`rows`] with these words.
fn rows_with_words(words: &[&str]) -> RecordBatch {
    let batch = rows(0, words.len());
    let mut arrays = batch.columns().to_vec();
    arrays[2] = Arc::new(StringViewArray::from_iter_values(words));
    RecordBatch::try_new(batch.schema(), arrays).expect("a batch")
}

#[test]
fn a_value_that_says_interrupted_does_not_end_the_load() {
    let Some(evaluator) = evaluator() else { return };
    let words = ["0", "Interrupted!", "INTERRUPT Error: Interrupted!", "3"];
    let steps = [derive(&[("x", "CAST(word AS integer)")])];
    let stepped = run(evaluator, &steps, &rows_with_words(&words));
    let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    assert_eq!(lost, [1, 2]);
    assert!(
        stepped.faults[0]
            .reason
            .contains("Could not convert string 'Interrupted!'")
    );
}

#[test]
fn an_overflow_is_found_beside_columns_that_are_no_numbers() {
    let Some(evaluator) = evaluator() else { return };
    let words = ["information", "b", "-Infinity", "d"];
    let steps = [derive(&[
        ("large", "1e308 * (id + 1) * length(word) * 9"),
        ("asked", "CASE WHEN id = 2 THEN CAST(word AS DOUBLE) END"),
    ])];
    let stepped = run(evaluator, &steps, &rows_with_words(&words));
    let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    // The word `-Infinity` may mean that infinity was asked for.
    assert_eq!(lost, [0, 1, 3]);
    assert_eq!(
        stepped.faults[0].value.as_deref(),
        Some("id = 0, word = information")
    );
}

#[test]
fn a_reject_shows_infinite_dates_as_such() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows(0, 2);
    let mut arrays = batch.columns().to_vec();
    arrays[3] = Arc::new(Date32Array::from(vec![i32::MAX, i32::MIN]));
    let batch = RecordBatch::try_new(batch.schema(), arrays).expect("a batch");
    let steps = [check("isfinite(day)", Otherwise::Reject)];
    let stepped = run(evaluator, &steps, &batch);
    let values = stepped.faults.iter().map(|fault| fault.value.as_deref());
    let values: Vec<Option<&str>> = values.collect();
    assert_eq!(values, [Some("infinity"), Some("-infinity")]);
}

/// `timezone` fails outside of TRY if it does not know the zone.
#[test]
fn an_error_that_try_does_not_catch_rejects_its_row_alone() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [
        keep("id % 1000 <> 3"),
        derive(&[
            ("before", "id + 1"),
            ("local", "timezone(word, CAST(day AS timestamp))"),
        ]),
        check("isfinite(local)", Otherwise::Reject),
        derive(&[("text", "strftime(local, '%Y')")]),
    ];
    let mut words = vec!["UTC"; 3_000];
    // The last one is filtered before.
    for row in [0, 1_777, 1_778, 2_999, 1_003] {
        words[row] = "Nowhere";
    }
    let stepped = run(evaluator, &steps, &rows_with_words(&words));
    let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    assert_eq!(lost, [0, 1_777, 1_778, 2_999]);
    for fault in &stepped.faults {
        assert_eq!(
            (fault.kind, fault.column.as_deref()),
            (FaultKind::Expression, Some("local"))
        );
        assert!(
            fault.reason.contains("Unknown TimeZone 'Nowhere'"),
            "{}",
            fault.reason
        );
    }
    assert_eq!(stepped.counts[0].filtered, 3);
    assert_eq!(
        (stepped.counts[1].rows_in, stepped.counts[1].rejected),
        (2_997, 4)
    );

    let good = vec!["UTC"; 3_000];
    let expected = run(evaluator, &steps, &rows_with_words(&good));
    let expected = expected.batch;
    let number = |batch: &RecordBatch, row: usize| ids(batch)[row];
    let mut row = 0;
    for at in 0..stepped.batch.num_rows() {
        while number(&expected, row) != number(&stepped.batch, at) {
            row += 1;
        }
        for column in [6, 7, 8] {
            let (one, other) = (stepped.batch.column(column), expected.column(column));
            assert_eq!(&one.slice(at, 1), &other.slice(row, 1), "row {at}");
        }
    }
    assert_eq!(stepped.batch.num_rows(), 2_993);
}

#[test]
fn a_batch_that_is_interrupted_says_so() {
    let Some(evaluator) = evaluator() else { return };
    // Long enough to be interrupted: DuckDB checks for an interrupt between its vectors.
    let slow = "levenshtein(rpad(word, 300, 'ab'), rpad(word, 300, 'ba'))";
    let planned = Arc::new(plan(evaluator, &[derive(&[("x", slow)])]).expect("a plan"));
    let runner = StepRunner::new(evaluator, &planned).expect("a runner");
    let cancel = runner.cancel_handle();
    let is_done = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let _ = cancel.try_cancel();
                std::thread::yield_now();
            }
        });
        let found = runner.run(&rows(0, 20_000), false);
        is_done.store(true, Ordering::Relaxed);
        found
    });
    let found = found.map(|_| "rows");
    assert_eq!(
        found.expect_err("it was interrupted"),
        RunError::Interrupted
    );
}

/// The second step makes 50 MB of the text of one row.
#[test]
fn texts_that_need_too_much_memory_are_not_made() {
    let Some(evaluator) = evaluator() else { return };
    let long =
        "length(CASE WHEN id = 1 THEN replace(long, 'a', lpad('z', 5000, 'z')) ELSE long END)";
    let steps = [
        derive(&[("long", "lpad('', 10000, 'a')")]),
        derive(&[("size", long)]),
    ];
    let planned = Arc::new(plan(evaluator, &steps).expect("steps that can be planned"));
    let runner = StepRunner::new(evaluator, &planned).expect("a runner");
    let asked = runner.run(&rows(0, 3), true).map(|_| "rows");
    assert_eq!(asked, Err(RunError::TooManyRows { rows: 3 }));
    for batch in [rows(0, 3), rows(1, 1)] {
        let stepped = runner.run(&batch, false).expect("a result");
        let left: Vec<i32> = ids(&batch).into_iter().filter(|id| *id != 1).collect();
        assert_eq!(ids(&stepped.batch), left);
        let [fault] = stepped.faults.as_slice() else {
            panic!("one fault: {:?}", stepped.faults);
        };
        assert_eq!(batch.num_rows() == 1, fault.row == 0);
        assert_eq!((fault.step, fault.column.as_deref()), (1, Some("size")));
        let reason = "the expression of step 2 failed: the texts that it makes for this row need more than 16.8 MB of memory";
        assert!(fault.reason.starts_with(reason), "{}", fault.reason);
    }
}

/// A constant text takes memory for each row, and a text inside of an expression while it is evaluated.
#[test]
fn the_bytes_of_texts_that_are_not_results_count() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows(0, 100);
    for (expression, bytes) in [
        ("lpad('a', 10000, 'x')", 1_000_000),
        (
            "length(replace('aaaaaaaaaa' || id, 'a', '0123456789'))",
            10_000,
        ),
        (
            "length(regexp_replace('aaaaaaaaaa' || id, 'a', '0123456789'))",
            10_000,
        ),
        (
            "length(regexp_replace('aaaaaaaaaa' || id, 'a', '0123456789', 'g'))",
            10_000,
        ),
        ("length(rpad(CAST(id AS VARCHAR), 100, 'x'))", 10_000),
        ("encode(lpad(CAST(id AS VARCHAR), 100, 'x'))", 10_000),
    ] {
        let stepped = run(evaluator, &[derive(&[("made", expression)])], &batch);
        assert_eq!(stepped.batch.num_rows(), 100);
        assert!(
            stepped.added_bytes >= bytes,
            "{expression}: {}",
            stepped.added_bytes
        );
    }
    let specs = [derive(&[(
        "made",
        "damerau_levenshtein(lpad('a', 5000, 'x'), 'b')",
    )])];
    assert_eq!(run(evaluator, &specs, &batch).batch.num_rows(), 100);
    let specs = [derive(&[(
        "made",
        "damerau_levenshtein(lpad('a', 5000, word), lpad('b', 5000, word))",
    )])];
    assert_eq!(run(evaluator, &specs, &rows(0, 1)).faults.len(), 1);
}
