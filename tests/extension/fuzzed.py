"""Turns an input of the fuzz target `fastcopy` into a table and a stream of its rows.

The target (`fuzz/fuzz_targets/fastcopy.rs`) describes columns by numbers, as the C code does for
the decoder. Here each becomes a column in SQL that the C code describes by the same numbers, or
nearly so.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tarfile import TarFile

from extension.random_tables import VALUES
from extension.raw_session import Reply, message
from extension.test_errors import row
from extension.twins import HEADER, TRAILER

Row = list[bytes | None]

# The types without a modifier that `kernel_of` (`columns.c`) gives to each kernel of `column.rs`.
TYPES_OF_KERNEL: dict[int, tuple[str, ...]] = {
    1: ("bool",),
    2: ('"char"',),
    3: ("int2",),
    4: ("int4", "oid", "float4"),
    5: ("int8", "float8", "money"),
    6: ("date",),
    7: ("time",),
    8: ("timestamp", "timestamptz"),
    9: ("uuid",),
    10: ("bytea",),
    11: ("text", "varchar"),
    12: ("bpchar",),
    13: ("numeric",),
}
# All other numbers mean a type without a kernel: only its receive function reads it.
RECEIVED = tuple(VALUES)
# The place where COPY found an error.
PLACE = re.compile(r"^W?COPY \w+, line (\d+)(?:, column (\w+))?", re.MULTILINE)


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    name: str
    type_name: str
    is_not_null: bool
    # Its values always have a header of four bytes.
    is_plain: bool
    # A row of the stream has a field for it.
    is_loaded: bool
    is_dropped: bool

    @classmethod
    def described(cls, name: str, kernel: int, flags: int, size: int) -> Column:
        """Return the column that three bytes of an input describe."""
        is_loaded = flags >> 4 != 0
        return cls(
            name,
            _type_name(kernel % 15, flags % 4, size),
            is_not_null=bool(flags >> 3 & 1),
            is_plain=not flags >> 2 & 1,
            is_loaded=is_loaded,
            is_dropped=not is_loaded and bool(size & 1),
        )


def _type_name(kernel: int, choice: int, size: int) -> str:
    """Return the type that a kernel means in the fuzz target, with the modifier from `size`."""
    characters, precision, scale = size - 1, size % 40 - 1, size // 40
    if kernel in (11, 12) and characters >= 0:
        return f"{'varchar' if kernel == 11 else 'char'}({max(characters, 1)})"
    if kernel == 13 and precision >= 0:
        return f"numeric({max(precision, 1)},{scale})"
    if kernel in TYPES_OF_KERNEL:
        names = TYPES_OF_KERNEL[kernel]
        return names[choice % len(names)]
    return RECEIVED[size % len(RECEIVED)]


@dataclass(frozen=True)
class FuzzedLoad:
    """A table, and the bytes that follow the header of a stream into it."""

    # The columns are in the order of the stream.
    columns: tuple[Column, ...]
    body: bytes
    # The size of each CopyData message in bytes.
    message_len: int
    # The table has its columns in the opposite order, so the extension reads rows as Datums.
    is_reversed: bool

    @classmethod
    def of(cls, data: bytes) -> FuzzedLoad | None:
        """Return the load of an input; None if it is too short to describe its columns."""
        if len(data) < 3:
            return None
        count, message_len = data[0] % 12, 1 + data[1]
        described, body = data[3 : 3 + 3 * count], data[3 + 3 * count :]
        if len(described) < 3 * count:
            return None
        columns = [Column.described(f"c{n}", *described[3 * n : 3 * n + 3]) for n in range(count)]
        if not any(column.is_loaded for column in columns):
            # A COPY without column names reads every column that the table still has.
            columns = [replace(column, is_dropped=True) for column in columns]
        return cls(tuple(columns), body, message_len, is_reversed=bool(data[2] & 1))

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the columns that the stream has."""
        return tuple(column.name for column in self.columns if column.is_loaded)

    def create(self, table: str) -> str:
        """Return the statements that make the table."""
        columns = ", ".join(
            f"{column.name} {column.type_name}{' NOT NULL' if column.is_not_null else ''}"
            for column in (reversed(self.columns) if self.is_reversed else self.columns)
        )
        actions = [
            f"DROP {column.name}" if column.is_dropped else f"ALTER {column.name} SET STORAGE plain"
            for column in self.columns
            if column.is_dropped or column.is_plain
        ]
        altered = f"; ALTER TABLE {table} {', '.join(actions)}" if actions else ""
        return f"CREATE TABLE {table} ({columns}){altered}"

    def messages(self) -> bytes:
        """Return the stream as messages of CopyData, and a CopyDone."""
        stream = HEADER + self.body
        blocks = range(0, len(stream), self.message_len)
        data = [message(b"d", stream[at : at + self.message_len]) for at in blocks]
        return b"".join([*data, message(b"c")])

    def rows(self) -> list[Row]:
        """Return the rows at the beginning of the stream whose lengths are sound."""
        rows, place = [], 0
        while (found := self._row(place)) is not None:
            fields, place = found
            rows.append(fields)
        return rows

    def _row(self, place: int) -> tuple[Row, int] | None:
        """Return the row that begins here, and where it ends."""
        count = len(self.loaded)
        if self.body[place : place + 2] != struct.pack(">h", count):
            return None
        place += 2
        fields: Row = []
        for _ in range(count):
            if place + 4 > len(self.body):
                return None
            (length,) = struct.unpack_from(">i", self.body, place)
            place += 4
            if length < -1 or place + length > len(self.body):
                return None
            fields.append(None if length < 0 else self.body[place : place + length])
            place += max(length, 0)
        return fields, place

    def with_rows(self, rows: list[Row]) -> FuzzedLoad:
        """Return a sound stream of these rows."""
        return replace(self, body=b"".join(row(*fields) for fields in rows) + TRAILER)

    def without(self, error: Reply) -> FuzzedLoad | None:
        """Return the load without the bytes or the constraint that caused the error.

        One refused field would hide all fields that follow it, so the rest is tried again. If
        something else follows the rows, it is left out; a refused value becomes NULL; or the table
        loses its NOT NULL. The result is None if nothing is left to try.
        """
        rows = self.rows()
        sound = self.with_rows(rows)
        if sound.body not in (self.body, self.body + TRAILER):
            return sound if rows else None
        if error.sqlstate == "23502":
            columns = tuple(replace(column, is_not_null=False) for column in self.columns)
            return replace(self, columns=columns)
        place = PLACE.search("\n".join(map(str, error.payload)))
        if place is None or place[2] not in self.loaded:
            return None
        fields = rows[int(place[1]) - 1]
        refused = self.loaded.index(place[2])
        if fields[refused] is None:
            return None
        fields[refused] = None
        return self.with_rows(rows)


def inputs_in(place: Path) -> Iterator[tuple[str, bytes]]:
    """Return the inputs of an archive, a folder or a file, each with its name."""
    if place.is_dir():
        for path in sorted(place.iterdir()):
            yield path.name, path.read_bytes()
    elif place.name.endswith(".tar.gz"):
        with TarFile.open(place) as archive:
            for member in archive:
                file = archive.extractfile(member)
                assert file is not None, f"{member.name} in {place} is not a file"
                yield member.name, file.read()
    else:
        yield place.name, place.read_bytes()
