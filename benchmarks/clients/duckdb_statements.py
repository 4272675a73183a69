"""Runs statements in DuckDB with its postgres extension: STATEMENT ..."""

from __future__ import annotations

import sys

import duckdb_session


def main() -> None:
    """Run them."""
    with duckdb_session.with_postgres() as session:
        for statement in sys.argv[1:]:
            session.execute(statement)


if __name__ == "__main__":
    main()
