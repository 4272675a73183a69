//! Every function of the closed list over extreme arguments: NULL, NaN, infinity, the ends of each type, and odd texts.
//!
//! No call may end the database. No call may return NULL if no argument is NULL, unless [`may_be_null`] knows the
//! reason. An argument is a column of a table, as in a step. So functions that need a constant there are not called
//! with all types.

mod case;

use std::sync::Arc;

use arrow_array::{Date32Array, RecordBatch, StringViewArray};
use case::{check, derive, evaluator, keep, plan, rows, run};
use inrush_adbcclient::duckdb::connection::Link;
use inrush_transform::functions;
use inrush_transform::outcome::FaultKind;
use inrush_transform::room;
use inrush_transform::spec::Otherwise;

/// Values of each type, as SQL.
const VALUES: [(&str, &[&str]); 14] = [
    ("BOOLEAN", &["true", "false"]),
    ("INTEGER", &["-2147483648", "-1", "0", "2147483647"]),
    (
        "BIGINT",
        &[
            "-9223372036854775808",
            "-1",
            "0",
            "7",
            "9223372036854775807",
        ],
    ),
    (
        "HUGEINT",
        &["-170141183460469231731687303715884105728", "0", "64"],
    ),
    (
        "DOUBLE",
        &[
            "nan",
            "inf",
            "-inf",
            "0",
            "-0.5",
            "1.7976931348623157e308",
            "5e-324",
            "1000",
        ],
    ),
    ("FLOAT", &["nan", "inf", "-1", "3.4e38"]),
    (
        "DECIMAL(38,0)",
        &["99999999999999999999999999999999999999", "0", "-1"],
    ),
    (
        "VARCHAR",
        &[
            "",
            "a",
            "\u{e9}\u{1f986}",
            "%",
            "\\",
            "(",
            "(a*)",
            "day",
            "UTC",
            "Nowhere",
            "$..*",
            "[1,{\"a\":2}]",
            "2024-01-01",
            "inf",
        ],
    ),
    ("JSON", &["null", "[1,2]", "{\"a\":{\"a\":null}}"]),
    ("BLOB", &["", "\\x00\\xFF"]),
    (
        "DATE",
        &[
            "-infinity",
            "infinity",
            "4714-11-24 (BC)",
            "2024-02-29",
            "5874897-12-31",
        ],
    ),
    ("TIME", &["00:00:00", "24:00:00"]),
    (
        "TIMESTAMP",
        &[
            "-infinity",
            "infinity",
            "4714-11-24 (BC) 00:00:00",
            "2024-02-29 23:59:59.999999",
            "294247-01-10 04:00:54.775806",
        ],
    ),
    (
        "INTERVAL",
        &[
            "0 days",
            "1 month",
            "-178956970 years",
            "2147483647 days",
            "9223372036854775807 microseconds",
        ],
    ),
];

/// The functions whose arguments a call of this test cannot have: lengths must be constants.
const NOT_CALLED: [&str; 2] = ["lpad", "rpad"];

fn texts(link: &Link, sql: &str) -> Vec<Vec<Option<String>>> {
    let answer = link.query(sql).and_then(|mut answer| answer.rows());
    answer.unwrap_or_else(|error| panic!("{sql}: {}", error.message))
}

/// The signatures of a function whose types all occur in [`VALUES`].
fn signatures(link: &Link, name: &str) -> Vec<Vec<String>> {
    let question = format!(
        "SELECT DISTINCT CASE function_type WHEN 'macro' THEN repeat('ANY|', len(parameters)) ELSE array_to_string(parameter_types, \
         '|') END, varargs FROM duckdb_functions() WHERE lower(function_name) = '{name}' AND function_type IN ('scalar', 'macro') \
         AND schema_name = 'main' AND database_name = 'system' ORDER BY ALL"
    );
    let has = |name: &str| VALUES.iter().any(|(own, _)| *own == name);
    let mut found = Vec::new();
    for row in texts(link, &question) {
        let listed = row[0].clone().unwrap_or_default();
        let mut types: Vec<String> = listed
            .split('|')
            .filter(|name| !name.is_empty())
            .map(|name| match name {
                "DECIMAL" => "DECIMAL(38,0)".to_owned(),
                "TIMESTAMP WITH TIME ZONE" => "TIMESTAMP".to_owned(),
                name => name.to_owned(),
            })
            .collect();
        if row[1].as_deref() == Some("ANY") {
            types.extend(["ANY".to_owned(), "ANY".to_owned()]);
        }
        if types.iter().any(|name| name == "ANY") {
            for own in ["DOUBLE", "VARCHAR", "DATE"] {
                let types = types.iter().map(|name| match name.as_str() {
                    "ANY" => own.to_owned(),
                    name => name.to_owned(),
                });
                found.push(types.collect());
            }
        } else {
            found.push(types);
        }
    }
    // The catalog does not have the types of these functions.
    match name {
        "days_in_month" => found = vec![vec!["DATE".to_owned()]],
        "ifnull" => found = vec![vec!["DATE".to_owned(); 2]],
        "split_part" => found = vec![["VARCHAR", "VARCHAR", "BIGINT"].map(str::to_owned).to_vec()],
        _ => {}
    }
    found.sort();
    found.dedup();
    found.retain(|types: &Vec<String>| !types.is_empty() && types.iter().all(|name| has(name)));
    found
}

