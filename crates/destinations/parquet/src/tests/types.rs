//! Every type, and values that files cannot hold.

use super::*;

#[test]
fn every_type_is_read_back_with_its_extremes() {
    let lake = Lake::new();
    let destination = lake.open();
    let interval = StructArray::new(
        interval_fields(),
        vec![
            Arc::new(Int32Array::from(vec![i32::MIN, 0, 3])),
            Arc::new(Int32Array::from(vec![i32::MAX, 0, 2])),
            Arc::new(Int64Array::from(vec![i64::MIN, 0, 1])),
        ],
        Some(vec![true, false, true].into()),
    );
    let decimal = |precision: u8, scale: i8| -> ArrayRef {
        let largest = 10i128.pow(u32::from(precision)) - 1;
        let values = Decimal128Array::from(vec![Some(largest), None, Some(-largest)]);
        Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
    };
    let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
        [Some([0u8; 16]), None, Some([255u8; 16])].into_iter(),
        16,
    )
    .unwrap();
    let timestamps = || {
        PrimitiveArray::<TimestampMicrosecondType>::from(vec![
            Some(timestamp::MIN),
            None,
            Some(i64::MAX),
        ])
    };
    let columns: Vec<(&str, &str, ArrayRef)> = vec![
        (
            "b",
            "boolean",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        (
            "i2",
            "smallint",
            Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)])),
        ),
        (
            "i4",
            "integer",
            Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)])),
        ),
        (
            "i8",
            "bigint",
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)])),
        ),
        (
            "f4",
            "real",
            Arc::new(Float32Array::from(vec![
                Some(f32::NAN),
                None,
                Some(f32::MIN),
            ])),
        ),
        (
            "f8",
            "double",
            Arc::new(Float64Array::from(vec![
                Some(-0.0),
                None,
                Some(f64::INFINITY),
            ])),
        ),
        ("d1", "numeric(1,0)", decimal(1, 0)),
        ("d9", "numeric(9,2)", decimal(9, 2)),
        ("d18", "numeric(18,18)", decimal(18, 18)),
        ("d38", "numeric(38,10)", decimal(38, 10)),
        (
            "t",
            "text",
            Arc::new(StringViewArray::from(vec![
                Some(""),
                None,
                Some("Ünï \0 \u{10FFFF} longer than a view"),
            ])),
        ),
        (
            "v",
            "varchar(3)",
            Arc::new(StringViewArray::from(vec![Some("abc"), None, Some("")])),
        ),
        (
            "c",
            "char(3)",
            Arc::new(StringViewArray::from(vec![Some("a"), None, Some("abc")])),
        ),
        (
            "j",
            "json",
            Arc::new(StringViewArray::from(vec![
                Some("{\"a\": 1}"),
                None,
                Some("null"),
            ])),
        ),
        (
            "x",
            "bytea",
            Arc::new(BinaryViewArray::from(vec![
                Some(&b""[..]),
                None,
                Some(&b"\0\xff"[..]),
            ])),
        ),
        (
            "day",
            "date",
            Arc::new(PrimitiveArray::<Date32Type>::from(vec![
                Some(i32::MIN + 1),
                None,
                Some(i32::MAX - 1),
            ])),
        ),
        (
            "clock",
            "time",
            Arc::new(PrimitiveArray::<Time64MicrosecondType>::from(vec![
                Some(0),
                None,
                Some(86_399_999_999),
            ])),
        ),
        ("ts", "timestamp", Arc::new(timestamps())),
        (
            "tz",
            "timestamptz",
            Arc::new(timestamps().with_timezone("UTC")),
        ),
        ("iv", "interval", Arc::new(interval)),
        ("u", "uuid", Arc::new(uuids)),
    ];
    let named: Vec<(&str, &str)> = columns.iter().map(|(name, sql, _)| (*name, *sql)).collect();
    let batch = batch(
        columns
            .iter()
            .map(|(name, _, array)| (*name, array.clone()))
            .collect(),
    );
    for encodings in ["delta", "plain"] {
        let lake = Lake::with(&[("encodings", encodings), ("bloom_filters", "t,u,i8,b")]);
        let plan = plan(destination.as_ref(), "types", &named, WriteMode::Create);
        lake.load(&plan, "types", std::slice::from_ref(&batch));
        let read = lake.read("types", &batch.schema());
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].1, std::slice::from_ref(&batch));
        let facts = lake.open().target(&plan.name).unwrap().unwrap();
        assert_eq!(facts.obstacle, None);
        assert!(facts.has_rows);
        let seen: Vec<_> = facts
            .columns
            .iter()
            .map(|column| {
                (
                    column.name.as_str(),
                    column.column_type.clone().unwrap(),
                    column.not_null,
                )
            })
            .collect();
        let planned: Vec<_> = plan
            .columns
            .iter()
            .map(|column| (column.name.as_str(), column.column_type.clone(), false))
            .collect();
        assert_eq!(seen, planned);
    }
}

