"""Errors of steps are found by the plan, and name the line in the package and the fix."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.duckdb_files import opened
from harness.packages import flow, literal, output, package, step

COLUMNS = ["id bigint", "word text"]
FILE = {"files": "names.csv", "columns": ["no bigint", "name text"]}
TABLE = {"connection": "target", "table": "names"}
SPELLED = {
    "files": "spelled.csv",
    "columns": ["no bigint", '"NO" bigint', "name text", '"NAME" text'],
}


class Fault(NamedTuple):
    """A step with a fault, and what the command must print.

    `said` has the settings of the step, `marked` the text of the package above the carets, and
    `says` the texts that the message must contain.
    """

    said: dict[str, Any]
    marked: str
    status: int
    says: tuple[str, ...]


def lookup(source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"lookup": source, "on": {"id": "no"}, "take": {"name": "name"}, **more}


FAULTS = {
    "missing file": Fault(
        lookup({"files": "nope.csv"}), '"nope.csv"', FAILED, ("no such file", "names.csv")
    ),
    "missing table": Fault(
        lookup({"connection": "target", "table": "nope"}), '"nope"', FAILED, ("nope",)
    ),
    "bad query": Fault(
        lookup({"connection": "target", "query": "selec 1"}), '"selec 1"', USAGE, ("selec",)
    ),
    "bad where": Fault(lookup({**TABLE, "where": "zz = 1"}), '"zz = 1"', USAGE, ("zz",)),
    "empty file": Fault(
        lookup({**FILE, "files": "empty.csv"}),
        "lookup",
        USAGE,
        ("no rows with a key", "load the reference"),
    ),
    "empty table": Fault(
        lookup({**TABLE, "where": "no > 5"}), "lookup", USAGE, ("no rows with a key",)
    ),
    "default": Fault(
        {
            "lookup": {"files": "names.csv", "columns": ["name text", "no bigint"]},
            "on": {"word": "name"},
            "take": {"number": "no"},
            "unmatched": {"default": {"number": "none"}},
        },
        '"none"',
        USAGE,
        ('the default "none" of `number` is no value of its type, BIGINT',),
    ),
    "first": Fault(
        lookup({**FILE, "first": "name desc, no"}),
        '"name desc, no"',
        USAGE,
        ("`first` orders by one column", "row_number()"),
    ),
    "first of no column": Fault(
        lookup({**FILE, "first": "changed desc"}),
        '"changed desc"',
        USAGE,
        ("it has no column `changed`; its columns are `no` and `name`", "order by one of its"),
    ),
    "first without a name": Fault(
        lookup({**FILE, "first": " "}), '" "', USAGE, ("`first` names no column", "or remove")
    ),
    "first that does not decide": Fault(
        lookup({**FILE, "files": "twice.csv", "first": "name desc"}),
        "lookup",
        USAGE,
        ("the key 1 is there twice, and both", "by a column in which the rows of a key differ"),
    ),
    "default without a name": Fault(
        lookup(FILE, unmatched={"default": -1}),
        "-1",
        USAGE,
        ("`unmatched.default` must be a table, not the number -1", "write { NAME = -1 }"),
    ),
    "number for unmatched": Fault(
        lookup(FILE, unmatched=-1),
        "-1",
        USAGE,
        ("not the number -1", "write { default = { NAME = -1 } }"),
    ),
    "function of other types": Fault(
        {"derive": {"number": "round(word, 2)"}},
        "round(word, 2)",
        USAGE,
        ("`round` cannot be used with (VARCHAR, INTEGER)", "(DOUBLE, INTEGER)", "CAST a value"),
    ),
    "function with too few values": Fault(
        {"derive": {"name": "substr(word)"}},
        "substr(word)",
        USAGE,
        ("`substr` cannot be used with (VARCHAR)", "can be used with (VARCHAR, BIGINT, BIGINT)"),
    ),
    "unknown type": Fault(
        {"derive": {"number": "CAST(word AS INTEGR)"}},
        "INTEGR",
        USAGE,
        ("there is no type `INTEGR`", "did you mean `INTEGER`?"),
    ),
    "open bracket": Fault(
        {"derive": {"number": "id * (id + 1"}},
        "(",
        USAGE,
        ("the `(` is not closed", "add `)`"),
    ),
    "open quote": Fault(
        {"where": "word = 'a"}, "'", USAGE, ("the text that begins here is not closed", "add `'`")
    ),
    "bracket that closes nothing": Fault(
        {"check": "id + 1) > 0"}, ")", USAGE, ("the `)` closes nothing", "remove it")
    ),
    "decimal": Fault(
        {"derive": {"number": "CAST(id AS DECIMAL(5,2))"}},
        '"CAST(id AS DECIMAL(5,2))"',
        USAGE,
        ("`number` has the type DECIMAL(5,2)", "INTEGER", "none of its values", "AS BIGINT"),
    ),
    "zone": Fault(
        {"derive": {"moment": "to_timestamp(id)"}},
        '"to_timestamp(id)"',
        USAGE,
        ("`moment` has the type", "none of its values fit", "timezone('UTC', x)"),
    ),
    "boolean": Fault(
        {"derive": {"number": "id > 1"}},
        '"id > 1"',
        USAGE,
        ("`number` has the type BOOLEAN", "has the type INTEGER", "CAST the result AS INTEGER"),
    ),
    "boolean as text": Fault(
        {"derive": {"name": "id > 1"}},
        '"id > 1"',
        USAGE,
        ("`name` has the type BOOLEAN", "has the type VARCHAR", "CAST the result AS VARCHAR"),
    ),
    "number for a boolean": Fault(
        {"derive": {"flag": "id"}},
        '"id"',
        USAGE,
        ("`flag` has the type BIGINT", "has the type BOOLEAN", "compare the number, as in x <> 0"),
    ),
    "number for a time": Fault(
        {"derive": {"moment": "id"}},
        '"id"',
        USAGE,
        ("`moment` has the type BIGINT", "derive a value of the type TIMESTAMP"),
    ),
    "bytes as text": Fault(
        {"derive": {"name": "encode(word)"}},
        '"encode(word)"',
        USAGE,
        ("`name` has the type BLOB", "has the type VARCHAR", "decode(x), hex(x) or to_base64(x)"),
    ),
    "unit of an interval": Fault(
        {"derive": {"moment": "DATE '2024-01-31' - INTERVAL 1 FORTNIGHT"}},
        "FORTNIGHT",
        USAGE,
        ("`FORTNIGHT` at the end is no part of the expression", "WEEK, DAY, HOUR"),
    ),
    "no column": Fault(
        {"derive": {"numbr": "1"}}, "numbr", USAGE, ("no such column", "did you mean `number`")
    ),
    "hidden column": Fault(
        {"derive": {"word": "1"}}, "word", USAGE, ("a column `word` already", "another name")
    ),
    "hidden by a lookup": Fault(
        lookup(FILE, take={"word": "name"}), "word", USAGE, ("a column `word` already",)
    ),
    "key of no column": Fault(
        lookup(FILE, on={"idd": "no"}),
        "idd",
        USAGE,
        ("there is no column `idd`", "`id` and `word`"),
    ),
    "key of another type": Fault(
        lookup(FILE, on={"word": "no"}),
        "word",
        USAGE,
        ("`word` has the type VARCHAR", "never equal", "CAST(a AS BIGINT)"),
    ),
    "key that is there twice": Fault(
        lookup({**FILE, "files": "twice.csv"}),
        "lookup",
        USAGE,
        ("the key 1 is there twice", "a row may have only one match", "first = "),
    ),
    "key of no column of the reference": Fault(
        lookup(FILE, on={"id": "noo"}), '"noo"', USAGE, ("it has no column `noo`", "name a column")
    ),
    "taken column of no reference": Fault(
        lookup(FILE, take={"name": "nme"}), '"nme"', USAGE, ("did you mean `name`?",)
    ),
    "ambiguous key": Fault(
        lookup(SPELLED, on={"id": "No"}),
        '"No"',
        USAGE,
        ("`No` is ambiguous: the reference has the columns `no` and `NO`", "spell it exactly"),
    ),
    "ambiguous taken column": Fault(
        lookup(SPELLED, take={"name": "Name"}),
        '"Name"',
        USAGE,
        (
            "`Name` is ambiguous: the reference has the columns `name` and `NAME`",
            "spell it exactly",
        ),
    ),
    "column of a reference twice": Fault(
        lookup({**FILE, "columns": ["no bigint", "No bigint", "name text"]}),
        '"No bigint"',
        USAGE,
        ("the column `no` is defined twice", "remove one of them"),
    ),
    "unknown type of a reference": Fault(
        lookup({**FILE, "columns": ["no bigintt", "name text"]}),
        '"no"',
        USAGE,
        ("`no` has the type bigintt, which steps do not support", "another type in `columns`"),
    ),
    "fold without a text": Fault(
        lookup(FILE, fold="case"), '"case"', USAGE, ("`fold` is for texts", "remove `fold`")
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_a_step_has_its_place(inrush: Inrush, kind: str) -> None:
    fault = FAULTS[kind]
    inrush.write("rows.csv", "id,word\n1,a\n")
    inrush.write("names.csv", "no,name\n1,a\n")
    inrush.write("empty.csv", "no,name\n")
    inrush.write("twice.csv", "no,name\n1,a\n1,a\n")
    inrush.write("spelled.csv", "no,NO,name,NAME\n1,1,a,a\n")
    with opened(inrush.folder / "t.duckdb") as database:
        database.execute("CREATE TABLE names AS SELECT 1 AS no, 'a' AS name")
        database.execute(
            "CREATE TABLE loaded (id bigint, word text, number int, moment timestamp, name text, "
            "flag boolean)"
        )
    rows = flow("loaded", "rows.csv", columns=COLUMNS, mode="append") + step(**fault.said)
    text = package("t.duckdb", rows)
    path = inrush.write("package.toml", text)
    outcome = inrush("check", path)
    outcome.expect(fault.status, *fault.says)
    marked = literal(fault.said["lookup"]) if fault.marked == "lookup" else fault.marked
    (place,) = re.findall(r"package\.toml:(\d+):(\d+)", outcome.said)
    line, column = map(int, place)
    found = text.splitlines()[line - 1]
    (carets,) = re.findall(r"^ +\| ( *\^+)$", outcome.said, re.MULTILINE)
    assert found[column - 1 : len(carets)] == marked, outcome.said
    assert carets.count("^") == len(marked), outcome.said


def test_a_derived_value_with_too_many_digits_says_how_a_step_rounds_it(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,price\n1,2.345\n")
    columns = ["id integer", "price numeric(5,3)"]
    with opened(inrush.folder / "t.duckdb") as database:
        database.execute("CREATE TABLE loaded (id integer, price decimal(5,3), total decimal(9,2))")
    rows = flow("loaded", "rows.csv", columns=columns, mode="append", rejects={"rows_max": 1})
    path = inrush.write("package.toml", package("t.duckdb", rows + step(derive={"total": "price"})))
    (reject,) = inrush("run", path).expect(LOADED_WITH_REJECTS).rejects()
    assert (reject["column"], reject["value"]) == ("total", "2.345")
    assert "round(...) in a step" in reject["reason"]
    inrush.write("rows.csv", "id,price\n1,2.345\n2,1\n")
    text = path.read_text().replace('"price" }', '"round(price, 2)" }')
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)


def test_a_condition_that_is_true_for_no_row_is_a_note(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id\n" + "1\n" * 1_234)
    rows = flow("loaded", "rows.csv", columns=["id integer"]) + step(where="id > 1")
    path = inrush.write("package.toml", package("t.duckdb", rows))
    said = "step 1: `id > 1` is true for none of its 1,234 rows, so all are filtered"
    inrush("run", path).expect(CLEAN, said, "inrush peek")


def test_a_condition_that_is_not_true_for_the_only_row_is_a_note(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id\n1\n")
    rows = flow("loaded", "rows.csv", columns=["id integer"]) + step(where="id > 1")
    path = inrush.write("package.toml", package("t.duckdb", rows))
    said = "step 1: `id > 1` is not true for its only row, so it is filtered: look at the"
    inrush("run", path).expect(CLEAN, said)


def test_a_row_that_no_output_takes_names_the_place_of_the_conditions(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id\n1\n2\n3\n")
    rows = flow(None, "rows.csv", columns=["id integer"], rejects={"rows_max": 1})
    rows += output("one", when="id = 1") + output("two", when="id = 2")
    text = package("t.duckdb", rows)
    path = inrush.write("package.toml", text)
    (reject,) = inrush("run", path).expect(LOADED_WITH_REJECTS).rejects()
    lines = text.splitlines()
    line = next(at for at, line in enumerate(lines) if "id = 1" in line)
    column = lines[line].index('"id = 1"')
    place = f"package.toml:{line + 1}:{column + 1}"
    assert "no `when` is true for it (the first one is in " in reject["reason"]
    assert f"{place}); correct the row" in reject["reason"]


def test_columns_that_mean_the_same_name_are_shown_in_the_package(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,ID\n1,2\n")
    columns = ["id bigint", '"ID" bigint']
    text = package("t.duckdb", flow("loaded", "rows.csv", columns=columns))
    outcome = inrush("check", inrush.write("package.toml", text))
    outcome.expect(USAGE, "the files have the column `ID` twice, in two spellings")
    (place,) = re.findall(r"package\.toml:(\d+):(\d+)", outcome.said)
    line, column = map(int, place)
    assert text.splitlines()[line - 1][column - 1 :] == literal(columns)


def test_names_of_columns_are_compared_without_case(inrush: Inrush) -> None:
    """`on`, `distinct_on` and `unpivot` name columns as expressions do."""
    inrush.write("rows.csv", "id,q1,q2\n1,5,6\n1,7,8\n2,9,\n")
    inrush.write("names.csv", "no,name\n1,one\n2,two\n")
    columns = ["id bigint", "q1 bigint", "q2 bigint"]
    rows = (
        flow("loaded", "rows.csv", columns=columns)
        + step(distinct_on=["ID"])
        + step(lookup=FILE, on={"Id": "no"}, take={"name": "name"})
        + step(unpivot={"columns": ["Q1", "q2"], "name": "quarter", "value": "amount"})
        + step(where="AMOUNT IS NOT NULL")
    )
    inrush("run", inrush.write("package.toml", package("t.duckdb", rows))).expect(0)
    with opened(inrush.folder / "t.duckdb") as database:
        found = database.execute("SELECT * FROM loaded ORDER BY ALL").fetchall()
    assert found == [(1, "one", "q1", 5), (1, "one", "q2", 6), (2, "two", "q1", 9)]
