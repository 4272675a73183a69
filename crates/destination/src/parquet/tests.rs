//! The destination on real files: what is loaded is read back whole, and stopped anywhere.

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
use inrush_wire::timestamp;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::types;
use crate::address::{Address, open};
use crate::column_type::interval_fields;
use crate::contract::{Destination, OpenRun, PublishStep};
use crate::error::Error;
use crate::record::{NewRun, PastRun, RunState, UnitRecord};
use crate::target::{ColumnPlan, TargetPlan, WriteMode};

/// A folder of tables that goes with the test.
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
        open(&Address {
            url: "parquet:lake",
            options: &self.options,
            folder: self.folder.path(),
            site_packages: None,
            ledger_schema: "inrush",
        })
        .unwrap()
    }

    /// Loads batches, each as a unit of its own, and publishes them.
    fn load(&self, plan: &TargetPlan, key: &str, batches: &[RecordBatch]) {
        let lake = self.open();
        let run = lake
            .begin(&new_run(key, None), std::slice::from_ref(plan))
            .unwrap();
        fill(run.as_ref(), 0, plan, batches);
        run.publish(&|_| {}).unwrap();
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

/// What [`Lake::rows`] gives for these.
fn expected(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows: Vec<String> = batches.iter().flat_map(texts).collect();
    rows.sort();
    rows
}

fn new_run(key: &str, takes_over: Option<i64>) -> NewRun {
    NewRun {
        run_key: key.to_owned(),
        name: format!("run of {key}"),
        package: key.to_owned(),
        package_hash: "hash".to_owned(),
        holder: "process 1 on host a".to_owned(),
        started_at_microseconds: 1_000_000,
        takes_over,
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
        partition_by: Vec::new(),
        shape: "shape".to_owned(),
        pre_sql: Vec::new(),
        post_sql: Vec::new(),
    }
}

fn unit(plan: &TargetPlan, number: usize, rows: u64) -> UnitRecord {
    UnitRecord {
        key: format!("{} {number}", plan.name.sql),
        target: plan.name.sql.clone(),
        rows_loaded: rows,
        detail: format!("detail {number}"),
    }
}

fn fill(run: &dyn OpenRun, target: usize, plan: &TargetPlan, batches: &[RecordBatch]) {
    let mut stream = run.open_stream().unwrap();
    for (number, batch) in batches.iter().enumerate() {
        let record = unit(plan, number, batch.num_rows() as u64);
        stream.begin_unit(target, &record.key).unwrap();
        assert_eq!(stream.write(batch).unwrap(), []);
        let rows = stream.commit_unit(&record).unwrap();
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

#[test]
fn every_type_is_read_back_with_its_extremes() {
    let lake = Lake::new();
    let destination = lake.open();
    let interval = StructArray::new(
        interval_fields(),
        vec![
            Arc::new(Int32Array::from(vec![i32::MIN, 0, 3])),
            Arc::new(Int32Array::from(vec![i32::MAX, 0, 2])),
            Arc::new(Int64Array::from(vec![i64::MIN, 0, 1])),
        ],
        Some(vec![true, false, true].into()),
    );
    let decimal = |precision: u8, scale: i8| -> ArrayRef {
        let largest = 10i128.pow(u32::from(precision)) - 1;
        let values = Decimal128Array::from(vec![Some(largest), None, Some(-largest)]);
        Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
    };
    let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
        [Some([0u8; 16]), None, Some([255u8; 16])].into_iter(),
        16,
    )
    .unwrap();
    let timestamps = || {
        PrimitiveArray::<TimestampMicrosecondType>::from(vec![
            Some(timestamp::MIN),
            None,
            Some(i64::MAX),
        ])
    };
    let columns: Vec<(&str, &str, ArrayRef)> = vec![
        (
            "b",
            "boolean",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        (
            "i2",
            "smallint",
            Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)])),
        ),
        (
            "i4",
            "integer",
            Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)])),
        ),
        (
            "i8",
            "bigint",
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)])),
        ),
        (
            "f4",
            "real",
            Arc::new(Float32Array::from(vec![
                Some(f32::NAN),
                None,
                Some(f32::MIN),
            ])),
        ),
        (
            "f8",
            "double",
            Arc::new(Float64Array::from(vec![
                Some(-0.0),
                None,
                Some(f64::INFINITY),
            ])),
        ),
        ("d1", "numeric(1,0)", decimal(1, 0)),
        ("d9", "numeric(9,2)", decimal(9, 2)),
        ("d18", "numeric(18,18)", decimal(18, 18)),
        ("d38", "numeric(38,10)", decimal(38, 10)),
        (
            "t",
            "text",
            Arc::new(StringViewArray::from(vec![
                Some(""),
                None,
                Some("Ünï \0 \u{10FFFF} longer than a view"),
            ])),
        ),
        (
            "v",
            "varchar(3)",
            Arc::new(StringViewArray::from(vec![Some("abc"), None, Some("")])),
        ),
        (
            "c",
            "char(3)",
            Arc::new(StringViewArray::from(vec![Some("a"), None, Some("abc")])),
        ),
        (
            "j",
            "json",
            Arc::new(StringViewArray::from(vec![
                Some("{\"a\": 1}"),
                None,
                Some("null"),
            ])),
        ),
        (
            "x",
            "bytea",
            Arc::new(BinaryViewArray::from(vec![
                Some(&b""[..]),
                None,
                Some(&b"\0\xff"[..]),
            ])),
        ),
        (
            "day",
            "date",
            Arc::new(PrimitiveArray::<Date32Type>::from(vec![
                Some(i32::MIN + 1),
                None,
                Some(i32::MAX - 1),
            ])),
        ),
        (
            "clock",
            "time",
            Arc::new(PrimitiveArray::<Time64MicrosecondType>::from(vec![
                Some(0),
                None,
                Some(86_399_999_999),
            ])),
        ),
        ("ts", "timestamp", Arc::new(timestamps())),
        (
            "tz",
            "timestamptz",
            Arc::new(timestamps().with_timezone("UTC")),
        ),
        ("iv", "interval", Arc::new(interval)),
        ("u", "uuid", Arc::new(uuids)),
    ];
    let named: Vec<(&str, &str)> = columns.iter().map(|(name, sql, _)| (*name, *sql)).collect();
    let batch = batch(
        columns
            .iter()
            .map(|(name, _, array)| (*name, array.clone()))
            .collect(),
    );
    for encodings in ["delta", "plain"] {
        let lake = Lake::with(&[("encodings", encodings), ("bloom_filters", "t,u,i8,b")]);
        let plan = plan(destination.as_ref(), "types", &named, WriteMode::Create);
        lake.load(&plan, "types", std::slice::from_ref(&batch));
        let read = lake.read("types", &batch.schema());
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].1, std::slice::from_ref(&batch));
        let facts = lake.open().target(&plan.name).unwrap().unwrap();
        assert_eq!(facts.obstacle, None);
        assert!(facts.has_rows);
        let seen: Vec<_> = facts
            .columns
            .iter()
            .map(|column| {
                (
                    column.name.as_str(),
                    column.column_type.clone().unwrap(),
                    column.not_null,
                )
            })
            .collect();
        let planned: Vec<_> = plan
            .columns
            .iter()
            .map(|column| (column.name.as_str(), column.column_type.clone(), false))
            .collect();
        assert_eq!(seen, planned);
    }
}

