"""The double as a server: sockets, PRELOGIN, TLS, LOGIN7, batches, bulk loads, ATTENTION."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..table import CP1252
from ..tokens import (
    ATTENTION,
    BULK_LOAD,
    DONE_ATTENTION,
    DONE_COUNT,
    DONE_ERROR,
    LOGIN7,
    PRELOGIN,
    REPLY,
    SQL_BATCH,
    UTF8_SUPPORT,
    b_varchar,
    done,
    env_change,
    features,
    login_ack,
)
from .answers import error_tokens, result_tokens, without_more
from .base import Answering
from .errors import NotInDoubleError, SqlError
from .session import Session
from .storage import Database
from .types import description

# The server's answers about encryption ([MS-TDS] 2.2.6.5).
ENCRYPTION_OFF, ENCRYPTION_ON, NO_ENCRYPTION, ENCRYPTION_REQUIRED = 0, 1, 2, 3
_FIRST_PACKET_BYTES = 4096
# The option of PRELOGIN, the feature of LOGIN7, and its library ([MS-TDS] 2.2.6.5 and 2.2.6.4).
_FEDERATED, _FEDERATED_LOGIN, _SECURITY_TOKEN = 6, 2, 1
# "The maximum network packet size for encrypted connections is 16,383 bytes."
_ENCRYPTED_PACKET_BYTES_MAX = 16_383


class _GoneError(Exception):
    """The client closed its connection."""


class _AttentionError(Exception):
    """The client asks to end the statement."""


@dataclass
class Double:
    """A server with one database, until it is closed."""

    database: Database = field(default_factory=lambda: Database("test"))
    # Logins with their passwords; others may log in with any.
    passwords: dict[str, str] = field(default_factory=dict)
    # Access tokens that log in without user and password ([MS-TDS] 2.2.6.4, FEDAUTH).
    tokens: set[str] = field(default_factory=set)
    packet_bytes_max: int = 32_767
    encryption: int = NO_ENCRYPTION
    # The certificate and key of the server, and whether TLS comes first (TDS 8.0).
    certificate: tuple[Path, Path] | None = None
    strict: bool = False
    # A bulk load is refused as soon as its error is found, and not after its last packet.
    refuses_early: bool = False
    # A bulk load with more rows is refused: the server is full (error 1105).
    rows_max: int | None = None
    # Seconds that the server works after the last packet of each bulk load.
    bulk_seconds: float = 0
    # Seconds that the server works before it sends the rows of a table, after their description.
    read_seconds: float = 0
    # The NUMA node of the port.
    node: int = 0
    # The first batch that contains this text is run, and its connection ends before the answer.
    loses_answer_to: str | None = None
    port: int = 0
    # Every batch, in the order of their beginnings.
    batches: list[str] = field(default_factory=list)
    # The batches of each connection.
    sessions: list[list[str]] = field(default_factory=list)
    # Statements that the double does not know: a test fails if there are any.
    unknown: list[str] = field(default_factory=list)
    # The payload bytes of the last packets and the numbers of ATTENTIONs, for tests.
    attentions: int = 0
    granted: list[int] = field(default_factory=list)

    def __enter__(self) -> Double:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._connections: set[socket.socket] = set()
        self._sent = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.break_connections()

    def break_connections(self) -> None:
        """End all connections, as a server that dies does."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def wait_for_batch(self, beginning: str, seconds: float = 60) -> None:
        """Wait until a client has sent a batch with this beginning."""
        with self._sent:
            there = lambda: any(one.startswith(beginning) for one in self.batches)  # noqa: E731
            assert self._sent.wait_for(there, seconds), self.batches

    def wait_until(self, is_so: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until a condition holds; a batch of a client makes it true."""
        with self._sent:
            assert self._sent.wait_for(is_so, seconds), self.batches

    def session(self) -> Session:
        """Return a session of the test itself, without a connection."""
        session = Session(self.database)
        session.lock_timeout = 0
        return session

    @property
    def url(self) -> str:
        """Return the URL of the database, not encrypted."""
        return f"mssql://tester@127.0.0.1:{self.port}/{self.database.name}?encrypt=off"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def client(self, connection: socket.socket) -> Client:
        """Return the handler that serves a connection."""
        return Client(self, connection)

    def _serve(self, connection: socket.socket) -> None:
        client = self.client(connection)
        try:
            client.run()
        except (_GoneError, OSError, ssl.SSLError):
            pass
        finally:
            self._connections.discard(connection)
            client.session.close()
            connection.close()


class Client:
    """One connection."""

    def __init__(self, server: Double, connection: socket.socket) -> None:
        self._server = server
        self._socket = connection
        self._tls: ssl.SSLObject | None = None
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._packet_bytes = _FIRST_PACKET_BYTES
        self._only_login = False
        self._batches: list[str] = []
        server.sessions.append(self._batches)
        self.session = Session(server.database, self._look)
        self.session.node = server.node

    # Bytes.

    def _receive(self) -> bytes:
        data = self._socket.recv(1 << 16)
        if not data:
            raise _GoneError
        return data

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            if self._tls is None:
                piece = self._socket.recv(count - len(data))
                if not piece:
                    raise _GoneError
                data += piece
                continue
            try:
                piece = self._tls.read(count - len(data))
                if not piece:
                    raise _GoneError
                data += piece
            except ssl.SSLWantReadError:
                self._in.write(self._receive())
        return data

    def _write(self, data: bytes) -> None:
        if self._tls is not None:
            self._tls.write(data)
            data = self._out.read()
        self._socket.sendall(data)

    def _packet(self) -> tuple[int, bool, bytes]:
        kind, status, length = struct.unpack(">BBH", self._exactly(8)[:4])
        if length > self._packet_bytes:
            raise AssertionError(f"a packet of {length} bytes; {self._packet_bytes} were granted")
        return kind, bool(status & 1), self._exactly(length - 8)

    def _message(self) -> tuple[int, bytes]:
        payload = b""
        while True:
            kind, is_last, piece = self._packet()
            payload += piece
            if is_last:
                return kind, payload

    def _send(self, payload: bytes, kind: int = REPLY, *, is_last: bool = True) -> None:
        room = self._packet_bytes - 8
        pieces = [payload[at : at + room] for at in range(0, len(payload), room)]
        packets = b""
        for index, piece in enumerate(pieces):
            status = int(is_last and index == len(pieces) - 1)
            # "SPID is the process ID on the server, corresponding to the current connection"
            # ([MS-TDS] 2.2.3.1.4).
            number = self.session.number
            packets += struct.pack(
                ">BBHHBB", kind, status, len(piece) + 8, number, index + 1 & 255, 0
            )
            packets += piece
        self._write(packets)

    def _look(self) -> None:
        """Raise if the client is gone or sent ATTENTION while a statement waits."""
        if not self._has_input():
            return
        kind, _, _ = self._packet()
        assert kind == ATTENTION, kind
        raise _AttentionError

    def _has_input(self) -> bool:
        if self._tls is not None and (self._tls.pending() or self._in.pending):
            return True
        return bool(select.select([self._socket], [], [], 0)[0])

    # The login.

    def run(self) -> None:
        """Serve the client until it leaves."""
        server = self._server
        if server.strict:
            self._begin_tls(in_packets=False)
        kind, payload = self._message()
        assert kind == PRELOGIN, kind
        wanted = self._wanted(payload)
        answer = self._encryption(wanted)
        self._is_federated = self._option(payload, _FEDERATED) == b"\x01"
        self._send(self._prelogin(answer, is_federated=self._is_federated))
        if not server.strict and answer != NO_ENCRYPTION:
            self._begin_tls(in_packets=True)
            self._only_login = answer == ENCRYPTION_OFF
        kind, payload = self._message()
        assert kind == LOGIN7, kind
        if self._only_login:
            self._tls = None
        if not self._log_in(payload):
            return
        while True:
            self._serve_message()

    @staticmethod
    def _option(payload: bytes, wanted: int) -> bytes | None:
        at = 0
        while payload[at] != 0xFF:
            token, start, length = struct.unpack(">BHH", payload[at : at + 5])
            if token == wanted:
                return payload[start : start + length]
            at += 5
        return None

    def _wanted(self, payload: bytes) -> int:
        option = self._option(payload, 1)
        assert option is not None, "a PRELOGIN without encryption"
        return int(option[0])

    def _encryption(self, wanted: int) -> int:
        own = self._server.encryption
        if self._server.strict:
            return ENCRYPTION_ON
        if own == ENCRYPTION_REQUIRED or (own != NO_ENCRYPTION and wanted == ENCRYPTION_ON):
            return ENCRYPTION_REQUIRED if own == ENCRYPTION_REQUIRED else ENCRYPTION_ON
        return NO_ENCRYPTION if NO_ENCRYPTION in (own, wanted) else ENCRYPTION_OFF

    @staticmethod
    def _prelogin(encryption: int, *, is_federated: bool) -> bytes:
        options = [(0, b"\x10\x00\x03\xe8\x00\x00"), (1, bytes([encryption])), (4, b"\x00")]
        if is_federated:
            options.append((_FEDERATED, b"\x01"))
        at = 5 * len(options) + 1
        heads, data = b"", b""
        for token, value in options:
            heads += struct.pack(">BHH", token, at + len(data), len(value))
            data += value
        return heads + b"\xff" + data

    def _begin_tls(self, *, in_packets: bool) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        assert self._server.certificate is not None
        context.load_cert_chain(*self._server.certificate)
        if in_packets:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        else:
            context.set_alpn_protocols(["tds/8.0"])
        tls = context.wrap_bio(self._in, self._out, server_side=True)
        while True:
            try:
                tls.do_handshake()
                is_done = True
            except ssl.SSLWantReadError:
                is_done = False
            records = self._out.read()
            if records and in_packets:
                self._send(records, PRELOGIN)
            elif records:
                self._socket.sendall(records)
            if is_done:
                break
            self._in.write(self._message()[1] if in_packets else self._receive())
        if not in_packets:
            assert tls.selected_alpn_protocol() == "tds/8.0", tls.selected_alpn_protocol()
        self._tls = tls

    def _log_in(self, payload: bytes) -> bool:
        def text(field_number: int) -> bytes:
            at, units = struct.unpack_from("<HH", payload, 36 + 4 * field_number)
            return payload[at : at + 2 * units]

        user, database = (text(number).decode("utf-16-le") for number in (1, 8))
        hidden = bytes((byte ^ 0xA5) << 4 & 0xF0 | (byte ^ 0xA5) >> 4 for byte in text(2))
        password = hidden.decode("utf-16-le")
        server = self._server
        asked_for = features(payload)
        error = None
        if _FEDERATED_LOGIN in asked_for:
            if (user, password) != ("", "") or not self._takes(asked_for[_FEDERATED_LOGIN]):
                error = SqlError(18456, "<token-identified principal>")
        elif server.passwords.get(user, password) != password:
            error = SqlError(18456, user)
        elif database.lower() != server.database.name.lower():
            error = SqlError(4060, database)
        if error is not None:
            self._send(error_tokens(error) + done(DONE_ERROR))
            return False
        asked = struct.unpack_from("<I", payload, 8)[0] or _FIRST_PACKET_BYTES
        most = server.packet_bytes_max
        if self._tls is not None:
            most = min(most, _ENCRYPTED_PACKET_BYTES_MAX)
        granted = min(max(asked, 512), most) & ~3
        replies = [
            env_change(1, b_varchar(server.database.name) + b_varchar("master")),
            env_change(7, b"\x05" + CP1252 + b"\x00"),
            login_ack(),
            env_change(4, b_varchar(str(granted)) + b_varchar(str(_FIRST_PACKET_BYTES))),
        ]
        if UTF8_SUPPORT in asked_for:
            replies.append(b"\xae" + bytes([UTF8_SUPPORT]) + struct.pack("<I", 1) + b"\x01\xff")
        self._send(b"".join(replies) + done())
        self._packet_bytes = granted
        server.granted.append(granted)
        return True

    def _takes(self, feature: bytes) -> bool:
        """Return whether a token is known, encrypted, and its login repeats the PRELOGIN."""
        options, length = struct.unpack_from("<BI", feature)
        token = feature[5:].decode("utf-16-le")
        is_whole = len(feature) == 5 + length
        is_right = options == _SECURITY_TOKEN << 1 | self._is_federated
        is_encrypted = self._tls is not None
        return is_whole and is_right and is_encrypted and token in self._server.tokens

    # Statements.

    def _serve_message(self) -> None:
        kind, is_last, payload = self._packet()
        if kind == BULK_LOAD:
            self._bulk_load(payload, is_last)
            return
        while not is_last:
            _, is_last, piece = self._packet()
            payload += piece
        if kind == ATTENTION:
            self._server.attentions += 1
            self._send(done(DONE_ATTENTION))
            return
        if kind != SQL_BATCH:
            raise AssertionError(f"a message of the kind {kind}")
        # ALL_HEADERS begin with their length.
        start = struct.unpack_from("<I", payload)[0]
        self._batch(payload[start:].decode("utf-16-le"))

    def _batch(self, sql: str) -> None:
        with self._server._sent:
            self._server.batches.append(sql)
            self._batches.append(sql)
            self._server._sent.notify_all()
        tokens = b""
        counted_before = self.session.transaction_count
        try:
            self.session.answering = Answering.WORKS
            for result in self.session.run(sql):
                of_result = result_tokens(result)
                if self._server.read_seconds and result.columns and result.rows:
                    head = len(description(result.columns))
                    self._send(tokens + of_result[:head], is_last=False)
                    self._read()
                    tokens, of_result = b"", of_result[head:]
                tokens += of_result
            lost = self._server.loses_answer_to
            if lost is not None and lost in sql:
                self._server.loses_answer_to = None
                raise _GoneError
            tokens = tokens or done()
            self.session.answering = Answering.SENDS
            self._send(without_more(tokens))
        except SqlError as error:
            tokens += error_tokens(error)
            if counted_before and not self.session.transaction_count:
                tokens += env_change(10, b"\x00\x08" + bytes(8))
            self._send(tokens + done(DONE_ERROR))
        except NotInDoubleError as error:
            self._server.unknown.append(f"{error}: {sql}")
            unknown = SqlError(102, f"the double does not know: {error}")
            self._send(tokens + error_tokens(unknown) + done(DONE_ERROR))
        except _AttentionError:
            self._server.attentions += 1
            self._send(done(DONE_ATTENTION))
        finally:
            self.session.answering = None

    def _read(self) -> None:
        """Take the time that the rows of a table need."""
        end = time.monotonic() + self._server.read_seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(0.02)

    def _bulk_load(self, payload: bytes, is_last: bool) -> None:
        bulk = self.session.bulk
        if bulk is None:
            raise AssertionError("rows without INSERT BULK")
        bulk.rows_max = self._server.rows_max
        self.session.feed(payload)
        refused = bulk.error is not None and self._server.refuses_early
        while not is_last and not refused:
            _, is_last, payload = self._packet()
            self.session.feed(payload)
            refused = bulk.error is not None and self._server.refuses_early
        time.sleep(self._server.bulk_seconds)
        try:
            result = self.session.end_bulk()
        except SqlError as error:
            tokens = error_tokens(error)
            if not self.session.transaction_count:
                tokens += env_change(10, b"\x00\x08" + bytes(8))
            self._send(tokens + done(DONE_ERROR))
            if refused:
                raise _GoneError from error
            return
        self._send(done(DONE_COUNT, result.count or 0))
