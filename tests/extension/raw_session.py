"""A session that writes PostgreSQL's protocol itself: its messages may be wrong in any way."""

from __future__ import annotations

import contextlib
import socket
import struct
from dataclasses import dataclass

from harness.servers import Database

PROTOCOL = 196_608
CANCEL = 80_877_102
# If an answer takes longer, the server hangs.
ANSWER_S = 60
# The fields of an error that a user reads: SQLSTATE, message, detail, hint and context.
TOLD = "SCMDHW"


def message(kind: bytes, payload: bytes = b"") -> bytes:
    """Return a well-formed message of a client."""
    return kind + struct.pack(">i", 4 + len(payload)) + payload


def statement(text: str) -> bytes:
    """Return the message of a simple statement."""
    return message(b"Q", text.encode() + b"\0")


@dataclass(frozen=True)
class Reply:
    """A message of the server; errors are without their position in the server's source code."""

    kind: str
    payload: bytes | tuple[str, ...]

    @property
    def sqlstate(self) -> str | None:
        """The SQLSTATE of an error."""
        if self.kind != "E":
            return None
        return next(part[1:] for part in self.payload if isinstance(part, str) and part[0] == "C")


class RawSession:
    """A session with a server over its Unix socket."""

    def __init__(self, database: Database) -> None:
        """Log in."""
        self._path = f"{database.server.folder}/.s.PGSQL.{database.server.port}"
        self._socket = self._connected()
        self._received = b""
        self._key = b""
        names = {"user": database.server.user, "database": database.name}
        text = "".join(f"{name}\0{value}\0" for name, value in names.items()).encode() + b"\0"
        self._socket.sendall(struct.pack(">ii", 8 + len(text), PROTOCOL) + text)
        replies = self.until_ready()
        assert replies[-1].kind == "Z", replies
        for reply in replies:
            if reply.kind == "K" and isinstance(reply.payload, bytes):
                self._key = reply.payload

    def _connected(self) -> socket.socket:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(ANSWER_S)
        connected.connect(self._path)
        return connected

    def send(self, sent: bytes) -> None:
        """Send bytes; if the server has hung up, its last messages are still read later."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(sent)

    def run(self, *statements: str) -> list[Reply]:
        """Run statements, one after the other, and return the answers."""
        replies = []
        for text in statements:
            self.send(statement(text))
            replies += self.until_ready()
        return replies

    def until_ready(self, *also: str) -> list[Reply]:
        """Return all replies up to one that waits for the client, or whose kind is in `also`."""
        replies = []
        while reply := self._reply():
            replies.append(reply)
            if reply.kind in ("Z", *also):
                break
        return replies

    def until_end(self) -> list[Reply]:
        """Close the sending side, and return all replies until the server hangs up."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        replies = []
        while reply := self._reply():
            replies.append(reply)
        return replies

    def __enter__(self) -> RawSession:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up, even in the middle of an exchange."""
        self._socket.close()

    def cancel(self) -> None:
        """Ask the server to cancel the session's statement; it replies before it cancels."""
        with self._connected() as other:
            other.sendall(struct.pack(">ii", 8 + len(self._key), CANCEL) + self._key)
            with contextlib.suppress(ConnectionResetError):
                other.recv(1)

    def _reply(self) -> Reply | None:
        """Return the next message, or None if the server has hung up."""
        head = self._exactly(5)
        if head is None:
            return None
        kind, length = head[:1].decode(), struct.unpack(">i", head[1:])[0]
        payload = self._exactly(length - 4)
        if payload is None:
            return None
        if kind in "EN":
            fields = payload.decode().rstrip("\0").split("\0")
            return Reply(kind, tuple(field for field in fields if field[0] in TOLD))
        return Reply(kind, payload)

    def _exactly(self, count: int) -> bytes | None:
        while len(self._received) < count:
            try:
                received = self._socket.recv(65_536)
            except ConnectionResetError:
                received = b""
            if not received:
                return None
            self._received += received
        found, self._received = self._received[:count], self._received[count:]
        return found
