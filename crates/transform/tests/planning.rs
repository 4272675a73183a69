//! Tests plans of steps: the types of results, and the messages about expressions that cannot be used.

mod case;

use case::{check, columns, derive, evaluator, keep, plan};
use inrush_rows::column_type::ColumnType;
use inrush_transform::plan::Steps;
use inrush_transform::spec::{InputColumn, Otherwise, StepSpec};

#[test]
fn results_have_the_types_that_duckdb_finds() {
    let Some(evaluator) = evaluator() else { return };
    for (expression, expected) in [
        (
            "price * (1 - price)",
            ColumnType::Decimal {
                precision: 18,
                scale: 4,
            },
        ),
        ("id + 1", ColumnType::Int32),
        ("id / 2", ColumnType::Float64),
        (
            "date_trunc('month', day)",
            ColumnType::Timestamp { fraction_digits: 6 },
        ),
        ("CAST(date_trunc('month', day) AS date)", ColumnType::Date),
        ("day + 1", ColumnType::Date),
        ("ID > 1 and \"flag\"", ColumnType::Bool),
        ("year(day)", ColumnType::Int64),
        ("CAST(id AS utinyint)", ColumnType::Int16),
        (
            "CAST(id AS hugeint)",
            ColumnType::Decimal {
                precision: 38,
                scale: 0,
            },
        ),
        (
            "upper(word) || '!' -- a comment",
            ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            },
        ),
        ("encode(word)", ColumnType::Binary),
        (
            "lpad(word, 10, '0')",
            ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            },
        ),
        ("1", ColumnType::Int32),
        (
            "null",
            ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            },
        ),
        ("nullif(id, 3)", ColumnType::Int32),
        ("case when flag then id end", ColumnType::Int32),
        (
            "word ~ 'x' or word like 'a%' or word in ('b') or word is not null",
            ColumnType::Bool,
        ),
        (
            "day + interval 1 day",
            ColumnType::Timestamp { fraction_digits: 6 },
        ),
        (
            "strptime(word, '%Y') at time zone 'UTC'",
            ColumnType::TimestampTz { fraction_digits: 6 },
        ),
        ("try(CAST(word AS int))", ColumnType::Int32),
        ("extract(year from day)", ColumnType::Int64),
    ] {
        let planned = plan(evaluator, &[derive(&[("x", expression)])]);
        let planned = planned.unwrap_or_else(|faults| panic!("{expression}: {}", faults[0]));
        assert_eq!(planned.derived[0].column_type, expected, "{expression}");
    }
}

#[test]
fn only_the_columns_that_are_named_travel() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [
        derive(&[("double", "price * 2")]),
        keep("double > 0 and day is not null"),
        check("ID < 9", Otherwise::Warn),
    ];
    let planned = plan(evaluator, &steps).expect("a plan");
    assert_eq!(planned.travelling, [0, 1, 3]);
    let named: Vec<&[String]> = planned
        .steps
        .iter()
        .map(|step| step.named.as_slice())
        .collect();
    assert_eq!(named, [&["price"][..], &["day", "double"], &["id"]]);
    let schema = planned.schema();
    assert_eq!(schema.fields().len(), columns().len() + 1);
    assert_eq!(schema.field(6).name(), "double");
}

/// The message about the last of some steps.
fn refused(steps: &[StepSpec]) -> String {
    let evaluator = evaluator().expect("an evaluator");
    let faults = plan(evaluator, steps).expect_err("it is refused");
    faults.last().expect("a fault").to_string()
}

