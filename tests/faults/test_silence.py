"""Silent servers and networks: no command waits for an answer that cannot come."""

from __future__ import annotations

import functools
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from conftest import SharedServer, StartServer
from faults.stalled_load import StalledLoad, outcomes
from harness import pauses
from harness.command import CLEAN, FAILED, INTERRUPTED, Inrush
from harness.packages import flow, package
from harness.proxy import SOON, Proxy, Trouble
from harness.servers import VERSIONS, Database, Server

ROWS = [(-1, "held"), *((number, f"row {number}") for number in range(2_000))]


@pytest.fixture(scope="module")
def tcp_servers(start_server: StartServer) -> SharedServer:
    """Return a function that returns a version's server on TCP."""

    @functools.cache
    def of(version: int) -> Server:
        server = start_server(version)
        server.move_to_tcp()
        return server

    return of


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"pg{version}")
def tcp_server(request: pytest.FixtureRequest, tcp_servers: SharedServer) -> Server:
    """Return a server on TCP, for each version."""
    return tcp_servers(request.param)


@pytest.fixture
def held(
    tcp_server: Server, proxy: Proxy, inrush: Inrush, request: pytest.FixtureRequest
) -> Database:
    """Return a database and a load through the proxy that is paused at its first row."""
    name = "".join(letter for letter in request.node.name if letter.isalnum())[:60].lower()
    return prepare(tcp_server, proxy, inrush, name)


def prepare(server: Server, proxy: Proxy, inrush: Inrush, name: str) -> Database:
    """Make a database, and a package that loads into it through the proxy."""
    database = server.create_database(name)
    database.execute(pauses.HELD_DOMAIN + "CREATE TABLE target (id held, note text)")
    inrush.write("rows.tbl", "".join(f"{number}|{note}|\n" for number, note in ROWS))
    place = f"127.0.0.1:{proxy.port}/{database.name}"
    url = f"postgresql://{server.user}@{place}?sslmode=disable&{SOON}"
    straight = flow("target", "rows.tbl", mode="append", atomic=False)
    inrush.write("package.toml", package(url, straight, streams=1))
    return database


def loaded(database: Database) -> bool:
    return database.rows("SELECT id::int, note FROM target ORDER BY id") == ROWS


def test_a_backend_that_ended_without_a_word(held: Database, proxy: Proxy, inrush: Inrush) -> None:
    """A proxy keeps the client's connection alive after the connection to the server is gone."""
    with pauses.closed_gate(held), inrush.start("run", "package.toml") as running:
        pauses.wait_until_held(held)
        trouble = Trouble("client_gone")
        proxy.strike(trouble)
        # Idle sessions may end by themselves meanwhile, and then cannot be ended.
        ended = held.value(
            "SELECT bool_and(pg_terminate_backend(pid, 30000)) FROM pg_stat_activity "
            "WHERE application_name LIKE 'inrush%' AND datname = current_database() "
            "AND wait_event_type = 'Lock'"
        )
        assert ended
        running.wait().expect(FAILED, "was lost (the backend has ended")
    inrush("run", "package.toml").expect(CLEAN)
    assert loaded(held)


def test_a_backend_that_is_at_work_is_waited_for(held: Database, inrush: Inrush) -> None:
    """A slow statement is not given up, however often the backend is checked."""
    sessions = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
    with inrush.start("run", "package.toml") as running:
        with pauses.closed_gate(held):
            pauses.wait_until_held(held)
            before = held.value(sessions)
            # No other process connects to the server, so the count changes only by the command's
            # checks.
            pauses.wait_until(held, f"SELECT ({sessions}) > {before + 4}")
        running.wait().expect(CLEAN)
    assert loaded(held)


@contextmanager
def silenced(server: Server, folder: Path) -> Iterator[StalledLoad]:
    """Start a load, and enter the block when it is stopped and its server is silent."""
    inrush = Inrush(folder / f"pg{server.version}")
    inrush.folder.mkdir()
    with Proxy(server.port) as proxy:
        database = prepare(server, proxy, inrush, "silenced")
        with inrush.stopped_by("stop_until_asked:before_switch", "run", "package.toml") as running:
            proxy.strike(Trouble("stall"))
            yield StalledLoad(database, inrush, proxy, running)


