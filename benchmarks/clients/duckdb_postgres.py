"""Loads files by DuckDB's postgres extension, which is a separate package on PyPI."""

from __future__ import annotations

import duckdb_session
import task
from task import Load, Task


def rows(told: Task, load: Load) -> str:
    """Return the query that reads a file."""
    if told.parquet:
        return f"SELECT * FROM read_parquet('{load.file}')"
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind, _ in load.columns)
    quotes = f"quote = '{told.quote}', escape = '{told.quote}'"
    settings = [
        f"delim = '{told.delimiter}'",
        quotes,
        f"header = {str(told.header).lower()}",
        f"columns = {{{columns}}}",
        "auto_detect = false",
        "allow_quoted_nulls = false",
        f"ignore_errors = {str(told.skip_bad_rows).lower()}",
    ]
    return f"SELECT * FROM read_csv('{load.file}', {', '.join(settings)})"


def main() -> None:
    """Load all files."""
    told = task.read()
    session = duckdb_session.with_postgres()
    session.execute("SET threads = 1")
    session.execute("SET preserve_insertion_order = false")
    session.execute(f"ATTACH '{told.url}' AS target (TYPE postgres)")
    for number, load in enumerate(told.loads):
        if number == 0 or not told.at_once:
            session.execute("BEGIN")
        if load.create:
            session.execute(f"CREATE TABLE target.public.{load.table} ({load.definitions})")
        session.execute(f"INSERT INTO target.public.{load.table} {rows(told, load)}")
        if number == len(told.loads) - 1 or not told.at_once:
            session.execute("COMMIT")


if __name__ == "__main__":
    main()
