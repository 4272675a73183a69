//! Tests that a package that is written and read back is the same.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_rows::column_policy::{DefaultFor, NanPolicy, NegativeForm, OnTruncate, Rounding, Trim};
use inrush_rows::compression::Compression;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        // Texts that TOML must escape, and texts that it must not.
        "[ -~\t\n\r\u{1}\u{7f}\u{e9}\u{1f600}\"'\\\\{}#=\\[\\]]{0,12}",
    ]
}

fn format() -> impl Strategy<Value = Format> {
    let basics = (
        option::of(select(vec![Preset::Tbl, Preset::Csv, Preset::Tsv])),
        option::of(text()),
        option::of(text()),
        option::of(text()),
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        option::of(1_024_u32..=1 << 30),
        option::of(select(vec![
            Compression::None,
            Compression::Gzip,
            Compression::Zstd,
            Compression::Bzip2,
            Compression::Xz,
            Compression::Zip,
        ])),
    );
    let lines = (
        option::of(text()),
        option::of(text()),
        option::of(0_u32..=1_000_000),
    );
    let nulls = (
        option::of(prop_oneof![
            text().prop_map(NullMarker::Text),
            vec(text(), 0..4).prop_map(NullMarker::Many),
            Just(NullMarker::Never(false))
        ]),
        option::of(any::<bool>()),
    );
    let ragged = (
        option::of(select(vec![TrimBlanks::None, TrimBlanks::Both])),
        option::of(select(vec![
            MissingFieldsRule::Reject,
            MissingFieldsRule::Null,
        ])),
        option::of(select(vec![
            ExtraFieldsRule::Reject,
            ExtraFieldsRule::Ignore,
        ])),
    );
    let length = || option::of(1_u32..=1 << 30);
    let fixed = (
        option::of(vec(vec(1_u32..=1 << 30, 0..3), 0..3)),
        option::of(select(vec![FixedUnit::Bytes, FixedUnit::Characters])),
        length(),
        length(),
    );
    let texts = (
        option::of(text()),
        option::of(text()),
        option::of(text()),
        option::of(any::<bool>()),
    );
    (basics, lines, nulls, ragged, fixed, texts).prop_map(
        |(
            (
                preset,
                delimiter,
                quote,
                escape,
                trailing_delimiter,
                header,
                record_bytes_max,
                compression,
            ),
            (terminator, comment, skip_lines),
            (null, null_quoted),
            (trim, missing_fields, extra_fields),
            (fixed, fixed_unit, record_length, record_bytes),
            (decimal_separator, group_separator, encoding, lossless),
        )| Format {
            preset,
            delimiter,
            quote,
            escape,
            terminator,
            comment,
            trailing_delimiter,
            skip_lines,
            header,
            null,
            null_quoted,
            decimal_separator,
            group_separator,
            lossless,
            trim,
            missing_fields,
            extra_fields,
            fixed,
            fixed_unit,
            record_length,
            record_bytes,
            record_bytes_max,
            compression,
            encoding,
        },
    )
}

