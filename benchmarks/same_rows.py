r"""Checks the rows of a load: all values of all rows, hashed by the server.

Each row is hashed as the server's text, with each value first cast to the declared type (a peer may
have made a char(25) a text). The hashes are added up, because the order of rows is undefined. The
expected rows come from psql's `\copy` of the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ground
from harness.servers import Database, Server
from peers.psql import ON_ERROR_SINCE, options
from workload import Job, Table


@dataclass(frozen=True)
class Rows:
    """The content of a table."""

    count: int
    # The sum of 64-bit hashes of rows, in decimal digits.
    hashes: str


def rows_of(database: Database, table: Table, relation: str) -> Rows:
    """Return the content of a table, or of a query in parentheses."""
    values = ", ".join(f"{column.name}::{column.type}" for column in table.columns)
    query = (
        f"SELECT count(*), coalesce(sum(hashtextextended(ROW({values})::text, 0)), 0)::text "
        f"FROM {relation} AS loaded"
    )
    ((count, hashes),) = database.rows(query)
    return Rows(count, hashes)


def found(database: Database, job: Job, relation: Callable[[Job, Table], str]) -> dict[str, Rows]:
    """Return the content of all tables of a job."""
    return {table.name: rows_of(database, table, relation(job, table)) for table in job.tables}


def cannot(job: Job, database_version: int) -> str | None:
    """Return why the expected rows of a job cannot be known, or None if they can."""
    if job.bad_rows and database_version < ON_ERROR_SINCE:
        return f"COPY of PostgreSQL {database_version} cannot leave bad rows out"
    return None


def expected(server: Server, job: Job, scale: float, parts: int, data: Path) -> dict[str, Rows]:
    """Return the expected content of all tables of a job; it is cached beside the data."""
    kept = data / f"expected-{job.workload}-{scale:g}-{parts}-parts.json"
    if kept.exists():
        return {name: Rows(**one) for name, one in json.loads(kept.read_text()).items()}
    database = ground.fresh(server)
    for statement in (*job.before, *job.before_others):
        database.execute(statement)
    for table in job.tables:
        if job.makes_tables:
            database.execute(f"CREATE TABLE {table.name} ({table.definitions})")
        for file in table.files_of_peers:
            how = options(job.form, job.bad_rows)
            database.psql(f"\\copy {table.name} FROM '{file}' ({how})")
    rows = found(database, job, lambda _, table: table.name)
    ground.drop(database)
    told = {name: {"count": one.count, "hashes": one.hashes} for name, one in rows.items()}
    kept.write_text(json.dumps(told, indent=2) + "\n")
    return rows


class DifferentRowsError(Exception):
    """Raised if a side ended with wrong rows."""


def compare(what: str, rows: dict[str, Rows], must_be: dict[str, Rows]) -> None:
    """Fail if a side ended with wrong rows."""
    for name, one in must_be.items():
        if rows[name] != one:
            raise DifferentRowsError(f"{what}: {name} holds {rows[name]}, and must hold {one}")
