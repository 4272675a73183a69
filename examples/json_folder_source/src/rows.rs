//! Lines to typed values.

use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_schema::DataType;
use inrush_rows::typed_rows::{RowFault, TypedColumn, TypedRows};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde_json::Value;

/// Whole numbers up to this one are floats without loss.
const WHOLE_MAX: u64 = 1 << 53;

/// Collects rows of these columns.
pub struct RowBuilder<'a> {
    columns: &'a [(String, DataType)],
    builders: Vec<Builder>,
    /// The values of one row.
    row: Vec<Option<Value>>,
    row_count: usize,
    bytes_count: u64,
    faults: Vec<RowFault>,
}

enum Builder {
    Boolean(BooleanBuilder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    Utf8(StringBuilder),
}

impl Builder {
    /// None for a type that this source does not read.
    fn of(data_type: &DataType) -> Option<Builder> {
        Some(match data_type {
            DataType::Boolean => Builder::Boolean(BooleanBuilder::new()),
            DataType::Int64 => Builder::Int64(Int64Builder::new()),
            DataType::Float64 => Builder::Float64(Float64Builder::new()),
            DataType::Utf8 => Builder::Utf8(StringBuilder::new()),
            _ => return None,
        })
    }

    /// True if it takes a value.
    fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) => true,
            (Builder::Boolean(_), value) => value.is_boolean(),
            (Builder::Int64(_), value) => value.is_i64(),
            (Builder::Float64(_), value) => as_float(value).is_some(),
            (Builder::Utf8(_), value) => value.is_string(),
        }
    }

    /// Appends a value that fits.
    fn append(&mut self, value: Option<&Value>) {
        match self {
            Builder::Boolean(builder) => builder.append_option(value.and_then(Value::as_bool)),
            Builder::Int64(builder) => builder.append_option(value.and_then(Value::as_i64)),
            Builder::Float64(builder) => builder.append_option(value.and_then(as_float)),
            Builder::Utf8(builder) => builder.append_option(value.and_then(Value::as_str)),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Boolean(mut builder) => Arc::new(builder.finish()),
            Builder::Int64(mut builder) => Arc::new(builder.finish()),
            Builder::Float64(mut builder) => Arc::new(builder.finish()),
            Builder::Utf8(mut builder) => Arc::new(builder.finish()),
        }
    }
}

/// A number as a float; none for a whole number that a float may not hold exactly.
fn as_float(value: &Value) -> Option<f64> {
    let is_exact = match value.as_i64() {
        Some(whole) => whole.unsigned_abs() <= WHOLE_MAX,
        None => value.is_f64(),
    };
    value.as_f64().filter(|_| is_exact)
}

/// True if this source reads values of a type.
pub fn is_read(data_type: &DataType) -> bool {
    Builder::of(data_type).is_some()
}

impl<'a> RowBuilder<'a> {
    /// For columns of types that this source [reads](is_read).
    pub fn new(columns: &'a [(String, DataType)]) -> RowBuilder<'a> {
        RowBuilder {
            columns,
            builders: columns
                .iter()
                .filter_map(|(_, data_type)| Builder::of(data_type))
                .collect(),
            row: vec![None; columns.len()],
            row_count: 0,
            bytes_count: 0,
            faults: Vec::new(),
        }
    }

    pub fn row_count(&self) -> usize {
        self.row_count
    }

    pub fn bytes_count(&self) -> u64 {
        self.bytes_count
    }

    /// Appends the row of a line. A row that cannot be read stays a row: its columns are NULL, and it has a fault.
    pub fn append(&mut self, line: &[u8]) {
        self.row.fill(None);
        let mut json = serde_json::Deserializer::from_slice(line);
        let object = Object {
            columns: self.columns,
            builders: &self.builders,
            row: &mut self.row,
        };
        let read = object.deserialize(&mut json).and_then(|()| json.end());
        if let Err(error) = read {
            self.row.fill(None);
            self.faults.push(RowFault {
                row: self.row_count,
                reason: format!("the line cannot be read as a row: {error}; write one JSON object of the columns on each line"),
                raw: String::from_utf8_lossy(line).into_owned().into_bytes(),
            });
        }
        for (builder, value) in self.builders.iter_mut().zip(&self.row) {
            builder.append(value.as_ref());
        }
        self.row_count += 1;
        self.bytes_count += line.len() as u64;
    }

    pub fn finish(self) -> TypedRows {
        let column = |builder: Builder| TypedColumn {
            values: Some(builder.finish()),
            is_uuid: false,
        };
        TypedRows {
            columns: self.builders.into_iter().map(column).collect(),
            row_count: self.row_count,
            // The reader hashes the text itself.
            content: Vec::new(),
            bytes_count: self.bytes_count,
            faults: self.faults,
        }
    }
}

/// An object whose keys are columns.
struct Object<'a> {
    columns: &'a [(String, DataType)],
    builders: &'a [Builder],
    row: &'a mut [Option<Value>],
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let Some(at) = self.columns.iter().position(|(name, _)| *name == key) else {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} is not a column"
                )));
            };
            let value: Value = map.next_value()?;
            if self.row[at].is_some() {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} occurs twice"
                )));
            }
            if !self.builders[at].fits(&value) {
                let data_type = &self.columns[at].1;
                return Err(A::Error::custom(format_args!(
                    "{key:?} is {value}, and its column is {data_type}"
                )));
            }
            self.row[at] = Some(value);
        }
        Ok(())
    }
}
