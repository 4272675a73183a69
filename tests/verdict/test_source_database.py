"""The verdict on loads that a source database limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from conftest import StartServer
from harness import pauses, servers
from harness.command import CLEAN, Inrush
from harness.servers import Database, Server
from verdict.disk import SlowDisk
from verdict.network import Network
from verdict.system import allowed

# This computes for some milliseconds per row on any machine.
BURN = """
    CREATE FUNCTION burn(id int, ms float8) RETURNS int LANGUAGE plpgsql AS $$
    DECLARE ends timestamptz := clock_timestamp() + ms * interval '1 millisecond';
    BEGIN
        WHILE clock_timestamp() < ends LOOP END LOOP;
        RETURN id;
    END $$
"""
# Seconds that a query takes at least: enough for some dozen samples.
SECONDS = 4
ROWS = 2_000
# About 10 MB, on the disk and in COPY.
LARGE = "SELECT n AS id, repeat(md5(n::text), 30) AS note FROM generate_series(1, 10000) AS n"
# The application name of the sessions that read, and of the one that keeps the snapshot.
SOURCE = "datname = current_database() AND application_name = 'inrush source'"


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_copy")
    yield beside
    server.done_with(beside)


@pytest.fixture
def link() -> Iterator[Network]:
    """Return a separate network between a server and the command."""
    with allowed():
        made = Network("veth")
    with made:
        yield made


@pytest.fixture
def slow_disk(servers_folder: Path) -> Iterator[SlowDisk]:
    """Return a separate disk, in a folder that the servers' user can enter."""
    with allowed():
        made = SlowDisk(servers_folder, "slow-source", 128 << 20)
    with made:
        yield made


def words(url: str, target: Database, query: str) -> tuple[str, ...]:
    """Return the words of a copy by one stream."""
    there = ("copy", "--from", url, "--query", query)
    return (*there, "--into", "copied", "--to", target.url, "--streams", "1")


def share_of(report: dict[str, Any], cause: str) -> float:
    """Return the share of a cause."""
    causes = {one["cause"]: one["share"] for one in report["verdict"]["causes"]}
    return float(causes.get(cause, 0.0))


def source_backend(report: dict[str, Any]) -> dict[str, Any]:
    """Return the samples of the backend that reads for the only stream."""
    (stream,) = report["measurements"]["streams"]
    seen: dict[str, Any] = stream["source_backend"]
    return seen


def samples_of(report: dict[str, Any], state: str) -> int:
    """Return the number of samples in a state while the stream read."""
    seen = source_backend(report)["samples"]
    return sum(one["samples"] for one in seen if one["state"] == state and one["phase"] == "read")


def test_a_source_that_computes(database: Database, target: Database, inrush: Inrush) -> None:
    database.execute(BURN)
    each_ms = 1e3 * SECONDS / ROWS
    query = f"SELECT burn(n, {each_ms}) AS id FROM generate_series(1, {ROWS}) AS n"
    report = inrush(*words(database.url, target, query)).expect(CLEAN).report
    verdict = report["verdict"]
    first = verdict["causes"][0]
    assert first["cause"] == "source_database_cpu", verdict
    assert first["share"] > 0.6
    assert any("the source's backends computed in" in one for one in first["evidence"])
    assert samples_of(report, "cpu") >= 10
    seen = source_backend(report)
    steps = report["measurements"]["steps"]
    assert len(seen["cpu_us"]) == len(seen["cpu_wait_us"]) == steps
    awake_s = (sum(seen["cpu_us"]) + sum(seen["cpu_wait_us"])) / 1e6
    assert awake_s > SECONDS / 2
    server = report["measurements"]["source_server"]
    assert server["is_local"]
    assert not server["is_over_network"]
    assert target.value("SELECT count(DISTINCT id) FROM copied") == ROWS


