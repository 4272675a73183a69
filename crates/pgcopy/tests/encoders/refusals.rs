//! Tests of refused batches: the message, and that the output does not change.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::{
    ArrayRef, BinaryViewArray, Date32Array, Int32Array, Int64Array, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use inrush_pgcopy::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN, FIELD_BYTES_MAX};
use inrush_pgcopy::{BinaryEncoder, EncodeError, PgType, TextEncoder};
use inrush_rows::timestamp;

use crate::batches::{batch, interval_fields};

const ALL_TYPES: [PgType; 18] = [
    PgType::Bool,
    PgType::Int2,
    PgType::Int4,
    PgType::Int8,
    PgType::Float4,
    PgType::Float8,
    PgType::Numeric,
    PgType::Text,
    PgType::Jsonb,
    PgType::Date,
    PgType::Time,
    PgType::Timestamp,
    PgType::Interval,
    PgType::Uuid,
    PgType::Bytea,
    PgType::Char,
    PgType::Money,
    PgType::TimeTz,
];

/// Every pair of a target's type and an Arrow type that can be encoded.
fn fits(pg_type: PgType, data_type: &DataType) -> bool {
    use DataType as D;
    let pairs: &[(PgType, D)] = &[
        (PgType::Bool, D::Boolean),
        (PgType::Int2, D::Int16),
        (PgType::Int4, D::Int32),
        (PgType::Int8, D::Int64),
        (PgType::Float4, D::Float32),
        (PgType::Float8, D::Float64),
        (PgType::Numeric, D::Decimal128(15, 2)),
        (PgType::Numeric, D::Decimal128(38, 38)),
        (PgType::Numeric, D::Utf8View),
        (PgType::Text, D::Utf8View),
        (PgType::Jsonb, D::Utf8View),
        (PgType::Date, D::Date32),
        (PgType::Time, D::Time64(TimeUnit::Microsecond)),
        (PgType::Timestamp, D::Timestamp(TimeUnit::Microsecond, None)),
        (
            PgType::Timestamp,
            D::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ),
        (PgType::Interval, D::Struct(interval_fields())),
        (PgType::Uuid, D::FixedSizeBinary(16)),
        (PgType::Bytea, D::BinaryView),
        (PgType::Char, D::Utf8View),
        (PgType::Money, D::Decimal128(15, 2)),
        (PgType::TimeTz, D::FixedSizeBinary(12)),
    ];
    pairs.contains(&(pg_type, data_type.clone()))
}

#[test]
fn every_pair_of_types() {
    use DataType as D;
    let data_types = [
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::Float64,
        D::Decimal128(15, 2),
        D::Decimal128(38, 38),
        D::Decimal128(5, -2),
        D::Decimal256(40, 2),
        D::Utf8,
        D::Utf8View,
        D::Binary,
        D::BinaryView,
        D::FixedSizeBinary(12),
        D::FixedSizeBinary(15),
        D::FixedSizeBinary(16),
        D::Date32,
        D::Date64,
        D::Time64(TimeUnit::Microsecond),
        D::Time64(TimeUnit::Nanosecond),
        D::Timestamp(TimeUnit::Microsecond, None),
        D::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        D::Timestamp(TimeUnit::Nanosecond, None),
        D::Struct(interval_fields()),
        D::Struct(interval_fields().iter().rev().cloned().collect()),
        D::Interval(arrow_schema::IntervalUnit::MonthDayNano),
    ];
    for data_type in data_types {
        let schema = Schema::new(vec![Field::new("x", data_type.clone(), true)]);
        for pg_type in ALL_TYPES {
            let checked = BinaryEncoder::new(vec![pg_type]).check(&schema);
            assert_eq!(
                checked.is_ok(),
                fits(pg_type, &data_type),
                "{pg_type:?} {data_type}"
            );
        }
        let checked = TextEncoder::new().check(&schema);
        let any_fits = ALL_TYPES.iter().any(|&pg_type| fits(pg_type, &data_type));
        assert_eq!(checked.is_ok(), any_fits, "text of {data_type}");
    }
}

/// `encode` refuses what `check` refuses, even if `check` was not called.
#[test]
fn a_type_that_does_not_fit() {
    let mut out = b"before".to_vec();
    let error = BinaryEncoder::new(vec![PgType::Int8])
        .encode(
            &batch(vec![Arc::new(Int32Array::from(vec![1]))], 1),
            &mut out,
        )
        .expect_err("Int32 is not Int64");
    assert_eq!(
        error.to_string(),
        "column \"c0\" is Int8 in the target but comes as Arrow Int32: it must be converted to \
         Int64 first"
    );
    assert_eq!(out, b"before");
}

