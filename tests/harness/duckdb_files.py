"""Files of DuckDB, as another program has them open."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

_numbers = itertools.count(1)


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    """Return this process's instance of DuckDB.

    A file is attached to it in a millisecond. An instance of its own would take 30 ms to start.
    """
    return duckdb.connect()


@contextmanager
def opened(file: Path, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file, which is made if it does not exist; the lock on it is held meanwhile."""
    name = f"file_{next(_numbers)}"
    path = str(file).replace("'", "''")
    with _instance().cursor() as connection:
        connection.execute(f"ATTACH '{path}' AS {name}{' (READ_ONLY)' if read_only else ''}")
        try:
            connection.execute(f"USE {name}")
            yield connection
        finally:
            # A new cursor, because this one may be in a transaction that has failed.
            connection.close()
            with _instance().cursor() as other:
                other.execute(f"DETACH {name}")
