//! A decoded block as rows with their places.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::DataType;
use inrush_pgcopy::{DecodedBlock, plain_or_text};
use inrush_rows::chunk::{NumberedRows, Places};
use inrush_rows::typed_rows::{RowFault, TypedColumn, TypedRows};
use inrush_source::{KEY_ROW_BITS, KeyPlaces};

use crate::columns::Column;

/// The number of low bits of a position that number the rows of a page.
pub const ROW_BITS: u32 = 16;

/// Rows that are found by their `ctid`.
#[derive(Debug)]
struct PagePlaces {
    /// The position of each row.
    positions: UInt64Array,
    first: u64,
}

impl Places for PagePlaces {
    fn byte_distance(&self, _text: &[u8], position: usize) -> u64 {
        self.positions.value(position) - self.first
    }

    fn are_rows(&self) -> bool {
        true
    }

    fn have_numbers(&self) -> bool {
        false
    }

    fn key(&self, position: usize) -> Option<Arc<str>> {
        let place = self.positions.value(position);
        let (page, row) = (place >> ROW_BITS, place & ((1 << ROW_BITS) - 1));
        Some(format!("ctid ({page},{row})").into())
    }
}

/// How a row is found again. A `ctid` and a key are read as a column before the others.
#[derive(Clone, Debug)]
pub enum RowPlace {
    /// The `ctid`.
    Page,
    /// The key, by its column's name. The number of the split's first range is the upper part of the positions of its rows.
    Key(Arc<str>, u64),
    /// The number of the row.
    Number,
}

impl RowPlace {
    /// The number of columns before the columns of the row.
    pub fn columns(&self) -> usize {
        match self {
            RowPlace::Page | RowPlace::Key(..) => 1,
            RowPlace::Number => 0,
        }
    }
}

/// Sets the zone of timestamps, because the decoder does not distinguish the two types of timestamps.
fn with_zone(array: &ArrayRef, column: &Column) -> ArrayRef {
    match (&column.data_type, array.data_type()) {
        (DataType::Timestamp(_, Some(zone)), DataType::Timestamp(_, None)) => {
            let moments = array.as_primitive::<TimestampMicrosecondType>().clone();
            Arc::new(moments.with_timezone(Arc::clone(zone)))
        }
        _ => array.clone(),
    }
}

/// The rows of a block, the position of the first row, and the place of each row. `first_number` is the number of rows
/// before the block.
pub fn of_block(
    columns: &[Column],
    block: DecodedBlock,
    place: &RowPlace,
    first_number: u64,
) -> (TypedRows, u64, Arc<dyn Places>) {
    let mut faults: Vec<RowFault> = Vec::new();
    for bad in &block.bad_texts {
        // One fault for each row.
        if faults.last().is_some_and(|last| last.row == bad.row) {
            continue;
        }
        let column = bad.column.checked_sub(place.columns());
        let column = column.and_then(|index| columns.get(index));
        faults.push(RowFault {
            row: bad.row,
            reason: format!(
                "the text of the column `{}` is not UTF-8; the database's encoding is likely SQL_ASCII: correct the text, or leave the column out",
                column.map_or("?", |column| &column.name)
            ),
            raw: String::from_utf8_lossy(&bad.bytes).into_owned().into_bytes(),
        });
    }
    let (first, places): (u64, Arc<dyn Places>) = match (place, block.columns.first()) {
        (RowPlace::Key(column, range), Some(keys)) => {
            let column = Arc::clone(column);
            let keys = Arc::clone(keys);
            let first = (range << KEY_ROW_BITS) + first_number;
            (first, Arc::new(KeyPlaces { column, keys }))
        }
        (RowPlace::Page, Some(tids)) => {
            let positions = tids.as_primitive::<UInt64Type>().clone();
            let first = match positions.is_empty() {
                true => 0,
                false => positions.value(0),
            };
            (first, Arc::new(PagePlaces { positions, first }))
        }
        _ => (
            first_number,
            Arc::new(NumberedRows {
                order: "in the order in which the server sent them",
            }),
        ),
    };
    let values = block.columns.iter().skip(place.columns());
    let typed = values.zip(columns).map(|(array, column)| TypedColumn {
        values: Some(plain_or_text(&with_zone(array, column))),
        is_uuid: column.is_uuid(),
    });
    let rows = TypedRows {
        columns: typed.collect(),
        row_count: block.row_count,
        // The reader hashes the data itself.
        content: Vec::new(),
        bytes_count: block.bytes_count as u64,
        faults,
    };
    (rows, first, places)
}
