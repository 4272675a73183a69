"""Rows that a constraint of the target refuses are rejects, exactly as in a load row by row."""

from __future__ import annotations

import os
import random
import signal
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance import abilities
from conformance.canonical import Row
from conformance.destinations import Place, PostgreSql15, PostgreSql18, in_order, quoted
from harness.command import FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.packages import Value, flow

TABLE = "guarded"
TYPES = ("integer", "text", "integer")
COLUMNS: list[Value] = ["id integer", "code text", "amount integer"]
HEADER = "id,code,amount\n"
BEFORE: list[Row] = [("1000", "before", "1"), ("1001", None, "1")]
FILES = 3
ROWS_OF_A_FILE = 250
CLAIMS = abilities.claims()
NAME = "reject refused rows"
# The three files are loaded twice.
OF_UNITS = ("before_unit_commit:5", "after_unit_commit:5")

# A row as its file writes it, and its file and line.
Line = tuple[tuple[str, str | None, str], str, int]


def lines(seed: int) -> list[Line]:
    """Return rows in file order; some share keys, some violate the CHECK, some both."""
    chance = random.Random(seed)  # noqa: S311
    found: list[Line] = []
    for part in range(FILES):
        for line in range(2, 2 + ROWS_OF_A_FILE):
            number = part * ROWS_OF_A_FILE + line
            of_other = chance.random() < 0.06
            id_ = chance.choice([1000, 1001, *range(2, number + 1)]) if of_other else number
            code: str | None = f"code {number}"
            if chance.random() < 0.06:
                code = chance.choice(["before", "Before", *(f"code {n}" for n in range(2, number))])
            if chance.random() < 0.1:
                code = None
            amount = -number if chance.random() < 0.03 else number
            found.append(((str(id_), code, str(amount)), f"rows.{part}.csv", line))
    return found


@dataclass
class Serial:
    """The result of loading the rows one by one."""

    place: Place
    rows: list[Row] = field(default_factory=list)
    # File, line and code of each reject.
    rejects: list[tuple[str, int, str]] = field(default_factory=list)

    def load(self, all_lines: list[Line]) -> None:
        ids = {row[0] for row in self.rows}
        codes = {self.place.in_unique_key(row[1]) for row in self.rows} - {None}
        for row, file, line in all_lines:
            code = self.place.in_unique_key(row[1])
            if int(row[2]) <= -1:
                self.rejects.append((file, line, "check_violated"))
            elif row[0] in ids or code in codes:
                self.rejects.append((file, line, "duplicate_key"))
            else:
                self.rows.append(row)
                ids.add(row[0])
                codes |= {code} - {None}


class Guarded:
    """A table with constraints, and a load into it."""

    def __init__(self, place: Place, inrush: Inrush, seed: int = 1) -> None:
        self.place = place
        self.inrush = inrush
        self.lines = lines(seed)
        for part in range(FILES):
            name = f"rows.{part}.csv"
            text = "".join(
                f"{row[0]},{'' if row[1] is None else row[1]},{row[2]}\n"
                for row, file, _ in self.lines
                if file == name
            )
            inrush.write(name, HEADER + text)
        place.execute(
            f"CREATE TABLE {TABLE} (id integer PRIMARY KEY, code text, amount integer "
            f"CONSTRAINT not_negative CHECK (amount >= 0 AND '(' <> ')'), UNIQUE (code))"
        )
        place.execute(f"INSERT INTO {TABLE} VALUES (1000, 'before', 1), (1001, NULL, 1)")

    def package(self, rows_max: int, mode: str = "append", **run: Any) -> Any:
        one = flow(TABLE, "rows.*.csv", columns=COLUMNS, mode=mode, rejects={"rows_max": rows_max})
        text = self.place.package(one, **{"batch_rows": 64, **run})
        return self.inrush.write("package.toml", text)

    def serial(self, mode: str = "append") -> Serial:
        serial = Serial(self.place, list(BEFORE) if mode == "append" else [])
        serial.load(self.lines)
        return serial

    @property
    def rows(self) -> list[Row] | None:
        return self.place.rows(TABLE, TYPES)

    def assert_serial(self, outcome: Outcome, mode: str = "append") -> None:
        """Fail unless rows and rejects equal those of a load row by row."""
        serial = self.serial(mode)
        assert self.rows == in_order(serial.rows)
        told = [
            (one["file"].rsplit("/", 1)[-1], one["line"], one["code"]) for one in outcome.rejects()
        ]
        assert told == serial.rejects
        account = outcome.report["account"]
        assert account["rows_read"] == len(self.lines)
        assert account["rows_rejected"] == len(serial.rejects)
        assert self.place.tables() == {TABLE}


@pytest.fixture
def guarded(place: Place, inrush: Inrush) -> Guarded:
    if not place.speaks_sql:
        assert NAME not in CLAIMS[place.title]
        pytest.skip("its tables have no constraints")
    return Guarded(place, inrush)


