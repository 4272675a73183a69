"""Compares the contents of tables: every value of every row, never only counts."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import psycopg

from harness.servers import Database


@dataclass(frozen=True)
class Contents:
    """The rows of a query, in the text and the binary form of the server's COPY."""

    text: tuple[str, ...]
    binary: str | None


def contents(database: Database, query: str, *, binary: bool = True) -> Contents:
    """Return the result of a query.

    The text form is kept row by row, so that a difference can be read; the binary form
    distinguishes values with the same text form. If a type has no binary form, set `binary` to
    false.
    """
    with database.lend() as session:
        return contents_in(session, query, binary=binary)


def contents_in(
    connection: psycopg.Connection[tuple[Any, ...]], query: str, *, binary: bool = True
) -> Contents:
    """Return the result of a query as `contents` does, read in this session."""
    digest = sha256()
    # Floats are written with the fewest digits that are read back as the same float.
    connection.execute("SET extra_float_digits = 1")
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT".encode()) as copy:
        text = b"".join(bytes(block) for block in copy).decode()
    if binary:
        statement = f"COPY ({query}) TO STDOUT (FORMAT binary)".encode()
        with connection.cursor().copy(statement) as copy:
            for block in copy:
                digest.update(block)
    return Contents(tuple(text.splitlines()), digest.hexdigest() if binary else None)


def assert_same_rows(
    database: Database, left: str, right: str, order_by: str, *, binary: bool = True
) -> None:
    """Fail unless two tables hold the same rows, value for value."""
    queries = (f"SELECT * FROM {table} ORDER BY {order_by}" for table in (left, right))
    assert_same_results(database, *queries, binary=binary)


def assert_same_results(database: Database, left: str, right: str, *, binary: bool = True) -> None:
    """Fail unless two queries have the same result, value for value."""
    with database.lend() as session:
        one = contents_in(session, left, binary=binary)
        other = contents_in(session, right, binary=binary)
    assert one.text == other.text
    assert one.binary == other.binary


def differing_rows(database: Database, left: str, right: str) -> int:
    """Return how many rows are in only one of two tables, counting duplicates.

    This is for tables too large to be read here. All their types need an equality operator.
    """
    query = (
        f"SELECT count(*) FROM ((TABLE {left} EXCEPT ALL TABLE {right}) "
        f"UNION ALL (TABLE {right} EXCEPT ALL TABLE {left})) AS difference"
    )
    return int(database.value(query))


def state(database: Database, schema: str = "public") -> list[tuple[str, ...]]:
    """Return everything that a reader of a schema can see: its relations and all their rows.

    If it is the same before and after a failed load, the load has not changed the target.
    """
    found: list[tuple[str, ...]] = []
    relations = database.rows(
        "SELECT oid::regclass::text, relkind, relpersistence, relispartition::text, "
        "coalesce(pg_get_expr(relpartbound, oid), '') "
        f"FROM pg_class WHERE relnamespace = '{schema}'::regnamespace ORDER BY 1"
    )
    for name, kind, *rest in relations:
        found.append((name, kind, *rest))
        if kind in "rp":
            rows = database.rows(f"SELECT t::text FROM {name} AS t ORDER BY 1")
            found += [(name, row) for (row,) in rows]
    return found


def assert_no_rows(database: Database, table: str = "loaded") -> None:
    """Fail unless a target does not exist, or is empty."""
    there = database.value(f"SELECT to_regclass('{table}') IS NOT NULL")
    assert not there or database.value(f"SELECT count(*) FROM {table}") == 0


def staging_tables(database: Database) -> list[str]:
    """Return the names of staging tables, and of tables that a replacement keeps."""
    found = database.rows(
        "SELECT relname FROM pg_class "
        "WHERE relnamespace::regnamespace::text = 'inrush_staging' AND relkind IN ('r', 'p') "
        "ORDER BY 1"
    )
    return [name for (name,) in found]


def assert_nothing_staged(database: Database) -> None:
    """Fail if the schema of staging tables has any objects: tables, indexes, sequences."""
    assert state(database, "inrush_staging") == []
