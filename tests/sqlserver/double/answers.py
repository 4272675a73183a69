"""The tokens of the double's answers: results of statements, and errors."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ..table import CP1252
from ..tokens import DONE_COUNT, DONE_FINAL, DONE_MORE, b_varchar, done, env_change
from .base import Result
from .errors import SqlError
from .types import description, encoded


def error_tokens(error: SqlError) -> bytes:
    """Return ERROR."""
    text = error.text.encode("utf-16-le")
    data = struct.pack("<iBB", error.number, 1, error.severity)
    data += struct.pack("<H", len(text) // 2) + text
    data += b_varchar("double") + b_varchar("") + struct.pack("<i", 1)
    return b"\xaa" + struct.pack("<H", len(data)) + data


def without_more(tokens: bytes) -> bytes:
    """Clear the flag for more results in the last DONE, which is the last 13 bytes."""
    status = struct.unpack_from("<H", tokens, len(tokens) - 12)[0] & ~DONE_MORE
    return tokens[:-12] + struct.pack("<H", status) + tokens[-10:]


def result_tokens(result: Result) -> bytes:
    """Return the tokens of a result, after which another result may follow."""
    tokens = b""
    if result.transaction is not None:
        begun = b"\x08" + struct.pack("<Q", result.transaction) + b"\x00"
        ended = b"\x00\x08" + bytes(8)
        kind = 8 if result.transaction else 10 if result.rolled_back else 9
        tokens += env_change(kind, begun if result.transaction else ended)
    if result.status is not None:
        tokens += b"\x79" + struct.pack("<i", result.status)
    if result.names is not None:
        if result.columns is not None:
            tokens += description(result.columns) + encoded(result.rows, result.columns)
        else:
            tokens += _rows(result.names, result.rows)
    status = DONE_MORE | (DONE_COUNT if result.count is not None else DONE_FINAL)
    return tokens + done(status, result.count or 0)


def _rows(names: list[str], rows: list[list[Any]]) -> bytes:
    """Return a rowset: columns of whole numbers are bigint, all others nvarchar(max)."""
    kinds: list[tuple[str, type]] = []
    for place, name in enumerate(names):
        values = [row[place] for row in rows if row[place] is not None]
        is_number = bool(values) and all(isinstance(value, int) for value in values)
        kinds.append((name, int if is_number else str))
    return _rowset(kinds, rows)


def _rowset(columns: Sequence[tuple[str, type]], rows: Sequence[Sequence[Any]]) -> bytes:
    """Return a rowset of numbers (bigint) and texts (nvarchar(max))."""
    data = b"\x81" + struct.pack("<H", len(columns))
    for name, kind in columns:
        info = b"\x26\x08" if kind is int else b"\xe7\xff\xff" + CP1252
        data += struct.pack("<IH", 0, 0x0009) + info + b_varchar(name)
    pieces = [data]
    for row in rows:
        pieces.append(b"\xd1")
        for value, (_, kind) in zip(row, columns, strict=True):
            if kind is int:
                pieces.append(b"\x00" if value is None else b"\x08" + struct.pack("<q", value))
            elif value is None:
                pieces.append(b"\xff" * 8)
            else:
                text = str(value).encode("utf-16-le", "surrogatepass")
                chunk = struct.pack("<I", len(text)) + text if text else b""
                pieces.append(struct.pack("<Q", len(text)) + chunk + bytes(4))
    return b"".join(pieces)
