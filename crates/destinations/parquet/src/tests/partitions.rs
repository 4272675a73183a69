//! Tests of tables with partitions.

use super::*;

/// Rows of a partitioned table, sorted, as [`Lake::rows`] returns them.
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

#[test]
fn partitions_are_folders_and_replaced_alone() {
    let lake = Lake::new();
    let destination = lake.open();
    let plan = |mode| TargetPlan {
        partition_by: vec!["k".to_owned()],
        bounds: Vec::new(),
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
    let published = run.publish(&|_| {}, &mut NoSource).unwrap();
    assert_eq!(published.rows, [Some(6)]);
    let expected = [null, "k=a", "k=new"].map(|name| name.to_owned().into());
    assert_eq!(published.partitions[&0], expected);
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
    // Some rows of the first run remain.
    assert_eq!(
        destination.runs(Some(&RunKey::new("first"))).unwrap()[0].gone,
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
    assert_eq!(
        destination.runs(Some(&RunKey::new("first"))).unwrap()[0].gone,
        ["parted"]
    );

    let other = TargetPlan {
        partition_by: Vec::new(),
        bounds: Vec::new(),
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
        bounds: Vec::new(),
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
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    let record = unit(&plan, 0, 2);
    stream
        .begin(&UnitPart::whole(0, &record.key), LoadMethod::Quick)
        .unwrap();
    let misfits = stream.write(&rows, u64::MAX).unwrap().misfits;
    let places: Vec<(usize, usize)> = misfits.iter().map(|it| (it.row, it.column)).collect();
    assert_eq!(places, [(1, 0), (2, 0)]);
    assert_eq!(stream.commit(&record).unwrap(), 2);
    drop(stream);
    run.publish(&|_| {}, &mut NoSource).unwrap();
    let schema = Schema::new(vec![Field::new("n", DataType::Int32, true)]);
    assert_eq!(
        lake.rows("parted", &schema),
        parted(&[("k=a", 1), ("k=b", 4)])
    );
}

#[test]
fn very_many_partitions_keep_all_rows() {
    let lake = Lake::with(&[("row_group_rows", "7"), ("partition_buffer_bytes", "65536")]);
    let destination = lake.open();
    let plan = TargetPlan {
        partition_by: vec!["k".to_owned()],
        bounds: Vec::new(),
        ..plan(
            destination.as_ref(),
            "parted",
            &[("k", "bigint"), ("n", "integer")],
            WriteMode::Create,
        )
    };
    // There are more partitions than files that may be open, and each batch has rows of every partition.
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
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    let record = unit(&plan, 0, 4 * rows as u64);
    stream
        .begin(&UnitPart::whole(0, &record.key), LoadMethod::Quick)
        .unwrap();
    for batch in &batches {
        assert_eq!(
            stream.write(batch, u64::MAX).unwrap(),
            inrush_destination::Written::default()
        );
    }
    assert_eq!(stream.commit(&record).unwrap(), 4 * rows as u64);
    drop(stream);
    run.publish(&|_| {}, &mut NoSource).unwrap();
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
