use arrow_array::{
    BooleanArray, Decimal128Array, Float64Array, Int16Array, Int64Array, StringViewArray,
};

use arrow_array::cast::AsArray;
use inrush_rows::column_type::ColumnType;

use super::*;
use crate::spec::InputColumn;

fn batch(keys: ArrayRef, values: &[Option<&str>]) -> RecordBatch {
    let values: ArrayRef = Arc::new(StringViewArray::from_iter(values.iter().copied()));
    RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("v", values, true)])
        .expect("two columns")
}

fn text() -> ColumnType {
    ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    }
}

fn reference(batches: &[RecordBatch]) -> Result<Reference, ReferenceFault> {
    let keys = vec![(0, KeyClass::Number)];
    let mut builder = ReferenceBuilder::new(keys, vec![1], 1 << 20);
    for batch in batches {
        builder.add(batch)?;
    }
    let column = |name: &str, column_type| InputColumn {
        name: name.to_owned(),
        column_type,
    };
    builder.build(vec![column("k", ColumnType::Int64), column("v", text())])
}

fn lookup(reference: Reference, unmatched: Unmatched) -> Lookup {
    let keys = vec![(0, KeyClass::Number)];
    Lookup::new(&Arc::new(reference), keys, &unmatched)
}

fn found(lookup: &Lookup, keys: ArrayRef) -> (Vec<Option<String>>, Vec<usize>) {
    let values = vec![None; keys.len()];
    let Found {
        columns, unmatched, ..
    } = lookup.find(&batch(keys, &values)).expect("found");
    let texts = columns[0].as_string_view().iter();
    (
        texts.map(|text| text.map(str::to_owned)).collect(),
        unmatched,
    )
}

#[test]
fn numbers_are_equal_whatever_their_width_and_scale() {
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-20), Some(300)]));
    let values = [Some("one"), Some("never"), None, Some("three")];
    let own = lookup(
        reference(&[batch(keys, &values)]).expect("unique"),
        Unmatched::Null,
    );
    let small: ArrayRef = Arc::new(Int16Array::from(vec![Some(300), Some(1), None, Some(7)]));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        found(&own, small),
        (vec![some("three"), some("one"), None, None], vec![2, 3])
    );
    let decimals = Decimal128Array::from(vec![100, -2000, 150, 30_000]);
    let decimals: ArrayRef = Arc::new(decimals.with_precision_and_scale(9, 2).expect("it fits"));
    assert_eq!(
        found(&own, decimals),
        (vec![some("one"), None, None, some("three")], vec![2])
    );
}

#[test]
fn a_default_stands_for_keys_that_are_not_there() {
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let default: ArrayRef = Arc::new(StringViewArray::from(vec!["none"]));
    let reference = reference(&[batch(keys, &[Some("one")])]).expect("unique");
    let own = lookup(reference, Unmatched::Default(vec![default]));
    let asked: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), Some(1), None]));
    let (texts, unmatched) = found(&own, asked);
    let texts: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    assert_eq!(
        (texts, unmatched),
        (vec!["none", "one", "none"], vec![0, 2])
    );
}

#[test]
fn a_key_that_is_there_twice_is_told() {
    let keys = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let twice = [
        batch(keys(vec![1, 2]), &[None, None]),
        batch(keys(vec![3, 2]), &[None, None]),
    ];
    let fault = reference(&twice).expect_err("a key is there twice");
    assert_eq!(
        fault,
        ReferenceFault::Duplicate {
            key: "2".to_owned(),
            is_tie: false,
        }
    );
}

