//! Tests of values that the target's column cannot hold, and of batches with other columns than the bulk load.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int16Array, Int32Array, StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use inrush_rows::timestamp;
use inrush_tds::EncodeError;

use crate::batches::{CP1252, TestColumn, UTF8, batch, encoder, message, target_and_batch};
use crate::decoder;

const DAY: i64 = 86_400_000_000;

/// The message about row 1 of a column whose rows 0 and 2 fit.
fn refusal(type_info: &[u8], is_nullable: bool, array: ArrayRef) -> String {
    let column = TestColumn {
        type_info: type_info.to_vec(),
        is_nullable,
        array,
    };
    let rows = column.array.len();
    let (target, batch) = target_and_batch(&[column], rows);
    let mut encoder = encoder(&target, 512);
    encoder.begin();
    let before = {
        let mut other = encoder.clone();
        other.end();
        other.ready().to_vec()
    };
    let EncodeError::Value(misfit) = encoder
        .encode(&batch)
        .expect_err("a value that does not fit")
    else {
        panic!("the column itself does not fit");
    };
    assert_eq!((misfit.row, misfit.column_index), (1, 0));
    assert_eq!(encoder.misfits(&batch), Ok(vec![misfit.clone()]));
    encoder.end();
    assert_eq!(
        encoder.ready(),
        before,
        "nothing of the batch is in the message"
    );
    // The rows before and after it fit.
    for row in [0, 2] {
        encoder.begin();
        encoder.encode(&batch.slice(row, 1)).expect("the row fits");
    }
    let message = misfit.to_string();
    let place = "column \"c0\", row 1 of the batch: ";
    message
        .strip_prefix(place)
        .expect("where the value is")
        .to_owned()
}

fn text_type(token: u8, length: u16, collation: [u8; 5]) -> Vec<u8> {
    [&[token], &length.to_le_bytes()[..], &collation].concat()
}

fn decimals(values: [i128; 3], scale: i8) -> ArrayRef {
    Arc::new(
        Decimal128Array::from(values.to_vec())
            .with_precision_and_scale(38, scale)
            .expect("38 digits hold them"),
    )
}

fn timestamps(value: i64) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(vec![0, value, 0]))
}

fn texts(value: &str) -> ArrayRef {
    Arc::new(StringViewArray::from(vec!["a", value, "b"]))
}

#[test]
fn values_that_do_not_fit() {
    let int_null: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(2)]));
    let cases: Vec<(Vec<u8>, ArrayRef, &str)> = vec![
        (
            vec![0x26, 1],
            Arc::new(Int16Array::from(vec![0, 256, 255])),
            "256 is outside the range of tinyint (0 to 255); use smallint",
        ),
        (
            vec![0x26, 1],
            Arc::new(Int16Array::from(vec![0, -1, 255])),
            "-1 is outside the range of tinyint (0 to 255); use smallint",
        ),
        (
            vec![0x6d, 4],
            Arc::new(Float32Array::from(vec![0.0, f32::NAN, f32::MAX])),
            "NaN has no counterpart in SQL Server: make it NULL with a null marker, or load it as text",
        ),
        (
            vec![0x6d, 8],
            Arc::new(Float64Array::from(vec![0.0, f64::NEG_INFINITY, f64::MIN])),
            "-Infinity has no counterpart in SQL Server: make it NULL with a null marker, or load it as text",
        ),
        (
            vec![0x6a, 5, 9, 2],
            decimals([999_999_999, 1_000_000_000, -999_999_999], 2),
            "a number with 10 digits is outside the range of decimal(9,2) (9 digits)",
        ),
        (
            vec![0x6c, 17, 38, 0],
            decimals([10i128.pow(38) - 1, i128::MIN, 0], 0),
            "a number with 39 digits is outside the range of numeric(38,0) (38 digits)",
        ),
        (
            vec![0x6e, 8],
            decimals(
                [i64::MAX.into(), i128::from(i64::MAX) + 1, i64::MIN.into()],
                4,
            ),
            "922337203685477.5808 is outside the range of money (-922337203685477.5808 to 922337203685477.5807)",
        ),
        (
            vec![0x6e, 4],
            decimals(
                [i32::MAX.into(), i128::from(i32::MIN) - 1, i32::MIN.into()],
                4,
            ),
            "-214748.3649 is outside the range of smallmoney (-214748.3648 to 214748.3647); use money",
        ),
        (
            vec![0x28],
            Arc::new(Date32Array::from(vec![-719_162, -719_163, 2_932_896])),
            "0001-12-31 BC is outside the range of date (0001-01-01 to 9999-12-31)",
        ),
        (
            vec![0x28],
            Arc::new(Date32Array::from(vec![0, i32::MAX, 0])),
            "infinity is outside the range of date (0001-01-01 to 9999-12-31)",
        ),
        (
            vec![0x29, 7],
            Arc::new(Time64MicrosecondArray::from(vec![0, DAY, DAY - 1])),
            "24:00:00 is outside the range of time(7) (00:00:00 to less than 24:00:00)",
        ),
        (
            vec![0x29, 3],
            Arc::new(Time64MicrosecondArray::from(vec![0, 1_500, 1_000])),
            "00:00:00.0015 would be rounded: time(3) holds steps of 0.001 s; use datetime2(6)",
        ),
        (
            vec![0x2a, 0],
            timestamps(-1),
            "1969-12-31 23:59:59.999999 would be rounded: datetime2(0) holds whole seconds; use datetime2(6)",
        ),
        (
            vec![0x2a, 7],
            timestamps(timestamp::INFINITY),
            "infinity is outside the range of datetime2(7) (0001-01-01 to 9999-12-31)",
        ),
        (
            vec![0x2a, 7],
            timestamps(2_932_897 * DAY),
            "10000-01-01 00:00:00 is outside the range of datetime2(7) (0001-01-01 to 9999-12-31)",
        ),
        (
            vec![0x6f, 8],
            timestamps((-53_690 - 25_567) * DAY - 1),
            "1752-12-31 23:59:59.999999 is outside the range of datetime (1753-01-01 to 9999-12-31 23:59:59.997); use datetime2(6)",
        ),
        (
            vec![0x6f, 8],
            timestamps(1_000),
            "1970-01-01 00:00:00.001 would be rounded: datetime holds steps of 1/300 s, shown as .000, .003 and .007; \
             use datetime2(6)",
        ),
        (
            vec![0x6f, 4],
            timestamps(1_000_000),
            "1970-01-01 00:00:01 would be rounded: smalldatetime holds whole minutes; use datetime2(6)",
        ),
        (
            vec![0x6f, 4],
            timestamps((65_536 - 25_567) * DAY),
            "2079-06-07 00:00:00 is outside the range of smalldatetime (1900-01-01 to 2079-06-06 23:59); use datetime2(6)",
        ),
        (
            text_type(0xa7, 3, UTF8),
            texts("äö"),
            "the value has 4 bytes, varchar(3) holds 3: shorten it or widen the column",
        ),
        (
            text_type(0xa7, 3, CP1252),
            texts("abcd"),
            "the value has 4 bytes, varchar(3) holds 3: shorten it or widen the column",
        ),
        (
            text_type(0xaf, 3, CP1252),
            texts("äöüß"),
            "the value has 4 bytes, char(3) holds 3: shorten it or widen the column",
        ),
        (
            text_type(0xa7, 30, CP1252),
            texts("Łódź"),
            "the character 'Ł' (U+0141) is not in code page 1252 of the column: use nvarchar, or a collation that ends in _UTF8",
        ),
        (
            // n counts units: ten emoji fill nvarchar(20).
            text_type(0xe7, 40, CP1252),
            texts("😀😀😀😀😀😀😀😀😀😀😀"),
            "the value has 22 units of UTF-16, nvarchar(20) holds 20: shorten it or widen the column",
        ),
        (
            vec![0xa5, 2, 0],
            Arc::new(BinaryViewArray::from(vec![&b""[..], b"abc", b"ab"])),
            "the value has 3 bytes, varbinary(2) holds 2: shorten it or widen the column",
        ),
        (
            vec![0xad, 2, 0],
            Arc::new(BinaryViewArray::from(vec![&b"ab"[..], b"a", b"ab"])),
            "the value has 1 bytes; binary(2) would pad it with zeros: use varbinary(2)",
        ),
    ];
    for (type_info, array, message) in cases {
        assert_eq!(refusal(&type_info, true, array), message);
    }
    assert_eq!(
        refusal(&[0x26, 4], false, int_null.clone()),
        "NULL, but the column is NOT NULL"
    );
    assert_eq!(
        refusal(&[0x38], true, int_null),
        "NULL, but the column is NOT NULL"
    );
}