#[test]
fn values_without_a_counterpart_come_back() {
    let lake = Lake::new();
    let destination = lake.open();
    let columns = [
        ("n", "integer not null"),
        ("day", "date"),
        ("clock", "time"),
        ("ts", "timestamp"),
    ];
    let plan = plan(destination.as_ref(), "misfits", &columns, WriteMode::Create);
    let of = |rows: &[(Option<i32>, i32, i64, i64)]| {
        let days = rows.iter().map(|row| Some(row.1));
        let clocks = rows.iter().map(|row| Some(row.2));
        let stamps = rows.iter().map(|row| Some(row.3));
        batch(vec![
            (
                "n",
                Arc::new(PrimitiveArray::<Int32Type>::from_iter(
                    rows.iter().map(|row| row.0),
                )) as ArrayRef,
            ),
            (
                "day",
                Arc::new(PrimitiveArray::<Date32Type>::from_iter(days)),
            ),
            (
                "clock",
                Arc::new(PrimitiveArray::<Time64MicrosecondType>::from_iter(clocks)),
            ),
            (
                "ts",
                Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_iter(
                    stamps,
                )),
            ),
        ])
    };
    let rows = of(&[
        (Some(0), 0, 0, 0),
        (None, i32::MAX, 0, 0),
        (Some(2), i32::MIN, 0, 0),
        (Some(3), 0, 86_400_000_000, 0),
        (Some(4), 0, 0, timestamp::INFINITY),
        (Some(5), 0, 0, timestamp::MINUS_INFINITY),
        (Some(6), 0, 0, timestamp::MAX),
        (Some(7), 0, 0, i64::MAX),
    ]);
    let run = destination
        .begin(&new_run("misfits", None), std::slice::from_ref(&plan))
        .unwrap();
    let mut stream = run.open_stream().unwrap();
    stream.begin_unit(0, "misfits 0").unwrap();
    let misfits = stream.write(&rows).unwrap();
    let places: Vec<(usize, usize)> = misfits.iter().map(|it| (it.row, it.column)).collect();
    assert_eq!(places, [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3), (6, 3)]);
    assert!(
        misfits[5].reason.contains("294247"),
        "{}",
        misfits[5].reason
    );
    assert!(stream.commit_unit(&unit(&plan, 9, 2)).is_err());
    stream.begin_unit(0, "misfits 0").unwrap();
    stream.write(&rows).unwrap();
    let record = UnitRecord {
        key: "misfits 0".to_owned(),
        ..unit(&plan, 0, 2)
    };
    assert_eq!(stream.commit_unit(&record).unwrap(), 2);
    drop(stream);
    run.publish(&|_| {}).unwrap();
    let kept = of(&[(Some(0), 0, 0, 0), (Some(7), 0, 0, i64::MAX)]);
    let required = Schema::new(vec![
        Field::new("n", DataType::Int32, false),
        kept.schema().field(1).clone(),
        kept.schema().field(2).clone(),
        kept.schema().field(3).clone(),
    ]);
    assert_eq!(lake.rows("misfits", &required), expected(&[kept]));
}

