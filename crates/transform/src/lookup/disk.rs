//! A reference on disk, which is used if its rows need more memory than the lookup may have.
//!
//! A B-tree (redb) in a file without a name has the bytes of each key, and for each key the taken values as one row
//! (`arrow_row`). Only the tree's cache takes memory. The file is gone as soon as the process has ended.

use std::fmt;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use inrush_rows::typed_rows::Cells;
use redb::backends::FileBackend;
use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};

use super::first::{First, OrderValue, order_value};
use super::reference::{ReferenceFault, add_digest, failed};
use crate::key::{KeyClass, append_key, key_text};
use crate::spec::InputColumn;

/// The value of each key: an [`Entry`].
const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

/// The keys for which two rows tie for the first place so far; the value is the key as text.
const TIES: TableDefinition<'_, &[u8], &str> = TableDefinition::new("ties");

/// Entries whose values are read together.
const ENTRIES_AT_ONCE: usize = 4_096;

/// Collects the rows of a reference in a file.
pub struct DiskBuilder {
    /// Columns of the key: their indexes in the batches, and how they are compared.
    keys: Vec<(usize, KeyClass)>,
    /// Indexes of the taken columns.
    taken: Vec<usize>,
    /// The order of rows with the same key, if only the first of them counts.
    first: Option<First>,
    /// The form of the taken values.
    form: Option<RowConverter>,
    database: Database,
}

/// A reference in a file.
pub struct DiskReference {
    entries: ReadOnlyTable<&'static [u8], &'static [u8]>,
    form: Option<RowConverter>,
    /// The database must live as long as it is read.
    _database: Database,
    /// Bytes of the file's content.
    pub file_bytes: u64,
    /// The number of keys.
    pub key_count: u64,
    /// See [`Reference::digest`](super::Reference::digest).
    pub digest: u128,
}

impl fmt::Debug for DiskBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskBuilder").finish_non_exhaustive()
    }
}

impl fmt::Debug for DiskReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskReference")
            .field("key_count", &self.key_count)
            .finish_non_exhaustive()
    }
}

impl DiskBuilder {
    /// An empty reference in the folder for temporary files. `keys` and `taken` are indexes of columns of the batches
    /// that follow; `cache_bytes` is the memory for parts of the file.
    pub fn new(
        keys: Vec<(usize, KeyClass)>,
        taken: Vec<usize>,
        first: Option<First>,
        cache_bytes: u64,
    ) -> Result<DiskBuilder, ReferenceFault> {
        let file = tempfile::tempfile().map_err(on_disk)?;
        let mut builder = Database::builder();
        builder.set_cache_size(usize::try_from(cache_bytes).unwrap_or(usize::MAX));
        let backend = FileBackend::new(file).map_err(on_disk)?;
        let database = builder.create_with_backend(backend).map_err(on_disk)?;
        // Creates the tables, so that a reference without rows has them, too.
        let transaction = database.begin_write().map_err(on_disk)?;
        transaction.open_table(ENTRIES).map_err(on_disk)?;
        transaction.open_table(TIES).map_err(on_disk)?;
        transaction.commit().map_err(on_disk)?;
        Ok(DiskBuilder {
            keys,
            taken,
            first,
            form: None,
            database,
        })
    }

