"""Rows of one source for several tables: each is in every table that takes it, or is reported once.

The expected rows of each table are computed here, in plain Python.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row
from conformance.destinations import Place, in_order
from conformance.job import HEADER, line
from conformance.test_account import assert_adds_up
from conformance.test_steps import (
    COLUMNS,
    STEPS,
    TYPES,
    UNPIVOT,
    UNPIVOTED,
    Expected,
    records,
    through_steps,
    through_unpivot,
)
from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush, Outcome
from harness.packages import flow, output, step

TABLES = ("thirds", "large", "rest")
WHENS = ("id % 3 = 0", "gross > 1000")
# The columns of the two conditions.
ID, GROSS = 0, 4


@dataclass
class OutputsJob:
    """A load into several tables, and its expected result."""

    place: Place
    inrush: Inrush
    package: Path
    tables: dict[str, list[Row]]
    # The rejects of reading and of the steps, and the rows that no output takes.
    rejects: list[tuple[int, str | None, str]]
    rows_read: int
    types: Sequence[str] = TYPES

    def run(self, *words: str) -> Outcome:
        return self.inrush("run", self.package, *words)

    def assert_done(self, outcome: Outcome) -> None:
        for table, rows in self.tables.items():
            assert self.place.rows(table, self.types) == in_order(rows), table
        assert self.place.tables() == set(self.tables)
        # All rejects are reported for the first table, so that no row is reported twice.
        for table in outcome.report["tables"]:
            account, name = table["account"], table["flow"]
            assert_adds_up(account)
            assert account["rows_read"] == self.rows_read
            assert account["rows_loaded"] == len(self.tables[name])
            is_first = name == TABLES[0]
            assert account["rows_rejected"] == (len(self.rejects) if is_first else 0)
        found = []
        for reject in outcome.rejects():
            part = int(reject["file"].split(".")[1])
            number = part * 500 + reject["line"] - 2
            found.append((number, reject["column"], reject["code"]))
        assert sorted(found) == sorted(self.rejects)


def takers(row: Row, *, each: bool, has_rest: bool) -> list[str]:
    """Return the tables that take a row."""
    holds = (int(str(row[ID])) % 3 == 0, float(str(row[GROSS])) > 1000)
    found = [table for table, is_true in zip(TABLES, holds, strict=False) if is_true]
    if each:
        return found + ["rest"] * has_rest
    return (found + ["rest"] * has_rest)[:1]


def made(
    place: Place,
    inrush: Inrush,
    *,
    each: bool = False,
    has_rest: bool = True,
    else_: str | None = None,
) -> OutputsJob:
    given = records(1_500)
    for part in range(3):
        text = "".join(map(line, given[part * 500 : (part + 1) * 500]))
        inrush.write(f"part.{part}.csv", HEADER + text)
    expected: Expected = through_steps(given)
    tables: dict[str, list[Row]] = {table: [] for table in (TABLES if has_rest else TABLES[:2])}
    rejects = list(expected.rejects)
    for row in expected.rows:
        own = takers(row, each=each, has_rest=has_rest)
        if not own and else_ != "filter":
            rejects.append((int(str(row[ID])), None, "check_failed"))
        for table in own:
            tables[table].append(row)
    settings: dict[str, Any] = {"columns": COLUMNS, "rejects": {"rows_max": 1_000}}
    if each:
        settings["each"] = True
    if else_ is not None:
        settings["else_"] = else_
    outputs = "".join(
        output(table, when=when) for table, when in zip(TABLES[:2], WHENS, strict=True)
    )
    outputs += output("rest") if has_rest else ""
    text = place.package(flow(None, "part.*.csv", **settings) + STEPS + outputs, batch_rows=100)
    package = inrush.write("package.toml", text)
    return OutputsJob(place, inrush, package, tables, rejects, len(given))


@pytest.mark.clause("D-12", "D-32")
@pytest.mark.parametrize("each", [False, True], ids=["first", "each"])
def test_each_row_is_in_the_tables_that_take_it(place: Place, inrush: Inrush, each: bool) -> None:
    job = made(place, inrush, each=each)
    assert all(job.tables.values())
    job.assert_done(job.run().expect(LOADED_WITH_REJECTS))
    job.run().expect(LOADED_WITH_REJECTS, "already loaded")


@pytest.mark.parametrize("else_", [None, "filter"])
def test_a_row_that_no_output_takes(place: Place, inrush: Inrush, else_: str | None) -> None:
    job = made(place, inrush, has_rest=False, else_=else_)
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    job.assert_done(outcome)
    untaken = [
        reject for reject in outcome.rejects() if "no output takes the row" in reject["reason"]
    ]
    assert (untaken == []) == (else_ == "filter")


@pytest.mark.clause("D-23")
@pytest.mark.parametrize("point", ["after_unit_commit:2", "before_switch_commit"])
def test_a_load_that_is_killed_ends_with_the_same_rows(
    place: Place, inrush: Inrush, point: str
) -> None:
    job = made(place, inrush)
    died = inrush("run", job.package, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    job.assert_done(job.run().expect(LOADED_WITH_REJECTS))


@pytest.mark.clause("D-12", "D-23", "D-32")
def test_rows_of_one_record_go_to_their_outputs(place: Place, inrush: Inrush) -> None:
    """The rows of a record go to different outputs or to none, also after a stop."""
    given = records(1_500)
    for part in range(3):
        text = "".join(map(line, given[part * 500 : (part + 1) * 500]))
        inrush.write(f"part.{part}.csv", HEADER + text)
    expected = through_unpivot(given)
    tables: dict[str, list[Row]] = {"thirds": [], "large": []}
    rejects = list(expected.rejects)
    for row in expected.rows:
        number, kind = int(str(row[0])), row[3]
        if kind == "double":
            tables["large"].append(row)
        elif number % 3 == 0:
            tables["thirds"].append(row)
        else:
            rejects.append((number, None, "check_failed"))
    assert all(tables.values())
    settings: dict[str, Any] = {"columns": COLUMNS, "rejects": {"rows_max": 2_000}}
    outputs = output("thirds", when="id % 3 = 0 AND kind = 'price'")
    outputs += output("large", when="kind = 'double'")
    text = place.package(flow(None, "part.*.csv", **settings) + UNPIVOT + outputs, batch_rows=100)
    package = inrush.write("package.toml", text)
    job = OutputsJob(place, inrush, package, tables, rejects, len(given), UNPIVOTED)
    died = inrush("run", job.package, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    job.assert_done(job.run().expect(LOADED_WITH_REJECTS))


def test_another_condition_is_another_load(place: Place, inrush: Inrush) -> None:
    """Units that were loaded with another condition are not kept."""
    job = made(place, inrush)
    died = inrush("run", job.package, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    text = job.package.read_text()
    job.package.write_text(text.replace("id % 3 = 0", "id % 3 = 0 AND true"))
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    assert not any(unit["kept"] for unit in outcome.report["units"])
    job.assert_done(outcome)


@pytest.mark.parametrize("each", [False, True], ids=["first", "each"])
def test_a_corrected_row_goes_to_its_output(place: Place, inrush: Inrush, each: bool) -> None:
    """A row that no output took may go to any; a row that a target refused goes only there."""
    inrush.write("rows.csv", "id,kind,note\n1,a,x\n2,b,y\n3,c,z\n4,b,\nx,b,v\n")
    settings: dict[str, Any] = {
        "columns": ["id bigint", "kind text", "note text"],
        "rejects": {"rows_max": 5},
        "each": each,
    }
    # The second target does not allow NULL.
    inrush.write("before.csv", "id,kind,note\n0,b,w\n")
    words = ("--table", "second", "--columns", "id bigint, kind text, note text not null")
    inrush("load", "before.csv", *place.words, *words).expect(CLEAN)
    text = place.package(
        flow(None, "rows.csv", **settings)
        + output("first", when="kind = 'a' OR id = 4")
        + output("second", when="kind = 'b' AND (id <> 4 OR note IS NULL)", mode="append"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    types = ("bigint", "text", "text")
    first: list[Row] = [("1", "a", "x"), ("4", "b", None)]
    second: list[Row] = [("0", "b", "w"), ("2", "b", "y")]
    assert place.rows("first", types) == in_order(first)
    assert place.rows("second", types) == in_order(second)
    (folder,) = inrush.folder.glob("runs/*test*")
    changes = {"3,c,z": "3,a,z", "x,b,v": "5,b,v", "4,b,": "6,b,w"}
    for path in folder.glob("rejects/*.rejects"):
        lines = path.read_text().splitlines()
        path.write_text("".join(f"{changes.get(text, text)}\n" for text in lines))
    if each:
        # The two kinds of rejects cannot be replayed together: with `each`, other targets may have
        # the rows that one target refused.
        inrush("rejects", "replay", folder.name).expect(USAGE, "may be in some targets", ".target.")
        copied = inrush.folder / "copy" / folder.name
        shutil.copytree(folder, copied)
        for path in copied.glob("rejects/*"):
            is_of_target = ".target." in path.name
            (folder / "rejects" / path.name if is_of_target else path).unlink()
        inrush("rejects", "replay", copied).expect(CLEAN)
    inrush("rejects", "replay", folder.name).expect(CLEAN)
    assert place.rows("first", types) == in_order([*first, ("3", "a", "z")])
    more: list[Row] = [("5", "b", "v"), ("6", "b", "w")] if each else [("5", "b", "v")]
    assert place.rows("second", types) == in_order([*second, *more])


def test_outputs_of_other_types_are_refused(place: Place, inrush: Inrush) -> None:
    inrush.write("before.csv", "id,note\n0,w\n")
    words = ("--table", "second", "--columns", "id text, note text")
    inrush("load", "before.csv", *place.words, *words).expect(CLEAN)
    inrush.write("rows.csv", "id,note\n1,a\n2,b\n")
    text = place.package(
        flow(None, "rows.csv", columns=["id integer", "note text"])
        + output("first", when="note = 'a'")
        + output("second", mode="append"),
    )
    package = inrush.write("package.toml", text)
    inrush("run", package).expect(USAGE, "reads the column `id` as", "the same type")
    assert place.tables() == {"second"}


def test_a_pipe_is_refused(place: Place, inrush: Inrush) -> None:
    os.mkfifo(inrush.folder / "rows.csv")
    text = place.package(
        flow(None, "rows.csv", columns=["id integer", "note text"], format={"header": False})
        + output("first", when="note = 'a'")
        + output("second"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(
        USAGE, "can be read only once", "write it to a file first"
    )


def test_steps_may_make_the_column_that_decides(place: Place, inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,note\n1,a-x\n2,b-y\n3,a-z\n")
    steps = step(derive={"kind": "split_part(note, '-', 1)"}, load=False)
    text = place.package(
        flow(None, "rows.csv", columns=["id integer", "note text"])
        + steps
        + output("first", when="kind = 'a'")
        + output("second", when="kind = 'b'"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    types = ("integer", "text")
    assert place.rows("first", types) == in_order([("1", "a-x"), ("3", "a-z")])
    assert place.rows("second", types) == in_order([("2", "b-y")])