#[test]
fn what_cannot_be_used_is_said_with_its_place_and_its_fix() {
    if evaluator().is_none() {
        return;
    }
    for (expression, expected) in [
        ("", "step 1, `where`: the expression is empty\n"),
        (
            "prise > 0",
            "step 1, `where`: there is no column `prise`\n  prise > 0\n  ^^^^^\nhint: did you mean `price`?",
        ),
        (
            "'\u{e4}' = nowhere_near",
            "there is no column `nowhere_near`\n  '\u{e4}' = nowhere_near\n        ^^^^^^^^^^^^\nhint: the columns here are `id`, ",
        ),
        ("id +", "the expression cannot be read: syntax error"),
        (
            "(id + 1",
            "the expression cannot be read: the `(` is not closed\n  (id + 1\n  ^\nhint: add `)`",
        ),
        (
            "id + 1) > 2",
            "the expression cannot be read: the `)` closes nothing\n  id + 1) > 2\n        ^\n",
        ),
        (
            "word = 'a",
            "the expression cannot be read: the text that begins here is not closed\n  word = 'a\n         ^\nhint: add `'`",
        ),
        (
            "id > 0 Id",
            "`Id` at the end is no part of the expression: SQL takes it as a name for the result\n  id > 0 Id\n         ^^\n",
        ),
        (
            "day > day - interval 1 fortnight",
            "`fortnight` at the end is no part of the expression: SQL takes it as a name for the result\n  day > day - interval 1 fortnight\n                         ^^^^^^^^^\n\
             hint: remove it; the units of an interval are YEAR,",
        ),
        ("id > 0; drop table x", "this is more than one expression"),
        (
            "id > 0) from x where (id > 0",
            "the expression cannot be read",
        ),
        ("id > 0 from t", "this is more than one expression"),
        ("id > 0, flag", "this is more than one expression"),
        ("distinct flag", "this is more than one expression"),
        ("flag order by 1", "this is more than one expression"),
        ("flag where id > 0", "this is more than one expression"),
        ("flag union select true", "this is more than one expression"),
        ("flag;", "the expression cannot be read"),
        ("a\0b", "it has a NUL byte"),
        (
            "id > (select 1)",
            "a subquery cannot be used in a step\n  id > (select 1)\n",
        ),
        ("exists (select 1)", "a subquery cannot be used in a step"),
        ("id = any([1])", "a subquery cannot be used in a step"),
        ("sum(id) over () > 0", "a window function cannot be used"),
        ("*", "`*` cannot be used"),
        ("$1 > 0", "a parameter of a statement cannot be used"),
        ("#1 > 0", "`#` and a number cannot be used"),
        ("t.id > 0", "a name with a point cannot be used"),
        (
            "main.upper(word) = 'A'",
            "a function with its schema cannot be used",
        ),
        ("word collate nocase = 'a'", "COLLATE cannot be used"),
        (
            "sum(id) > 0",
            "the function `sum` cannot be used in a step: it aggregates several rows, and a step sees one row at a time\n  sum(id) > 0\n  ^^^^^^^\n",
        ),
        ("count(*) > 0", "the function `count_star` cannot be used"),
        ("random() > 0", "its value differs from call to call"),
        ("today() > day", "its value differs from call to call"),
        ("current_date > day", "its value differs from run to run"),
        ("getvariable('x') = 1", "it reads tables, files or settings"),
        ("getenv('HOME') = ''", "there is no function `getenv`"),
        (
            "read_text('/etc/passwd') = ''",
            "it reads tables, files or settings",
        ),
        (
            "hash(id) > 0",
            "its result may be another one in the next version of DuckDB\n  hash(id) > 0\n  ^^^^^^^^\nhint: use `md5` or `sha256`",
        ),
        (
            "repeat(word, 3) = ''",
            "it makes a text as long as a number says, and no memory limit holds for that",
        ),
        (
            "string_split(word, ',') = 'a'",
            "it is made for lists, structures or maps, and a step computes single values",
        ),
        (
            "list_value(id) = 1",
            "it is made for lists, structures or maps",
        ),
        ("list_sum(id) = 1", "it is not on the list of functions"),
        (
            "error('no') = 1",
            "it only makes an error, and a reject would not say which rule the row breaks",
        ),
        ("Age(day) > 0", "with one argument it counts from today"),
        ("typeof(id) = ''", "it is not on the list of functions"),
        ("sleep_ms(1) = 1", "it is called for its effect"),
        (
            "uper(word) = 'A'",
            "there is no function `uper`\n  uper(word) = 'A'\n  ^^^^^^^^^^\nhint: did you mean `upper`?",
        ),
        (
            "word > 1",
            "Cannot compare values of type VARCHAR and type INTEGER - an explicit cast is required\n",
        ),
        (
            "price + word > 0",
            "`+` cannot be used with (DECIMAL(15,2), VARCHAR)\n  price + word > 0\n        ^\n",
        ),
        ("CAST(word AS foo)", "there is no type `foo`\n"),
        (
            "lpad(word, 400000000, 'x') = ''",
            "a length that is not a number up to 10,000 cannot be used in a step\n  lpad(word",
        ),
        (
            "rpad(word, id, 'x') = ''",
            "a length that is not a number up to 10,000 cannot be used",
        ),
        (
            "printf('%400000000d', id) = ''",
            "it makes a text as long as a number says",
        ),
        (
            "id + 1",
            "a condition must be true or false, but this has the type INTEGER\n  id + 1\nhint: compare it",
        ),
        (
            "exact > '1'",
            "`exact` is a number without a limit of its digits, which expressions cannot use\n  exact > '1'\n  ^^^^^\n\
             hint: declare its digits in `columns`",
        ),
    ] {
        let message = refused(&[keep(expression)]);
        assert!(
            message.contains(expected),
            "{expression}:\n{message}\n--- expected\n{expected}"
        );
        assert!(message.contains("\nhint: "), "{message}");
    }
}