    /// Adds rows. A row whose key has a NULL is never found, and is left out.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), ReferenceFault> {
        let taken: Vec<ArrayRef> = self
            .taken
            .iter()
            .map(|at| batch.column(*at).clone())
            .collect();
        if self.form.is_none() && !taken.is_empty() {
            let fields = taken
                .iter()
                .map(|array| SortField::new(array.data_type().clone()));
            self.form = Some(RowConverter::new(fields.collect()).map_err(failed)?);
        }
        let values = match &self.form {
            Some(form) => Some(form.convert_columns(&taken).map_err(failed)?),
            None => None,
        };
        let keys: Vec<(&ArrayRef, KeyClass)> = self
            .keys
            .iter()
            .map(|(index, class)| (batch.column(*index), *class))
            .collect();
        let orders = self.first.map(|first| batch.column(first.column));
        let mut transaction = self.database.begin_write().map_err(on_disk)?;
        // After a crash nobody reads the file.
        transaction
            .set_durability(Durability::None)
            .map_err(on_disk)?;
        {
            let mut entries = transaction.open_table(ENTRIES).map_err(on_disk)?;
            let mut ties = transaction.open_table(TIES).map_err(on_disk)?;
            let (mut key, mut entry) = (Vec::new(), Vec::new());
            for row in 0..batch.num_rows() {
                if !append_key(&keys, row, &mut key) {
                    continue;
                }
                let own = orders.and_then(|orders| order_value(orders, row));
                let value = values.as_ref().map(|values| values.row(row));
                let value = value.as_ref().map_or(&[][..], AsRef::as_ref);
                write_entry(own.as_ref(), value, &mut entry);
                let before = entries.get(key.as_slice()).map_err(on_disk)?;
                let before = before.map(|before| read_entry(before.value()).0);
                if let Some(before) = before {
                    let first = self.first.ok_or_else(|| ReferenceFault::Duplicate {
                        key: key_text(&keys, row),
                        is_tie: false,
                    })?;
                    match first.is_before(&own, &before) {
                        // A later row may come before both.
                        None => {
                            let text = key_text(&keys, row);
                            ties.insert(key.as_slice(), text.as_str())
                                .map_err(on_disk)?;
                            continue;
                        }
                        Some(true) => {
                            ties.remove(key.as_slice()).map_err(on_disk)?;
                        }
                        Some(false) => continue,
                    }
                }
                entries
                    .insert(key.as_slice(), entry.as_slice())
                    .map_err(on_disk)?;
            }
        }
        transaction.commit().map_err(on_disk)
    }

    /// Builds the reference. `columns` are the columns of the key, then the taken columns.
    pub fn build(self, columns: &[InputColumn]) -> Result<DiskReference, ReferenceFault> {
        let DiskBuilder {
            keys,
            form,
            database,
            ..
        } = self;
        let reading = database.begin_read().map_err(on_disk)?;
        let ties = reading.open_table(TIES).map_err(on_disk)?;
        let mut texts: Option<String> = None;
        for tie in ties.iter().map_err(on_disk)? {
            let (_, text) = tie.map_err(on_disk)?;
            let text = text.value();
            if texts.as_deref().is_none_or(|least| text < least) {
                texts = Some(text.to_owned());
            }
        }
        if let Some(key) = texts {
            return Err(ReferenceFault::Duplicate { key, is_tie: true });
        }
        let entries = reading.open_table(ENTRIES).map_err(on_disk)?;
        let stats = entries.stats().map_err(on_disk)?;
        let mut reference = DiskReference {
            key_count: entries.len().map_err(on_disk)?,
            file_bytes: stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes(),
            entries,
            form,
            _database: database,
            digest: 0,
        };
        reference.digest = reference.digest_of_all(columns.len() - keys.len())?;
        Ok(reference)
    }
}

impl DiskReference {
    /// The taken columns of the entries with these keys: for each key the index of its row, and the columns of these
    /// rows.
    pub fn find(
        &self,
        keys: &[(&ArrayRef, KeyClass)],
        row_count: usize,
    ) -> Result<(Vec<Option<u32>>, Vec<ArrayRef>), ReferenceFault> {
        let mut key = Vec::new();
        let mut rows = Vec::with_capacity(row_count);
        let mut values: Vec<Vec<u8>> = Vec::new();
        for row in 0..row_count {
            let found = match append_key(keys, row, &mut key) {
                true => self.entries.get(key.as_slice()).map_err(on_disk)?,
                false => None,
            };
            rows.push(found.map(|found| {
                values.push(read_entry(found.value()).1.to_vec());
                values.len() as u32 - 1
            }));
        }
        Ok((rows, self.columns(&values)?))
    }

    /// The taken columns of rows.
    fn columns(&self, values: &[Vec<u8>]) -> Result<Vec<ArrayRef>, ReferenceFault> {
        let Some(form) = &self.form else {
            return Ok(Vec::new());
        };
        let parser = form.parser();
        let rows = values.iter().map(|value| parser.parse(value));
        form.convert_rows(rows).map_err(failed)
    }

    fn digest_of_all(&self, taken: usize) -> Result<u128, ReferenceFault> {
        let mut sum = 0;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let mut all = self.entries.iter().map_err(on_disk)?;
        loop {
            let next = all.next().transpose().map_err(on_disk)?;
            let is_over = next.is_none();
            if let Some((key, entry)) = next {
                keys.push(key.value().to_vec());
                values.push(read_entry(entry.value()).1.to_vec());
            }
            if is_over || keys.len() == ENTRIES_AT_ONCE {
                let columns = self.columns(&values)?;
                let cells = columns.iter().map(|values| Cells::of(values, false));
                let mut cells: Vec<Option<Cells>> = cells.collect();
                cells.resize_with(taken, || None);
                for (row, key) in keys.iter().enumerate() {
                    add_digest(key, &cells, row, &mut sum);
                }
                keys.clear();
                values.clear();
            }
            if is_over {
                return Ok(sum);
            }
        }
    }
}

/// Writes an entry: the length of its place in the order, this place, and the taken values.
fn write_entry(order: Option<&OrderValue>, taken: &[u8], entry: &mut Vec<u8>) {
    entry.clear();
    entry.extend_from_slice(&[0; 4]);
    if let Some(order) = order {
        order.append(entry);
    }
    let length = entry.len() as u32 - 4;
    entry[..4].copy_from_slice(&length.to_le_bytes());
    entry.extend_from_slice(taken);
}

/// The place in the order of an entry, and its taken values.
fn read_entry(entry: &[u8]) -> (Option<OrderValue>, &[u8]) {
    let (length, rest) = entry.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
    let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
    let (order, taken) = rest.split_at(length);
    (OrderValue::read(order), taken)
}

fn on_disk(error: impl fmt::Display) -> ReferenceFault {
    ReferenceFault::Disk {
        message: error.to_string(),
    }
}
