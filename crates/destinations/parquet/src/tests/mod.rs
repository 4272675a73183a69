//! The destination on real files: loaded rows are read back completely, also after a stop at any step.

mod crashes;
mod joined;
mod partitions;
mod tables;
mod types;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Date32Type, Int32Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch,
    StringViewArray, StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use inrush_destination::{
    Address, ColumnPlan, Destination, Error, LoadMethod, NewRun, NoSource, OpenRun, PastRun,
    PublishStep, ReplacedRows, RunRecord, RunState, StagedRows, StreamSetup, TargetPlan, UnitPart,
    UnitRecord, WriteMode,
};
use inrush_rows::column_type::interval_fields;
use inrush_rows::ids::{RunId, RunKey, RunName, UnitKey};
use inrush_rows::timestamp;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

/// A folder of tables that is removed with the test.
struct Lake {
    folder: tempfile::TempDir,
    options: BTreeMap<String, String>,
}

impl Lake {
    fn new() -> Lake {
        Lake::with(&[])
    }

    fn with(options: &[(&str, &str)]) -> Lake {
        Lake {
            folder: tempfile::tempdir().unwrap(),
            options: options
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("lake").join(below)
    }

    fn open(&self) -> Box<dyn Destination> {
        let address = Address {
            url: "parquet:lake",
            options: &self.options,
            folder: self.folder.path(),
            site_packages: None,
            ledger_schema: "inrush",
        };
        crate::open(&address, &self.path("")).unwrap()
    }

    /// Loads each batch as a unit, and publishes them.
    fn load(&self, plan: &TargetPlan, key: &str, batches: &[RecordBatch]) {
        let lake = self.open();
        let run = lake
            .begin(&new_run(key, None), std::slice::from_ref(plan))
            .unwrap();
        fill(run.as_ref(), 0, plan, batches);
        run.publish(&|_| {}, &mut NoSource).unwrap();
        assert!(run.is_switched().unwrap());
    }

    /// Rows of a table as text, sorted, each with the folder of its partition.
    fn rows(&self, table: &str, schema: &Schema) -> Vec<String> {
        let mut rows = Vec::new();
        for (path, batches) in self.read(table, schema) {
            let partition = path.parent().unwrap().to_string_lossy().into_owned();
            for batch in batches {
                rows.extend(
                    texts(&batch)
                        .into_iter()
                        .map(|row| partition.clone() + &row),
                );
            }
        }
        rows.sort();
        rows
    }

    fn read(&self, table: &str, schema: &Schema) -> Vec<(PathBuf, Vec<RecordBatch>)> {
        self.files(table)
            .into_iter()
            .map(|path| {
                let file = File::open(self.path(table).join(&path)).unwrap();
                let options = ArrowReaderOptions::new().with_schema(Arc::new(schema.clone()));
                let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
                    .unwrap()
                    .build()
                    .unwrap();
                (path, reader.map(|batch| batch.unwrap()).collect())
            })
            .collect()
    }

    /// The files that a glob pattern of the table finds.
    fn files(&self, table: &str) -> Vec<PathBuf> {
        all_files(&self.path(table))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "parquet"))
            .collect()
    }
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    files.sort();
    files
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    (0..batch.num_rows())
        .map(|row| format!("{:?}", batch.slice(row, 1).columns()))
        .collect()
}

/// The result of [`Lake::rows`] for these batches.
fn expected(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows: Vec<String> = batches.iter().flat_map(texts).collect();
    rows.sort();
    rows
}

fn new_run(key: &str, takes_over: Option<RunId>) -> NewRun {
    NewRun {
        run_key: RunKey::new(key),
        name: RunName::new(format!("run of {key}")),
        package: key.to_owned(),
        package_hash: "hash".to_owned(),
        holder: "process 1 on host a".to_owned(),
        started_at_microseconds: 1_000_000,
        takes_over,
        lineage: "{}".to_owned(),
    }
}

fn plan(
    lake: &dyn Destination,
    table: &str,
    columns: &[(&str, &str)],
    mode: WriteMode,
) -> TargetPlan {
    TargetPlan {
        name: lake.target_name(None, table).unwrap(),
        columns: columns
            .iter()
            .map(|(name, type_name)| {
                let required = type_name.ends_with("not null");
                let resolved = lake
                    .resolve_type(type_name.trim_end_matches("not null").trim())
                    .unwrap();
                ColumnPlan {
                    name: name.to_string(),
                    sql: resolved.sql,
                    column_type: resolved.column_type,
                    nullable: !required,
                }
            })
            .collect(),
        mode,
        replaced: ReplacedRows::Removed,
        partition_by: Vec::new(),
        bounds: Vec::new(),
        merge: None,
        members: Vec::new(),
        shape: "shape".to_owned(),
        pre_sql: Vec::new(),
        post_sql: Vec::new(),
    }
}

fn unit(plan: &TargetPlan, number: usize, rows: u64) -> UnitRecord {
    UnitRecord {
        key: UnitKey::new(format!("{} {number}", plan.name.sql)),
        target: plan.name.sql.clone(),
        rows_loaded: rows,
        detail: format!("detail {number}"),
    }
}

/// The units of a run in the ledger, by their keys.
fn units(destination: &dyn Destination, run: &RunRecord) -> Vec<UnitRecord> {
    let mut units = Vec::new();
    destination
        .units(run, &mut |unit| units.push(unit))
        .unwrap();
    units.sort_by(|left, right| left.key.cmp(&right.key));
    units
}

fn fill(run: &dyn OpenRun, target: usize, plan: &TargetPlan, batches: &[RecordBatch]) {
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    for (number, batch) in batches.iter().enumerate() {
        let record = unit(plan, number, batch.num_rows() as u64);
        stream
            .begin(&UnitPart::whole(target, &record.key), LoadMethod::Quick)
            .unwrap();
        assert_eq!(
            stream.write(batch, u64::MAX).unwrap(),
            inrush_destination::Written::default()
        );
        let rows = stream.commit(&record).unwrap();
        assert_eq!(rows, batch.num_rows() as u64);
    }
}

/// Numbers and their texts.
fn numbers(values: impl IntoIterator<Item = i32>) -> RecordBatch {
    let values: Vec<i32> = values.into_iter().collect();
    let texts = values
        .iter()
        .map(|value| format!("text of the number {value}"));
    let text: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
    let number: ArrayRef = Arc::new(Int32Array::from(values));
    batch(vec![("n", number), ("t", text)])
}

const NUMBERS: [(&str, &str); 2] = [("n", "integer"), ("t", "text")];

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn keyed(rows: &[(Option<&str>, i32)]) -> RecordBatch {
    let keys = rows.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let numbers = rows.iter().map(|(_, number)| *number).collect::<Vec<_>>();
    batch(vec![
        ("k", Arc::new(StringViewArray::from(keys)) as ArrayRef),
        ("n", Arc::new(Int32Array::from(numbers))),
    ])
}

const KEYED: [(&str, &str); 2] = [("k", "text"), ("n", "integer")];
