//! Errors of descriptions from the server, and of encoding a batch.

use arrow_schema::DataType;

use crate::bulk::Misfit;
use crate::limits::COLUMNS_MAX;
use crate::type_info::TypeInfo;

/// Why the server's description of columns (COLMETADATA) cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The bytes end within the description.
    #[error(
        "the server's description of the columns ends at byte {at}, where {wanted} more bytes of {of} should follow: \
         the server, or a proxy in between, is faulty"
    )]
    Truncated {
        /// The position where the bytes end.
        at: usize,
        /// The number of bytes that are missing there, at least.
        wanted: usize,
        /// The part of the description to which the missing bytes belong.
        of: &'static str,
    },
    /// The bytes do not begin with the token 0x81.
    #[error(
        "the server's answer begins with the token 0x{found:02x} and not with 0x81, a description of columns: \
         the query of the target's columns returned no rowset"
    )]
    NoDescription {
        /// The first byte.
        found: u8,
    },
    /// No columns, or more than SQL Server has.
    #[error(
        "the server describes {found} columns; a rowset has 1 to {max}",
        max = COLUMNS_MAX
    )]
    ColumnCount {
        /// The number of columns in the description.
        found: usize,
    },
    /// A column has a type that bulk loads of Inrush do not write.
    #[error(
        "column {ordinal} is of the type {type_name} (0x{token:02x}), which cannot be loaded: leave the column out, \
         or change its type{instead}"
    )]
    UnsupportedType {
        /// The column, from 1.
        ordinal: usize,
        /// The type's token.
        token: u8,
        /// The type's name, or `unknown`.
        type_name: &'static str,
        /// The end of the sentence with the type to use instead: ` to nvarchar(max)`, for example; may be empty.
        instead: &'static str,
    },
    /// A length, precision or scale is not possible for the type.
    #[error(
        "column {ordinal}: the server describes {type_name} with {value} as its {of}, which no such column has: \
         the server, or a proxy in between, is faulty"
    )]
    BadTypeInfo {
        /// The column, from 1.
        ordinal: usize,
        /// The type.
        type_name: &'static str,
        /// The name of the wrong number.
        of: &'static str,
        /// The number.
        value: u32,
    },
    /// A column's name is not UTF-16.
    #[error(
        "column {ordinal}: its name is not valid UTF-16: rename the column, or create it again"
    )]
    BadName {
        /// The column, from 1.
        ordinal: usize,
    },
    /// The column is encrypted by the client (Always Encrypted).
    #[error(
        "column {ordinal}, \"{name}\", is encrypted by its clients (Always Encrypted), and Inrush cannot encrypt \
         values"
    )]
    Encrypted {
        /// The column, from 1.
        ordinal: usize,
        /// Its name.
        name: String,
    },
    /// The code page of a `char` or `varchar` column is unknown.
    #[error(
        "column {ordinal}, \"{name}\": its collation (locale 0x{locale:05x}, sort order {sort_id}) has no code page that is \
         known here: use a collation that ends in _UTF8, or nvarchar"
    )]
    UnknownCodePage {
        /// The column, from 1.
        ordinal: usize,
        /// Its name.
        name: String,
        /// The collation's locale.
        locale: u32,
        /// The collation's sort order, 0 for a Windows collation.
        sort_id: u8,
    },
}

/// Why a batch was not encoded. The output has nothing of that batch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The batch has more or fewer columns than the stream.
    #[error(
        "the batch has {found} columns but the bulk load was begun with {expected}: the columns of INSERT BULK and \
         those of the batch must be the same"
    )]
    ColumnCount {
        /// The number of columns of the stream.
        expected: usize,
        /// The number of columns of the batch.
        found: usize,
    },
    /// A column's Arrow type cannot be encoded as the type of the target's column.
    #[error(
        "column \"{column}\" is {type_info} in the target but comes as Arrow {found}: it must be converted to {expected} first"
    )]
    ColumnType {
        /// The column.
        column: String,
        /// The target's type.
        type_info: TypeInfo,
        /// The Arrow types that can be encoded.
        expected: String,
        /// The Arrow type of the column.
        found: DataType,
    },
    /// A value that the target's column cannot hold.
    #[error(transparent)]
    Value(Misfit),
}

/// The end of a message: the wider type to use instead. Empty if there is no wider type.
fn wider(type_name: &str) -> &'static str {
    match type_name {
        "datetime" | "smalldatetime" => "; use datetime2(6)",
        "tinyint" => "; use smallint",
        "smallmoney" => "; use money",
        _ => "",
    }
}

/// Why a column of the target cannot hold a value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueFault {
    /// NULL for a column that accepts none.
    #[error("NULL, but the column is NOT NULL")]
    Null,
    /// A number, date or time outside the range of the type.
    #[error(
        "{value} is outside the range of {type_name} ({range}){}",
        wider(type_name)
    )]
    OutOfRange {
        /// The value.
        value: String,
        /// The target's type.
        type_name: String,
        /// The range of the type.
        range: String,
    },
    /// A float without a counterpart.
    #[error(
        "{value} has no counterpart in SQL Server: make it NULL with a null marker, or load it as text"
    )]
    NotFinite {
        /// `NaN`, `Infinity` or `-Infinity`.
        value: String,
    },
    /// A time that the type would round.
    #[error("{value} would be rounded: {type_name} holds {step}; use datetime2(6)")]
    WouldRound {
        /// The value.
        value: String,
        /// The target's type.
        type_name: String,
        /// The steps of the type.
        step: String,
    },
    /// A text or a binary value longer than the column.
    #[error(
        "the value has {length} {unit}, {type_name} holds {max}: shorten it or widen the column"
    )]
    TooLong {
        /// The value's length.
        length: u64,
        /// The greatest length that the column holds.
        max: u64,
        /// `bytes`, or the unit that `nvarchar` counts: a character past U+FFFF has two.
        unit: &'static str,
        /// The target's type.
        type_name: String,
    },
    /// A value for `binary(n)` that the server would pad.
    #[error(
        "the value has {length} bytes; {type_name} would pad it with zeros: use varbinary({expected})"
    )]
    WouldPad {
        /// The value's length.
        length: u64,
        /// Bytes of every value of the column.
        expected: u16,
        /// The target's type.
        type_name: String,
    },
    /// A character that the column's code page lacks.
    #[error(
        "the character {character:?} (U+{code:04X}) is not in code page {code_page} of the column: use nvarchar, or a \
         collation that ends in _UTF8",
        code = u32::from(*character)
    )]
    NotInCodePage {
        /// The character.
        character: char,
        /// Microsoft's number of the code page.
        code_page: u16,
    },
}
