"""A malicious server on the loopback that speaks PostgreSQL's protocol."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

# A client that keeps this many bytes has clearly kept too many.
ENDLESS_BYTES = 400 << 20
SSL_REQUEST = struct.pack("!II", 8, 80877103)

AUTHENTICATION_OK = b"R\0\0\0\x08\0\0\0\0"
CLEARTEXT_PASSWORD = b"R\0\0\0\x08\0\0\0\x03"
MD5_PASSWORD = b"R\0\0\0\x0c\0\0\0\x05salt"
KEY_DATA = b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02"
READY = b"Z\0\0\0\x05I"

Script = Callable[["Client"], None]


def message(kind: bytes, body: bytes, length: int | None = None) -> bytes:
    """Return a message, whose stated length may be wrong."""
    return kind + struct.pack("!I", len(body) + 4 if length is None else length) + body


@dataclass
class Client:
    """A connection from a client, which a script answers."""

    socket: socket.socket
    received: bytearray
    # The answer to a request for TLS.
    tls_answer: bytes = b"N"

    def read(self, count: int) -> bytes:
        """Read this number of bytes, or fail if the client is gone."""
        found = bytearray()
        while len(found) < count:
            piece = self.socket.recv(count - len(found))
            if not piece:
                raise ConnectionResetError
            found += piece
        self.received += found
        return bytes(found)

    def start_up(self) -> None:
        """Read the first message, and refuse TLS if it is requested."""
        (length,) = struct.unpack("!I", first := self.read(4))
        rest = self.read(length - 4)
        if first + rest == SSL_REQUEST:
            self.send(self.tls_answer)
            if self.tls_answer == b"N":
                self.start_up()

    def read_message(self) -> tuple[bytes, bytes]:
        """Read a message after the first."""
        kind = self.read(1)
        (length,) = struct.unpack("!I", self.read(4))
        return kind, self.read(length - 4)

    def send(self, *parts: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(b"".join(parts))

    def send_without_end(self, piece: Callable[[int], bytes]) -> None:
        """Send pieces until the client is gone, or has clearly kept too many."""
        sent = 0
        for number in itertools.count():
            if sent > ENDLESS_BYTES:
                return
            block = piece(number)
            self.send(block)
            sent += len(block)

    def wait(self) -> None:
        """Read until the client is gone."""
        while True:
            self.read(1)


@dataclass
class HostileServer(AbstractContextManager["HostileServer"]):
    """Plays a script to each client, and keeps the bytes that clients sent."""

    script: Script
    tls_answer: bytes = b"N"
    received: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        """Listen."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, query: str = "") -> str:
        """Return its URL."""
        return f"postgresql://etl@127.0.0.1:{self.port}/dw?{query}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._clients.append(client)
                threading.Thread(target=self._play, args=(client,), daemon=True).start()

    def _play(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            self.script(Client(client, self.received, self.tls_answer))

    def __exit__(self, *_: object) -> None:
        """Close all sockets."""
        for one in (self._listener, *self._clients):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def saying(*parts: bytes) -> Script:
    """Return a script that sends this after the first message, then waits."""

    def script(client: Client) -> None:
        client.start_up()
        client.send(*parts)
        client.wait()

    return script


def without_end(piece: Callable[[int], bytes], *before: bytes) -> Script:
    """Return a script that sends pieces without end."""

    def script(client: Client) -> None:
        client.start_up()
        client.send(*before)
        client.send_without_end(piece)

    return script


def after_login(hostile: Script) -> Script:
    """Return a script that accepts the client and waits for its first statement."""

    def script(client: Client) -> None:
        client.start_up()
        client.send(AUTHENTICATION_OK, KEY_DATA, READY)
        client.read_message()
        hostile(client)

    return script


def lying(kind: bytes, length: int) -> Script:
    """Return a script that begins a message of this length, and sends until the client is gone."""

    def script(client: Client) -> None:
        client.send(message(kind, b"", length))
        client.send_without_end(zeros)

    return script


def zeros(_: int) -> bytes:
    """Return the next bytes of a body."""
    return bytes(1 << 20)


def rows_without_end(client: Client) -> None:
    """Answer a session's first query normally, and the next one with endless rows."""
    client.send(message(b"C", b"SET\0"), READY)
    columns = [(23, 4), (16, 1), (16, 1), (20, 8), (20, 8)]
    described = b"".join(
        b"c\0" + struct.pack("!IhIhih", 0, 0, kind, size, -1, 0) for kind, size in columns
    )
    values = (struct.pack("!i", 1), b"\0", b"\0", struct.pack("!q", 1), struct.pack("!q", 1))
    row = b"".join(struct.pack("!i", len(value)) + value for value in values)
    executed = 0
    while True:
        kind, _ = client.read_message()
        if kind == b"P":
            client.send(message(b"1", b""))
        elif kind == b"D":
            fields = struct.pack("!H", 5) + described if executed == 0 else struct.pack("!H", 0)
            client.send(message(b"t", b"\0\0"), message(b"T", fields))
        elif kind == b"B":
            client.send(message(b"2", b""))
        elif kind == b"E":
            executed += 1
            if executed > 1:
                client.send_without_end(lambda _: message(b"D", b"\0\0") * 100_000)
            client.send(message(b"D", struct.pack("!H", 5) + row), message(b"C", b"SELECT 1\0"))
        elif kind == b"S":
            client.send(READY)


@contextlib.contextmanager
def tls_before(path: Path, context: ssl.SSLContext, seen: list[str | None]) -> Iterator[int]:
    """Accept TLS without a request (`sslnegotiation=direct`) in front of a server's socket."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as secure:
            seen.append(secure.selected_alpn_protocol())
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(str(path))
                back = threading.Thread(target=pump, args=(server, secure), daemon=True)
                back.start()
                pump(secure, server)
                back.join()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()