/// Values at the ends of a type's range fit, and so do ten emoji in nvarchar(20).
#[test]
fn values_that_just_fit() {
    for (type_info, array) in [
        (text_type(0xe7, 40, CP1252), texts("😀😀😀😀😀😀😀😀😀😀")),
        (text_type(0xa7, 4, UTF8), texts("äö")),
        (text_type(0xa7, 2, CP1252), texts("äö")),
        (vec![0x6f, 8], timestamps(2_932_897 * DAY - 3_000)),
    ] {
        let column = TestColumn {
            type_info,
            is_nullable: true,
            array,
        };
        let (target, batch) = target_and_batch(&[column], 3);
        let packets = message(&mut encoder(&target, 512), &[batch]).expect("all values fit");
        assert_eq!(
            decoder::decode(&decoder::payload(&packets, 512)).rows.len(),
            3
        );
    }
}

/// The bytes of a value that is NULL are not checked.
#[test]
fn nulls_are_not_looked_at() {
    let values = Int16Array::new(vec![1, 300, 2].into(), Some(vec![true, false, true].into()));
    let column = TestColumn {
        type_info: vec![0x26, 1],
        is_nullable: true,
        array: Arc::new(values),
    };
    let (target, batch) = target_and_batch(&[column], 3);
    let packets = message(&mut encoder(&target, 512), &[batch]).expect("all values fit");
    let rows = decoder::decode(&decoder::payload(&packets, 512)).rows;
    assert_eq!(rows[1], [decoder::Value::Null]);
}

#[test]
fn batches_of_other_columns() {
    let column = TestColumn {
        type_info: vec![0x6a, 9, 15, 2],
        is_nullable: true,
        array: decimals([1, 2, 3], 2),
    };
    let (target, fits) = target_and_batch(std::slice::from_ref(&column), 3);
    let mut encoder = encoder(&target, 512);
    assert_eq!(encoder.check(fits.schema_ref()), Ok(()));
    encoder.begin();
    let two = batch(vec![column.array.clone(), column.array], 3);
    let other = batch(vec![decimals([1, 2, 3], 3)], 3);
    for (batch, message) in [
        (
            two,
            "the batch has 2 columns but the bulk load was begun with 1",
        ),
        (
            other,
            "column \"c0\" is decimal(15,2) in the target but comes as Arrow Decimal128(38, 3)",
        ),
    ] {
        let error = encoder.encode(&batch).expect_err("other columns");
        assert!(error.to_string().starts_with(message), "{error}");
        assert_eq!(encoder.check(batch.schema_ref()), Err(error.clone()));
        assert_eq!(encoder.misfits(&batch), Err(error));
    }
}
