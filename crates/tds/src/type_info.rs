//! TYPE_INFO: a column's type as the server describes it, and as a bulk load repeats it.

use std::fmt;

use crate::collation::{Collation, TextEncoding};
use crate::error::MetadataError;
use crate::limits::DECIMAL_PRECISION_MAX;
use crate::reader::Reader;

/// The length that means "max".
const LENGTH_MAX: u16 = 0xffff;
/// Bytes of the longest `varchar(n)`, `nvarchar(n)` and `varbinary(n)`.
const BYTES_MAX: u16 = 8000;

/// Types without a length byte before the value, for columns that are NOT NULL.
mod fixed {
    pub(super) const TINYINT: u8 = 0x30;
    pub(super) const BIT: u8 = 0x32;
    pub(super) const SMALLINT: u8 = 0x34;
    pub(super) const INT: u8 = 0x38;
    pub(super) const SMALLDATETIME: u8 = 0x3a;
    pub(super) const REAL: u8 = 0x3b;
    pub(super) const MONEY: u8 = 0x3c;
    pub(super) const DATETIME: u8 = 0x3d;
    pub(super) const FLOAT: u8 = 0x3e;
    pub(super) const SMALLMONEY: u8 = 0x7a;
    pub(super) const BIGINT: u8 = 0x7f;
}

/// Types with a length before the value.
mod variable {
    pub(super) const UNIQUEIDENTIFIER: u8 = 0x24;
    pub(super) const INTEGER: u8 = 0x26;
    pub(super) const DATE: u8 = 0x28;
    pub(super) const TIME: u8 = 0x29;
    pub(super) const DATETIME2: u8 = 0x2a;
    pub(super) const DATETIMEOFFSET: u8 = 0x2b;
    pub(super) const BIT: u8 = 0x68;
    pub(super) const DECIMAL: u8 = 0x6a;
    pub(super) const NUMERIC: u8 = 0x6c;
    pub(super) const FLOAT: u8 = 0x6d;
    pub(super) const MONEY: u8 = 0x6e;
    pub(super) const DATETIME: u8 = 0x6f;
    pub(super) const VARBINARY: u8 = 0xa5;
    pub(super) const VARCHAR: u8 = 0xa7;
    pub(super) const BINARY: u8 = 0xad;
    pub(super) const CHAR: u8 = 0xaf;
    pub(super) const NVARCHAR: u8 = 0xe7;
    pub(super) const NCHAR: u8 = 0xef;
    pub(super) const XML: u8 = 0xf1;
}

/// The length of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// At most this many bytes, 1 to 8000.
    Bytes(u16),
    /// `(max)`: values are sent in chunks (PLP).
    Max,
}

/// A type of SQL Server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// `tinyint`: 0 to 255.
    TinyInt,
    /// `smallint`.
    SmallInt,
    /// `int`.
    Int,
    /// `bigint`.
    BigInt,
    /// `bit`.
    Bit,
    /// `real`, or `float(24)` and less.
    Real,
    /// `float`.
    Float,
    /// `decimal` and `numeric`, which are one type with two tokens.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to the precision.
        scale: u8,
        /// The bytes that the server named: 5, 9, 13 or 17.
        bytes: u8,
        /// True if the server calls it `numeric`.
        numeric: bool,
    },
    /// `money`: four digits after the point in 64 bits.
    Money,
    /// `smallmoney`: four digits after the point in 32 bits.
    SmallMoney,
    /// `date`.
    Date,
    /// `time(n)`, by the digits of the second's fraction, 0 to 7.
    Time(u8),
    /// `datetime2(n)`, by the digits of the second's fraction, 0 to 7.
    DateTime2(u8),
    /// `datetimeoffset(n)`, by the digits of the second's fraction, 0 to 7.
    DateTimeOffset(u8),
    /// `datetime`: steps of 1/300 s.
    DateTime,
    /// `smalldatetime`: whole minutes.
    SmallDateTime,
    /// `char(n)`, by its bytes.
    Char(u16, Collation),
    /// `varchar(n)`.
    VarChar(Length, Collation),
    /// `nchar(n)`, by its bytes: two for each n.
    NChar(u16, Collation),
    /// `nvarchar(n)`, by its bytes: two for each n.
    NVarChar(Length, Collation),
    /// `binary(n)`.
    Binary(u16),
    /// `varbinary(n)`.
    VarBinary(Length),
    /// `uniqueidentifier`.
    UniqueIdentifier,
    /// `xml`, which a bulk load sends as `nvarchar(max)`.
    Xml,
}

