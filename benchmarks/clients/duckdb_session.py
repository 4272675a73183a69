"""Opens DuckDB with its postgres extension, which is a separate package on PyPI."""

from __future__ import annotations

from pathlib import Path

import duckdb
import duckdb_extension_postgres_scanner as wheel


def with_postgres(file: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """Return a session on a file, or in memory, that has loaded the extension."""
    (extension,) = Path(wheel.__file__).parent.glob("extensions/*/*.duckdb_extension")
    session = duckdb.connect(file, config={"allow_unsigned_extensions": "true"})
    session.execute(f"LOAD '{extension}'")
    return session
