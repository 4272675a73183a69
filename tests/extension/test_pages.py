"""The data on the disk after a load is complete, frozen and visible."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from extension.random_tables import PRELUDE, random_table
from extension.stored import assert_same_tuples
from extension.twins import Twins, binary_of, copy_statement
from harness import extension, servers
from harness.contents import contents
from harness.servers import Database, Server

ROWS = (
    "SELECT n, (n * 1.25)::numeric(15,2), 'row ' || n, CASE WHEN n % 3 = 0 THEN NULL ELSE n END,"
    " repeat(md5(n::text), CASE WHEN n % 500 = 0 THEN 300 ELSE 1 END)"
    " FROM generate_series(1, 4000) n"
)
DEFINITION = "(a int, b numeric(15,2), c text, d int, e text)"


@pytest.fixture(params=["minimal", "replica"])
def crashing_server(
    request: pytest.FixtureRequest,
    fast_server_of: Callable[[int], Server],
    start_server: Callable[..., Server],
) -> Server:
    """Return a durable Debian server of version 15, which has amcheck, for each WAL level."""
    fast_server_of(15)
    found: Server = start_server(15, servers.DURABLE | {"wal_level": request.param})
    return found


def load(database: Database, *, freeze: bool) -> None:
    twins = Twins(database, "t", DEFINITION)
    stream = binary_of(database, ROWS)
    blocks = [stream[place : place + 5000] for place in range(0, len(stream), 5000)]
    copied, fast = twins.load(blocks, freeze=freeze)
    assert fast == copied
    assert copied.tag == "COPY 4000"


@pytest.mark.parametrize("freeze", [True, False])
def test_amcheck_and_visibility(
    fast_server_of: Callable[[int], Server], session_folder: Path, freeze: bool
) -> None:
    server = fast_server_of(15)
    database = server.create_database(f"pages_{freeze}".lower())
    extension.install(database, extension.built(15, session_folder))
    database.execute("CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility")
    load(database, freeze=freeze)
    check = "SELECT * FROM verify_heapam('{}.t', check_toast => true)"
    assert database.rows(check.format("b")) == []
    for function in ("pg_check_frozen", "pg_check_visible"):
        assert database.rows(f"SELECT * FROM {function}('b.t')") == []
    summary = "SELECT all_visible, all_frozen FROM pg_visibility_map_summary('{}.t')"
    assert database.rows(summary.format("b")) == database.rows(summary.format("a"))
    size = "SELECT pg_relation_size('{}.t'), pg_total_relation_size('{}.t')"
    assert database.rows(size.format("b", "b")) == database.rows(size.format("a", "a"))
    server.done_with(database)


@pytest.mark.parametrize(
    ("way", "freeze"),
    [("tuples", True), ("tuples", False), ("executor", True), ("executor", False), ("pages", True)],
)
def test_every_way_passes_the_checks_of_the_server(
    checking_server: Server, session_folder: Path, way: str, *, freeze: bool
) -> None:
    """amcheck, pg_visibility and pg_checksums find no fault in tables of many forms."""
    database = checking_server.create_database(f"checked_{way}_{freeze}".lower())
    extension.install(database, extension.built(18, session_folder))
    database.execute(f"CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility; {PRELUDE}")
    twins = [Twins(database, "t", DEFINITION, way=way)]
    streams = [binary_of(database, ROWS)]
    for seed in range(3_000_000, 3_000_020):
        table = random_table(seed, 18)
        twins.append(Twins(database, f"t{seed}", table.definition, table.columns, table.more, way))
        streams.append(binary_of(database, table.rows))
    loaded = []
    for one, stream in zip(twins, streams, strict=True):
        copied, fast = one.load([stream], freeze=freeze)
        assert fast == copied
        if copied.tag is not None:
            loaded.append(one.name)
    assert len(loaded) > len(twins) // 2
    for name in loaded:
        stored = f"b.{name}"
        check = f"SELECT * FROM verify_heapam('{stored}', check_toast => true)"
        assert database.rows(check) == [], name
        for function in ("pg_check_frozen", "pg_check_visible"):
            assert database.rows(f"SELECT * FROM {function}('{stored}')") == [], name
        summary = "SELECT all_visible, all_frozen FROM pg_visibility_map_summary('{}')"
        found = database.rows(summary.format(stored))
        if way == "pages":
            pages = database.value(f"SELECT pg_relation_size('{stored}') / 8192")
            assert found == [(pages, pages)], name
        else:
            assert found == database.rows(summary.format(f"a.{name}")), name
    assert database.value("SHOW data_checksums") == "on"
    checking_server.stop()
    said = servers.run_as_server(
        [checking_server.programs / "pg_checksums", "--check", f"--pgdata={checking_server.data}"]
    ).stdout
    assert re.search(r"Bad checksums: +0\n", said), said
    checking_server.start()
    assert_same_tuples(database, loaded)
    checking_server.done_with(database)


def test_a_killed_backend_leaves_nothing(crashing_server: Server, session_folder: Path) -> None:
    database = crashing_server.create_database("killed")
    extension.install(database, extension.built(15, session_folder))
    database.execute(f"CREATE TABLE t {DEFINITION}")
    stream = binary_of(database, ROWS)
    with database.connect() as connection:
        backend = connection.info.backend_pid
        connection.execute("SELECT inrush_fastcopy.open()")
        statement = copy_statement("t", (), "FORMAT inrush")
        with (
            pytest.raises(Exception, match="connection"),
            connection.cursor().copy(statement) as copy,
        ):
            copy.write(stream[: len(stream) // 2])
            os.kill(backend, signal.SIGKILL)
            while True:
                copy.write(stream[:100_000])
    crashing_server.restart()
    assert database.value("SELECT count(*) FROM t") == 0


@pytest.mark.parametrize("seed", range(2_000_000, 2_000_010))
def test_appended_rows_are_stored_as_copy_stores_them(fast_database: Database, seed: int) -> None:
    """Rows are appended to tables that already have rows, some of them deleted."""
    fast_database.execute(PRELUDE)
    table = random_table(seed, fast_database.server.version)
    stream = binary_of(fast_database, table.rows)
    twins = Twins(fast_database, "t", table.definition, table.columns, table.more)
    copied, fast = twins.load([stream], freeze=False)
    assert fast == copied
    if copied.tag is None:
        return
    with fast_database.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        for schema, options in (("a", "FORMAT binary"), ("b", "FORMAT inrush")):
            connection.execute(f"DELETE FROM {schema}.t WHERE ctid::text LIKE '%3)'".encode())
            statement = copy_statement(f"{schema}.t", table.columns, options)
            with connection.cursor().copy(statement) as copy:
                copy.write(stream)
    assert contents(fast_database, "TABLE b.t") == contents(fast_database, "TABLE a.t")
