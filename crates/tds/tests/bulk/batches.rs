//! Batches of random types, lengths, NULLs and views, with the target for them.

use std::sync::Arc;

use arrow_array::types::{ByteViewType, Decimal128Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, GenericByteViewArray, Int16Array, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, RecordBatchOptions, StringViewArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema};
use inrush_tds::limits::{
    DATE_DAYS_MAX, DATE_DAYS_MIN, DATETIME_MAX, DATETIME_MIN, DATETIME2_MAX, DATETIME2_MIN,
    SMALLDATETIME_MAX, SMALLDATETIME_MIN, TIME_MICROSECONDS_MAX,
};
use inrush_tds::{BulkEncoder, EncodeError, PacketSize, RowMetadata};
use proptest::collection::vec;
use proptest::prelude::*;

/// Latin1_General_100_CI_AS_SC_UTF8.
pub const UTF8: [u8; 5] = [0x09, 0x04, 0xd0, 0x24, 0x00];
/// SQL_Latin1_General_CP1_CI_AS: code page 1252.
pub const CP1252: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];

/// A column of a target, as a server describes it, and the array for it.
#[derive(Clone, Debug)]
pub struct TestColumn {
    /// TYPE_INFO.
    pub type_info: Vec<u8>,
    pub is_nullable: bool,
    pub array: ArrayRef,
}

/// The description of these columns, as a server sends it.
pub fn description(columns: &[(Vec<u8>, bool)]) -> Vec<u8> {
    let mut bytes = vec![0x81];
    bytes.extend((columns.len() as u16).to_le_bytes());
    for (index, (type_info, is_nullable)) in columns.iter().enumerate() {
        bytes.extend([0; 4]);
        bytes.extend((0x0008 | u16::from(*is_nullable)).to_le_bytes());
        bytes.extend(type_info);
        let name: Vec<u16> = format!("c{index}").encode_utf16().collect();
        bytes.push(name.len() as u8);
        bytes.extend(name.iter().flat_map(|unit| unit.to_le_bytes()));
    }
    bytes
}

/// The target with these columns, and a batch of them.
pub fn target_and_batch(columns: &[TestColumn], row_count: usize) -> (RowMetadata, RecordBatch) {
    let described: Vec<(Vec<u8>, bool)> = columns
        .iter()
        .map(|column| (column.type_info.clone(), column.is_nullable))
        .collect();
    let bytes = description(&described);
    let (target, length) = RowMetadata::parse(&bytes).expect("a valid description");
    assert_eq!(length, bytes.len(), "the whole description");
    let arrays = columns.iter().map(|column| column.array.clone()).collect();
    (target, batch(arrays, row_count))
}

/// A batch of these columns, of which there may be none.
pub fn batch(columns: Vec<ArrayRef>, row_count: usize) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(index, array)| Field::new(format!("c{index}"), array.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .expect("columns of one length")
}

/// The packets of a message with these batches.
pub fn message(encoder: &mut BulkEncoder, batches: &[RecordBatch]) -> Result<Vec<u8>, EncodeError> {
    let mut packets = Vec::new();
    encoder.begin();
    for batch in batches {
        encoder.encode(batch)?;
        packets.extend_from_slice(encoder.ready());
        encoder.clear_ready();
    }
    encoder.end();
    packets.extend_from_slice(encoder.ready());
    encoder.clear_ready();
    Ok(packets)
}

/// An encoder with packets of this size.
pub fn encoder(target: &RowMetadata, packet_bytes: u32) -> BulkEncoder {
    let size = PacketSize::new(packet_bytes).expect("a size of TDS");
    BulkEncoder::new(target.clone(), size)
}

/// Any target, and a batch for it. Some batches are slices of a longer one.
pub fn any_batch() -> impl Strategy<Value = (RowMetadata, RecordBatch)> {
    (0..200usize)
        .prop_flat_map(|row_count| {
            let columns = vec(any_column(row_count), 1..10);
            (Just(row_count), columns, 0..=row_count)
        })
        .prop_flat_map(|(row_count, columns, start)| {
            let count = 0..=row_count - start;
            (Just(row_count), Just(columns), Just(start), count)
        })
        .prop_map(|(row_count, columns, start, count)| {
            let (target, batch) = target_and_batch(&columns, row_count);
            (target, batch.slice(start, count))
        })
}