/// A column's type, and whether a value has its length before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeInfo {
    /// The type.
    pub sql_type: SqlType,
    /// True if values have no length byte, so that none can be NULL: numbers, `bit`, `money` and `datetime` of columns
    /// that are NOT NULL.
    pub is_fixed: bool,
}

impl TypeInfo {
    /// Reads a description; `ordinal` is the column's number, from 1.
    pub(crate) fn read(reader: &mut Reader<'_>, ordinal: usize) -> Result<TypeInfo, MetadataError> {
        let of = "a column's type";
        let token = reader.byte(of)?;
        let bad = |type_name, of, value: u32| MetadataError::BadTypeInfo {
            ordinal,
            type_name,
            of,
            value,
        };
        let fixed = |sql_type| TypeInfo {
            sql_type,
            is_fixed: true,
        };
        let sql_type = match token {
            fixed::TINYINT => return Ok(fixed(SqlType::TinyInt)),
            fixed::BIT => return Ok(fixed(SqlType::Bit)),
            fixed::SMALLINT => return Ok(fixed(SqlType::SmallInt)),
            fixed::INT => return Ok(fixed(SqlType::Int)),
            fixed::BIGINT => return Ok(fixed(SqlType::BigInt)),
            fixed::REAL => return Ok(fixed(SqlType::Real)),
            fixed::FLOAT => return Ok(fixed(SqlType::Float)),
            fixed::MONEY => return Ok(fixed(SqlType::Money)),
            fixed::SMALLMONEY => return Ok(fixed(SqlType::SmallMoney)),
            fixed::DATETIME => return Ok(fixed(SqlType::DateTime)),
            fixed::SMALLDATETIME => return Ok(fixed(SqlType::SmallDateTime)),
            variable::INTEGER => match reader.byte(of)? {
                1 => SqlType::TinyInt,
                2 => SqlType::SmallInt,
                4 => SqlType::Int,
                8 => SqlType::BigInt,
                other => return Err(bad("an integer", "length", other.into())),
            },
            variable::BIT => match reader.byte(of)? {
                1 => SqlType::Bit,
                other => return Err(bad("bit", "length", other.into())),
            },
            variable::FLOAT => match reader.byte(of)? {
                4 => SqlType::Real,
                8 => SqlType::Float,
                other => return Err(bad("float", "length", other.into())),
            },
            variable::MONEY => match reader.byte(of)? {
                4 => SqlType::SmallMoney,
                8 => SqlType::Money,
                other => return Err(bad("money", "length", other.into())),
            },
            variable::DATETIME => match reader.byte(of)? {
                4 => SqlType::SmallDateTime,
                8 => SqlType::DateTime,
                other => return Err(bad("datetime", "length", other.into())),
            },
            variable::UNIQUEIDENTIFIER => match reader.byte(of)? {
                16 => SqlType::UniqueIdentifier,
                other => return Err(bad("uniqueidentifier", "length", other.into())),
            },
            variable::DATE => SqlType::Date,
            variable::TIME | variable::DATETIME2 | variable::DATETIMEOFFSET => {
                let scale = reader.byte(of)?;
                if scale > 7 {
                    return Err(bad("a time", "scale", scale.into()));
                }
                match token {
                    variable::TIME => SqlType::Time(scale),
                    variable::DATETIME2 => SqlType::DateTime2(scale),
                    _ => SqlType::DateTimeOffset(scale),
                }
            }
            variable::DECIMAL | variable::NUMERIC => {
                let [bytes, precision, scale] = reader.array(of)?;
                if !(1..=DECIMAL_PRECISION_MAX).contains(&precision) {
                    return Err(bad("decimal", "precision", precision.into()));
                }
                if scale > precision {
                    return Err(bad("decimal", "scale", scale.into()));
                }
                // A server may describe more bytes than the precision needs.
                if bytes < decimal_bytes(precision) || !matches!(bytes, 5 | 9 | 13 | 17) {
                    return Err(bad("decimal", "length", bytes.into()));
                }
                SqlType::Decimal {
                    precision,
                    scale,
                    bytes,
                    numeric: token == variable::NUMERIC,
                }
            }
            variable::CHAR | variable::VARCHAR | variable::NCHAR | variable::NVARCHAR => {
                let length = reader.u16(of)?;
                let collation = Collation::from_bytes(reader.array(of)?);
                let is_wide = matches!(token, variable::NCHAR | variable::NVARCHAR);
                let name = if is_wide { "nvarchar" } else { "varchar" };
                if is_wide && length != LENGTH_MAX && length % 2 != 0 {
                    return Err(bad(name, "length", length.into()));
                }
                let length = read_length(length).ok_or(bad(name, "length", length.into()))?;
                match (token, length) {
                    (variable::VARCHAR, length) => SqlType::VarChar(length, collation),
                    (variable::NVARCHAR, length) => SqlType::NVarChar(length, collation),
                    (variable::CHAR, Length::Bytes(bytes)) => SqlType::Char(bytes, collation),
                    (_, Length::Bytes(bytes)) => SqlType::NChar(bytes, collation),
                    (_, Length::Max) => return Err(bad(name, "length", LENGTH_MAX.into())),
                }
            }
            variable::BINARY | variable::VARBINARY => {
                let length = reader.u16(of)?;
                match (token, read_length(length)) {
                    (variable::VARBINARY, Some(length)) => SqlType::VarBinary(length),
                    (_, Some(Length::Bytes(bytes))) => SqlType::Binary(bytes),
                    _ => return Err(bad("binary", "length", length.into())),
                }
            }
            variable::XML => {
                if reader.byte(of)? != 0 {
                    // The schema collection: database, schema, and its own name.
                    for _ in 0..2 {
                        let characters = reader.byte(of)?;
                        reader.take(2 * usize::from(characters), of)?;
                    }
                    let characters = reader.u16(of)?;
                    reader.take(2 * usize::from(characters), of)?;
                }
                SqlType::Xml
            }
            other => return Err(unsupported(other, ordinal)),
        };
        Ok(TypeInfo {
            sql_type,
            is_fixed: false,
        })
    }

