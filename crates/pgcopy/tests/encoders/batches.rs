//! Batches of random types, lengths, NULLs and views.

use std::sync::Arc;

use arrow_array::types::{ByteViewType, Decimal128Type};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, GenericByteViewArray, Int16Array, Int32Array, Int64Array, PrimitiveArray,
    RecordBatch, RecordBatchOptions, StringViewArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use inrush_pgcopy::PgType;
use inrush_pgcopy::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN, TIME_MICROSECONDS_MAX};
use inrush_rows::timestamp;
use proptest::collection::vec;
use proptest::prelude::*;

/// The fields of an interval, as the engine makes them.
pub fn interval_fields() -> Fields {
    Fields::from(vec![
        Field::new("months", DataType::Int32, false),
        Field::new("days", DataType::Int32, false),
        Field::new("microseconds", DataType::Int64, false),
    ])
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

/// Any batch, and its types. Some are slices of a longer batch.
pub fn any_batch() -> impl Strategy<Value = (Vec<PgType>, RecordBatch)> {
    (0..40usize)
        .prop_flat_map(|row_count| {
            let columns = vec(any_column(row_count), 0..10);
            (Just(row_count), columns, 0..=row_count)
        })
        .prop_flat_map(|(row_count, columns, start)| {
            (
                Just(row_count),
                Just(columns),
                Just(start),
                0..=row_count - start,
            )
        })
        .prop_map(|(row_count, columns, start, count)| {
            let (types, arrays) = columns.into_iter().unzip();
            (types, batch(arrays, row_count).slice(start, count))
        })
}

fn any_column(rows: usize) -> BoxedStrategy<(PgType, ArrayRef)> {
    macro_rules! primitive {
        ($pg_type:ident, $array:ident, $values:expr) => {
            (vec($values, rows), nulls(rows)).prop_map(|(values, nulls)| {
                (
                    PgType::$pg_type,
                    Arc::new($array::new(values.into(), nulls)) as ArrayRef,
                )
            })
        };
    }
    prop_oneof![
        (vec(any::<bool>(), rows), nulls(rows)).prop_map(|(values, nulls)| {
            (
                PgType::Bool,
                Arc::new(BooleanArray::new(values.into(), nulls)) as ArrayRef,
            )
        }),
        primitive!(Int2, Int16Array, any::<i16>()),
        primitive!(Int4, Int32Array, any::<i32>()),
        primitive!(Int8, Int64Array, any::<i64>()),
        primitive!(Float4, Float32Array, any::<u32>().prop_map(f32::from_bits)),
        primitive!(Float8, Float64Array, any::<u64>().prop_map(f64::from_bits)),
        primitive!(Date, Date32Array, any_date()),
        primitive!(Time, Time64MicrosecondArray, 0..=TIME_MICROSECONDS_MAX),
        primitive!(Timestamp, TimestampMicrosecondArray, any_timestamp()),
        (vec(any_timestamp(), rows), nulls(rows)).prop_map(|(values, nulls)| {
            let array = TimestampMicrosecondArray::new(values.into(), nulls).with_timezone("UTC");
            (PgType::Timestamp, Arc::new(array) as ArrayRef)
        }),
        (vec(any_decimal(), rows), 0..=38i8, nulls(rows)).prop_map(|(values, scale, nulls)| {
            let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls)
                .with_data_type(DataType::Decimal128(38, scale));
            (PgType::Numeric, Arc::new(array) as ArrayRef)
        }),
        texts(vec("-?[0-9]{1,30}(\\.[0-9]{1,30})?", rows), rows)
            .prop_map(|array| (PgType::Numeric, array)),
        texts(vec(any_text(), rows), rows).prop_map(|array| (PgType::Text, array)),
        texts(vec(any_text(), rows), rows).prop_map(|array| (PgType::Jsonb, array)),
        (vec(any_bytes(), rows), placements(rows), nulls(rows)).prop_map(
            |(values, placements, nulls)| {
                let array: BinaryViewArray = views(&values, &placements, nulls);
                (PgType::Bytea, Arc::new(array) as ArrayRef)
            }
        ),
        (vec(any::<[u8; 16]>(), rows), nulls(rows))
            .prop_map(|(values, nulls)| (PgType::Uuid, uuids(&values, nulls))),
        texts(
            vec(
                any::<u8>().prop_map(|byte| match byte {
                    0 => String::new(),
                    1..128 => char::from(byte).to_string(),
                    128.. => format!("\\{byte:03o}"),
                }),
                rows,
            ),
            rows,
        )
        .prop_map(|array| (PgType::Char, array)),
        (vec(any::<i64>(), rows), nulls(rows)).prop_map(|(values, nulls)| {
            let values: Vec<i128> = values.into_iter().map(i128::from).collect();
            let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls)
                .with_data_type(DataType::Decimal128(19, 2));
            (PgType::Money, Arc::new(array) as ArrayRef)
        }),
        (
            vec((0..=TIME_MICROSECONDS_MAX, -57_599..=57_599i32), rows),
            nulls(rows),
        )
            .prop_map(|(values, nulls)| {
                let bytes = values.iter().flat_map(|(time, zone)| {
                    [&time.to_be_bytes()[..], &zone.to_be_bytes()].concat()
                });
                let bytes = Buffer::from_vec(bytes.collect::<Vec<u8>>());
                let array = FixedSizeBinaryArray::new(12, bytes, nulls);
                (PgType::TimeTz, Arc::new(array) as ArrayRef)
            }),
        (vec(any::<(i32, i32, i64)>(), rows), nulls(rows))
            .prop_map(|(values, nulls)| { (PgType::Interval, intervals(&values, nulls)) }),
    ]
    .boxed()
}

