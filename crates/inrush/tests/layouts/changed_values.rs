//! A destination that stores another value than it was sent (clause D-42 of docs/specs/destination.md): counts of rows
//! do not show this, but the sums of the column do, even if a run that stopped had committed the unit.

use std::sync::atomic::Ordering;

use super::{Files, laid_out, one_stream_each_pair, scene};

fn changing(files: &Files) -> std::sync::Arc<laid_out::Scene> {
    let scene = laid_out::set(files.path(), scene(one_stream_each_pair));
    scene.changes_a_value.store(true, Ordering::SeqCst);
    scene
}

fn assert_found(files: &Files) {
    let error = files
        .run_verified(2, "sums")
        .expect_err("a value was changed")
        .error;
    let text = error.to_string();
    assert!(text.contains("column `id`, sum: "), "{text}");
    assert!(text.contains("nothing was switched"), "{text}");
    assert!(!text.contains("`note`"), "{text}");
    assert!(
        !files.path().join("lake").join("t").exists(),
        "nothing is published"
    );
}

#[test]
fn counts_do_not_find_a_changed_value() {
    let files = Files::new(false);
    changing(&files);
    files.run(2).expect("the number of rows is right");
    assert!(files.loaded() != files.rows);
}

#[test]
fn sums_find_a_changed_value() {
    let files = Files::new(true);
    changing(&files);
    assert_found(&files);
}

#[test]
fn sums_find_a_changed_value_of_a_kept_unit() {
    let files = Files::new(false);
    let scene = changing(&files);
    scene.commits_left.store(1, Ordering::SeqCst);
    assert!(
        files.run_verified(1, "sums").is_err(),
        "it stops after a commit"
    );
    assert!(!scene.changes_a_value.load(Ordering::SeqCst));
    scene.commits_left.store(usize::MAX, Ordering::SeqCst);
    assert_found(&files);
}

#[test]
fn rows_that_are_right_have_their_sums() {
    let files = Files::new(true);
    let scene = laid_out::set(files.path(), scene(one_stream_each_pair));
    scene.commits_left.store(1, Ordering::SeqCst);
    assert!(
        files.run_verified(1, "sums").is_err(),
        "it stops after a commit"
    );
    scene.commits_left.store(usize::MAX, Ordering::SeqCst);
    let report = files.run_verified(3, "sums").expect("the rest is loaded");
    assert!(report.resumed);
    assert!(files.loaded() == files.rows);
}

#[test]
fn a_destination_that_stops_within_a_batch_gets_its_rest() {
    let files = Files::new(false);
    let scene = laid_out::set(files.path(), scene(one_stream_each_pair));
    // No batch and no file has a multiple of seven rows.
    scene.rows_at_once.store(7, Ordering::SeqCst);
    files
        .run_verified(2, "sums")
        .expect("the sums are those of the rows that were taken");
    assert!(files.loaded() == files.rows);
}