#[test]
fn tables_are_created_appended_to_and_replaced() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = |mode| plan(destination.as_ref(), "numbers", &NUMBERS, mode);
    let schema = numbers([]).schema();
    let name = plan(WriteMode::Create).name;
    assert_eq!(destination.target(&name).unwrap(), None);
    assert_eq!(destination.runs(None).unwrap(), []);

    lake.load(
        &plan(WriteMode::Create),
        "first",
        &[numbers(0..3), numbers(3..5)],
    );
    assert_eq!(lake.rows("numbers", &schema), expected(&[numbers(0..5)]));
    let refused = destination.begin(&new_run("again", None), &[plan(WriteMode::Create)]);
    assert_eq!(
        refused.err().unwrap().to_string(),
        "table numbers has 5 rows already"
    );

    lake.load(&plan(WriteMode::Append), "second", &[numbers(5..9)]);
    assert_eq!(lake.rows("numbers", &schema), expected(&[numbers(0..9)]));

    let gone = || -> Vec<Vec<String>> {
        let runs = destination.runs(None).unwrap();
        assert!(
            runs.iter()
                .all(|run| run.record.state == RunState::Switched)
        );
        runs.into_iter().map(|run| run.gone).collect()
    };
    assert_eq!(gone(), [vec![], Vec::<String>::new()]);
    lake.load(&plan(WriteMode::Replace), "third", &[numbers(100..101)]);
    assert_eq!(
        lake.rows("numbers", &schema),
        expected(&[numbers(100..101)])
    );
    let numbers_gone = vec!["numbers".to_owned()];
    assert_eq!(gone(), [numbers_gone.clone(), numbers_gone.clone(), vec![]]);

    fs::remove_dir_all(lake.path("numbers")).unwrap();
    assert_eq!(
        gone(),
        [numbers_gone.clone(), numbers_gone.clone(), numbers_gone]
    );
    let ids: Vec<i64> = destination
        .runs(None)
        .unwrap()
        .iter()
        .map(|run| run.record.run_id)
        .collect();
    assert_eq!(ids, [1, 2, 3]);
    let units = &destination.runs(Some("first")).unwrap()[0].units;
    let first = plan(WriteMode::Create);
    assert_eq!(*units, [unit(&first, 0, 3), unit(&first, 1, 2)]);
}

#[test]
fn an_empty_input_makes_an_empty_table() {
    let lake = Lake::new();
    let destination = lake.open();
    let mut partitioned = plan(destination.as_ref(), "parted", &NUMBERS, WriteMode::Create);
    partitioned.partition_by = vec!["n".to_owned()];
    let whole = plan(destination.as_ref(), "whole", &NUMBERS, WriteMode::Create);
    for plan in [&whole, &partitioned] {
        lake.load(plan, &plan.name.sql, &[]);
        let facts = destination.target(&plan.name).unwrap().unwrap();
        assert!(!facts.has_rows);
        assert_eq!(facts.partitioned_by, plan.partition_by);
        let names: Vec<_> = facts
            .columns
            .iter()
            .map(|column| (column.name.as_str(), column.sql.as_str()))
            .collect();
        assert_eq!(names, NUMBERS);
        assert_eq!(lake.files(&plan.name.sql).len(), 1);
    }
    // Whoever comes with rows may still create it, and the file without rows goes.
    lake.load(&whole, "again", &[numbers(0..2)]);
    assert_eq!(
        lake.rows("whole", &numbers([]).schema()),
        expected(&[numbers(0..2)])
    );
    assert_eq!(lake.files("whole").len(), 1);
}

