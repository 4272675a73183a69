"""Errors of steps are found by the plan, and name the line in the package and the fix."""

from __future__ import annotations

from typing import Any, NamedTuple

import duckdb
import pytest

from harness.command import FAILED, USAGE, Inrush
from harness.packages import flow, package, step

COLUMNS = ["id bigint", "word text"]
FILE = {"files": "names.csv", "columns": ["no bigint", "name text"]}
TABLE = {"connection": "target", "table": "names"}


class Fault(NamedTuple):
    """A step, the text of the package that is marked, the exit status, and what is said."""

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
        lookup({**FILE, "files": "empty.csv"}), "lookup", USAGE, ("no row with a key", "fill it")
    ),
    "empty table": Fault(
        lookup({**TABLE, "where": "no > 5"}), "lookup", USAGE, ("no row with a key",)
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
    "decimal": Fault(
        {"derive": {"number": "CAST(id AS DECIMAL(5,2))"}},
        "CAST",
        USAGE,
        ("`number` has the type DECIMAL(5,2)", "INTEGER", "none of its values", "AS BIGINT"),
    ),
    "zone": Fault(
        {"derive": {"moment": "to_timestamp(id)"}},
        "to_timestamp",
        USAGE,
        ("`moment` has the type", "none of its values fit", "timezone('UTC', x)"),
    ),
    "boolean": Fault(
        {"derive": {"number": "id > 1"}}, "id > 1", USAGE, ("which holds booleans", "boolean")
    ),
    "no column": Fault(
        {"derive": {"numbr": "1"}}, '"1"', USAGE, ("no such column", "did you mean `number`")
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_a_step_has_its_place(inrush: Inrush, kind: str) -> None:
    fault = FAULTS[kind]
    inrush.write("rows.csv", "id,word\n1,a\n")
    inrush.write("names.csv", "no,name\n1,a\n")
    inrush.write("empty.csv", "no,name\n")
    with duckdb.connect(str(inrush.folder / "t.duckdb")) as database:
        database.execute("CREATE TABLE names AS SELECT 1 AS no, 'a' AS name")
        database.execute(
            "CREATE TABLE loaded (id bigint, word text, number int, moment timestamp, name text)"
        )
    rows = flow("loaded", "rows.csv", columns=COLUMNS, mode="append") + step(**fault.said)
    text = package("t.duckdb", rows)
    path = inrush.write("package.toml", text)
    lines = [at for at, line in enumerate(text.splitlines(), 1) if fault.marked in line]
    outcome = inrush("check", path)
    outcome.expect(fault.status, "step 1", *fault.says)
    assert f"package.toml:{lines[-1]}:" in outcome.said, (lines, outcome.said)


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
    with duckdb.connect(str(inrush.folder / "t.duckdb")) as database:
        found = database.execute("SELECT * FROM loaded ORDER BY ALL").fetchall()
    assert found == [(1, "one", "q1", 5), (1, "one", "q2", 6), (2, "two", "q1", 9)]
