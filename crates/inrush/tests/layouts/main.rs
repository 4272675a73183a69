//! The driver loads whatever units a destination lays out (clause D-39 of docs/specs/destination.md): units
//! of several splits, ranges of one file in different units, units that several streams fill, and partitions. After a
//! failure another number of streams continues with the records that are missing. Layouts that would lose rows or load them
//! twice are refused.

mod changed_values;
mod counted_units;
mod finished_units;
mod laid_out;
mod outdated_plan;
mod shares;
mod trial_place;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use inrush::package::{Overrides, Package};
use inrush::report::RunReport;
use inrush::{Failure, RunOptions, open_files};
use inrush_destination::{Filling, Layout, LoadMethod, PublishesInto, SplitFacts, UnitLayout};
use inrush_engine::driver::Driver;
use inrush_rows::ids::UnitKey;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use self::laid_out::{Begun, Scene, open};

type Row = (i32, String);
type LayOut = fn(&[SplitFacts<'_>]) -> Layout;

/// Rows of the plain files: one file with several splits, whose quotes contain line ends, and small files. One of the
/// small files has no rows.
const PLAIN: [(&str, i32); 4] = [("a.csv", 6_000), ("b.csv", 9), ("c.csv", 0), ("d.csv", 400)];
/// Rows of the compressed file, which has two ranges for streams to take.
const FED_ROWS: i32 = 2_300;

/// A folder with files, and the rows that belong into the table.
struct Files {
    folder: tempfile::TempDir,
    rows: Vec<Row>,
}

impl Files {
    fn new(has_fed: bool) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = Vec::new();
        let mut first = 0;
        for (name, count) in PLAIN {
            let mut text = "id,note\n".to_owned();
            for id in first..first + count {
                let note = format!("{id}\n{id},{}", "n".repeat((id % 50) as usize));
                writeln!(text, "{id},\"{note}\"").expect("memory");
                rows.push((id, note));
            }
            first += count;
            fs::write(folder.path().join(name), text).expect("a file");
        }
        if has_fed {
            let mut text = "id,note\n".to_owned();
            // Digits compress to about a half; a smaller file would not be fed.
            let mut digits = 0x1234_5678_9abc_def1_u64;
            for id in first..first + FED_ROWS {
                let mut note = String::new();
                while note.len() < 2_000 {
                    digits ^= digits << 13;
                    digits ^= digits >> 7;
                    digits ^= digits << 17;
                    write!(note, "{digits:016x}").expect("memory");
                }
                writeln!(text, "{id},{note}").expect("memory");
                rows.push((id, note));
            }
            let path = folder.path().join("e.csv");
            fs::write(&path, text).expect("a file");
            let zipped = Command::new("gzip").arg("-1").arg(&path).status();
            assert!(zipped.expect("there is gzip").success());
        }
        Files { folder, rows }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, streams: usize) -> Result<RunReport, Failure> {
        self.run_verified(streams, "count")
    }

    fn run_verified(&self, streams: usize, verify: &str) -> Result<RunReport, Failure> {
        let package = verified_package(streams, verify);
        let ended = Driver::of_contract(open).run(&package, &self.options());
        ended.map(|success| success.report)
    }

    fn options(&self) -> RunOptions<'static> {
        RunOptions {
            folder: self.path().to_owned(),
            runs_folder: self.path().join("runs"),
            open_sources: &open_files,
            ..RunOptions::default()
        }
    }

    /// The rows of the table, in order.
    fn loaded(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for path in data_files(&self.path().join("lake").join("t")) {
            let file = File::open(path).expect("it is listed");
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("it is Parquet");
            for batch in reader.build().expect("it is Parquet") {
                let batch = batch.expect("it is whole");
                let ids = batch.column(0).as_primitive::<Int32Type>().values();
                let notes = batch.column(1);
                let notes: Vec<&str> = match notes.as_string_view_opt() {
                    Some(notes) => notes.iter().flatten().collect(),
                    None => notes.as_string::<i32>().iter().flatten().collect(),
                };
                assert_eq!(ids.len(), notes.len());
                rows.extend(
                    ids.iter()
                        .zip(notes)
                        .map(|(id, note)| (*id, note.to_owned())),
                );
            }
        }
        rows.sort();
        rows
    }
}

