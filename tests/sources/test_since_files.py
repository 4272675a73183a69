"""Incremental loads from DuckDB and SQLite files.

Each row is loaded once, even if transactions are open or a run is killed.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.command import CLEAN, FAILED, USAGE, VERIFICATION, Inrush
from harness.duckdb_files import opened
from harness.servers import Database
from sources.test_since import APPEND, UPSERT, ids, killed

KINDS = ["duckdb", "sqlite"]
TABLE = "CREATE TABLE orders (id bigint PRIMARY KEY, v int NOT NULL, updated_at {})"


@dataclass
class Lake:
    """A file with the table `orders`."""

    kind: str
    path: Path

    def execute(self, *statements: str) -> None:
        """Run statements in one transaction."""
        if self.kind == "duckdb":
            with opened(self.path) as file:
                for statement in ("BEGIN", *statements, "COMMIT"):
                    file.execute(statement)
            return
        sqlite = self.connect()
        for statement in ("BEGIN", *statements, "COMMIT"):
            sqlite.execute(statement)
        sqlite.close()

    def connect(self) -> sqlite3.Connection:
        """Open the SQLite file, without implicit transactions of Python's module."""
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=60)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        if self.kind == "duckdb":
            with opened(self.path, read_only=True) as file:
                return file.execute(query).fetchall()
        sqlite = self.connect()
        rows = sqlite.execute(query).fetchall()
        sqlite.close()
        return rows

    def ago(self, minutes: float) -> str:
        """Return the time this many minutes ago, in SQL."""
        if self.kind == "duckdb":
            return f"now() - to_microseconds({round(minutes * 60_000_000)})"
        return f"strftime('%Y-%m-%d %H:%M:%f', 'now', '{-60 * minutes} seconds')"

    def insert(self, number: int, minutes: float) -> str:
        """Return the statement that adds a row whose time is this many minutes ago."""
        return f"INSERT INTO orders VALUES ({number}, {number}, {self.ago(minutes)})"

    @property
    def time_type(self) -> str:
        """The type of the column with the time."""
        return "TIMESTAMPTZ" if self.kind == "duckdb" else "DATETIME"

    @property
    def connection(self) -> str:
        """The connection of a package."""
        if self.kind == "duckdb":
            return f'{{ url = "duckdb:{self.path}" }}'
        return f'{{ url = "adbc:sqlite", options = {{ uri = "{self.path}" }} }}'

    def package(self, target: str, mode: str, since: str = "", words: str = "") -> str:
        """Return a package that loads what is new."""
        read = words or 'table = "orders"'
        return f"""
name = "feed"
[connections]
lake = {self.connection}
dw = {{ url = "{target}" }}
[run]
streams = 1
[[flow]]
connection = "dw"
table = "orders"
source = {{ connection = "lake", {read}, since = {{ column = "updated_at"{since} }} }}
{mode}
"""


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """Return a file with rows 1 to 3; the last row is an hour old, and the others are older."""
    made = Lake(request.param, tmp_path / f"lake.{request.param}")
    rows = [made.insert(number, 63 - number) for number in (1, 2, 3)]
    made.execute(TABLE.format(made.time_type), *rows)
    return made


@pytest.fixture
def target(newest_database: Database, lake: Lake) -> Database:
    """Return a database with the table, without a key: a row that is loaded twice is found."""
    kind = "timestamptz" if lake.kind == "duckdb" else "timestamp"
    newest_database.execute(f"CREATE TABLE orders (id bigint, v int, updated_at {kind})")
    return newest_database


@pytest.fixture
def feed(lake: Lake, target: Database, inrush: Inrush) -> Path:
    """Return a package that appends what is new."""
    return inrush.write("feed.toml", lake.package(target.url, APPEND))


def loaded(lake: Lake, *numbers: int) -> list[int]:
    """Return the rows that a run has loaded; for SQLite, without those with the greatest time."""
    return list(numbers if lake.kind == "duckdb" else numbers[:-1])