fn any_column(rows: usize) -> BoxedStrategy<TestColumn> {
    // A type with a form for columns that are NOT NULL, and one for others.
    macro_rules! number {
        ($fixed:expr, $nullable:expr, $array:ident, $values:expr) => {
            (vec($values, rows), nulls(rows), any::<bool>()).prop_map(
                |(values, nulls, is_nullable)| TestColumn {
                    type_info: if is_nullable {
                        $nullable.to_vec()
                    } else {
                        vec![$fixed]
                    },
                    is_nullable,
                    array: Arc::new($array::new(values.into(), nulls.filter(|_| is_nullable))),
                },
            )
        };
    }
    let moments = |token: u8, zone: bool| {
        (vec(any_moment(), rows), nulls(rows), 0..=7u8).prop_map(move |(values, nulls, digits)| {
            let array: TimestampMicrosecondArray = values
                .into_iter()
                .map(|value| whole(value, digits))
                .collect::<Vec<i64>>()
                .into();
            let array = with_nulls(array, nulls);
            let array = if zone {
                array.with_timezone("UTC")
            } else {
                array
            };
            nullable(vec![token, digits], Arc::new(array))
        })
    };
    let old_moments = |fixed: u8, bytes: u8, value: BoxedStrategy<i64>| {
        (vec(value, rows), nulls(rows), any::<bool>()).prop_map(
            move |(values, nulls, is_nullable)| TestColumn {
                type_info: if is_nullable {
                    vec![0x6f, bytes]
                } else {
                    vec![fixed]
                },
                is_nullable,
                array: Arc::new(TimestampMicrosecondArray::new(
                    values.into(),
                    nulls.filter(|_| is_nullable),
                )),
            },
        )
    };
    let money = |fixed: u8, bytes: u8, value: BoxedStrategy<i128>| {
        (vec(value, rows), nulls(rows), any::<bool>()).prop_map(
            move |(values, nulls, is_nullable)| {
                let array = PrimitiveArray::<Decimal128Type>::new(
                    values.into(),
                    nulls.filter(|_| is_nullable),
                );
                TestColumn {
                    type_info: if is_nullable {
                        vec![0x6e, bytes]
                    } else {
                        vec![fixed]
                    },
                    is_nullable,
                    array: Arc::new(array.with_data_type(DataType::Decimal128(19, 4))),
                }
            },
        )
    };
    prop_oneof![
        (vec(any::<bool>(), rows), nulls(rows), any::<bool>()).prop_map(
            |(values, nulls, is_nullable)| TestColumn {
                type_info: if is_nullable {
                    vec![0x68, 1]
                } else {
                    vec![0x32]
                },
                is_nullable,
                array: Arc::new(BooleanArray::new(
                    values.into(),
                    nulls.filter(|_| is_nullable)
                )),
            }
        ),
        number!(0x30, [0x26, 1], Int16Array, 0..=255i16),
        number!(0x34, [0x26, 2], Int16Array, any::<i16>()),
        number!(0x38, [0x26, 4], Int32Array, any::<i32>()),
        number!(0x7f, [0x26, 8], Int64Array, any::<i64>()),
        number!(
            0x3b,
            [0x6d, 4],
            Float32Array,
            prop::num::f32::ANY
                .prop_filter_map("finite", |value| value.is_finite().then_some(value))
        ),
        number!(
            0x3e,
            [0x6d, 8],
            Float64Array,
            prop::num::f64::ANY
                .prop_filter_map("finite", |value| value.is_finite().then_some(value))
        ),
        (1..=38u8)
            .prop_flat_map(move |precision| (
                Just(precision),
                0..=precision,
                any::<(bool, bool)>(),
                vec(any_decimal(precision), rows),
                nulls(rows)
            ))
            .prop_map(
                |(precision, scale, (is_numeric, is_longest), values, nulls)| {
                    let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls);
                    let bytes = match precision {
                        // Babelfish describes the longest for every precision.
                        _ if is_longest => 17,
                        1..=9 => 5,
                        10..=19 => 9,
                        20..=28 => 13,
                        _ => 17,
                    };
                    let token = if is_numeric { 0x6c } else { 0x6a };
                    nullable(
                        vec![token, bytes, precision, scale],
                        Arc::new(array.with_data_type(DataType::Decimal128(38, scale as i8))),
                    )
                }
            ),
        money(0x3c, 8, any::<i64>().prop_map(i128::from).boxed()),
        money(0x7a, 4, any::<i32>().prop_map(i128::from).boxed()),
        (vec(DATE_DAYS_MIN..=DATE_DAYS_MAX, rows), nulls(rows)).prop_map(|(values, nulls)| {
            nullable(vec![0x28], Arc::new(Date32Array::new(values.into(), nulls)))
        }),
        (vec(0..=TIME_MICROSECONDS_MAX, rows), nulls(rows), 0..=7u8).prop_map(
            |(values, nulls, digits)| {
                let values: Vec<i64> = values
                    .into_iter()
                    .map(|value| whole(value, digits))
                    .collect();
                let array = Time64MicrosecondArray::new(values.into(), nulls);
                nullable(vec![0x29, digits], Arc::new(array))
            }
        ),
        moments(0x2a, false),
        moments(0x2b, true),
        old_moments(
            0x3d,
            8,
            (DATETIME_MIN..=DATETIME_MAX, 0..3usize)
                .prop_map(|(value, thirds)| {
                    value.div_euclid(10_000) * 10_000 + [0, 3_000, 7_000][thirds]
                })
                .boxed()
        ),
        old_moments(
            0x3a,
            4,
            (SMALLDATETIME_MIN..=SMALLDATETIME_MAX)
                .prop_map(|value| value.div_euclid(60_000_000) * 60_000_000)
                .boxed()
        ),
        (vec(any::<[u8; 16]>(), rows), nulls(rows)).prop_map(|(values, nulls)| {
            let bytes = Buffer::from_vec(values.concat());
            nullable(
                vec![0x24, 16],
                Arc::new(FixedSizeBinaryArray::new(16, bytes, nulls)),
            )
        }),
        any_text_column(rows, UTF8, any_text().boxed()),
        any_text_column(rows, CP1252, any_latin_text().boxed()),
        any_text_column(rows, CP1252, "[ -~]{0,70}".boxed()),
        any_wide_column(rows),
        (
            vec(any_bytes(), rows),
            placements(rows),
            nulls(rows),
            any::<bool>()
        )
            .prop_map(|(values, placements, nulls, is_max)| {
                let array: BinaryViewArray = views(&values, &placements, nulls);
                let length = if is_max { 0xffff } else { longest(&values) };
                nullable([&[0xa5], &u16_bytes(length)[..]].concat(), Arc::new(array))
            }),
        (1..20usize)
            .prop_flat_map(move |length| (
                vec(vec(any::<u8>(), length), rows),
                placements(rows),
                nulls(rows),
                Just(length)
            ))
            .prop_map(|(values, placements, nulls, length)| {
                let array: BinaryViewArray = views(&values, &placements, nulls);
                nullable([&[0xad], &u16_bytes(length)[..]].concat(), Arc::new(array))
            }),
    ]
    .boxed()
}