fn column() -> impl Strategy<Value = ColumnSpec> {
    let texts = || vec(text(), 0..3);
    let base = (
        (text(), option::of(text()), any::<bool>()),
        option::of(prop_oneof![
            text().prop_map(OneOrMany::One),
            texts().prop_map(OneOrMany::Many)
        ]),
        option::of(text()),
        option::of(prop_oneof![
            text().prop_map(FieldChoice::Name),
            (1u32..=10_000).prop_map(FieldChoice::Number)
        ]),
        (any::<bool>(), any::<bool>()),
        option::of(select(vec![
            SourceWord::File,
            SourceWord::ByteOffset,
            SourceWord::LoadTime,
            SourceWord::Constant,
        ])),
        option::of(text()),
    );
    let policies = (
        option::of(1u16..=9_900),
        (
            option::of(text()),
            option::of(select(vec![DefaultFor::Missing, DefaultFor::Null])),
        ),
        (
            option::of(select(vec![Trim::None, Trim::Both])),
            any::<bool>(),
        ),
        option::of(prop_oneof![
            text().prop_map(ColumnNull::Text),
            texts().prop_map(ColumnNull::Texts),
            Just(ColumnNull::Never(false)),
        ]),
        (option::of(text()), option::of(text())),
        (
            option::of(select(vec![NegativeForm::Leading, NegativeForm::Trailing])),
            option::of(Just(NanPolicy::Null)),
        ),
        (option::of(texts()), option::of(texts())),
        (
            option::of(Just(OnTruncate::Truncate)),
            option::of(select(vec![Rounding::HalfUp, Rounding::HalfEven])),
            option::of(any::<bool>()),
        ),
    );
    let detail = (base, policies).prop_map(|(base, policies)| {
        let ((name, type_name, nullable), format, zone, field, (skip, load), source, value) = base;
        let (year_pivot, default, trim, null, separators, numbers, words, lossy) = policies;
        ColumnSpec::Long(Box::new(ColumnDetail {
            name,
            type_name,
            nullable,
            field,
            skip,
            load,
            source,
            value,
            format,
            zone,
            year_pivot,
            default: default.0,
            default_for: default.1,
            trim: trim.0,
            trim_quoted: trim.1,
            null,
            decimal_separator: separators.0,
            group_separator: separators.1,
            negative: numbers.0,
            nan: numbers.1,
            true_words: words.0,
            false_words: words.1,
            on_truncate: lossy.0,
            round: lossy.1,
            lossless: lossy.2,
        }))
    });
    prop_oneof![text().prop_map(ColumnSpec::Short), detail]
}

fn bound() -> impl Strategy<Value = BoundValue> {
    prop_oneof![
        any::<i64>().prop_map(BoundValue::Integer),
        text().prop_map(BoundValue::Text)
    ]
}

fn scd() -> impl Strategy<Value = Scd> {
    let names = (option::of(text()), option::of(text()), option::of(text()));
    (option::of(texts()), names).prop_map(|(track, (valid_from, valid_to, current))| Scd {
        track,
        valid_from,
        valid_to,
        current,
    })
}

fn replace() -> impl Strategy<Value = Replace> {
    let keep = prop_oneof![
        any::<bool>().prop_map(Keep::Whether),
        text().prop_map(Keep::Name)
    ];
    (
        select(vec![ReplaceScope::Table, ReplaceScope::Partitions]),
        select(vec![ReplaceBy::Swap, ReplaceBy::Rows]),
        keep,
    )
        .prop_map(|(scope, by, keep)| Replace { scope, by, keep })
}

