//! The values of a row in an answer ([MS-TDS] 2.2.5).

use inrush_tds::{Length, RowMetadata, SqlType, TextEncoding, TypeInfo};

use crate::answer::Value;
use crate::reader::{Reader, utf16_text};

/// The length that means NULL in types with a length of two bytes.
const NULL_OF_SHORT_LENGTH: u16 = 0xffff;
/// The total that means NULL in types whose values are sent in chunks.
const NULL_OF_CHUNKS: u64 = u64::MAX;

/// Reads a row; `has_bitmap` says that a bitmap of its NULLs comes first.
pub(crate) fn read_row(
    reader: &mut Reader<'_>,
    columns: &RowMetadata,
    has_bitmap: bool,
) -> Result<Vec<Value>, String> {
    let columns = columns.columns();
    let nulls = match has_bitmap {
        true => reader.take(columns.len().div_ceil(8))?,
        false => &[],
    };
    let is_null = |index: usize| {
        nulls
            .get(index / 8)
            .is_some_and(|bits| bits >> (index % 8) & 1 == 1)
    };
    let values = columns.iter().enumerate();
    values
        .map(|(index, column)| match is_null(index) {
            true => Ok(Value::Null),
            false => read_value(reader, &column.type_info),
        })
        .collect()
}

fn read_value(reader: &mut Reader<'_>, type_info: &TypeInfo) -> Result<Value, String> {
    let is_chunked = matches!(
        type_info.sql_type,
        SqlType::VarChar(Length::Max, _)
            | SqlType::NVarChar(Length::Max, _)
            | SqlType::VarBinary(Length::Max)
            | SqlType::Xml
    );
    let chunked;
    let bytes = match type_info.sql_type {
        _ if is_chunked => match read_chunks(reader)? {
            None => return Ok(Value::Null),
            Some(bytes) => {
                chunked = bytes;
                &chunked[..]
            }
        },
        SqlType::Char(..)
        | SqlType::VarChar(..)
        | SqlType::NChar(..)
        | SqlType::NVarChar(..)
        | SqlType::Binary(_)
        | SqlType::VarBinary(_) => match reader.u16()? {
            NULL_OF_SHORT_LENGTH => return Ok(Value::Null),
            length => reader.take(usize::from(length))?,
        },
        _ if type_info.is_fixed => reader.take(fixed_bytes(type_info.sql_type))?,
        _ => match reader.byte()? {
            0 => return Ok(Value::Null),
            length => reader.take(usize::from(length))?,
        },
    };
    value(type_info, bytes)
}

fn value(type_info: &TypeInfo, bytes: &[u8]) -> Result<Value, String> {
    Ok(match type_info.sql_type {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt | SqlType::Bit => {
            match bytes {
                [byte] => Value::Integer(i64::from(*byte)),
                [a, b] => Value::Integer(i16::from_le_bytes([*a, *b]).into()),
                [a, b, c, d] => Value::Integer(i32::from_le_bytes([*a, *b, *c, *d]).into()),
                _ => Value::Integer(i64::from_le_bytes(
                    bytes
                        .try_into()
                        .map_err(|_| format!("an integer has {} bytes", bytes.len()))?,
                )),
            }
        }
        SqlType::NChar(..) | SqlType::NVarChar(..) | SqlType::Xml => {
            Value::Text(utf16_text(bytes)?)
        }
        SqlType::Char(_, collation) | SqlType::VarChar(_, collation) => {
            match collation.encoding() {
                Some(TextEncoding::Utf8) => {
                    Value::Text(String::from_utf8_lossy(bytes).into_owned())
                }
                _ if bytes.is_ascii() => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                _ => Value::Unread(type_info.to_string()),
            }
        }
        _ => Value::Unread(type_info.to_string()),
    })
}

/// Bytes of a value without a length.
fn fixed_bytes(sql_type: SqlType) -> usize {
    match sql_type {
        SqlType::TinyInt | SqlType::Bit => 1,
        SqlType::SmallInt => 2,
        SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => 4,
        // BigInt, Float, Money, DateTime; no other type is fixed.
        _ => 8,
    }
}

/// A value in chunks; `None` for NULL.
fn read_chunks(reader: &mut Reader<'_>) -> Result<Option<Vec<u8>>, String> {
    if reader.u64()? == NULL_OF_CHUNKS {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    loop {
        match reader.u32()? as usize {
            0 => return Ok(Some(bytes)),
            length => bytes.extend_from_slice(reader.take(length)?),
        }
    }
}
