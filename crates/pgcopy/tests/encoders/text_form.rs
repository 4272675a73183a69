//! Tests of `COPY ... (FORMAT text)`: one row of every type, and texts that are read back.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, StringViewArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, new_null_array,
};
use inrush_pgcopy::TextEncoder;
use inrush_rows::interval;
use proptest::prelude::*;

use crate::batches::{any_batch, any_text, batch, intervals, uuids};

fn encode(columns: Vec<ArrayRef>, rows: usize) -> String {
    let batch = batch(columns, rows);
    let mut encoder = TextEncoder::new();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    encoder.encode(&batch, &mut out).expect("all values fit");
    encoder.end(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

fn one_of_each_type() -> Vec<ArrayRef> {
    let timestamps = TimestampMicrosecondArray::from(vec![951_825_845_000_001]);
    vec![
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(Int16Array::from(vec![i16::MIN])),
        Arc::new(Int32Array::from(vec![i32::MIN])),
        Arc::new(Int64Array::from(vec![i64::MIN])),
        Arc::new(Float32Array::from(vec![0.1])),
        Arc::new(Float64Array::from(vec![-1e300])),
        Arc::new(
            Decimal128Array::from(vec![-5])
                .with_precision_and_scale(15, 2)
                .expect("one digit"),
        ),
        Arc::new(StringViewArray::from(vec!["tab\tand \\N"])),
        Arc::new(BinaryViewArray::from(vec![&b"\\x"[..]])),
        Arc::new(Date32Array::from(vec![-735_160])),
        Arc::new(Time64MicrosecondArray::from(vec![86_400_000_000])),
        Arc::new(timestamps.clone()),
        Arc::new(timestamps.with_timezone("UTC")),
        intervals(&[(1, -2, 3_600_000_000)], None),
        uuids(&[*b"0123456789abcdef"], None),
    ]
}

#[test]
fn every_type() {
    assert_eq!(
        encode(one_of_each_type(), 1),
        "t\t-32768\t-2147483648\t-9223372036854775808\t0.1\t-1e300\t-0.05\ttab\\tand \\\\N\t\
         \\\\x5c78\t0044-03-15 BC\t24:00:00\t2000-02-29 12:04:05.000001\t\
         2000-02-29 12:04:05.000001+00\t+1 mons -2 days +1 hours +0 secs\t\
         30313233-3435-3637-3839-616263646566\n"
    );
}

/// The intervals that a server of version 17 reads as infinity are ordinary values in older versions.
#[test]
fn infinite_intervals() {
    let values = [interval::INFINITY, interval::MINUS_INFINITY];
    let batch = batch(vec![intervals(&values, None)], 2);
    let text = |mut encoder: TextEncoder| {
        let mut out = Vec::new();
        encoder.encode(&batch, &mut out).expect("all values fit");
        String::from_utf8(out).expect("UTF-8")
    };
    assert_eq!(text(TextEncoder::new()), "infinity\n-infinity\n");
    assert_eq!(
        text(TextEncoder::new().with_finite_intervals()),
        "+2147483647 mons +2147483647 days +2562047788 hours +54.775807 secs\n\
         -2147483648 mons -2147483648 days -2562047788 hours -54.775808 secs\n"
    );
}

#[test]
fn null_of_every_type() {
    let columns = one_of_each_type();
    let count = columns.len();
    let nulls = columns
        .iter()
        .map(|array| new_null_array(array.data_type(), 1))
        .collect();
    assert_eq!(
        encode(nulls, 1),
        format!("{}\n", vec!["\\N"; count].join("\t"))
    );
}

#[test]
fn no_rows_and_no_columns() {
    assert_eq!(
        encode(vec![Arc::new(Int32Array::from(Vec::<i32>::new()))], 0),
        ""
    );
    assert_eq!(encode(Vec::new(), 2), "\n\n");
}

/// Reads COPY's text form back, as its documentation says.
fn decode(stream: &str) -> Vec<Vec<Option<String>>> {
    stream
        .split_terminator('\n')
        .map(|line| line.split('\t').map(unescape).collect())
        .collect()
}

fn unescape(field: &str) -> Option<String> {
    if field == "\\N" {
        return None;
    }
    let mut text = String::new();
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next().expect("something behind a backslash") {
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\x0b',
                other => other,
            },
            other => other,
        });
    }
    Some(text)
}

proptest! {
    #[test]
    fn texts_come_back(
        rows in proptest::collection::vec(
            proptest::collection::vec(proptest::option::of(any_text()), 3), 0..20,
        )
    ) {
        let columns = (0..3)
            .map(|column| {
                let values: StringViewArray = rows.iter().map(|row| row[column].as_deref()).collect();
                Arc::new(values) as ArrayRef
            })
            .collect();
        prop_assert_eq!(decode(&encode(columns, rows.len())), rows);
    }

    /// In any batch, each row is a line, with tabs between its fields.
    #[test]
    fn rows_and_fields_stay_apart((types, batch) in any_batch()) {
        let mut out = Vec::new();
        TextEncoder::new().encode(&batch, &mut out).expect("all values fit");
        let lines: Vec<&[u8]> = out.split_inclusive(|&byte| byte == b'\n').collect();
        prop_assert_eq!(lines.len(), batch.num_rows());
        for line in lines {
            let tabs = line.iter().filter(|&&byte| byte == b'\t').count();
            prop_assert_eq!(tabs, types.len().saturating_sub(1));
        }
    }
}