def test_each_run_loads_what_is_new(
    lake: Lake, target: Database, inrush: Inrush, feed: Path
) -> None:
    """The plan says why the bound is safe; rows of SQLite's greatest time wait for a later one."""
    words = {
        "duckdb": "no other program can write to the file while it is read",
        "sqlite": "a file of SQLite has one writer at a time",
    }
    inrush("check", feed).expect(CLEAN, words[lake.kind], "the next run begins there")
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == loaded(lake, 1, 2, 3)
    nothing = inrush("run", feed).expect(CLEAN, "orders: nothing new since 20")
    assert ("must wait for a commit after" in nothing.said) == (lake.kind == "sqlite")
    mark = json.loads(inrush("status", feed, "--marks", "--json").expect(CLEAN).output)[0]
    assert mark["column"] == "updated_at"
    change = f"UPDATE orders SET v = 10, updated_at = {lake.ago(50)} WHERE id = 1"
    lake.execute(change, lake.insert(4, 40))
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == ([1, 1, 2, 3, 4] if lake.kind == "duckdb" else [1, 1, 2, 3])
    inrush.write(feed.name, lake.package(target.url, APPEND, since=', lag = "5 minutes"'))
    outcome = inrush("run", feed).expect(CLEAN)
    assert ids(target) == [1, 1, 2, 3, 4]
    assert ("nothing new" in outcome.said) == (lake.kind == "duckdb")
    lake.execute(lake.insert(5, 4))
    inrush("run", feed).expect(CLEAN, "nothing new since")
    assert ids(target) == [1, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("fault", "is_switched"),
    [("after_unit_commit", False), ("before_switch_commit", False), ("after_switch_commit", True)],
)
def test_a_killed_run_skips_and_doubles_nothing(
    lake: Lake, target: Database, inrush: Inrush, feed: Path, fault: str, is_switched: bool
) -> None:
    """The mark moves with the rows, so the same command loads the rest or the next rows."""
    killed(inrush, feed, fault)
    assert ids(target) == (loaded(lake, 1, 2, 3) if is_switched else [])
    lake.execute(lake.insert(4, 50))
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == loaded(lake, 1, 2, 3, 4)


@pytest.mark.parametrize("is_written", [False, True])
def test_a_stopped_run_keeps_its_rows_if_nothing_was_written(
    lake: Lake, target: Database, inrush: Inrush, is_written: bool
) -> None:
    """The rows keep their bound, also with `lag`; after any write there is a new bound."""
    feed = inrush.write("feed.toml", lake.package(target.url, APPEND, since=', lag = "1 second"'))
    killed(inrush, feed, "before_switch")
    if is_written:
        lake.execute("CREATE TABLE anything (id int)")
    outcome = inrush("run", feed).expect(CLEAN)
    is_kept = "nothing was written to the file of the source since" in str(outcome.report["notes"])
    assert is_kept != is_written, outcome.report["notes"]
    kept = [unit for unit in outcome.report["units"] if unit["kept"]]
    assert (len(kept) > 0) != is_written, outcome.report["units"]
    assert ids(target) == [1, 2, 3]
    inrush("run", feed).expect(CLEAN, "nothing new since")


