"""The databases that are read: a database of a server behind a proxy, or a DuckDB file."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from conformance.canonical import Row
from conformance.destinations import DuckDb, Place, PostgreSql18
from faults.database_sources.history import Change, History, Rows
from faults.database_sources.tables import SourceTable
from faults.database_sources.writers import TEST, VERSIONS, Journal
from faults.site import Stand
from harness import pauses
from harness.duckdb_files import opened
from harness.packages import Value
from harness.proxy import SOON, Proxy
from harness.servers import Database


def keyed(rows: Sequence[Row]) -> Rows:
    """Return rows by their keys, which are in their first column; fail if a key is there twice."""
    found = {int(row[0] or 0): row for row in rows}
    assert len(found) == len(rows), f"{len(rows) - len(found)} rows are there twice"
    return found


class Origin(ABC):
    """A database that is read."""

    def __init__(self, tables: Sequence[SourceTable], place: Place) -> None:
        self.tables = tables
        self._place = place
        self.before = self.now()

    # The connection, as a package has it.
    words: dict[str, Value]

    def now(self) -> dict[str, Rows]:
        """Return the rows of all tables."""
        return {
            table.name: keyed(self._place.rows(table.name, table.forms) or [])
            for table in self.tables
        }

    @abstractmethod
    def history(self) -> History:
        """Return the history of the tables."""

    @abstractmethod
    def commits(self) -> int:
        """Return the number of transactions that were committed."""

    @abstractmethod
    def change(self, numbers: random.Random) -> None:
        """Change some rows in a transaction."""

    @abstractmethod
    def settle(self) -> None:
        """Wait until the database can be read again after a fault."""

    def check_left(self) -> None:
        """Fail if a command has left something behind or has changed a table."""
        now, known = self.now(), self.history().now()
        for table in self.tables:
            assert now[table.name] == known[table.name], f"{table.name} of the source was changed"


class ServerOrigin(Origin):
    """A database of a server, which is reached through a proxy."""

    def __init__(
        self,
        stand: Stand,
        database: Database,
        proxy: Proxy,
        tables: Sequence[SourceTable],
        *,
        updates: bool,
        deletes: bool,
    ) -> None:
        self.stand = stand
        self.database = database
        self.proxy = proxy
        # True if a session that has not noticed the end of its client may still exist when the next
        # command runs.
        self.keeps_connections = False
        database.execute(VERSIONS)
        for table in tables:
            database.execute(table.made_in_postgresql())
        self.journal = Journal(database, tables, updates=updates, deletes=deletes)
        super().__init__(tables, PostgreSql18(database, database.url))
        address = f"{database.server.user}@127.0.0.1:{proxy.port}/{database.name}"
        self.words = {"url": f"postgresql://{address}?sslmode=disable&{SOON}"}
        # The approximate number of bytes that the server sends for all rows.
        self.answer_bytes = int(
            database.value(
                "SELECT coalesce(sum(pg_relation_size(oid)), 0)::bigint FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            )
        )

    def history(self) -> History:
        return self.journal.history(self.before)

    def commits(self) -> int:
        return len(self.journal.committed())

    def change(self, numbers: random.Random) -> None:
        with self.database.connect(autocommit=False) as connection:
            self.journal.transact(connection, numbers, TEST)

    def settle(self) -> None:
        self.stand.await_server()
        if self.proxy.trouble is not None:
            self.proxy.trouble.healed.set()
        self.proxy.begin(None)
        if not self.keeps_connections:
            self.proxy.end_connections()
        self.keeps_connections = False

    def readers(self) -> list[int]:
        """Return the backends of the command."""
        rows = self.database.rows(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'inrush source' ORDER BY pid"
        )
        return [pid for (pid,) in rows]

    def end_sessions(self) -> None:
        """End the connections that the proxy holds: the server did not notice that clients left.

        Fail if the command has left another session.
        """
        self.proxy.end_connections()
        pauses.wait_until(self.database, pauses.sessions_of_inrush(self.database))

    def check_left(self) -> None:
        self.end_sessions()
        super().check_left()


class FileOrigin(Origin):
    """A file of DuckDB."""

    def __init__(self, file: Path, tables: Sequence[SourceTable]) -> None:
        self.file = file
        with opened(file) as connection:
            for table in tables:
                for statement in table.made_in_duckdb():
                    connection.execute(statement)
        super().__init__(tables, DuckDb(file))
        self.words = {"url": f"duckdb:{file}"}
        self._transactions: list[list[Change]] = []

    def history(self) -> History:
        return History(self.before, self._transactions)

    def commits(self) -> int:
        return len(self._transactions)

    def settle(self) -> None:
        pass

    def change(self, numbers: random.Random) -> None:
        before = self.now()
        table = numbers.choice(self.tables)
        count = numbers.randint(1, 9)
        with opened(self.file) as connection:
            if before[table.name] and numbers.random() < 0.6:
                keys = numbers.choices([*before[table.name]], k=count)
                connection.execute(table.changing(", ".join(map(str, keys))))
            else:
                first = max(before[table.name], default=-1) + 1
                connection.execute(
                    table.filling(f"SELECT range FROM range({first}, {first + count})")
                )
        after = self.now()
        old, new = before[table.name], after[table.name]
        self._transactions.append(
            [
                Change(table.name, key, new.get(key))
                for key in old.keys() | new.keys()
                if old.get(key) != new.get(key)
            ]
        )
