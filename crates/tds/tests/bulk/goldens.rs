//! Bytes written by hand, next to the clauses of [MS-TDS] that require them.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_buffer::Buffer;

use crate::batches::{CP1252, TestColumn, UTF8, encoder, message, target_and_batch};
use crate::decoder;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The rows of one column, without the token of each: the value's bytes.
fn value(type_info: &[u8], is_nullable: bool, array: ArrayRef) -> Vec<u8> {
    let rows = array.len();
    let column = TestColumn {
        type_info: type_info.to_vec(),
        is_nullable,
        array,
    };
    let (target, batch) = target_and_batch(&[column], rows);
    let packets = message(&mut encoder(&target, 32_767), &[batch]).expect("all values fit");
    let payload = decoder::payload(&packets, 32_767);
    // Token, count; user type, flags, type, the name "c0" after its length.
    let description = 3 + 6 + type_info.len() + 5;
    let rows = &payload[description..payload.len() - 13];
    assert_eq!(rows[0], 0xd1, "the token of a row");
    rows[1..].to_vec()
}

macro_rules! golden {
    ($($name:ident: $type_info:expr, $array:expr => $value:expr;)*) => {
        $(#[test]
        fn $name() {
            let expected: &[u8] = &$value;
            let is_nullable = !matches!($type_info[0], 0x30..=0x3e | 0x7a | 0x7f);
            assert_eq!(value(&$type_info, is_nullable, Arc::new($array)), expected);
        })*
    };
}

fn text_type(token: u8, length: u16, collation: [u8; 5]) -> Vec<u8> {
    [&[token], &length.to_le_bytes()[..], &collation].concat()
}

fn decimal(value: i128, scale: i8) -> Decimal128Array {
    Decimal128Array::from(vec![value])
        .with_precision_and_scale(38, scale)
        .expect("38 digits hold it")
}

fn timestamp(microseconds: i64) -> TimestampMicrosecondArray {
    TimestampMicrosecondArray::from(vec![microseconds])
}

fn text(text: &str) -> StringViewArray {
    StringViewArray::from(vec![text])
}

