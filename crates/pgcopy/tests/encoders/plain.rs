//! A simple encoder for comparison: it writes one value at a time, through Arrow's own accessors, into a vector. The
//! file also computes the values of a batch as PostgreSQL should store them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use inrush_pgcopy::PgType;
use inrush_rows::timestamp;

use crate::decoder::Value;

/// The value that PostgreSQL should store.
pub fn value(pg_type: PgType, array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match pg_type {
        PgType::Bool => Value::Bool(array.as_boolean().value(row)),
        PgType::Int2 => Value::Integer(array.as_primitive::<Int16Type>().value(row).into()),
        PgType::Int4 => Value::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        PgType::Int8 => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
        PgType::Float4 => Value::Float4(array.as_primitive::<Float32Type>().value(row).to_bits()),
        PgType::Float8 => Value::Float8(array.as_primitive::<Float64Type>().value(row).to_bits()),
        PgType::Numeric => Value::Numeric(match array.data_type() {
            DataType::Decimal128(_, scale) => {
                let value = array.as_primitive::<Decimal128Type>().value(row);
                decimal_text(value, *scale as usize)
            }
            _ => trimmed(array.as_string_view().value(row)),
        }),
        PgType::Text => Value::Bytes(array.as_string_view().value(row).into()),
        PgType::Char => Value::Bytes(vec![match array.as_string_view().value(row).as_bytes() {
            [] => 0,
            [one] => *one,
            octal => {
                let digits = str::from_utf8(&octal[1..]).expect("digits");
                u8::from_str_radix(digits, 8).expect("a byte in octal")
            }
        }]),
        PgType::Money => {
            let number = array.as_primitive::<Decimal128Type>().value(row);
            Value::Integer(number.try_into().expect("64 bits"))
        }
        PgType::TimeTz => Value::Bytes(array.as_fixed_size_binary().value(row).into()),
        PgType::Bytea => Value::Bytes(array.as_binary_view().value(row).into()),
        PgType::Jsonb => Value::Jsonb(array.as_string_view().value(row).into()),
        PgType::Date => Value::Integer(match array.as_primitive::<Date32Type>().value(row) {
            infinite @ (i32::MIN | i32::MAX) => infinite.into(),
            days => i64::from(days) - 10_957,
        }),
        PgType::Time => Value::Integer(array.as_primitive::<Time64MicrosecondType>().value(row)),
        PgType::Timestamp => {
            let number = array.as_primitive::<TimestampMicrosecondType>().value(row);
            Value::Integer(match number {
                timestamp::INFINITY => i64::MAX,
                timestamp::MINUS_INFINITY => i64::MIN,
                _ => {
                    // Numbers wrap around beyond 64 bits.
                    let is_past_end = number < timestamp::MINUS_INFINITY;
                    let since_1970 = i128::from(number) + (i128::from(is_past_end) << 64);
                    let since_2000 = since_1970 - 946_684_800_000_000;
                    since_2000.try_into().expect("a timestamp of PostgreSQL")
                }
            })
        }
        PgType::Interval => {
            let fields = array.as_struct().columns();
            Value::Interval(
                fields[0].as_primitive::<Int32Type>().value(row),
                fields[1].as_primitive::<Int32Type>().value(row),
                fields[2].as_primitive::<Int64Type>().value(row),
            )
        }
        PgType::Uuid => Value::Uuid(
            array
                .as_fixed_size_binary()
                .value(row)
                .try_into()
                .expect("16 bytes"),
        ),
    }
}

/// All values of a batch.
pub fn values(types: &[PgType], batch: &RecordBatch) -> Vec<Vec<Value>> {
    (0..batch.num_rows())
        .map(|row| {
            types
                .iter()
                .zip(batch.columns())
                .map(|(&pg_type, array)| value(pg_type, array, row))
                .collect()
        })
        .collect()
}

/// The tuples of a batch.
pub fn encode(types: &[PgType], batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    for row in values(types, batch) {
        out.extend((row.len() as i16).to_be_bytes());
        for (value, &pg_type) in row.iter().zip(types) {
            match field(pg_type, value) {
                None => out.extend((-1i32).to_be_bytes()),
                Some(bytes) => {
                    out.extend((bytes.len() as i32).to_be_bytes());
                    out.extend(bytes);
                }
            }
        }
    }
    out
}

fn field(pg_type: PgType, value: &Value) -> Option<Vec<u8>> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => vec![u8::from(*value)],
        Value::Integer(value) => match pg_type {
            PgType::Int2 => (*value as i16).to_be_bytes().into(),
            PgType::Int4 | PgType::Date => (*value as i32).to_be_bytes().into(),
            _ => value.to_be_bytes().into(),
        },
        Value::Float4(bits) => bits.to_be_bytes().into(),
        Value::Float8(bits) => bits.to_be_bytes().into(),
        Value::Numeric(text) => numeric(text),
        Value::Bytes(bytes) => bytes.clone(),
        Value::Jsonb(text) => [&[1], &text[..]].concat(),
        Value::Interval(months, days, microseconds) => [
            &microseconds.to_be_bytes()[..],
            &days.to_be_bytes(),
            &months.to_be_bytes(),
        ]
        .concat(),
        Value::Uuid(bytes) => bytes.to_vec(),
    })
}

/// `numeric`, digit by digit: the decimal digits are filled up with zeros to whole groups of
/// four on both sides of the point, and groups of zeros at the ends are left out.
pub fn numeric(text: &str) -> Vec<u8> {
    let special = match text {
        "NaN" => Some(0xC000u16),
        "Infinity" => Some(0xD000),
        "-Infinity" => Some(0xF000),
        _ => None,
    };
    if let Some(sign) = special {
        return [0, 0, sign, 0]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (before, after) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut before = before.to_owned();
    while before.len() % 4 != 0 {
        before.insert(0, '0');
    }
    let mut padded_after = after.to_owned();
    while padded_after.len() % 4 != 0 {
        padded_after.push('0');
    }
    let mut weight = before.len() as i32 / 4 - 1;
    let digits = before + &padded_after;
    let mut groups: Vec<u16> = digits
        .as_bytes()
        .chunks(4)
        .map(|group| {
            let group = std::str::from_utf8(group).expect("digits");
            group.parse().expect("four digits")
        })
        .collect();
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let mut sign = if negative { 0x4000 } else { 0 };
    if groups.is_empty() {
        (weight, sign) = (0, 0);
    }
    let header = [groups.len() as u16, weight as u16, sign, after.len() as u16];
    header
        .iter()
        .chain(&groups)
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

/// A scaled integer as text.
pub fn decimal_text(value: i128, scale: usize) -> String {
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (before, after) = digits.split_at(digits.len() - scale);
    let minus = if value < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{minus}{before}{point}{after}")
}

/// A decimal number as PostgreSQL shows it: without zeros in front, and no sign at zero.
fn trimmed(text: &str) -> String {
    let (minus, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (before, after) = match unsigned.split_once('.') {
        Some((before, after)) => (before, format!(".{after}")),
        None => (unsigned, String::new()),
    };
    let before = match before.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    };
    let zero = unsigned.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let minus = if zero { "" } else { minus };
    format!("{minus}{before}{after}")
}
