"""The double as a server: sockets, PRELOGIN, TLS, LOGIN7, batches, bulk loads, ATTENTION."""

from __future__ import annotations

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
    SECURITY_TOKEN,
    SQL_BATCH,
    UTF8_SUPPORT,
    b_varchar,
    done,
    env_change,
    login_ack,
    security_token,
)
from .answers import error_tokens, result_tokens, without_more
from .base import Answering
from .connection import FIRST_PACKET_BYTES, Connection, GoneError
from .errors import NotInDoubleError, SqlError
from .kerberos import Acceptor, KerberosError, Service
from .login import Login
from .session import Session
from .storage import Database
from .types import description

# The server's answers about encryption ([MS-TDS] 2.2.6.5).
ENCRYPTION_OFF, ENCRYPTION_ON, NO_ENCRYPTION, ENCRYPTION_REQUIRED = 0, 1, 2, 3
# Logins by access token: the option of PRELOGIN, the feature of LOGIN7, and the feature's library
# ([MS-TDS] 2.2.6.5 and 2.2.6.4).
_FEDERATED, _FEDERATED_LOGIN, _SECURITY_TOKEN = 6, 2, 1
# "The maximum network packet size for encrypted connections is 16,383 bytes."
_ENCRYPTED_PACKET_BYTES_MAX = 16_383
# The value of `garbage_to` for the answer to the rows of a bulk load.
ROWS = "the rows of a bulk load"


class _AttentionError(Exception):
    """The client asks to end the statement."""


@dataclass
class Double:
    """A server with one database, until it is closed."""

    database: Database = field(default_factory=lambda: Database("test"))
    # Logins with their passwords; other users may log in with any password.
    passwords: dict[str, str] = field(default_factory=dict)
    # Access tokens that log in without user and password ([MS-TDS] 2.2.6.4, FEDAUTH).
    tokens: set[str] = field(default_factory=set)
    # The keys by which the server proves its identity to users with Kerberos tickets.
    kerberos: Service | None = None
    packet_bytes_max: int = 32_767
    encryption: int = NO_ENCRYPTION
    # The certificate and key of the server, and whether TLS comes first (TDS 8.0).
    certificate: tuple[Path, Path] | None = None
    strict: bool = False
    # True if a bulk load is refused as soon as its error is found, not after its last packet.
    refuses_early: bool = False
    # A number that is added to the row count of each bulk load.
    miscounts_by: int = 0
    # True if the server reads no more after such a refusal, but keeps the connection open.
    stops_reading: bool = False
    # A bulk load with more rows is refused: the server is full (error 1105).
    rows_max: int | None = None
    # Seconds that the server works after the last packet of each bulk load.
    bulk_seconds: float = 0
    # While a test holds it, no bulk load ends.
    bulk_gate: threading.Lock = field(default_factory=threading.Lock)
    # Seconds that the server works before it sends the rows of a table, after their description.
    read_seconds: float = 0
    # The NUMA node of the port.
    node: int = 0
    # The first batch that contains this text is run, and its connection ends before the answer.
    loses_answer_to: str | None = None
    # The number of next clients that it turns away, like a server that is restarting.
    turns_away: int = 0
    # The answer to the first batch that contains this text is not valid TDS; `ROWS` means the rows
    # of a bulk load.
    garbage_to: str | None = None
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
    # The users of all logins that were accepted.
    users: list[str] = field(default_factory=list)
    # The application names of these logins.
    applications: list[str] = field(default_factory=list)

    def __enter__(self) -> Double:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._connections: set[socket.socket] = set()
        self._sent = threading.Condition()
        self._is_closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
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

    def wait_for_no_client(self) -> None:
        """Wait until the session of each client has ended, and its transaction with it."""
        self.wait_until(lambda: not self._connections)

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
            if self.turns_away > 0:
                self.turns_away -= 1
                connection.close()
                continue
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def client(self, connection: socket.socket) -> Client:
        """Return the handler that serves a connection."""
        return Client(self, connection)

    def _serve(self, connection: socket.socket) -> None:
        client = self.client(connection)
        try:
            client.run()
        except (GoneError, OSError, ssl.SSLError):
            pass
        finally:
            client.session.close()
            connection.close()
            with self._sent:
                self._connections.discard(connection)
                self._sent.notify_all()


