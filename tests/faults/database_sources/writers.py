"""Transactions that change a source while it is copied, and the history that they make.

Their writes overlap. Before it commits, each transaction takes a lock and the next version. So the
versions have the order in which the server shows the transactions to others.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import psycopg

from conformance.destinations import quoted
from faults.database_sources.history import Change, History, Rows
from faults.database_sources.tables import SourceTable
from harness.servers import Database

# The number of writers. The last one is the test itself, which also writes while the others pause.
WRITERS = 3
TEST = WRITERS - 1
# The advisory lock that orders the commits.
ORDER = 815
VERSIONS = "CREATE TABLE versions (version bigint PRIMARY KEY, transaction bigint NOT NULL)"

Connection = psycopg.Connection[tuple[Any, ...]]


class Journal:
    """All transactions that writers have tried to commit, and the rows that they left."""

    def __init__(
        self,
        database: Database,
        tables: Sequence[SourceTable],
        *,
        updates: bool,
        deletes: bool,
    ) -> None:
        self.database = database
        self.tables = tables
        self._updates = updates
        self._deletes = deletes
        self._tried: dict[int, list[Change]] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._new_keys = {
            (table.name, writer): count(_own(table.row_count, writer), WRITERS)
            for table in tables
            for writer in range(WRITERS)
        }
        self._last_keys = dict.fromkeys(self._new_keys, 0)

    def committed(self) -> list[int]:
        """Return the transactions that were committed, in their order."""
        rows = self.database.rows("SELECT transaction FROM versions ORDER BY version")
        return [transaction for (transaction,) in rows]

    def history(self, before: dict[str, Rows]) -> History:
        """Return the history of the tables."""
        return History(before, [self._tried[number] for number in self.committed()])

    def transact(self, connection: Connection, numbers: random.Random, writer: int) -> int:
        """Change some rows in a transaction and commit it; return its number."""
        touched: dict[str, set[int]] = {}
        for _ in range(numbers.randint(1, 3)):
            table = numbers.choice(self.tables)
            touched.setdefault(table.name, set()).update(
                self._write(connection, numbers, table, writer)
            )
        return self._commit(connection, touched)

    def _commit(self, connection: Connection, touched: dict[str, set[int]]) -> int:
        """Commit a transaction that has changed these rows."""
        changes = []
        for table in self.tables:
            keys = sorted(touched.get(table.name, ()))
            texts = ", ".join(f"{quoted(name)}::text" for name in table.columns)
            query = f"SELECT id, {texts} FROM {quoted(table.name)} WHERE id = ANY (%s)"
            found = {
                key: table.row(row) for key, *row in connection.execute(query.encode(), [keys])
            }
            changes += [Change(table.name, key, found.get(key)) for key in keys]
        connection.execute(f"SELECT pg_advisory_xact_lock({ORDER})".encode())
        with self._lock:
            number = next(self._numbers)
            # The commit may succeed without an answer.
            self._tried[number] = changes
        connection.execute(
            b"INSERT INTO versions SELECT coalesce(max(version), 0) + 1, %s FROM versions", [number]
        )
        connection.commit()
        return number

    def _write(
        self, connection: Connection, numbers: random.Random, table: SourceTable, writer: int
    ) -> list[int]:
        """Run one statement, and return the keys of its rows, which belong to this writer alone."""
        actions = ["insert"] * 2 + ["update"] * 3 * self._updates + ["delete"] * self._deletes
        action = numbers.choice(actions)
        place = table.name, writer
        if action == "insert":
            keys = [next(self._new_keys[place]) for _ in range(numbers.randint(1, 30))]
            self._last_keys[place] = keys[-1]
            values = ", ".join(f"({key}::bigint)" for key in keys)
            connection.execute(table.filling(f"VALUES {values}").encode())
            return keys
        end = max(self._last_keys[place], table.row_count)
        keys = sorted({_own(numbers.randint(0, end), writer) for _ in range(numbers.randint(1, 9))})
        listed = ", ".join(map(str, keys))
        if action == "update":
            connection.execute(table.changing(listed).encode())
        else:
            connection.execute(f"DELETE FROM {quoted(table.name)} WHERE id IN ({listed})".encode())
        return keys


def _own(key: int, writer: int) -> int:
    """Return the next key that belongs to a writer."""
    return key + (writer - key) % WRITERS


class Writers(AbstractContextManager["Writers"]):
    """Threads that write as long as the block lasts, or until they are stopped."""

    def __init__(self, journal: Journal, seed: str) -> None:
        self._journal = journal
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(f"{seed} {writer}", writer))
            for writer in range(WRITERS)
            if writer != TEST
        ]
        self.failures: list[BaseException] = []

    def _work(self, seed: str, writer: int) -> None:
        numbers = random.Random(seed)  # noqa: S311
        while not self._ended.is_set():
            try:
                with self._journal.database.connect(autocommit=False) as connection:
                    while not self._ended.is_set():
                        self._journal.transact(connection, numbers, writer)
                        self._ended.wait(numbers.random() * 0.02)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                # The server is down just now, which the test intends.
                self._ended.wait(0.01)
            except Exception as failure:
                self.failures.append(failure)
                return

    def __enter__(self) -> Writers:
        """Begin to write."""
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Stop the threads, and fail if one of them could not write."""
        self._ended.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        assert not self.failures, self.failures

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