#[test]
fn of_rows_with_the_same_key_the_first_counts() {
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 1, 2]));
    let rows = batch(keys, &[Some("b"), Some("a"), None, None]);
    for (is_descending, expected) in [(false, "a"), (true, "b")] {
        let first = First {
            column: 1,
            is_descending,
        };
        let column = |name: &str, column_type| InputColumn {
            name: name.to_owned(),
            column_type,
        };
        let columns = vec![column("k", ColumnType::Int64), column("v", text())];
        let reference = ordered(&rows, first).build(columns).expect("a reference");
        let own = lookup(reference, Unmatched::Null);
        let asked: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let (texts, unmatched) = found(&own, asked);
        assert_eq!(texts, [Some(expected.to_owned()), None]);
        assert_eq!(unmatched, Vec::<usize>::new());
        // Two rows with the same value have no order, unless a third one comes before both.
        let mut twice = ordered(&rows, first);
        twice.add(&rows).expect("the order is looked at later");
        let columns = || vec![column("k", ColumnType::Int64), column("v", text())];
        let fault = twice.build(columns()).expect_err("a tie");
        assert!(
            matches!(&fault, ReferenceFault::Duplicate { key, is_tie: true } if key == "1"),
            "{fault:?}"
        );
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let best = if is_descending { "z" } else { "A" };
        let mut twice = ordered(&rows, first);
        twice.add(&rows).expect("the order is looked at later");
        let third = batch(keys, &[Some(best), Some(best)]);
        twice.add(&third).expect("the order is looked at later");
        let own = lookup(twice.build(columns()).expect("an order"), Unmatched::Null);
        let asked: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert_eq!(found(&own, asked).0, [Some(best.to_owned())]);
    }
}

fn ordered(rows: &RecordBatch, first: First) -> ReferenceBuilder {
    let keys = vec![(0, KeyClass::Number)];
    let mut builder = ReferenceBuilder::new(keys, vec![1], 1 << 20).with_first(Some(first));
    builder.add(rows).expect("an order");
    builder
}

#[test]
fn memory_is_limited() {
    let mut builder = ReferenceBuilder::new(vec![(0, KeyClass::Number)], vec![1], 1_000);
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let fault = builder
        .add(&batch(keys, &[None; 100]))
        .expect_err("too large");
    assert!(
        matches!(fault, ReferenceFault::TooLarge { limit: 1_000, .. }),
        "{fault:?}"
    );
}

#[test]
fn the_digest_does_not_depend_on_the_order() {
    let keys = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let digest = |keys: ArrayRef, values: &[Option<&str>]| {
        reference(&[batch(keys, values)]).expect("unique").digest()
    };
    let first = digest(keys(vec![1, 2]), &[Some("a"), Some("b")]);
    assert_eq!(first, digest(keys(vec![2, 1]), &[Some("b"), Some("a")]));
    assert_ne!(first, digest(keys(vec![2, 1]), &[Some("a"), Some("b")]));
    assert_ne!(first, digest(keys(vec![1]), &[Some("a")]));
}

/// Sums of weak hashes are often equal if the same digit of all values has changed.
#[test]
fn references_with_other_values_have_other_digests() {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=26));
    let mut seen = std::collections::BTreeSet::new();
    for value in 0..2_000 {
        let text = value.to_string();
        let batch = batch(Arc::clone(&keys), &[Some(text.as_str()); 26]);
        let built = reference(&[batch]).expect("a reference");
        assert!(seen.insert(built.digest()), "{value}");
    }
    let values: Vec<String> = (0..26).map(|n| (n % 2).to_string()).collect();
    let swapped: Vec<String> = (0..26).map(|n| ((n + 1) % 2).to_string()).collect();
    for values in [values, swapped] {
        let values: Vec<Option<&str>> = values.iter().map(|text| Some(text.as_str())).collect();
        let built = reference(&[batch(Arc::clone(&keys), &values)]).expect("a reference");
        assert!(seen.insert(built.digest()), "{values:?}");
    }
}

/// A reference with a key, an order and values of several types, in memory or on disk.
fn with_order(
    batches: &[RecordBatch],
    first: Option<First>,
    is_on_disk: bool,
) -> Result<Reference, ReferenceFault> {
    let (keys, taken) = (vec![(0, KeyClass::Number)], vec![2, 3, 4]);
    let column = |name: &str, column_type| InputColumn {
        name: name.to_owned(),
        column_type,
    };
    let decimal = ColumnType::Decimal {
        precision: 20,
        scale: 2,
    };
    let columns = vec![
        column("k", ColumnType::Int64),
        column("text", text()),
        column("is", ColumnType::Bool),
        column("number", decimal),
    ];
    if is_on_disk {
        let mut builder = DiskBuilder::new(keys, taken, first, 1 << 20)?;
        for batch in batches {
            builder.add(batch)?;
        }
        let disk = builder.build(&columns)?;
        return Ok(Reference::on_disk(disk, columns, 1 << 20));
    }
    let mut builder = ReferenceBuilder::new(keys, taken, 1 << 30).with_first(first);
    for batch in batches {
        builder.add(batch)?;
    }
    builder.build(columns)
}

