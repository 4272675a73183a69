//! The calls of the contract, one by one: what a crash leaves, and what a second process may do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Float64Array, Int32Array, RecordBatch};
use inrush_destination::{
    Address, ColumnPlan, CommittedRecord, Destination, Error, LoadMethod, NewRun, NoSource,
    OpenRun, PublishStep, ReplacedRows, RunRecord, StagedRows, StreamSetup, TargetPlan, UnitPart,
    UnitRecord, WriteMode,
};
use inrush_example_destination::open;
use inrush_rows::ids::{RunId, RunKey, RunName, UnitKey};
use tempfile::TempDir;

/// A folder, and a destination in it.
struct Scene {
    folder: TempDir,
    destination: Box<dyn Destination>,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let destination = opened(&folder.path().join("json"));
        Scene {
            folder,
            destination,
        }
    }

    fn plan(&self, table: &str, mode: WriteMode) -> TargetPlan {
        let column = |(name, type_name): (&str, &str)| {
            let resolved = self.destination.resolve_type(type_name).expect("a type");
            ColumnPlan {
                name: name.to_owned(),
                sql: resolved.sql,
                column_type: resolved.column_type,
                nullable: true,
            }
        };
        TargetPlan {
            name: self.destination.target_name(None, table).expect("a name"),
            columns: [("id", "integer"), ("price", "double precision")]
                .map(column)
                .to_vec(),
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

    fn begin(
        &self,
        takes_over: Option<RunId>,
        targets: &[TargetPlan],
    ) -> Result<Box<dyn OpenRun>, Error> {
        let run = NewRun {
            run_key: RunKey::new("key"),
            name: RunName::new("name"),
            package: "package".to_owned(),
            package_hash: "hash".to_owned(),
            holder: "process 1 of host".to_owned(),
            started_at_microseconds: 1,
            takes_over,
            lineage: format!("takes over {takes_over:?}"),
        };
        self.destination.begin(&run, targets)
    }

    /// The rows of each table as a reader finds them.
    fn tables(&self) -> BTreeMap<String, Vec<String>> {
        let folder = self.folder.path().join("json");
        let Ok(text) = fs::read_to_string(folder.join("catalog.json")) else {
            return BTreeMap::new();
        };
        let catalog: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let tables = catalog["tables"].as_object().expect("an object");
        let rows_of = |table: &serde_json::Value| {
            let parts = table["parts"].as_array().expect("an array").iter();
            let folders = parts.map(|part| folder.join(part["folder"].as_str().expect("a text")));
            let mut rows: Vec<String> = folders.flat_map(|folder| rows_in(&folder)).collect();
            rows.sort();
            rows
        };
        tables
            .iter()
            .map(|(name, table)| (name.clone(), rows_of(table)))
            .collect()
    }
}

fn opened(path: &Path) -> Box<dyn Destination> {
    let address = Address {
        url: "",
        options: &BTreeMap::new(),
        folder: Path::new("."),
        site_packages: None,
        ledger_schema: "",
    };
    open(&address, path).expect("a destination")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn rows_in(folder: &Path) -> Vec<String> {
    let texts = files_in(folder)
        .into_iter()
        .map(|path| fs::read_to_string(path).expect("a file"));
    let files =
        texts.map(|text| serde_json::from_str::<Vec<serde_json::Value>>(&text).expect("an array"));
    files.flatten().map(|row| row.to_string()).collect()
}

fn batch(ids: &[i32]) -> RecordBatch {
    let prices = ids.iter().map(|id| f64::from(*id) + 0.5);
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int32Array::from(ids.to_vec())) as _),
        (
            "price",
            Arc::new(Float64Array::from_iter_values(prices)) as _,
        ),
    ])
    .expect("a batch")
}

fn record(key: &str, rows: u64) -> UnitRecord {
    UnitRecord {
        key: UnitKey::new(key),
        target: "t".to_owned(),
        rows_loaded: rows,
        detail: "a \"text\"".to_owned(),
    }
}

/// Loads a unit.
fn load(run: &dyn OpenRun, target: usize, key: &str, ids: &[i32]) {
    let record = record(key, ids.len() as u64);
    let mut stream = run.open_stream(&StreamSetup::alone()).expect("a stream");
    stream
        .begin(&UnitPart::whole(target, &record.key), LoadMethod::Quick)
        .expect("it begins");
    assert_eq!(
        stream
            .write(&batch(ids), u64::MAX)
            .expect("it is written")
            .not_taken(),
        0
    );
    assert_eq!(
        stream.commit(&record).expect("it is committed"),
        ids.len() as u64
    );
}

fn units(destination: &dyn Destination, run: &RunRecord) -> Vec<UnitRecord> {
    let mut units = Vec::new();
    destination
        .units(run, &mut |unit| units.push(unit))
        .expect("they are read");
    units
}