fn any_text_column(
    rows: usize,
    collation: [u8; 5],
    text: BoxedStrategy<String>,
) -> impl Strategy<Value = TestColumn> {
    (vec(text, rows), placements(rows), nulls(rows), 0..3u8).prop_map(
        move |(values, placements, nulls, form)| {
            let array: StringViewArray = views(&values, &placements, nulls);
            let (token, length) = match form {
                0 => (0xa7, 0xffff),
                1 => (0xa7, longest(&values)),
                _ => (0xaf, longest(&values)),
            };
            let type_info = [&[token], &u16_bytes(length)[..], &collation].concat();
            nullable(type_info, Arc::new(array))
        },
    )
}

fn any_wide_column(rows: usize) -> impl Strategy<Value = TestColumn> {
    (vec(any_text(), rows), placements(rows), nulls(rows), 0..4u8).prop_map(
        |(values, placements, nulls, form)| {
            let array: StringViewArray = views(&values, &placements, nulls);
            let units = values
                .iter()
                .map(|value| value.encode_utf16().count())
                .max();
            let length = 2 * units.unwrap_or(0).max(1);
            let type_info = match form {
                0 => [&[0xe7], &u16_bytes(0xffff)[..], &CP1252].concat(),
                1 => [&[0xe7], &u16_bytes(length)[..], &CP1252].concat(),
                2 => [&[0xef], &u16_bytes(length)[..], &UTF8].concat(),
                // XML without a schema.
                _ => vec![0xf1, 0],
            };
            nullable(type_info, Arc::new(array))
        },
    )
}

fn nullable(type_info: Vec<u8>, array: ArrayRef) -> TestColumn {
    TestColumn {
        type_info,
        is_nullable: true,
        array,
    }
}

