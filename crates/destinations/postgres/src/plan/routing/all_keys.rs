//! Reads the keys of all rows once before the load, to find out which partitions of even width they need.
//!
//! Only the key's field is converted. A row whose key cannot be converted here will be a reject and needs no partition.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use inrush_convert::{Converter, KeyType, KeyValue};
use inrush_package::BoundsStep;
use inrush_plan::units::partition_keys::step_around;
use inrush_plan::units::pieces::wanted_bytes;
use inrush_plan::{PlanError, identity};
use inrush_rows::column::Column;
use inrush_rows::timestamp;
use inrush_scan::{Dialect, Records};
use inrush_source::{Input, ReadSettings, Source, SourceSplit};
use inrush_system::threads::on_threads;

use crate::plan::bounds::{self, Interval};
use crate::plan::{KeyKind, KeyPlan};

/// More partitions than this mean a mistake in the width, or in the files.
const PARTITIONS_MAX: usize = 10_000;
/// Bytes of text that a thread reads at a time.
const CHUNK_BYTES: usize = 512 << 10;
/// Rows of a batch.
const BATCH_ROWS: usize = 1024;

/// The results of passes over the files: a plan is made twice, but its files are read once.
#[derive(Debug, Default)]
pub struct KeyScans {
    found: Mutex<BTreeMap<String, Vec<Interval>>>,
}

/// A pass over the keys of files.
pub struct KeyScan<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// The files.
    pub source: &'a dyn Source,
    /// Their dialect.
    pub dialect: &'a Dialect,
    /// The key's column.
    pub column: &'a Column,
    /// Fields of a record.
    pub field_count: usize,
    /// The key.
    pub key: &'a KeyPlan,
    /// The width of a partition.
    pub step: BoundsStep,
}

impl KeyScans {
    /// The partitions that the rows of all files need, in ascending order.
    pub fn intervals(&self, scan: &KeyScan<'_>) -> Result<Vec<Interval>, PlanError> {
        let name = scan.name();
        let known = |scans: &Self| {
            let found = scans.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.get(&name).cloned()
        };
        if let Some(found) = known(self) {
            return Ok(found);
        }
        let found = scan.run()?;
        let mut scans = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        scans.insert(name, found.clone());
        Ok(found)
    }
}

/// The partitions that were found, by the number of their first key ([`KeyType::number`]). Each has the number after
/// its last key, and its bounds in SQL.
type KeyedPartitions = BTreeMap<i64, (i64, Interval)>;

