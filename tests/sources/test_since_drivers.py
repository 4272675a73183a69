"""Incremental loads by clock and `lag`, from databases that Inrush reads only by an ADBC driver.

PostgreSQL by ADBC is such a database, and so is DuckDB behind a server of Arrow Flight SQL.
"""

from __future__ import annotations

import datetime
import signal

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.servers import Database
from sources.flight_sql import FlightSql

TABLE = "CREATE TABLE orders (id int NOT NULL, v int NOT NULL, at {})"


@pytest.fixture
def target(newest_database: Database) -> Database:
    """Return a database whose table has no key, so that a row that is loaded twice is found."""
    newest_database.execute("CREATE SCHEMA dw; CREATE TABLE dw.orders (id int, at timestamptz)")
    return newest_database


@pytest.fixture
def source(database: Database) -> Database:
    """Return a database with an empty table, whose sessions are in a zone with an odd offset."""
    database.execute(TABLE.format("timestamptz"))
    database.execute(f"ALTER DATABASE {database.name} SET TimeZone = 'Asia/Kathmandu'")
    return database


def package(lake: str, target: Database, since: str, words: str = "") -> str:
    """Return a package that appends what is new."""
    read = f'connection = "lake", table = "orders", columns = ["id", "at"]{words}'
    return f"""
name = "feed"
[connections]
lake = {lake}
dw = {{ url = "{target.url}" }}
[run]
streams = 2
[[flow]]
connection = "dw"
table = "dw.orders"
source = {{ {read}, since = {{ column = "at"{since} }} }}
mode = "append"
"""


def by_adbc(source: Database) -> str:
    """Return the connection to a server through the ADBC driver."""
    return f'{{ url = "adbc:postgresql", options = {{ uri = "{source.url}" }} }}'


def ids(target: Database) -> list[int]:
    """Return the ids of all rows."""
    return [row[0] for row in target.rows("SELECT id FROM dw.orders ORDER BY id")]


def add(source: Database, number: int, ago: str) -> None:
    """Add a row whose time is this long ago."""
    source.execute(f"INSERT INTO orders VALUES ({number}, {number}, now() - interval '{ago}')")


KEY = ', split_by = "id", max_connections = 2'


@pytest.mark.parametrize("words", ["", KEY], ids=["one stream", "by key"])
def test_each_run_loads_what_is_older_than_the_lag(
    source: Database, target: Database, inrush: Inrush, words: str
) -> None:
    """Rows that are too new wait; a row that comes later with a time above the mark is loaded."""
    for number, ago in ((1, "2 hours"), (2, "61 minutes"), (3, "1 second")):
        add(source, number, ago)
    inrush.write("feed.toml", package(by_adbc(source), target, ', lag = "1 hour"', words))
    told = inrush("run", "feed.toml").expect(CLEAN, "the next run begins there")
    notes = "\n".join(told.report["notes"])
    assert "is never loaded (`lag`)" in notes
    assert "loads its rows again from the same mark" in notes
    assert ids(target) == [1, 2]
    inrush("run", "feed.toml").expect(CLEAN, "nothing new since")
    add(source, 4, "45 minutes")
    inrush.write("feed.toml", package(by_adbc(source), target, ', lag = "30 minutes"', words))
    inrush("run", "feed.toml").expect(CLEAN)
    assert ids(target) == [1, 2, 4]
    both = "SELECT id, at FROM {} WHERE id <> 3 ORDER BY id"
    assert target.rows(both.format("dw.orders")) == source.rows(both.format("orders"))
    inrush("status", "feed.toml").expect(CLEAN, "`at` is before 20")


def test_a_killed_run_loads_each_row_once(
    source: Database, target: Database, inrush: Inrush
) -> None:
    """Before the switch the mark does not move; after the switch nothing is loaded again."""
    for number in range(1, 9):
        add(source, number, f"{number} hours")
    inrush.write("feed.toml", package(by_adbc(source), target, ', lag = "5 minutes"'))
    for fault in ("in_copy", "before_switch_commit"):
        outcome = inrush("run", "feed.toml", environment={"INRUSH_FAULT": fault})
        assert outcome.status == -signal.SIGKILL, outcome.said
        add(source, 100 + len(fault), "30 minutes")
    outcome = inrush("run", "feed.toml", environment={"INRUSH_FAULT": "after_switch_commit"})
    assert outcome.status == -signal.SIGKILL, outcome.said
    inrush("run", "feed.toml").expect(CLEAN, "nothing new since")
    assert ids(target) == [*range(1, 9), 107, 120]


