//! Two commands with the same package at the same time: while one plans, the other loads everything. The rows are loaded
//! once, even though the first command has read the ledger before the other one loads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use inrush::report::Outcome;
use inrush::{RunOptions, open_files};
use inrush_destination::Filling;
use inrush_engine::driver::Driver;

use super::laid_out::{self, open};
use super::{Files, Row, package_text, pairs, parsed, scene};

/// Adds the rows of all files to the table, and returns the outcome.
fn append(folder: &Path) -> Outcome {
    let options = RunOptions {
        folder: folder.to_owned(),
        runs_folder: folder.join("runs"),
        open_sources: &open_files,
        ..RunOptions::default()
    };
    let package = parsed(&package_text("appending", "append", 2, "count"));
    let ended = Driver::of_contract(open).run(&package, &options);
    ended.expect("it is loaded").report.outcome
}

#[test]
fn a_run_that_ends_while_another_is_planned_is_not_repeated() {
    // A plan reads the runs of its package once. The runs are read again under the lock, and then the other run is
    // found.
    let files = Files::new(false);
    let scene = laid_out::set(
        files.path(),
        scene(|splits| pairs(splits, Filling::OneStream)),
    );
    files.run(2).expect("the table is made");
    let folder: PathBuf = files.path().to_owned();
    let others = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&others);
    let meanwhile = move || {
        // The other command has its own thread, because a runtime cannot start within another one.
        let other = thread::spawn(move || append(&folder));
        assert_eq!(other.join().expect("no panic"), Outcome::Loaded);
        counted.fetch_add(1, Ordering::SeqCst);
    };
    *scene.meanwhile.lock().expect("nobody has it") = Some(Box::new(meanwhile));
    let outcome = append(files.path());
    assert_eq!(others.load(Ordering::SeqCst), 1, "the other run has ended");
    assert_eq!(outcome, Outcome::AlreadyLoaded);
    let mut twice: Vec<Row> = [files.rows.clone(), files.rows.clone()].concat();
    twice.sort();
    assert!(files.loaded() == twice, "the rows were made and added once");
}