golden! {
    // 2.2.5.4.1: fixed types have no length, all numbers are little-endian.
    tinyint: [0x30], Int16Array::from(vec![255]) => [0xff];
    bit: [0x32], BooleanArray::from(vec![true]) => [1];
    smallint: [0x34], Int16Array::from(vec![-2]) => [0xfe, 0xff];
    int: [0x38], Int32Array::from(vec![0x0102_0304]) => [4, 3, 2, 1];
    bigint: [0x7f], Int64Array::from(vec![-1]) => [0xff; 8];
    real: [0x3b], Float32Array::from(vec![1.0]) => [0, 0, 0x80, 0x3f];
    float: [0x3e], Float64Array::from(vec![-2.0]) => [0, 0, 0, 0, 0, 0, 0, 0xc0];
    // 2.2.5.4.2: INTN and its like have a length of one byte, of which zero is NULL.
    tinyint_n: [0x26, 1], Int16Array::from(vec![0]) => [1, 0];
    smallint_n: [0x26, 2], Int16Array::from(vec![i16::MIN]) => [2, 0, 0x80];
    int_n: [0x26, 4], Int32Array::from(vec![i32::MAX]) => [4, 0xff, 0xff, 0xff, 0x7f];
    bigint_n: [0x26, 8], Int64Array::from(vec![i64::MIN]) => [8, 0, 0, 0, 0, 0, 0, 0, 0x80];
    int_null: [0x26, 4], Int32Array::from(vec![None]) => [0];
    bit_n: [0x68, 1], BooleanArray::from(vec![false]) => [1, 0];
    bit_null: [0x68, 1], BooleanArray::from(vec![None]) => [0];
    real_n: [0x6d, 4], Float32Array::from(vec![f32::MIN_POSITIVE]) => [4, 0, 0, 0x80, 0];
    float_n: [0x6d, 8], Float64Array::from(vec![0.0]) => [8, 0, 0, 0, 0, 0, 0, 0, 0];
    // 2.2.5.5.1.4: money is ten thousandths, the upper four bytes first.
    money: [0x3c], decimal(0x0102_0304_0506_0708, 4) => [4, 3, 2, 1, 8, 7, 6, 5];
    money_n: [0x6e, 8], decimal(-1, 4) => [8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    money_last: [0x6e, 8], decimal(i64::MAX.into(), 4) => [8, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff];
    smallmoney: [0x7a], decimal(10_000, 4) => [0x10, 0x27, 0, 0];
    smallmoney_first: [0x6e, 4], decimal(i32::MIN.into(), 4) => [4, 0, 0, 0, 0x80];
    // 2.2.5.5.1.5: a sign (1 is not negative) and a magnitude of 4, 8, 12 or 16 bytes.
    decimal_9: [0x6a, 5, 9, 2], decimal(-999_999_999, 2) => [5, 0, 0xff, 0xc9, 0x9a, 0x3b];
    decimal_10: [0x6a, 9, 10, 0], decimal(9_999_999_999, 0) => [9, 1, 0xff, 0xe3, 0x0b, 0x54, 2, 0, 0, 0];
    decimal_19: [0x6a, 9, 19, 19], decimal(9_999_999_999_999_999_999, 19) =>
        [9, 1, 0xff, 0xff, 0xe7, 0x89, 4, 0x23, 0xc7, 0x8a];
    decimal_20: [0x6c, 13, 20, 0], decimal(-1, 0) => [13, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    decimal_28: [0x6c, 13, 28, 4], decimal(1 << 92, 4) => [13, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10];
    decimal_29: [0x6c, 17, 29, 0], decimal(0, 0) => [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    decimal_38: [0x6c, 17, 38, 38], decimal(-(10i128.pow(38) - 1), 38) =>
        [17, 0, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x22, 0x8a, 0x09, 0x7a, 0xc4, 0x86, 0x5a, 0xa8, 0x4c, 0x3b, 0x4b];
    // The server describes more bytes than the precision needs.
    decimal_9_of_17: [0x6a, 17, 9, 2], decimal(-999_999_999, 2) =>
        [17, 0, 0xff, 0xc9, 0x9a, 0x3b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    decimal_15_of_17: [0x6c, 17, 15, 2], decimal(256, 2) => [17, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    decimal_null: [0x6a, 9, 15, 2],
        Decimal128Array::from(vec![None]).with_precision_and_scale(15, 2).expect("no digits") => [0];
    // 2.2.5.5.1.8: days since 0001-01-01, three bytes.
    date_first: [0x28], Date32Array::from(vec![-719_162]) => [3, 0, 0, 0];
    date_1970: [0x28], Date32Array::from(vec![0]) => [3, 0x3a, 0xf9, 0x0a];
    date_last: [0x28], Date32Array::from(vec![2_932_896]) => [3, 0xda, 0xb9, 0x37];
    date_null: [0x28], Date32Array::from(vec![None]) => [0];
    // 2.2.5.5.1.8: steps of 10^-n s, in 3, 4 or 5 bytes.
    time_0: [0x29, 0], Time64MicrosecondArray::from(vec![DAY - 1_000_000]) => [3, 0x7f, 0x51, 1];
    time_2: [0x29, 2], Time64MicrosecondArray::from(vec![10_000]) => [3, 1, 0, 0];
    time_3: [0x29, 3], Time64MicrosecondArray::from(vec![1_000]) => [4, 1, 0, 0, 0];
    time_4: [0x29, 4], Time64MicrosecondArray::from(vec![DAY - 100]) => [4, 0xff, 0x97, 0x7f, 0x33];
    time_5: [0x29, 5], Time64MicrosecondArray::from(vec![10]) => [5, 1, 0, 0, 0, 0];
    time_6: [0x29, 6], Time64MicrosecondArray::from(vec![DAY - 1]) => [5, 0xff, 0x5f, 0xd7, 0x1d, 0x14];
    time_7: [0x29, 7], Time64MicrosecondArray::from(vec![DAY - 1]) => [5, 0xf6, 0xbf, 0x69, 0x2a, 0xc9];
    datetime2_0: [0x2a, 0], timestamp(1_000_000) => [6, 1, 0, 0, 0x3a, 0xf9, 0x0a];
    datetime2_7: [0x2a, 7], timestamp(-1) => [8, 0xf6, 0xbf, 0x69, 0x2a, 0xc9, 0x39, 0xf9, 0x0a];
    datetime2_null: [0x2a, 3], TimestampMicrosecondArray::from(vec![None]) => [0];
    // UTC, and minutes of an offset.
    datetimeoffset: [0x2b, 3], timestamp(1_000).with_timezone("UTC") => [9, 1, 0, 0, 0, 0x3a, 0xf9, 0x0a, 0, 0];
    // 2.2.5.5.1.7: days since 1900-01-01, and 1/300 s.
    datetime: [0x3d], timestamp(7_000) => [0xdf, 0x63, 0, 0, 2, 0, 0, 0];
    datetime_first: [0x6f, 8], timestamp((-53_690 - 25_567) * DAY) => [8, 0x46, 0x2e, 0xff, 0xff, 0, 0, 0, 0];
    datetime_last: [0x6f, 8], timestamp(2_932_897 * DAY - 3_000) => [8, 0x7f, 0x24, 0x2d, 0, 0xff, 0x81, 0x8b, 1];
    smalldatetime: [0x3a], timestamp(61 * 60_000_000) => [0xdf, 0x63, 61, 0];
    smalldatetime_last: [0x6f, 4], timestamp((65_536 - 25_567) * DAY - 60_000_000) => [4, 0xff, 0xff, 0x9f, 5];
    // 2.2.5.4.3: a length of two bytes, of which 0xFFFF is NULL.
    char_is_not_padded: text_type(0xaf, 10, CP1252), text("ab") => *b"\x02\0ab";
    varchar_of_a_code_page: text_type(0xa7, 10, CP1252), text("Grüße €") => *b"\x07\0Gr\xfc\xdfe \x80";
    varchar_of_utf8: text_type(0xa7, 10, UTF8), text("Grüße") => *b"\x07\0Gr\xc3\xbc\xc3\x9fe";
    varchar_empty: text_type(0xa7, 10, UTF8), text("") => [0, 0];
    varchar_null: text_type(0xa7, 10, CP1252), StringViewArray::from(vec![None::<&str>]) => [0xff, 0xff];
    nchar: text_type(0xef, 8, CP1252), text("a€") => [4, 0, b'a', 0, 0xac, 0x20];
    nvarchar_of_a_pair: text_type(0xe7, 4, CP1252), text("😀") => [4, 0, 0x3d, 0xd8, 0x00, 0xde];
    nvarchar_null: text_type(0xe7, 4, CP1252), StringViewArray::from(vec![None::<&str>]) => [0xff, 0xff];
    binary: [0xad, 2, 0], BinaryViewArray::from(vec![&b"\0\xff"[..]]) => [2, 0, 0, 0xff];
    varbinary: [0xa5, 2, 0], BinaryViewArray::from(vec![&b""[..]]) => [0, 0];
    // 2.2.5.2.3: a total, or 0xFF..FE for an unknown one; chunks, and a chunk of no bytes as the end. An empty value has the end alone.
    varchar_max: text_type(0xa7, 0xffff, UTF8), text("ab") => [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0];
    varchar_max_empty: text_type(0xa7, 0xffff, UTF8), text("") => [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    varchar_max_null: text_type(0xa7, 0xffff, UTF8), StringViewArray::from(vec![None::<&str>]) => [0xff; 8];
    nvarchar_max: text_type(0xe7, 0xffff, CP1252), text("a") => [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, b'a', 0, 0, 0, 0, 0];
    varbinary_max_null: [0xa5, 0xff, 0xff], BinaryViewArray::from(vec![None::<&[u8]>]) => [0xff; 8];
    // 2.2.5.5.1.9: the first three groups are numbers.
    uniqueidentifier: [0x24, 16],
        FixedSizeBinaryArray::new(16, Buffer::from_vec((0..16u8).collect::<Vec<u8>>()), None) =>
        [16, 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    uniqueidentifier_null: [0x24, 16],
        FixedSizeBinaryArray::new(16, Buffer::from_vec(vec![7u8; 16]), Some(vec![false].into())) => [0];
}

/// The whole message of 4.12, "BulkLoadBCP": its two columns, a row, and DONE (there with a count of eight bytes, as here).
#[test]
fn a_whole_message() {
    let columns = [
        TestColumn {
            type_info: vec![0x26, 4],
            is_nullable: true,
            array: Arc::new(Int32Array::from(vec![7])),
        },
        TestColumn {
            type_info: vec![0xf1, 0],
            is_nullable: false,
            array: Arc::new(text("<a/>")),
        },
    ];
    let (target, batch) = target_and_batch(&columns, 1);
    let packets = message(&mut encoder(&target, 512), &[batch]).expect("all values fit");
    let payload: Vec<u8> = [
        &[0x81, 2, 0][..],
        &[0, 0, 0, 0, 9, 0, 0x26, 4, 2, b'c', 0, b'0', 0],
        // XML is sent as nvarchar(max) without a collation.
        &[
            0, 0, 0, 0, 8, 0, 0xe7, 0xff, 0xff, 0, 0, 0, 0, 0, 2, b'c', 0, b'1', 0,
        ],
        &[0xd1, 4, 7, 0, 0, 0],
        &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 8, 0, 0, 0],
        &[b'<', 0, b'a', 0, b'/', 0, b'>', 0, 0, 0, 0, 0],
        &[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let header = [7, 1, length[0], length[1], 0, 0, 1, 0];
    assert_eq!(packets, [&header[..], &payload].concat());
}
