"""Incremental loads: each row is loaded once, even if it is committed late or a run is killed."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import inrush as api
from conftest import SharedServer
from harness import polling
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.duckdb_files import opened
from harness.pauses import wait_until
from harness.servers import Database, Server

_numbers = itertools.count(1)


@pytest.fixture
def target(server: Server) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    database = server.create_database(f"since_{next(_numbers)}")
    yield database
    server.done_with(database)


TABLE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, v int NOT NULL, "
    "updated_at timestamptz NOT NULL DEFAULT now())"
)
OLD_ENOUGH = "SELECT max(updated_at) < now() - interval '1.6 seconds' FROM orders"
APPEND = 'mode = "append"'
UPSERT = 'mode = "upsert"\nkey = "id"'


def flow(table: str, mode: str, words: str = "", since: str = "") -> str:
    """Return a flow that loads what is new in a table."""
    range_ = f'since = {{ column = "updated_at"{since} }}'
    return f"""
[[flow]]
connection = "dw"
table = "{table}"
source = {{ connection = "crm", table = "{table}"{words}, {range_} }}
{mode}
"""


def package(source: Database, target: str, *flows: str) -> str:
    """Return a package with these flows."""
    return f"""
name = "feed"
[connections]
crm = {{ url = "{source.url}" }}
dw = {{ url = "{target}" }}
[run]
streams = 1
{"".join(flows)}
"""


def old(minutes: int) -> str:
    """Return the time this many minutes ago, in SQL."""
    return f"now() - interval '{minutes} minutes'"


def ids(database: Database) -> list[int]:
    """Return the ids of all rows, with duplicates."""
    return [row[0] for row in database.rows("SELECT id FROM orders ORDER BY id")]


@pytest.fixture
def feed(database: Database, target: Database, inrush: Inrush) -> Path:
    """Return a package that appends what is new, with rows 1 to 3 at its source."""
    database.execute(
        f"{TABLE}; INSERT INTO orders SELECT n, n, {old(60)} FROM generate_series(1, 3) AS n"
    )
    # The target has no key, so a row that is loaded twice is found.
    target.execute(TABLE.replace(" PRIMARY KEY", ""))
    return inrush.write("feed.toml", package(database, target.url, flow("orders", APPEND)))


def test_each_run_loads_what_is_new(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A second run finds nothing, a third the new rows; `status` says where the next run begins."""
    inrush("run", feed).expect(CLEAN, "the next run begins there")
    assert ids(target) == [1, 2, 3]
    inrush("status", feed).expect(CLEAN, "no stopped runs", "`updated_at` is before 20")
    inrush("run", feed).expect(CLEAN, "orders: nothing new since 20")
    inrush("check", feed).expect(CLEAN, "nothing new since", "nothing is left to do")
    mark = json.loads(inrush("status", feed, "--marks", "--json").expect(CLEAN).output)[0]
    # The new rows are above the mark, and old enough to be loaded at once.
    wait_until(database, f"SELECT now() > '{mark['below']}'::timestamptz + interval '1.1 seconds'")
    at = f"'{mark['below']}'::timestamptz"
    database.execute(
        f"INSERT INTO orders SELECT n, n, {at} FROM generate_series(4, 5) AS n;"
        f"UPDATE orders SET v = 10, updated_at = {at} WHERE id = 1"
    )
    outcome = inrush("run", feed).expect(CLEAN, "a row that was changed is added once more")
    assert outcome.report["account"]["rows_loaded"] == 3
    assert ids(target) == [1, 1, 2, 3, 4, 5]
    told = inrush("status", "--to", target.url, "--marks").expect(CLEAN, "updated_at", "orders")
    assert mark["below"] not in told.output


def killed(inrush: Inrush, *words: str | Path) -> None:
    """Run a package until the command kills itself at this step."""
    feed, step, *more = words
    outcome = inrush("run", feed, *more, environment={"INRUSH_FAULT": str(step)})
    assert outcome.status == -signal.SIGKILL, outcome.said