/// Rows of a partitioned table, as [`Lake::rows`] gives them.
fn parted(rows: &[(&str, i32)]) -> Vec<String> {
    let mut texts_of: Vec<String> = rows
        .iter()
        .map(|(folder, number)| {
            let batch = batch(vec![(
                "n",
                Arc::new(Int32Array::from(vec![*number])) as ArrayRef,
            )]);
            folder.to_string() + &texts(&batch)[0]
        })
        .collect();
    texts_of.sort();
    texts_of
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

#[test]
fn partitions_are_folders_and_replaced_alone() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = |mode| TargetPlan {
        partition_by: vec!["k".to_owned()],
        ..plan(destination.as_ref(), "parted", &KEYED, mode)
    };
    let schema = Schema::new(vec![Field::new("n", DataType::Int32, true)]);
    let odd = "A/b=c d%";
    lake.load(
        &plan(WriteMode::Create),
        "first",
        &[keyed(&[
            (Some("a"), 1),
            (Some("A"), 2),
            (None, 3),
            (Some("a"), 4),
            (Some(odd), 5),
            (Some(""), 6),
        ])],
    );
    let odd_folder = "k=A%2Fb%3Dc%20d%25";
    let null = "k=__HIVE_DEFAULT_PARTITION__";
    assert_eq!(
        lake.rows("parted", &schema),
        parted(&[
            ("k=a", 1),
            ("k=A", 2),
            (null, 3),
            ("k=a", 4),
            (odd_folder, 5),
            ("k=", 6)
        ])
    );
    let facts = destination
        .target(&plan(WriteMode::Append).name)
        .unwrap()
        .unwrap();
    assert_eq!(facts.partitioned_by, ["k"]);

    let replace = plan(WriteMode::ReplacePartitions);
    let run = destination
        .begin(&new_run("second", None), std::slice::from_ref(&replace))
        .unwrap();
    fill(
        run.as_ref(),
        0,
        &replace,
        &[
            keyed(&[(Some("a"), 10), (Some("new"), 11)]),
            keyed(&[(None, 12)]),
        ],
    );
    let published = run.publish(&|_| {}).unwrap();
    assert_eq!(published.rows, [Some(6)]);
    assert_eq!(published.partitions[&0], [null, "k=a", "k=new"]);
    assert_eq!(
        lake.rows("parted", &schema),
        parted(&[
            ("k=a", 10),
            ("k=A", 2),
            (null, 12),
            ("k=new", 11),
            (odd_folder, 5),
            ("k=", 6)
        ])
    );
    // Some of its rows are left.
    assert_eq!(
        destination.runs(Some("first")).unwrap()[0].gone,
        Vec::<String>::new()
    );
    drop(run);

    lake.load(
        &plan(WriteMode::Append),
        "third",
        &[keyed(&[(Some("a"), 20)])],
    );
    assert_eq!(
        lake.rows("parted", &schema),
        parted(&[
            ("k=a", 10),
            ("k=a", 20),
            ("k=A", 2),
            (null, 12),
            ("k=new", 11),
            (odd_folder, 5),
            ("k=", 6)
        ])
    );
    lake.load(
        &replace,
        "fourth",
        &[keyed(&[(Some("A"), 0), (Some(odd), 0), (Some(""), 0)])],
    );
    assert_eq!(destination.runs(Some("first")).unwrap()[0].gone, ["parted"]);

    let other = TargetPlan {
        partition_by: Vec::new(),
        ..plan(WriteMode::Append)
    };
    let refused = destination
        .begin(&new_run("fifth", None), &[other])
        .err()
        .unwrap();
    assert!(
        refused.to_string().contains("partitioned by (k)"),
        "{refused}"
    );
}

