"""A server of TDS that reads bulk loads of lineitem and throws them away, for `tds_clients.py`.

It answers the queries that a client sends before a load. If the client is Inrush, the tests'
double answers; other clients get the answers of the recording server. It is slower than a SQL
Server, so only the processor time of its clients is measured, not its own.
"""

from __future__ import annotations

import re
import socket
import struct
from dataclasses import dataclass, field

from ground import LINEITEM
from sqlserver.double import Double
from sqlserver.double.server import Client
from sqlserver.double.storage import Chunk
from sqlserver.double.types import SqlType
from sqlserver.recording_server import answer_to_call, answer_to_client, answer_to_transaction
from sqlserver.table import Column
from sqlserver.tokens import (
    ATTENTION,
    BULK_LOAD,
    DONE_ATTENTION,
    DONE_COUNT,
    RPC,
    TRANSACTION,
    done,
)

# Rows are counted in pieces of this size.
_PIECE_BYTES = 4 << 20
# int and bigint that are NOT NULL; integers and decimals with a length.
_FIXED_BYTES = {0x38: 4, 0x7F: 8}
_INTEGER, _DECIMAL = 0x26, 0x6A
# The last bytes of a piece are kept, because a row may begin in them. The pattern of a row matches
# fewer bytes than this.
_BEGINNING_BYTES_MAX = 72


def _parsed(column: str) -> tuple[str, SqlType]:
    name, kind, *numbers = re.findall(r"\w+", column.replace("not null", ""))
    # The destination's names of these types.
    kind = {"numeric": "decimal", "integer": "int"}.get(kind, kind)
    return name, SqlType.parse(kind, numbers, None)


def columns() -> list[Column]:
    """Return the columns of lineitem as the server describes them."""
    return [
        Column(name, kind.name, kind.type_info(nullable=False), [], kind.collation, nullable=False)
        for name, kind in map(_parsed, LINEITEM)
    ]


def row_beginning(described: bytes) -> bytes:
    """Return the pattern of a row's first bytes, up to its first text, from the COLMETADATA."""
    pattern = b"\xd1"
    at = 3
    while True:
        token = described[at + 6]
        at += 7
        if token in _FIXED_BYTES:
            pattern += b".{%d}" % _FIXED_BYTES[token]
        elif token == _INTEGER:
            pattern += re.escape(described[at : at + 1]) + b".{%d}" % described[at]
            at += 1
        elif token == _DECIMAL:
            # The number of bytes for 15 digits: that of most clients, and that of FreeTDS.
            pattern += rb"(?:\x09.{9}|\x08.{8})"
            at += 3
        else:
            return pattern
        at += 1 + 2 * described[at]


class RowCounter:
    """Counts the rows of a stream that comes in pieces, by each row's token and first values.

    No other bytes of lineitem look like these, since its texts are ASCII. If they did, Inrush would
    refuse the count.
    """

    def __init__(self, first: bytes) -> None:
        self.count = 0
        self._beginning = re.compile(row_beginning(first), re.DOTALL)
        self._pieces = [first]
        self._bytes = len(first)

    def add(self, piece: bytes) -> None:
        """Count the rows of a piece."""
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes >= _PIECE_BYTES:
            self._count_pieces()

    def _count_pieces(self) -> None:
        data = b"".join(self._pieces)
        end = 0
        for found in self._beginning.finditer(data):
            self.count += 1
            end = found.end()
        # A row may begin in the last bytes of a piece.
        rest = data[max(end, len(data) - _BEGINNING_BYTES_MAX) :]
        self._pieces, self._bytes = [rest], len(rest)

    def end(self) -> int:
        """Return the number of rows, after the last piece."""
        self._count_pieces()
        return self.count


@dataclass
class Sink(Double):
    """A server that discards rows. `is_foreign` says that its clients are not Inrush."""

    is_foreign: bool = False
    rows: list[int] = field(default_factory=list)

    def client(self, connection: socket.socket) -> Client:
        """Return the handler that serves a connection."""
        return _Discarding(self, connection) if not self.is_foreign else _Foreign(self, connection)


class _Discarding(Client):
    """A connection of Inrush."""

    def __init__(self, server: Sink, connection: socket.socket) -> None:
        super().__init__(server, connection)
        self._sink = server

    def _discard(self, payload: bytes, is_last: bool) -> int:
        counter = RowCounter(payload)
        while not is_last:
            _, is_last, payload = self._packet()
            counter.add(payload)
        self._sink.rows.append(counter.end())
        return self._sink.rows[-1]

    def _bulk_load(self, payload: bytes, is_last: bool) -> None:
        count = self._discard(payload, is_last)
        session = self.session
        bulk, session.bulk = session.bulk, None
        assert bulk is not None
        with session.database.locks.changed:
            # Rows without bytes: they can be counted, but not read.
            session._of_statement = bulk.transaction
            session.add_chunk(bulk._table, Chunk(b"", count, bulk.transaction))
            session._of_statement = None
        self._send(done(DONE_COUNT, count))


class _Foreign(_Discarding):
    """A connection of another client."""

    def _serve_message(self) -> None:
        kind, is_last, payload = self._packet()
        if kind == BULK_LOAD:
            self._send(done(DONE_COUNT, self._discard(payload, is_last)))
            return
        while not is_last:
            _, is_last, piece = self._packet()
            payload += piece
        if kind == RPC:
            self._send(answer_to_call())
        elif kind == TRANSACTION:
            self._send(answer_to_transaction(payload))
        elif kind == ATTENTION:
            self._send(done(DONE_ATTENTION))
        else:
            start = struct.unpack_from("<I", payload)[0]
            statement = payload[start:].decode("utf-16-le")
            self._send(answer_to_client(statement, columns()))
