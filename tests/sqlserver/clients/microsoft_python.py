"""Loads the table with `bulkcopy` of mssql-python, Microsoft's driver on its `mssql-tds` crate."""

from __future__ import annotations

import sys

import mssql_py_core  # type: ignore[import-not-found]
from mssql_python.helpers import connstr_to_pycore_params  # type: ignore[import-not-found]

from sqlserver.table import TABLE, rows


def main(port: int) -> None:
    """Load it as `Cursor.bulkcopy` does.

    The ODBC session that mssql-python also opens is left out: its driver needs system libraries.
    """
    context = connstr_to_pycore_params(
        {
            "server": f"127.0.0.1,{port}",
            "database": "every_type",
            "uid": "sa",
            "pwd": "password",
            "encrypt": "no",
        }
    )
    connection = mssql_py_core.PyCoreConnection(context)
    data = iter([tuple(row) for row in rows()])
    connection.cursor().bulkcopy(TABLE, data, timeout=30, keep_nulls=True)


main(int(sys.argv[1]))
