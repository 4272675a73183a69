"""Reads the tuples in a table's file, without the fields that always differ between two loads."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

from extension.twins import Connection
from harness.contents import contents_in
from harness.servers import Database

PAGE = 8192
HAS_EXTERNAL = 4
# HEAP_XMIN_COMMITTED and HEAP_XMAX_COMMITTED are hints that readers set.
HINTS = 0x0100 | 0x0400


def tuples(database: Database, table: str) -> list[bytes]:
    """Return the tuples of a table, after a checkpoint: xmax, and everything from `t_infomask2` on.

    A value in a TOAST table is referenced by a number: the number and the table are left out here,
    and the values are compared as rows.
    """
    with database.connect() as connection:
        (found,) = _tuples_of(database, connection, [table])
    return found


def assert_same_tuples(database: Database, tables: Iterable[str]) -> None:
    """Fail unless the tables of these names in the schemas `a` and `b` have the same tuples."""
    names = list(tables)
    with database.connect() as connection:
        _assert_same_files(database, connection, {name: name for name in names})
        for name in names:
            copied, fast = (contents_in(connection, f"TABLE {schema}.{name}") for schema in "ab")
            assert fast == copied, name


def assert_same_tuples_of(database: Database, places: Mapping[str, str]) -> None:
    """Fail unless the files of these tables in the schemas `a` and `b` hold the same tuples.

    This is for thousands of small tables whose rows are compared elsewhere. The keys are their
    names; each value says where the rows of a table came from.
    """
    with database.connect() as connection:
        _assert_same_files(database, connection, places)


def _assert_same_files(
    database: Database, connection: Connection, places: Mapping[str, str]
) -> None:
    connection.execute("CHECKPOINT")
    copied, fast = (
        _tuples_of(database, connection, [f"{schema}.{name}" for name in places]) for schema in "ab"
    )
    for place, one, other in zip(places.values(), copied, fast, strict=True):
        assert other == one, place


def _tuples_of(
    database: Database, connection: Connection, tables: Sequence[str]
) -> list[list[bytes]]:
    """Return the tuples of each table."""
    names = ", ".join(f"'{table}'" for table in tables)
    files = connection.execute(
        "SELECT pg_relation_filepath(pg_class.oid), reltoastrelid"
        f" FROM unnest(ARRAY[{names}]::regclass[]) WITH ORDINALITY AS asked (relation, place)"
        " JOIN pg_class ON pg_class.oid = relation ORDER BY place".encode()
    ).fetchall()
    return [
        list(_read((database.server.data / os.fsdecode(path)).read_bytes(), toast))
        for path, toast in files
    ]


def _read(data: bytes, toast: int) -> Iterator[bytes]:
    pointer = re.compile(b"(\x01\x12.{8}).{4}" + re.escape(struct.pack("<I", toast)), re.DOTALL)
    for begin in range(0, len(data), PAGE):
        page = data[begin : begin + PAGE]
        lower, upper = struct.unpack_from("<HH", page, 12)
        if upper == 0:
            continue
        for place in range(24, lower, 4):
            (item,) = struct.unpack_from("<I", page, place)
            offset, length = item & 0x7FFF, item >> 17
            stored = bytearray(page[offset : offset + length])
            (mask,) = struct.unpack_from("<H", stored, 20)
            struct.pack_into("<H", stored, 20, mask & ~HINTS)
            kept = bytes(stored[4:8] + stored[18:])
            yield pointer.sub(rb"\1", kept) if mask & HAS_EXTERNAL else kept