    /// Appends the description as a bulk load repeats it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let integer = |fixed: u8, bytes: u8| match self.is_fixed {
            true => vec![fixed],
            false => vec![variable::INTEGER, bytes],
        };
        let other = |fixed: u8, variable: u8, bytes: u8| match self.is_fixed {
            true => vec![fixed],
            false => vec![variable, bytes],
        };
        let text = |token: u8, length: Length, collation: Collation| {
            [&[token], &length_bytes(length)[..], &collation.bytes()].concat()
        };
        let binary = |token: u8, length| [&[token], &length_bytes(length)[..]].concat();
        let bytes = match self.sql_type {
            SqlType::TinyInt => integer(fixed::TINYINT, 1),
            SqlType::SmallInt => integer(fixed::SMALLINT, 2),
            SqlType::Int => integer(fixed::INT, 4),
            SqlType::BigInt => integer(fixed::BIGINT, 8),
            SqlType::Bit => other(fixed::BIT, variable::BIT, 1),
            SqlType::Real => other(fixed::REAL, variable::FLOAT, 4),
            SqlType::Float => other(fixed::FLOAT, variable::FLOAT, 8),
            SqlType::Money => other(fixed::MONEY, variable::MONEY, 8),
            SqlType::SmallMoney => other(fixed::SMALLMONEY, variable::MONEY, 4),
            SqlType::DateTime => other(fixed::DATETIME, variable::DATETIME, 8),
            SqlType::SmallDateTime => other(fixed::SMALLDATETIME, variable::DATETIME, 4),
            SqlType::Decimal {
                precision,
                scale,
                bytes,
                numeric,
            } => {
                let token = match numeric {
                    true => variable::NUMERIC,
                    false => variable::DECIMAL,
                };
                vec![token, bytes, precision, scale]
            }
            SqlType::Date => vec![variable::DATE],
            SqlType::Time(scale) => vec![variable::TIME, scale],
            SqlType::DateTime2(scale) => vec![variable::DATETIME2, scale],
            SqlType::DateTimeOffset(scale) => vec![variable::DATETIMEOFFSET, scale],
            SqlType::Char(bytes, collation) => {
                text(variable::CHAR, Length::Bytes(bytes), collation)
            }
            SqlType::VarChar(length, collation) => text(variable::VARCHAR, length, collation),
            SqlType::NChar(bytes, collation) => {
                text(variable::NCHAR, Length::Bytes(bytes), collation)
            }
            SqlType::NVarChar(length, collation) => text(variable::NVARCHAR, length, collation),
            SqlType::Binary(bytes) => binary(variable::BINARY, Length::Bytes(bytes)),
            SqlType::VarBinary(length) => binary(variable::VARBINARY, length),
            SqlType::UniqueIdentifier => vec![variable::UNIQUEIDENTIFIER, 16],
            // "XMLTYPE is to be sent as NVARCHAR(N) or NVARCHAR(MAX)"; XML has no collation.
            SqlType::Xml => text(variable::NVARCHAR, Length::Max, Collation::default()),
        };
        out.extend_from_slice(&bytes);
    }

    /// The collation's encoding, if values are text in units of one byte; `Err` if it is unknown.
    pub(crate) fn text_encoding(&self) -> Option<Result<TextEncoding, Collation>> {
        match self.sql_type {
            SqlType::Char(_, collation) | SqlType::VarChar(_, collation) => {
                Some(collation.encoding().ok_or(collation))
            }
            _ => None,
        }
    }
}

