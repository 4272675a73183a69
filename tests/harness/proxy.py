"""A TCP proxy in front of a server; its network can be made to fail at a chosen byte or COMMIT."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

# The driver's message for COMMIT: "Byte1('Q') Int32 length, String".
COMMIT = b"Q\0\0\0\x0bCOMMIT\0"
# URL parameters with which a connection is checked after two seconds of silence; the system's own
# timeouts are off.
SOON = "keepalives_idle=1&keepalives_interval=1&keepalives_count=1&tcp_user_timeout=0"
BLOCK_BYTES = 64 << 10


@dataclass
class Trouble:
    """The fault, and its moment.

    `kind` is one of

    - `cut`: both ends are told that the connection is gone;
    - `server_gone`: the client is told, and the server hears nothing more of it;
    - `client_gone`: the server is told, and the client hears nothing more of it;
    - `stall`: no bytes pass any more, and nobody is told.
    """

    kind: str
    # The fault comes after this number of bytes from all clients.
    after_bytes: int | None = None
    # The fault comes after this number of bytes from the server to all clients.
    after_answer_bytes: int | None = None
    # The COMMIT at which the fault comes, counted from one over all connections.
    at_commit: int | None = None
    # That COMMIT still reaches the server, but its reply does not come back.
    commit_passes: bool = False
    # True if all connections are hit, not only the one of that COMMIT.
    hits_all: bool = True
    is_chosen: bool = False
    struck: threading.Event = field(default_factory=threading.Event)
    healed: threading.Event = field(default_factory=threading.Event)

    def __str__(self) -> str:
        """Return the fault and its moment in words."""
        if self.after_answer_bytes is not None:
            place = f"after {self.after_answer_bytes} bytes of answers"
        elif self.at_commit is None:
            place = f"after {self.after_bytes} bytes"
        else:
            place = f"at COMMIT {self.at_commit}, {'sent' if self.commit_passes else 'not sent'}"
        return f"{self.kind} {place}, {'all' if self.hits_all else 'one'}"


class Connection:
    """A client's connection, and the proxy's connection to the server for this client."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.stalled = threading.Event()
        # The fault comes when the server answers.
        self.answer_lost: Trouble | None = None

    @property
    def port(self) -> int | None:
        """The client port that the server sees; None if the connection was closed."""
        return None if self.server.fileno() < 0 else int(self.server.getsockname()[1])

    def strike(self, trouble: Trouble) -> None:
        """Cause the fault."""
        if trouble.kind == "stall":
            self.stalled.set()
        elif trouble.kind == "server_gone":
            self.stalled.set()
            _reset(self.client)
        elif trouble.kind == "client_gone":
            self.stalled.set()
            _reset(self.server)
        else:
            self.close()

    def close(self) -> None:
        """Close the connections to both ends."""
        _reset(self.client)
        _reset(self.server)


@contextlib.contextmanager
def _passing_resets_on(connection: Connection) -> Iterator[None]:
    """Close both connections if one of them was reset.

    This happens if a backend is killed while bytes for it are in transit. Without this a client
    would wait for an answer forever. Only the chosen fault may hide this from the client.
    """
    try:
        yield
    except OSError:
        if not connection.stalled.is_set():
            connection.close()


