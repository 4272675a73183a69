//! The columns that are read.

use arrow_schema::DataType;
use inrush_source::SourceColumn;
use inrush_tds::{ColumnMetadata, Length, SqlType, result};

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// Its type on the server.
    pub sql_type: SqlType,
    /// Its type, as statements write it.
    pub sql: String,
    /// Its values are UUIDs.
    pub is_uuid: bool,
    /// It has no NULL.
    pub not_null: bool,
}

impl Column {
    /// A column as the server describes it.
    pub fn new(described: &ColumnMetadata) -> Column {
        let sql_type = described.type_info.sql_type;
        Column {
            name: described.name.clone(),
            data_type: result::data_type(&sql_type),
            sql: described.type_info.to_string(),
            is_uuid: matches!(sql_type, SqlType::UniqueIdentifier),
            not_null: !described.is_nullable(),
            sql_type,
        }
    }

    /// True if a new target's column gets a type that holds the same values. False if it gets a wider type or a type
    /// without the limit: `nvarchar(20)` counts units of UTF-16, and `varchar(20)` counts bytes.
    pub fn has_counterpart(&self) -> bool {
        match self.sql_type {
            SqlType::TinyInt
            | SqlType::Money
            | SqlType::SmallMoney
            | SqlType::Char(..)
            | SqlType::NChar(..)
            | SqlType::Xml
            | SqlType::Binary(_) => false,
            SqlType::VarChar(length, _)
            | SqlType::NVarChar(length, _)
            | SqlType::VarBinary(length) => length == Length::Max,
            SqlType::Bit
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Real
            | SqlType::Float
            | SqlType::Decimal { .. }
            | SqlType::Date
            | SqlType::Time(_)
            | SqlType::DateTime2(_)
            | SqlType::DateTime
            | SqlType::SmallDateTime
            | SqlType::DateTimeOffset(_)
            | SqlType::UniqueIdentifier => true,
        }
    }

    /// The approximate size of a value in bytes.
    pub fn value_bytes(&self) -> u64 {
        match self.data_type.primitive_width() {
            Some(bytes) => bytes as u64,
            None => 32,
        }
    }

    /// The column as the contract describes it.
    pub fn in_source(&self) -> SourceColumn {
        SourceColumn {
            name: self.name.clone(),
            data_type: Some(self.data_type.clone()),
            is_uuid: self.is_uuid,
            native: None,
            declared: Some(self.sql.clone()),
        }
    }
}