def test_one_signal_ends_what_is_done_before_the_switch(
    tcp_servers: SharedServer, tmp_path: Path
) -> None:
    """The account is read from a server that does not answer any more.

    A load waits half a minute for its server, so the loads into all versions wait at the same time.
    """
    with ExitStack() as stack:
        loads = [
            stack.enter_context(silenced(tcp_servers(version), tmp_path)) for version in VERSIONS
        ]
        for load in loads:
            load.running.send(signal.SIGINT)
            load.running.resume()
        for _, outcome in outcomes(loads, 60):
            outcome.expect(INTERRUPTED)
        for load in loads:
            load.run_again()
            assert loaded(load.database)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


# A server's messages to any client: AuthenticationOk, BackendKeyData, ReadyForQuery.
WELCOME = (
    _message(b"R", struct.pack(">i", 0))
    + _message(b"K", struct.pack(">ii", 4711, 1))
    + _message(b"Z", b"I")
)


@pytest.mark.parametrize(
    ("said", "closes", "words"),
    [
        (b"", False, "no answer within 2 s"),
        (WELCOME[:9], False, "no answer within 2 s"),
        (WELCOME[:11], True, ""),
        (WELCOME, True, ""),
        (WELCOME, False, "answered no statement within 2 s"),
    ],
    ids=["accepts", "begins", "begins_and_closes", "welcomes_and_closes", "welcomes"],
)
@pytest.mark.parametrize("command", ["status", "cleanup"])
def test_a_server_that_says_no_more(
    inrush: Inrush, command: str, said: bytes, closes: bool, words: str
) -> None:
    clients: list[socket.socket] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.recv(1 << 10)
            client.sendall(said)
            if closes:
                client.close()
            else:
                clients.append(client)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        serving = threading.Thread(target=serve, args=(listener,))
        serving.start()
        url = f"postgresql://x@127.0.0.1:{port}/x?sslmode=disable&connect_timeout=2"
        inrush(command, "--to", url).expect(FAILED, "error:", words)
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()
    for client in clients:
        client.close()


def test_a_lock_on_a_staging_table_is_not_waited_for_without_an_end(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.tbl", "1|one|\n2|two|\n")
    target = flow("loaded", "rows.tbl", columns=["id int", "note text"])
    inrush.write("package.toml", package(newest_database.url, target))
    inrush("run", "package.toml", environment={"INRUSH_FAULT": "before_switch"})
    (table,) = newest_database.rows(
        "SELECT oid::regclass::text FROM pg_class "
        "WHERE relnamespace::regnamespace::text = 'inrush_staging' AND relkind = 'r'"
    )[0]
    place = ("--to", newest_database.url)
    with newest_database.connect(autocommit=False) as reader:
        reader.execute(f"SELECT FROM {table}".encode())
        inrush("status", *place).expect(CLEAN)
        inrush("cleanup", *place).expect(FAILED, "lock timeout")
        reader.rollback()
        reader.execute(f"LOCK TABLE {table}".encode())
        inrush("status", *place).expect(FAILED, "lock timeout")
        reader.rollback()
    inrush("cleanup", *place).expect(CLEAN)
    assert newest_database.value(f"SELECT to_regclass('{table}') IS NULL")


def test_a_run_that_cannot_be_removed_keeps_no_other_run(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.tbl", "1|one|\n2|two|\n")
    tables: list[str] = []
    for name in ("first", "second"):
        target = flow(name, "rows.tbl", columns=["id int", "note text"])
        inrush.write("package.toml", package(newest_database.url, target))
        inrush("run", "package.toml", environment={"INRUSH_FAULT": "before_switch"})
        (table,) = newest_database.rows(
            "SELECT format('%I.%I', staging_schema, staging_table) FROM inrush.unit "
            f"WHERE flow = '{name}'"
        )[0]
        tables.append(table)
    first, second = tables
    place = ("--to", newest_database.url)
    with newest_database.connect(autocommit=False) as reader:
        # The newest run comes first.
        reader.execute(f"SELECT FROM {second}".encode())
        inrush("cleanup", *place).expect(FAILED, "lock timeout")
        reader.rollback()
    assert newest_database.value(f"SELECT to_regclass('{first}') IS NULL")
    assert newest_database.value(f"SELECT to_regclass('{second}') IS NOT NULL")
    inrush("cleanup", *place).expect(CLEAN)
    assert newest_database.value(f"SELECT to_regclass('{second}') IS NULL")
