"""Steps of a flow: every destination gets the same rows, and every row is accounted for.

The expected rows, rejects and counts are computed here, in plain Python.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row, canonical
from conformance.destinations import Place, in_order
from conformance.job import HEADER, TABLE, Record, line, record
from conformance.test_account import assert_adds_up
from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.packages import flow, step

COLUMNS = ["id integer not null", "note text", "price numeric(15,2)", "at timestamp"]
# The columns of the target: those of the files, then the derived ones in the order of the steps.
TYPES = (
    "integer",
    "text",
    "numeric(15,2)",
    "timestamp",
    "numeric(18,2)",
    "text",
    "integer",
    "integer",
)
STEPS = (
    step(derive={"gross": "price * 2", "label": "upper(left(note, 6))"})
    + step(derive={"half": "id // (id % 7)", "number": "CAST(substr(note, 6, 2) AS INTEGER)"})
    + step(where="id % 10 <> 3")
    + step(check="price < 900 OR id % 5 <> 0", name="large prices are not round")
    + step(check="gross >= 100", name="not too small", else_="warn")
)


@dataclass
class Expected:
    """The rows that the target must have, and the rejects."""

    rows: list[Row] = field(default_factory=list)
    # The number of the row, the column and the code of each reject.
    rejects: list[tuple[int, str | None, str]] = field(default_factory=list)
    filtered: int = 0
    warned: int = 0


def note(number: int) -> str:
    """Return a text whose sixth and seventh characters are mostly a number."""
    return f"note {number % 100:02}" if number % 11 else f"note x{number}"


def records(count: int) -> list[Record]:
    """Return the records of the files."""
    return [(*(record(number)[:1]), note(number), *record(number)[2:]) for number in range(count)]


def through_steps(given: list[Record]) -> Expected:
    """Pass records through the steps, in plain Python."""
    expected = Expected()
    for id_text, note_text, price_text, at in given:
        number, price = int(id_text), Decimal(price_text)
        if number % 7 == 0:
            # The expressions of a step are evaluated in the order of their names.
            expected.rejects.append((number, "half", "step_failed"))
            continue
        if not note_text[5:7].isdecimal():
            expected.rejects.append((number, "number", "step_failed"))
            continue
        if number % 10 == 3:
            expected.filtered += 1
            continue
        if price >= 900 and number % 5 == 0:
            expected.rejects.append((number, None, "check_failed"))
            continue
        gross = price * 2
        expected.warned += gross < 100
        values = (
            id_text,
            note_text,
            price_text,
            at,
            str(gross),
            note_text[:6].upper(),
            str(number // (number % 7)),
            str(int(note_text[5:7])),
        )
        pairs = zip(TYPES, values, strict=True)
        expected.rows.append(tuple(canonical(*pair) for pair in pairs))
    return expected


@dataclass
class SteppedJob:
    """A load with steps, and its expected result."""

    place: Place
    inrush: Inrush
    package: Path
    expected: Expected

    def run(self, *words: str) -> Outcome:
        return self.inrush("run", self.package, *words)

    def assert_done(self, outcome: Outcome) -> None:
        expected = self.expected
        assert self.place.rows(TABLE, TYPES) == in_order(expected.rows)
        account = outcome.report["account"]
        assert_adds_up(account)
        assert account["rows_loaded"] == len(expected.rows)
        assert account["rows_filtered"] == expected.filtered
        assert account["rows_rejected"] == len(expected.rejects)

    def rejects(self, outcome: Outcome) -> list[tuple[int, str | None, str]]:
        """Return the row's number, the column and the code of each kept reject."""
        found = []
        for reject in outcome.rejects():
            part = int(reject["file"].split(".")[1])
            # The first line is the header.
            number = part * 500 + reject["line"] - 2
            found.append((number, reject["column"], reject["code"]))
        return sorted(found)


@pytest.fixture
def job(place: Place, inrush: Inrush) -> SteppedJob:
    """Return a load of three files with 500 rows each."""
    given = records(1_500)
    for part in range(3):
        text = "".join(map(line, given[part * 500 : (part + 1) * 500]))
        inrush.write(f"part.{part}.csv", HEADER + text)
    settings: dict[str, Any] = {"columns": COLUMNS, "rejects": {"rows_max": 1_000}}
    text = place.package(flow(TABLE, "part.*.csv", **settings) + STEPS, batch_rows=100)
    return SteppedJob(place, inrush, inrush.write("package.toml", text), through_steps(given))


