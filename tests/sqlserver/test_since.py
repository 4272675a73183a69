"""Incremental loads from SQL Server, by the server's clock and `lag`, on the double."""

from __future__ import annotations

import datetime
import signal

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.servers import Database
from sqlserver.double import Double

TABLE = "CREATE TABLE orders (id int NOT NULL, v int NOT NULL, at {} NULL)"


def package(double: Double, target: Database, since: str, words: str = "") -> str:
    """Return a package that appends what is new."""
    return f"""
name = "feed"
[connections]
crm = {{ url = "{double.url}" }}
dw = {{ url = "{target.url}" }}
[run]
streams = 1
[[flow]]
connection = "dw"
table = "orders"
source = {{ connection = "crm", table = "orders"{words}, since = {{ column = "at"{since} }} }}
mode = "append"
"""


def ago(**time: float) -> str:
    """Return a moment before the present, as SQL Server reads it."""
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**time)
    return f"'{moment:%Y-%m-%dT%H:%M:%S.%f}0+00:00'"


def make(double: Double, *statements: str) -> None:
    """Run statements in the double."""
    session = double.session()
    for statement in statements:
        session.execute(statement)
    session.close()


def added(number: int, at: str) -> str:
    """Return the statement that adds a row."""
    return f"INSERT INTO orders (id, v, at) VALUES ({number}, {number}, {at})"


@pytest.fixture
def target(newest_database: Database) -> Database:
    """Return a database whose table has no key, so that a row that is loaded twice is found."""
    newest_database.execute("CREATE TABLE orders (id int, v int, at timestamptz)")
    return newest_database


def ids(target: Database) -> list[int]:
    """Return the ids of all rows."""
    return [row[0] for row in target.rows("SELECT id FROM orders ORDER BY id")]


def test_each_run_loads_what_is_older_than_the_lag(
    inrush: Inrush, double: Double, target: Database
) -> None:
    """Rows that are too new wait; a row that comes later with a time above the mark is loaded."""
    make(double, TABLE.format("datetimeoffset(7)"))
    make(double, added(1, ago(hours=2)), added(2, ago(minutes=61)), added(3, ago(seconds=1)))
    inrush.write("feed.toml", package(double, target, ', lag = "1 hour"'))
    told = inrush("run", "feed.toml").expect(CLEAN, "the next run begins there")
    notes = "\n".join(told.report["notes"])
    assert "is never loaded (`lag`)" in notes
    assert "loads its rows again from the same mark" in notes
    assert ids(target) == [1, 2]
    inrush("run", "feed.toml").expect(CLEAN, "nothing new since")
    # The bound is now later than the mark: a lag of half an hour begins where the last run ended.
    make(double, added(4, ago(minutes=45)))
    inrush.write("feed.toml", package(double, target, ', lag = "30 minutes"'))
    inrush("run", "feed.toml").expect(CLEAN)
    assert ids(target) == [1, 2, 4]
    inrush("status", "feed.toml").expect(CLEAN, "`at` is before 20")


def test_a_killed_run_loads_each_row_once(inrush: Inrush, double: Double, target: Database) -> None:
    """Before the switch the mark does not move; after it nothing is loaded again."""
    make(double, TABLE.format("datetimeoffset(7)"))
    make(double, *(added(number, ago(hours=number)) for number in range(1, 9)))
    inrush.write("feed.toml", package(double, target, ', lag = "5 minutes"'))
    for fault in ("in_copy", "before_switch_commit"):
        outcome = inrush("run", "feed.toml", environment={"INRUSH_FAULT": fault})
        assert outcome.status == -signal.SIGKILL, outcome.said
        make(double, added(100 + len(fault), ago(minutes=30)))
    outcome = inrush("run", "feed.toml", environment={"INRUSH_FAULT": "after_switch_commit"})
    assert outcome.status == -signal.SIGKILL, outcome.said
    inrush("run", "feed.toml").expect(CLEAN, "nothing new since")
    assert ids(target) == [*range(1, 9), 107, 120]


def test_a_start_and_a_condition(inrush: Inrush, double: Double, target: Database) -> None:
    """`from` and `--from` are times in UTC; `where` stays a separate condition."""
    make(double, TABLE.format("datetimeoffset(7)"))
    days = ["2025-12-31T23:59:59.999999+00:00", "2026-01-01T00:00:00+00:00"]
    make(double, *(added(number, f"'{day}'") for number, day in enumerate(days, start=1)))
    make(double, added(3, "'2026-02-01T00:00:00+00:00'"))
    since = ', lag = "0", from = "2026-01-01"'
    words = ', where = "v = 1 OR v = 2"'
    inrush.write("feed.toml", package(double, target, since, words))
    inrush("run", "feed.toml").expect(CLEAN)
    assert ids(target) == [2]
    inrush("run", "feed.toml", "--from", "2025-12-01").expect(CLEAN)
    assert ids(target) == [1, 2, 2]
    inrush("run", "feed.toml", "--from", "yesterday").expect(USAGE, "cannot begin at `yesterday`")


REFUSED = {
    "no lag": ("datetimeoffset(7)", "", USAGE, "needs `lag`"),
    "no unit": ("datetimeoffset(7)", ', lag = "5"', USAGE, "has no unit"),
    "no time": ("datetimeoffset(7)", ', lag = "a while"', USAGE, "is not a length of time"),
    "no zone": ("datetime2(7)", ', lag = "5 minutes"', USAGE, "column of type datetimeoffset"),
    "a number": ("int", ', lag = "5 minutes"', USAGE, "numbers of a sequence"),
    "no value": ("datetimeoffset(7)", ', lag = "5 minutes"', FAILED, "1 of its rows have no value"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_lose_a_row_is_refused(
    inrush: Inrush, double: Double, target: Database, case: str
) -> None:
    """One message names the fix; rows without a value can be left out."""
    kind, since, status, says = REFUSED[case]
    make(double, TABLE.format(kind), added(1, "NULL"))
    inrush.write("feed.toml", package(double, target, since))
    inrush("run", "feed.toml").expect(status, says)
    assert ids(target) == []
    if case == "no value":
        inrush.write("feed.toml", package(double, target, since + ', nulls = "skip"'))
        told = inrush("run", "feed.toml").expect(CLEAN)
        assert "are not loaded" in "\n".join(told.report["notes"])
        assert ids(target) == []