/// The package, with this number of streams.
fn package(streams: usize) -> Package {
    verified_package(streams, "count")
}

fn verified_package(streams: usize, verify: &str) -> Package {
    parsed(&package_text("layouts", "create", streams, verify))
}

fn package_text(name: &str, mode: &str, streams: usize, verify: &str) -> String {
    format!(
        "name = '{name}'\n[connections.target]\nurl = 'parquet:lake'\n[run]\nstreams = {streams}\nverify = '{verify}'\n\
         [[flow]]\nfiles = '*.csv*'\ntable = 't'\nmode = '{mode}'\n\
         columns = ['id int not null', 'note text']\nformat = {{ header = true }}\n"
    )
}

fn parsed(text: &str) -> Package {
    let package = Package::parse(text, Path::new("layouts.toml")).expect("it is right");
    let package = package.resolve(&Overrides::default(), &|_| {
        Err(std::env::VarError::NotPresent)
    });
    let package = package.expect("it resolves");
    package.check().expect("it is right");
    package
}

fn scene(lay_out: impl Fn(&[SplitFacts<'_>]) -> Layout + Send + Sync + 'static) -> Scene {
    Scene {
        lay_out: Box::new(lay_out),
        rejects_refused: false,
        refuses_publish: AtomicBool::new(false),
        commits_left: AtomicUsize::new(usize::MAX),
        changes_a_value: AtomicBool::new(false),
        rows_at_once: AtomicUsize::new(usize::MAX),
        begun: Mutex::default(),
        committed: Mutex::default(),
        open: AtomicUsize::default(),
        finishes_left: AtomicUsize::new(usize::MAX),
        counts_units: AtomicBool::new(false),
        misses_a_row: AtomicBool::new(false),
        trials: Mutex::default(),
        steps: Mutex::default(),
        meanwhile: Mutex::default(),
        joined_commits_are_lost: false,
    }
}

fn data_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the table is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let is_data = |path: &PathBuf| path.extension().is_some_and(|end| end == "parquet");
    paths.filter(is_data).collect()
}

fn unit(splits: impl IntoIterator<Item = usize>, filling: Filling) -> UnitLayout {
    UnitLayout {
        splits: splits.into_iter().collect(),
        filling,
        publishes_into: PublishesInto::Target,
    }
}

fn pairs(splits: &[SplitFacts<'_>], filling: Filling) -> Layout {
    let all: Vec<usize> = (0..splits.len()).collect();
    let units = all
        .chunks(2)
        .map(|pair| unit(pair.iter().copied(), filling));
    Layout {
        units: units.collect(),
    }
}

fn one_stream_each_pair(splits: &[SplitFacts<'_>]) -> Layout {
    pairs(splits, Filling::OneStream)
}

fn all_in_one_unit(splits: &[SplitFacts<'_>]) -> Layout {
    Layout {
        units: vec![unit(0..splits.len(), Filling::EachSplit)],
    }
}

/// Ranges of one file in different units, and in reversed order.
fn backwards(splits: &[SplitFacts<'_>]) -> Layout {
    let of = |rest: usize| {
        let own = (0..splits.len()).rev().filter(move |at| at % 2 == rest);
        unit(own, Filling::OneOrSeveral)
    };
    Layout {
        units: vec![of(0), of(1)],
    }
}

/// A partition for each input.
fn partitions(splits: &[SplitFacts<'_>]) -> Layout {
    let mut units: BTreeMap<usize, UnitLayout> = BTreeMap::new();
    for (at, split) in splits.iter().enumerate() {
        let unit = units.entry(split.input).or_insert_with(|| {
            let name = split.name.file_name().expect("it is a file");
            UnitLayout {
                splits: Vec::new(),
                filling: Filling::EachSplit,
                publishes_into: PublishesInto::Partition(name.display().to_string()),
            }
        });
        unit.splits.push(at);
    }
    Layout {
        units: units.into_values().collect(),
    }
}

const LAYOUTS: [(&str, LayOut); 4] = [
    ("one stream for each pair", one_stream_each_pair),
    ("all in one unit", all_in_one_unit),
    ("backwards", backwards),
    ("partitions", partitions),
];

/// Returns what a scene has seen, and resets it.
fn seen(scene: &Scene) -> (Vec<Begun>, BTreeSet<UnitKey>) {
    let begun = std::mem::take(&mut *scene.begun.lock().expect("no stream has panicked"));
    let committed = std::mem::take(&mut *scene.committed.lock().expect("no stream has panicked"));
    (begun, committed.into_iter().collect())
}

#[test]
fn any_layout_loads_each_row_once() {
    for (name, lay_out) in LAYOUTS {
        for streams in [1, 3] {
            let files = Files::new(true);
            let scene = laid_out::set(files.path(), scene(lay_out));
            let report = files
                .run(streams)
                .unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
            assert!(files.loaded() == files.rows, "{name}, {streams} streams");
            assert_eq!(report.account.rows_loaded, files.rows.len() as u64);
            assert!(report.units.iter().all(|unit| unit.finished), "{name}");
            assert_parts(name, &scene, &report);
        }
    }
}

/// Asserts that the destination is told which records belong to one unit, and which partition the unit becomes.
fn assert_parts(name: &str, scene: &Arc<Scene>, report: &RunReport) {
    let (begun, committed) = seen(scene);
    assert_eq!(
        begun.len(),
        committed.len(),
        "{name}: a key for each record"
    );
    let mut partitions: BTreeMap<UnitKey, PublishesInto> = BTreeMap::new();
    for Begun {
        record,
        unit,
        publishes_into,
        ..
    } in begun
    {
        assert!(record.as_str().starts_with(unit.as_str()), "{name}");
        let known = partitions
            .entry(unit)
            .or_insert_with(|| publishes_into.clone());
        assert_eq!(*known, publishes_into, "{name}");
    }
    assert_eq!(partitions.len(), report.units.len(), "{name}");
    if name == "partitions" {
        let mut names: Vec<String> = partitions.values().map(ToString::to_string).collect();
        names.sort();
        let expected = ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv.gz"];
        assert_eq!(names, expected.map(|name| format!("partition {name:?}")));
    }
}

#[test]
fn what_is_committed_is_kept_by_any_number_of_streams() {
    let mut stopped = 0;
    for (name, lay_out) in LAYOUTS {
        for (commits, streams, then) in [(1, 1, 3), (2, 3, 1), (4, 3, 2)] {
            let case = format!("{name}, {commits} commits by {streams} streams, then {then}");
            let files = Files::new(true);
            let scene = laid_out::set(files.path(), scene(lay_out));
            scene.commits_left.store(commits, Ordering::SeqCst);
            if files.run(streams).is_ok() {
                // The run succeeds only if it has no more records than commits were allowed.
                assert!(seen(&scene).1.len() <= commits, "{case}");
                continue;
            }
            stopped += 1;
            let (_, before) = seen(&scene);
            assert_eq!(before.len(), commits, "{case}");
            scene.commits_left.store(usize::MAX, Ordering::SeqCst);
            let report = files
                .run(then)
                .unwrap_or_else(|failure| panic!("{case}: {failure:?}"));
            assert!(report.resumed, "{case}");
            assert!(files.loaded() == files.rows, "{case}");
            let (_, after) = seen(&scene);
            assert!(before.is_disjoint(&after), "{case}: {before:?} {after:?}");
            let account = report.account;
            assert_eq!(account.rows_loaded, files.rows.len() as u64, "{case}");
            assert!(report.units.iter().all(|unit| unit.finished), "{case}");
            // Nothing is left to do.
            files
                .run(1)
                .unwrap_or_else(|failure| panic!("{case}: {failure:?}"));
            assert_eq!(seen(&scene).0, [], "{case}");
        }
    }
    assert!(stopped > 2 * LAYOUTS.len(), "{stopped} loads were stopped");
}

#[test]
fn a_run_that_fails_leaves_no_transaction_open() {
    let files = Files::new(true);
    let scene = laid_out::set(files.path(), scene(one_stream_each_pair));
    scene.commits_left.store(1, Ordering::SeqCst);
    files.run(1).expect_err("the second commit fails");
    let (begun, committed) = seen(&scene);
    assert_eq!((begun.len(), committed.len()), (2, 1));
    assert_eq!(scene.open.load(Ordering::SeqCst), 0);
}

#[test]
fn units_are_loaded_again_one_by_one_if_the_target_refuses_a_row() {
    for (name, lay_out) in LAYOUTS.into_iter().filter(|(name, _)| *name != "backwards") {
        let files = Files::new(true);
        let refusing = Scene {
            rejects_refused: true,
            refuses_publish: AtomicBool::new(true),
            ..scene(lay_out)
        };
        let scene = laid_out::set(files.path(), refusing);
        let report = files
            .run(3)
            .unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert!(files.loaded() == files.rows, "{name}");
        assert_eq!(report.account.rows_loaded, files.rows.len() as u64);
        assert!(
            report
                .units
                .iter()
                .all(|unit| unit.finished && unit.careful),
            "{name}"
        );
        let (begun, _) = seen(&scene);
        let careful = begun.iter().filter(|it| it.method == LoadMethod::Careful);
        let careful: Vec<&Begun> = careful.collect();
        assert_eq!(careful.len(), report.units.len(), "{name}");
        assert!(careful.iter().all(|it| it.record == it.unit), "{name}");
    }
}

/// A layout that changes from run to run, which D-39 forbids: the rows are right in the end, but nothing of the first
/// attempt is kept.
#[test]
fn a_layout_that_changes_from_run_to_run_keeps_nothing() {
    let files = Files::new(false);
    let calls = AtomicUsize::new(0);
    let scene = laid_out::set(
        files.path(),
        scene(move |splits| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => pairs(splits, Filling::OneStream),
            _ => Layout::one_unit_each(splits.len(), Filling::OneStream, || PublishesInto::Target),
        }),
    );
    scene.commits_left.store(2, Ordering::SeqCst);
    assert!(files.run(1).is_err());
    scene.commits_left.store(usize::MAX, Ordering::SeqCst);
    let report = files.run(1).expect("the rest is loaded");
    assert!(files.loaded() == files.rows);
    assert!(report.units.iter().all(|unit| !unit.kept));
}

#[test]
fn a_layout_that_would_lose_rows_or_double_them_is_refused() {
    let lose: LayOut = |splits| Layout {
        units: vec![unit(1..splits.len(), Filling::OneStream)],
    };
    let double: LayOut = |splits| Layout {
        units: vec![
            unit(0..splits.len(), Filling::OneStream),
            unit([0], Filling::OneStream),
        ],
    };
    let invent: LayOut = |splits| Layout {
        units: vec![unit(0..=splits.len(), Filling::OneStream)],
    };
    let empty: LayOut = |splits| Layout {
        units: vec![
            unit(0..splits.len(), Filling::OneStream),
            unit([], Filling::OneStream),
        ],
    };
    for (lay_out, rejects_refused, expected) in [
        (lose, false, "is in no load unit"),
        (double, false, "would be loaded twice"),
        (invent, false, "but the flow has"),
        (empty, false, "load unit 2 has no split"),
        (backwards, true, "in the order of the splits"),
    ] {
        let files = Files::new(false);
        let scene = Scene {
            rejects_refused,
            ..scene(lay_out)
        };
        laid_out::set(files.path(), scene);
        let error = files.run(2).expect_err(expected).error;
        let (text, hint) = (error.to_string(), error.hint().unwrap_or_default());
        assert!(
            text.contains("flow `t`") && text.contains(expected),
            "{text}"
        );
        assert!(hint.contains("mistake in Inrush"), "{hint}");
        assert!(!files.path().join("lake").exists(), "nothing is made");
    }
}
