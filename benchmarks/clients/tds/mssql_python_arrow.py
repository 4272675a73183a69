"""Loads lineitem with mssql-python (`bulkcopy_arrow`): `PORT TLS FILE`. pyarrow reads the file."""

from __future__ import annotations

import json
import sys

import mssql_py_core  # type: ignore[import-not-found]
import pyarrow as pa
import pyarrow.csv as pc
from mssql_python.helpers import connstr_to_pycore_params  # type: ignore[import-not-found]

_TYPES = {
    "bigint": pa.int64(),
    "integer": pa.int32(),
    "numeric(15,2)": pa.decimal128(15, 2),
    "date": pa.date32(),
}


def main(port: str, tls: str, columns: str, file: str) -> None:
    """Load it."""
    context = connstr_to_pycore_params(
        {
            "server": f"127.0.0.1,{port}",
            "database": "test",
            "uid": "sa",
            "pwd": "password",
            "encrypt": "yes" if tls == "tls" else "no",
            "trustservercertificate": "yes",
            "packetsize": "32767",
        }
    )
    named = dict(json.loads(columns))
    types = {name: _TYPES.get(kind, pa.string()) for name, kind in named.items()}
    # Each line ends with a separator.
    read = pc.ReadOptions(column_names=[*named, "end"], use_threads=False)
    parse = pc.ParseOptions(delimiter="|", quote_char=False)
    convert = pc.ConvertOptions(column_types=types, include_columns=list(named))
    batches = pc.open_csv(file, read_options=read, parse_options=parse, convert_options=convert)
    connection = mssql_py_core.PyCoreConnection(context)
    connection.cursor().bulkcopy_arrow(
        "lineitem", batches, timeout=3600, table_lock=True, keep_nulls=True
    )


main(*sys.argv[1:])
