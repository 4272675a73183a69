//! The reference table of a lookup: built from batches within a limit of memory, then read by all streams.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use inrush_rows::typed_rows::Cells;
use twox_hash::XxHash3_64;

use super::disk::DiskReference;
use super::first::{First, OrderValue, order_value};
use super::index::{Index, heap_bytes, table_bytes};
use crate::key::{KeyClass, append_key, key_text};
use crate::spec::InputColumn;

/// A reference table in memory or, if it is larger than its memory, on disk.
#[derive(Debug)]
pub struct Reference {
    entries: Entries,
    /// The columns of the key, then the taken columns.
    columns: Vec<InputColumn>,
    /// A number that is the same for the same keys and values, in any order.
    digest: u128,
    bytes: u64,
}

/// The keys of a reference, and their values.
#[derive(Debug)]
enum Entries {
    Memory {
        index: Index,
        /// The taken columns.
        taken: Vec<ArrayRef>,
    },
    Disk(DiskReference),
}

/// The rows of a reference for the rows of a batch.
pub(super) struct FoundRows {
    /// For each row of the batch the row of `taken`, or none.
    pub(super) rows: Vec<Option<u32>>,
    /// The taken columns.
    pub(super) taken: Vec<ArrayRef>,
}

/// Why a reference cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceFault {
    /// The reference has a key twice.
    #[error("the key {key} is there twice{}", if *is_tie { ", and both rows have the same place in the order of `first`" } else { "" })]
    Duplicate {
        /// The values of the key.
        key: String,
        /// True if the reference has an order, and the order does not decide which of the two rows is the first.
        is_tie: bool,
    },
    /// It needs more memory than it may have.
    #[error("it needs more than {limit} bytes of memory: {rows} rows were read")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
        /// The number of rows that were read so far.
        rows: u64,
    },
    /// It cannot be kept on disk.
    #[error(
        "it needs more memory than its limit, and cannot be kept in the folder for temporary files: {message}"
    )]
    Disk {
        /// The system's message.
        message: String,
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
    /// The order of rows with the same key, if only the first of them counts.
    first: Option<First>,
    /// The place of each row in that order.
    orders: Vec<Option<OrderValue>>,
    /// The keys for which two rows tie for the first place so far; the value is the key in words.
    ties: HashMap<Box<[u8]>, String>,
    index: Index,
    batches: Vec<Vec<ArrayRef>>,
    rows: u64,
    /// Bytes of the taken columns.
    taken_bytes: u64,
    /// Bytes of the order of the rows and of the ties.
    order_bytes: u64,
    bytes_max: u64,
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
            index: Index::default(),
            batches: Vec::new(),
            rows: 0,
            taken_bytes: 0,
            order_bytes: 0,
            bytes_max,
            first: None,
            orders: Vec::new(),
            ties: HashMap::new(),
        }
    }

    /// Of several rows with the same key the first one counts, if there is an order.
    pub fn with_first(mut self, first: Option<First>) -> ReferenceBuilder {
        self.first = first;
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
            // If the vector is full, the orders are copied into memory of twice the size.
            let wanted = self.orders.len() + values.len();
            if wanted > self.orders.capacity() {
                let grown = wanted.max(2 * self.orders.capacity());
                let grown = (grown * size_of::<Option<OrderValue>>()) as u64;
                if self.bytes() + grown > self.bytes_max {
                    return Err(self.too_large(0));
                }
                self.orders.reserve(values.len());
            }
            for row in 0..values.len() {
                let value = order_value(values, row);
                self.order_bytes += value.as_ref().map_or(0, OrderValue::heap_bytes);
                self.orders.push(value);
            }
        }
        let mut key = Vec::new();
        for row in 0..batch.num_rows() {
            if !append_key(&keys, row, &mut key) {
                continue;
            }
            let number = u32::try_from(self.rows + row as u64);
            let number = number.map_err(|_| self.too_large(row))?;
            if self.bytes_with_another() > self.bytes_max {
                return Err(self.too_large(row));
            }
            let Some(known) = self.index.enter(&key, number) else {
                continue;
            };
            let first = self.first.ok_or_else(|| ReferenceFault::Duplicate {
                key: key_text(&keys, row),
                is_tie: false,
            })?;
            let own = &self.orders[number as usize];
            let before = &self.orders[*known as usize];
            match first.is_before(own, before) {
                // A later row may come before both.
                None => {
                    let text = key_text(&keys, row);
                    self.order_bytes += heap_bytes(key.len()) + heap_bytes(text.len());
                    self.ties.insert(key.as_slice().into(), text);
                }
                Some(true) => {
                    self.ties.remove(key.as_slice());
                    *known = number;
                }
                Some(false) => {}
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
        self.taken_bytes += sizes.sum::<u64>();
        self.batches.push(taken);
        self.rows += batch.num_rows() as u64;
        match self.bytes() > self.bytes_max {
            true => Err(self.too_large(0)),
            false => Ok(()),
        }
    }

    /// Bytes of memory that are held.
    fn bytes(&self) -> u64 {
        self.index.bytes() + self.bytes_beside_index()
    }

    /// The most bytes of memory while one more key is entered.
    fn bytes_with_another(&self) -> u64 {
        self.index.bytes_with_another() + self.bytes_beside_index()
    }

    fn bytes_beside_index(&self) -> u64 {
        let orders = self.orders.capacity() * size_of::<Option<OrderValue>>();
        self.taken_bytes
            + self.order_bytes
            + table_bytes::<Box<[u8]>>(self.ties.capacity())
            + orders as u64
    }

    fn too_large(&self, row: usize) -> ReferenceFault {
        ReferenceFault::TooLarge {
            limit: self.bytes_max,
            rows: self.rows + row as u64,
        }
    }

    /// Builds the reference. `columns` are the columns of the key, then the taken columns.
    pub fn build(mut self, columns: Vec<InputColumn>) -> Result<Reference, ReferenceFault> {
        if let Some(key) = self.ties.values().min() {
            return Err(ReferenceFault::Duplicate {
                key: key.clone(),
                is_tie: true,
            });
        }
        let mut taken = Vec::with_capacity(self.taken.len());
        // The last column is joined first: the parts of a column are taken from the ends of the batches, and are
        // dropped as soon as the column is whole.
        for column in columns[self.keys.len()..].iter().rev() {
            let parts = self.batches.iter_mut().filter_map(Vec::pop);
            let parts: Vec<ArrayRef> = parts.collect();
            let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
            taken.push(match parts.is_empty() {
                true => arrow_array::new_empty_array(&column.column_type.arrow()),
                false => concat(&parts).map_err(failed)?,
            });
        }
        taken.reverse();
        let sizes = taken
            .iter()
            .map(|array| array.get_array_memory_size() as u64);
        Ok(Reference {
            bytes: self.index.bytes() + sizes.sum::<u64>(),
            digest: digest(&self.index, &taken),
            entries: Entries::Memory {
                index: self.index,
                taken,
            },
            columns,
        })
    }
}