/// A call with these arguments, as expressions write it.
fn call(name: &str, arguments: &[String]) -> String {
    let operator = match name {
        "~~" => Some("LIKE"),
        "!~~" => Some("NOT LIKE"),
        "~~*" => Some("ILIKE"),
        "!~~*" => Some("NOT ILIKE"),
        "~~~" => Some("GLOB"),
        name if !name.starts_with(char::is_alphabetic) => Some(name),
        _ => None,
    };
    match (operator, arguments) {
        (Some(operator), [one]) => format!("({operator} {one})"),
        (Some(operator), [one, other]) => format!("({one} {operator} {other})"),
        // These two have a grammar of their own.
        _ if ["position", "overlay"].contains(&name) => {
            format!("\"{name}\"({})", arguments.join(", "))
        }
        _ => format!("{name}({})", arguments.join(", ")),
    }
}

/// True if this NULL has a reason: two equal values of `nullif`; a text that `try_strptime` cannot read; a path that a
/// JSON document does not have, and JSON's own null; an infinite date, whose row the runner rejects.
fn may_be_null(name: &str, values: &[String]) -> bool {
    let is_infinite = |value: &String| ["infinity", "-infinity"].contains(&value.as_str());
    ["nullif", "try_strptime", "->>"].contains(&name)
        || name.starts_with("json_")
        || functions::is_of_finite_dates(name) && values.iter().any(is_infinite)
}

#[test]
fn no_function_has_a_silent_null_or_ends_the_database() {
    let Some(evaluator) = evaluator() else { return };
    let link = evaluator.connect().expect("a connection");
    room::use_checks(&link).expect("the functions of steps");
    let mut calls = 0;
    for name in functions::all() {
        if NOT_CALLED.contains(&name) {
            continue;
        }
        let mut is_called = false;
        for types in signatures(&link, name) {
            is_called |= called(&link, name, &types, &mut calls);
        }
        assert!(is_called || name == "pi", "{name} was not called");
        texts(&link, "SELECT 1");
    }
    assert!(calls > 5_000, "{calls}");
}

/// Calls a function with all combinations of values; true if it can be called with columns of these types.
fn called(link: &Link, name: &str, types: &[String], calls: &mut u64) -> bool {
    let most = [14, 6, 3, 2][types.len().min(4) - 1];
    let columns = types.iter().enumerate().map(|(at, type_name)| {
        let (_, values) = VALUES
            .iter()
            .find(|(own, _)| own == type_name)
            .expect("it is there");
        // Values at both ends and some between them.
        let step = values.len().div_ceil(most).max(1);
        let values = values.iter().step_by(step);
        let values: Vec<String> = values
            .map(|value| format!("CAST('{value}' AS {type_name})"))
            .collect();
        format!("(SELECT unnest([{}]) AS a{at})", values.join(", "))
    });
    let columns: Vec<String> = columns.collect();
    let from = columns.join(", ");
    texts(
        link,
        &format!(
            "CREATE OR REPLACE TEMP TABLE extremes AS SELECT row_number() OVER () AS place, * FROM {from}"
        ),
    );
    // Formats must be constants.
    let of_columns = |at: usize| format!("a{at}");
    let with_format = |at: usize| match at > 0 && types[at] == "VARCHAR" {
        true => "'%Y-%m'".to_owned(),
        false => format!("a{at}"),
    };
    let arguments: [Vec<String>; 2] = [
        (0..types.len()).map(of_columns).collect(),
        (0..types.len()).map(with_format).collect(),
    ];
    let mut calls_of = arguments.iter().map(|arguments| call(name, arguments));
    let call = calls_of.find(|call| {
        let described = link.query(&format!("DESCRIBE SELECT {call} FROM extremes"));
        described.is_ok()
    });
    let Some(call) = call else {
        return false;
    };
    let rows = texts(link, "SELECT count(*) FROM extremes");
    let rows: u64 = rows[0][0]
        .as_deref()
        .and_then(|text| text.parse().ok())
        .expect("a number");
    *calls += rows;
    looked_at(link, name, &call, types.len(), 1, rows);
    true
}