#[test]
fn values_that_cannot_be_folders_come_back() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = TargetPlan {
        partition_by: vec!["k".to_owned()],
        ..plan(destination.as_ref(), "parted", &KEYED, WriteMode::Create)
    };
    let long = "x".repeat(300);
    let rows = keyed(&[
        (Some("a"), 1),
        (Some(&long), 2),
        (Some("__HIVE_DEFAULT_PARTITION__"), 3),
        (Some("b"), 4),
    ]);
    let run = destination
        .begin(&new_run("p", None), std::slice::from_ref(&plan))
        .unwrap();
    let mut stream = run.open_stream().unwrap();
    let record = unit(&plan, 0, 2);
    stream.begin_unit(0, &record.key).unwrap();
    let misfits = stream.write(&rows).unwrap();
    let places: Vec<(usize, usize)> = misfits.iter().map(|it| (it.row, it.column)).collect();
    assert_eq!(places, [(1, 0), (2, 0)]);
    assert_eq!(stream.commit_unit(&record).unwrap(), 2);
    drop(stream);
    run.publish(&|_| {}).unwrap();
    let schema = Schema::new(vec![Field::new("n", DataType::Int32, true)]);
    assert_eq!(
        lake.rows("parted", &schema),
        parted(&[("k=a", 1), ("k=b", 4)])
    );
}

#[test]
fn very_many_partitions_keep_all_rows() {
    let lake = Lake::with(&[("row_group_rows", "7")]);
    let destination = lake.open();
    let plan = TargetPlan {
        partition_by: vec!["k".to_owned()],
        ..plan(
            destination.as_ref(),
            "parted",
            &[("k", "bigint"), ("n", "integer")],
            WriteMode::Create,
        )
    };
    // More than are open at the same time, each coming again and again.
    let rows = 40_000;
    let batches: Vec<RecordBatch> = (0..4)
        .map(|_| {
            let keys: Int64Array = (0..rows)
                .map(|row| Some(i64::from(row % 300 - 100)))
                .collect();
            let numbers: Int32Array = (0..rows).map(Some).collect();
            batch(vec![
                ("k", Arc::new(keys) as ArrayRef),
                ("n", Arc::new(numbers)),
            ])
        })
        .collect();
    let run = destination
        .begin(&new_run("p", None), std::slice::from_ref(&plan))
        .unwrap();
    let mut stream = run.open_stream().unwrap();
    let record = unit(&plan, 0, 4 * rows as u64);
    stream.begin_unit(0, &record.key).unwrap();
    for batch in &batches {
        assert_eq!(stream.write(batch).unwrap(), []);
    }
    assert_eq!(stream.commit_unit(&record).unwrap(), 4 * rows as u64);
    drop(stream);
    run.publish(&|_| {}).unwrap();
    let schema = Schema::new(vec![Field::new("n", DataType::Int32, true)]);
    let mut seen: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for (path, batches) in lake.read("parted", &schema) {
        let folder = path.parent().unwrap().to_string_lossy().into_owned();
        for batch in batches {
            let numbers = batch
                .column(0)
                .as_any()
                .downcast_ref::<Int32Array>()
                .unwrap();
            seen.entry(folder.clone())
                .or_default()
                .extend(numbers.values());
        }
    }
    let mut wanted: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for number in (0..rows).flat_map(|number| [number; 4]) {
        wanted
            .entry(format!("k={}", number % 300 - 100))
            .or_default()
            .push(number);
    }
    seen.values_mut().for_each(|numbers| numbers.sort());
    assert_eq!(seen, wanted);
}