/// The bytes of a `decimal` of this precision, including its sign.
pub(crate) fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        ..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        29.. => 17,
    }
}

fn read_length(length: u16) -> Option<Length> {
    match length {
        LENGTH_MAX => Some(Length::Max),
        1..=BYTES_MAX => Some(Length::Bytes(length)),
        _ => None,
    }
}

fn length_bytes(length: Length) -> [u8; 2] {
    match length {
        Length::Bytes(bytes) => bytes.to_le_bytes(),
        Length::Max => LENGTH_MAX.to_le_bytes(),
    }
}

fn unsupported(token: u8, ordinal: usize) -> MetadataError {
    let (type_name, instead) = match token {
        0x22 => ("image", " to varbinary(max)"),
        0x23 => ("text", " to varchar(max)"),
        0x63 => ("ntext", " to nvarchar(max)"),
        0x62 => ("sql_variant", ""),
        0xf0 => (
            "a type of the CLR, such as geography or hierarchyid",
            " to varbinary(max)",
        ),
        0xf4 => ("json", " to nvarchar(max)"),
        0xf5 => ("vector", ""),
        _ => ("unknown", ""),
    };
    MetadataError::UnsupportedType {
        ordinal,
        token,
        type_name,
        instead,
    }
}

/// The type in T-SQL, with the length and the scale that `INSERT BULK` needs, without the collation.
impl fmt::Display for TypeInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_length =
            |formatter: &mut fmt::Formatter<'_>, name: &str, length, unit: u16| match length {
                Length::Bytes(bytes) => write!(formatter, "{name}({})", bytes / unit),
                Length::Max => write!(formatter, "{name}(max)"),
            };
        let name = match self.sql_type {
            SqlType::TinyInt => "tinyint",
            SqlType::SmallInt => "smallint",
            SqlType::Int => "int",
            SqlType::BigInt => "bigint",
            SqlType::Bit => "bit",
            SqlType::Real => "real",
            SqlType::Float => "float",
            SqlType::Money => "money",
            SqlType::SmallMoney => "smallmoney",
            SqlType::Date => "date",
            SqlType::DateTime => "datetime",
            SqlType::SmallDateTime => "smalldatetime",
            SqlType::UniqueIdentifier => "uniqueidentifier",
            SqlType::Xml => "xml",
            SqlType::Decimal {
                precision,
                scale,
                numeric,
                ..
            } => {
                let name = if numeric { "numeric" } else { "decimal" };
                return write!(formatter, "{name}({precision},{scale})");
            }
            SqlType::Time(scale) => return write!(formatter, "time({scale})"),
            SqlType::DateTime2(scale) => return write!(formatter, "datetime2({scale})"),
            SqlType::DateTimeOffset(scale) => return write!(formatter, "datetimeoffset({scale})"),
            SqlType::Char(bytes, _) => {
                return with_length(formatter, "char", Length::Bytes(bytes), 1);
            }
            SqlType::VarChar(length, _) => return with_length(formatter, "varchar", length, 1),
            SqlType::NChar(bytes, _) => {
                return with_length(formatter, "nchar", Length::Bytes(bytes), 2);
            }
            SqlType::NVarChar(length, _) => return with_length(formatter, "nvarchar", length, 2),
            SqlType::Binary(bytes) => {
                return with_length(formatter, "binary", Length::Bytes(bytes), 1);
            }
            SqlType::VarBinary(length) => return with_length(formatter, "varbinary", length, 1),
        };
        formatter.write_str(name)
    }
}
