//! Finds where rows and their values end.

use crate::column_metadata::RowMetadata;
use crate::type_info::{Length, SqlType, TypeInfo};

/// The token of a row.
pub(super) const ROW: u8 = 0xd1;
/// The token of a row that begins with a bitmap of its NULLs.
pub(super) const ROW_WITH_NULLS: u8 = 0xd2;

/// Lengths that stand for NULL.
const NULL_OF_TWO_BYTES: u16 = 0xffff;
const NULL_OF_CHUNKS: u64 = u64::MAX;

/// Bytes that are no row of the described columns: the server, or a proxy in between, is faulty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: the server, or a proxy in between, is faulty")]
pub struct RowError {
    what: String,
}

impl RowError {
    pub(super) fn new(what: String) -> RowError {
        RowError { what }
    }
}

/// The length information before the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Nothing: values have this number of bytes.
    Fixed(usize),
    /// A length of one byte; 0 is NULL.
    OneByte,
    /// A length of two bytes.
    TwoBytes,
    /// A total, then chunks, each with its length before it; an empty chunk ends the value (PLP).
    Chunks,
}

impl Framing {
    pub(super) fn of(type_info: &TypeInfo) -> Framing {
        match type_info.sql_type {
            SqlType::VarChar(Length::Max, _)
            | SqlType::NVarChar(Length::Max, _)
            | SqlType::VarBinary(Length::Max)
            | SqlType::Xml => Framing::Chunks,
            SqlType::Char(..)
            | SqlType::VarChar(..)
            | SqlType::NChar(..)
            | SqlType::NVarChar(..)
            | SqlType::Binary(_)
            | SqlType::VarBinary(_) => Framing::TwoBytes,
            sql_type if type_info.is_fixed => Framing::Fixed(match sql_type {
                SqlType::TinyInt | SqlType::Bit => 1,
                SqlType::SmallInt => 2,
                SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => 4,
                // bigint, float, money, datetime; no other type is fixed.
                _ => 8,
            }),
            _ => Framing::OneByte,
        }
    }
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueBytes<'a> {
    Null,
    /// The bytes themselves.
    Plain(&'a [u8]),
    /// Chunks with their lengths, without the empty last chunk.
    Chunked(&'a [u8]),
}

/// The value at the beginning of `bytes`, and the number of its bytes with all lengths; `None` if `bytes` end within
/// the value.
pub(super) fn value(framing: Framing, bytes: &[u8]) -> Option<(ValueBytes<'_>, usize)> {
    let plain = |start: usize, length: usize| {
        let value = bytes.get(start..start + length)?;
        Some((ValueBytes::Plain(value), start + length))
    };
    match framing {
        Framing::Fixed(length) => plain(0, length),
        Framing::OneByte => match *bytes.first()? {
            0 => Some((ValueBytes::Null, 1)),
            length => plain(1, length.into()),
        },
        Framing::TwoBytes => match u16::from_le_bytes(*bytes.first_chunk()?) {
            NULL_OF_TWO_BYTES => Some((ValueBytes::Null, 2)),
            length => plain(2, length.into()),
        },
        Framing::Chunks => {
            if u64::from_le_bytes(*bytes.first_chunk()?) == NULL_OF_CHUNKS {
                return Some((ValueBytes::Null, 8));
            }
            let mut at = 8;
            loop {
                let length = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize;
                if length == 0 {
                    return Some((ValueBytes::Chunked(&bytes[8..at]), at + 4));
                }
                at = at.checked_add(4 + length).filter(|at| *at <= bytes.len())?;
            }
        }
    }
}

/// The bitmap of a row's NULLs, if it has one, and the bytes that follow the token and the bitmap; `None` if `bytes`,
/// which begin with the token, end within the bitmap.
pub(super) fn begin_row(column_count: usize, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes.first()? {
        &ROW_WITH_NULLS => {
            let nulls = column_count.div_ceil(8);
            bytes[1..].split_at_checked(nulls)
        }
        _ => Some((&[], &bytes[1..])),
    }
}

/// True if the bitmap of a row says that this column is NULL.
pub(super) fn is_null(nulls: &[u8], column: usize) -> bool {
    nulls
        .get(column / 8)
        .is_some_and(|bits| bits >> (column % 8) & 1 == 1)
}

/// The number of bytes of the row at the beginning of `bytes`; `None` if they end within the row. Fails if no row
/// begins there.
pub fn row_bytes(columns: &RowMetadata, bytes: &[u8]) -> Result<Option<usize>, RowError> {
    match bytes.first() {
        None => return Ok(None),
        Some(&(ROW | ROW_WITH_NULLS)) => {}
        Some(other) => {
            return Err(RowError::new(format!(
                "a row begins with the token 0x{other:02x} and not with 0xd1 or 0xd2"
            )));
        }
    }
    let columns = columns.columns();
    let Some((nulls, mut rest)) = begin_row(columns.len(), bytes) else {
        return Ok(None);
    };
    for (index, column) in columns.iter().enumerate() {
        if is_null(nulls, index) {
            continue;
        }
        match value(Framing::of(&column.type_info), rest) {
            None => return Ok(None),
            Some((_, length)) => rest = &rest[length..],
        }
    }
    Ok(Some(bytes.len() - rest.len()))
}