#[test]
fn derived_columns_that_cannot_be_made_are_refused() {
    if evaluator().is_none() {
        return;
    }
    for (columns, expected) in [
        (
            &[("Price", "1")][..],
            "step 1, `derive.Price`: the flow has a column `Price` already",
        ),
        (
            &[("a", "1"), ("A", "2")],
            "step 1, `derive.A`: the flow has a column `A` already",
        ),
        (&[("", "1")], "a derived column cannot be called ``"),
        (
            &[("inrush_step_x", "1")],
            "a derived column cannot be called `inrush_step_x`",
        ),
        (
            &[("a", "id"), ("b", "a + 1")],
            "`a` is derived in the same step\n  a + 1\n  ^\nhint: derive `a` in a step of its own before this one",
        ),
        (
            &[("a", "b + 1"), ("b", "a + 1")],
            "`a` is derived in the same step",
        ),
        (&[("a", "a + 1")], "`a` is derived in the same step"),
        (
            &[("a", "interval 1 day")],
            "the result has the type INTERVAL, which cannot be loaded",
        ),
    ] {
        let message = refused(&[derive(columns)]);
        assert!(
            message.contains(expected),
            "{message}\n--- expected\n{expected}"
        );
    }
}

/// Such a column would take the place of a condition's result.
#[test]
fn a_column_of_the_flow_with_a_reserved_name_is_in_no_expression() {
    let Some(evaluator) = evaluator() else { return };
    let steps = Steps::new(evaluator).expect("a connection");
    let mut visible = columns();
    visible.push(InputColumn {
        name: "Inrush_step_value_0".to_owned(),
        column_type: ColumnType::Bool,
    });
    let planned = steps.plan(&visible, &[keep("id > 2")]);
    planned.expect("it is not named");
    let condition = "id > 2 AND inrush_step_value_0 IS NOT NULL";
    let faults = steps.plan(&visible, &[keep(condition)]);
    let fault = faults.expect_err("it is named").remove(0).to_string();
    assert!(
        fault.contains("the column `Inrush_step_value_0` cannot be used in an expression"),
        "{fault}"
    );
    assert!(fault.contains("\n             ^"), "{fault}");
}

#[test]
fn all_faults_are_found_at_once() {
    let Some(evaluator) = evaluator() else { return };
    let steps = [
        keep("nope > 0"),
        derive(&[("a", "id"), ("b", "upper(id, 2)")]),
        keep("a > 0 and c > 0"),
    ];
    let faults = plan(evaluator, &steps).expect_err("three faults");
    let places: Vec<(usize, &str)> = faults
        .iter()
        .map(|fault| (fault.step, fault.setting.as_str()))
        .collect();
    assert_eq!(places, [(1, "where"), (2, "derive.b"), (3, "where")]);
    assert!(
        faults[2].to_string().contains("there is no column `c`"),
        "{}",
        faults[2]
    );
}

#[test]
fn the_settings_of_the_session_are_locked() {
    let Some(evaluator) = evaluator() else { return };
    let link = evaluator.connect().expect("a connection");
    let refused = |sql: &str| {
        let answer = link.query(sql);
        answer.map(drop).expect_err(sql).message
    };
    assert!(refused("SET ieee_floating_point_ops = true").contains("locked"));
    assert!(refused("SET GLOBAL TimeZone = 'Asia/Tokyo'").contains("locked"));
    assert!(refused("SELECT * FROM read_text('/etc/passwd')").contains("disabled"));
    assert!(refused("COPY (SELECT 1) TO '/tmp/inrush_step'").contains("disabled"));
    assert!(refused("INSTALL httpfs").contains("disabled"));
}

#[test]
fn an_expression_cannot_name_one_of_two_columns_that_differ_in_case() {
    let Some(evaluator) = evaluator() else { return };
    let steps = Steps::new(evaluator).expect("a connection");
    let mut visible = columns();
    visible.push(InputColumn {
        name: "Word".to_owned(),
        column_type: ColumnType::Int32,
    });
    let faults = steps.plan(&visible, &[keep("id > 2 AND word = 'a'")]);
    let fault = faults.expect_err("it is ambiguous").remove(0).to_string();
    assert!(
        fault.ends_with(
            "`word` is ambiguous: the flow has the columns `word` and `Word`\n  id > 2 AND word = 'a'\n             ^^^^\n\
             hint: rename one of the columns: expressions do not distinguish upper and lower case in names"
        ),
        "{fault}"
    );
}
