"""Reads the table with python-tds, and prints its rows as texts."""

from __future__ import annotations

import json
import sys

import pytds  # type: ignore[import-not-found]

from sqlserver.table import TABLE, text_of


def main(port: int) -> None:
    """Read it."""
    with (
        pytds.connect("127.0.0.1", "every_type", "sa", "password", port=port) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"SELECT * FROM {TABLE}")
        print(json.dumps([[text_of(value) for value in row] for row in cursor.fetchall()]))


main(int(sys.argv[1]))