def test_a_start_and_a_condition(source: Database, target: Database, inrush: Inrush) -> None:
    """`from` and `--from` are times in UTC; `where` stays a separate condition."""
    days = ["2025-12-31 23:59:59.999999+00", "2026-01-01 00:00+00", "2026-02-01 00:00+00"]
    for number, day in enumerate(days, start=1):
        source.execute(f"INSERT INTO orders VALUES ({number}, {number}, '{day}')")
    since = ', lag = "0", from = "2026-01-01"'
    condition = ', where = "v = 1 OR v = 2"'
    inrush.write("feed.toml", package(by_adbc(source), target, since, condition))
    inrush("run", "feed.toml").expect(CLEAN)
    assert ids(target) == [2]
    whole = package(by_adbc(source), target, since).replace('"feed"', '"other"')
    inrush.write("other.toml", whole)
    inrush("run", "other.toml", "--from", "2026-01-15T00:00:00+05:45").expect(CLEAN)
    assert ids(target) == [2, 3]
    late = inrush("run", "other.toml", "--from", "2999-01-01")
    late.expect(USAGE, "--from `2999-01-01` is after", "give an earlier time")
    inrush("run", "other.toml", "--from", "soon").expect(USAGE, "cannot begin at `soon`")


def test_a_server_of_flight_sql(target: Database, inrush: Inrush) -> None:
    """DuckDB behind the server writes times in another way; partitions are read as usual."""
    now = datetime.datetime.now(datetime.timezone.utc)
    rows = (
        f"SELECT n::int AS id, n::int AS v, '{now}'::timestamptz - n * INTERVAL 1 minute AS at "
        "FROM range(100) AS g (n)"
    )
    server = FlightSql(rows, [0, 30, 100])
    server.database.execute("ALTER TABLE t RENAME TO orders")
    with server:
        uri = f"grpc://127.0.0.1:{server.port}"
        lake = f'{{ url = "adbc:flightsql", options = {{ uri = "{uri}" }} }}'
        inrush.write("feed.toml", package(lake, target, ', lag = "50 minutes"'))
        inrush("run", "feed.toml").expect(CLEAN)
        loaded = ids(target)
        # The clock advances while the test runs.
        assert loaded == list(range(loaded[0], 100))
        assert loaded[0] in range(40, 51)
        inrush("status", "feed.toml").expect(CLEAN, "`at` is before 20")


REFUSED = {
    "no lag": ("timestamptz", "", USAGE, ["needs `lag`", "lag = "]),
    "no unit": ("timestamptz", ', lag = "5"', USAGE, ["has no unit"]),
    "no time": ("timestamptz", ', lag = "a while"', USAGE, ["is not a length of time"]),
    "too long": ("timestamptz", ', lag = "9000000 days"', USAGE, ["is too long"]),
    "no zone": ("timestamp", ', lag = "0"', USAGE, ["time zone of the session", "timestamptz"]),
    "number": ("int", ', lag = "0"', USAGE, ["committed in any order"]),
    "text": ("text", ', lag = "0"', USAGE, ["does not say when"]),
}


@pytest.mark.parametrize(("kind", "since", "status", "parts"), REFUSED.values(), ids=REFUSED)
def test_what_may_lose_rows_is_refused(
    database: Database,
    target: Database,
    inrush: Inrush,
    kind: str,
    since: str,
    status: int,
    parts: list[str],
) -> None:
    """The message names the problem and the fix, and nothing is loaded."""
    database.execute(TABLE.format(kind))
    inrush.write("feed.toml", package(by_adbc(database), target, since))
    inrush("check", "feed.toml").expect(status, *parts)
    inrush("run", "feed.toml").expect(status, *parts)
    assert ids(target) == []


def test_rows_that_are_never_below_a_bound(
    source: Database, target: Database, inrush: Inrush
) -> None:
    """Rows without a time, or with an infinite one, are refused before anything is loaded."""
    add(source, 1, "1 hour")
    source.execute("INSERT INTO orders VALUES (2, 2, NULL), (3, 3, NULL)")
    inrush.write("feed.toml", package(by_adbc(source), target, ', lag = "0"'))
    told = ("2 of its rows have no value", 'nulls = "skip"')
    inrush("run", "feed.toml").expect(FAILED, *told)
    skipping = package(by_adbc(source), target, ', lag = "0", nulls = "skip"')
    inrush.write("feed.toml", skipping)
    outcome = inrush("run", "feed.toml").expect(CLEAN)
    assert "rows without a value in `at` are not loaded" in "\n".join(outcome.report["notes"])
    assert ids(target) == [1]
    source.execute("INSERT INTO orders VALUES (4, 4, 'infinity')")
    inrush("run", "feed.toml").expect(FAILED, "infinity", "never be loaded")
    assert ids(target) == [1]
