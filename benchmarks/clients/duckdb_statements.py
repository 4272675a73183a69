"""Runs statements in DuckDB with its postgres extension: STATEMENT ..."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import duckdb_extension_postgres_scanner as wheel


def main() -> None:
    """Run them."""
    (extension,) = Path(wheel.__file__).parent.glob("extensions/*/*.duckdb_extension")
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as session:
        session.execute(f"LOAD '{extension}'")
        for statement in sys.argv[1:]:
            session.execute(statement)


if __name__ == "__main__":
    main()
