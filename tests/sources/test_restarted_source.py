"""A source's server ends while it is read; after its restart the same command succeeds."""

from __future__ import annotations

import itertools

import pytest

from conftest import StartServer
from harness import pauses, servers
from harness.command import CLEAN, FAILED, Inrush
from harness.servers import Database, Server

_numbers = itertools.count(1)

ROWS = 30_000
# The rows of the view wait inside the server while the gate is closed.
VIEW = (
    "CREATE VIEW held_rows AS SELECT n, pass_gate(-n) AS passed FROM generate_series(1, 100) AS n"
)


@pytest.fixture(scope="module", params=servers.VERSIONS, ids=lambda version: f"pg{version}")
def restarted(request: pytest.FixtureRequest, start_server: StartServer) -> Server:
    """Return a server that nobody else uses."""
    return start_server(request.param, servers.DURABLE)


def restart(server: Server) -> None:
    """Stop it without a checkpoint, and start it."""
    server.restart("immediate")


def crash(server: Server) -> None:
    """Kill the server's first process, and start the server."""
    server.crash()


@pytest.mark.parametrize("end", [restart, crash], ids=lambda end: end.__name__)
def test_the_same_command_ends_right(
    restarted: Server, newest_database: Database, inrush: Inrush, end: object
) -> None:
    """One table is loaded, and the view is being read. The loaded rows are compared and kept."""
    assert callable(end)
    source = restarted.create_database(f"crm_{next(_numbers)}")
    source.execute(
        f"{pauses.HELD_DOMAIN}; {VIEW}; CREATE TABLE orders (id int PRIMARY KEY, v text);"
        f"INSERT INTO orders SELECT n, 'row ' || n FROM generate_series(1, {ROWS}) AS n"
    )
    words = ["copy", "--from", source.url, "--to", newest_database.url, "--streams", "1"]
    words += ["--table", "orders", "--table", "held_rows"]
    holder = source.connect()
    holder.execute(f"SELECT pg_advisory_lock({pauses.GATE})".encode())
    with inrush.start(*words) as running:
        pauses.wait_until_held(source)
        end(restarted)
        running.wait().expect(FAILED, "public.held_rows", "the same command")
    holder.close()
    assert newest_database.value("SELECT to_regclass('orders') IS NULL")
    outcome = inrush(*words).expect(CLEAN)
    assert [unit["kept"] for unit in outcome.report["units"]].count(True) == 1
    for table in ("orders", "held_rows"):
        everything = f"SELECT * FROM {table} ORDER BY 1"
        assert newest_database.rows(everything) == source.rows(everything)
