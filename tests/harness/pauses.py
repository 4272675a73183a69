"""Pauses a load at a known place, so that a test can cause a fault there without timing.

A column of the domain `held` waits inside the server while a test holds a lock, so the COPY of its
values is paused. A lock on the target does the same to the switch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness import polling
from harness.command import Inrush, Running
from harness.servers import Database

# The number of the advisory lock.
GATE = 4711

# A value passes the gate when its lock is granted. Only values below zero ask for the lock, so that
# one part of a load is paused while the others continue.
HELD_DOMAIN = f"""
    CREATE FUNCTION pass_gate(value int) RETURNS bool LANGUAGE plpgsql AS $$
    BEGIN
        IF value < 0 THEN
            PERFORM pg_advisory_lock_shared({GATE});
            PERFORM pg_advisory_unlock_shared({GATE});
        END IF;
        RETURN true;
    END $$;
    CREATE DOMAIN held AS int CHECK (pass_gate(VALUE));
"""


@contextmanager
def closed_gate(database: Database) -> Iterator[None]:
    """Close the gate: rows with a held value below zero wait in the server."""
    with database.connect() as connection:
        connection.execute(f"SELECT pg_advisory_lock({GATE})".encode())
        yield


@contextmanager
def locked_target(database: Database, table: str) -> Iterator[None]:
    """Lock a table, so that readers pass and the switch waits."""
    with database.connect(autocommit=False) as connection:
        connection.execute(f"LOCK TABLE {table} IN SHARE MODE".encode())
        yield
        connection.rollback()


def wait_until_held(database: Database, *, sessions: int = 1, seconds: float = 60) -> None:
    """Wait until this number of other sessions of this database wait for a lock."""
    wait_until(
        database,
        f"SELECT count(*) >= {sessions} FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'",
        seconds=seconds,
    )


def wait_until(database: Database, query: str, *, seconds: float = 60) -> None:
    """Wait until a query returns true."""
    with database.lend() as session:
        polling.until(
            lambda: session.execute(query.encode()).fetchone() == (True,),
            seconds=seconds,
            failing=lambda: f"never true: {query}",
        )


def wait_for_statements(database: Database, sessions: str, count: int, running: Running) -> None:
    """Wait until this number of statements of sessions of a running command has been seen.

    `sessions` is a condition on pg_stat_activity.
    """
    begun = set[str]()
    query = (
        "SELECT query_start::text FROM pg_stat_activity "
        f"WHERE datname = current_database() AND {sessions}"
    )
    with database.lend() as session:

        def look() -> bool:
            begun.update(start for (start,) in session.execute(query.encode()))
            return len(begun) >= count

        polling.until(look, running=running)


def sessions_of_inrush(database: Database) -> str:
    """Return a query that is true if the command has no session left in this database."""
    del database
    return (
        "SELECT count(*) = 0 FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name LIKE 'inrush%'"
    )


def notes(inrush: Inrush) -> str:
    """Return the events in the logs of all runs."""
    return "".join(path.read_text() for path in inrush.folder.glob("runs/*/log.jsonl"))


def wait_for_note(inrush: Inrush, running: Running, words: str) -> None:
    """Wait until the log of a running load has an event."""
    polling.until(
        lambda: words in notes(inrush), running=running, failing=lambda: f"never told: {words}"
    )
