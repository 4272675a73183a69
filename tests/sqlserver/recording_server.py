"""A server that speaks enough TDS for a client to send a bulk load, and keeps the load's bytes.

It is not a SQL Server: it accepts any login and stores nothing. It answers a query of columns with
the columns of `table.py`, a query of rows with the bytes that it was given, and any other statement
with success. Nothing about SQL Server follows from its answers. It records the work of the clients,
which are known to work with real servers.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .table import COLUMNS, CP1252, CP1252_NAME, UTF8_NAME, Column
from .tokens import (
    ATTENTION,
    BULK_LOAD,
    DONE_ATTENTION,
    DONE_COUNT,
    DONE_FINAL,
    DONE_MORE,
    LOGIN7,
    PRELOGIN,
    REPLY,
    RPC,
    SQL_BATCH,
    TRANSACTION,
    UTF8_SUPPORT,
    b_varchar,
    description,
    done,
    env_change,
    features,
    login_ack,
    rowset,
    single,
)

_PACKET_BYTES = 4096


@dataclass
class Recording:
    """One bulk load: the statement before it, and the payload of its packets."""

    statement: str
    payload: bytes
    packet_bytes: int


@dataclass
class RecordingServer:
    """Listens on a port of this machine until it is closed."""

    # The answer to a SELECT of the table's rows.
    rows: bytes | None = None
    recordings: list[Recording] = field(default_factory=list)
    # Every statement of every client, to show what a new client sends.
    statements: list[str] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> RecordingServer:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            session = _Session(self, connection)
            threading.Thread(target=session.run, daemon=True).start()


class _Session:
    """One connection of a client."""

    def __init__(self, server: RecordingServer, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._packet_bytes = _PACKET_BYTES
        self._statement = ""

    def run(self) -> None:
        """Answer until the client closes the connection."""
        answers: dict[int, Callable[[bytes], bytes]] = {
            PRELOGIN: self._prelogin,
            LOGIN7: self._login,
            SQL_BATCH: self._batch,
            RPC: self._rpc,
            BULK_LOAD: self._bulk_load,
            TRANSACTION: self._transaction,
            ATTENTION: lambda _: done(DONE_ATTENTION),
        }
        with self._connection:
            while (message := self._read()) is not None:
                kind, payload = message
                self._send(answers[kind](payload))

    def _read(self) -> tuple[int, bytes] | None:
        payload = b""
        while True:
            header = self._exactly(8)
            if not header:
                return None
            kind, status, length = struct.unpack(">BBH", header[:4])
            payload += self._exactly(length - 8)
            if status & 1:
                return kind, payload

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self._connection.recv(count - len(data))
            except ConnectionError:
                return b""
            if not piece:
                return b""
            data += piece
        return data

    def _send(self, payload: bytes) -> None:
        room = self._packet_bytes - 8
        pieces = [payload[at : at + room] for at in range(0, len(payload), room)]
        for index, piece in enumerate(pieces):
            status = 1 if index == len(pieces) - 1 else 0
            header = struct.pack(">BBHHBB", REPLY, status, len(piece) + 8, 0, index + 1 & 255, 0)
            self._connection.sendall(header + piece)

    def _prelogin(self, _: bytes) -> bytes:
        # Version 16.0, no encryption, no instance, no thread, no MARS.
        options = [
            (0, b"\x10\x00\x03\xe8\x00\x00"),
            (1, b"\x02"),
            (2, b"\x00"),
            (3, b""),
            (4, b"\x00"),
        ]
        at = 5 * len(options) + 1
        heads, data = b"", b""
        for token, value in options:
            heads += struct.pack(">BHH", token, at + len(data), len(value))
            data += value
        return heads + b"\xff" + data

    def _login(self, payload: bytes) -> bytes:
        asked = struct.unpack_from("<I", payload, 8)[0] or _PACKET_BYTES
        before = self._packet_bytes
        self._packet_bytes = min(max(asked, 512), 32767)
        replies = [
            env_change(1, b_varchar("every_type") + b_varchar("master")),
            env_change(7, b"\x05" + CP1252 + b"\x00"),
            env_change(2, b_varchar("us_english") + b_varchar("")),
            login_ack(),
            env_change(4, b_varchar(str(self._packet_bytes)) + b_varchar(str(before))),
        ]
        if UTF8_SUPPORT in features(payload):
            replies.append(b"\xae" + bytes([UTF8_SUPPORT]) + struct.pack("<I", 1) + b"\x01\xff")
        return b"".join(replies) + done()

    def _batch(self, payload: bytes) -> bytes:
        # ALL_HEADERS begin with their length.
        return self._answer(payload[struct.unpack_from("<I", payload)[0] :].decode("utf-16-le"))

    def _rpc(self, payload: bytes) -> bytes:
        self._server.statements.append(f"rpc: {payload.decode('utf-16-le', 'replace')}")
        return answer_to_call()

    def _answer(self, statement: str) -> bytes:
        self._server.statements.append(statement)
        if "insert bulk" in statement.lower():
            self._statement = statement
        if statement.lower().lstrip().startswith("select * from") and self._server.rows is not None:
            return self._server.rows
        return answer_to_client(statement, COLUMNS)

    def _bulk_load(self, payload: bytes) -> bytes:
        recording = Recording(self._statement, payload, self._packet_bytes)
        self._server.recordings.append(recording)
        return done(DONE_COUNT, 4)

    def _transaction(self, payload: bytes) -> bytes:
        return answer_to_transaction(payload)


def answer_to_call() -> bytes:
    """Return the answer to a procedure: DONEPROC with a return status of 0."""
    return b"\x79" + struct.pack("<i", 0) + b"\xfe" + struct.pack("<HHQ", DONE_FINAL, 0, 0)


def answer_to_transaction(payload: bytes) -> bytes:
    """Return the answer to a request to begin or to end a transaction."""
    request = struct.unpack_from("<H", payload, struct.unpack_from("<I", payload)[0])[0]
    descriptor = b"\x08" + struct.pack("<Q", 1)
    changes = {
        5: (8, descriptor + b"\x00"),
        7: (9, b"\x00" + descriptor),
        8: (10, b"\x00" + descriptor),
    }
    change = env_change(*changes[request]) if request in changes else b""
    return change + done()


def answer_to_client(statement: str, columns: Sequence[Column]) -> bytes:
    """Return the answer to a client's queries about a table before a load."""
    lower = statement.lower()
    if "insert bulk" in lower:
        return done()
    if "sp_tablecollations" in lower:
        # SqlClient and related clients ask for open transactions, columns, and the names of
        # collations.
        collations: list[list[str | int | None]] = [
            [index + 1, column.name, None, column.collation] for index, column in enumerate(columns)
        ]
        kinds = [("colid", int), ("name", str), ("tds_collation", str), ("collation", str)]
        return (
            single("", 0)
            + done(DONE_COUNT | DONE_MORE, 1)
            + description(columns)
            + done(DONE_COUNT | DONE_MORE)
            + rowset(kinds, collations)
            + done(DONE_COUNT, len(collations))
        )
    if "sys.columns" in lower or "sys.all_columns" in lower or "syscolumns" in lower:
        return columns_of_catalog(lower, columns)
    asks_columns = ("fmtonly" in lower and "select" in lower) or re.search(
        r"select\s+top\s*\(?\s*0", lower
    )
    if asks_columns:
        return description(columns) + done(DONE_COUNT)
    if "@@trancount" in lower:
        return single("", 1) + done(DONE_COUNT, 1)
    return done()


def columns_of_catalog(statement: str, columns: Sequence[Column]) -> bytes:
    """Answer a query of the catalog's columns; selected names that are unknown are left out."""
    known: dict[str, Callable[[int, Column], str | int | None]] = {
        "name": lambda _, column: column.name,
        "column_id": lambda index, _: index + 1,
        "collation_name": lambda _, column: column.collation,
        "is_nullable": lambda _, column: int(column.nullable),
        "is_computed": lambda *_: 0,
        "is_identity": lambda *_: 0,
        "encryption_type": lambda *_: None,
    }
    selected = statement.split("from")[0]
    names = [name for name in re.findall(r"[a-z_]+", selected) if name in known]
    names = list(dict.fromkeys(names)) or ["name", "collation_name"]
    texts = ("name", "collation_name")
    kinds: list[tuple[str, type]] = [(name, str if name in texts else int) for name in names]
    rows = [[known[name](index, column) for name in names] for index, column in enumerate(columns)]
    return rowset(kinds, rows) + done(DONE_COUNT, len(rows))


__all__ = ["CP1252_NAME", "UTF8_NAME", "Recording", "RecordingServer"]