/// Fails if a row of these is NULL without a reason. TRY does not catch every error: then the rows are halved.
fn looked_at(link: &Link, name: &str, call: &str, arguments: usize, first: u64, last: u64) {
    let shown = (0..arguments).map(|at| format!("CAST(a{at} AS VARCHAR)"));
    let shown: Vec<String> = shown.collect();
    let question = format!(
        "SELECT {} FROM (SELECT *, TRY(list_value({call})) AS made FROM extremes WHERE place BETWEEN {first} AND {last}) WHERE made \
         IS NOT NULL AND list_extract(made, 1) IS NULL",
        shown.join(", ")
    );
    match link.query(&question).and_then(|mut answer| answer.rows()) {
        Ok(nulls) => {
            for row in nulls {
                let values: Option<Vec<String>> = row.into_iter().collect();
                let Some(values) = values else { continue };
                assert!(may_be_null(name, &values), "{call} is NULL for {values:?}");
            }
        }
        Err(error) => {
            let is_fatal = ["FATAL", "INTERNAL", "invalidated"];
            let is_fatal = is_fatal.iter().any(|word| error.message.contains(word));
            assert!(!is_fatal, "{call}: {}", error.message);
            if first < last {
                let middle = first.midpoint(last);
                looked_at(link, name, call, arguments, first, middle);
                looked_at(link, name, call, arguments, middle + 1, last);
            }
        }
    }
}

/// Rows with these days.
fn rows_with_days(days: &[Option<i32>]) -> RecordBatch {
    let batch = rows(0, days.len());
    let mut arrays = batch.columns().to_vec();
    arrays[3] = Arc::new(Date32Array::from(days.to_vec()));
    RecordBatch::try_new(batch.schema(), arrays).expect("a batch")
}

#[test]
fn an_infinite_date_has_no_parts_and_no_distance() {
    let Some(evaluator) = evaluator() else { return };
    let batch = rows_with_days(&[Some(0), None, Some(i32::MAX), Some(i32::MIN)]);
    for expression in [
        "year(day)",
        "1 + date_diff('day', day, DATE '2020-01-01')",
        "extract(month FROM day)",
        "CAST(last_day(day) AS VARCHAR)",
        "day - DATE '2020-01-01'",
        "CAST(DATE '2020-01-01' - day AS VARCHAR)",
        "CASE WHEN day IS NULL THEN day ELSE greatest(day, day) END - DATE '2020-01-01'",
        "CAST(CAST(day AS VARCHAR) || '' AS DATE) - DATE '2020-01-01'",
    ] {
        let stepped = run(evaluator, &[derive(&[("x", expression)])], &batch);
        let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
        assert_eq!(lost, [2, 3], "{expression}");
        let fault = &stepped.faults[0];
        assert_eq!(
            (fault.kind, fault.value.as_deref()),
            (FaultKind::Expression, Some("infinity"))
        );
        assert!(
            fault
                .reason
                .contains("has no result, because `day` is infinite")
                && fault.reason.contains("CASE WHEN isfinite(day)"),
            "{}",
            fault.reason
        );
    }
    for expression in [
        "CASE WHEN isfinite(day) THEN year(day) END",
        "CASE WHEN day < 'infinity' THEN year(day) END",
        "greatest(day, DATE '2020-01-01')",
        "date_trunc('month', day)",
        "day > DATE '2020-01-01'",
        "id - 1",
        // The date decides, but is not in the difference.
        "id - CASE WHEN day > DATE '2020-01-01' THEN 1 ELSE 2 END",
        "id - if(day > DATE '2020-01-01', 1, 2)",
        "id - coalesce(CAST(day IS NULL AS INTEGER), 3)",
        "length(CAST(day AS VARCHAR)) - 1",
        "year(CASE WHEN day < DATE '1960-01-01' THEN DATE '2020-01-01' ELSE DATE '2021-01-01' END)",
    ] {
        let stepped = run(evaluator, &[derive(&[("x", expression)])], &batch);
        assert!(
            stepped.faults.is_empty(),
            "{expression}: {:?}",
            stepped.faults
        );
    }
    for step in [
        keep("year(day) > 0"),
        check("year(day) > 0", Otherwise::Reject),
    ] {
        let stepped = run(evaluator, &[step], &batch);
        let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
        assert_eq!(lost, [2, 3]);
        assert_eq!(stepped.counts[0].rejected, 2);
    }
}

