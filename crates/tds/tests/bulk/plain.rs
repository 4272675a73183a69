//! A simple encoder for comparison: it writes one value at a time, through Arrow's own accessors, into a vector. The
//! file also computes the values of a batch as SQL Server should store them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use inrush_tds::{Length, RowMetadata, SqlType, TextEncoding, TypeInfo};

use crate::decoder::Value;

const DAY: i64 = 86_400_000_000;

/// The value that SQL Server should store.
pub fn value(type_info: &TypeInfo, array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let microseconds = || array.as_primitive::<TimestampMicrosecondType>().value(row);
    let decimal = || array.as_primitive::<Decimal128Type>().value(row);
    let text = || array.as_string_view().value(row);
    match type_info.sql_type {
        SqlType::Bit => Value::Bit(array.as_boolean().value(row)),
        SqlType::TinyInt | SqlType::SmallInt => {
            Value::Integer(array.as_primitive::<Int16Type>().value(row).into())
        }
        SqlType::Int => Value::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        SqlType::BigInt => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
        SqlType::Real => Value::Real(array.as_primitive::<Float32Type>().value(row).to_bits()),
        SqlType::Float => Value::Float(array.as_primitive::<Float64Type>().value(row).to_bits()),
        SqlType::Decimal { .. } => Value::Decimal(decimal()),
        SqlType::Money | SqlType::SmallMoney => {
            Value::Integer(decimal().try_into().expect("64 bits"))
        }
        SqlType::Date => {
            let days = array.as_primitive::<Date32Type>().value(row);
            Value::Moment((days + 719_162) as u32, 0, 0)
        }
        SqlType::Time(digits) => {
            let time = array.as_primitive::<Time64MicrosecondType>().value(row);
            Value::Moment(0, ticks(time, digits), 0)
        }
        SqlType::DateTime2(digits) | SqlType::DateTimeOffset(digits) => {
            let days = microseconds().div_euclid(DAY) + 719_162;
            Value::Moment(
                days as u32,
                ticks(microseconds().rem_euclid(DAY), digits),
                0,
            )
        }
        SqlType::DateTime => {
            let days = microseconds().div_euclid(DAY) + 25_567;
            // .003 and .007 stand for 1/300 and 2/300 s.
            let milliseconds = microseconds().rem_euclid(DAY) / 1000;
            let thirds = match milliseconds % 10 {
                0 => 0,
                3 => 1,
                7 => 2,
                other => panic!("{other} milliseconds are no steps of 1/300 s"),
            };
            Value::Old(days as i32, (milliseconds / 10 * 3 + thirds) as u32)
        }
        SqlType::SmallDateTime => {
            let days = microseconds().div_euclid(DAY) + 25_567;
            let minutes = microseconds().rem_euclid(DAY) / 60_000_000;
            Value::Old(days as i32, minutes as u32)
        }
        SqlType::Char(_, collation) | SqlType::VarChar(_, collation) => {
            Value::Bytes(match collation.encoding().expect("a known code page") {
                TextEncoding::Utf8 => text().into(),
                TextEncoding::CodePage(code_page) => {
                    let mut bytes = Vec::new();
                    code_page
                        .encode(text(), &mut bytes)
                        .expect("a character of it");
                    bytes
                }
            })
        }
        SqlType::NChar(..) | SqlType::NVarChar(..) | SqlType::Xml => {
            Value::Wide(text().encode_utf16().collect())
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) => {
            Value::Bytes(array.as_binary_view().value(row).into())
        }
        SqlType::UniqueIdentifier => Value::Guid(
            array
                .as_fixed_size_binary()
                .value(row)
                .try_into()
                .expect("16 bytes"),
        ),
    }
}

/// Steps of a fraction of this number of digits.
fn ticks(microseconds: i64, digits: u8) -> u64 {
    let microseconds = microseconds as u64;
    match digits {
        7 => microseconds * 10,
        _ => microseconds / 10u64.pow(6 - u32::from(digits)),
    }
}

/// All values of a batch.
pub fn values(target: &RowMetadata, batch: &RecordBatch) -> Vec<Vec<Value>> {
    (0..batch.num_rows())
        .map(|row| {
            target
                .columns()
                .iter()
                .zip(batch.columns())
                .map(|(column, array)| value(&column.type_info, array, row))
                .collect()
        })
        .collect()
}

/// The rows of a batch, without the headers of packets.
pub fn encode(target: &RowMetadata, batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    for row in values(target, batch) {
        out.push(0xd1);
        for (value, column) in row.iter().zip(target.columns()) {
            out.extend(field(&column.type_info, value));
        }
    }
    out
}