fn texts() -> impl Strategy<Value = OneOrMany> {
    prop_oneof![
        text().prop_map(OneOrMany::One),
        vec(text(), 0..8).prop_map(OneOrMany::Many)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (
        option::of(btree_map(text(), text(), 0..4)),
        option::of(text()),
        option::of(text()),
        option::of(text()),
        option::of(select(vec![
            CheckElse::Reject,
            CheckElse::Warn,
            CheckElse::Fail,
        ])),
        option::of(any::<bool>()),
        lookup(),
        (
            option::of(vec(text(), 0..3)),
            option::of(1u64..1 << 40),
            option::of(unpivot()),
        ),
    )
        .prop_map(
            |(derive, filter, check, name, otherwise, load, lookup, distinct)| {
                let (lookup, on, fold, take, unmatched) = lookup;
                let (distinct_on, memory_bytes_max, unpivot) = distinct;
                Step {
                    derive,
                    filter,
                    check,
                    name,
                    otherwise,
                    load,
                    lookup,
                    on,
                    fold,
                    take,
                    unmatched,
                    distinct_on,
                    memory_bytes_max,
                    unpivot,
                }
            },
        )
}

fn unpivot() -> impl Strategy<Value = Unpivot> {
    (vec(text(), 0..3), text(), text()).prop_map(|(columns, name, value)| Unpivot {
        columns,
        name,
        value,
    })
}

type LookupSettings = (
    Option<Box<LookupSource>>,
    Option<BTreeMap<String, String>>,
    OneOrMany,
    Option<BTreeMap<String, String>>,
    Option<Unmatched>,
);

fn lookup() -> impl Strategy<Value = LookupSettings> {
    let source = (
        option::of(text()),
        option::of(text()),
        option::of(text()),
        option::of(text()),
        texts(),
        option::of(1u64..1 << 40),
    );
    let source = source.prop_map(|(connection, table, query, filter, files, memory)| {
        Box::new(LookupSource {
            connection,
            table,
            query,
            filter,
            files,
            format: Format::default(),
            columns: Vec::new(),
            first: memory.map(|memory| format!("c{memory} desc")),
            memory_bytes_max: memory,
        })
    });
    let unmatched = prop_oneof![
        Just(Unmatched::Word(UnmatchedWord::Reject)),
        Just(Unmatched::Word(UnmatchedWord::Null)),
        btree_map(text(), bound(), 0..3)
            .prop_map(|default| Unmatched::Default(UnmatchedDefault { default })),
    ];
    let columns = || option::of(btree_map(text(), text(), 0..3));
    (
        option::of(source.boxed()),
        columns(),
        prop_oneof![
            Just(OneOrMany::default()),
            Just(OneOrMany::One("case".to_owned())),
            Just(OneOrMany::Many(vec![
                "accents".to_owned(),
                "blanks".to_owned()
            ])),
        ],
        columns(),
        option::of(unmatched.boxed()),
    )
        .boxed()
}

/// The outputs of a flow as a run keeps them: each flow has its number.
fn outputs() -> impl Strategy<Value = (Vec<Output>, bool, Option<OutputElse>, Option<u32>)> {
    let output = (
        option::of(text()),
        text(),
        option::of(text()),
        option::of(vec(bound(), 0..3).prop_map(Bounds::List)),
        option::of(select(vec![Mode::Create, Mode::Upsert])),
        option::of(texts()),
        option::of(scd()),
        option::of(replace()),
    )
        .prop_map(
            |(when, table, partition_by, bounds, mode, key, scd, replace)| Output {
                when: when.filter(|text| !text.trim().is_empty()),
                table,
                partition_by,
                bounds,
                mode,
                key,
                scd,
                replace,
            },
        );
    // With `each`, any output may be without `when`.
    (vec(output.boxed(), 0..3), 1_u32..4).prop_map(|(outputs, number)| {
        let count = outputs.len() as u32;
        match count {
            0 => (outputs, false, None, None),
            _ => (outputs, true, None, Some(number.min(count))),
        }
    })
}

fn flow() -> impl Strategy<Value = Flow> {
    let bounds = prop_oneof![
        Just(Bounds::default()),
        bound().prop_map(|every| Bounds::Every(BoundsEvery { every })),
        vec(bound(), 0..8).prop_map(Bounds::List),
        (1_u32..=10_000).prop_map(|parts| Bounds::Parts(BoundsParts { parts })),
    ];
    let files = prop_oneof![
        text().prop_map(OneOrMany::One),
        vec(text(), 0..8).prop_map(OneOrMany::Many)
    ];
    (
        // Boxes, because the values of a whole flow do not fit the stack of a test.
        (option::of(text()), option::of(text()), files, format()).boxed(),
        (
            vec(column(), 0..6),
            vec(step().boxed(), 0..4).boxed(),
            text(),
            option::of(text()),
            bounds,
            option::of(any::<bool>()),
            outputs().boxed(),
        )
            .boxed(),
        (
            select(vec![
                Mode::Create,
                Mode::Append,
                Mode::Replace,
                Mode::Upsert,
            ]),
            (
                replace(),
                (option::of(texts()), option::of(scd())),
                option::of(texts()),
                option::of(texts()),
            ),
            any::<bool>(),
            (
                select(vec![TriggerPolicy::Fire, TriggerPolicy::Skip]),
                select(vec![IndexPolicy::Keep, IndexPolicy::Rebuild]),
            ),
            (
                option::of(0..=i64::MAX as u64),
                option::of((1_u32..=1_000).prop_map(|share| f64::from(share) / 1_000.0)),
                option::of(0..=i64::MAX as u64),
            ),
            option::of(verify()),
        )
            .boxed(),
        (
            option::of(trailer()),
            option::of(control_file()),
            option::of(expect()),
        )
            .boxed(),
    )
        .prop_map(
            |(
                (name, connection, files, format),
                (
                    columns,
                    steps,
                    table,
                    partition_by,
                    bounds,
                    routing,
                    (outputs, each, otherwise, output_number),
                ),
                (
                    mode,
                    (replace, (key, scd), pre_sql, post_sql),
                    atomic,
                    (triggers, indexes),
                    (rows_max, share_max, bytes_max),
                    verify,
                ),
                (trailer, control_file, expect),
            )| Flow {
                name,
                connection,
                files,
                source: None,
                format,
                columns,
                steps,
                table,
                outputs,
                each,
                otherwise,
                output_number,
                partition_by,
                bounds,
                routing,
                mode,
                replace,
                key,
                scd,
                pre_sql,
                post_sql,
                atomic,
                triggers,
                indexes,
                rejects: RejectLimit {
                    rows_max,
                    share_max,
                    bytes_max,
                },
                verify,
                trailer,
                control_file,
                expect,
            },
        )
}

fn record_field() -> impl Strategy<Value = RecordField> {
    prop_oneof![
        any::<u32>().prop_map(RecordField::Number),
        any::<[u32; 2]>().prop_map(RecordField::Position),
        text().prop_map(RecordField::Name),
    ]
}

fn expected_value() -> impl Strategy<Value = BoundValue> {
    prop_oneof![
        any::<i64>().prop_map(BoundValue::Integer),
        text().prop_map(BoundValue::Text),
    ]
}

fn trailer() -> impl Strategy<Value = Trailer> {
    (
        text(),
        option::of(record_field()),
        any::<u32>(),
        btree_map(text(), record_field(), 0..3),
    )
        .prop_map(
            |(starts_with, rows_field, also_counts, sum_fields)| Trailer {
                starts_with,
                rows_field,
                also_counts,
                sum_fields,
            },
        )
}

fn control_file() -> impl Strategy<Value = ControlFile> {
    let names = (option::of(text()), option::of(text()), option::of(text()));
    (
        names,
        option::of(text()),
        option::of(any::<u32>()),
        trailer(),
    )
        .prop_map(
            |((suffix, extension, path), delimiter, file_field, trailer)| ControlFile {
                suffix,
                extension,
                path,
                delimiter,
                file_field,
                rows_field: trailer.rows_field,
                also_counts: trailer.also_counts,
                sum_fields: trailer.sum_fields,
            },
        )
}

fn expect() -> impl Strategy<Value = Expect> {
    let sums = btree_map(text(), expected_value(), 0..3);
    (option::of(expected_value()), sums).prop_map(|(rows, sums)| Expect { rows, sums })
}

fn verify() -> impl Strategy<Value = Verify> {
    select(vec![Verify::Count, Verify::Sums, Verify::Rows])
}

type Guest = (
    Option<u64>,
    Option<u64>,
    Option<u64>,
    bool,
    Option<OpenLineage>,
);

fn guest() -> impl Strategy<Value = Guest> {
    let bytes = || option::of(1_048_576_u64..=1_000_000_000_000);
    let open_lineage =
        (text(), option::of(text())).prop_map(|(to, namespace)| OpenLineage { to, namespace });
    (
        bytes(),
        bytes(),
        bytes(),
        any::<bool>(),
        option::of(open_lineage),
    )
}

fn run() -> impl Strategy<Value = RunSettings> {
    (
        option::of(1_u16..=1024),
        65_536_u32..=16_777_216,
        64_u32..=65_536,
        any::<bool>(),
        option::of(any::<bool>()),
        1_u32..=86_400_000,
        (
            select(vec![LoadOrder::LargestFirst, LoadOrder::Package]),
            any::<bool>(),
        ),
        (
            verify(),
            select(vec![UncheckedTypes::Warn, UncheckedTypes::Refuse]),
            select(vec![
                ServerCopy::Auto,
                ServerCopy::Plain,
                ServerCopy::Require,
                ServerCopy::Pages,
            ]),
        ),
        guest(),
        text(),
        text(),
    )
        .prop_map(
            |(
                streams,
                chunk_bytes,
                batch_rows,
                freeze,
                analyze,
                lock_timeout_ms,
                (order, staging),
                (verify, unchecked_types, server_copy),
                (rate_bytes_max, replica_lag_bytes_max, slot_bytes_max, disk_check, open_lineage),
                ledger_schema,
                staging_schema,
            )| RunSettings {
                streams,
                chunk_bytes,
                batch_rows,
                freeze,
                analyze,
                lock_timeout_ms,
                order,
                staging,
                verify,
                rate_bytes_max,
                replica_lag_bytes_max,
                slot_bytes_max,
                disk_check,
                unchecked_types,
                server_copy,
                open_lineage,
                ledger_schema,
                staging_schema,
            },
        )
}

fn package() -> impl Strategy<Value = Package> {
    let connection = prop_oneof!["embedded", "postgresql://[a-z]{1,5}@dw/[a-z]{1,5}"]
        .prop_map(|url| Connection::new(&url));
    (
        text(),
        btree_map(text(), text(), 0..3),
        btree_map(text(), connection, 0..3),
        run(),
        vec(flow(), 0..3),
    )
        .prop_map(|(name, parameters, connections, run, flows)| Package {
            name,
            parameters,
            connections,
            run,
            flows,
            origin: PackageOrigin::default(),
        })
}

/// A key of a map of tables. An empty map would not be written at all, which is another error.
fn has_all_tables(package: &Package) -> bool {
    !package.flows.is_empty() && !package.connections.is_empty()
}

proptest! {
    #[test]
    fn a_package_is_read_back(package in package().prop_filter("tables", has_all_tables)) {
        let written = package.to_toml();
        let read = Package::parse(&written, Path::new("p.toml"))
            .map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert_eq!(&read, &package, "{}", written);
        prop_assert_eq!(read.to_toml(), written);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z\\[\\]{}=\"'\n#.,0-9 \u{e9}]{0,60}") {
        let _ = Package::parse(&text, Path::new("p.toml")).map_err(|error| error.to_string());
    }

    #[test]
    fn any_package_is_resolved_and_checked_or_refused(package in package()) {
        if let Ok(package) = package.resolve(&Overrides::default(), &|name| Ok(name.to_owned())) {
            let _ = package.check().map_err(|error| error.to_string());
        }
    }
}

#[test]
fn it_reads_well() {
    let package = Package {
        name: "orders".to_owned(),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([(
            "target".to_owned(),
            Connection::new("postgresql://etl:secret@dw/tpch"),
        )]),
        run: RunSettings {
            freeze: false,
            ..RunSettings::default()
        },
        flows: vec![Flow {
            format: Format {
                delimiter: Some("\t".to_owned()),
                null: Some(NullMarker::Never(false)),
                ..Format::default()
            },
            columns: vec![
                ColumnSpec::Short("o_orderkey bigint not null".to_owned()),
                ColumnSpec::Long(Box::new(ColumnDetail {
                    type_name: Some("date".to_owned()),
                    format: Some(OneOrMany::One("%d/%m/%Y".to_owned())),
                    ..ColumnDetail::named("o_orderdate")
                })),
            ],
            partition_by: Some("o_orderdate".to_owned()),
            bounds: Bounds::Every(BoundsEvery {
                every: BoundValue::Text("1 month".to_owned()),
            }),
            routing: Some(true),
            mode: Mode::Append,
            triggers: TriggerPolicy::Skip,
            rejects: RejectLimit {
                bytes_max: Some(1_000_000),
                ..RejectLimit::rows(10)
            },
            verify: Some(Verify::Sums),
            trailer: Some(Trailer {
                starts_with: "TRL".to_owned(),
                rows_field: Some(RecordField::Number(2)),
                also_counts: 1,
                sum_fields: BTreeMap::from([(
                    "o_totalprice".to_owned(),
                    RecordField::Position([12, 10]),
                )]),
            }),
            control_file: None,
            expect: Some(Expect {
                rows: Some(BoundValue::Integer(1000)),
                sums: BTreeMap::new(),
            }),
            ..Flow::new(
                OneOrMany::Many(vec![
                    "data/orders.*.csv.gz".to_owned(),
                    "more.csv".to_owned(),
                ]),
                "public.orders",
            )
        }],
        origin: PackageOrigin::default(),
    };
    insta::assert_snapshot!(package.to_toml());
}
