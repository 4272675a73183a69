"""Loads files by adbc_ingest from pyarrow's streaming readers."""

from __future__ import annotations

import adbc_driver_postgresql.dbapi as postgresql
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import task
from task import Load, Task

TYPES = {
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "char": pa.string(),
    "varchar": pa.string(),
    "text": pa.string(),
}


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of an SQL type."""
    name, numbers = task.base(kind)
    return pa.decimal128(*numbers) if name == "numeric" else TYPES[name]


def reader(told: Task, load: Load) -> pa.RecordBatchReader:
    """Return the rows of a file as a stream of batches."""
    types = {name: arrow_type(kind) for name, kind, _ in load.columns}
    if told.parquet:
        file = pyarrow.parquet.ParquetFile(load.file)
        schema = pa.schema(list(types.items()))
        batches = (batch.cast(schema) for batch in file.iter_batches(batch_size=1 << 16))
        return pa.RecordBatchReader.from_batches(schema, batches)
    return pyarrow.csv.open_csv(
        load.file,
        read_options=pyarrow.csv.ReadOptions(
            # Each block is a batch; the default of 1 MiB takes longer.
            block_size=8 << 20,
            column_names=list(types),
            skip_rows=1 if told.header else 0,
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=told.delimiter,
            quote_char=told.quote or False,
            double_quote=bool(told.quote),
            newlines_in_values=bool(told.quote),
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def main() -> None:
    """Load all files."""
    told = task.read()
    # autocommit is off: a table is made and filled in one transaction.
    with postgresql.connect(told.url) as connection, connection.cursor() as cursor:
        for load in told.loads:
            if load.create:
                cursor.execute(f"CREATE TABLE {load.table} ({load.definitions})")
            cursor.adbc_ingest(load.table, reader(told, load), mode="append")
            if not told.at_once:
                connection.commit()
        connection.commit()


if __name__ == "__main__":
    main()
