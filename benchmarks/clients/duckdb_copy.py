"""Copies a table of PostgreSQL by DuckDB's postgres extension: SOURCE TARGET TABLE THREADS FOLDER.

The target is a URL of PostgreSQL, a `.duckdb` file, or a folder of Parquet files.
"""

from __future__ import annotations

import sys

import duckdb_session


def main() -> None:
    """Copy it."""
    source, target, table, threads, _ = sys.argv[1:]
    file = target if target.endswith(".duckdb") else ":memory:"
    with duckdb_session.with_postgres(file) as session:
        session.execute(f"SET threads = {threads}")
        session.execute("SET preserve_insertion_order = false")
        session.execute(f"ATTACH '{source}' AS source (TYPE postgres, READ_ONLY)")
        if target.startswith("postgres"):
            session.execute(f"ATTACH '{target}' AS target (TYPE postgres)")
            session.execute(f"CREATE TABLE target.public.{table} AS FROM source.public.{table}")
        elif target.endswith(".duckdb"):
            session.execute(f"CREATE TABLE {table} AS FROM source.public.{table}")
        else:
            options = "FORMAT parquet, CODEC zstd, PER_THREAD_OUTPUT true"
            session.execute(f"COPY source.public.{table} TO '{target}' ({options})")


if __name__ == "__main__":
    main()