def test_a_stopped_run_is_not_resumed_with_other_rows_of_its_range(
    lake: Lake, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A write leaves the greatest time unchanged, but the same range has other rows."""
    killed(inrush, feed, "before_switch")
    lake.execute("UPDATE orders SET v = 10 WHERE id = 1")
    inrush("run", feed).expect(CLEAN)
    expected = [(1, 10), (2, 2), (3, 3)]
    assert target.rows("SELECT id, v FROM orders ORDER BY id") == expected[: len(ids(target))]
    assert ids(target) == loaded(lake, 1, 2, 3)


def test_changed_rows_are_merged(lake: Lake, target: Database, inrush: Inrush) -> None:
    """With `mode = "upsert"` a row that was changed replaces the row with its key."""
    target.execute("ALTER TABLE orders ADD PRIMARY KEY (id)")
    feed = inrush.write("feed.toml", lake.package(target.url, UPSERT, since=', lag = "9 minutes"'))
    inrush("run", feed).expect(CLEAN)
    inrush.write("feed.toml", lake.package(target.url, UPSERT, since=', lag = "1 second"'))
    lake.execute(f"UPDATE orders SET v = 10, updated_at = {lake.ago(1)} WHERE id = 2")
    inrush("run", feed).expect(CLEAN)
    assert target.rows("SELECT id, v FROM orders ORDER BY id") == [(1, 1), (2, 10), (3, 3)]


def test_a_value_that_is_given_is_the_mark(
    lake: Lake, target: Database, inrush: Inrush, feed: Path
) -> None:
    """`--from` loads from this value on; killed after the switch, it loads nothing more."""
    inrush("run", feed).expect(CLEAN)
    first = ids(target)
    killed(inrush, feed, "after_switch_commit", "--from", "2020-01-01")
    assert ids(target) == sorted(first * 2)
    inrush("run", feed, "--from", "2020-01-01").expect(CLEAN, "killed before it wrote its report")
    assert ids(target) == sorted(first * 2)
    # A time in UTC without a zone, and the same time with one.
    second = lake.rows("SELECT CAST(updated_at AS VARCHAR) FROM orders WHERE id = 2")[0][0]
    inrush("run", feed, "--from", str(second)).expect(CLEAN)
    assert ids(target) == sorted(first * 2 + first[1:])
    for bad in ("yesterday week", "12000-01-01", "now"):
        inrush("run", feed, "--from", bad).expect(USAGE, f"cannot begin at `{bad}`")
    inrush("run", feed, "--from", "2999-01-01").expect(USAGE, "--from `2999-01-01` is after")
    inrush("run", feed, "--again").expect(USAGE, "--from VALUE")


def test_a_time_to_come_does_not_move_the_mark(
    lake: Lake, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A row with a wrong year waits and is reported, and the rows before it are still loaded."""
    lake.execute(f"INSERT INTO orders VALUES (9, 9, {literal('2999-01-01 00:00:00')})")
    inrush("check", feed).expect(CLEAN, "after the present", "in 1 row")
    inrush("run", feed).expect(CLEAN)
    lake.execute(lake.insert(4, 50), lake.insert(5, 49))
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == loaded(lake, 1, 2, 3, 4, 5)


def literal(text: str) -> str:
    """Return a text literal of SQL."""
    return f"'{text}'"


def test_an_empty_table_has_a_mark(
    lake: Lake, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A first run without rows counts, and the next run loads from the first row."""
    lake.execute("DELETE FROM orders")
    inrush("run", feed).expect(CLEAN)
    inrush("run", feed).expect(CLEAN, "nothing new since")
    lake.execute(lake.insert(1, 50), lake.insert(2, 49))
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == loaded(lake, 1, 2)


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("lake", ["sqlite"], indirect=True)
def test_a_writer_of_the_greatest_time_is_not_lost(
    lake: Lake, target: Database, inrush: Inrush, feed: Path, journal: str
) -> None:
    """An open transaction has written a row with the greatest time that others see."""
    lake.execute("DELETE FROM orders")
    now = "datetime('now', '-9 minutes', 'start of day')"
    writer = lake.connect()
    writer.execute(f"PRAGMA journal_mode = {journal}")
    writer.execute(f"INSERT INTO orders VALUES (1, 1, datetime({now}, '-1 day'))")
    writer.execute(f"INSERT INTO orders VALUES (2, 2, {now})")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute(f"INSERT INTO orders VALUES (3, 3, {now})")
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == [1]
    writer.execute("COMMIT")
    inrush("run", feed).expect(CLEAN, "nothing new since", "must wait for a commit after")
    writer.execute("INSERT INTO orders VALUES (4, 4, datetime('now', '-1 minutes'))")
    writer.close()
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == [1, 2, 3]


BAD = [
    ("sqlite", "id", "", FAILED, '3 of its rows have a value in "id" that is not a time'),
    ("sqlite", "nullable", "", FAILED, "1 of its rows have no value"),
    ("sqlite", "nowhere", "", USAGE, "no such column"),
    ("sqlite", "updated_at", ', lag = "soon"', USAGE, '`lag = "soon"` of `since` gives no bound'),
    ("duckdb", "id", "", USAGE, "sequence are committed in any order"),
    ("duckdb", "plain", "", USAGE, "time zone of the session"),
    ("duckdb", "nullable", "", FAILED, "1 of its rows have no value"),
    ("duckdb", "nowhere", "", USAGE, "nowhere"),
    ("duckdb", "endless", "", FAILED, "3 of its rows have infinity, or a time outside"),
    ("duckdb", "updated_at", ', lag = "soon"', FAILED, "soon"),
    *[
        (kind, "updated_at", words, USAGE, part)
        for kind in KINDS
        for words, part in [
            (', lag = "-5 minutes"', "gives no bound"),
            (', lag = "5"', '"5 minutes"'),
            (', from = "some day"', "cannot begin at `some day`"),
        ]
    ],
]


@pytest.mark.parametrize(
    ("lake", "column", "words", "status", "part"),
    BAD,
    indirect=["lake"],
    ids=[f"{it[0]}-{it[1]}{it[2]}" for it in BAD],
)
def test_what_may_lose_rows_is_refused(
    lake: Lake, target: Database, inrush: Inrush, column: str, words: str, status: int, part: str
) -> None:
    """A column whose values do not say when rows were committed is refused with a message."""
    statements = [
        f"ALTER TABLE orders ADD COLUMN nullable {lake.time_type}",
        "ALTER TABLE orders ADD COLUMN plain TIMESTAMP",
        f"ALTER TABLE orders ADD COLUMN endless {lake.time_type}",
        f"UPDATE orders SET endless = 'infinity', nullable = {lake.ago(9)}",
        "UPDATE orders SET nullable = NULL WHERE id = 1",
    ]
    for statement in statements:
        # DuckDB changes the columns and the rows of a table in different transactions.
        lake.execute(statement)
    read = 'table = "orders", columns = ["id", "v", "updated_at"]'
    text = lake.package(target.url, APPEND, since=words, words=read)
    text = text.replace('column = "updated_at"', f'column = "{column}"')
    feed = inrush.write("feed.toml", text)
    inrush("run", feed).expect(status, part)
    assert ids(target) == []


def test_a_query_that_leaves_rows_out_is_refused(
    lake: Lake, target: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """Queries with a LIMIT, or with rows from another file, are refused."""
    queries = [(FAILED, "SELECT * FROM orders LIMIT 2", "LIMIT", "leave `since` out")]
    if lake.kind == "duckdb":
        (tmp_path / "more.csv").write_text("id,v,updated_at\n")
        more = f"SELECT id, v, updated_at::timestamptz AS updated_at FROM '{tmp_path}/more.csv'"
        queries.append(
            (USAGE, more, "not only those of the database's file", "later than their values")
        )
    for status, query, *parts in queries:
        text = lake.package(target.url, APPEND, words=f'query = "{query}"')
        inrush("run", inrush.write("feed.toml", text)).expect(status, *parts)
    query = "SELECT id, v, updated_at FROM orders WHERE v <> 2"
    text = lake.package(target.url, APPEND, words=f'query = "{query}", split_by = "id"')
    inrush("run", inrush.write("feed.toml", text)).expect(CLEAN)
    assert ids(target) == loaded(lake, 1, 3)


def test_rows_below_the_mark_are_compared(lake: Lake, inrush: Inrush, feed: Path) -> None:
    """SQLite's row with the greatest value waits; without `since` all rows are compared."""
    inrush("run", feed).expect(CLEAN)
    count = 3 if lake.kind == "duckdb" else 2
    inrush("verify", "--compare", feed).expect(CLEAN, f"{count} rows", "the mark) are equal")
    feed.write_text(feed.read_text().replace(', since = { column = "updated_at" }', ""))
    shown = inrush("verify", "--compare", feed)
    if lake.kind == "duckdb":
        shown.expect(CLEAN, "3 rows", "are equal")
    else:
        shown.expect(VERIFICATION, "1 only in the source")


# The number of rounds of the test below. Each is a run beside the writer, and a third of the runs
# are killed.
ROUNDS = int(os.environ.get("INRUSH_SINCE_ROUNDS", "8"))
SEED = int(os.environ.get("INRUSH_SINCE_SEED", "20261127"))
STEPS = ["after_unit_commit", "in_switch", "after_switch_commit"]


def write(lake: Lake, random_: random.Random, ended: threading.Event) -> None:
    """Write in transactions that stay open during runs, and some of which are rolled back."""
    file = lake.connect()
    new = itertools.count(1_000)
    pause = threading.Event()
    while not ended.is_set():
        file.execute("BEGIN IMMEDIATE")
        for _ in range(random_.randrange(1, 4)):
            number = next(new)
            file.execute("INSERT INTO orders VALUES (?, 0, CURRENT_TIMESTAMP)", [number])
            file.execute(
                "UPDATE orders SET v = v + 1, updated_at = CURRENT_TIMESTAMP WHERE id = ?",
                [random_.randrange(1_000, number + 1)],
            )
            pause.wait(random_.random() * 0.1)
        file.execute("ROLLBACK" if random_.random() < 0.2 else "COMMIT")
        pause.wait(random_.random() * 0.05)
    file.close()


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("lake", ["sqlite"], indirect=True)
def test_rows_of_a_writer_of_sqlite_are_neither_lost_nor_doubled(
    lake: Lake, target: Database, inrush: Inrush
) -> None:
    """Runs are killed beside a writer; in the end the target has each row once."""
    setting = lake.connect()
    setting.execute("PRAGMA journal_mode = wal")
    target.execute("ALTER TABLE orders ADD PRIMARY KEY (id)")
    text: Callable[..., str] = lambda since: lake.package(target.url, UPSERT, since=since)  # noqa: E731
    feed = inrush.write("feed.toml", text(""))
    seeds = random.Random(SEED)  # noqa: S311
    ended = threading.Event()
    own = random.Random(seeds.random())  # noqa: S311
    writer = threading.Thread(target=write, args=(lake, own, ended))
    writer.start()
    try:
        for _ in range(ROUNDS):
            kill = seeds.choice(STEPS) if seeds.random() < 0.3 else None
            outcome = inrush("run", feed, environment={"INRUSH_FAULT": kill} if kill else None)
            # A run that finds nothing new reaches no step.
            assert outcome.status == CLEAN or kill, outcome.said
            assert outcome.status in (CLEAN, -signal.SIGKILL), outcome.said
    finally:
        ended.set()
        writer.join()
    setting.close()
    # Nobody writes any more, so the last rows need not wait for later ones.
    inrush("run", inrush.write("feed.toml", text(', lag = "0"'))).expect(CLEAN)
    everything = "SELECT id, v, CAST(updated_at AS varchar(19)) FROM orders ORDER BY id"
    assert target.rows(everything) == [
        (number, v, str(at)[:19]) for number, v, at in lake.rows(everything)
    ], f"seed {SEED}"
    assert len(lake.rows("SELECT 1 FROM orders")) > ROUNDS
