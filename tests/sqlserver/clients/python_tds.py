"""Loads the table with python-tds (`copy_to`), to which the caller gives the columns' types."""

from __future__ import annotations

import sys

import pytds  # type: ignore[import-not-found]
from pytds import tds_types

from sqlserver.table import COLUMNS, TABLE, rows

# python-tds cannot declare these types for a bulk load, because `VarBinarySerializer` lacks a size.
LEFT_OUT = {"c_binary", "c_varbinary", "c_varbinary_max"}


def main(port: int) -> None:
    """Load it."""
    schema, table = TABLE.split(".")
    columns = [
        pytds.tds_base.Column(
            name=column.name,
            type=tds_types.sql_type_by_declaration(column.sql),
            flags=pytds.tds_base.Column.fNullable if column.nullable else 0,
        )
        for column in COLUMNS
        if column.name not in LEFT_OUT
    ]
    data = [
        [value for value, column in zip(row, COLUMNS, strict=True) if column.name not in LEFT_OUT]
        for row in rows()
    ]
    with (
        pytds.connect(
            "127.0.0.1", "every_type", "sa", "password", port=port, tds_version=pytds.tds_base.TDS74
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.copy_to(table_or_view=table, schema=schema, columns=columns, data=data)


main(int(sys.argv[1]))