/// The units of a run, which the run itself reads as the destination does.
fn own_units(destination: &dyn Destination, run: &dyn OpenRun) -> Vec<UnitRecord> {
    let (units, mut own) = (units(destination, run.record()), Vec::new());
    run.units(&mut |record| own.push(record))
        .expect("they are read");
    let units_of_run = units.iter().cloned().map(CommittedRecord::Unit);
    assert_eq!(own, units_of_run.collect::<Vec<_>>());
    units
}

/// The rows that are staged for the only target of a run.
fn staged(run: &dyn OpenRun) -> u64 {
    match run.staged_rows().expect("they are counted") {
        StagedRows::OfTargets(rows) => *rows.first().expect("one target"),
        StagedRows::OfUnits(_) => panic!("it counts targets"),
    }
}

fn row(id: i32) -> String {
    format!("{{\"id\":{id},\"price\":{id}.5}}")
}

#[test]
fn a_resumed_run_has_its_committed_units_and_nothing_else() {
    let scene = Scene::new();
    let targets = [scene.plan("t", WriteMode::Create)];
    let first = scene.begin(None, &targets).expect("it begins");
    load(&*first, 0, "one", &[1, 2]);
    load(&*first, 0, "two", &[3]);
    let run = first.record().run_id;
    let lineage_and_lock = || {
        let past = scene.destination.runs(None).expect("they are read");
        let record = &past[0].record;
        (
            scene.destination.lineage(record).expect("it is read"),
            scene.destination.is_held(record).expect("it is asked"),
        )
    };
    let text = |takes_over: Option<RunId>| Some(format!("takes over {takes_over:?}"));
    assert_eq!(lineage_and_lock(), (text(None), Some(true)));
    // A crash between both renames, and one before them.
    let json = scene.folder.path().join("json");
    fs::remove_file(json.join(format!(".inrush/runs/{run}/units/1/two.json"))).expect("the record");
    fs::write(
        json.join(format!("rows/{run}/1/three.json.unfinished")),
        "[\n{",
    )
    .expect("a file");
    drop(first);
    assert_eq!(lineage_and_lock(), (text(None), Some(false)));

    let again = scene.begin(Some(run), &targets).expect("it is resumed");
    assert_eq!(lineage_and_lock(), (text(Some(run)), Some(true)));
    assert_eq!((again.record().run_id, again.record().epoch), (run, 2));
    assert_eq!(own_units(&*scene.destination, &*again), [record("one", 2)]);
    assert_eq!(staged(&*again), 2);
    assert!(scene.tables().is_empty() && !again.is_switched().expect("it is known"));
    load(&*again, 0, "two", &[3]);
    let published = again
        .publish(&|_| {}, &mut NoSource)
        .expect("it is published");
    assert_eq!(published.rows, [Some(3)]);
    assert!(again.is_switched().expect("it is known"));
    assert_eq!(scene.tables()["t"], [row(1), row(2), row(3)]);
}

#[test]
fn rows_of_another_shape_are_forgotten() {
    let scene = Scene::new();
    let mut targets = [scene.plan("t", WriteMode::Create)];
    let first = scene.begin(None, &targets).expect("it begins");
    load(&*first, 0, "one", &[1]);
    let run = first.record().run_id;
    drop(first);
    targets[0].shape = "another shape".to_owned();
    let again = scene.begin(Some(run), &targets).expect("it is resumed");
    assert_eq!(own_units(&*scene.destination, &*again), []);
    assert_eq!(staged(&*again), 0);
}

#[test]
fn what_was_written_and_not_committed_is_nowhere() {
    let scene = Scene::new();
    let targets = [scene.plan("t", WriteMode::Create)];
    let run = scene.begin(None, &targets).expect("it begins");
    let mut stream = run.open_stream(&StreamSetup::alone()).expect("a stream");
    let wrong = record("one", 5);
    stream
        .begin(&UnitPart::whole(0, &wrong.key), LoadMethod::Quick)
        .expect("it begins");
    stream
        .write(&batch(&[1, 2]), u64::MAX)
        .expect("it is written");
    let refused = stream.commit(&wrong).expect_err("5 rows were not written");
    assert!(
        matches!(
            refused,
            Error::Count {
                counted: 2,
                sent: 5,
                ..
            }
        ),
        "{refused}"
    );
    stream.abort().expect("it is rolled back");
    assert_eq!(own_units(&*scene.destination, &*run), []);
    assert_eq!(staged(&*run), 0);
    // A unit may be forgotten, and loaded again.
    load(&*run, 0, "one", &[1]);
    assert_eq!(
        run.forget(std::slice::from_ref(&wrong.key))
            .expect("it is forgotten"),
        [wrong.key]
    );
    assert_eq!(staged(&*run), 0);
}

