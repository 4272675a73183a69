"""Watches a target all the while that something is done to it."""

from __future__ import annotations

import threading
from types import TracebackType

import psycopg

from servers import Database


class Watcher:
    """Asks for a target's contents again and again, and keeps every answer that differs.

    An answer is None where the table is not there, else its rows' number and a digest of
    their values. Each is one statement, so what it saw is one snapshot.
    """

    def __init__(self, database: Database, table: str) -> None:
        self._query = (
            f"SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM {table} AS t"
        ).encode()
        self._database = database
        self._stop = threading.Event()
        self._first_look = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.looks = 0
        self.seen: set[tuple[int, int] | None] = set()

    def look(self, connection: psycopg.Connection[tuple[int, int]]) -> tuple[int, int] | None:
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
                        self.seen.add(self.look(connection))
                        self.looks += 1
                        self._first_look.set()
            except psycopg.OperationalError:
                # The server is down just now, as the test wants it.
                continue

    def __enter__(self) -> Watcher:
        """Begin to watch; the target was looked at once when this returns."""
        self._thread.start()
        assert self._first_look.wait(30)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Watch no more."""
        self._stop.set()
        self._thread.join()

    def assert_all_or_nothing(self, full: tuple[int, int]) -> None:
        """Fail if the target was ever seen half loaded."""
        assert self.seen <= {None, (0, 0), full}, f"half-loaded: {self.seen}, whole is {full}"

    def now(self) -> tuple[int, int] | None:
        """Return what the target holds now, over a connection of its own."""
        with self._database.connect() as connection:
            return self.look(connection)