def test_a_source_that_waits_for_something_else(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The wait event is named: neither CPU nor disk nor network are the cause."""
    # Few long waits: after each one the backend may wait for a core, which counts as computing.
    each_s = 0.1
    last = round(SECONDS / each_s)
    query = (
        f"SELECT n AS id, pg_sleep({each_s})::text AS slept FROM generate_series(1, {last}) AS n"
    )
    verdict = inrush(*words(database.url, target, query)).expect(CLEAN).report["verdict"]
    assert verdict["causes"][0]["cause"] == "source_read", verdict
    assert "Timeout:PgSleep" in verdict["line"]


def test_a_destination_that_is_slower(database: Database, target: Database, inrush: Inrush) -> None:
    """A source that waits until the load takes its rows does not slow the load down."""
    note = "repeat(md5(n::text), 100)"
    query = f"SELECT n AS id, {note} AS note FROM generate_series(1, 2000) AS n"
    # About 6 MB, at a rate below that of any machine.
    slow = (*words(database.url, target, query), "--max-rate", "1MB")
    report = inrush(*slow).expect(CLEAN).report
    assert report["verdict"]["causes"][0]["cause"] == "pace", report["verdict"]
    waits = [one for one in source_backend(report)["samples"] if one["state"] == "client"]
    assert sum(one["samples"] for one in waits) >= 10
    for cause in ("source_database_cpu", "source_database_disk", "source_database_network"):
        assert share_of(report, cause) < 0.2, report["verdict"]


def test_who_holds_a_source_is_named(database: Database, target: Database, inrush: Inrush) -> None:
    """The session that keeps the snapshot asks, so there is no additional connection."""
    database.execute(pauses.HELD_DOMAIN)
    query = "SELECT n, pass_gate(100 - n) AS passed FROM generate_series(1, 101) AS n"
    with ExitStack() as gate:
        gate.enter_context(pauses.closed_gate(database))
        with inrush.start(*words(database.url, target, query)) as running:
            pauses.wait_until_held(database)
            # Each of these samples has seen the lock.
            asked = f"{SOURCE} AND query LIKE '%usename%'"
            pauses.wait_for_statements(database, asked, 15, running)
            assert database.value(f"SELECT count(*) FROM pg_stat_activity WHERE {SOURCE}") == 2
            gate.close()
            report = running.wait().expect(CLEAN).report
    seen = source_backend(report)
    assert samples_of(report, "lock") >= 10
    assert any("of user" in blocker and "tester" in blocker for blocker in seen["blockers"])
    verdict = report["verdict"]
    assert verdict["causes"][0]["cause"] == "source_read", verdict
    assert "Lock:advisory" in verdict["line"]
    assert "End the session that held the lock in the source" in verdict["advice"]["change"]


def test_a_sampler_that_is_refused(database: Database, target: Database, inrush: Inrush) -> None:
    """A role that may not see other sessions still reads all rows at the snapshot."""
    database.execute(BURN)
    each_ms = 1e3 * SECONDS / ROWS
    query = f"SELECT burn(n, {each_ms}) AS id FROM generate_series(1, {ROWS}) AS n"
    revoked = "pg_catalog.pg_stat_get_activity(int4)"
    database.execute(f"REVOKE EXECUTE ON FUNCTION {revoked} FROM PUBLIC")
    database.execute("CREATE ROLE plain_reader LOGIN")
    try:
        url = database.server.url(database.name, "plain_reader")
        report = inrush(*words(url, target, query)).expect(CLEAN).report
    finally:
        database.execute("DROP OWNED BY plain_reader; DROP ROLE plain_reader")
    (stream,) = report["measurements"]["streams"]
    assert "source_backend" not in stream
    assert report["verdict"]["causes"][0]["cause"] == "source_read", report["verdict"]
    assert target.value("SELECT count(DISTINCT id) FROM copied") == ROWS


def test_a_network_that_is_slower(
    start_server: StartServer, inrush: Inrush, link: Network, tmp_path: Path
) -> None:
    """While the source's rows are in transit, both ends wait."""
    server = start_server(18)
    server.configure(server.settings, addresses=link.server_address)
    with (server.data / "pg_hba.conf").open("a") as access:
        access.write(f"host all all {link.server_address}/24 trust\n")
    server.restart("fast")
    database = server.create_database("crm")
    # Compressed values would be shorter on disk than on the network.
    database.execute(f"CREATE TABLE t AS {LARGE}")
    url = f"postgresql://{server.user}@{link.server_address}:{server.port}/crm"
    copied = ("copy", "--from", url, "--table", "t", "--to", f"parquet:{tmp_path}/lake")
    with (
        link.rate(2e6, to_loader=True),
        inrush.start(*copied, "--streams", "1", before=link.inside) as running,
    ):
        report = running.wait().expect(CLEAN).report
    verdict = report["verdict"]
    assert verdict["causes"][0]["cause"] == "source_database_network", verdict
    assert report["measurements"]["source_server"]["is_over_network"]


def test_a_source_on_a_slow_disk(
    start_server: StartServer, inrush: Inrush, slow_disk: SlowDisk, tmp_path: Path
) -> None:
    server = start_server(18, dict(servers.FAST) | {"shared_buffers": "1MB"})
    space = slow_disk.folder / "space"
    space.mkdir()
    servers.own_by_server(slow_disk.folder)
    servers.own_by_server(space)
    database = server.create_database("crm")
    database.execute(f"CREATE TABLESPACE slow LOCATION '{space}'")
    # With STORAGE PLAIN, values are neither compressed nor moved to another file.
    database.execute("CREATE TABLE t (id int, note text STORAGE PLAIN) TABLESPACE slow")
    database.execute(f"INSERT INTO t {LARGE}")
    database.execute("VACUUM t")
    database.execute("CHECKPOINT")
    slow_disk.forget()
    copied = ("copy", "--from", database.url, "--table", "t", "--to", f"parquet:{tmp_path}/lake")
    with allowed(), slow_disk.limited(reads=2e6):
        report = inrush(*copied, "--streams", "1").expect(CLEAN).report
    server.stop("immediate")
    verdict = report["verdict"]
    assert verdict["causes"][0]["cause"] == "source_database_disk", verdict
