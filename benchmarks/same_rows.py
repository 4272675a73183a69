"""Whether a load ended with the rows it must: all values of all rows, hashed by the server.

Each row is hashed as the text that the server writes of it, each value first brought to the
declared type (a peer may have made a text of a char(25)); the hashes are added up, for the order of
rows is nobody's promise. The expected rows are what one psql's copy makes of the files.
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
    """Return why nobody can say what must be in the tables of a job, if so."""
    if job.bad_rows and database_version < ON_ERROR_SINCE:
        return f"COPY of PostgreSQL {database_version} cannot leave bad rows out"
    return None


def expected(server: Server, job: Job, scale: float, parts: int, data: Path) -> dict[str, Rows]:
    """Return what must be in all tables of a job; it is kept beside the data."""
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
    """A side ended with other rows than it must."""


def compare(what: str, rows: dict[str, Rows], must_be: dict[str, Rows]) -> None:
    """Fail where a side ended with other rows than it must."""
    for name, one in must_be.items():
        if rows[name] != one:
            raise DifferentRowsError(f"{what}: {name} holds {rows[name]}, and must hold {one}")