#[test]
fn a_stopped_run_keeps_its_units() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("key", None), std::slice::from_ref(&plan))
        .unwrap();
    fill(run.as_ref(), 0, &plan, &[numbers(0..3), numbers(3..6)]);
    assert_eq!(run.staged_rows().unwrap(), [6]);
    {
        // One that is under way when the process ends.
        let mut stream = run.open_stream().unwrap();
        stream.begin_unit(0, "unfinished").unwrap();
        stream.write(&numbers(0..20_000)).unwrap();
    }
    // Another process finds it held.
    let other = lake.open();
    let refused = other
        .begin(&new_run("key", None), std::slice::from_ref(&plan))
        .err()
        .unwrap();
    assert!(matches!(&refused, Error::Held { .. }));
    assert!(
        refused
            .to_string()
            .ends_with("is held by process 1 on host a"),
        "{refused}"
    );
    drop(run);

    let stopped = destination.runs(Some("key")).unwrap();
    assert_eq!(stopped[0].record.state, RunState::Loading);
    assert_eq!(stopped[0].units.len(), 2);
    let id = stopped[0].record.run_id;
    let mut run = destination
        .begin(&new_run("key", Some(id)), std::slice::from_ref(&plan))
        .unwrap();
    assert_eq!(run.record().epoch, 2);
    assert_eq!(run.kept(), [unit(&plan, 0, 3), unit(&plan, 1, 3)]);
    let staged = all_files(&lake.path("_inrush/staging"));
    assert_eq!(staged.len(), 4, "{staged:?}");
    assert_eq!(
        run.forget(&["numbers 1".to_owned(), "never".to_owned()])
            .unwrap(),
        ["numbers 1"]
    );
    assert_eq!(run.staged_rows().unwrap(), [3]);
    let mut stream = run.open_stream().unwrap();
    stream.begin_unit(0, "numbers 1").unwrap();
    stream.write(&numbers(50..60)).unwrap();
    stream.abort_unit().unwrap();
    stream.begin_unit(0, "numbers 1").unwrap();
    stream.write(&numbers(30..34)).unwrap();
    stream.commit_unit(&unit(&plan, 1, 4)).unwrap();
    drop(stream);
    run.publish(&|_| {}).unwrap();
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..3), numbers(30..34)])
    );
    assert_eq!(
        all_files(&lake.path("_inrush/staging")),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_damaged_or_other_staging_is_not_kept() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("key", None), std::slice::from_ref(&plan))
        .unwrap();
    fill(run.as_ref(), 0, &plan, &[numbers(0..3), numbers(3..6)]);
    let id = run.record().run_id;
    drop(run);
    let files = all_files(&lake.path("_inrush/staging"));
    let data = files
        .iter()
        .find(|path| path.extension().unwrap() == "staged")
        .unwrap();
    let path = lake.path("_inrush/staging").join(data);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let run = destination
        .begin(&new_run("key", Some(id)), std::slice::from_ref(&plan))
        .unwrap();
    assert_eq!(run.kept().len(), 1);
    drop(run);
    let reshaped = TargetPlan {
        shape: "another".to_owned(),
        ..plan
    };
    let run = destination
        .begin(&new_run("key", Some(id)), &[reshaped])
        .unwrap();
    assert_eq!(run.kept(), []);
}

#[test]
fn a_crash_at_any_step_of_publishing_is_gone_on_with() {
    let schema = numbers([]).schema();
    let steps = [
        "begin",
        "Under 1",
        "Under 2",
        "BeforeCommit 1",
        "Committed 1",
        "BeforeCommit 2",
        "Committed 2",
    ];
    for mode in [WriteMode::Create, WriteMode::Append, WriteMode::Replace] {
        for crash in steps {
            let lake = Lake::new();
            let destination = lake.open();
            let plans =
                ["left", "right"].map(|table| plan(destination.as_ref(), table, &NUMBERS, mode));
            if mode != WriteMode::Create {
                for plan in &plans {
                    lake.load(plan, "before", &[numbers(0..2)]);
                }
            }
            let run = destination.begin(&new_run("key", None), &plans).unwrap();
            fill(run.as_ref(), 0, &plans[0], &[numbers(10..13)]);
            fill(run.as_ref(), 1, &plans[1], &[numbers(20..23)]);
            let id = run.record().run_id;
            let counts = std::cell::RefCell::new(BTreeMap::<String, u32>::new());
            let ended = catch_unwind(AssertUnwindSafe(|| {
                assert_ne!(crash, "begin");
                run.publish(&|step: PublishStep| {
                    let mut counts = counts.borrow_mut();
                    let count = counts.entry(format!("{step:?}")).or_default();
                    *count += 1;
                    assert_ne!(format!("{step:?} {count}"), crash);
                })
            }));
            assert!(ended.is_err(), "{mode:?} {crash}");
            drop(run);

            let destination = lake.open();
            let past = destination.runs(Some("key")).unwrap().remove(0);
            let all = [numbers(10..13), numbers(20..23)].map(|new| match mode {
                WriteMode::Append => expected(&[numbers(0..2), new]),
                _ => expected(&[new]),
            });
            if crash == "Committed 2" {
                assert_eq!(past.record.state, RunState::Switched, "{mode:?}");
                assert_eq!(past.gone, Vec::<String>::new());
                assert_eq!(past.units.len(), 2);
            } else {
                assert_eq!(past.record.state, RunState::Loading, "{mode:?} {crash}");
                if crash == "Committed 1" {
                    assert_eq!(lake.rows("left", &schema), all[0]);
                    let refused = destination.discard(&past).unwrap_err();
                    assert!(
                        refused.to_string().contains("cannot be given up"),
                        "{refused}"
                    );
                }
            }
            let run = destination
                .begin(&new_run("key", Some(id)), &plans)
                .unwrap();
            assert_eq!(run.kept().len(), 2, "{mode:?} {crash}");
            let published = run.publish(&|_| {}).unwrap();
            assert_eq!(
                published.rows,
                all.each_ref().map(|rows| Some(rows.len() as u64))
            );
            assert!(run.is_switched().unwrap());
            drop(run);
            for (table, rows) in ["left", "right"].into_iter().zip(&all) {
                assert_eq!(lake.rows(table, &schema), *rows, "{mode:?} {crash} {table}");
            }
            let past = destination.runs(Some("key")).unwrap().remove(0);
            assert_eq!(past.record.state, RunState::Switched);
            assert_eq!(
                all_files(&lake.path("_inrush/staging")),
                Vec::<PathBuf>::new()
            );
        }
    }
}

