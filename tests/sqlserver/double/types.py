"""Types of columns: their descriptions in TDS, and the values of rows in both directions.

The codes of types and the forms of values are those of [MS-TDS] 2.2.5. A value is kept as an object
of Python: int, float, Decimal, str, bytes; dates, times and moments as their text.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..table import CP1252, CP1252_NAME, UTF8, UTF8_NAME
from .errors import NotInDoubleError, SqlError
from .nodes import Computed

# The collations that the double has, by their names in lower case: the name, bytes, encoding.
COLLATIONS = {
    CP1252_NAME.lower(): (CP1252_NAME, CP1252, "cp1252"),
    UTF8_NAME.lower(): (UTF8_NAME, UTF8, "utf-8"),
    "latin1_general_bin2": ("Latin1_General_BIN2", bytes.fromhex("0904000100"), "cp1252"),
}
DATABASE_COLLATION = CP1252_NAME

_INTEGERS = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}
_FIXED = {
    "tinyint": b"\x30",
    "bit": b"\x32",
    "smallint": b"\x34",
    "int": b"\x38",
    "bigint": b"\x7f",
    "real": b"\x3b",
    "float": b"\x3e",
    "money": b"\x3c",
    "smallmoney": b"\x7a",
    "datetime": b"\x3d",
    "smalldatetime": b"\x3a",
}
_FIXED_BYTES = {
    "tinyint": 1, "bit": 1, "smallint": 2, "int": 4, "bigint": 8, "real": 4, "float": 8, "money": 8,
    "smallmoney": 4, "datetime": 8, "smalldatetime": 4,
}  # fmt: skip
_NULLABLE = {
    "tinyint": b"\x26\x01", "smallint": b"\x26\x02", "int": b"\x26\x04", "bigint": b"\x26\x08",
    "bit": b"\x68\x01", "real": b"\x6d\x04", "float": b"\x6d\x08", "money": b"\x6e\x08",
    "smallmoney": b"\x6e\x04", "datetime": b"\x6f\x08", "smalldatetime": b"\x6f\x04",
}  # fmt: skip
_SYNONYMS = {
    "integer": "int",
    "dec": "decimal",
    "character varying": "varchar",
    "character": "char",
    "double precision": "float",
}
TEXTS = ("char", "varchar", "nchar", "nvarchar")
_MAX = 0xFFFF
_NULL_OF_CHUNKS = b"\xff" * 8


class Money(Decimal):
    """A value of money or smallmoney, with four digits after the point."""


@dataclass(frozen=True)
class SqlType:
    """A type: its name, bytes (-1 for max), digits, digits after the point, and collation."""

    name: str
    length: int = 0
    precision: int = 0
    scale: int = 0
    collation: str | None = None

    @staticmethod
    def parse(name: str, numbers: list[str], collation: str | None) -> SqlType:
        """Return the type that a statement names."""
        name = _SYNONYMS.get(name.lower(), name.lower())
        if name in ("decimal", "numeric"):
            given = [int(number) for number in numbers] or [18]
            return SqlType(name, 0, given[0], given[1] if len(given) > 1 else 0)
        if name in ("time", "datetime2", "datetimeoffset"):
            return SqlType(name, 0, 0, int(numbers[0]) if numbers else 7)
        if name in TEXTS or name in ("binary", "varbinary"):
            unit = 2 if name.startswith("n") else 1
            length = -1 if numbers == ["max"] else int(numbers[0]) * unit if numbers else unit
            known = (collation or DATABASE_COLLATION) if name in TEXTS else None
            if known is not None and known.lower() not in COLLATIONS:
                raise NotInDoubleError(f"collation {known}")
            return SqlType(name, length, collation=known and COLLATIONS[known.lower()][0])
        if name in _FIXED or name in ("date", "uniqueidentifier"):
            return SqlType(name)
        raise NotInDoubleError(f"type {name}")

    @property
    def max_length(self) -> int:
        """Return the bytes of a value as `sys.columns` has them."""
        if self.name in _FIXED_BYTES:
            return _FIXED_BYTES[self.name]
        other = {"date": 3, "uniqueidentifier": 16, "decimal": self.decimal_bytes, "numeric": 17}
        return other.get(self.name, self.length or self.time_bytes + 5)

    @property
    def decimal_bytes(self) -> int:
        """Return the bytes of a decimal, with its sign."""
        digits = self.precision
        return 5 if digits <= 9 else 9 if digits <= 19 else 13 if digits <= 28 else 17

    @property
    def time_bytes(self) -> int:
        """Return the bytes of a time of day."""
        return 3 if self.scale <= 2 else 4 if self.scale <= 4 else 5

    @property
    def encoding(self) -> str:
        """Return the encoding of its texts."""
        if self.name.startswith("n"):
            return "utf-16-le"
        assert self.collation is not None
        return COLLATIONS[self.collation.lower()][2]

    def type_info(self, *, nullable: bool) -> bytes:
        """Return TYPE_INFO; some types have another code for columns that are NOT NULL."""
        if self.name in _FIXED:
            return _NULLABLE[self.name] if nullable else _FIXED[self.name]
        if self.name in ("decimal", "numeric"):
            token = 0x6A if self.name == "decimal" else 0x6C
            return bytes([token, self.decimal_bytes, self.precision, self.scale])
        if self.name == "date":
            return b"\x28"
        if self.name == "uniqueidentifier":
            return b"\x24\x10"
        moments = {"time": 0x29, "datetime2": 0x2A, "datetimeoffset": 0x2B}
        if self.name in moments:
            return bytes([moments[self.name], self.scale])
        tokens = {"char": 0xAF, "varchar": 0xA7, "nchar": 0xEF, "nvarchar": 0xE7}
        binary = {"binary": 0xAD, "varbinary": 0xA5}
        length = struct.pack("<H", _MAX if self.length == -1 else self.length)
        if self.name in binary:
            return bytes([binary[self.name]]) + length
        assert self.collation is not None
        return bytes([tokens[self.name]]) + length + COLLATIONS[self.collation.lower()][1]

    # Values in a stream. The generated code of a reader ends the stream's bytes by `return`.

    @property
    def is_chunked(self) -> bool:
        """Return whether values come in chunks (PLP)."""
        return self.length == -1

    def is_fixed(self, *, nullable: bool) -> bool:
        """Return whether values have no length before them."""
        return self.name in _FIXED and not nullable

    @property
    def value_bytes(self) -> int:
        """Return the size in bytes of each value, for types whose values all have one size."""
        if self.name in ("decimal", "numeric"):
            return self.decimal_bytes
        more = {"time": 0, "datetime2": 3, "datetimeoffset": 5}
        if self.name in more:
            return self.time_bytes + more[self.name]
        return {"date": 3, "uniqueidentifier": 16}.get(self.name) or _FIXED_BYTES[self.name]

    def decoder(self) -> Callable[[bytes], Any]:
        """Return the function that reads a value that is not NULL."""
        name = self.name
        if name == "bit":
            return lambda data: int(data[0] != 0)
        if name == "tinyint":
            return lambda data: data[0]
        if name in _INTEGERS:
            return lambda data: int.from_bytes(data, "little", signed=True)
        if name in ("real", "float"):
            form = "<f" if name == "real" else "<d"
            return lambda data: struct.unpack(form, data)[0]
        if name in ("money", "smallmoney"):
            return _money
        if name in ("decimal", "numeric"):
            scale = self.scale
            return lambda data: Decimal(
                f"{'' if data[0] else '-'}{int.from_bytes(data[1:], 'little')}E-{scale}"
            )
        if name in ("char", "varchar", "nchar", "nvarchar"):
            encoding = self.encoding
            return lambda data: data.decode(encoding)
        if name in ("binary", "varbinary"):
            return bytes
        if name == "uniqueidentifier":
            return lambda data: str(uuid.UUID(bytes_le=bytes(data)))
        return _moments(self)

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a value that is not NULL, as the decoder reads them."""
        name = self.name
        if name == "bit" or name in _INTEGERS:
            return int(value).to_bytes(
                self.value_bytes, "little", signed=name not in ("bit", "tinyint")
            )
        if name in ("real", "float"):
            return struct.pack("<f" if name == "real" else "<d", value)
        if name in ("money", "smallmoney"):
            units = int(Decimal(value).scaleb(4)).to_bytes(self.value_bytes, "little", signed=True)
            # The upper half comes first.
            return units if name == "smallmoney" else units[4:] + units[:4]
        if name in ("decimal", "numeric"):
            sign, digits, exponent = Decimal(value).as_tuple()
            number: int = int("".join(map(str, digits))) * 10 ** (int(exponent) + self.scale)
            return bytes([not sign]) + number.to_bytes(self.value_bytes - 1, "little")
        if name in ("char", "varchar", "nchar", "nvarchar"):
            return str(value).encode(self.encoding)
        if name in ("binary", "varbinary"):
            return bytes(value)
        if name == "uniqueidentifier":
            return uuid.UUID(value).bytes_le
        return _moment_bytes(self, value)