class Client(Connection):
    """One connection, and its session."""

    def __init__(self, server: Double, connection: socket.socket) -> None:
        super().__init__(connection)
        self._server = server
        self._only_login = False
        self._batches: list[str] = []
        server.sessions.append(self._batches)
        self.session = Session(server.database, self._look)
        self.session.node = server.node
        self._number = self.session.number

    def _look(self) -> None:
        """Raise if the client is gone or sent ATTENTION while a statement waits."""
        if not self._has_input():
            return
        kind, _, _ = self._packet()
        assert kind == ATTENTION, kind
        raise _AttentionError

    # The login.

    def run(self) -> None:
        """Serve the client until it leaves."""
        server = self._server
        if server.strict:
            self._begin_tls(server.certificate, in_packets=False)
        kind, payload = self._message()
        assert kind == PRELOGIN, kind
        wanted = self._wanted(payload)
        answer = self._encryption(wanted)
        self._is_federated = self._option(payload, _FEDERATED) == b"\x01"
        self._send(self._prelogin(answer, is_federated=self._is_federated))
        if not server.strict and answer != NO_ENCRYPTION:
            self._begin_tls(server.certificate, in_packets=True)
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

    def _log_in(self, payload: bytes) -> bool:
        login = Login.read(payload)
        server = self._server
        tokens = b""
        try:
            user, tokens = self._user(login)
            # https://learn.microsoft.com/sql/t-sql/statements/create-login-transact-sql: without a
            # name, the login's default database is opened.
            if login.database.lower() not in ("", server.database.name.lower()):
                raise SqlError(4060, login.database)
        except SqlError as error:
            self._send(tokens + error_tokens(error) + done(DONE_ERROR))
            return False
        asked = login.packet_bytes or FIRST_PACKET_BYTES
        most = server.packet_bytes_max
        if self._tls is not None:
            most = min(most, _ENCRYPTED_PACKET_BYTES_MAX)
        granted = min(max(asked, 512), most) & ~3
        replies = [
            tokens,
            env_change(1, b_varchar(server.database.name) + b_varchar("master")),
            env_change(7, b"\x05" + CP1252 + b"\x00"),
            login_ack(),
            env_change(4, b_varchar(str(granted)) + b_varchar(str(FIRST_PACKET_BYTES))),
        ]
        if UTF8_SUPPORT in login.features:
            replies.append(b"\xae" + bytes([UTF8_SUPPORT]) + struct.pack("<I", 1) + b"\x01\xff")
        self.session.process_id = login.process_id
        self._send(b"".join(replies) + done())
        self._packet_bytes = granted
        server.granted.append(granted)
        server.users.append(user)
        server.applications.append(login.application)
        return True

    def _user(self, login: Login) -> tuple[str, bytes]:
        """Return the user, and the tokens of the answer that prove the server's identity."""
        server = self._server
        if login.ticket is not None:
            return self._user_of_ticket(login)
        if _FEDERATED_LOGIN in login.features:
            token = login.features[_FEDERATED_LOGIN]
            if (login.user, login.password) != ("", "") or not self._takes(token):
                raise SqlError(18456, "<token-identified principal>")
        elif server.passwords.get(login.user, login.password) != login.password:
            raise SqlError(18456, login.user)
        return login.user, b""

    def _user_of_ticket(self, login: Login) -> tuple[str, bytes]:
        """Exchange tokens of Kerberos ([MS-TDS] 3.3.5.4) until the user is known."""
        service = self._server.kerberos
        if service is None or login.ticket is None or (login.user, login.password) != ("", ""):
            raise SqlError(18452)
        try:
            acceptor = Acceptor(service)
            answer, user = acceptor.step(login.ticket)
            while user is None:
                self._send(security_token(answer))
                kind, payload = self._message()
                assert kind == SECURITY_TOKEN, kind
                answer, user = acceptor.step(payload)
        except KerberosError:
            raise SqlError(18452) from None
        if user in service.unknown:
            raise SqlError(18456, user)
        return user, b"" if service.keeps_its_proof else security_token(answer)

    def _takes(self, feature: bytes) -> bool:
        """Return whether a token is known and encrypted, and its login repeats the PRELOGIN."""
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
                raise GoneError
            self._garble(sql)
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

    def _garble(self, sql: str) -> None:
        """If the test asks for it, send an invalid answer and close the connection."""
        text = self._server.garbage_to
        if text is not None and text in sql:
            self._server.garbage_to = None
            self._write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            raise GoneError

    def _read(self) -> None:
        """Wait for the time that sending a table's rows shall take."""
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
        with self._server.bulk_gate:
            pass
        try:
            result = self.session.end_bulk()
        except SqlError as error:
            tokens = error_tokens(error)
            if not self.session.transaction_count:
                tokens += env_change(10, b"\x00\x08" + bytes(8))
            self._send(tokens + done(DONE_ERROR))
            if refused and self._server.stops_reading:
                self._server._is_closed.wait()
            if refused:
                raise GoneError from error
            return
        self._garble(ROWS)
        self._send(done(DONE_COUNT, (result.count or 0) + self._server.miscounts_by))
