"""Reads the table with Microsoft's crate `mssql-tds`, through its Python module."""

from __future__ import annotations

import json
import sys

import mssql_py_core  # type: ignore[import-not-found]
from mssql_python.helpers import connstr_to_pycore_params  # type: ignore[import-not-found]

from sqlserver.table import TABLE, text_of


def main(port: int) -> None:
    """Read it."""
    context = connstr_to_pycore_params(
        {
            "server": f"127.0.0.1,{port}",
            "database": "every_type",
            "uid": "sa",
            "pwd": "password",
            "encrypt": "no",
        }
    )
    # The cursor ends with the connection.
    connection = mssql_py_core.PyCoreConnection(context)
    cursor = connection.cursor()
    cursor.execute(f"SELECT * FROM {TABLE}")
    print(json.dumps([[text_of(value) for value in row] for row in cursor.fetchall()]))


main(int(sys.argv[1]))
