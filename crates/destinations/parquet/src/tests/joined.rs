//! Runs that several processes load: one holds the lock, and others have joined.

use super::*;

fn created(lake: &dyn Destination) -> TargetPlan {
    plan(lake, "numbers", &NUMBERS, WriteMode::Create)
}

fn begun(lake: &dyn Destination, takes_over: Option<RunId>) -> Box<dyn OpenRun> {
    lake.begin(&new_run("key", takes_over), &[created(lake)])
        .unwrap()
}

fn joined(lake: &dyn Destination, record: &RunRecord) -> Result<Box<dyn OpenRun>, Error> {
    lake.join(record, &[created(lake)], "process 2 on host b")
}

/// Commits numbers as the unit with this number.
fn commit(run: &dyn OpenRun, number: usize, batch: &RecordBatch) -> Result<u64, Error> {
    let plan = created(Lake::new().open().as_ref());
    let mut stream = run.open_stream(&StreamSetup::alone())?;
    let record = unit(&plan, number, batch.num_rows() as u64);
    stream.begin(&UnitPart::whole(0, &record.key), LoadMethod::Quick)?;
    stream.write(batch, u64::MAX)?;
    stream.commit(&record)
}

#[track_caller]
fn assert_shut_out<T>(result: Result<T, Error>, words: &str) {
    match result.err() {
        Some(error @ Error::ShutOut { .. }) => {
            assert!(error.to_string().contains(words), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn units_of_several_processes_are_published_together() {
    let lake = Lake::new();
    let held = lake.open();
    let run = begun(held.as_ref(), None);
    // Each process has opened the folder by itself.
    let others: Vec<Box<dyn Destination>> = (0..2).map(|_| lake.open()).collect();
    for (number, other) in others.iter().enumerate() {
        let own = joined(other.as_ref(), run.record()).unwrap();
        let first = 10 * number as i32;
        commit(own.as_ref(), number, &numbers(first..first + 3)).unwrap();
    }
    commit(run.as_ref(), 2, &numbers(20..23)).unwrap();
    run.shut_out().unwrap();
    assert_eq!(run.staged_rows().unwrap(), StagedRows::OfTargets(vec![9]));
    run.publish(&|_| {}, &mut NoSource).unwrap();
    let expected = expected(&[numbers(0..3), numbers(10..13), numbers(20..23)]);
    assert_eq!(lake.rows("numbers", &numbers([]).schema()), expected);
    assert_eq!(
        all_files(&lake.path("_inrush/staging")),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_process_that_joined_leaves_the_work_of_others_alone() {
    let lake = Lake::new();
    let held = lake.open();
    let run = begun(held.as_ref(), None);
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    let plan = created(held.as_ref());
    let record = unit(&plan, 0, 3);
    stream
        .begin(&UnitPart::whole(0, &record.key), LoadMethod::Quick)
        .unwrap();
    stream.write(&numbers(0..3), u64::MAX).unwrap();
    let other = lake.open();
    let own = joined(other.as_ref(), run.record()).unwrap();
    assert!(matches!(own.forget(&[]), Err(Error::Refused { .. })));
    assert!(matches!(
        own.publish(&|_| {}, &mut NoSource),
        Err(Error::Refused { .. })
    ));
    assert!(matches!(own.shut_out(), Err(Error::Refused { .. })));
    drop(own);
    assert_eq!(stream.commit(&record).unwrap(), 3);
}

#[test]
fn nothing_is_committed_once_the_run_takes_no_more() {
    let lake = Lake::new();
    let held = lake.open();
    let run = begun(held.as_ref(), None);
    let record = run.record().clone();
    let other = lake.open();
    let own = joined(other.as_ref(), &record).unwrap();
    let plan = created(held.as_ref());
    // One unit is begun before the run is closed, and committed afterwards.
    let mut stream = own.open_stream(&StreamSetup::alone()).unwrap();
    let late = unit(&plan, 7, 3);
    stream
        .begin(&UnitPart::whole(0, &late.key), LoadMethod::Quick)
        .unwrap();
    stream.write(&numbers(0..3), u64::MAX).unwrap();
    run.shut_out().unwrap();
    assert_shut_out(stream.commit(&late), "takes no more units");
    assert_shut_out(
        commit(own.as_ref(), 1, &numbers(0..3)),
        "takes no more units",
    );
    assert_shut_out(joined(other.as_ref(), &record), "takes no more units");
    assert_eq!(units(held.as_ref(), &record), []);
    drop(run);

    // The run is open again for the next attempt, and closed to processes that joined the earlier attempt.
    let run = begun(held.as_ref(), Some(record.run_id));
    assert_shut_out(commit(own.as_ref(), 1, &numbers(0..3)), "was taken over");
    let next = joined(other.as_ref(), run.record()).unwrap();
    commit(next.as_ref(), 1, &numbers(0..3)).unwrap();
    run.publish(&|_| {}, &mut NoSource).unwrap();
    assert_shut_out(commit(next.as_ref(), 2, &numbers(0..3)), "is published");
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..3)])
    );
}

#[test]
fn a_run_of_other_tables_is_refused() {
    let lake = Lake::new();
    let held = lake.open();
    let run = begun(held.as_ref(), None);
    let other = plan(held.as_ref(), "numbers", &KEYED, WriteMode::Create);
    match held.join(run.record(), &[other], "process 2") {
        Err(Error::Unsuitable { what, .. }) => assert!(what.contains("another form"), "{what}"),
        other => panic!("{:?}", other.err()),
    }
    let unknown = RunRecord {
        run_id: run.record().run_id.next(),
        ..run.record().clone()
    };
    assert_shut_out(joined(held.as_ref(), &unknown), "does not exist");
    let another = RunRecord {
        name: RunName::new("another"),
        ..run.record().clone()
    };
    assert_shut_out(joined(held.as_ref(), &another), "is another run here");
}

/// A commit and a take-over at the same time: the commit is seen by the new attempt, or refused.
#[test]
fn a_commit_is_seen_or_refused() {
    for round in 0..20 {
        let lake = Lake::new();
        let held = lake.open();
        let run = begun(held.as_ref(), None);
        let record = run.record().clone();
        let own = joined(held.as_ref(), &record).unwrap();
        drop(run);
        let (committed, kept) = std::thread::scope(|scope| {
            let committing = scope.spawn(|| commit(own.as_ref(), 0, &numbers(0..3)));
            let run = begun(held.as_ref(), Some(record.run_id));
            let kept = units(held.as_ref(), run.record()).len();
            (committing.join().unwrap(), kept)
        });
        match committed {
            Ok(_) => assert_eq!(kept, 1, "round {round}"),
            Err(_) => assert_eq!(kept, 0, "round {round}"),
        }
        assert_eq!(units(held.as_ref(), &record).len(), kept, "round {round}");
    }
}
