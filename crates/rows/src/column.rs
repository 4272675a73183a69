//! Columns and their types, as the converter fills them for a destination.

use arrow_schema::{Field, Schema};

pub use crate::column_type::{ColumnType, interval_fields};
pub use crate::special_type::{IntervalFields, SpecialType, TIME_TZ_BYTES};

use crate::column_policy::{ColumnPolicies, ValueSource};

/// A column that a flow loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in the target, unquoted.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// NULL is allowed.
    pub nullable: bool,
    /// The source of its values.
    pub source: ValueSource,
    /// The formats of dates, times and timestamps, in strftime's letters, tried in this order; ISO 8601 if there are
    /// none.
    pub formats: Vec<String>,
    /// The IANA zone of timestamps that are written without an offset.
    pub zone: Option<String>,
    /// The policies for reading its fields.
    pub policies: ColumnPolicies,
}

impl Column {
    /// A nullable column that is read from a field (counted from 0) with the rules of its type.
    pub fn new(name: &str, column_type: ColumnType, field_index: usize) -> Column {
        Column {
            name: name.to_owned(),
            column_type,
            nullable: true,
            source: ValueSource::Field(field_index),
            formats: Vec::new(),
            zone: None,
            policies: ColumnPolicies::default(),
        }
    }
}

/// The Arrow schema of batches with these columns. Every field is nullable there: a NULL in a NOT NULL column has
/// already become a reject.
pub fn schema(columns: &[Column]) -> Schema {
    Schema::new(
        columns
            .iter()
            .map(|column| Field::new(&column.name, column.column_type.arrow(), true))
            .collect::<Vec<_>>(),
    )
}