#[test]
fn another_number_of_columns() {
    let mut out = Vec::new();
    let error = BinaryEncoder::new(vec![PgType::Int4; 2])
        .encode(
            &batch(vec![Arc::new(Int32Array::from(vec![1]))], 1),
            &mut out,
        )
        .expect_err("one column is not two");
    assert_eq!(
        error,
        EncodeError::ColumnCount {
            expected: 2,
            found: 1
        }
    );
    assert!(out.is_empty());
}

#[test]
fn more_columns_than_a_tuple_counts() {
    let fields: Vec<Field> = (0..32_768)
        .map(|index| Field::new(format!("c{index}"), DataType::Int32, true))
        .collect();
    let schema = Schema::new(fields);
    let error = EncodeError::TooManyColumns { found: 32_768 };
    let encoder = BinaryEncoder::new(vec![PgType::Int4; 32_768]);
    assert_eq!(encoder.check(&schema), Err(error.clone()));
    assert_eq!(TextEncoder::new().check(&schema), Err(error));
}

/// Encodes two columns, the second of which has the value at fault in its row 2.
fn refuse(pg_type: PgType, array: ArrayRef) -> [String; 2] {
    let rows = array.len();
    let first = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let batch = batch(vec![first, array], rows);
    let mut out = b"before".to_vec();
    let binary = BinaryEncoder::new(vec![PgType::Int8, pg_type])
        .encode(&batch, &mut out)
        .expect_err("the value does not fit");
    assert_eq!(out, b"before");
    let text = TextEncoder::new()
        .encode(&batch, &mut out)
        .expect_err("the value does not fit");
    assert_eq!(out, b"before");
    [binary.to_string(), text.to_string()]
}

macro_rules! out_of_range {
    ($($name:ident: $pg_type:ident, $array:ident, $good:expr, $bad:expr => $words:expr;)*) => {
        $(#[test]
        fn $name() {
            for bad in $bad {
                let array = $array::from(vec![$good, $good, bad, $good]);
                let expected = format!(
                    "column \"c1\", row 2 of the batch: {bad} {}", $words
                );
                let words = refuse(PgType::$pg_type, Arc::new(array));
                assert_eq!(words, [expected.clone(), expected]);
            }
        })*
    };
}

out_of_range! {
    dates: Date, Date32Array, 0,
        [i32::MIN + 1, DATE_DAYS_MIN - 1, DATE_DAYS_MAX + 1, i32::MAX - 1]
        => "days since 1970-01-01 are outside the range of date (4714-11-24 BC to 5874897-12-31)";
    times: Time, Time64MicrosecondArray, 0, [i64::MIN, -1, 86_400_000_001, i64::MAX]
        => "microseconds since midnight are outside the range of time (00:00:00 to 24:00:00)";
    timestamps: Timestamp, TimestampMicrosecondArray, 0,
        [
            timestamp::MAX + 1,
            timestamp::INFINITY - 1,
            timestamp::MINUS_INFINITY + 1,
            timestamp::MIN - 1,
        ]
        => "microseconds since 1970-01-01 are outside the range of timestamp \
            (4714-11-24 00:00:00 BC to 294276-12-31 23:59:59.999999)";
}

/// One byte more than a field may have, in memory that is never touched.
#[test]
fn a_field_that_is_too_long() {
    let length = FIELD_BYTES_MAX + 1;
    let buffer = Buffer::from_vec(vec![0u8; length as usize]);
    let view = make_view(buffer.as_slice(), 0, 0);
    let array = BinaryViewArray::try_new(vec![0, 0, view, 0].into(), vec![buffer], None)
        .expect("views within the buffer");
    let expected = "column \"c1\", row 2 of the batch: 1073741820 bytes are more than a field of \
                    PostgreSQL can hold (1073741819): shorten it or load it as a large object";
    assert_eq!(refuse(PgType::Bytea, Arc::new(array)), [expected; 2]);
}

/// The bytes in the slot of a NULL are never read.
#[test]
fn null_slots_may_hold_anything() {
    let dates = Date32Array::new(vec![i32::MIN + 1, 0].into(), Some(vec![false, true].into()));
    let (_, _, nulls) = StringViewArray::from(vec![None, Some("1")]).into_parts();
    let (views, buffers, _) = StringViewArray::from(vec!["no number", "1"]).into_parts();
    let numbers = StringViewArray::new(views, buffers, nulls);
    let batch = batch(vec![Arc::new(dates), Arc::new(numbers)], 2);
    let mut out = Vec::new();
    BinaryEncoder::new(vec![PgType::Date, PgType::Numeric])
        .encode(&batch, &mut out)
        .expect("NULLs have no value");
    TextEncoder::new()
        .encode(&batch.project(&[0]).expect("a column"), &mut out)
        .expect("NULLs have no value");
}
