//! Runs that are stopped anywhere, and resumed.

use super::*;
use inrush_rows::ids::RunId;

#[test]
fn a_stopped_run_keeps_its_units() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("key", None), std::slice::from_ref(&plan))
        .unwrap();
    fill(run.as_ref(), 0, &plan, &[numbers(0..3), numbers(3..6)]);
    assert_eq!(run.staged_rows().unwrap(), StagedRows::OfTargets(vec![6]));
    {
        // A unit that is open when the process ends.
        let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
        stream
            .begin(
                &UnitPart::whole(0, &UnitKey::new("unfinished")),
                LoadMethod::Quick,
            )
            .unwrap();
        stream.write(&numbers(0..20_000), u64::MAX).unwrap();
    }
    // Another process finds the run locked, although no process with this name is on this machine.
    let other = lake.open();
    let seen = other.runs(None).unwrap();
    assert_eq!(other.is_held(&seen[0].record).unwrap(), Some(true));
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

    let stopped = destination.runs(Some(&RunKey::new("key"))).unwrap();
    assert_eq!(stopped[0].record.state, RunState::Loading);
    assert_eq!(other.is_held(&stopped[0].record).unwrap(), Some(false));
    assert_eq!(units(destination.as_ref(), &stopped[0].record).len(), 2);
    let id = stopped[0].record.run_id;
    let run = destination
        .begin(&new_run("key", Some(id)), std::slice::from_ref(&plan))
        .unwrap();
    assert_eq!(run.record().epoch, 2);
    assert_eq!(
        units(destination.as_ref(), run.record()),
        [unit(&plan, 0, 3), unit(&plan, 1, 3)]
    );
    let staged = all_files(&lake.path("_inrush/staging"));
    assert_eq!(staged.len(), 4, "{staged:?}");
    assert_eq!(
        run.forget(&["numbers 1", "never"].map(UnitKey::new))
            .unwrap(),
        ["numbers 1"].map(UnitKey::new)
    );
    assert_eq!(run.staged_rows().unwrap(), StagedRows::OfTargets(vec![3]));
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    stream
        .begin(
            &UnitPart::whole(0, &UnitKey::new("numbers 1")),
            LoadMethod::Quick,
        )
        .unwrap();
    stream.write(&numbers(50..60), u64::MAX).unwrap();
    stream.abort().unwrap();
    stream
        .begin(
            &UnitPart::whole(0, &UnitKey::new("numbers 1")),
            LoadMethod::Quick,
        )
        .unwrap();
    stream.write(&numbers(30..34), u64::MAX).unwrap();
    stream.commit(&unit(&plan, 1, 4)).unwrap();
    drop(stream);
    run.publish(&|_| {}, &mut NoSource).unwrap();
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
    assert_eq!(units(destination.as_ref(), run.record()).len(), 1);
    drop(run);
    let reshaped = TargetPlan {
        shape: "another".to_owned(),
        ..plan
    };
    let run = destination
        .begin(&new_run("key", Some(id)), &[reshaped])
        .unwrap();
    assert_eq!(units(destination.as_ref(), run.record()), []);
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
                let reached = |step: PublishStep| {
                    let mut counts = counts.borrow_mut();
                    let count = counts.entry(format!("{step:?}")).or_default();
                    *count += 1;
                    assert_ne!(format!("{step:?} {count}"), crash);
                };
                run.publish(&reached, &mut NoSource)
            }));
            assert!(ended.is_err(), "{mode:?} {crash}");
            drop(run);

            let destination = lake.open();
            let past = destination
                .runs(Some(&RunKey::new("key")))
                .unwrap()
                .remove(0);
            let all = [numbers(10..13), numbers(20..23)].map(|new| match mode {
                WriteMode::Append => expected(&[numbers(0..2), new]),
                _ => expected(&[new]),
            });
            // The next process that opens the folder finishes a run that is in one of its tables.
            if ["Committed 1", "BeforeCommit 2", "Committed 2"].contains(&crash) {
                assert_eq!(past.record.state, RunState::Switched, "{mode:?} {crash}");
                assert_eq!(past.gone, Vec::<String>::new());
                assert_eq!(units(destination.as_ref(), &past.record).len(), 2);
            } else {
                assert_eq!(past.record.state, RunState::Loading, "{mode:?} {crash}");
                let run = destination
                    .begin(&new_run("key", Some(id)), &plans)
                    .unwrap();
                let kept = units(destination.as_ref(), run.record());
                assert_eq!(kept.len(), 2, "{mode:?} {crash}");
                let published = run.publish(&|_| {}, &mut NoSource).unwrap();
                assert_eq!(
                    published.rows,
                    all.each_ref().map(|rows| Some(rows.len() as u64))
                );
                assert!(run.is_switched().unwrap());
            }
            for (table, rows) in ["left", "right"].into_iter().zip(&all) {
                assert_eq!(lake.rows(table, &schema), *rows, "{mode:?} {crash} {table}");
            }
            let past = destination
                .runs(Some(&RunKey::new("key")))
                .unwrap()
                .remove(0);
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
        destination
            .runs(Some(&RunKey::new("key")))
            .unwrap()
            .remove(0)
    };
    let held = destination
        .discard(&past(destination.as_ref()))
        .unwrap_err();
    assert!(matches!(held, Error::Held { .. }));
    drop(run);
    destination.discard(&past(destination.as_ref())).unwrap();
    let discarded = past(destination.as_ref());
    assert_eq!(discarded.record.state, RunState::Discarded);
    assert_eq!(units(destination.as_ref(), &discarded.record), []);
    assert_eq!(
        all_files(&lake.path("_inrush/staging")),
        Vec::<PathBuf>::new()
    );
    let refused = destination
        .begin(
            &new_run("key", Some(RunId::FIRST)),
            std::slice::from_ref(&plan),
        )
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
fn an_interrupted_run_ends_soon() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = plan(destination.as_ref(), "numbers", &NUMBERS, WriteMode::Create);
    let run = destination
        .begin(&new_run("k", None), std::slice::from_ref(&plan))
        .unwrap();
    fill(run.as_ref(), 0, &plan, &[numbers(0..3)]);
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    stream
        .begin(&UnitPart::whole(0, &UnitKey::new("x")), LoadMethod::Quick)
        .unwrap();
    run.cancel_handle().cancel();
    assert!(matches!(
        stream.write(&numbers(0..1), u64::MAX).unwrap_err(),
        Error::Interrupted
    ));
    stream.abort().unwrap();
    drop(stream);
    assert!(matches!(
        run.publish(&|_| {}, &mut NoSource).unwrap_err(),
        Error::Interrupted
    ));
    assert!(!run.is_switched().unwrap());
}
