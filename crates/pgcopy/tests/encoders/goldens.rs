//! Bytes written by hand, with the sentences of PostgreSQL's documentation that require them (chapter "COPY", section
//! "Binary Format"), and of the types' `_send` functions.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_buffer::Buffer;
use inrush_pgcopy::{BinaryEncoder, PgType};
use inrush_rows::timestamp;

use crate::batches::{batch, intervals, uuids};

/// The tuples of a batch of one column.
fn tuples(pg_type: PgType, array: ArrayRef) -> Vec<u8> {
    let rows = array.len();
    let mut out = Vec::new();
    BinaryEncoder::new(vec![pg_type])
        .encode(&batch(vec![array], rows), &mut out)
        .expect("all values fit");
    out
}

/// "Each tuple begins with a 16-bit integer count of the number of fields in the tuple. [...]
/// Then, repeated for each field in the tuple, there is a 32-bit length word followed by that
/// many bytes of field data. (The length word does not include itself, and can be zero.)"
fn tuple_of_one(field: &[u8]) -> Vec<u8> {
    [&[0, 1], &(field.len() as u32).to_be_bytes()[..], field].concat()
}

macro_rules! golden {
    ($($name:ident: $pg_type:ident, $array:expr => $field:expr;)*) => {
        $(#[test]
        fn $name() {
            let field: &[u8] = &$field;
            assert_eq!(tuples(PgType::$pg_type, Arc::new($array)), tuple_of_one(field));
        })*
    };
}

