//! Distinct rows: of the rows with equal keys, the first one in the order of the source is kept.
//!
//! Streams meet the rows of a load in any order, and some rows twice, after an error or a kill. So the first row of
//! each key is found before the load, by a pass over all rows that notes the smallest place of each key
//! ([`FirstRowsBuilder`]). The smallest place does not depend on the order in which the rows come. During the load a
//! row is kept if its place is the place that was noted for its key ([`FirstRows`]). It does not matter which stream
//! meets the row, or how often.
//!
//! Without that pass a runner notes the places of the rows that it sees itself. This is exact for a runner that reads a
//! source from its beginning, as in `inrush peek`, and an estimate for a sample.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;
use twox_hash::XxHash3_64;

use crate::error::{RunError, StepError, StepErrorKind, arrow_error};
use crate::key::{KeyClass, append_key_with_nulls, key_text};
use crate::outcome::{StepCount, Stepped, origins_of};
use crate::spec::{InputColumn, column_at};
use crate::types::sql_name;

/// The most bytes that a key takes in addition to its own. A hash table has 33 for each bucket, and at least 7/16 of
/// its buckets are used. The allocation of the bytes of the key takes up to 23.
const ENTRY_BYTES: u64 = 100;

/// The number of parts into which the keys are divided. Each has its own lock, so that threads seldom wait for each
/// other.
const SHARDS: usize = 64;

/// The place of a row in its source. Places are ordered as the rows of the source are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPlace {
    /// The index of the input.
    pub input: u32,
    /// The position of its record in the input.
    pub offset: u64,
    /// Its number among the rows that steps have made of the record.
    pub part: u64,
}

/// A step that keeps the first of several rows, as it is declared.
#[derive(Clone, Debug)]
pub struct DistinctSpec {
    /// The columns of the key.
    pub columns: Vec<String>,
    /// The most memory for the keys, in bytes.
    pub bytes_max: u64,
}

/// A step that keeps the first of several rows, and can run.
#[derive(Clone, Debug)]
pub struct PlannedDistinct {
    /// Its declaration.
    pub spec: DistinctSpec,
    /// The number of the step, counted from 1.
    step: usize,
    /// The columns of the key: their indexes in the batches, and how they are compared.
    keys: Vec<(usize, KeyClass)>,
    /// The first rows of all keys. They are set before the load, and all clones share them.
    first_rows: Arc<OnceLock<FirstRows>>,
}

impl PlannedDistinct {
    /// Plans a step that sees these columns. `step` is its number, counted from 1.
    pub fn plan(
        spec: &DistinctSpec,
        visible: &[InputColumn],
        step: usize,
    ) -> Result<PlannedDistinct, Vec<StepError>> {
        let mut keys = Vec::new();
        let mut columns = Vec::new();
        let mut faults = Vec::new();
        for name in &spec.columns {
            match key_of(name, visible) {
                Ok(key) => {
                    columns.push(visible[key.0].name.clone());
                    keys.push(key);
                }
                Err(kind) => faults.push(StepError {
                    step,
                    setting: "distinct_on".to_owned(),
                    expression: name.clone(),
                    range: None,
                    kind,
                }),
            }
        }
        match faults.is_empty() {
            true => Ok(PlannedDistinct {
                spec: DistinctSpec {
                    columns,
                    ..spec.clone()
                },
                step,
                keys,
                first_rows: Arc::default(),
            }),
            false => Err(faults),
        }
    }

    /// True if the first rows of all keys are known.
    pub fn has_first_rows(&self) -> bool {
        self.first_rows.get().is_some()
    }

    /// Sets the first rows of all keys, for this step and all of its clones. If they are already set, they stay.
    pub fn take_first_rows(&self, first_rows: FirstRows) {
        let _ = self.first_rows.set(first_rows);
    }

    /// Notes the places of rows that reach the step.
    pub fn note(
        &self,
        batch: &RecordBatch,
        place: &dyn Fn(usize) -> RowPlace,
        builder: &FirstRowsBuilder,
    ) -> Result<(), RunError> {
        self.each_key(batch, |row, key| {
            match builder.note(key, place(row)) <= self.spec.bytes_max {
                true => Ok(()),
                false => Err(self.too_large(builder.key_count())),
            }
        })
    }

    fn too_large(&self, keys: u64) -> RunError {
        RunError::KeysTooLarge {
            step: self.step,
            keys,
            limit: self.spec.bytes_max,
        }
    }

    fn key_columns<'a>(&self, batch: &'a RecordBatch) -> Vec<(&'a ArrayRef, KeyClass)> {
        let keys = self.keys.iter();
        keys.map(|(index, class)| (batch.column(*index), *class))
            .collect()
    }

    fn each_key(
        &self,
        batch: &RecordBatch,
        mut see: impl FnMut(usize, &[u8]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let keys = self.key_columns(batch);
        let mut key = Vec::new();
        for row in 0..batch.num_rows() {
            append_key_with_nulls(&keys, row, &mut key);
            see(row, &key)?;
        }
        Ok(())
    }
}

