"""Loads files by a dlt pipeline that imports the files unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dlt
import task
from dlt.common.destination.configuration import CsvFormatConfiguration
from task import Load, Task

# dlt's words for SQL types.
TYPES: dict[str, dict[str, Any]] = {
    "smallint": {"data_type": "bigint", "precision": 16},
    "integer": {"data_type": "bigint", "precision": 32},
    "bigint": {"data_type": "bigint"},
    "double precision": {"data_type": "double"},
    "boolean": {"data_type": "bool"},
    "date": {"data_type": "date"},
    "timestamp": {"data_type": "timestamp", "timezone": False},
    "char": {"data_type": "text"},
    "varchar": {"data_type": "text"},
    "text": {"data_type": "text"},
}


def hint(name: str, kind: str, nullable: bool) -> dict[str, Any]:
    """Return the hints for dlt about a column."""
    word, numbers = task.base(kind)
    known = TYPES.get(word, {"data_type": "decimal"})
    if word == "numeric":
        known = {"data_type": "decimal", "precision": numbers[0], "scale": numbers[1]}
    return {"name": name, "nullable": nullable, **known}


def resource(told: Task, table: str, loads: list[Load]) -> Any:
    """Return a resource that hands over the files of a table."""
    columns = [hint(*column) for column in loads[0].columns]

    def files() -> Iterator[Any]:
        for load in loads:
            kind: Any = "parquet" if told.parquet else "csv"
            yield dlt.mark.with_file_import(load.file, kind)

    return dlt.resource(
        files,
        name=table,
        columns=columns,
        write_disposition="append",
        # Otherwise dlt would rewrite Parquet files as CSV.
        file_format="parquet" if told.parquet else "csv",
    )


def address(url: str) -> str:
    """Return a URL with a password and a host, which dlt requires although the server does not.

    If the URL's query names a host, such as a socket's folder, libpq uses that host.
    """
    (before, after) = url.split("@", 1)
    return f"{before}:none@{'localhost' if after.startswith('/') else ''}{after}"


def main() -> None:
    """Run the pipeline."""
    told = task.read()
    os.environ.update(
        LOAD__WORKERS=str(told.streams),
        NORMALIZE__WORKERS="1",
        RUNTIME__DLTHUB_TELEMETRY="false",
        RUNTIME__LOG_LEVEL="WARNING",
        DLT_DATA_DIR=told.folder,
        # The pipeline's state is not read from the server, because the pipeline is new.
        RESTORE_FROM_DESTINATION="false",
    )
    form = CsvFormatConfiguration(delimiter=told.delimiter, include_header=told.header)
    pipeline = dlt.pipeline(
        "suite",
        pipelines_dir=str(Path(told.folder) / "pipelines"),
        destination=dlt.destinations.postgres(credentials=address(told.url), csv_format=form),
        dataset_name="public",
    )
    tables: dict[str, list[Load]] = {}
    for load in told.loads:
        tables.setdefault(load.table, []).append(load)
    pipeline.run([resource(told, table, loads) for table, loads in tables.items()])


if __name__ == "__main__":
    main()
