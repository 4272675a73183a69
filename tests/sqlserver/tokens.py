"""The tokens that a server of TDS writes, for the servers of the tests ([MS-TDS] 2.2.7)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .table import CP1252, Column

# The status of DONE: last result, more results follow, error, with a count, answer to ATTENTION.
DONE_FINAL, DONE_MORE, DONE_ERROR, DONE_COUNT, DONE_ATTENTION = 0x00, 0x01, 0x02, 0x10, 0x20
# The kinds of messages.
SQL_BATCH, RPC, REPLY, ATTENTION, BULK_LOAD, TRANSACTION, LOGIN7, SECURITY_TOKEN, PRELOGIN = (
    1,
    3,
    4,
    6,
    7,
    14,
    16,
    17,
    18,
)
UTF8_SUPPORT = 0x0A


def done(status: int = DONE_FINAL, count: int = 0) -> bytes:
    """Return DONE."""
    return b"\xfd" + struct.pack("<HHQ", status, 0, count)


def b_varchar(text: str) -> bytes:
    """Return a text with its length before it, in one byte."""
    return bytes([len(text)]) + text.encode("utf-16-le")


def env_change(kind: int, data: bytes) -> bytes:
    """Return ENVCHANGE."""
    return b"\xe3" + struct.pack("<HB", len(data) + 1, kind) + data


def login_ack() -> bytes:
    """Return LOGINACK of TDS 7.4 and version 16.0."""
    data = b"\x01" + b"\x74\x00\x00\x04" + b_varchar("Microsoft SQL Server") + b"\x10\x00\x03\xe8"
    return b"\xad" + struct.pack("<H", len(data)) + data


def security_token(token: bytes) -> bytes:
    """Return SSPI."""
    return b"\xed" + struct.pack("<H", len(token)) + token


def features(login: bytes) -> dict[int, bytes]:
    """Return the features that a LOGIN7 asks for, with their data."""
    if not login[27] & 0x10:
        return {}
    at = struct.unpack_from("<I", login, struct.unpack_from("<H", login, 56)[0])[0]
    found = {}
    while login[at] != 0xFF:
        (length,) = struct.unpack_from("<I", login, at + 1)
        found[login[at]] = login[at + 5 : at + 5 + length]
        at += 5 + length
    return found


def description(columns: Sequence[Column]) -> bytes:
    """Return COLMETADATA."""
    data = b"\x81" + struct.pack("<H", len(columns))
    for column in columns:
        flags = 0x0008 | int(column.nullable)
        data += struct.pack("<IH", 0, flags) + column.type_info + b_varchar(column.name)
    return data


def rowset(columns: list[tuple[str, type]], rows: list[list[str | int | None]]) -> bytes:
    """Return a rowset of numbers and texts."""
    data = b"\x81" + struct.pack("<H", len(columns))
    for name, kind in columns:
        info = b"\x26\x04" if kind is int else b"\xe7" + struct.pack("<H", 512) + CP1252
        data += struct.pack("<IH", 0, 0x0009) + info + b_varchar(name)
    for row in rows:
        data += b"\xd1"
        for value, (_, kind) in zip(row, columns, strict=True):
            if kind is int:
                data += b"\x00" if value is None else b"\x04" + struct.pack("<i", value)
            elif value is None:
                data += b"\xff\xff"
            else:
                text = str(value).encode("utf-16-le")
                data += struct.pack("<H", len(text)) + text
    return data


def single(name: str, value: int) -> bytes:
    """Return a rowset of one number."""
    return rowset([(name, int)], [[value]])
