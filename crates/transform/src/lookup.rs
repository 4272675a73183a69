//! Lookups: columns of a reference table are put beside the rows whose keys are equal.
//!
//! Keys are compared by their values: whole numbers and decimals by the number, whatever their width; texts by their bytes; all
//! other types only with the same type. NULL is equal to nothing. The reference is in memory once for all streams, as an index
//! from the bytes of a key to a row of the taken columns.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::take::take;
use inrush_rows::column_type::ColumnType;
use inrush_rows::typed_rows::{Cells, value_text};
use twox_hash::XxHash3_64;

use crate::spec::InputColumn;

/// Bytes of an entry of the index beside its key.
const ENTRY_BYTES: u64 = 48;

/// Bytes of a value by which rows are ordered, if it is no long text.
const ORDER_BYTES: u64 = 48;

/// How the values of a key column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyClass {
    /// Whole numbers and decimals.
    Number,
    /// Texts, by their bytes.
    Text,
    /// Booleans.
    Bool,
    /// Days.
    Date,
    /// Times of the day.
    Time,
    /// Timestamps of an unnamed zone.
    Timestamp,
    /// Timestamps with a zone.
    TimestampTz,
    /// UUIDs and bytes.
    Bytes,
}

impl KeyClass {
    /// The class of a type; `None` if values of the type cannot be keys.
    pub fn of(column_type: &ColumnType) -> Option<KeyClass> {
        Some(match column_type {
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Decimal { .. } => KeyClass::Number,
            ColumnType::Text { .. } | ColumnType::Enum { .. } => KeyClass::Text,
            ColumnType::Bool => KeyClass::Bool,
            ColumnType::Date => KeyClass::Date,
            ColumnType::Time { .. } => KeyClass::Time,
            ColumnType::Timestamp { .. } => KeyClass::Timestamp,
            ColumnType::TimestampTz { .. } => KeyClass::TimestampTz,
            ColumnType::Uuid | ColumnType::Binary => KeyClass::Bytes,
            _ => return None,
        })
    }
}

/// A reference table in memory.
#[derive(Debug)]
pub struct Reference {
    index: HashMap<Box<[u8]>, u32>,
    /// The columns of the key, then the taken ones.
    columns: Vec<InputColumn>,
    /// The taken columns.
    taken: Vec<ArrayRef>,
    /// A number that is the same for the same keys and values, in any order.
    digest: u128,
    bytes: u64,
}

/// Why a reference cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceFault {
    /// A key is there twice.
    #[error("the key {key} is there twice{}", if *is_tie { ", and both rows have the same place in the order of `first`" } else { "" })]
    Duplicate {
        /// The values of the key.
        key: String,
        /// There is an order, and it does not tell which of the rows is the first.
        is_tie: bool,
    },
    /// It needs more memory than it may have.
    #[error("it needs more than {limit} bytes of memory: {rows} rows were read")]
    TooLarge {
        /// The limit.
        limit: u64,
        /// Rows that were read so far.
        rows: u64,
    },
    /// Arrow failed.
    #[error("{message}")]
    Engine {
        /// Arrow's message.
        message: String,
    },
}

/// Collects the rows of a reference.
#[derive(Debug)]
pub struct ReferenceBuilder {
    /// Columns of the key: their indexes in the batches, and how they are compared.
    keys: Vec<(usize, KeyClass)>,
    /// Indexes of the taken columns.
    taken: Vec<usize>,
    /// The order of rows with the same key, if one of them counts.
    first: Option<First>,
    /// The place of each row in that order.
    orders: Vec<Option<OrderValue>>,
    /// Keys whose first row is not known so far, in words: another row has the same place in the order.
    ties: HashMap<Box<[u8]>, String>,
    index: HashMap<Box<[u8]>, u32>,
    batches: Vec<Vec<ArrayRef>>,
    rows: u64,
    bytes: u64,
    bytes_max: u64,
}