@pytest.mark.clause("D-32")
def test_every_row_goes_through_the_steps_and_into_the_account(job: SteppedJob) -> None:
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    job.assert_done(outcome)
    expected = job.expected
    assert job.rejects(outcome) == expected.rejects
    (table,) = outcome.report["tables"]
    steps = table["steps"]
    assert [step["step"] for step in steps] == ["derive", "derive", "where", "check", "check"]
    rows = 1_500
    for each in steps:
        assert each["rows_in"] == rows, each
        rows = each["rows_out"]
        assert each["rows_in"] == rows + each["filtered"] + each["rejected"], each
    assert rows == len(expected.rows)
    assert steps[2]["filtered"] == expected.filtered
    assert steps[4]["warned"] == expected.warned
    assert "not too small" in "".join(outcome.report["notes"])
    for reject in outcome.rejects():
        match reject["column"]:
            case "half":
                assert "Division by zero" in reject["reason"]
                assert reject["value"] == str(int(reject["value"])), "the number that was divided"
            case "number":
                assert "Could not convert string" in reject["reason"]
                assert reject["value"].startswith("note x")
            case _:
                assert "large prices are not round" in reject["reason"]
                assert ", price = " in reject["value"]


@pytest.mark.clause("D-23")
@pytest.mark.parametrize("point", ["in_copy:2", "before_unit_commit", "after_unit_commit"])
def test_a_load_that_is_killed_ends_with_the_same_rows(job: SteppedJob, point: str) -> None:
    died = job.inrush("run", job.package, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    job.assert_done(outcome)
    assert job.rejects(outcome) == job.expected.rejects


def test_other_steps_are_another_load(job: SteppedJob) -> None:
    """Units that were loaded through other steps are not kept."""
    died = job.inrush("run", job.package, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    text = job.package.read_text()
    assert "price * 2" in text
    job.package.write_text(text.replace("price * 2", "price + price"))
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    assert not any(unit["kept"] for unit in outcome.report["units"])
    types = list(TYPES)
    types[4] = "numeric(16,2)"
    assert job.place.rows(TABLE, types) == in_order(job.expected.rows)


def test_a_check_can_fail_the_load(place: Place, inrush: Inrush) -> None:
    inrush.write("rows.csv", HEADER + "".join(map(line, records(50))))
    steps = step(check="id < 40", else_="fail", name="ids are small")
    text = place.package(flow(TABLE, "rows.csv", columns=COLUMNS) + steps)
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(REJECT_LIMIT, "ids are small", "rows.csv:42", "nothing was switched")
    assert not place.rows(TABLE, TYPES[:4])


@pytest.mark.clause("D-32")
def test_columns_of_the_target_decide_what_is_loaded(place: Place, inrush: Inrush) -> None:
    """Columns that only steps use are read; a column of the target may be filled by steps alone."""
    inrush.write("before.csv", "id,total,kind\n0,0.50,x\n")
    words = ("--table", TABLE, "--columns", "id integer, total numeric(12,2), kind text")
    inrush("load", "before.csv", *place.words, *words).expect(CLEAN)
    inrush.write("rows.csv", "id,price,quantity\n1,1.25,3\n2,99999999.99,9999\n3,0.10,\n")
    columns = ["id integer", "price numeric(12,2)", "quantity integer"]
    steps = step(derive={"doubled": "quantity * 2"}, load=False) + step(
        derive={"total": "price * quantity", "kind": "'n' || doubled"}
    )
    settings: dict[str, Any] = {"columns": columns, "mode": "append", "rejects": {"rows_max": 5}}
    text = place.package(flow(TABLE, "rows.csv", **settings) + steps)
    package = inrush.write("package.toml", text)
    checked = inrush("check", package).expect(CLEAN).output
    assert "read for the steps, and not loaded: price, quantity" in checked
    assert "derive total" in checked
    outcome = inrush("run", package).expect(LOADED_WITH_REJECTS)
    types = ("integer", "numeric(12,2)", "text")
    assert place.rows(TABLE, types) == in_order(
        [("0", "0.5", "x"), ("1", "3.75", "n6"), ("3", None, None)]
    )
    (reject,) = outcome.rejects()
    assert (reject["line"], reject["column"]) == (3, "total")
    assert reject["code"] == "out_of_range"


@pytest.mark.clause("D-32")
def test_infinite_times_stay_infinite_in_a_column_of_another_type(
    place: Place, inrush: Inrush
) -> None:
    """In a batch, infinity is a number that a reader of Arrow would take for an ordinary day."""
    inrush.write("before.csv", "id,day_text,time_text\n0,x,y\n")
    words = ("--table", TABLE, "--columns", "id integer, day_text text, time_text text")
    inrush("load", "before.csv", *place.words, *words).expect(CLEAN)
    rows = ["1,infinity,-infinity", "2,-infinity,infinity", "3,2024-01-31,2024-01-31 10:00:00"]
    inrush.write("rows.csv", "id,day,moment\n" + "\n".join(rows))
    columns = ["id integer", "day date", "moment timestamp"]
    steps = step(derive={"day_text": "day", "time_text": "moment"})
    text = place.package(flow(TABLE, "rows.csv", columns=columns, mode="append") + steps)
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    expected = [("0", "x", "y"), *(tuple(row.split(",")) for row in rows)]
    assert place.rows(TABLE, ("integer", "text", "text")) == in_order(expected)


def test_null_is_checked_after_the_steps(place: Place, inrush: Inrush) -> None:
    """A step may filter rows whose values the target does not allow."""
    inrush.write("rows.csv", "id,note\n1,a\n,b\n3,c\n,d\n")
    columns = ["id integer not null", "note text"]
    settings: dict[str, Any] = {"columns": columns, "rejects": {"rows_max": 5}}
    steps = step(where="id IS NOT NULL OR note = 'd'")
    text = place.package(flow(TABLE, "rows.csv", **settings) + steps)
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    assert place.rows(TABLE, ("integer", "text")) == [("1", "a"), ("3", "c")]
    (reject,) = outcome.rejects()
    assert (reject["line"], reject["column"], reject["code"]) == (5, "id", "null_not_allowed")
    assert outcome.report["account"]["rows_filtered"] == 1


def test_corrected_rejects_go_through_the_same_steps(job: SteppedJob) -> None:
    job.run().expect(LOADED_WITH_REJECTS)
    (folder,) = job.inrush.folder.glob("runs/*")
    mended = 0
    for path in folder.glob("rejects/*.rejects"):
        lines = path.read_text().splitlines(keepends=True)
        # A row whose note has no number gets one.
        corrected = [text.replace(",note x", ",note 5") for text in lines]
        mended += sum(text.startswith("11,") for text in lines)
        path.write_text("".join(corrected))
    assert mended == 1
    outcome = job.inrush("rejects", "replay", folder.name).expect(LOADED_WITH_REJECTS)
    rows = job.place.rows(TABLE, TYPES)
    assert rows is not None
    (again,) = [row for row in rows if row[0] == "11"]
    assert again[5:] == ("NOTE 5", "2", "51")
    for reject in outcome.rejects():
        assert reject["code"] in ("step_failed", "check_failed")


# Rows are distinct by two columns, one of them derived; the first step filters some of the rows.
DISTINCT = (
    step(where="id % 10 <> 3")
    + step(derive={"bucket": "id % 97 // 2"}, load=False)
    + step(distinct_on=["bucket", "price"])
    + step(check="id % 5 <> 0", name="no round numbers")
)


def distinct_records() -> list[Record]:
    """Return records; most have the same key as an earlier record in this or another file."""
    return [(str(n), f"row {n}", f"{n % 3}.50", "2024-01-01 00:00:00") for n in range(1_500)]


def through_distinct(given: list[Record]) -> Expected:
    """Keep the first record of each key, in the order of the files, in plain Python."""
    expected = Expected()
    seen: set[tuple[int, str]] = set()
    for id_text, note_text, price_text, at in given:
        number = int(id_text)
        key = (number % 97 // 2, price_text)
        if number % 10 == 3 or key in seen:
            expected.filtered += 1
            continue
        seen.add(key)
        if number % 5 == 0:
            expected.rejects.append((number, None, "check_failed"))
            continue
        values = (id_text, note_text, price_text, at)
        pairs = zip(TYPES[:4], values, strict=True)
        expected.rows.append(tuple(canonical(*pair) for pair in pairs))
    return expected


@pytest.fixture
def distinct_job(place: Place, inrush: Inrush) -> SteppedJob:
    """Return a load of three files, the last of which is the largest: it is loaded first."""
    given = distinct_records()
    borders = [0, 200, 500, 1_500]
    for part in range(3):
        text = "".join(map(line, given[borders[part] : borders[part + 1]]))
        inrush.write(f"part.{part}.csv", HEADER + text)
    settings: dict[str, Any] = {"columns": COLUMNS, "rejects": {"rows_max": 1_000}}
    text = place.package(flow(TABLE, "part.*.csv", **settings) + DISTINCT, batch_rows=100)
    expected = through_distinct(given)
    return SteppedJob(place, inrush, inrush.write("package.toml", text), expected)


def assert_distinct(job: SteppedJob, outcome: Outcome) -> None:
    expected = job.expected
    assert job.place.rows(TABLE, TYPES[:4]) == in_order(expected.rows)
    account = outcome.report["account"]
    assert_adds_up(account)
    assert account["rows_loaded"] == len(expected.rows)
    assert account["rows_filtered"] == expected.filtered
    first_lines = {0: 0, 1: 200, 2: 500}
    found = sorted(
        first_lines[int(reject["file"].split(".")[1])] + reject["line"] - 2
        for reject in outcome.rejects()
    )
    assert found == [number for number, *_ in expected.rejects]


@pytest.mark.clause("D-32")
def test_the_first_row_of_each_key_is_kept(distinct_job: SteppedJob) -> None:
    job = distinct_job
    outcome = job.run().expect(LOADED_WITH_REJECTS, "reading the keys of 1350 rows")
    assert_distinct(job, outcome)
    (table,) = outcome.report["tables"]
    step_report = table["steps"][2]
    assert step_report["step"] == "distinct_on"
    assert step_report["what"] == "bucket, price"
    kept = len(job.expected.rows) + len(job.expected.rejects)
    assert step_report["rows_out"] == kept
    assert step_report["filtered"] == step_report["rows_in"] - kept > 0


@pytest.mark.clause("D-23")
@pytest.mark.parametrize("point", ["in_copy:2", "before_unit_commit", "after_unit_commit"])
def test_a_load_of_distinct_rows_that_is_killed_ends_with_the_same_rows(
    distinct_job: SteppedJob, point: str
) -> None:
    """After a stop, rows of kept units may no longer be the first of their keys."""
    job = distinct_job
    died = job.inrush("run", job.package, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    assert_distinct(job, outcome)


# Two columns, one of them derived, become rows; later steps reject, compare and filter the rows.
UNPIVOT = (
    step(derive={"double": "CAST(price * 2 AS DECIMAL(15,2))"}, load=False)
    + step(where="id % 10 <> 3")
    + step(unpivot={"columns": ["price", "double"], "name": "kind", "value": "amount"})
    + step(check="id % 5 <> 0 OR kind <> 'double'", name="no doubles of round numbers")
    + step(distinct_on=["id", "amount"])
    + step(where="amount < 900")
)
UNPIVOTED = ("integer", "text", "timestamp", "text", "numeric(15,2)")


def through_unpivot(given: list[Record]) -> Expected:
    """Make two rows of each record, in plain Python."""
    expected = Expected()
    for id_text, note_text, price_text, at in given:
        number, price = int(id_text), Decimal(price_text)
        if number % 10 == 3:
            expected.filtered += 1
            continue
        seen = set()
        for kind, amount in (("price", price), ("double", price * 2)):
            if number % 5 == 0 and kind == "double":
                expected.rejects.append((number, None, "check_failed"))
                continue
            if amount in seen or amount >= 900:
                expected.filtered += 1
                continue
            seen.add(amount)
            values = (id_text, note_text, at, kind, str(amount))
            pairs = zip(UNPIVOTED, values, strict=True)
            expected.rows.append(tuple(canonical(*pair) for pair in pairs))
    return expected


@pytest.fixture
def unpivot_job(place: Place, inrush: Inrush) -> SteppedJob:
    given = records(1_500)
    for part in range(3):
        text = "".join(map(line, given[part * 500 : (part + 1) * 500]))
        inrush.write(f"part.{part}.csv", HEADER + text)
    settings: dict[str, Any] = {"columns": COLUMNS, "rejects": {"rows_max": 1_000}}
    text = place.package(flow(TABLE, "part.*.csv", **settings) + UNPIVOT, batch_rows=100)
    expected = through_unpivot(given)
    return SteppedJob(place, inrush, inrush.write("package.toml", text), expected)


def assert_unpivoted(job: SteppedJob, outcome: Outcome) -> None:
    expected = job.expected
    assert job.place.rows(TABLE, UNPIVOTED) == in_order(expected.rows)
    account = outcome.report["account"]
    assert account["rows_loaded"] == len(expected.rows)
    assert account["rows_filtered"] == expected.filtered
    assert account["rows_rejected"] == len(expected.rejects)
    assert account["rows_added"] == 1_350
    ends = ("rows_loaded", "rows_rejected", "rows_skipped", "rows_filtered")
    assert account["rows_read"] + account["rows_added"] == sum(account[end] for end in ends)
    assert job.rejects(outcome) == expected.rejects


@pytest.mark.clause("D-32")
def test_columns_become_rows(unpivot_job: SteppedJob) -> None:
    job = unpivot_job
    outcome = job.run().expect(LOADED_WITH_REJECTS, "1,350 in + 1,350 added = 2,700 out")
    assert_unpivoted(job, outcome)
    (table,) = outcome.report["tables"]
    unpivot = table["steps"][2]
    assert (unpivot["step"], unpivot["what"]) == ("unpivot", "price, double")
    assert (unpivot["rows_in"], unpivot["added"], unpivot["rows_out"]) == (1_350, 1_350, 2_700)


@pytest.mark.clause("D-23")
@pytest.mark.parametrize("point", ["in_copy:2", "after_unit_commit"])
def test_a_load_of_unpivoted_columns_that_is_killed_ends_with_the_same_rows(
    unpivot_job: SteppedJob, point: str
) -> None:
    died = unpivot_job.inrush("run", unpivot_job.package, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    assert_unpivoted(unpivot_job, unpivot_job.run().expect(LOADED_WITH_REJECTS))