#[test]
fn a_run_that_is_given_up_leaves_nothing() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("key", None), std::slice::from_ref(&plan))
        .unwrap();
    fill(run.as_ref(), 0, &plan, &[numbers(0..3)]);
    let past = |destination: &dyn Destination| -> PastRun {
        destination.runs(Some("key")).unwrap().remove(0)
    };
    let held = destination
        .discard(&past(destination.as_ref()))
        .unwrap_err();
    assert!(matches!(held, Error::Held { .. }));
    drop(run);
    destination.discard(&past(destination.as_ref())).unwrap();
    let discarded = past(destination.as_ref());
    assert_eq!(discarded.record.state, RunState::Discarded);
    assert_eq!(discarded.units, []);
    assert_eq!(
        all_files(&lake.path("_inrush/staging")),
        Vec::<PathBuf>::new()
    );
    let refused = destination
        .begin(&new_run("key", Some(1)), std::slice::from_ref(&plan))
        .err()
        .unwrap();
    assert!(
        refused.to_string().contains("was given up meanwhile"),
        "{refused}"
    );
    lake.load(&plan, "key", &[numbers(5..7)]);
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(5..7)])
    );
}

#[test]
fn two_packages_append_to_one_table() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Append);
    std::thread::scope(|scope| {
        for package in 0..4 {
            let (lake, plan) = (&lake, &plan);
            scope.spawn(move || {
                let from = package * 10;
                lake.load(
                    plan,
                    &format!("package {package}"),
                    &[numbers(from..from + 10)],
                );
            });
        }
    });
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..40)])
    );
}

#[test]
fn files_of_others_are_appended_to_or_refused() {
    let lake = Lake::new();
    let destination = lake.open();
    let append = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Append);
    let write = |name: &str, batch: &RecordBatch| {
        let path = lake.path("numbers").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer =
            ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
    };
    write("theirs.parquet", &numbers(0..3));
    fs::write(lake.path("numbers/_SUCCESS"), "").unwrap();
    fs::write(lake.path("numbers/_metadata"), "").unwrap();
    lake.load(&append, "append", &[numbers(3..5)]);
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..5)])
    );
    let files = all_files(&lake.path("numbers"));
    let has = |name: &str| files.contains(&PathBuf::from(name));
    assert!(
        has("theirs.parquet") && has("_SUCCESS") && !has("_metadata"),
        "{files:?}"
    );

    let obstacle = || {
        destination
            .target(&append.name)
            .unwrap()
            .unwrap()
            .obstacle
            .unwrap()
            .0
    };
    let begun = || {
        destination
            .begin(&new_run("k", None), std::slice::from_ref(&append))
            .err()
            .unwrap()
    };
    write("other.parquet", &keyed(&[(Some("a"), 1)]));
    assert!(
        obstacle().contains("not the same columns: column 1 is"),
        "{}",
        obstacle()
    );
    assert_eq!(begun().to_string(), obstacle());
    fs::write(lake.path("numbers/other.parquet"), "PAR1").unwrap();
    assert!(obstacle().contains("other.parquet"), "{}", obstacle());
    fs::remove_file(lake.path("numbers/other.parquet")).unwrap();
    fs::create_dir(lake.path("numbers/_delta_log")).unwrap();
    assert!(obstacle().contains("Delta Lake"), "{}", obstacle());
    fs::remove_dir(lake.path("numbers/_delta_log")).unwrap();
    write("k=1/there.parquet", &numbers(0..1));
    assert!(obstacle().contains("partitioned by"), "{}", obstacle());
}