/// The order of rows with the same key: the first one counts.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// The index of a column of the batches.
    pub column: usize,
    /// The largest value comes first.
    pub is_descending: bool,
}

/// A value by which rows are ordered; those of a column have the same form.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum OrderValue {
    Number(i128),
    Float(f64),
    Bytes(Box<[u8]>),
}

impl ReferenceBuilder {
    /// An empty reference. `keys` and `taken` are indexes of columns of the batches that follow.
    pub fn new(
        keys: Vec<(usize, KeyClass)>,
        taken: Vec<usize>,
        bytes_max: u64,
    ) -> ReferenceBuilder {
        ReferenceBuilder {
            keys,
            taken,
            index: HashMap::new(),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            bytes_max,
            first: None,
            orders: Vec::new(),
            ties: HashMap::new(),
        }
    }

    /// Of several rows with the same key the first one counts.
    pub fn with_first(mut self, first: First) -> ReferenceBuilder {
        self.first = Some(first);
        self
    }

    /// Adds rows. A row whose key has a NULL is never found, and is left out.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), ReferenceFault> {
        let keys: Vec<(&ArrayRef, KeyClass)> = self
            .keys
            .iter()
            .map(|(index, class)| (batch.column(*index), *class))
            .collect();
        if let Some(First { column, .. }) = self.first {
            let values = batch.column(column);
            self.orders
                .extend((0..values.len()).map(|row| order_value(values, row)));
            self.bytes += values.len() as u64 * ORDER_BYTES;
        }
        let mut key = Vec::new();
        for row in 0..batch.num_rows() {
            if !append_key(&keys, row, &mut key) {
                continue;
            }
            let number = u32::try_from(self.rows + row as u64);
            let number = number.map_err(|_| self.too_large(row))?;
            match self.index.entry(key.as_slice().into()) {
                Entry::Vacant(entry) => {
                    entry.insert(number);
                    self.bytes += key.len() as u64 + ENTRY_BYTES;
                }
                Entry::Occupied(mut entry) => {
                    let first = self.first.ok_or_else(|| ReferenceFault::Duplicate {
                        key: key_text(&keys, row),
                        is_tie: false,
                    })?;
                    let own = &self.orders[number as usize];
                    let before = &self.orders[*entry.get() as usize];
                    match first.is_before(own, before) {
                        // A later row may come before both.
                        None => {
                            self.ties.insert(entry.key().clone(), key_text(&keys, row));
                        }
                        Some(true) => {
                            self.ties.remove(entry.key());
                            entry.insert(number);
                        }
                        Some(false) => {}
                    }
                }
            }
            if self.bytes > self.bytes_max {
                return Err(self.too_large(row));
            }
        }
        let taken: Vec<ArrayRef> = self
            .taken
            .iter()
            .map(|index| compacted(batch.column(*index)))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let sizes = taken
            .iter()
            .map(|array| array.get_array_memory_size() as u64);
        self.bytes += sizes.sum::<u64>();
        self.batches.push(taken);
        self.rows += batch.num_rows() as u64;
        match self.bytes > self.bytes_max {
            true => Err(self.too_large(0)),
            false => Ok(()),
        }
    }

    fn too_large(&self, row: usize) -> ReferenceFault {
        ReferenceFault::TooLarge {
            limit: self.bytes_max,
            rows: self.rows + row as u64,
        }
    }

    /// The reference. `columns` are those of the key, then the taken ones.
    pub fn build(self, columns: Vec<InputColumn>) -> Result<Reference, ReferenceFault> {
        if let Some(key) = self.ties.values().min() {
            return Err(ReferenceFault::Duplicate {
                key: key.clone(),
                is_tie: true,
            });
        }
        let mut taken = Vec::with_capacity(self.taken.len());
        for (at, column) in columns[self.keys.len()..].iter().enumerate() {
            let parts: Vec<&dyn Array> = self
                .batches
                .iter()
                .map(|batch| batch[at].as_ref())
                .collect();
            taken.push(match parts.is_empty() {
                true => arrow_array::new_empty_array(&column.column_type.arrow()),
                false => concat(&parts).map_err(failed)?,
            });
        }
        Ok(Reference {
            digest: digest(&self.index, &taken),
            index: self.index,
            columns,
            taken,
            bytes: self.bytes,
        })
    }
}