def _money(data: bytes) -> Money:
    """Return ten-thousandths, whose upper half comes first."""
    units = data if len(data) == 4 else data[4:] + data[:4]
    return Money(Decimal(int.from_bytes(units, "little", signed=True)).scaleb(-4))


def _moment_bytes(kind: SqlType, value: str) -> bytes:
    """Return the bytes of a date, a time or a moment, as `_moments` reads them."""
    words = value.split(" ")
    time = words[0] if kind.name == "time" else words[1] if len(words) > 1 else "00:00:00"
    clock, _, fraction = time.partition(".")
    hours, minutes, seconds = map(int, clock.split(":"))
    of_day = hours * 3600 + minutes * 60 + seconds
    ticks: int = of_day * 10**kind.scale + int((fraction + "0" * kind.scale)[: kind.scale] or 0)
    time_bytes = ticks.to_bytes(kind.time_bytes, "little")
    if kind.name == "time":
        return time_bytes
    day = datetime.date.fromisoformat(words[0]).toordinal()
    if kind.name == "date":
        return (day - 1).to_bytes(3, "little")
    if kind.name == "datetime2":
        return time_bytes + (day - 1).to_bytes(3, "little")
    if kind.name == "datetimeoffset":
        return time_bytes + (day - 1).to_bytes(3, "little") + bytes(2)
    days = day - datetime.date(1900, 1, 1).toordinal()
    if kind.name == "smalldatetime":
        return struct.pack("<HH", days, of_day // 60)
    milliseconds = of_day * 1000 + int((fraction + "000")[:3])
    return struct.pack("<iI", days, (milliseconds * 3 + 5) // 10)


# The type of texts that no column describes.
TEXT = SqlType("nvarchar", -1, collation=DATABASE_COLLATION)


def _moments(kind: SqlType) -> Callable[[bytes], Any]:
    name, scale, time_bytes = kind.name, kind.scale, kind.time_bytes

    def date(data: bytes) -> str:
        ordinal = int.from_bytes(data, "little") + 1
        return datetime.date.fromordinal(ordinal).isoformat()

    def time(data: bytes) -> str:
        seconds, fraction = divmod(int.from_bytes(data, "little"), 10**scale)
        text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{text}.{fraction:0{scale}}" if scale else text

    if name == "date":
        return date
    if name == "time":
        return time
    if name == "datetime2":
        return lambda data: f"{date(data[time_bytes:])} {time(data[:time_bytes])}"
    if name == "datetimeoffset":
        return lambda data: f"{date(data[time_bytes:-2])} {time(data[:time_bytes])} +00:00"
    epoch = datetime.datetime(1900, 1, 1)
    if name == "datetime":

        def of_ticks(data: bytes) -> str:
            days, ticks = struct.unpack("<iI", data)
            milliseconds = (ticks * 10 + 1) // 3
            moment = epoch + datetime.timedelta(days=days, milliseconds=milliseconds)
            return moment.isoformat(sep=" ", timespec="milliseconds")

        return of_ticks
    assert name == "smalldatetime", name

    def of_minutes(data: bytes) -> str:
        days, minutes = struct.unpack("<HH", data)
        return (epoch + datetime.timedelta(days=days, minutes=minutes)).isoformat(sep=" ")

    return of_minutes


@dataclass
class Column:
    """A column of a table."""

    name: str
    kind: SqlType
    nullable: bool = True
    identity: bool = False
    # The first value of an identity column, and the difference between two values.
    seed: int = 1
    increment: int = 1
    default: Any = None
    # The expression from which the server computes it.
    computed: Computed | None = None
    # Other traits in the catalog: `rowguidcol`, `filestream`, `ansi_unpadded`, `xml_collection`,
    # `rule`.
    traits: frozenset[str] = frozenset()


def description(columns: list[Column]) -> bytes:
    """Return COLMETADATA of columns of a table."""
    data = b"\x81" + struct.pack("<H", len(columns))
    for column in columns:
        flags = 0x0008 | int(column.nullable) | (0x0010 if column.identity else 0)
        flags |= 0x0020 if column.computed else 0
        info = column.kind.type_info(nullable=column.nullable)
        name = column.name.encode("utf-16-le")
        data += struct.pack("<IH", 0, flags) + info + bytes([len(name) // 2]) + name
    return data


def encoded(rows: list[list[Any]], columns: list[Column]) -> bytes:
    """Return ROW of each row."""
    pieces = []
    for row in rows:
        pieces.append(b"\xd1")
        for value, column in zip(row, columns, strict=True):
            kind = column.kind
            data = None if value is None else kind.encode(value)
            if kind.is_chunked:
                chunk = struct.pack("<I", len(data)) + data if data else b""
                total = struct.pack("<Q", len(data)) if data is not None else _NULL_OF_CHUNKS
                pieces.append(total + (chunk + bytes(4) if data is not None else b""))
            elif kind.length:
                pieces.append(struct.pack("<H", _MAX if data is None else len(data)))
                pieces.append(data or b"")
            elif kind.is_fixed(nullable=column.nullable):
                assert data is not None, column.name
                pieces.append(data)
            else:
                pieces.append(bytes([len(data)]) + data if data is not None else b"\0")
    return b"".join(pieces)


def check_description(payload: bytes, columns: list[Column]) -> int:
    """Compare the COLMETADATA of a bulk load with the columns (error 4816); return its end."""
    if payload[:3] != b"\x81" + struct.pack("<H", len(columns)):
        raise SqlError(4816, 1)
    at = 3
    for number, column in enumerate(columns, start=1):
        info = column.kind.type_info(nullable=column.nullable)
        at += 6
        if payload[at : at + len(info)] != info:
            raise SqlError(4816, number)
        at += len(info)
        at += 1 + 2 * payload[at]
    return at


def walker(columns: list[Column], table: str) -> Callable[[Any, int, int], tuple[int, int]]:
    """Return a function that walks over whole rows and returns their end and their number.

    It is generated: a loop over the columns of each row would take most of a test's time. It raises
    errors 515 and 4815.
    """
    lines = [
        "def walk(b, at, end):",
        "  n = 0",
        "  while True:",
        "    start = at",
        "    if at >= end or b[at] != 0xD1: return start, n",
        "    at += 1",
    ]
    for number, column in enumerate(columns, start=1):
        kind, nullable = column.kind, column.nullable
        null = "pass" if nullable else f"raise Error(515, {column.name!r}, {table!r})"
        if kind.is_fixed(nullable=nullable):
            lines.append(f"    at += {kind.value_bytes}")
        elif kind.is_chunked:
            lines += [
                "    if at + 8 > end: return start, n",
                "    if b[at:at + 8] == NULL:",
                f"      {null}",
                "      at += 8",
                "    else:",
                "      at += 8",
                "      while True:",
                "        if at + 4 > end: return start, n",
                "        l = b[at] | b[at + 1] << 8 | b[at + 2] << 16 | b[at + 3] << 24",
                "        at += 4 + l",
                "        if not l: break",
            ]
        elif kind.length:
            lines += [
                "    if at + 2 > end: return start, n",
                "    l = b[at] | b[at + 1] << 8",
                "    at += 2",
                f"    if l == {_MAX}:",
                f"      {null}",
                f"    elif l > {kind.length}: raise Error(4815, {number})",
                "    else: at += l",
            ]
        else:
            lines += [
                "    if at >= end: return start, n",
                "    l = b[at]",
                "    if not l:",
                f"      {null}",
                f"    elif l != {kind.value_bytes}: raise Error(4815, {number})",
                "    at += 1 + l",
            ]
    lines += ["    if at > end: return start, n", "    n += 1"]
    names: dict[str, Any] = {"Error": SqlError, "NULL": _NULL_OF_CHUNKS}
    exec("\n".join(lines), names)  # noqa: S102
    walk: Callable[[Any, int, int], tuple[int, int]] = names["walk"]
    return walk


def rows(data: bytes, columns: list[Column]) -> list[list[Any]]:
    """Return the rows in bytes that were walked over."""
    forms = [(column.kind, column.nullable, column.kind.decoder()) for column in columns]
    found = []
    at, end = 0, len(data)
    while at < end:
        at += 1
        row: list[Any] = []
        for kind, nullable, decode in forms:
            if kind.is_fixed(nullable=nullable):
                length = kind.value_bytes
            elif kind.is_chunked:
                if data[at : at + 8] == _NULL_OF_CHUNKS:
                    at += 8
                    row.append(None)
                    continue
                at += 8
                pieces = []
                while length := int.from_bytes(data[at : at + 4], "little"):
                    pieces.append(data[at + 4 : at + 4 + length])
                    at += 4 + length
                at += 4
                row.append(decode(b"".join(pieces)))
                continue
            elif kind.length:
                length = data[at] | data[at + 1] << 8
                at += 2
                if length == _MAX:
                    row.append(None)
                    continue
            else:
                length = data[at]
                at += 1
                if not length:
                    row.append(None)
                    continue
            row.append(decode(data[at : at + length]))
            at += length
        if any(kind.name in ("char", "nchar") for kind, _, _ in forms):
            pad(row, columns)
        found.append(row)
    return found


def pad(row: list[Any], columns: list[Column]) -> None:
    """Fill texts of char(n) with blanks, as the server does."""
    for place, column in enumerate(columns):
        if column.kind.name in ("char", "nchar") and row[place] is not None:
            unit = 2 if column.kind.name == "nchar" else 1
            used = len(row[place].encode(column.kind.encoding)) // unit
            row[place] += " " * (column.kind.length // unit - used)
