//! Tests of whole tables: create, append, replace, tables of other programs, unusual names.

use super::*;
use inrush_rows::ids::RunId;

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
    let ids: Vec<RunId> = destination
        .runs(None)
        .unwrap()
        .iter()
        .map(|run| run.record.run_id)
        .collect();
    assert_eq!(ids, [1, 2, 3].map(RunId::new));
    let run = &destination.runs(Some(&RunKey::new("first"))).unwrap()[0].record;
    let units = units(destination.as_ref(), run);
    let first = plan(WriteMode::Create);
    assert_eq!(units, [unit(&first, 0, 3), unit(&first, 1, 2)]);
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
    // A run with rows may still create the table, and the file without rows is removed.
    lake.load(&whole, "again", &[numbers(0..2)]);
    assert_eq!(
        lake.rows("whole", &numbers([]).schema()),
        expected(&[numbers(0..2)])
    );
    assert_eq!(lake.files("whole").len(), 1);
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
        obstacle().contains("do not have the same columns: column 1 is"),
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
            "column \"n\" is integer in the table, but bigint in the load",
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
    // A table is not a schema, and a schema is not a table.
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
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    let record = unit(&plan, 0, 60_000);
    stream
        .begin(&UnitPart::whole(0, &record.key), LoadMethod::Quick)
        .unwrap();
    for from in 0..60 {
        stream
            .write(&numbers(from * 1000..from * 1000 + 1000), u64::MAX)
            .unwrap();
    }
    assert_eq!(stream.commit(&record).unwrap(), 60_000);
    drop(stream);
    run.publish(&|_| {}, &mut NoSource).unwrap();
    assert!(lake.files("numbers").len() > 3);
    assert_eq!(
        lake.rows("numbers", &numbers([]).schema()),
        expected(&[numbers(0..60_000)])
    );
}
