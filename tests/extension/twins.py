"""Loads the same bytes by COPY BINARY and by the extension, and compares the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from harness.servers import Database

HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER = b"\xff\xff"

Connection = psycopg.Connection[tuple[Any, ...]]


def ways_of(version: int) -> tuple[str, ...]:
    """Return the ways of the extension on a version of PostgreSQL."""
    newer = {"executor": 18, "pages": 17}
    return ("tuples", *(way for way, first in newer.items() if version >= first))


@dataclass(frozen=True)
class Outcome:
    """How a COPY ended: its tag, or its error."""

    tag: str | None
    sqlstate: str | None = None
    message: str | None = None
    detail: str | None = None
    context: str | None = None


def copy_statement(table: str, columns: Iterable[str], options: str) -> bytes:
    """Return a COPY of these columns."""
    names = ", ".join(f'"{name}"' for name in columns)
    return f"COPY {table} {f'({names})' if names else ''} FROM STDIN ({options})".encode()


def send(connection: Connection, statement: bytes, blocks: Iterable[bytes]) -> Outcome:
    """Send each block as a message, and return how the COPY ended."""
    cursor = connection.cursor()
    try:
        with cursor.copy(statement) as copy:
            for block in blocks:
                copy.write(block)
    except psycopg.Error as error:
        found = error.diag
        return Outcome(
            None, found.sqlstate, found.message_primary, found.message_detail, found.context
        )
    return Outcome(cursor.statusmessage)


@dataclass
class Twins:
    """Two tables with the same definition and name, in separate schemas."""

    database: Database
    name: str
    definition: str
    columns: tuple[str, ...] = ()
    # Statements after CREATE TABLE, with {} for the table.
    more: tuple[str, ...] = ()
    way: str = "auto"

    def load(self, blocks: list[bytes], *, freeze: bool = True) -> tuple[Outcome, Outcome]:
        """Load both tables in a new session; see `load_in`."""
        with self.database.connect(autocommit=False) as connection:
            return self.load_in(connection, blocks, freeze=freeze)

    def load_in(
        self, connection: Connection, blocks: list[bytes], *, freeze: bool = True
    ) -> tuple[Outcome, Outcome]:
        """Load both tables; a table whose load failed does not exist afterwards.

        Each load is a transaction of a session without autocommit, which can serve many loads: a
        new session takes the server longer than the load of a few rows.
        """
        return (
            self._load(connection, "a", f"FORMAT binary, FREEZE {freeze}", blocks),
            self._load(connection, "b", f"FORMAT inrush, FREEZE {freeze}, WAY {self.way}", blocks),
        )

    def _load(
        self, connection: Connection, schema: str, options: str, blocks: list[bytes]
    ) -> Outcome:
        table = f"{schema}.{self.name}"
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        connection.execute(f"CREATE TABLE {table} {self.definition}".encode())
        for statement in self.more:
            connection.execute(statement.replace("{}", table).encode())
        connection.execute("SELECT inrush_fastcopy.open()")
        outcome = send(connection, copy_statement(table, self.columns, options), blocks)
        if outcome.tag is None:
            connection.rollback()
        else:
            connection.commit()
        return outcome


def append(
    connection: Connection, table: str, columns: Iterable[str], way: str, streams: Iterable[bytes]
) -> Iterator[tuple[Outcome, Outcome]]:
    """Load each stream into both existing tables, each in its own transaction."""
    names = tuple(columns)
    connection.execute("SELECT inrush_fastcopy.open()")
    for stream in streams:
        yield (
            send(connection, copy_statement(f"a.{table}", names, "FORMAT binary"), [stream]),
            send(
                connection,
                copy_statement(f"b.{table}", names, f"FORMAT inrush, WAY {way}"),
                [stream],
            ),
        )


def binary_of(database: Database, query: str) -> bytes:
    """Return the rows of a query as the server sends them in COPY BINARY."""
    with database.connect() as connection:
        return binary_in(connection, query)


def binary_in(connection: Connection, query: str) -> bytes:
    """Return the rows of a query, read in this session, as `binary_of` does."""
    statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT binary)").format(sql.SQL(query))
    with connection.cursor().copy(statement) as copy:
        return b"".join(bytes(block) for block in copy)