#[test]
fn a_date_that_becomes_infinite_rejects_its_row() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [derive(&[("x", "make_date(id + 2147483645)")])];
    let stepped = run(evaluator, &steps, &rows(0, 3));
    let reasons = stepped
        .faults
        .iter()
        .map(|fault| (fault.row, fault.reason.as_str()));
    // The first two are after the last date that can be loaded.
    let late =
        "the result is before 4714-11-24 BC or after 5874897-12-31, and no such date can be loaded";
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        [
            (0, late),
            (1, late),
            (2, "the result of step 1 is outside the range of dates")
        ]
    );
}

/// DuckDB's own `make_timestamp` makes a timestamp of this number, and its CAST ends the database.
#[test]
fn a_timestamp_that_does_not_exist_rejects_its_row() {
    let Some(evaluator) = evaluator() else { return };
    let made = "CAST(make_timestamp(id * 9223372036854775806) AS VARCHAR)";
    let steps = [derive(&[("x", &made.replace("id", "(-id)"))])];
    let stepped = run(evaluator, &steps, &rows(0, 3));
    let lost: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
    assert_eq!(lost, [1, 2]);
    let steps = [derive(&[
        ("one", "make_timestamp(id * 86400000000)"),
        ("other", "make_timestamp(2020, 1, 1, 0, id, 0)"),
    ])];
    assert!(run(evaluator, &steps, &rows(0, 3)).faults.is_empty());
}

fn rows_with_words(words: &[&str]) -> RecordBatch {
    let batch = rows(0, words.len());
    let mut arrays = batch.columns().to_vec();
    arrays[2] = Arc::new(StringViewArray::from_iter_values(words));
    RecordBatch::try_new(batch.schema(), arrays).expect("a batch")
}

/// A path with `..*` finds each value once for each array around it: 2,000 bytes become 2 MB, and 10,000 bytes 50 MB.
#[test]
fn paths_to_many_values_have_a_limit_of_memory() {
    let Some(evaluator) = evaluator() else { return };
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let (short, long) = (nested(50), nested(5_000));
    let batch = rows_with_words(&[&short, &long, "{\"a\": [1, 2]}"]);
    for (expression, lost) in [
        ("CAST(json_extract(word, '$..*') AS VARCHAR)", vec![1]),
        ("CAST(word ->> '$..*' AS VARCHAR)", vec![1]),
        ("CAST(json_type(word, '$..*') AS VARCHAR)", vec![1]),
        ("json_extract_string(word, '$.a[0]')", vec![]),
        ("json_extract(word, 'a') ->> 1", vec![]),
        ("json_type(word) || json_array_length(word)", vec![]),
        (
            "CAST(json_extract(word, '[$.a, $.b]'::VARCHAR[]) AS VARCHAR)",
            vec![],
        ),
    ] {
        let stepped = run(evaluator, &[derive(&[("x", expression)])], &batch);
        let found: Vec<usize> = stepped.faults.iter().map(|fault| fault.row).collect();
        assert_eq!(found, lost, "{expression}: {:?}", stepped.faults);
    }
}

#[test]
fn long_texts_are_not_compared_letter_by_letter() {
    let Some(evaluator) = evaluator() else { return };
    let long = "x".repeat(20_000);
    let batch = rows_with_words(&["kitten", &long]);
    for function in [
        "levenshtein",
        "editdist3",
        "jaro_similarity",
        "jaro_winkler_similarity",
    ] {
        let expression = format!("{function}(word, word)");
        let stepped = run(evaluator, &[derive(&[("x", &expression)])], &batch);
        let [fault] = stepped.faults.as_slice() else {
            panic!("{function}: {:?}", stepped.faults);
        };
        assert_eq!(fault.row, 1);
        assert!(fault.reason.contains("takes too long"), "{}", fault.reason);
    }
}

#[test]
fn numbers_without_a_limit_of_digits_are_refused() {
    let Some(evaluator) = evaluator() else { return };
    for expression in [
        "CAST(word AS BIGNUM) > 0",
        "TRY_CAST(word AS varint) IS NULL",
    ] {
        let refused = plan(evaluator, &[keep(expression)]).expect_err("refused");
        let message = refused[0].to_string();
        assert!(message.contains("the type BIGNUM"), "{message}");
    }
}