impl Reference {
    /// A reference on disk. `cache_bytes` is the memory for the cache of its file.
    pub fn on_disk(disk: DiskReference, columns: Vec<InputColumn>, cache_bytes: u64) -> Reference {
        Reference {
            digest: disk.digest,
            bytes: cache_bytes,
            entries: Entries::Disk(disk),
            columns,
        }
    }

    /// The number of keys.
    pub fn key_count(&self) -> usize {
        match &self.entries {
            Entries::Memory { index, .. } => index.len(),
            Entries::Disk(disk) => disk.key_count as usize,
        }
    }

    /// The columns of the key, then the taken columns, with their names in the reference.
    pub fn columns(&self) -> &[InputColumn] {
        &self.columns
    }

    /// The most bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes on disk; `None` if it is in memory.
    pub fn disk_bytes(&self) -> Option<u64> {
        match &self.entries {
            Entries::Memory { .. } => None,
            Entries::Disk(disk) => Some(disk.file_bytes),
        }
    }

    /// A text that is the same for the same keys and values, in any order: a part of the identity of units.
    pub fn digest(&self) -> String {
        format!("{:032x}-{}", self.digest, self.key_count())
    }

    /// The rows of the reference for the rows of a batch.
    pub(super) fn find(
        &self,
        keys: &[(&ArrayRef, KeyClass)],
        row_count: usize,
    ) -> Result<FoundRows, ReferenceFault> {
        Ok(match &self.entries {
            Entries::Memory { index, taken } => FoundRows {
                rows: index.rows_of(row_count, |row, key| append_key(keys, row, key)),
                taken: taken.clone(),
            },
            Entries::Disk(disk) => {
                let (rows, taken) = disk.find(keys, row_count)?;
                FoundRows { rows, taken }
            }
        })
    }
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

/// The sum of the digests of all keys with their values.
fn digest(index: &Index, taken: &[ArrayRef]) -> u128 {
    let cells: Vec<Option<Cells>> = taken
        .iter()
        .map(|values| Cells::of(values, false))
        .collect();
    let mut sum: u128 = 0;
    for (key, row) in index.iter() {
        add_digest(key, &cells, row as usize, &mut sum);
    }
    sum
}

/// Adds the digest of a key with the values of a row.
pub(super) fn add_digest(key: &[u8], cells: &[Option<Cells>], row: usize, sum: &mut u128) {
    let mut text = key.to_vec();
    for cells in cells {
        text.push(0xff);
        if let Some(cells) = cells {
            cells.append(row, &mut text);
        }
    }
    *sum = sum.wrapping_add(digest_of(&text));
}

/// A number of 128 bits in which each bit depends on all bytes. The digests of rows are added up, so that their order
/// does not matter. Because of the sum, differences between similar rows must not cancel each other.
fn digest_of(bytes: &[u8]) -> u128 {
    let half = |seed| u128::from(XxHash3_64::oneshot_with_seed(seed, bytes));
    half(0) << 64 | half(1)
}

pub(super) fn failed(error: ArrowError) -> ReferenceFault {
    ReferenceFault::Engine {
        message: error.to_string(),
    }
}