def _reset(one: socket.socket) -> None:
    """Close a socket so that its peer notices at once, even with data in transit."""
    with contextlib.suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class Proxy(AbstractContextManager["Proxy"]):
    """The proxy; `trouble` may be changed at any time."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        self.trouble: Trouble | None = None
        self._lock = threading.Lock()
        self._sent_bytes = 0
        self._answer_bytes = 0
        self._commits = 0
        self._connections: list[Connection] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def begin(self, trouble: Trouble | None) -> None:
        """Count from zero, and prepare this fault."""
        with self._lock:
            self._sent_bytes = 0
            self._answer_bytes = 0
            self._commits = 0
            self.trouble = trouble

    def strike(self, trouble: Trouble) -> None:
        """Cause the fault now, on all present connections; later ones are not hit."""
        trouble.is_chosen = True
        self.begin(trouble)
        with self._lock:
            hit = list(self._connections)
        for one in hit:
            one.strike(trouble)
        trouble.struck.set()

    def heal(self) -> None:
        """End the fault, and all connections; later connections are not hit."""
        if self.trouble is not None:
            self.trouble.healed.set()
        self.begin(None)
        self.end_connections()

    def cut(self, port: int) -> None:
        """Cut one connection, by the client port that the server sees."""
        with self._lock:
            (hit,) = (one for one in self._connections if one.port == port)
        hit.close()

    def counted(self) -> tuple[int, int]:
        """Return the bytes and the COMMITs that clients have sent since the start."""
        with self._lock:
            return self._sent_bytes, self._commits

    def refuse(self) -> None:
        """Refuse all further connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()

    def end_connections(self) -> None:
        """End all connections, including those of which one end has not noticed the cut."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()

    def stalled_ports(self) -> list[int]:
        """Return the client ports, as the server sees them, of connections that stay silent."""
        with self._lock:
            stalled = [one for one in self._connections if one.stalled.is_set()]
        return [port for one in stalled if (port := one.port) is not None]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                _reset(client)
                continue
            connection = Connection(client, server)
            with self._lock:
                self._connections.append(connection)
            for pump in (self._to_server, self._to_client):
                threading.Thread(target=pump, args=(connection,), daemon=True).start()

    def _to_server(self, connection: Connection) -> None:
        tail = b""
        with _passing_resets_on(connection):
            while block := connection.client.recv(BLOCK_BYTES):
                self._wait_while_stalled(connection)
                passed, trouble = self._look(block, tail)
                tail = (tail + block)[-len(COMMIT) + 1 :]
                if trouble is not None and trouble.commit_passes:
                    # The fault comes with the answer, which proves that the server has committed.
                    connection.answer_lost = trouble
                elif trouble is not None:
                    connection.server.sendall(block[:passed])
                    block = block[passed:]
                    self._strike(trouble, connection)
                    self._wait_while_stalled(connection)
                connection.server.sendall(block)
            # The fault may have closed the client's end, but the server must not notice that.
            if not connection.stalled.is_set():
                connection.server.shutdown(socket.SHUT_WR)

    def _to_client(self, connection: Connection) -> None:
        with _passing_resets_on(connection):
            while block := connection.server.recv(BLOCK_BYTES):
                if connection.answer_lost is not None:
                    trouble, connection.answer_lost = connection.answer_lost, None
                    self._strike(trouble, connection)
                self._wait_while_stalled(connection)
                passed, answered = self._look_at_answer(block)
                if answered is not None:
                    connection.client.sendall(block[:passed])
                    block = block[passed:]
                    self._strike(answered, connection)
                    self._wait_while_stalled(connection)
                connection.client.sendall(block)
            # The fault may have closed the server's end, but the client must not notice that.
            self._wait_while_stalled(connection)
            connection.client.shutdown(socket.SHUT_WR)

    def _look(self, block: bytes, tail: bytes) -> tuple[int, Trouble | None]:
        """Return how many bytes of a block still pass, and the fault that follows them."""
        with self._lock:
            before = self._sent_bytes
            self._sent_bytes += len(block)
            commits = (tail + block).count(COMMIT)
            self._commits += commits
            trouble = self.trouble
            if trouble is None or trouble.is_chosen:
                return len(block), None
            if trouble.after_bytes is not None and self._sent_bytes >= trouble.after_bytes:
                passed = max(0, trouble.after_bytes - before)
            elif trouble.at_commit is not None and commits and self._commits >= trouble.at_commit:
                passed = max(0, (tail + block).index(COMMIT) - len(tail))
            else:
                return len(block), None
            trouble.is_chosen = True
            return passed, trouble

    def _look_at_answer(self, block: bytes) -> tuple[int, Trouble | None]:
        """Return how many bytes of an answer still pass, and the fault that follows them."""
        with self._lock:
            before = self._answer_bytes
            self._answer_bytes += len(block)
            trouble = self.trouble
            if trouble is None or trouble.is_chosen or trouble.after_answer_bytes is None:
                return len(block), None
            if self._answer_bytes < trouble.after_answer_bytes:
                return len(block), None
            trouble.is_chosen = True
            return max(0, trouble.after_answer_bytes - before), trouble

    def _strike(self, trouble: Trouble, connection: Connection) -> None:
        with self._lock:
            hit = list(self._connections) if trouble.hits_all else [connection]
        for one in hit:
            one.strike(trouble)
        trouble.struck.set()

    def _wait_while_stalled(self, connection: Connection) -> None:
        trouble = self.trouble
        if trouble is not None and connection.stalled.is_set():
            trouble.healed.wait()
            connection.stalled.clear()

    def __exit__(self, *_: object) -> None:
        """End all connections and accept no more."""
        if self.trouble is not None:
            self.trouble.healed.set()
        # Closing the socket alone would leave the thread in `accept`.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        self.end_connections()