impl KeyScan<'_> {
    /// The state of the files, and all settings that affect the result of the pass.
    fn name(&self) -> String {
        let mut texts = vec![format!(
            "{} {:?} {:?} {:?} {:?}",
            self.flow, self.dialect, self.column, self.key, self.step
        )];
        for file in self.inputs() {
            texts.push(identity::file_key(&*file).to_string());
            texts.push(format!("{} {}", file.size_bytes(), file.modified_ns()));
        }
        identity::digest(texts.iter().map(String::as_str))
    }

    fn run(&self) -> Result<Vec<Interval>, PlanError> {
        self.check()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let splits = self.splits(threads)?;
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<_>, PlanError> {
            let mut found = KeyedPartitions::new();
            while let Some(split) = splits.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.read(split, &mut found)?;
            }
            Ok(found.into_iter().collect())
        };
        let all: KeyedPartitions = on_threads(threads.min(splits.len()), &work)?
            .into_iter()
            .collect();
        self.refuse_too_many(&all)?;
        Ok(all.into_values().map(|(_, interval)| interval).collect())
    }

    fn check(&self) -> Result<(), PlanError> {
        let fits = match (self.step, self.key.kind) {
            (BoundsStep::Integer(_), kind) => kind == KeyKind::Integer,
            (BoundsStep::Hours(_), kind) => kind == KeyKind::Timestamp,
            (_, kind) => matches!(kind, KeyKind::Date | KeyKind::Timestamp),
        };
        let mismatch = |what: String, hint: &str| {
            Err(PlanError::Mismatch {
                flow: self.flow.to_owned(),
                what,
                hint: hint.to_owned(),
            })
        };
        if !fits {
            return mismatch(
                format!(
                    "the bounds ({}) do not fit the key {} of type {}",
                    self.key.rule, self.key.column, self.key.type_sql
                ),
                "a whole number for integer keys, a length of time for dates and timestamps (hours \
                 for timestamps alone)",
            );
        }
        match self.inputs().find(|file| file.is_read_once()) {
            Some(pipe) => mismatch(
                format!(
                    "{} is a pipe: its keys cannot be read before it is loaded, but `every` with \
                     routing needs them",
                    pipe.name().display()
                ),
                "list the bounds, or load from a file",
            ),
            None => Ok(()),
        }
    }

    fn inputs(&self) -> impl Iterator<Item = Arc<dyn Input>> {
        (0..self.source.input_count()).map(|index| self.source.input(index))
    }

    /// Pieces of the files that threads can read at the same time.
    fn splits(&self, threads: usize) -> Result<Vec<SourceSplit>, PlanError> {
        let mut found = Vec::new();
        for input in self.inputs() {
            let index = input.index();
            let mut own = self.source.splits(index, wanted_bytes(&*input))?;
            if own.len() > 1 && self.source.needs_locate(index) {
                self.source.locate(&mut own, threads)?;
            }
            // One thread reads a file that cannot be read from its middle.
            found.extend(own.into_iter().map(|split| SourceSplit {
                is_shared: false,
                ..split
            }));
        }
        Ok(found)
    }

    fn read(&self, split: &SourceSplit, found: &mut KeyedPartitions) -> Result<(), PlanError> {
        let column = Column {
            nullable: true,
            ..self.column.clone()
        };
        let mut converter = Converter::new(&[column], self.dialect, self.field_count)
            .expect("the column was converted by the plan before");
        let mut stream = self.source.open_stream(ReadSettings {
            chunk_bytes: CHUNK_BYTES,
        })?;
        let mut reader = stream.open(split)?;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        while let Some(chunk) = reader.next_chunk(&mut records)? {
            for at in (0..records.len()).step_by(BATCH_ROWS) {
                let rows = at..records.len().min(at + BATCH_ROWS);
                let batch = converter.convert(&chunk, &records, rows, &mut rejects);
                rejects.clear();
                self.note(batch.column(0), found)?;
            }
            reader.recycle(chunk);
        }
        Ok(())
    }

    fn note(&self, keys: &ArrayRef, found: &mut KeyedPartitions) -> Result<(), PlanError> {
        match keys.data_type() {
            DataType::Int16 => self.note_values::<Int16Type>(keys, found),
            DataType::Int32 => self.note_values::<Int32Type>(keys, found),
            DataType::Int64 => self.note_values::<Int64Type>(keys, found),
            DataType::Date32 => self.note_values::<Date32Type>(keys, found),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.note_values::<TimestampMicrosecondType>(keys, found)
            }
            _ => Ok(()),
        }
    }

    fn note_values<T: KeyType>(
        &self,
        keys: &ArrayRef,
        found: &mut KeyedPartitions,
    ) -> Result<(), PlanError> {
        let keys = keys.as_primitive::<T>();
        // Rows of one partition often follow each other.
        let mut last = 0..0;
        for (row, value) in keys.values().iter().enumerate() {
            let value = T::number(*value);
            if last.contains(&value) || keys.is_null(row) {
                continue;
            }
            if let Some((lower, (upper, _))) = found.range(..=value).next_back()
                && value < *upper
            {
                last = *lower..*upper;
                continue;
            }
            // A key that lies in no interval of this width, such as infinity, has no partition.
            let Some((lower, upper, interval)) = self.around(value)? else {
                continue;
            };
            last = lower..upper;
            found.insert(lower, (upper, interval));
            self.refuse_too_many(found)?;
        }
        Ok(())
    }

    /// The partition around a key, given as [`KeyType::number`] returns it.
    fn around(&self, value: i64) -> Result<Option<(i64, i64, Interval)>, PlanError> {
        let key_value = match self.key.kind {
            KeyKind::Integer => KeyValue::Integer(value),
            KeyKind::Date => match i32::try_from(value) {
                Ok(days) => KeyValue::Date(days),
                Err(_) => return Ok(None),
            },
            _ => KeyValue::Timestamp(timestamp::from_postgres(value)),
        };
        let Some((lower, upper)) = step_around(self.step, &key_value) else {
            return Ok(None);
        };
        let interval = Interval {
            lower,
            upper,
            files: Vec::new(),
        };
        let (_, ends) = bounds::unit_bounds(self.flow, self.key, self.column, &interval)?;
        let number = |value: Option<KeyValue>| value.and_then(|value| value.number());
        let Some(ends) = ends else { return Ok(None) };
        Ok(match (number(ends.lower), number(ends.upper)) {
            (Some(lower), Some(upper)) => Some((lower, upper, interval)),
            _ => None,
        })
    }

    fn refuse_too_many(&self, found: &KeyedPartitions) -> Result<(), PlanError> {
        if found.len() <= PARTITIONS_MAX {
            return Ok(());
        }
        Err(PlanError::Limit {
            what: format!(
                "flow `{}`: the rows need more than {PARTITIONS_MAX} partitions of this width",
                self.flow
            ),
            hint: "choose a greater width, or look for keys in the files that are far from all \
                   other keys"
                .to_owned(),
        })
    }
}
