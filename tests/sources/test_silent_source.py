"""If a source does not answer, the command notices it, or stops as soon as it is asked to."""

from __future__ import annotations

import signal
from contextlib import ExitStack

import pytest

from harness import pauses
from harness.command import CLEAN, FAILED, INTERRUPTED, Inrush
from harness.hostile_server import Client, HostileServer, after_login
from harness.proxy import SOON, Proxy, Trouble
from harness.servers import Database, Server

# The gate stops the query in the middle of its rows.
QUERY = "SELECT n, pass_gate(100000 - n) AS passed FROM generate_series(1, 100100) AS n"


@pytest.fixture
def source(
    tcp_server: Server,
    proxy: Proxy,
    newest_database: Database,
    inrush: Inrush,
    request: pytest.FixtureRequest,
) -> Database:
    """Return a database that is read through the proxy, and write the package of the copy."""
    name = "".join(letter for letter in request.node.name if letter.isalnum())[:60].lower()
    database = tcp_server.create_database(name)
    database.execute(pauses.HELD_DOMAIN)
    place = f"127.0.0.1:{proxy.port}/{database.name}"
    url = f"postgresql://{tcp_server.user}@{place}?sslmode=disable&{SOON}"
    inrush.write(
        "copy.toml",
        f"""
name = "copy"
[connections]
crm = {{ url = "{url}" }}
dw = {{ url = "{newest_database.url}" }}
[run]
streams = 1
lock_timeout_ms = 60000
[[flow]]
source = {{ connection = "crm", query = "{QUERY}" }}
table = "copied"
""",
    )
    return database


def test_a_backend_that_ended_without_a_word(
    source: Database, newest_database: Database, proxy: Proxy, inrush: Inrush
) -> None:
    """A proxy keeps the connection alive after the connection to the server is gone."""
    with pauses.closed_gate(source), inrush.start("run", "copy.toml") as running:
        pauses.wait_until_held(source)
        proxy.strike(Trouble("client_gone"))
        # Idle sessions may end by themselves meanwhile, and then cannot be ended.
        ended = source.value(
            "SELECT bool_and(pg_terminate_backend(pid, 30000)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'inrush source' "
            "AND wait_event_type = 'Lock'"
        )
        assert ended
        running.wait().expect(FAILED, "the query", "the backend has ended")
    assert newest_database.value("SELECT to_regclass('copied') IS NULL")
    inrush("run", "copy.toml", "--again").expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM copied") == 100_100


def test_a_backend_that_is_at_work_is_waited_for(source: Database, inrush: Inrush) -> None:
    """A slow query is not given up, however often the server is asked about it."""
    sessions = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
    with ExitStack() as gate:
        gate.enter_context(pauses.closed_gate(source))
        with inrush.start("run", "copy.toml") as running:
            pauses.wait_until_held(source)
            before = source.value(sessions)
            # No other process connects to the database, so the count changes only by the command's
            # checks.
            pauses.wait_until(source, f"SELECT ({sessions}) > {before + 2}")
            gate.close()
            running.wait().expect(CLEAN)


def test_a_stop_is_obeyed_while_the_source_is_silent(source: Database, inrush: Inrush) -> None:
    """The command does not wait for the row that the gate holds."""
    with pauses.closed_gate(source), inrush.start("run", "copy.toml") as running:
        pauses.wait_until_held(source)
        running.send(signal.SIGINT)
        running.wait().expect(INTERRUPTED)


def test_a_session_whose_first_statement_is_not_answered(inrush: Inrush) -> None:
    """Its backend is not known yet and cannot be checked, so the connection timeout ends it."""
    with HostileServer(after_login(Client.wait)) as server:
        url = server.url("sslmode=disable&connect_timeout=2")
        outcome = inrush("copy", "--from", url, "--table", "t", "--to", "parquet:lake")
    outcome.expect(FAILED, "answered no statement within 2 s", "a proxy")