golden! {
    bool_true: Bool, BooleanArray::from(vec![true]) => [1];
    bool_false: Bool, BooleanArray::from(vec![false]) => [0];
    // "All integers are in network byte order" (most significant byte first).
    int2: Int2, Int16Array::from(vec![-2]) => [0xff, 0xfe];
    int4: Int4, Int32Array::from(vec![0x0102_0304]) => [1, 2, 3, 4];
    int8: Int8, Int64Array::from(vec![0x0102_0304_0506_0708]) => [1, 2, 3, 4, 5, 6, 7, 8];
    float4: Float4, Float32Array::from(vec![1.0]) => [0x3f, 0x80, 0, 0];
    float8: Float8, Float64Array::from(vec![-2.0]) => [0xc0, 0, 0, 0, 0, 0, 0, 0];
    // ndigits 2, weight 0, sign 0, dscale 2; digits 12 and 3400.
    numeric: Numeric, decimal(1234, 2) => [0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x0d, 0x48];
    // ndigits 1, weight 1, sign 0x4000, dscale 0; digit 5, and a zero that is not sent.
    numeric_negative: Numeric, decimal(-50_000, 0) => [0, 1, 0, 1, 0x40, 0, 0, 0, 0, 5];
    // ndigits 1, weight -2, dscale 6; digit 100.
    numeric_small: Numeric, decimal(1, 6) => [0, 1, 0xff, 0xfe, 0, 0, 0, 6, 0, 100];
    numeric_zero: Numeric, decimal(0, 2) => [0, 0, 0, 0, 0, 0, 0, 2];
    numeric_text: Numeric, StringViewArray::from(vec!["-012.340"]) =>
        [0, 2, 0, 0, 0x40, 0, 0, 3, 0, 12, 0x0d, 0x48];
    numeric_nan: Numeric, StringViewArray::from(vec!["NaN"]) => [0, 0, 0, 0, 0xc0, 0, 0, 0];
    text: Text, StringViewArray::from(vec!["Grüße"]) => *b"Gr\xc3\xbc\xc3\x9fe";
    text_empty: Text, StringViewArray::from(vec![""]) => [];
    // jsonb_send: the version, 1, and the text.
    jsonb: Jsonb, StringViewArray::from(vec!["{}"]) => *b"\x01{}";
    // Days and microseconds from 2000-01-01.
    date: Date, Date32Array::from(vec![10_957]) => [0, 0, 0, 0];
    date_before: Date, Date32Array::from(vec![10_956]) => [0xff, 0xff, 0xff, 0xff];
    date_infinite: Date, Date32Array::from(vec![i32::MAX]) => [0x7f, 0xff, 0xff, 0xff];
    date_minus_infinite: Date, Date32Array::from(vec![i32::MIN]) => [0x80, 0, 0, 0];
    time: Time, Time64MicrosecondArray::from(vec![86_400_000_000]) =>
        [0, 0, 0, 0x14, 0x1d, 0xd7, 0x60, 0];
    timestamp: Timestamp, TimestampMicrosecondArray::from(vec![946_684_800_000_001]) =>
        [0, 0, 0, 0, 0, 0, 0, 1];
    // 2^63 - 1 less the microseconds from 1970 to 2000, and one more.
    timestamp_last_of_arrow: Timestamp, TimestampMicrosecondArray::from(vec![i64::MAX]) =>
        [0x7f, 0xfc, 0xa2, 0xfe, 0xc4, 0xc8, 0x1f, 0xff];
    timestamp_first_past_arrow: Timestamp, TimestampMicrosecondArray::from(vec![i64::MIN]) =>
        [0x7f, 0xfc, 0xa2, 0xfe, 0xc4, 0xc8, 0x20, 0];
    // END_TIMESTAMP, 9223371331200000000, less one.
    timestamp_last: Timestamp, TimestampMicrosecondArray::from(vec![timestamp::MAX]) =>
        [0x7f, 0xff, 0xff, 0x5b, 0xb3, 0xb2, 0x9f, 0xff];
    timestamp_infinite: Timestamp, TimestampMicrosecondArray::from(vec![timestamp::INFINITY]) =>
        [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    timestamp_minus_infinite:
        Timestamp, TimestampMicrosecondArray::from(vec![timestamp::MINUS_INFINITY]) =>
        [0x80, 0, 0, 0, 0, 0, 0, 0];
    bytea: Bytea, BinaryViewArray::from(vec![&b"\0\xff"[..]]) => [0, 0xff];
}

fn decimal(value: i128, scale: i8) -> Decimal128Array {
    Decimal128Array::from(vec![value])
        .with_precision_and_scale(38, scale)
        .expect("38 digits hold it")
}

#[test]
fn uuid() {
    assert_eq!(
        tuples(PgType::Uuid, uuids(&[*b"0123456789abcdef"], None)),
        tuple_of_one(b"0123456789abcdef")
    );
}

/// charrecv: a byte. cash_recv: an int64. timetz_recv: an int64 and an int32.
#[test]
fn bytes_money_and_times_with_zone() {
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["\\303"]));
    assert_eq!(tuples(PgType::Char, texts), tuple_of_one(&[0xc3]));
    let money: ArrayRef = Arc::new(decimal(-150, 2));
    assert_eq!(
        tuples(PgType::Money, money),
        tuple_of_one(&(-150i64).to_be_bytes())
    );
    let time: [u8; 12] = *b"0123456789ab";
    let times: ArrayRef = Arc::new(FixedSizeBinaryArray::new(
        12,
        Buffer::from_vec(time.to_vec()),
        None,
    ));
    assert_eq!(tuples(PgType::TimeTz, times), tuple_of_one(&time));
}

#[test]
fn interval() {
    // interval_send: microseconds, days, months.
    assert_eq!(
        tuples(PgType::Interval, intervals(&[(1, 2, 3)], None)),
        tuple_of_one(&[0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1])
    );
}

/// "As a special case, -1 indicates a NULL field value. No value bytes follow in the NULL
/// case."
#[test]
fn null() {
    assert_eq!(
        tuples(PgType::Int8, Arc::new(Int64Array::from(vec![None]))),
        [0, 1, 0xff, 0xff, 0xff, 0xff]
    );
}

/// "The file header consists of 15 bytes of fixed fields, followed by a variable-length header
/// extension area": the signature, 32 bits of flags, and the length of the extension.
#[test]
fn header() {
    let mut out = Vec::new();
    BinaryEncoder::new(Vec::new()).begin(&mut out);
    assert_eq!(out, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
}

/// "The file trailer consists of a 16-bit integer word containing -1."
#[test]
fn trailer() {
    let mut out = Vec::new();
    BinaryEncoder::new(Vec::new()).end(&mut out);
    assert_eq!(out, [0xff, 0xff]);
}