impl Reference {
    /// The number of keys.
    pub fn key_count(&self) -> usize {
        self.index.len()
    }

    /// The columns of the key, then the taken ones, with the names of the reference.
    pub fn columns(&self) -> &[InputColumn] {
        &self.columns
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A text that is the same for the same keys and values, in any order: a part of the identity of units.
    pub fn digest(&self) -> String {
        format!("{:032x}-{}", self.digest, self.index.len())
    }

    /// The rows of the reference for the rows of a batch; NULL if there is none.
    fn rows_of(&self, keys: &[(&ArrayRef, KeyClass)], row_count: usize) -> UInt32Array {
        let mut key = Vec::new();
        let rows = (0..row_count).map(|row| match append_key(keys, row, &mut key) {
            true => self.index.get(key.as_slice()).copied(),
            false => None,
        });
        rows.collect()
    }
}

/// A lookup in a reference.
#[derive(Clone, Debug)]
pub struct Lookup {
    reference: Arc<Reference>,
    /// Columns of the batches with the key, and how they are compared.
    keys: Vec<(usize, KeyClass)>,
    /// The taken columns; behind the rows of the reference stands the row of the defaults, if there are defaults.
    taken: Vec<ArrayRef>,
    /// The row of the defaults.
    default: Option<u32>,
}

/// What happens to rows whose key is not in the reference.
#[derive(Clone, Debug)]
pub enum Unmatched {
    /// The row is rejected.
    Reject,
    /// The taken columns are NULL.
    Null,
    /// The taken columns have these values: an array with one value for each.
    Default(Vec<ArrayRef>),
}

impl Unmatched {
    /// Words for the plan.
    pub fn words(&self) -> &'static str {
        match self {
            Unmatched::Reject => "rows without a match are rejected",
            Unmatched::Null => "rows without a match get NULL",
            Unmatched::Default(_) => "rows without a match get the default",
        }
    }
}

/// The columns that a lookup found for the rows of a batch.
pub struct Found {
    /// The columns.
    pub columns: Vec<ArrayRef>,
    /// Indexes of the rows whose key is not there, ascending.
    pub unmatched: Vec<usize>,
}

impl Lookup {
    /// A lookup by these columns of the batches.
    pub fn new(
        reference: &Arc<Reference>,
        keys: Vec<(usize, KeyClass)>,
        unmatched: &Unmatched,
    ) -> Result<Lookup, ArrowError> {
        let taken = reference.taken.iter();
        let (taken, default) = match unmatched {
            Unmatched::Reject | Unmatched::Null => (taken.cloned().collect(), None),
            Unmatched::Default(values) => {
                let both = taken.zip(values);
                let both = both.map(|(taken, value)| concat(&[taken.as_ref(), value.as_ref()]));
                let row_count = reference.taken.first().map_or(0, |taken| taken.len());
                (both.collect::<Result<_, _>>()?, Some(row_count as u32))
            }
        };
        Ok(Lookup {
            reference: Arc::clone(reference),
            keys,
            taken,
            default,
        })
    }

    /// Looks up the keys of a batch.
    pub fn find(&self, batch: &RecordBatch) -> Result<Found, ArrowError> {
        let keys: Vec<(&ArrayRef, KeyClass)> = self
            .keys
            .iter()
            .map(|(index, class)| (batch.column(*index), *class))
            .collect();
        let rows = self.reference.rows_of(&keys, batch.num_rows());
        let unmatched: Vec<usize> = match rows.null_count() {
            0 => Vec::new(),
            _ => (0..rows.len()).filter(|row| rows.is_null(*row)).collect(),
        };
        let rows = match (self.default, unmatched.is_empty()) {
            (Some(default), false) => rows.iter().map(|row| row.or(Some(default))).collect(),
            _ => rows,
        };
        let columns = self.taken.iter().map(|taken| take(taken, &rows, None));
        Ok(Found {
            columns: columns.collect::<Result<_, _>>()?,
            unmatched,
        })
    }

