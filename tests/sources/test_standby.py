"""Tables of a standby, which ends transactions that need rows that it has to remove."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from conftest import StartServer
from harness import servers
from harness.command import CLEAN, FAILED, Inrush
from harness.servers import Database, Server
from harness.standby import follow
from sources.test_postgres_tables import package

# A standby that waits for no snapshot: it removes the rows that the primary has removed.
IMPATIENT = servers.REPLICATING | {
    "max_standby_streaming_delay": "0",
    "hot_standby_feedback": "off",
}


@pytest.fixture(scope="module", params=servers.VERSIONS, ids=lambda version: f"pg{version}")
def primary(request: pytest.FixtureRequest, start_server: StartServer) -> Server:
    """Return a server that others may follow."""
    return start_server(request.param, IMPATIENT)


@pytest.fixture(scope="module")
def standby(primary: Server, servers_folder: Path) -> Iterator[Server]:
    """Return an impatient standby."""
    with follow(primary, servers_folder / f"impatient-{primary.version}") as one:
        yield one


_numbers = itertools.count(1)


@pytest.fixture
def tables(primary: Server, standby: Server) -> Iterator[Database]:
    """Return a database on the standby, whose tables the primary has filled."""
    database = primary.create_database(f"crm_{next(_numbers)}")
    database.execute(
        "CREATE TABLE a (id int, v text); CREATE TABLE b (LIKE a); CREATE TABLE other (id int);"
        "INSERT INTO a SELECT n, 'a' || n FROM generate_series(1, 20000) AS n;"
        "INSERT INTO b SELECT n, 'b' || n FROM generate_series(1, 20000) AS n;"
        "INSERT INTO other SELECT n FROM generate_series(1, 5000) AS n"
    )
    replayed(primary, standby)
    yield Database(standby, database.name)
    primary.done_with(database)
    replayed(primary, standby)


def replayed(primary: Server, standby: Server) -> None:
    """Wait until the standby has replayed all changes of the primary."""
    with primary.connect() as writer, standby.connect() as reader:
        # After a commit that waits for the disk, all earlier changes are written and can be
        # replayed.
        writer.execute(b"SET synchronous_commit = on")
        writer.execute(b"SELECT pg_logical_emit_message(true, '', '')")
        end = writer.execute(b"SELECT pg_current_wal_flush_lsn()").fetchall()[0][0]
        ahead = b"SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        stop = monotonic() + 60
        while not reader.execute(ahead, [end]).fetchall()[0][0]:
            assert monotonic() < stop, "the standby does not follow"


def remove_rows(primary: Server, tables: Database) -> None:
    """Remove rows of another table that older snapshots of the standby still need."""
    database = Database(primary, tables.name)
    database.execute("DELETE FROM other WHERE id % 2 = 0")
    database.execute("VACUUM other")
    replayed(primary, tables.server)


SUMS = "SELECT count(*), sum(id), min(v), max(v) FROM {}"


def copy(source: Database, target: Database) -> list[str]:
    """Return the command that copies both tables, one after the other."""
    both = ["copy", "--from", source.url, "--to", target.url, "--table", "a", "--table", "b"]
    return [*both, "--streams", "1"]


@pytest.mark.parametrize("fault", ["after_unit_commit", "in_copy"])
def test_a_copy_that_a_standby_ends_is_resumed(
    primary: Server,
    tables: Database,
    newest_database: Database,
    inrush: Inrush,
    fault: str,
) -> None:
    """The message names the setting and the fix, and the same command loads each row once."""
    words = copy(tables, newest_database)
    plan = ("is a standby with hot_standby_feedback = off", "max_standby_streaming_delay = 0")
    with inrush.stopped_by(f"stop:{fault}", *words) as running:
        remove_rows(primary, tables)
        running.resume()
        ended = running.wait()
    ended.expect(FAILED, "conflict with recovery", "hot_standby_feedback = on")
    assert newest_database.value("SELECT to_regclass('a') IS NULL AND to_regclass('b') IS NULL")
    inrush(*words).expect(CLEAN, *plan)
    for table in ("a", "b"):
        assert newest_database.rows(SUMS.format(table)) == tables.rows(SUMS.format(table))
    left = "SELECT count(*) FROM pg_tables WHERE schemaname = 'inrush_staging'"
    assert newest_database.value(left) == 0


def test_a_standby_with_feedback_ends_nothing(
    primary: Server, standby: Server, tables: Database, newest_database: Database, inrush: Inrush
) -> None:
    """With the setting of the message, the same removal of rows waits for the copy."""
    with standby.connect() as session:
        session.execute(b"ALTER SYSTEM SET hot_standby_feedback = on")
        session.execute(b"SELECT pg_reload_conf()")
    try:
        told = b"SELECT count(*) FROM pg_stat_replication WHERE backend_xmin IS NOT NULL"
        words = copy(tables, newest_database)
        with inrush.stopped_by("stop:after_unit_commit", *words) as running:
            with primary.connect() as session:
                stop = monotonic() + 60
                while session.execute(told).fetchall()[0][0] == 0:
                    assert monotonic() < stop, "the standby tells nothing"
            remove_rows(primary, tables)
            running.resume()
            ended = running.wait().expect(CLEAN)
        assert "hot_standby_feedback" not in ended.said
        assert newest_database.rows(SUMS.format("b")) == tables.rows(SUMS.format("b"))
    finally:
        with standby.connect() as session:
            session.execute(b"ALTER SYSTEM RESET hot_standby_feedback")
            session.execute(b"SELECT pg_reload_conf()")


def test_a_commit_that_the_snapshot_of_a_standby_does_not_tell(
    primary: Server, tables: Database, newest_database: Database, inrush: Inrush
) -> None:
    """The snapshot's text stays the same after a commit, but the new rows are loaded."""
    on_primary = Database(primary, tables.name)
    text = "SELECT pg_current_snapshot()::text"
    words = package(tables, newest_database, "a", 'table = "a"', mode='"replace"')
    inrush.write("copy.toml", words)
    with (
        on_primary.connect(autocommit=False) as older,
        on_primary.connect(autocommit=False) as late,
    ):
        older.execute("INSERT INTO other VALUES (0)")
        late.execute("UPDATE a SET v = 'changed' WHERE id % 2 = 0")
        on_primary.execute("INSERT INTO other VALUES (1)")
        replayed(primary, tables.server)
        before = tables.value(text)
        inrush("run", "copy.toml").expect(CLEAN, "two snapshots of a standby may be equal")
        # A commit that waits for the disk; `replayed` itself would need a transaction.
        late.execute("SET LOCAL synchronous_commit = on")
        late.commit()
        end = on_primary.value("SELECT pg_current_wal_flush_lsn()::text")
        stop = monotonic() + 60
        while not tables.value(f"SELECT pg_last_wal_replay_lsn() >= '{end}'::pg_lsn"):
            assert monotonic() < stop, "the standby does not follow"
        assert tables.value(text) == before
        inrush("run", "copy.toml").expect(CLEAN)
        older.rollback()
    assert newest_database.value("SELECT count(*) FROM a WHERE v = 'changed'") == 10_000
    assert newest_database.rows(SUMS.format("a")) == tables.rows(SUMS.format("a"))