fn field(type_info: &TypeInfo, value: &Value) -> Vec<u8> {
    let length_of = |length: Length, bytes: Vec<u8>| match length {
        Length::Bytes(_) => [&(bytes.len() as u16).to_le_bytes(), &bytes[..]].concat(),
        Length::Max if bytes.is_empty() => [&(u64::MAX - 1).to_le_bytes()[..], &[0; 4]].concat(),
        Length::Max => [
            &(u64::MAX - 1).to_le_bytes()[..],
            &(bytes.len() as u32).to_le_bytes(),
            &bytes,
            &[0; 4],
        ]
        .concat(),
    };
    let length = match type_info.sql_type {
        SqlType::VarChar(length, _) | SqlType::NVarChar(length, _) | SqlType::VarBinary(length) => {
            Some(length)
        }
        SqlType::Char(bytes, _) | SqlType::NChar(bytes, _) | SqlType::Binary(bytes) => {
            Some(Length::Bytes(bytes))
        }
        SqlType::Xml => Some(Length::Max),
        _ => None,
    };
    if *value == Value::Null {
        return match length {
            None => vec![0],
            Some(Length::Bytes(_)) => vec![0xff; 2],
            Some(Length::Max) => vec![0xff; 8],
        };
    }
    let bytes = bytes(type_info, value);
    match length {
        Some(length) => length_of(length, bytes),
        None if type_info.is_fixed => bytes,
        None => [&[bytes.len() as u8], &bytes[..]].concat(),
    }
}

fn bytes(type_info: &TypeInfo, value: &Value) -> Vec<u8> {
    let digits_of_time = |digits: u8| match digits {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    };
    match (type_info.sql_type, value) {
        (SqlType::Bit, Value::Bit(value)) => vec![u8::from(*value)],
        (SqlType::TinyInt, Value::Integer(value)) => vec![*value as u8],
        (SqlType::SmallInt, Value::Integer(value)) => (*value as i16).to_le_bytes().into(),
        (SqlType::Int | SqlType::SmallMoney, Value::Integer(value)) => {
            (*value as i32).to_le_bytes().into()
        }
        (SqlType::BigInt, Value::Integer(value)) => value.to_le_bytes().into(),
        (SqlType::Money, Value::Integer(value)) => [
            ((value >> 32) as i32).to_le_bytes(),
            (*value as u32).to_le_bytes(),
        ]
        .concat(),
        (_, Value::Real(bits)) => bits.to_le_bytes().into(),
        (_, Value::Float(bits)) => bits.to_le_bytes().into(),
        (SqlType::Decimal { bytes, .. }, Value::Decimal(value)) => {
            let magnitude_bytes = usize::from(bytes) - 1;
            let magnitude = value.unsigned_abs().to_le_bytes();
            assert!(magnitude[magnitude_bytes..].iter().all(|byte| *byte == 0));
            [&[u8::from(*value >= 0)], &magnitude[..magnitude_bytes]].concat()
        }
        (SqlType::Date, Value::Moment(days, ..)) => days.to_le_bytes()[..3].into(),
        (SqlType::Time(digits), Value::Moment(_, ticks, _)) => {
            ticks.to_le_bytes()[..digits_of_time(digits)].into()
        }
        (SqlType::DateTime2(digits), Value::Moment(days, ticks, _)) => [
            &ticks.to_le_bytes()[..digits_of_time(digits)],
            &days.to_le_bytes()[..3],
        ]
        .concat(),
        (SqlType::DateTimeOffset(digits), Value::Moment(days, ticks, offset)) => [
            &ticks.to_le_bytes()[..digits_of_time(digits)],
            &days.to_le_bytes()[..3],
            &offset.to_le_bytes(),
        ]
        .concat(),
        (SqlType::DateTime, Value::Old(days, ticks)) => {
            [days.to_le_bytes(), ticks.to_le_bytes()].concat()
        }
        (SqlType::SmallDateTime, Value::Old(days, minutes)) => [
            (*days as u16).to_le_bytes(),
            (*minutes as u16).to_le_bytes(),
        ]
        .concat(),
        (_, Value::Wide(units)) => units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
        (_, Value::Bytes(bytes)) => bytes.clone(),
        (_, Value::Guid(bytes)) => {
            let mut groups = bytes.to_vec();
            groups[..4].reverse();
            groups[4..6].reverse();
            groups[6..8].reverse();
            groups
        }
        (sql_type, value) => panic!("{sql_type:?} of {value:?}"),
    }
}
