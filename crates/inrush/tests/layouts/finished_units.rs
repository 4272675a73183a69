//! A unit that several streams fill is finished once all of its records are committed. A process that resumes the run
//! finishes such units, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use inrush_rows::ids::UnitKey;

use super::laid_out::{self, Scene, UnitStep};
use super::{Files, LAYOUTS, all_in_one_unit, scene, seen};

/// The units that were finished. Fails unless each is finished once, after its last record, and before rows are counted.
fn finished(name: &str, scene: &Arc<Scene>) -> BTreeSet<UnitKey> {
    let steps = std::mem::take(&mut *scene.steps.lock().expect("no stream has panicked"));
    let mut finished = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        if let UnitStep::Finished(unit) = step {
            assert_eq!(finished.insert(unit.clone(), at), None, "{name}: {steps:?}");
        }
    }
    let counted = steps.iter().position(|step| *step == UnitStep::Counted);
    for (unit, at) in &finished {
        let is_later = |other: &UnitStep| match other {
            UnitStep::Committed(record) => record.as_str().starts_with(unit.as_str()),
            _ => false,
        };
        assert!(!steps[*at..].iter().any(is_later), "{name}: {steps:?}");
        assert!(
            counted.is_none_or(|counted| *at < counted),
            "{name}: {steps:?}"
        );
    }
    finished.into_keys().collect()
}

#[test]
fn units_of_several_records_are_finished_once() {
    let mut shared = 0;
    for (name, lay_out) in LAYOUTS {
        for streams in [1, 3] {
            let files = Files::new(true);
            let scene = laid_out::set(files.path(), scene(lay_out));
            let report = files.run(streams);
            assert!(report.is_ok(), "{name}: {report:?}");
            let (begun, _) = seen(&scene);
            let in_parts = begun.iter().filter(|it| it.record != it.unit);
            let in_parts: BTreeSet<UnitKey> = in_parts.map(|it| it.unit.clone()).collect();
            assert_eq!(
                finished(name, &scene),
                in_parts,
                "{name}, {streams} streams"
            );
            shared += in_parts.len();
        }
    }
    assert!(shared > 2, "no layout had such units");
}

#[test]
fn a_run_that_stopped_before_a_unit_was_finished_finishes_it() {
    let files = Files::new(true);
    let scene = laid_out::set(files.path(), scene(all_in_one_unit));
    scene.finishes_left.store(0, Ordering::SeqCst);
    let failure = files.run(3).expect_err("the unit is not finished");
    assert!(
        failure.error.to_string().contains("finishing a unit"),
        "{failure:?}"
    );
    let (_, committed) = seen(&scene);
    assert!(committed.len() > 2, "{committed:?}");
    assert_eq!(finished("stopped", &scene), BTreeSet::new());

    // The second attempt fails as well, and no record is lost.
    let again = files.run(1).expect_err("the unit is not finished");
    assert!(
        again.error.to_string().contains("finishing a unit"),
        "{again:?}"
    );
    scene.finishes_left.store(usize::MAX, Ordering::SeqCst);
    let report = files.run(2).expect("all is loaded");
    assert_eq!(finished("resumed", &scene).len(), 1);
    let (_, more) = seen(&scene);
    assert!(more.is_empty(), "{more:?}");
    assert!(report.units.iter().all(|unit| unit.kept && unit.finished));
    assert!(files.loaded() == files.rows);
}