/// The index of a column of the key, and how its values are compared.
fn key_of(name: &str, visible: &[InputColumn]) -> Result<(usize, KeyClass), StepErrorKind> {
    let at = column_at(name, visible)?;
    let column_type = &visible[at].column_type;
    match KeyClass::of(column_type) {
        Some(class) => Ok((at, class)),
        None => Err(StepErrorKind::NoKey {
            column: name.to_owned(),
            column_type: sql_name(column_type),
        }),
    }
}

/// The places of the first rows of some keys.
#[derive(Debug, Default)]
struct Keys(HashMap<Box<[u8]>, RowPlace>);

impl Keys {
    /// Notes the place of a row, and returns the bytes that this takes.
    fn note(&mut self, key: &[u8], place: RowPlace) -> u64 {
        if let Some(first) = self.0.get_mut(key) {
            *first = place.min(*first);
            return 0;
        }
        self.0.insert(key.into(), place);
        key.len() as u64 + ENTRY_BYTES
    }
}

/// Finds the first row of each key. Threads note rows in any order.
#[derive(Debug)]
pub struct FirstRowsBuilder {
    shards: Vec<Mutex<Keys>>,
    bytes: AtomicU64,
    keys: AtomicU64,
}

impl Default for FirstRowsBuilder {
    fn default() -> FirstRowsBuilder {
        FirstRowsBuilder {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            bytes: AtomicU64::new(0),
            keys: AtomicU64::new(0),
        }
    }
}

impl FirstRowsBuilder {
    /// Notes the place of a row with this key, and returns the bytes of all keys.
    fn note(&self, key: &[u8], place: RowPlace) -> u64 {
        let shard = &self.shards[shard_of(key)];
        let more = shard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .note(key, place);
        if more > 0 {
            self.keys.fetch_add(1, Ordering::Relaxed);
        }
        self.bytes.fetch_add(more, Ordering::Relaxed) + more
    }

    /// The number of different keys.
    pub fn key_count(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Returns the first rows of all keys, after all rows were noted.
    pub fn build(self) -> FirstRows {
        let shards = self.shards.into_iter();
        let shards = shards.map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner));
        FirstRows {
            shards: shards.collect(),
        }
    }
}

/// The place of the first row of each key.
#[derive(Debug)]
pub struct FirstRows {
    shards: Vec<Keys>,
}

impl FirstRows {
    fn of(&self, key: &[u8]) -> Option<RowPlace> {
        self.shards[shard_of(key)].0.get(key).copied()
    }
}

fn shard_of(key: &[u8]) -> usize {
    XxHash3_64::oneshot(key) as usize % SHARDS
}

/// Runs the step for one stream.
pub(crate) struct DistinctRunner {
    planned: PlannedDistinct,
    /// The first rows among the rows that this runner has seen. They are used if the first rows of the whole source are
    /// not known.
    own: Keys,
    own_bytes: u64,
}

impl DistinctRunner {
    pub(crate) fn new(planned: PlannedDistinct) -> DistinctRunner {
        DistinctRunner {
            planned,
            own: Keys::default(),
            own_bytes: 0,
        }
    }

    /// Keeps the first row of each key. `place` returns the place of a row of the batch.
    pub(crate) fn run(
        &mut self,
        batch: &RecordBatch,
        place: &dyn Fn(usize) -> RowPlace,
    ) -> Result<Stepped, RunError> {
        let DistinctRunner {
            planned,
            own,
            own_bytes,
        } = self;
        let first_rows = planned.first_rows.get();
        let mut is_kept = Vec::with_capacity(batch.num_rows());
        planned.each_key(batch, |row, key| {
            let place = place(row);
            let first = match first_rows {
                Some(known) => known.of(key).filter(|first| *first <= place),
                None => {
                    *own_bytes += own.note(key, place);
                    if *own_bytes > planned.spec.bytes_max {
                        return Err(planned.too_large(own.0.len() as u64));
                    }
                    own.0.get(key).copied()
                }
            };
            let first = first.ok_or_else(|| RunError::KeyChanged {
                step: planned.step,
                key: key_text(&planned.key_columns(batch), row),
            })?;
            is_kept.push(first == place);
            Ok(())
        })?;
        let kept = BooleanArray::new(BooleanBuffer::from(is_kept), None);
        let filtered = kept.len() - kept.true_count();
        Ok(Stepped {
            batch: match filtered {
                0 => batch.clone(),
                _ => filter_record_batch(batch, &kept).map_err(arrow_error)?,
            },
            origins: (filtered > 0).then(|| origins_of(&kept)),
            fan_out: 1,
            faults: Vec::new(),
            counts: vec![StepCount {
                rows_in: batch.num_rows() as u64,
                filtered: filtered as u64,
                ..StepCount::default()
            }],
            unmatched_keys: Vec::new(),
            added_bytes: 0,
        })
    }
}
