"""Loads by the extension during crashes of the server, and on a standby: all rows are right."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from extension.twins import send
from harness import extension, servers, standby
from harness.command import CLEAN, Inrush
from harness.contents import contents
from harness.packages import flow, package
from harness.servers import Database, Server

# The value of `server_copy` for each way.
WAYS = {"tuples": "require", "pages": "pages", "executor": "require"}
COLUMNS = ["id int not null", "amount numeric(15,2)", "note text"]
ROWS = 3_000
# The extension uses its way "executor" for a table that has partitions.
PARTITIONED = (
    "CREATE TABLE t (id int NOT NULL, amount numeric(15,2), note text) PARTITION BY RANGE (id);"
    f"CREATE TABLE t_old PARTITION OF t FOR VALUES FROM (0) TO ({ROWS // 2});"
    f"CREATE TABLE t_new PARTITION OF t FOR VALUES FROM ({ROWS // 2}) TO (1000000)"
)
# Steps of the loader at which the main server process or the backends are killed.
STEPS = ["in_copy", "before_unit_commit", "after_unit_commit", "before_switch_commit"]


@functools.cache
def lines(part: int) -> str:
    """Return rows of a file; some are long enough for TOAST."""
    start = part * ROWS
    return "".join(
        f"{n}|{'' if n % 7 == 0 else f'{n}.25'}|{f'note {n} ' * (1_500 if n % 700 == 0 else 1)}|\n"
        for n in range(start, start + ROWS)
    )


@pytest.fixture(scope="module", params=["minimal", "replica"])
def durable_server(
    request: pytest.FixtureRequest,
    fast_server_of: Callable[[int], Server],
    start_server: Callable[..., Server],
) -> Server:
    """Return a server that survives crashes, for each WAL level."""
    fast_server_of(18)
    senders = "5" if request.param == "replica" else "0"
    settings = {
        "wal_level": request.param,
        "max_wal_senders": senders,
        "wal_consistency_checking": "all",
    }
    return start_server(18, servers.DURABLE | settings)


def prepared(server: Server, servers_folder: Path, inrush: Inrush, name: str, way: str) -> Database:
    """Create a database with the extension, and a package of two files that it loads."""
    database = server.create_database(name)
    extension.run_script(database, extension.built(18, servers_folder))
    for part in range(2):
        inrush.write(f"rows.{part}.tbl", lines(part))
    files = ["rows.0.tbl", "rows.1.tbl"]
    if way == "executor":
        database.execute(PARTITIONED)
        one = flow("t", files, mode="append", routing=True)
    else:
        one = flow("t", files, columns=COLUMNS, partition_by="id")
    text = package(database.url, one, server_copy=WAYS[way], batch_rows=500)
    inrush.write("package.toml", text)
    return database


def assert_whole(database: Database) -> None:
    """Fail unless the target has the rows of both files, value for value."""
    found = contents(database, "SELECT * FROM t ORDER BY id").text
    assert found == whole()


@functools.cache
def whole() -> tuple[str, ...]:
    """Return the rows of both files as COPY writes them."""
    expected = []
    for line in (lines(0) + lines(1)).splitlines():
        number, amount, note, _ = line.split("|")
        expected.append("\t".join([number, amount or "\\N", note]))
    return tuple(expected)


def kill_backends(database: Database) -> None:
    """Kill the backends of the streams, so that the whole server restarts."""
    streams = database.rows(
        "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'inrush % stream %'"
    )
    for (backend,) in streams:
        # The server ends its other processes as soon as it notices that one has died.
        with contextlib.suppress(ProcessLookupError):
            os.kill(backend, signal.SIGKILL)


@pytest.mark.parametrize("victim", ["server", "backends"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way", WAYS)
def test_the_same_command_goes_on_after_a_crash(
    way: str, step: str, victim: str, durable_server: Server, servers_folder: Path, inrush: Inrush
) -> None:
    name = f"crash_{way}_{step}_{victim}"
    database = prepared(durable_server, servers_folder, inrush, name, way)
    with inrush.stopped_by(f"stop:{step}", "run", "package.toml") as running:
        if victim == "server":
            # A run whose COMMIT got no answer asks for half a minute whether it was committed.
            durable_server.crash()
        else:
            kill_backends(database)
        # A COMMIT in transit may have reached the disk; then the load is complete.
        running.resume().wait(120)
    if victim == "backends":
        durable_server.restart()
    outcome = inrush("run", "package.toml").expect(CLEAN)
    ways = {unit.get("server_copy", {}).get("way") for unit in outcome.report["units"]}
    assert ways <= {way, None}, "units that an earlier attempt loaded have no way in this report"
    assert_whole(database)
    durable_server.restart()
    assert_whole(database)
    database.execute("VACUUM t")


@pytest.mark.parametrize("way", WAYS)
def test_what_a_database_does_with_its_tables_later(
    way: str, durable_server: Server, servers_folder: Path, inrush: Inrush
) -> None:
    """Tables survive a crash, indexes, VACUUM and changed rows, and a dump of them is complete."""
    database = prepared(durable_server, servers_folder, inrush, f"later_{way}", way)
    outcome = inrush("run", "package.toml").expect(CLEAN)
    assert {unit["server_copy"]["way"] for unit in outcome.report["units"]} == {way}
    durable_server.restart()
    assert_whole(database)
    database.execute("CREATE INDEX ON t (note text_pattern_ops) WHERE length(note) < 100")
    database.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    database.execute("VACUUM (ANALYZE) t")
    with database.connect() as connection:
        connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        ids = connection.execute("SELECT id FROM t ORDER BY id").fetchall()
    assert ids == [(n,) for n in range(2 * ROWS)]
    database.execute("UPDATE t SET note = note || '' WHERE id % 3 = 0; DELETE FROM t WHERE id < 0")
    database.execute("VACUUM (FULL, FREEZE) t")
    assert_whole(database)
    dump = inrush.folder / "dump.sql"
    dump.write_text(
        servers.run_as_server([durable_server.programs / "pg_dump", database.url]).stdout
    )
    copy = durable_server.create_database(f"copy_of_{database.name}")
    copy.execute(extension.WITHOUT_IT)
    copy.psql(f"\\i {dump}")
    assert_whole(copy)
    durable_server.done_with(copy)


@pytest.mark.parametrize("way", WAYS)
def test_a_standby_has_the_same_pages(
    way: str,
    start_server: Callable[..., Server],
    servers_folder: Path,
    inrush: Inrush,
) -> None:
    """The standby compares each page that it replays with the primary's."""
    settings = {
        "wal_level": "replica",
        "max_wal_senders": "5",
        "wal_consistency_checking": "all",
        "synchronous_standby_names": "*",
        "synchronous_commit": "local",
    }
    primary = start_server(18, servers.DURABLE | settings)
    with standby.follow(primary, servers_folder / f"standby-{way}") as replica:
        database = prepared(primary, servers_folder, inrush, f"followed_{way}", way)
        inrush("run", "package.toml").expect(CLEAN)
        assert_whole(database)
        # This COMMIT returns once the standby has replayed it and everything before it.
        database.execute("SET synchronous_commit = remote_apply; CREATE TABLE last ()")
        followed = Database(replica, database.name)
        assert_whole(followed)
        with followed.connect() as connection:
            connection.execute("SELECT inrush_fastcopy.open()")
            fast = send(connection, b"COPY last FROM STDIN (FORMAT inrush)", [])
            assert fast == send(connection, b"COPY last FROM STDIN (FORMAT binary)", [])
            assert fast.sqlstate == "25006"
    primary.stop()
    servers.run_as_server(
        [primary.programs / "pg_checksums", "--check", f"--pgdata={primary.data}"]
    )