    /// True if the key of a row has a NULL.
    pub fn has_null(&self, batch: &RecordBatch, row: usize) -> bool {
        let mut columns = self.keys.iter().map(|(index, _)| batch.column(*index));
        columns.any(|column| column.is_null(row))
    }

    /// The value of a row whose key is one column, as rejects show it; `None` if it is NULL, or if the key has several columns.
    pub fn only_value(&self, batch: &RecordBatch, row: usize) -> Option<String> {
        match self.keys.as_slice() {
            [(index, _)] => plain_text(batch.column(*index), row),
            _ => None,
        }
    }

    /// The key of a row in words, for a reject.
    pub fn key_text(&self, batch: &RecordBatch, row: usize) -> String {
        let keys: Vec<(&ArrayRef, KeyClass)> = self
            .keys
            .iter()
            .map(|(index, class)| (batch.column(*index), *class))
            .collect();
        key_text(&keys, row)
    }
}

/// The bytes of a key; false if a value is NULL. Values of several columns are kept apart by their lengths.
fn append_key(keys: &[(&ArrayRef, KeyClass)], row: usize, key: &mut Vec<u8>) -> bool {
    key.clear();
    for (array, class) in keys {
        if array.is_null(row) {
            return false;
        }
        let start = key.len();
        key.extend_from_slice(&[0; 4]);
        append_value(array, *class, row, key);
        let length = (key.len() - start - 4) as u32;
        key[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
    true
}

fn append_value(array: &ArrayRef, class: KeyClass, row: usize, key: &mut Vec<u8>) {
    let mut number = |value: i64| key.extend_from_slice(&value.to_le_bytes());
    match (class, array.data_type()) {
        (KeyClass::Number, DataType::Int16) => {
            append_number(array.as_primitive::<Int16Type>().value(row).into(), 0, key);
        }
        (KeyClass::Number, DataType::Int32) => {
            append_number(array.as_primitive::<Int32Type>().value(row).into(), 0, key);
        }
        (KeyClass::Number, DataType::Int64) => {
            append_number(array.as_primitive::<Int64Type>().value(row).into(), 0, key);
        }
        (KeyClass::Number, DataType::Decimal128(_, scale)) => {
            append_number(
                array.as_primitive::<Decimal128Type>().value(row),
                *scale,
                key,
            );
        }
        (KeyClass::Date, _) => number(array.as_primitive::<Date32Type>().value(row).into()),
        (KeyClass::Time, _) => number(array.as_primitive::<Time64MicrosecondType>().value(row)),
        (KeyClass::Timestamp | KeyClass::TimestampTz, _) => {
            number(array.as_primitive::<TimestampMicrosecondType>().value(row));
        }
        (KeyClass::Bool, _) => key.push(array.as_boolean().value(row).into()),
        (KeyClass::Bytes, DataType::FixedSizeBinary(_)) => {
            key.extend_from_slice(array.as_fixed_size_binary().value(row));
        }
        (KeyClass::Bytes, _) => key.extend_from_slice(array.as_binary_view().value(row)),
        _ => key.extend_from_slice(array.as_string_view().value(row).as_bytes()),
    }
}

/// A number without zeros at its end, and the digits that are left behind the point: 1.50 is 15 and 1, 100 is 1 and -2.
fn append_number(mut value: i128, scale: i8, key: &mut Vec<u8>) {
    let mut scale = i32::from(scale);
    if value == 0 {
        scale = 0;
    }
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    key.push(scale as u8);
    // The bytes in front of a small number are all the same.
    let bytes = value.to_le_bytes();
    let filler = if value < 0 { 0xff } else { 0 };
    let length = bytes
        .iter()
        .rposition(|byte| *byte != filler)
        .map_or(0, |at| at + 1);
    key.push(u8::from(value < 0));
    key.extend_from_slice(&bytes[..length]);
}

fn key_text(keys: &[(&ArrayRef, KeyClass)], row: usize) -> String {
    let values = keys.iter().map(|(array, _)| {
        if array.is_null(row) {
            return "NULL".to_owned();
        }
        if let Some(texts) = array.as_string_view_opt() {
            return format!("{:?}", texts.value(row));
        }
        plain_text(array, row).unwrap_or_default()
    });
    values.collect::<Vec<_>>().join(", ")
}

fn plain_text(array: &ArrayRef, row: usize) -> Option<String> {
    let is_uuid = matches!(array.data_type(), DataType::FixedSizeBinary(16));
    value_text(array, row, is_uuid)
}

/// The array without the memory that its text shares with the source.
fn compacted(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(texts) = array.as_string_view_opt() {
        return Ok(Arc::new(texts.gc()));
    }
    if let Some(bytes) = array.as_binary_view_opt() {
        return Ok(Arc::new(bytes.gc()));
    }
    Ok(Arc::clone(array))
}

impl First {
    /// True if a row comes before another one; `None` if the order does not tell.
    fn is_before(&self, own: &Option<OrderValue>, other: &Option<OrderValue>) -> Option<bool> {
        match (own, other) {
            (None, None) => None,
            // NULL comes last, whatever the direction.
            (None, Some(_)) => Some(false),
            (Some(_), None) => Some(true),
            (Some(own), Some(other)) => match own.partial_cmp(other)? {
                Ordering::Equal => None,
                Ordering::Less => Some(!self.is_descending),
                Ordering::Greater => Some(self.is_descending),
            },
        }
    }

    /// True if values of a type have an order here.
    pub fn orders(column_type: &ColumnType) -> bool {
        KeyClass::of(column_type).is_some()
            || matches!(column_type, ColumnType::Float32 | ColumnType::Float64)
    }
}

fn order_value(array: &ArrayRef, row: usize) -> Option<OrderValue> {
    if array.is_null(row) {
        return None;
    }
    let number = |value: i64| OrderValue::Number(value.into());
    Some(match array.data_type() {
        DataType::Boolean => number(array.as_boolean().value(row).into()),
        DataType::Int16 => number(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => number(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row)),
        DataType::Date32 => number(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Time64(_) => number(array.as_primitive::<Time64MicrosecondType>().value(row)),
        DataType::Timestamp(_, _) => {
            number(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        // The scale is the same in all rows.
        DataType::Decimal128(_, _) => {
            OrderValue::Number(array.as_primitive::<Decimal128Type>().value(row))
        }
        DataType::Float32 => {
            OrderValue::Float(array.as_primitive::<Float32Type>().value(row).into())
        }
        DataType::Float64 => OrderValue::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::FixedSizeBinary(_) => {
            OrderValue::Bytes(array.as_fixed_size_binary().value(row).into())
        }
        DataType::BinaryView => OrderValue::Bytes(array.as_binary_view().value(row).into()),
        _ => OrderValue::Bytes(array.as_string_view().value(row).as_bytes().into()),
    })
}

/// The sum of the digests of all keys with their values.
fn digest(index: &HashMap<Box<[u8]>, u32>, taken: &[ArrayRef]) -> u128 {
    let cells: Vec<Option<Cells>> = taken
        .iter()
        .map(|values| Cells::of(values, false))
        .collect();
    let mut sum: u128 = 0;
    let mut text = Vec::new();
    for (key, row) in index {
        text.clear();
        text.extend_from_slice(key);
        for cells in &cells {
            text.push(0xff);
            if let Some(cells) = cells {
                cells.append(*row as usize, &mut text);
            }
        }
        sum = sum.wrapping_add(digest_of(&text));
    }
    sum
}

/// A number of 128 bits in which each bit depends on all bytes: the digests of rows are added up, so that their order does not
/// matter, and differences between similar rows must not cancel each other.
fn digest_of(bytes: &[u8]) -> u128 {
    let half = |seed| u128::from(XxHash3_64::oneshot_with_seed(seed, bytes));
    half(0) << 64 | half(1)
}

fn failed(error: ArrowError) -> ReferenceFault {
    ReferenceFault::Engine {
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Int16Array, Int64Array, StringViewArray};

    use super::*;

    fn batch(keys: ArrayRef, values: &[Option<&str>]) -> RecordBatch {
        let values: ArrayRef = Arc::new(StringViewArray::from_iter(values.iter().copied()));
        RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("v", values, true)])
            .expect("two columns")
    }

    fn text() -> ColumnType {
        ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        }
    }

    fn reference(batches: &[RecordBatch]) -> Result<Reference, ReferenceFault> {
        let keys = vec![(0, KeyClass::Number)];
        let mut builder = ReferenceBuilder::new(keys, vec![1], 1 << 20);
        for batch in batches {
            builder.add(batch)?;
        }
        let column = |name: &str, column_type| InputColumn {
            name: name.to_owned(),
            column_type,
        };
        builder.build(vec![column("k", ColumnType::Int64), column("v", text())])
    }

    fn lookup(reference: Reference, unmatched: Unmatched) -> Lookup {
        let keys = vec![(0, KeyClass::Number)];
        Lookup::new(&Arc::new(reference), keys, &unmatched).expect("arrays of the same types")
    }

    fn found(lookup: &Lookup, keys: ArrayRef) -> (Vec<Option<String>>, Vec<usize>) {
        let values = vec![None; keys.len()];
        let Found { columns, unmatched } = lookup.find(&batch(keys, &values)).expect("found");
        let texts = columns[0].as_string_view().iter();
        (
            texts.map(|text| text.map(str::to_owned)).collect(),
            unmatched,
        )
    }

    #[test]
    fn numbers_are_equal_whatever_their_width_and_scale() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-20), Some(300)]));
        let values = [Some("one"), Some("never"), None, Some("three")];
        let own = lookup(
            reference(&[batch(keys, &values)]).expect("unique"),
            Unmatched::Null,
        );
        let small: ArrayRef = Arc::new(Int16Array::from(vec![Some(300), Some(1), None, Some(7)]));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            found(&own, small),
            (vec![some("three"), some("one"), None, None], vec![2, 3])
        );
        let decimals = Decimal128Array::from(vec![100, -2000, 150, 30_000]);
        let decimals: ArrayRef =
            Arc::new(decimals.with_precision_and_scale(9, 2).expect("it fits"));
        assert_eq!(
            found(&own, decimals),
            (vec![some("one"), None, None, some("three")], vec![2])
        );
    }

    #[test]
    fn a_default_stands_for_keys_that_are_not_there() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let default: ArrayRef = Arc::new(StringViewArray::from(vec!["none"]));
        let reference = reference(&[batch(keys, &[Some("one")])]).expect("unique");
        let own = lookup(reference, Unmatched::Default(vec![default]));
        let asked: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), Some(1), None]));
        let (texts, unmatched) = found(&own, asked);
        let texts: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        assert_eq!(
            (texts, unmatched),
            (vec!["none", "one", "none"], vec![0, 2])
        );
    }

    #[test]
    fn a_key_that_is_there_twice_is_told() {
        let keys = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let twice = [
            batch(keys(vec![1, 2]), &[None, None]),
            batch(keys(vec![3, 2]), &[None, None]),
        ];
        let fault = reference(&twice).expect_err("a key is there twice");
        assert_eq!(
            fault,
            ReferenceFault::Duplicate {
                key: "2".to_owned(),
                is_tie: false,
            }
        );
    }

    #[test]
    fn of_rows_with_the_same_key_the_first_counts() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 1, 2]));
        let rows = batch(keys, &[Some("b"), Some("a"), None, None]);
        for (is_descending, expected) in [(false, "a"), (true, "b")] {
            let first = First {
                column: 1,
                is_descending,
            };
            let column = |name: &str, column_type| InputColumn {
                name: name.to_owned(),
                column_type,
            };
            let columns = vec![column("k", ColumnType::Int64), column("v", text())];
            let reference = ordered(&rows, first).build(columns).expect("a reference");
            let own = lookup(reference, Unmatched::Null);
            let asked: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
            let (texts, unmatched) = found(&own, asked);
            assert_eq!(texts, [Some(expected.to_owned()), None]);
            assert_eq!(unmatched, Vec::<usize>::new());
            // Two rows with the same value have no order, unless a third one comes before both.
            let mut twice = ordered(&rows, first);
            twice.add(&rows).expect("the order is looked at later");
            let columns = || vec![column("k", ColumnType::Int64), column("v", text())];
            let fault = twice.build(columns()).expect_err("a tie");
            assert!(
                matches!(&fault, ReferenceFault::Duplicate { key, is_tie: true } if key == "1"),
                "{fault:?}"
            );
            let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
            let best = if is_descending { "z" } else { "A" };
            let mut twice = ordered(&rows, first);
            twice.add(&rows).expect("the order is looked at later");
            let third = batch(keys, &[Some(best), Some(best)]);
            twice.add(&third).expect("the order is looked at later");
            let own = lookup(twice.build(columns()).expect("an order"), Unmatched::Null);
            let asked: ArrayRef = Arc::new(Int64Array::from(vec![1]));
            assert_eq!(found(&own, asked).0, [Some(best.to_owned())]);
        }
    }

    fn ordered(rows: &RecordBatch, first: First) -> ReferenceBuilder {
        let keys = vec![(0, KeyClass::Number)];
        let mut builder = ReferenceBuilder::new(keys, vec![1], 1 << 20).with_first(first);
        builder.add(rows).expect("an order");
        builder
    }

    #[test]
    fn memory_is_limited() {
        let mut builder = ReferenceBuilder::new(vec![(0, KeyClass::Number)], vec![1], 1_000);
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
        let fault = builder
            .add(&batch(keys, &[None; 100]))
            .expect_err("too large");
        assert!(
            matches!(fault, ReferenceFault::TooLarge { limit: 1_000, .. }),
            "{fault:?}"
        );
    }

    #[test]
    fn the_digest_does_not_depend_on_the_order() {
        let keys = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let digest = |keys: ArrayRef, values: &[Option<&str>]| {
            reference(&[batch(keys, values)]).expect("unique").digest()
        };
        let first = digest(keys(vec![1, 2]), &[Some("a"), Some("b")]);
        assert_eq!(first, digest(keys(vec![2, 1]), &[Some("b"), Some("a")]));
        assert_ne!(first, digest(keys(vec![2, 1]), &[Some("a"), Some("b")]));
        assert_ne!(first, digest(keys(vec![1]), &[Some("a")]));
    }

    /// Sums of weak hashes are often equal if the same digit of all values has changed.
    #[test]
    fn references_with_other_values_have_other_digests() {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=26));
        let mut seen = std::collections::BTreeSet::new();
        for value in 0..2_000 {
            let text = value.to_string();
            let batch = batch(Arc::clone(&keys), &[Some(text.as_str()); 26]);
            let built = reference(&[batch]).expect("a reference");
            assert!(seen.insert(built.digest()), "{value}");
        }
        let values: Vec<String> = (0..26).map(|n| (n % 2).to_string()).collect();
        let swapped: Vec<String> = (0..26).map(|n| ((n + 1) % 2).to_string()).collect();
        for values in [values, swapped] {
            let values: Vec<Option<&str>> = values.iter().map(|text| Some(text.as_str())).collect();
            let built = reference(&[batch(Arc::clone(&keys), &values)]).expect("a reference");
            assert!(seen.insert(built.digest()), "{values:?}");
        }
    }
}