/// A column of uuids.
pub fn uuids(values: &[[u8; 16]], nulls: Option<NullBuffer>) -> ArrayRef {
    let bytes = Buffer::from_vec(values.concat());
    Arc::new(FixedSizeBinaryArray::new(16, bytes, nulls))
}

/// A column of intervals.
pub fn intervals(values: &[(i32, i32, i64)], nulls: Option<NullBuffer>) -> ArrayRef {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(
            values
                .iter()
                .map(|value| Some(value.0))
                .collect::<Int32Array>(),
        ),
        Arc::new(
            values
                .iter()
                .map(|value| Some(value.1))
                .collect::<Int32Array>(),
        ),
        Arc::new(
            values
                .iter()
                .map(|value| Some(value.2))
                .collect::<Int64Array>(),
        ),
    ];
    Arc::new(StructArray::new(interval_fields(), columns, nulls))
}

fn nulls(rows: usize) -> impl Strategy<Value = Option<NullBuffer>> {
    prop_oneof![
        Just(None),
        vec(any::<bool>(), rows).prop_map(|valid| Some(NullBuffer::from(valid))),
        Just(Some(NullBuffer::new_null(rows))),
        Just(Some(NullBuffer::new_valid(rows))),
    ]
}

fn any_date() -> impl Strategy<Value = i32> {
    prop_oneof![
        5 => DATE_DAYS_MIN..=DATE_DAYS_MAX,
        5 => -1_000_000..1_000_000,
        1 => prop::sample::select(vec![i32::MIN, DATE_DAYS_MIN, DATE_DAYS_MAX, i32::MAX]),
    ]
}

fn any_timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![
        5 => timestamp::MIN..=i64::MAX,
        2 => i64::MIN..=timestamp::MAX,
        5 => -1_000_000_000_000_000..1_000_000_000_000_000i64,
        1 => prop::sample::select(vec![
            timestamp::MINUS_INFINITY,
            timestamp::MIN,
            i64::MAX,
            i64::MIN,
            timestamp::MAX,
            timestamp::INFINITY,
        ]),
    ]
}

/// Decimals of all magnitudes, many with zeros at the end.
pub fn any_decimal() -> impl Strategy<Value = i128> {
    prop_oneof![
        5 => (any::<i128>(), 0..128u32).prop_map(|(value, shift)| value >> shift),
        5 => (any::<i64>(), 0..64u32, 0..20u32)
            .prop_map(|(value, shift, zeros)| i128::from(value >> shift) * 10i128.pow(zeros)),
        2 => (0..39u32, -1..=1i128, prop::sample::select(vec![1, -1]))
            .prop_map(|(power, step, sign)| sign * (10i128.pow(power) + step)),
        1 => prop::sample::select(vec![0, i128::MIN, i128::MAX]),
    ]
}

/// Texts with lengths around those at which the encoder changes its method.
pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => ".{0,20}",
        3 => "[ -~]{0,80}",
        2 => prop::sample::select(vec![0, 1, 11, 12, 13, 59, 60, 63, 64, 65, 66, 1000])
            .prop_map(|length| "0123456789".repeat(101)[..length].to_owned()),
        1 => "[\\\\\n\r\tN.\u{8}\u{b}\u{c}a]{0,30}",
    ]
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..200)]
}

/// The placement of texts: the buffer, and the number of bytes before the text.
fn placements(rows: usize) -> impl Strategy<Value = Vec<(usize, usize)>> {
    vec((0..3usize, 0..5usize), rows)
}

fn texts(
    values: impl Strategy<Value = Vec<String>>,
    rows: usize,
) -> impl Strategy<Value = ArrayRef> {
    (values, placements(rows), nulls(rows)).prop_map(|(values, placements, nulls)| {
        let array: StringViewArray = views(&values, &placements, nulls);
        Arc::new(array) as ArrayRef
    })
}

/// Views into three buffers that end with the last text, so that none may be read past its end.
fn views<T: ByteViewType + ?Sized>(
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
