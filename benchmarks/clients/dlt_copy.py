"""Copies a table of PostgreSQL by a dlt pipeline: SOURCE TARGET TABLE THREADS FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import dlt
from dlt.sources.sql_database import sql_table
from dlt_pipeline import address


def main() -> None:
    """Copy it."""
    source, target, table, threads, folder = sys.argv[1:]
    os.environ.update(
        {
            "RUNTIME__DLTHUB_TELEMETRY": "false",
            "LOAD__WORKERS": threads,
            "NORMALIZE__WORKERS": threads,
            "DATA_WRITER__FILE_MAX_ITEMS": "500000",
        }
    )
    rows = sql_table(
        credentials=address(source).replace("postgresql://", "postgresql+psycopg2://"),
        schema="public",
        table=table,
        backend="pyarrow",
        chunk_size=50_000,
        reflection_level="full_with_precision",
    )
    pipeline = dlt.pipeline(
        "copy",
        pipelines_dir=str(Path(folder) / "dlt"),
        destination=dlt.destinations.postgres(credentials=address(target)),
        dataset_name="public",
    )
    pipeline.run(rows, write_disposition="append", loader_file_format="csv")


if __name__ == "__main__":
    main()