fn u16_bytes(number: usize) -> [u8; 2] {
    (number as u16).to_le_bytes()
}

/// The bytes of a column that holds all values, exactly.
fn longest(values: &[impl AsRef<[u8]>]) -> usize {
    let longest = values.iter().map(|value| value.as_ref().len()).max();
    longest.unwrap_or(0).max(1)
}

/// The microseconds rounded down to whole steps of this number of fractional digits.
fn whole(microseconds: i64, digits: u8) -> i64 {
    let step = 10i64.pow(6u32.saturating_sub(digits.into()));
    microseconds.div_euclid(step) * step
}

fn with_nulls(
    array: TimestampMicrosecondArray,
    nulls: Option<NullBuffer>,
) -> TimestampMicrosecondArray {
    TimestampMicrosecondArray::new(array.values().clone(), nulls)
}

fn nulls(rows: usize) -> impl Strategy<Value = Option<NullBuffer>> {
    prop_oneof![
        Just(None),
        vec(any::<bool>(), rows).prop_map(|valid| Some(NullBuffer::from(valid))),
        Just(Some(NullBuffer::new_null(rows))),
        Just(Some(NullBuffer::new_valid(rows))),
    ]
}

fn any_moment() -> impl Strategy<Value = i64> {
    prop_oneof![
        5 => DATETIME2_MIN..=DATETIME2_MAX,
        5 => -1_000_000_000_000_000..1_000_000_000_000_000i64,
        1 => prop::sample::select(vec![DATETIME2_MIN, -1, 0, 1, DATETIME2_MAX]),
    ]
}

/// Decimals of all magnitudes that fit into a precision.
fn any_decimal(precision: u8) -> impl Strategy<Value = i128> {
    let max = 10i128.pow(precision.into()) - 1;
    prop_oneof![
        5 => (any::<i128>(), 0..128u32).prop_map(move |(value, shift)| (value >> shift) % (max + 1)),
        2 => (0..=i128::from(precision), -1..=1i128, prop::sample::select(vec![1, -1])).prop_map(
            move |(power, step, sign)| (sign * (10i128.pow(power as u32) + step)).clamp(-max, max)
        ),
        1 => prop::sample::select(vec![0, max, -max]),
    ]
}

/// Text whose lengths are near those at which the encoder changes its method.
pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => ".{0,20}",
        3 => "[ -~]{0,80}",
        2 => prop::sample::select(vec![0, 1, 11, 12, 13, 15, 16, 17, 31, 32, 33, 59, 63, 64, 65, 1000])
            .prop_map(|length| "0123456789".repeat(101)[..length].to_owned()),
        1 => "[a-z]{0,30}[\u{e9}\u{20ac}\u{10000}\u{1f600}\u{ffff}]{0,3}[a-z]{0,30}",
    ]
}

/// Text of code page 1252.
fn any_latin_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[\u{a0}-\u{ff}€Œ a-z]{0,30}",
        "[ -~]{0,80}",
        "[a-z]{0,20}[äöü]?"
    ]
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..200)]
}

/// The placement of texts: the buffer, and the number of bytes before the text.
fn placements(rows: usize) -> impl Strategy<Value = Vec<(usize, usize)>> {
    vec((0..3usize, 0..5usize), rows)
}

/// Views into three buffers. Each buffer ends with its last text, so that a read past the end of this text is a read
/// past the buffer.
pub fn views<T: ByteViewType + ?Sized>(
    values: &[impl AsRef<[u8]>],
    placements: &[(usize, usize)],
    nulls: Option<NullBuffer>,
) -> GenericByteViewArray<T> {
    let mut buffers = [const { Vec::new() }; 3];
    let views: Vec<u128> = values
        .iter()
        .zip(placements)
        .map(|(value, &(index, filler_bytes))| {
            let buffer: &mut Vec<u8> = &mut buffers[index];
            buffer.extend(std::iter::repeat_n(b'#', filler_bytes));
            let offset = buffer.len() as u32;
            buffer.extend(value.as_ref());
            arrow_array::builder::make_view(value.as_ref(), index as u32, offset)
        })
        .collect();
    let buffers: Vec<Buffer> = buffers
        .into_iter()
        .map(|mut bytes| {
            bytes.shrink_to_fit();
            Buffer::from_vec(bytes)
        })
        .collect();
    GenericByteViewArray::try_new(views.into(), buffers, nulls).expect("valid views")
}