def test_a_row_that_is_committed_late_is_not_lost(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """The bound is the start of the oldest transaction, and the plan names its session."""
    with database.connect(autocommit=False) as writer:
        writer.execute("INSERT INTO orders (id, v) VALUES (4, 4)")
        began = "SELECT now() < clock_timestamp() - interval '1.1 seconds'"
        polling.until(lambda: writer.execute(began).fetchone() == (True,))
        database.execute("INSERT INTO orders (id, v) VALUES (5, 5)")
        pid = writer.info.backend_pid
        inrush("run", feed).expect(CLEAN, f"must wait for session {pid} of")
        assert ids(target) == [1, 2, 3]
        inrush("run", feed).expect(CLEAN, "nothing new since", f"session {pid} of")
    wait_until(database, "SELECT max(updated_at) < now() - interval '1.1 seconds' FROM orders")
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == [1, 2, 3, 4, 5]


def test_a_session_that_hides_its_transaction_is_not_overlooked(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """The server does not say when its transaction began, so its rows might be lost."""
    with database.connect() as hidden:
        hidden.execute("SET track_activities = off")
        words = f"session {hidden.info.backend_pid} has track_activities = off"
        inrush("run", feed).expect(FAILED, words, "lag = ")
    assert ids(target) == []


@pytest.mark.parametrize(
    ("fault", "is_switched"),
    [
        ("run_entered", False),
        ("after_unit_commit", False),
        ("before_switch_commit", False),
        ("after_switch_commit", True),
    ],
)
def test_a_killed_run_skips_and_doubles_nothing(
    database: Database, target: Database, inrush: Inrush, feed: Path, fault: str, is_switched: bool
) -> None:
    """The mark is committed with the rows, so the same command loads the rest or the next rows."""
    killed(inrush, feed, fault)
    assert ids(target) == ([1, 2, 3] if is_switched else [])
    database.execute(f"INSERT INTO orders VALUES (4, 4, {old(50)})" if not is_switched else "")
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == ([1, 2, 3] if is_switched else [1, 2, 3, 4])
    assert target.value("SELECT count(*) FROM pg_tables WHERE schemaname = 'inrush_staging'") == 0


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("kind", ["lake.duckdb", "postgresql"])
def test_a_stopped_run_keeps_its_rows_if_nothing_was_written(
    shared_server: SharedServer, inrush: Inrush, tmp_path: Path, is_written: bool, kind: str
) -> None:
    """The rows keep their bound; after any write there is a new bound, and all are loaded again."""
    # The ledger is on another server, because writing it would be a write to this server.
    here, there = shared_server(18), shared_server(15)
    number = next(_numbers)
    database = here.create_database(f"stopped_{number}")
    beside = there.create_database(f"stopped_{number}")
    database.execute(
        f"{TABLE} PARTITION BY RANGE (id);"
        "CREATE TABLE low PARTITION OF orders FOR VALUES FROM (MINVALUE) TO (1000);"
        "CREATE TABLE high PARTITION OF orders FOR VALUES FROM (1000) TO (MAXVALUE);"
        f"INSERT INTO orders SELECT n, n, {old(60)} FROM generate_series(1, 2000) AS n"
    )
    target = beside.url if kind == "postgresql" else kind
    made = inrush.write("made.csv", "id,v,updated_at\n0,0,2020-01-01 00:00:00+00\n")
    inrush("load", made, "--to", target, "--table", "orders").expect(CLEAN)
    feed = inrush.write("feed.toml", package(database, target, flow("orders", APPEND)))
    killed(inrush, feed, "before_switch")
    if is_written:
        database.execute("CREATE TABLE anything ()")
    outcome = inrush("run", feed).expect(CLEAN)
    is_kept = "nothing was written to the server of the source since" in outcome.said
    assert is_kept != is_written, outcome.said
    kept = [unit for unit in outcome.report["units"] if unit["kept"]]
    assert (len(kept) > 0) != is_written, outcome.report["units"]
    count = "SELECT count(*), count(DISTINCT id) FROM orders"
    if kind == "postgresql":
        assert beside.rows(count) == [(2001, 2001)]
    else:
        with opened(tmp_path / kind) as file:
            assert file.execute(count).fetchall() == [(2001, 2001)]
    inrush("run", feed).expect(CLEAN, "nothing new since")
    here.done_with(database)
    there.done_with(beside)


def test_a_program_says_where_a_run_begins(
    newest_database: Database, tmp_path: Path, inrush: Inrush
) -> None:
    """`inrush.run(..., from_=...)` takes a time with its zone, or a text."""
    database = newest_database
    database.execute(
        f"{TABLE}; CREATE SCHEMA dw;"
        "CREATE TABLE dw.orders (id bigint, v int, updated_at timestamptz);"
        f"INSERT INTO orders SELECT n, n, {old(60)} FROM generate_series(1, 3) AS n"
    )
    words = flow("orders", APPEND).replace('table = "orders"', 'table = "dw.orders"', 1)
    feed = inrush.write("feed.toml", package(database, database.url, words))
    runs = tmp_path / "runs"
    report = api.run(feed, runs_folder=runs)
    assert report.account.rows_loaded == 3
    moment = database.value(f"SELECT {old(90)}")
    assert api.run(feed, runs_folder=runs, from_=moment).account.rows_loaded == 3
    assert api.run(feed, runs_folder=runs, from_=moment.isoformat()).account.rows_loaded == 3
    assert database.value("SELECT count(*) FROM dw.orders") == 9
    with pytest.raises(ValueError, match="without a zone"):
        api.run(feed, runs_folder=runs, from_=moment.replace(tzinfo=None))
    with pytest.raises(api.InrushError, match="is after"):
        api.run(feed, runs_folder=runs, from_="2999-01-01")
    plain = '[[flow]]\nconnection = "dw"\nfiles = "x"\ntable = "x"'
    other = inrush.write("plain.toml", package(database, database.url, plain))
    with pytest.raises(api.InrushError, match="no flow of the package has it"):
        api.run(other, runs_folder=runs, from_="2026-01-01")


def test_a_value_that_is_given_is_the_mark(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """`--from` loads from this value on; after the switch, the same command loads nothing."""
    inrush("run", feed).expect(CLEAN)
    moment = database.value(f"SELECT {old(90)}").isoformat()
    killed(inrush, feed, "after_switch_commit", "--from", moment)
    assert ids(target) == [1, 1, 2, 2, 3, 3]
    inrush("run", feed, "--from", moment).expect(CLEAN, "killed before it wrote its report")
    assert ids(target) == [1, 1, 2, 2, 3, 3]
    inrush("run", feed, "--from", moment).expect(CLEAN, "the value of --from")
    assert ids(target) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    inrush("run", feed, "--from", "yesterday week").expect(USAGE, "yesterday week")
    inrush("run", feed, "--from", "infinity").expect(USAGE, "cannot begin at `infinity`")
    inrush("run", feed, "--from", "2999-01-01").expect(USAGE, "--from `2999-01-01` is after")
    inrush("run", feed, "--again").expect(USAGE, "--from VALUE")


def test_another_table_is_not_taken_for_the_target(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A target that was created again, or a flow with another source, is refused with the fix."""
    inrush("run", feed).expect(CLEAN)
    target.execute(f"DROP TABLE orders; {TABLE}")
    inrush("run", feed).expect(USAGE, "is not the table that run", "--from")
    inrush("run", feed, "--from", "2000-01-01").expect(CLEAN)
    assert ids(target) == [1, 2, 3]
    inrush.write(
        feed.name, feed.read_text().replace('table = "orders",', 'query = "TABLE orders",')
    )
    inrush("run", feed).expect(USAGE, "orders of", "up to 20", "--from")
    target.execute("DROP SCHEMA inrush CASCADE")
    inrush.write(feed.name, package(database, target.url, flow("orders", APPEND)))
    inrush("run", feed).expect(FAILED, "would append the same rows again")


def test_an_index_is_used(newest_database: Database, inrush: Inrush) -> None:
    """A few new rows of a large table are found by an index, and the whole table is not read."""
    newest_database.execute(
        f"{TABLE}; CREATE SCHEMA dw; CREATE TABLE dw.orders (LIKE orders);"
        f"INSERT INTO orders SELECT n, n, {old(60)} FROM generate_series(1, 20000) AS n;"
        "CREATE INDEX ON orders (updated_at); ANALYZE orders"
    )
    words = flow("orders", APPEND).replace('table = "orders"', 'table = "dw.orders"', 1)
    feed = inrush.write("feed.toml", package(newest_database, newest_database.url, words))
    first = inrush("run", feed).expect(CLEAN)
    assert "by an index" not in first.said
    newest_database.execute(
        f"INSERT INTO orders SELECT n, n, {old(0)} FROM generate_series(20001, 20007) AS n"
    )
    wait_until(
        newest_database, "SELECT max(updated_at) < now() - interval '1.1 seconds' FROM orders"
    )
    inrush("run", feed).expect(CLEAN, "the new rows of 1 table are found by an index")
    rows = "SELECT id, v, updated_at FROM {} ORDER BY id"
    assert newest_database.rows(rows.format("dw.orders")) == newest_database.rows(
        rows.format("orders")
    )


def test_an_empty_table_has_a_mark(newest_database: Database, inrush: Inrush) -> None:
    """A first run without rows counts, and the next run begins at its mark."""
    newest_database.execute(f"{TABLE}; CREATE SCHEMA dw; CREATE TABLE dw.orders (LIKE orders)")
    words = flow("orders", APPEND).replace('table = "orders"', 'table = "dw.orders"', 1)
    feed = inrush.write("feed.toml", package(newest_database, newest_database.url, words))
    inrush("run", feed).expect(CLEAN)
    inrush("run", feed).expect(CLEAN, "nothing new since")


@pytest.mark.parametrize("kind", ["lake.duckdb", "parquet:lake"])
def test_other_destinations_keep_the_mark(
    newest_database: Database, inrush: Inrush, kind: str
) -> None:
    """Every destination records the mark together with the rows."""
    database = newest_database
    database.execute(f"{TABLE}; INSERT INTO orders VALUES (1, 1, {old(60)})")
    made = inrush.write("made.csv", "id,v,updated_at\n0,0,2020-01-01 00:00:00+00\n")
    inrush("load", made, "--to", kind, "--table", "orders").expect(CLEAN)
    feed = inrush.write("feed.toml", package(database, kind, flow("orders", APPEND)))
    killed(inrush, feed, "before_switch")
    assert inrush("run", feed).expect(CLEAN).report["account"]["rows_loaded"] == 1
    inrush("run", feed).expect(CLEAN, "nothing new since")
    marks = json.loads(inrush("status", feed, "--marks", "--json").expect(CLEAN).output)
    assert [mark["column"] for mark in marks] == ["updated_at"]


BAD = [
    ("id", "", USAGE, "sequence are committed in any order"),
    ("plain", "", USAGE, "time zone of the session"),
    ("v::text", "", USAGE, "v::text"),
    ("nullable", "", FAILED, "1 of its rows have no value"),
    ("updated_at", ', lag = "-5 minutes"', FAILED, "`lag` of `since`"),
    ("updated_at", ', lag = "soon"', USAGE, "soon"),
    ("updated_at", ', lag = "5"', USAGE, '"5 minutes"'),
    ("updated_at", ', from = "some day"', USAGE, "some day"),
    ("unchecked", "", FAILED, "1 of its rows have no value"),
    ("endless", "", FAILED, '3 of its rows have infinity in "endless"'),
]


@pytest.mark.parametrize(
    ("column", "words", "status", "part"), BAD, ids=[f"{it[0]}{it[1]}" for it in BAD]
)
def test_what_may_lose_rows_is_refused(
    database: Database,
    target: Database,
    inrush: Inrush,
    feed: Path,
    column: str,
    words: str,
    status: int,
    part: str,
) -> None:
    """A column whose values do not say when rows were committed is refused with a message."""
    database.execute(
        "ALTER TABLE orders ADD plain timestamp, ADD nullable timestamptz, ADD endless timestamptz;"
        "UPDATE orders SET nullable = now() WHERE id > 1; UPDATE orders SET endless = 'infinity'"
    )
    if column == "unchecked":
        # A child whose rows need not keep the NOT NULL of its parent.
        made = "ALTER TABLE orders ADD unchecked timestamptz; CREATE TABLE c () INHERITS (orders);"
        database.execute(
            made
            + "INSERT INTO c (id, v) VALUES (9, 9); UPDATE ONLY orders SET unchecked = now();"
            + (
                "ALTER TABLE orders ADD CONSTRAINT nn NOT NULL unchecked NOT VALID"
                if database.server.version >= 18
                else "ALTER TABLE ONLY orders ALTER unchecked SET NOT NULL"
            )
        )
    text = flow("orders", APPEND, since=words).replace('"updated_at"', f'"{column}"')
    inrush.write(feed.name, package(database, target.url, text))
    inrush("run", feed).expect(status, part)
    assert ids(target) == []


def test_a_bound_that_nobody_knows_is_refused(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A user who cannot see transactions, or a view of old rows, is refused without `lag`."""
    database.execute(
        "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON orders TO reader;"
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM orders"
    )
    text = feed.read_text().replace(f"{database.server.user}@", "reader@", 1)
    inrush.write(feed.name, text)
    inrush("run", feed).expect(FAILED, "pg_read_all_stats", "lag = ")
    inrush.write(feed.name, text.replace('"updated_at"', '"updated_at", lag = "5 minutes"'))
    inrush("run", feed).expect(CLEAN, "more than 5 minutes after")
    assert ids(target) == [1, 2, 3]
    database.execute("DROP OWNED BY reader; DROP ROLE reader")
    words = flow("orders", APPEND).replace('table = "orders", since', 'table = "kept", since')
    inrush.write(feed.name, package(database, target.url, words).replace("feed", "other"))
    inrush("run", feed).expect(USAGE, "materialized view")
    limited = 'query = "SELECT * FROM orders LIMIT 2", since'
    words = flow("orders", APPEND).replace('table = "orders", since', limited)
    inrush.write(feed.name, package(database, target.url, words).replace("feed", "limited"))
    inrush("run", feed).expect(USAGE, "LIMIT", "leave `since` out")


@pytest.mark.parametrize("kind", ["column", "view"])
def test_a_time_that_is_rounded_down_is_not_lost(
    database: Database, target: Database, inrush: Inrush, feed: Path, kind: str
) -> None:
    """A column may round now() to a time before the transaction began, whose commit is late."""
    if kind == "column":
        database.execute("ALTER TABLE orders ALTER updated_at TYPE timestamptz(0)")
        written = "orders"
    else:
        database.execute(
            "ALTER TABLE orders RENAME TO stored;"
            "ALTER TABLE stored ALTER updated_at DROP DEFAULT;"
            "ALTER TABLE stored ALTER updated_at TYPE timestamp(0)"
            "  USING updated_at AT TIME ZONE 'UTC';"
            "ALTER TABLE stored ALTER updated_at SET DEFAULT now() AT TIME ZONE 'UTC';"
            "CREATE VIEW orders AS"
            "  SELECT id, v, updated_at AT TIME ZONE 'UTC' AS updated_at FROM stored"
        )
        written = "stored"
    with database.connect(autocommit=False) as writer:

        def begins_to_be_rounded_down() -> bool:
            writer.rollback()
            moment = writer.execute("SELECT date_part('second', now())::numeric % 1").fetchone()
            assert moment is not None
            return bool(0.1 < moment[0] < 0.45)

        polling.until(begins_to_be_rounded_down)
        writer.execute(f"INSERT INTO {written} (id, v) VALUES (4, 4)")
        rounded = writer.execute("SELECT updated_at < now() FROM orders WHERE id = 4").fetchone()
        assert rounded == (True,)
        started = writer.execute("SELECT now()::text").fetchone()
        assert started is not None
        wait_until(database, f"SELECT now() > '{started[0]}'::timestamptz + interval '1.1 seconds'")
        inrush("run", feed).expect(CLEAN, "must wait for session")
        assert ids(target) == [1, 2, 3]
        writer.commit()
    wait_until(database, OLD_ENOUGH)
    inrush("run", feed).expect(CLEAN)
    assert ids(target) == [1, 2, 3, 4]


def test_what_comes_later_behind_a_view_is_refused(
    database: Database, target: Database, inrush: Inrush, feed: Path
) -> None:
    """A materialized view behind a view, and a partition on another server, are named."""
    database.execute(
        "ALTER TABLE orders RENAME TO live;"
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM live;"
        "CREATE VIEW orders AS SELECT * FROM kept UNION ALL SELECT * FROM live"
    )
    inrush("run", feed).expect(USAGE, "the materialized view public.kept")
    database.execute(
        "DROP VIEW orders;"
        "CREATE TABLE parts (id bigint, v int, updated_at timestamptz) PARTITION BY RANGE (id);"
        "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER far FOREIGN DATA WRAPPER nothing;"
        "CREATE FOREIGN TABLE far_part PARTITION OF parts FOR VALUES FROM (1) TO (9) SERVER far;"
        "CREATE VIEW orders AS SELECT * FROM parts"
    )
    for table in ("orders", "parts"):
        text = flow("orders", APPEND).replace(
            'table = "orders", since', f'table = "{table}", since'
        )
        inrush.write(feed.name, package(database, target.url, text))
        inrush("run", feed).expect(USAGE, "the foreign table public.far_part")
    assert ids(target) == []


def test_words_that_contradict_are_refused(database: Database, inrush: Inrush) -> None:
    """The package is refused before a server is asked."""
    for text, part in [
        (flow("orders", 'mode = "replace"'), "rows of earlier runs must stay"),
        (flow("orders", APPEND + "\natomic = false"), "committed together"),
        (flow("orders", APPEND, ", stable = true"), "remove one of them"),
        (
            flow("orders", APPEND) + '[[flow]]\nconnection = "dw"\nfiles = "x.csv"\ntable = "x"',
            "a package of their own",
        ),
        (flow("orders", APPEND, since=', nulls = "first"'), "nulls"),
    ]:
        path = inrush.write("bad.toml", package(database, database.url, text))
        inrush("check", path).expect(USAGE, part)
    path = inrush.write(
        "plain.toml",
        package(database, database.url, '[[flow]]\nconnection = "dw"\nfiles = "x"\ntable = "x"'),
    )
    inrush("run", path, "--from", "2026-01-01").expect(USAGE, "no flow of the package has it")


# The number of rounds of the test below. Each is a run beside the writers, and a third of the runs
# are killed.
ROUNDS = int(os.environ.get("INRUSH_SINCE_ROUNDS", "12"))
SEED = int(os.environ.get("INRUSH_SINCE_SEED", "20261126"))
STEPS = [
    "run_entered",
    "after_unit_commit",
    "in_switch",
    "switch_commit_sent",
    "after_switch_commit",
]


def write(database: Database, random_: random.Random, first: int, ended: threading.Event) -> None:
    """Write in transactions that overlap each other, and are rolled back or committed late."""
    new = itertools.count(first)
    open_: list[psycopg.Connection[tuple[object, ...]]] = []
    pause = threading.Event()
    while not ended.is_set() or open_:
        if not ended.is_set() and len(open_) < 4:
            open_.append(database.connect(autocommit=False))
        writer = random_.choice(open_)
        for _ in range(random_.randrange(4)):
            number = next(new)
            writer.execute("INSERT INTO log (id, v) VALUES (%s, 0)", [number])
            writer.execute("INSERT INTO orders (id, v) VALUES (%s, 0)", [number])
            # Each thread writes only its own rows, so no two transactions wait for each other.
            writer.execute(
                "UPDATE orders SET v = v + 1, updated_at = clock_timestamp() WHERE id = "
                "(SELECT id FROM orders WHERE id = %s FOR UPDATE SKIP LOCKED)",
                [random_.randrange(first, number + 1)],
            )
        if random_.random() < 0.4 or ended.is_set():
            open_.remove(writer)
            (writer.rollback if random_.random() < 0.2 else writer.commit)()
            writer.close()
        pause.wait(random_.random() * 0.02)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_rows_of_late_writers_are_neither_lost_nor_doubled(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Runs are killed beside writers; in the end the target has each row once.

    `INRUSH_SINCE_ROUNDS` and `INRUSH_SINCE_SEED` set the number of rounds and the seed.
    """
    tables = f"{TABLE}; {TABLE.replace('orders', 'log')}"
    database.execute(tables)
    # The target has no key, so a row that is loaded twice is found.
    target.execute(f"{TABLE}; {TABLE.replace('orders', 'log').replace(' PRIMARY KEY', '')}")
    flows = flow("log", APPEND), flow("orders", UPSERT)
    feed = inrush.write("feed.toml", package(database, target.url, *flows))
    seeds = random.Random(SEED)  # noqa: S311
    ended = threading.Event()
    writers = []
    for number in range(1, 4):
        own = random.Random(seeds.random())  # noqa: S311
        words = (database, own, 1_000_000 * number, ended)
        writers.append(threading.Thread(target=write, args=words))
    for writer in writers:
        writer.start()
    try:
        for _ in range(ROUNDS):
            kill = seeds.choice(STEPS) if seeds.random() < 0.3 else None
            outcome = inrush("run", feed, environment={"INRUSH_FAULT": kill} if kill else None)
            # A run that finds nothing new reaches no step.
            assert outcome.status == CLEAN or kill, outcome.said
            assert outcome.status in (CLEAN, -signal.SIGKILL), outcome.said
            twice = "SELECT count(*) - count(DISTINCT id) FROM log"
            assert target.value(twice) == 0, f"seed {SEED}"
    finally:
        ended.set()
        for writer in writers:
            writer.join()
    late = "SELECT count(*) = 0 FROM {} WHERE updated_at > now() - interval '1.1 seconds'"
    wait_until(database, late.format("orders"))
    wait_until(database, late.format("log"))
    inrush("run", feed).expect(CLEAN)
    for table in ("log", "orders"):
        everything = f"SELECT id, v, updated_at FROM {table} ORDER BY id"
        assert target.rows(everything) == database.rows(everything), f"seed {SEED}, {table}"
    assert database.value("SELECT count(*) FROM log") > ROUNDS