#[test]
fn columns_are_matched_by_their_names() {
    let lake = Lake::new();
    let destination = lake.open();
    let create = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    lake.load(&create, "first", &[numbers(0..2)]);
    let append = |columns: &[(&str, &str)]| {
        plan(destination.as_ref(), "numbers", columns, WriteMode::Append)
    };
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["only a text"]));
    lake.load(
        &append(&[("t", "text")]),
        "second",
        &[batch(vec![("t", texts.clone())])],
    );
    let filled = batch(vec![
        ("n", Arc::new(Int32Array::from(vec![None])) as ArrayRef),
        ("t", texts),
    ]);
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..2), filled])
    );
    for (columns, message) in [
        (
            [("n", "bigint"), ("t", "text")],
            "column \"n\" is integer there, and bigint comes",
        ),
        ([("n", "integer"), ("x", "text")], "it has no column \"x\""),
        (
            [("n", "integer"), ("n", "integer")],
            "column \"n\" comes twice",
        ),
    ] {
        let refused = destination
            .begin(&new_run("k", None), &[append(&columns)])
            .err()
            .unwrap();
        assert!(refused.to_string().contains(message), "{refused}");
    }
}

#[test]
fn names_may_be_odd() {
    let lake = Lake::new();
    let destination = lake.open();
    for (schema, name) in [
        (Some("Größe"), "a \"b\" 'c'"),
        (None, "../up/..\0"),
        (Some(".."), "_x"),
        (None, "%2F"),
    ] {
        let plan = TargetPlan {
            name: destination.target_name(schema, name).unwrap(),
            ..plan(destination.as_ref(), "x", &NUMBERS, WriteMode::Create)
        };
        lake.load(&plan, &plan.name.sql, &[numbers(0..2)]);
        assert_eq!(
            lake.rows(&plan.name.sql, &numbers([]).schema()),
            expected(&[numbers(0..2)])
        );
        assert!(destination.target(&plan.name).unwrap().unwrap().has_rows);
    }
    // A table is no schema, and a schema is no table.
    let named = |schema, name: &str| TargetPlan {
        name: destination.target_name(schema, name).unwrap(),
        ..plan(destination.as_ref(), "x", &NUMBERS, WriteMode::Append)
    };
    for plan in [named(Some("%2F"), "x"), named(None, "Größe")] {
        assert!(matches!(
            destination
                .begin(&new_run("k", None), &[plan])
                .err()
                .unwrap(),
            Error::Unsuitable { .. }
        ));
    }
    let both = [named(None, "s"), named(Some("s"), "t")];
    assert!(destination.begin(&new_run("k", None), &both).is_err());
    let odd = [("a.b \"c\"", "integer"), ("", "text")];
    let plan = plan(destination.as_ref(), "columns", &odd, WriteMode::Create);
    let rows = batch(vec![
        ("a.b \"c\"", Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        ("", Arc::new(StringViewArray::from(vec!["x"]))),
    ]);
    lake.load(&plan, "columns", std::slice::from_ref(&rows));
    assert_eq!(lake.rows("columns", &rows.schema()), expected(&[rows]));
}

#[test]
fn files_end_at_their_largest_size_and_are_all_read() {
    let lake = Lake::with(&[
        ("file_bytes_max", "65536"),
        ("row_group_rows", "5000"),
        ("codec", "none"),
    ]);
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("k", None), std::slice::from_ref(&plan))
        .unwrap();
    let mut stream = run.open_stream().unwrap();
    let record = unit(&plan, 0, 60_000);
    stream.begin_unit(0, &record.key).unwrap();
    for from in 0..60 {
        stream
            .write(&numbers(from * 1000..from * 1000 + 1000))
            .unwrap();
    }
    assert_eq!(stream.commit_unit(&record).unwrap(), 60_000);
    drop(stream);
    run.publish(&|_| {}).unwrap();
    assert!(lake.files("numbers").len() > 3);
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..60_000)])
    );
}

#[test]
fn an_interrupted_run_ends_soon() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("k", None), std::slice::from_ref(&plan))
        .unwrap();
    fill(run.as_ref(), 0, &plan, &[numbers(0..3)]);
    let mut stream = run.open_stream().unwrap();
    stream.begin_unit(0, "x").unwrap();
    run.interrupt();
    assert!(matches!(
        stream.write(&numbers(0..1)).unwrap_err(),
        Error::Interrupted
    ));
    stream.abort_unit().unwrap();
    drop(stream);
    assert!(matches!(
        run.publish(&|_| {}).unwrap_err(),
        Error::Interrupted
    ));
    assert!(!run.is_switched().unwrap());
}

#[test]
fn types_have_names_for_people() {
    assert_eq!(types::resolve("int8").unwrap().sql, "bigint");
}
