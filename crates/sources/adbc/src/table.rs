//! A table or query of one kind of database: its columns, its statements and its batches.

use std::fmt;
use std::ops::Range;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use inrush_rows::typed_rows::RowFault;

use crate::columns::Column;
use crate::keys::FoundKeys;
use crate::session::Session;

/// A table or a query of one kind of database.
pub trait Table: fmt::Debug + Send + Sync {
    /// The columns that are read.
    fn columns(&self) -> &[Column];

    /// The text after FROM in a query about all of its rows.
    fn all_rows(&self) -> &str;

    /// The numbers of its rows, if it is cut by them.
    fn row_ids(&self) -> Option<RowIds> {
        None
    }

    /// How a table of this database is cut by the numbers of its rows, in words for people; `None` if it has no such numbers.
    fn places_by(&self) -> Option<&'static str> {
        None
    }

    /// The ranges of a key, if it is cut by them.
    fn keys(&self) -> Option<&FoundKeys>;

    /// Why its rows can change although the state of the database is the same, in words; `None` if they cannot.
    fn changes_unseen(&self) -> Option<&str> {
        None
    }

    /// Notes for the user about its columns.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// The partitions of its result that the driver offers, if it is cut by them.
    fn partitions(&self) -> Option<&Partitions> {
        None
    }

    /// The approximate number of its rows, if the database knows it without reading them; `None` also if it does not answer.
    fn estimated_rows(&self, session: &mut Session) -> Option<u64>;

    /// The statement that reads a range of row numbers, or of ranges of the key.
    fn statement(&self, range: Range<u64>) -> String;

    /// The rows of a batch of that statement. `is_first` is true for the statement's first batch.
    fn block(&self, batch: &RecordBatch, is_first: bool) -> Result<Block, String>;
}

/// The numbers of rows by which a table is cut.
#[derive(Clone, Copy, Debug)]
pub struct RowIds {
    /// One past the last number.
    pub end: u64,
    /// The approximate bytes of a row.
    pub row_bytes: u64,
    /// Ranges that begin at multiples of this number are read fastest.
    pub group_rows: u64,
}

/// The partitions of a result. The driver makes them, and any of its connections can read them.
#[derive(Debug)]
pub struct Partitions {
    /// The driver's name for each of them.
    pub names: Vec<Vec<u8>>,
    /// The number of rows in all of them, if the driver knows it.
    pub rows: Option<u64>,
}

impl Partitions {
    /// The number of partitions.
    pub fn count(&self) -> u64 {
        self.names.len() as u64
    }
}

/// Rows as the driver has sent them.
pub struct Block {
    /// The columns that are read.
    pub columns: Vec<ArrayRef>,
    /// The number of each row in its table, if the table is cut by them.
    pub row_ids: Option<Int64Array>,
    /// The key of each row, if the table is cut by a key.
    pub keys: Option<ArrayRef>,
    /// Rows with a value that does not fit the type of its column, in their order.
    pub faults: Vec<RowFault>,
}
