"""Watches a target while something changes it."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from time import monotonic

import psycopg

from harness.servers import Database

Digest = tuple[int, int]


class Watcher(AbstractContextManager["Watcher"]):
    """Queries a target's contents repeatedly, and keeps every answer that differs from the last.

    An answer is None if the table does not exist, else the number of its rows and a digest of their
    values. Each answer is one statement, so it shows one snapshot. It pauses between the queries,
    because it would take a core from the load that it watches otherwise.
    """

    def __init__(self, database: Database, table: str, *, pause_s: float = 0.001) -> None:
        self.table = table
        self._pause_s = pause_s
        self._query = (
            f"SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM {table} AS t"
        ).encode()
        self._database = database
        self._stop = threading.Event()
        self._first_look = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.seen: set[Digest | None] = set()

    def look(self, connection: psycopg.Connection[Digest]) -> Digest | None:
        """Return what the target holds now."""
        try:
            return connection.execute(self._query).fetchone()
        except psycopg.errors.UndefinedTable:
            return None

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                with self._database.connect() as connection:
                    while not self._stop.is_set():
                        before = monotonic()
                        self.seen.add(self.look(connection))
                        self._first_look.set()
                        # Read a large target less often.
                        self._stop.wait(self._pause_s + 2 * (monotonic() - before))
            except psycopg.OperationalError:
                # The server is down just now, which the test intends.
                self._stop.wait(self._pause_s)

    def __enter__(self) -> Watcher:
        """Begin to watch; the target has been read once when this returns."""
        self._thread.start()
        assert self._first_look.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()

    def assert_all_or_nothing(self, full: Digest) -> None:
        """Fail if the target was ever partly loaded."""
        assert self.seen <= {None, (0, 0), full}, f"half-loaded: {self.seen}, whole is {full}"

    def now(self) -> Digest | None:
        """Return what the target holds now, over a separate connection."""
        with self._database.connect() as connection:
            return self.look(connection)
