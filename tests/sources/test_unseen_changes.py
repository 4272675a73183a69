"""Rows can change without a write of their server, so no recorded state proves them loaded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SharedServer
from harness.command import CLEAN, USAGE, Inrush
from harness.servers import Database, Server
from sources.test_postgres_tables import package


@pytest.fixture
def target(newest_server: Server, newest_database: Database) -> Iterator[Database]:
    """Return an empty database, on the newest server."""
    beside = newest_server.create_database(f"{newest_database.name}_unseen")
    yield beside
    newest_server.done_with(beside)


_numbers = itertools.count(1)


@pytest.fixture
def source(shared_server: SharedServer) -> Iterator[Database]:
    """Return a database on a server that a load does not write to, and that has `file_fdw`."""
    server = shared_server(15)
    database = server.create_database(f"unseen_{next(_numbers)}")
    yield database
    server.done_with(database)


@pytest.fixture
def far(source: Database) -> Database:
    """Return a database with a foreign table `far`."""
    database = source
    database.execute(
        "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;"
        "CREATE FOREIGN TABLE far (id int, v text) SERVER files"
        f"  OPTIONS (filename '{rows_of(database)}', format 'csv');"
        "CREATE VIEW behind AS SELECT * FROM far;"
        "CREATE TABLE parts (id int, v text) PARTITION BY RANGE (id);"
        "CREATE FOREIGN TABLE far_part PARTITION OF parts FOR VALUES FROM (1) TO (99)"
        f"  SERVER files OPTIONS (filename '{rows_of(database)}', format 'csv')"
    )
    return database


def rows_of(database: Database) -> Path:
    """Return the file with the rows of the foreign table."""
    return database.server.folder / "far.csv"


READS = {
    "table": 'table = "far"',
    "view": 'table = "behind"',
    "partition": 'table = "parts"',
    "query": 'query = "SELECT * FROM far"',
}


@pytest.mark.parametrize("words", READS.values(), ids=READS)
def test_a_foreign_table_is_always_read_again(
    far: Database, target: Database, inrush: Inrush, words: str
) -> None:
    """New rows of the table are loaded, also behind a view, unless `stable` is declared."""
    rows_of(far).write_text("1,old\n2,old\n")
    inrush.write("copy.toml", package(far, target, "t", words, mode='"replace"'))
    inrush("run", "copy.toml").expect(CLEAN, "the foreign table public.far", "always read again")
    rows_of(far).write_text("1,new\n2,new\n3,new\n")
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT id, v FROM t ORDER BY id") == [(1, "new"), (2, "new"), (3, "new")]
    stable = package(far, target, "t", words + ", stable = true", mode='"replace"')
    inrush.write("copy.toml", stable.replace('"copy"', '"stable"'))
    inrush("run", "copy.toml").expect(CLEAN)
    rows_of(far).write_text("1,newer\n")
    assert "always read again" not in inrush("run", "copy.toml").expect(CLEAN).said
    assert target.value("SELECT count(*) FROM t") == 3


def test_ranges_of_a_foreign_table_are_refused(
    far: Database, target: Database, inrush: Inrush
) -> None:
    """Each session would see the foreign server at another moment, so `stable` must be declared."""
    rows_of(far).write_text("1,a\n2,b\n")
    words = 'table = "behind", split_by = "id"'
    inrush.write("copy.toml", package(far, target, "t", words))
    inrush("check", "copy.toml").expect(USAGE, "the foreign table public.far", "`split_by`")
    inrush.write("copy.toml", package(far, target, "t", words + ", stable = true"))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT id, v FROM t ORDER BY id") == [(1, "a"), (2, "b")]


CONDITIONS = {
    "where": 'table = "events", where = "expires > now()"',
    "keyword": 'table = "events", where = "expires > CURRENT_TIMESTAMP"',
    "literal": """table = "events", where = "expires > 'now'" """,
    "view": 'table = "alive"',
    "query": 'query = "SELECT * FROM events WHERE expires > now()"',
    "own function": 'table = "events", where = "is_alive(expires)"',
}


@pytest.mark.parametrize("words", CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_of_the_time_is_always_asked_again(
    source: Database, target: Database, inrush: Inrush, words: str
) -> None:
    """A row may cease to meet the condition without a write, so the rows are loaded again."""
    source.execute(
        "CREATE TABLE events (id int, expires timestamptz);"
        "CREATE VIEW alive AS SELECT * FROM events WHERE expires > now();"
        "CREATE FUNCTION is_alive(timestamptz) RETURNS bool LANGUAGE plpgsql STABLE"
        "  AS $$ BEGIN RETURN $1 > now(); END $$;"
        "INSERT INTO events VALUES (1, now() + interval '1 day'), (2, now() - interval '1 day')"
    )
    inrush.write("copy.toml", package(source, target, "t", words, mode='"replace"'))
    inrush("run", "copy.toml").expect(CLEAN, "always read again")
    again = inrush("run", "copy.toml").expect(CLEAN)
    assert again.report["account"]["rows_loaded"] == 1
    assert target.rows("SELECT id FROM t") == [(1,)]


def test_other_conditions_prove_that_nothing_changed(
    source: Database, target: Database, inrush: Inrush
) -> None:
    """Rows are not loaded again because of functions that depend only on a session's settings."""
    source.execute("CREATE TABLE t AS SELECT 7 AS id, now() AS at")
    words = """query = "SELECT id, to_char(at, 'YYYY') AS y, format('%s', id) AS f FROM t" """
    inrush.write("copy.toml", package(source, target, "t", words, mode='"replace"'))
    assert "always read again" not in inrush("run", "copy.toml").expect(CLEAN).said
    inrush("run", "copy.toml").expect(CLEAN, "already")


def test_a_materialized_view_is_not_refreshed_while_it_is_read(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """REFRESH waits for the copy, so a view and its table show the same moment."""
    database.execute(
        "CREATE TABLE base AS SELECT n AS id, 1 AS v FROM generate_series(1, 1000) AS n;"
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM base;"
        "CREATE VIEW behind AS SELECT * FROM kept"
    )
    text = package(database, target, "kept", 'table = "kept"')
    for name, words in (("behind", 'table = "behind"'), ("base", 'table = "base"')):
        text += f'[[flow]]\nsource = {{ connection = "crm", {words} }}\ntable = "{name}"\n'
    text = text.replace("[[flow]]\nsource", '[[flow]]\nconnection = "dw"\nsource')
    inrush.write("copy.toml", text)
    with inrush.stopped_by("stop:run_entered", "run", "copy.toml") as running:
        database.execute("UPDATE base SET v = 2")
        locked = (
            "SELECT count(*) FROM pg_locks WHERE relation = 'kept'::regclass "
            "AND mode = 'AccessShareLock' AND granted"
        )
        assert database.value(locked) >= 1
        with pytest.raises(Exception, match="lock timeout"):
            database.execute("SET lock_timeout = '200ms'; REFRESH MATERIALIZED VIEW kept")
        running.resume().wait().expect(CLEAN)
    for table in ("kept", "behind", "base"):
        assert target.rows(f"SELECT v, count(*) FROM {table} GROUP BY v") == [(1, 1000)]