@pytest.mark.clause("D-20", "D-37")
@pytest.mark.parametrize("mode", ["append", "replace"])
@pytest.mark.parametrize("streams", [1, 3])
def test_rejects_are_those_of_a_load_row_by_row(guarded: Guarded, mode: str, streams: int) -> None:
    package = guarded.package(500, mode, streams=streams)
    if NAME not in CLAIMS[guarded.place.title]:
        guarded.inrush("run", package).expect(FAILED, "constraint")
        assert guarded.rows == in_order(BEFORE)
        return
    outcome = guarded.inrush("run", package).expect(LOADED_WITH_REJECTS)
    guarded.assert_serial(outcome, mode)
    for one in outcome.rejects():
        # PostgreSQL names the columns of a key only in the reason.
        assert one["column"] in (
            {"id", "code", None} if one["code"] == "duplicate_key" else {"amount", None}
        )
        assert one["reason"]
    guarded.inrush("run", package).expect(LOADED_WITH_REJECTS, "already loaded")


@pytest.mark.clause("D-37")
def test_past_the_limit_nothing_is_published(guarded: Guarded) -> None:
    count = len(guarded.serial().rejects)
    for limit in (0, count - 1):
        outcome = guarded.inrush("run", guarded.package(limit))
        outcome.expect(REJECT_LIMIT if NAME in CLAIMS[guarded.place.title] else FAILED)
        assert guarded.rows == in_order(BEFORE)
    if NAME in CLAIMS[guarded.place.title]:
        outcome = guarded.inrush("run", guarded.package(count)).expect(LOADED_WITH_REJECTS)
        guarded.assert_serial(outcome)


@pytest.mark.clause("D-23", "D-38")
@pytest.mark.parametrize("point", ["in_careful_copy", "in_careful_copy:7", *OF_UNITS])
def test_killed_in_a_careful_load(guarded: Guarded, point: str) -> None:
    if NAME not in CLAIMS[guarded.place.title]:
        pytest.skip("it has no careful loads")
    if point in OF_UNITS and isinstance(guarded.place, (PostgreSql15, PostgreSql18)):
        pytest.skip("it rejects such rows in the switch, and loads no unit again")
    package = guarded.package(500)
    died = guarded.inrush("run", package, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    assert guarded.rows == in_order(BEFORE)
    guarded.assert_serial(guarded.inrush("run", package).expect(LOADED_WITH_REJECTS))


@pytest.mark.clause("D-9", "D-37")
def test_rejects_of_both_kinds_in_one_batch(place: Place, inrush: Inrush) -> None:
    """Values that the types reject, and rows that a unique index refuses, each with its line."""
    if not place.speaks_sql or NAME not in CLAIMS[place.title]:
        pytest.skip("it has no careful loads")
    odd = 'odd "name'
    place.execute(f"CREATE TABLE {TABLE} (id integer, {quoted(odd)} text)")
    place.execute(f"CREATE UNIQUE INDEX once ON {TABLE} (id, {quoted(odd)})")
    inrush.write("rows.csv", 'id,"odd ""name"\n1,a\nx,a\n1,b\n1,a\n,a\n,a\n2,\n1,b\n')
    columns: list[Value] = ["id integer", '"odd ""name" text']
    one = flow(TABLE, "rows.csv", columns=columns, mode="append", rejects={"rows_max": 9})
    outcome = inrush("run", inrush.write("package.toml", place.package(one)))
    outcome.expect(LOADED_WITH_REJECTS)
    told = [(one["line"], one["code"]) for one in outcome.rejects()]
    # In some databases a NULL conflicts with another NULL.
    conflicts = place.in_unique_key(None) is not None
    again = [(7, "duplicate_key")] if conflicts else []
    assert told == [(3, "syntax"), (5, "duplicate_key"), *again, (9, "duplicate_key")]
    loaded = [("1", "a"), ("1", "b"), *[(None, "a")] * (1 if conflicts else 2), ("2", None)]
    assert place.rows(TABLE, ("integer", "text")) == in_order(loaded)


@pytest.mark.clause("D-20", "D-37")
def test_a_pipe_whose_rows_are_refused(guarded: Guarded) -> None:
    """A pipe's rows may be gone when the refusal comes, so the load fails or rejects the row."""
    pipe = guarded.inrush.folder / "feed.csv"
    os.mkfifo(pipe)
    one = flow(TABLE, pipe.name, columns=COLUMNS, mode="append", rejects={"rows_max": 1})
    package = guarded.inrush.write("pipe.toml", guarded.place.package(one))
    text = HEADER + "1,a,1\n1,b,2\n2,c,3\n"
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    outcome = guarded.inrush("run", package)
    writer.join()
    if outcome.status == LOADED_WITH_REJECTS:
        assert guarded.rows == in_order([*BEFORE, ("1", "a", "1"), ("2", "c", "3")])
        return
    outcome.expect(FAILED, "feed.csv" if NAME in CLAIMS[guarded.place.title] else "constraint")
    assert guarded.rows == in_order(BEFORE)