#[test]
fn json_that_its_readers_refuse_comes_back() {
    let lake = Lake::new();
    let destination = lake.open();
    let columns = [("doc", "json"), ("note", "text")];
    let plan = plan(
        destination.as_ref(),
        "documents",
        &columns,
        WriteMode::Create,
    );
    let documents = [
        Some(r#"{"a":"\ud83d\ude00"}"#),
        Some(r#"{"a":"\ud800"}"#),
        None,
        Some(r#""\u0000 \\ud800""#),
        Some(r#"{"\udc00":1}"#),
    ];
    let of = |documents: Vec<Option<&str>>| {
        let documents: ArrayRef = Arc::new(StringViewArray::from(documents));
        // The text is not JSON, so it stays text.
        batch(vec![("doc", documents.clone()), ("note", documents)])
    };
    let run = destination
        .begin(&new_run("documents", None), std::slice::from_ref(&plan))
        .unwrap();
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    stream
        .begin(
            &UnitPart::whole(0, &UnitKey::new("documents 0")),
            LoadMethod::Quick,
        )
        .unwrap();
    let misfits = stream
        .write(&of(documents.to_vec()), u64::MAX)
        .unwrap()
        .misfits;
    let places: Vec<(usize, usize)> = misfits.iter().map(|it| (it.row, it.column)).collect();
    assert_eq!(places, [(1, 0), (4, 0)]);
    let reason = &misfits[0].reason;
    assert!(reason.contains("\\ud800 after 6 bytes"), "{reason}");
}

#[test]
fn values_without_a_counterpart_come_back() {
    let lake = Lake::new();
    let destination = lake.open();
    let columns = [
        ("n", "integer not null"),
        ("day", "date"),
        ("clock", "time"),
        ("ts", "timestamp"),
    ];
    let plan = plan(destination.as_ref(), "misfits", &columns, WriteMode::Create);
    let of = |rows: &[(Option<i32>, i32, i64, i64)]| {
        let days = rows.iter().map(|row| Some(row.1));
        let clocks = rows.iter().map(|row| Some(row.2));
        let stamps = rows.iter().map(|row| Some(row.3));
        batch(vec![
            (
                "n",
                Arc::new(PrimitiveArray::<Int32Type>::from_iter(
                    rows.iter().map(|row| row.0),
                )) as ArrayRef,
            ),
            (
                "day",
                Arc::new(PrimitiveArray::<Date32Type>::from_iter(days)),
            ),
            (
                "clock",
                Arc::new(PrimitiveArray::<Time64MicrosecondType>::from_iter(clocks)),
            ),
            (
                "ts",
                Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_iter(
                    stamps,
                )),
            ),
        ])
    };
    let rows = of(&[
        (Some(0), 0, 0, 0),
        (None, i32::MAX, 0, 0),
        (Some(2), i32::MIN, 0, 0),
        (Some(3), 0, 86_400_000_000, 0),
        (Some(4), 0, 0, timestamp::INFINITY),
        (Some(5), 0, 0, timestamp::MINUS_INFINITY),
        (Some(6), 0, 0, timestamp::MAX),
        (Some(7), 0, 0, i64::MAX),
    ]);
    let run = destination
        .begin(&new_run("misfits", None), std::slice::from_ref(&plan))
        .unwrap();
    let mut stream = run.open_stream(&StreamSetup::alone()).unwrap();
    stream
        .begin(
            &UnitPart::whole(0, &UnitKey::new("misfits 0")),
            LoadMethod::Quick,
        )
        .unwrap();
    let misfits = stream.write(&rows, u64::MAX).unwrap().misfits;
    let places: Vec<(usize, usize)> = misfits.iter().map(|it| (it.row, it.column)).collect();
    assert_eq!(places, [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3), (6, 3)]);
    assert!(
        misfits[5].reason.contains("294247"),
        "{}",
        misfits[5].reason
    );
    assert!(stream.commit(&unit(&plan, 9, 2)).is_err());
    stream
        .begin(
            &UnitPart::whole(0, &UnitKey::new("misfits 0")),
            LoadMethod::Quick,
        )
        .unwrap();
    stream.write(&rows, u64::MAX).unwrap();
    let record = UnitRecord {
        key: UnitKey::new("misfits 0"),
        ..unit(&plan, 0, 2)
    };
    assert_eq!(stream.commit(&record).unwrap(), 2);
    drop(stream);
    run.publish(&|_| {}, &mut NoSource).unwrap();
    let kept = of(&[(Some(0), 0, 0, 0), (Some(7), 0, 0, i64::MAX)]);
    let required = Schema::new(vec![
        Field::new("n", DataType::Int32, false),
        kept.schema().field(1).clone(),
        kept.schema().field(2).clone(),
        kept.schema().field(3).clone(),
    ]);
    assert_eq!(lake.rows("misfits", &required), expected(&[kept]));
}
