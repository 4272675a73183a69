"""The table that every client loads: a column of each type, three rows, and a row of NULLs.

`captures/table.json` is made from it, for clients in other languages and for the test that encodes
the same values (`crates/tds/tests/bulk/captures.rs`).
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

# The first is the default of most servers, with code page 1252; the second ends in _UTF8.
CP1252 = bytes.fromhex("0904d00034")
UTF8 = bytes.fromhex("0904d02400")
CP1252_NAME = "SQL_Latin1_General_CP1_CI_AS"
UTF8_NAME = "Latin1_General_100_CI_AS_SC_UTF8"

Value = Any


@dataclass(frozen=True)
class Column:
    """A column: its type as T-SQL names it and as TDS describes it, and its values."""

    name: str
    sql: str
    type_info: bytes
    values: Sequence[Value]
    collation: str | None = None
    nullable: bool = True


def _u16(number: int) -> bytes:
    return number.to_bytes(2, "little")


def _text(token: int, length: int, collation: bytes) -> bytes:
    return bytes([token]) + _u16(length) + collation


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _time(text: str) -> datetime.time:
    return datetime.time.fromisoformat(text)


def _date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


_MAX = 0xFFFF
_LONG = "0123456789" * 500

# These values of a binary float have few digits, so every client writes the same bits.
COLUMNS = [
    Column("id", "int", b"\x38", [1, 2, 3], nullable=False),
    Column("c_tinyint", "tinyint", b"\x26\x01", [0, 255, 7]),
    Column("c_smallint", "smallint", b"\x26\x02", [-32768, 32767, 0]),
    Column("c_int", "int", b"\x26\x04", [-2147483648, 2147483647, 0]),
    Column("c_bigint", "bigint", b"\x26\x08", [-9223372036854775808, 9223372036854775807, 0]),
    Column("c_bit", "bit", b"\x68\x01", [True, False, True]),
    Column("c_real", "real", b"\x6d\x04", [0.5, -1024.25, 0.0]),
    Column("c_float", "float", b"\x6d\x08", [0.5, -1e100, 0.0]),
    Column(
        "c_decimal_9",
        "decimal(9,2)",
        b"\x6a\x05\x09\x02",
        [Decimal("9999999.99"), Decimal("-9999999.99"), Decimal("0.00")],
    ),
    Column(
        "c_decimal_15",
        "decimal(15,2)",
        b"\x6a\x09\x0f\x02",
        [Decimal("9999999999999.99"), Decimal("-0.01"), Decimal("0.00")],
    ),
    Column(
        "c_decimal_28",
        "decimal(28,4)",
        b"\x6a\x0d\x1c\x04",
        [Decimal("1234567890123456.7891"), Decimal("-0.0001"), Decimal("1.0000")],
    ),
    Column(
        "c_decimal_38",
        "decimal(38,10)",
        b"\x6a\x11\x26\x0a",
        [Decimal("1234567890123456.7891234567"), Decimal("-1.0000000001"), Decimal("1.0000000000")],
    ),
    Column(
        "c_date", "date", b"\x28", [_date("0001-01-01"), _date("9999-12-31"), _date("2024-02-29")]
    ),
    Column(
        "c_time_0",
        "time(0)",
        b"\x29\x00",
        [_time("00:00:00"), _time("23:59:59"), _time("12:30:15")],
    ),
    Column(
        "c_time_3",
        "time(3)",
        b"\x29\x03",
        [_time("00:00:00"), _time("23:59:59.999"), _time("12:30:15.125")],
    ),
    Column(
        "c_datetime2_0",
        "datetime2(0)",
        b"\x2a\x00",
        [_moment("0001-01-01"), _moment("9999-12-31 23:59:59"), _moment("2024-02-29 12:30:15")],
    ),
    Column(
        "c_datetime2_3",
        "datetime2(3)",
        b"\x2a\x03",
        [
            _moment("1970-01-01"),
            _moment("9999-12-31 23:59:59.999"),
            _moment("1969-12-31 23:59:59.125"),
        ],
    ),
    Column(
        "c_datetime",
        "datetime",
        b"\x6f\x08",
        [_moment("1753-01-01"), _moment("9999-12-31 23:59:59"), _moment("2024-02-29 12:30:15.500")],
    ),
    Column(
        "c_smalldatetime",
        "smalldatetime",
        b"\x6f\x04",
        [_moment("1900-01-01"), _moment("2079-06-06 23:59"), _moment("2024-02-29 12:30")],
    ),
    Column(
        "c_char", "char(10)", _text(0xAF, 10, CP1252), ["ab", "0123456789", "Grüße €"], CP1252_NAME
    ),
    Column(
        "c_varchar", "varchar(20)", _text(0xA7, 20, CP1252), ["", "a b", "Grüße €"], CP1252_NAME
    ),
    Column(
        "c_varchar_utf8", "varchar(20)", _text(0xA7, 20, UTF8), ["", "a b", "Grüße €"], UTF8_NAME
    ),
    Column(
        "c_varchar_max", "varchar(max)", _text(0xA7, _MAX, CP1252), ["", "a", _LONG], CP1252_NAME
    ),
    Column("c_nchar", "nchar(5)", _text(0xEF, 10, CP1252), ["ab", "Łódź5", "12345"], CP1252_NAME),
    Column(
        "c_nvarchar", "nvarchar(10)", _text(0xE7, 20, CP1252), ["", "Łódź", "a😀b"], CP1252_NAME
    ),
    Column(
        "c_nvarchar_max",
        "nvarchar(max)",
        _text(0xE7, _MAX, CP1252),
        ["", "a", "Łódź " * 900],
        CP1252_NAME,
    ),
    Column("c_binary", "binary(4)", b"\xad\x04\x00", [b"\x00\x01\x02\x03", b"\xff" * 4, b"abcd"]),
    Column("c_varbinary", "varbinary(8)", b"\xa5\x08\x00", [b"\x01", b"\xff" * 8, b"abcd"]),
    Column(
        "c_varbinary_max", "varbinary(max)", b"\xa5\xff\xff", [b"\x01", b"\xff" * 3000, b"abcd"]
    ),
    Column(
        "c_uniqueidentifier",
        "uniqueidentifier",
        b"\x24\x10",
        [
            uuid.UUID(int=0),
            uuid.UUID(int=2**128 - 1),
            uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
        ],
    ),
]
TABLE = "dbo.every_type"


def rows() -> list[list[Value]]:
    """Return the rows; in the last row every nullable value is NULL."""
    full = [[column.values[row] for column in COLUMNS] for row in range(3)]
    return [*full, [None if column.nullable else 4 for column in COLUMNS]]


def text_of(value: Value) -> str | None:
    """Return a value as text for other languages: ISO 8601, hexadecimal, plain digits."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, float):
        return repr(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def number_of(value: Value) -> str | None:
    """Return a value as Arrow carries it: days, microseconds, digits without the point, or text."""
    if isinstance(value, datetime.datetime):
        return str((value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return str((value - datetime.date(1970, 1, 1)).days)
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return str(seconds * 1_000_000 + value.microsecond)
    if isinstance(value, Decimal):
        return f"{value:f}".replace(".", "")
    if isinstance(value, uuid.UUID):
        return value.hex
    return text_of(value)


def as_json() -> str:
    """Return the table for other languages."""
    table = {
        "table": TABLE,
        "columns": [
            {
                "name": column.name,
                "sql": column.sql,
                "type_info": column.type_info.hex(),
                "collation": column.collation,
                "nullable": column.nullable,
                "texts": [text_of(row[index]) for row in rows()],
                "numbers": [number_of(row[index]) for row in rows()],
            }
            for index, column in enumerate(COLUMNS)
        ],
    }
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"