#[test]
fn values_without_a_counterpart_are_misfits() {
    let scene = Scene::new();
    let run = scene
        .begin(None, &[scene.plan("t", WriteMode::Create)])
        .expect("it begins");
    let rows = RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as _,
        ),
        (
            "price",
            Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(-0.0)])) as _,
        ),
    ])
    .expect("a batch");
    let record = record("one", 2);
    let mut stream = run.open_stream(&StreamSetup::alone()).expect("a stream");
    stream
        .begin(&UnitPart::whole(0, &record.key), LoadMethod::Quick)
        .expect("it begins");
    let written = stream.write(&rows, u64::MAX).expect("it is written");
    let misfits: Vec<_> = written
        .misfits
        .iter()
        .map(|misfit| (misfit.row, misfit.column))
        .collect();
    assert_eq!(misfits, [(0, 1)]);
    assert_eq!(stream.commit(&record).expect("it is committed"), 2);
    run.publish(&|_| {}, &mut NoSource)
        .expect("it is published");
    assert_eq!(scene.tables()["t"], [r#"{"id":3,"price":-0.0}"#, "{}"]);
}

#[test]
fn all_targets_are_published_in_one_step_or_none() {
    let scene = Scene::new();
    let targets = ["a", "b"].map(|name| scene.plan(name, WriteMode::Create));
    let run = scene.begin(None, &targets).expect("it begins");
    load(&*run, 0, "of a", &[1]);
    load(&*run, 1, "of b", &[2]);
    let before_commit = |step| {
        if step == PublishStep::BeforeCommit {
            assert!(scene.tables().is_empty());
            run.cancel_handle().cancel();
        }
    };
    let cancelled = run
        .publish(&before_commit, &mut NoSource)
        .expect_err("it was cancelled");
    assert!(matches!(cancelled, Error::Interrupted), "{cancelled}");
    assert!(scene.tables().is_empty() && !run.is_switched().expect("it is known"));
    let run_id = run.record().run_id;
    drop(run);
    let run = scene.begin(Some(run_id), &targets).expect("it is resumed");
    run.publish(&|_| {}, &mut NoSource)
        .expect("it is published");
    assert_eq!(
        scene.tables(),
        BTreeMap::from([
            ("a".to_owned(), vec![row(1)]),
            ("b".to_owned(), vec![row(2)])
        ])
    );
}

#[test]
fn modes_keep_and_replace_rows() {
    let scene = Scene::new();
    let publish = |mode, id| {
        let run = scene
            .begin(None, &[scene.plan("t", mode)])
            .expect("it begins");
        load(&*run, 0, "unit", &[id]);
        run.publish(&|_| {}, &mut NoSource).map(drop)
    };
    publish(WriteMode::Append, 1).expect_err("there is no table");
    publish(WriteMode::Create, 1).expect("it is published");
    publish(WriteMode::Append, 2).expect("it is published");
    assert_eq!(scene.tables()["t"], [row(1), row(2)]);
    publish(WriteMode::Create, 3).expect_err("it has rows");
    assert_eq!(scene.tables()["t"], [row(1), row(2)]);
    publish(WriteMode::Replace, 4).expect("it is published");
    assert_eq!(scene.tables()["t"], [row(4)]);
    let past = scene
        .destination
        .runs(Some(&RunKey::new("key")))
        .expect("they are read");
    let switched: Vec<bool> = past
        .iter()
        .map(|run| run.record.switched_at_microseconds.is_some())
        .collect();
    assert_eq!(switched, [false, true, true, false, true]);
    assert_eq!(past[1].gone, ["t"]);
    assert!(past[4].gone.is_empty());
}

#[test]
fn a_run_has_one_process_and_a_discarded_one_nothing() {
    let scene = Scene::new();
    let targets = [scene.plan("t", WriteMode::Create)];
    let run = scene.begin(None, &targets).expect("it begins");
    load(&*run, 0, "one", &[1]);
    let held = scene.begin(None, &targets).err().expect("it is held");
    assert!(
        matches!(&held, Error::Held { what, .. } if what.contains("process 1 of host")),
        "{held}"
    );
    let past = scene
        .destination
        .runs(None)
        .expect("they are read")
        .remove(0);
    assert!(scene.destination.discard(&past).is_err(), "it is held");
    drop(run);
    assert!(
        scene
            .destination
            .staged_bytes(&past.record)
            .expect("it is known")
            > Some(0)
    );
    scene.destination.discard(&past).expect("it is given up");
    assert_eq!(
        scene
            .destination
            .staged_bytes(&past.record)
            .expect("it is known"),
        Some(0)
    );
    assert_eq!(units(&*scene.destination, &past.record), []);
    assert!(
        scene.begin(Some(past.record.run_id), &targets).is_err(),
        "there is nothing to resume"
    );
}
