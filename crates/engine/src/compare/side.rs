//! Reads all rows of one side, on several threads, and hashes them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType};
use inrush_convert::Converter;
use inrush_plan::PlanError;
use inrush_rows::typed_rows::value_text;
use inrush_scan::Records;
use inrush_source::{ReadSettings, SourceSplit, SourceStream};
use inrush_system::threads::on_threads;
use twox_hash::XxHash3_64;

use super::{CompareOptions, ComparedSide, Totals};
use crate::error::Error;

/// Bytes of a chunk of rows.
const CHUNK_BYTES: usize = 1 << 20;
/// The approximate number of bytes of a split.
const SPLIT_BYTES: u64 = 64 << 20;
/// The most characters of a key in a message.
const KEY_CHARACTERS_MAX: usize = 200;
/// Hashes of keys and of rows must not depend on each other.
const KEY_SEED: u64 = 1;

/// A row of a side.
pub struct RowHash<'a> {
    /// The hash of its key.
    pub key: u64,
    /// The hash of all compared columns.
    pub all: u64,
    batch: &'a RecordBatch,
    row: usize,
    key_columns: &'a [usize],
}

impl RowHash<'_> {
    /// Its key as text: `(7,north)`. A long one is cut, and has its hash in addition.
    pub fn key_text(&self) -> String {
        let values = self.key_columns.iter().map(|column| {
            let array = self.batch.column(*column);
            let is_uuid = *array.data_type() == DataType::FixedSizeBinary(16);
            value_text(array, self.row, is_uuid).unwrap_or_default()
        });
        let text = format!("({})", values.collect::<Vec<_>>().join(","));
        match text.char_indices().nth(KEY_CHARACTERS_MAX) {
            None => text,
            Some((end, _)) => format!("{}... (hash {:x})", &text[..end], self.key),
        }
    }
}

/// Reads a side once.
pub struct SideReader<'a> {
    side: &'a ComparedSide,
    options: CompareOptions<'a>,
    splits: Vec<SourceSplit>,
    next: AtomicUsize,
    has_failed: AtomicBool,
}

impl<'a> SideReader<'a> {
    /// A reader for all rows of a side.
    pub fn new(side: &'a ComparedSide, options: CompareOptions<'a>) -> Result<Self, Error> {
        let mut splits = Vec::new();
        for input in 0..side.source.input_count() {
            splits.extend(side.source.splits(input, SPLIT_BYTES)?);
        }
        Ok(SideReader {
            side,
            options,
            splits,
            next: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Passes each row to `see`, together with a value that `make` has made for the thread. Returns the values of all
    /// threads.
    pub fn read<T: Send>(
        &self,
        make: &(dyn Fn() -> T + Sync),
        see: &(dyn Fn(&mut T, &RowHash<'_>) + Sync),
    ) -> Result<Vec<(Totals, T)>, Error> {
        let threads = self.options.threads.min(self.splits.len()).max(1);
        on_threads(threads, &|| {
            let mut found = make();
            let totals = self.read_splits(&mut |row| see(&mut found, row));
            if totals.is_err() {
                self.has_failed.store(true, Ordering::Relaxed);
            }
            totals.map(|totals| vec![(totals, found)])
        })
    }

    fn read_splits(&self, see: &mut dyn FnMut(&RowHash<'_>)) -> Result<Totals, Error> {
        let mut totals = Totals::default();
        let mut stream = None;
        while let Some(split) = self.splits.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            // A thread without a split needs no connection.
            let stream = match &mut stream {
                Some(stream) => stream,
                none => none.insert(self.side.source.open_stream(ReadSettings {
                    chunk_bytes: CHUNK_BYTES,
                })?),
            };
            self.read_split(split, &mut **stream, &mut totals, see)?;
        }
        Ok(totals)
    }

    fn read_split(
        &self,
        split: &SourceSplit,
        stream: &mut dyn SourceStream,
        totals: &mut Totals,
        see: &mut dyn FnMut(&RowHash<'_>),
    ) -> Result<(), Error> {
        let ComparedSide {
            columns,
            dialect,
            field_count,
            ..
        } = self.side;
        let converter = Converter::new(columns, dialect, *field_count);
        let mut converter = converter.map_err(|source| Error::Convert {
            flow: self.options.flow.to_owned(),
            source,
        })?;
        let types = columns.iter().map(|column| column.column_type.arrow());
        let types: Vec<DataType> = types.collect();
        let own = self.options.key;
        let key_types = own.iter().map(|column| types[*column].clone());
        let hasher = |types: Vec<DataType>| {
            let fields = types.into_iter().map(SortField::new).collect();
            RowConverter::new(fields).map_err(|error| self.unsupported(&error))
        };
        let keys = hasher(key_types.collect())?;
        let rows = hasher(types)?;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut reader = stream.open(split)?;
        while let Some(chunk) = reader.next_chunk(&mut records)? {
            if self.options.stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            if self.has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            rejects.clear();
            let batch = converter.convert(&chunk, &records, 0..records.len(), &mut rejects);
            totals.rows += records.len() as u64;
            totals.unfit.count += rejects.len() as u64;
            if let (None, Some(first)) = (&totals.unfit.example, rejects.first()) {
                totals.unfit.example = Some(first.summary());
            }
            let of_key: Vec<ArrayRef> = own
                .iter()
                .map(|column| batch.column(*column).clone())
                .collect();
            let failed = |error: ArrowError| self.unsupported(&error);
            let keys = keys.convert_columns(&of_key).map_err(failed)?;
            let rows = rows.convert_columns(batch.columns()).map_err(failed)?;
            for row in 0..batch.num_rows() {
                see(&RowHash {
                    key: XxHash3_64::oneshot_with_seed(KEY_SEED, keys.row(row).as_ref()),
                    all: XxHash3_64::oneshot(rows.row(row).as_ref()),
                    batch: &batch,
                    row,
                    key_columns: own,
                });
            }
            reader.recycle(chunk);
        }
        Ok(())
    }

    fn unsupported(&self, error: &ArrowError) -> Error {
        Error::Plan(PlanError::Mismatch {
            flow: self.options.flow.to_owned(),
            what: format!("its rows cannot be hashed: {error}"),
            hint: "read the column as text: `columns` of the source, with NAME::text".to_owned(),
        })
    }
}