/// Rows of a reference: keys below `keys`, an order of a few values, and values that identify the row.
fn rows_of_a_reference(numbers: std::ops::Range<i64>, keys: i64, orders: i64) -> RecordBatch {
    let mixed = |number: i64| (number * 48_271) % 2_147_483_647;
    let all = || numbers.clone();
    let some = |number: i64, value: i64| (number % 11 != 0).then_some(value);
    let key = Int64Array::from_iter(all().map(|number| some(number, mixed(number) % keys)));
    let order = all().map(|number| match number % 13 {
        0 => None,
        1 => Some(f64::NAN),
        _ => Some((mixed(number) % orders) as f64),
    });
    let texts = all().map(|number| (number % 5 != 0).then(|| format!("text of {number}")));
    let is = all().map(|number| (number % 3 != 0).then_some(number % 2 == 0));
    let number =
        Decimal128Array::from_iter(all().map(|number| some(number + 1, number).map(i128::from)));
    let number = number.with_precision_and_scale(20, 2).expect("it fits");
    RecordBatch::try_from_iter_with_nullable([
        ("k", Arc::new(key) as ArrayRef, true),
        ("order", Arc::new(Float64Array::from_iter(order)), true),
        ("text", Arc::new(StringViewArray::from_iter(texts)), true),
        ("is", Arc::new(BooleanArray::from_iter(is)), true),
        ("number", Arc::new(number), true),
    ])
    .expect("columns")
}

#[test]
fn a_reference_on_disk_is_that_in_memory() {
    let descending = |is_descending| {
        Some(First {
            column: 1,
            is_descending,
        })
    };
    let asked: ArrayRef = Arc::new(Int64Array::from_iter((0..9_000).map(|key| match key % 7 {
        0 => None,
        _ => Some(key),
    })));
    let asked = RecordBatch::try_from_iter_with_nullable([("k", asked, true)]).expect("a column");
    let (mut same, mut refused) = (0, 0);
    for (rows, keys, orders) in [
        (0, 1, 1),
        (1, 1, 1),
        (5_000, i64::MAX, 1),
        (9_000, 5_000, 1 << 40),
        (9_000, 5_000, 3),
        (300, 10, 1 << 40),
    ] {
        for first in [None, descending(false), descending(true)] {
            let batches: Vec<RecordBatch> = [0..rows / 3, rows / 3..rows / 2, rows / 2..rows]
                .into_iter()
                .map(|part| rows_of_a_reference(part, keys, orders))
                .collect();
            let both = [false, true].map(|is_on_disk| with_order(&batches, first, is_on_disk));
            let [in_memory, on_disk] = match both {
                [Ok(in_memory), Ok(on_disk)] => [in_memory, on_disk],
                [in_memory, on_disk] => {
                    assert_eq!(
                        in_memory.expect_err("refused"),
                        on_disk.expect_err("refused")
                    );
                    refused += 1;
                    continue;
                }
            };
            assert_eq!(in_memory.digest(), on_disk.digest());
            assert_eq!(in_memory.key_count(), on_disk.key_count());
            assert!(in_memory.disk_bytes().is_none() && on_disk.disk_bytes().is_some());
            let default: Vec<ArrayRef> = rows_of_a_reference(4..5, 1, 1).columns()[2..].to_vec();
            let [in_memory, on_disk] = [in_memory, on_disk].map(Arc::new);
            for unmatched in [Unmatched::Null, Unmatched::Default(default)] {
                let find = |reference: &Arc<Reference>| {
                    let keys = vec![(0, KeyClass::Number)];
                    let own = Lookup::new(reference, keys, &unmatched);
                    own.find(&asked).expect("found")
                };
                let (one, other) = (find(&in_memory), find(&on_disk));
                assert_eq!(one.unmatched, other.unmatched);
                assert_eq!(one.columns, other.columns);
            }
            same += 1;
        }
    }
    assert!(
        same >= 6 && refused >= 4,
        "{same} the same, {refused} refused"
    );
}
