"""A copy waits for locked tables of a source for a while, and no session waits forever."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

from harness import pauses
from harness.command import CLEAN, FAILED, Inrush
from harness.servers import Database, Server
from sources.test_postgres_tables import package


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_locked")
    yield beside
    server.done_with(beside)


def write(database: Database, target: Database, inrush: Inrush) -> None:
    """Write a package that copies two tables, one after the other."""
    text = package(database, target, "a", 'table = "a"')
    text += '[[flow]]\nsource = { connection = "crm", table = "b" }\ntable = "b"\n'
    text = text.replace("[[flow]]\nsource", '[[flow]]\nconnection = "dw"\nsource')
    inrush.write("copy.toml", text.replace("streams = 2", "streams = 1\nlock_timeout_ms = 500"))
    database.execute(
        "CREATE TABLE a (id int); INSERT INTO a SELECT generate_series(1, 300);"
        "CREATE TABLE b (id int); INSERT INTO b SELECT generate_series(1, 500)"
    )


def test_a_locked_table_is_told(database: Database, target: Database, inrush: Inrush) -> None:
    """The table, the likely cause and the setting are named."""
    write(database, target, inrush)
    with database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE b IN ACCESS EXCLUSIVE MODE")
        for command in ("check", "run"):
            inrush(command, "copy.toml").expect(
                FAILED, "b: ", "has locked the table", "`lock_timeout_ms`"
            )
        other.rollback()
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)") == [(300, 500)]


def test_a_change_that_waits_behind_the_copy_is_let_pass(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """ALTER TABLE waits for the snapshot's lock, and a reading session would wait behind it."""
    write(database, target, inrush)
    change = Thread(target=database.execute, args=("ALTER TABLE b ADD COLUMN more int",))
    with inrush.stopped_by("stop:run_entered", "run", "copy.toml") as running:
        change.start()
        pauses.wait_until(database, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        running.resume().wait().expect(FAILED, "public.b", "ALTER TABLE", "`lock_timeout_ms`")
    change.join(60)
    assert not change.is_alive()
    assert target.value("SELECT to_regclass('a') IS NULL AND to_regclass('b') IS NULL")
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT count(*), count(more) FROM b") == [(500, 0)]
