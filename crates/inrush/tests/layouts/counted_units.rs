//! A destination that counts the rows of each unit by itself: each count is compared with the ledger's record, also that of a unit
//! which a stopped run has committed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::laid_out::{self, Scene};
use super::{Files, one_stream_each_pair, scene};

fn counting(files: &Files) -> Arc<Scene> {
    let scene = laid_out::set(files.path(), scene(one_stream_each_pair));
    scene.counts_units.store(true, Ordering::SeqCst);
    scene
}

#[test]
fn units_that_are_counted_by_themselves_are_published() {
    let files = Files::new(false);
    let scene = counting(&files);
    scene.commits_left.store(1, Ordering::SeqCst);
    files.run(1).expect_err("it stops after a commit");
    scene.commits_left.store(usize::MAX, Ordering::SeqCst);
    let report = files.run(3).expect("the rest is loaded");
    assert!(report.resumed);
    for unit in &report.units {
        assert_eq!(unit.rows_counted, Some(unit.account.rows_loaded));
        assert!(unit.finished);
    }
    assert_eq!(report.units.iter().filter(|unit| unit.kept).count(), 1);
    assert!(files.loaded() == files.rows);
}

#[test]
fn a_unit_with_another_count_is_named_and_nothing_is_published() {
    let files = Files::new(false);
    let scene = counting(&files);
    scene.misses_a_row.store(true, Ordering::SeqCst);
    let error = files.run(2).expect_err("a row is missing").error;
    let text = error.to_string();
    assert!(text.contains("in the ledger"), "{text}");
    assert!(text.contains("unit "), "{text}");
    assert!(
        !files.path().join("lake").join("t").exists(),
        "nothing is published"
    );
    scene.misses_a_row.store(false, Ordering::SeqCst);
    files.run(2).expect("the rows are there");
    assert!(files.loaded() == files.rows);
}
