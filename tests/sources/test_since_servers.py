"""Incremental loads from servers with prepared transactions, subscriptions and standbys."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from conftest import StartServer
from harness import servers
from harness.command import CLEAN, FAILED, Inrush
from harness.pauses import wait_until
from harness.servers import Database, Server
from harness.standby import follow
from sources.test_since import APPEND, TABLE, flow, ids, old, package

LAG = ', lag = "5 minutes"'
SETTINGS = servers.REPLICATING | {"max_prepared_transactions": "5"}
OLD_ENOUGH = "SELECT max(updated_at) < now() - interval '1.1 seconds' FROM orders"


@pytest.fixture(scope="module", params=servers.VERSIONS, ids=lambda version: f"pg{version}")
def primary(request: pytest.FixtureRequest, start_server: StartServer) -> Server:
    """Return a server that can prepare transactions, and that others may follow."""
    return start_server(request.param, SETTINGS)


_numbers = itertools.count(1)


@pytest.fixture
def crm(primary: Server) -> Iterator[Database]:
    """Return a database with rows 1 to 3, each an hour old."""
    database = primary.create_database(f"crm_{next(_numbers)}")
    rows = f"INSERT INTO orders SELECT n, n, {old(60)} FROM generate_series(1, 3) AS n"
    database.execute(f"{TABLE}; {rows}")
    yield database
    primary.done_with(database)


@pytest.fixture
def target(newest_database: Database) -> Database:
    """Return a database with the table, without a key: a row that is loaded twice is found."""
    newest_database.execute(TABLE.replace(" PRIMARY KEY", ""))
    return newest_database


def feed(inrush: Inrush, source: Database, target: Database, since: str = "") -> Path:
    """Write a package that appends what is new."""
    words = flow("orders", APPEND, since=since)
    return inrush.write("feed.toml", package(source, target.url, words))


def prepare(database: Database, statement: str, name: str) -> None:
    """Run a statement in a transaction that stays prepared."""
    database.execute(f"BEGIN; {statement}; PREPARE TRANSACTION '{name}'")


def test_a_prepared_transaction_may_have_written_rows(
    crm: Database, target: Database, inrush: Inrush
) -> None:
    """The transaction is named, and its rows are loaded after its commit; others do not count."""
    prepare(crm, "INSERT INTO orders (id, v) VALUES (4, 4)", "late one")
    plain = feed(inrush, crm, target)
    inrush("run", plain).expect(FAILED, "the prepared transaction 'late one'", "lag = ")
    assert ids(target) == []
    crm.execute("COMMIT PREPARED 'late one'")
    wait_until(crm, OLD_ENOUGH)
    inrush("run", plain).expect(CLEAN)
    assert ids(target) == [1, 2, 3, 4]
    beside = crm.server.create_database(f"{crm.name}_beside")
    prepare(beside, "CREATE TABLE t ()", "beside")
    try:
        inrush("run", plain).expect(CLEAN, "nothing new since")
    finally:
        beside.execute("ROLLBACK PREPARED 'beside'")
        crm.server.done_with(beside)


def test_a_prepared_transaction_does_not_hold_back_a_lag(
    crm: Database, target: Database, inrush: Inrush
) -> None:
    """Rows that are old enough are loaded; a later run loads the row within the lag."""
    prepare(crm, "INSERT INTO orders (id, v) VALUES (4, 4)", "late")
    with_lag = feed(inrush, crm, target, LAG)
    inrush("run", with_lag).expect(CLEAN)
    assert ids(target) == [1, 2, 3]
    crm.execute("COMMIT PREPARED 'late'")
    inrush("run", with_lag).expect(CLEAN)
    assert ids(target) == [1, 2, 3]
    wait_until(crm, OLD_ENOUGH)
    inrush("run", feed(inrush, crm, target, ', lag = "1 second"')).expect(CLEAN)
    assert ids(target) == [1, 2, 3, 4]


def test_a_subscription_brings_rows_late(
    primary: Server, crm: Database, target: Database, inrush: Inrush
) -> None:
    """A subscribed table needs `lag`; another table of the same database does not."""
    copy = primary.create_database(f"{crm.name}_copy")
    copy.execute(f"{TABLE}; CREATE TABLE own (LIKE orders)")
    copy.execute(f"INSERT INTO own VALUES (9, 9, {old(60)})")
    crm.execute("CREATE PUBLICATION feed FOR TABLE orders")
    # Within one server the slot must be created first.
    crm.execute("SELECT pg_create_logical_replication_slot('feed', 'pgoutput')")
    url = f"host={primary.folder} port={primary.port} user={primary.user} dbname={crm.name}"
    copy.execute(
        f"CREATE SUBSCRIPTION feed CONNECTION '{url}' PUBLICATION feed"
        " WITH (create_slot = false, slot_name = 'feed')"
    )
    try:
        wait_until(copy, "SELECT count(*) = 3 FROM orders")
        wait_until(copy, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")
        plain = inrush("run", feed(inrush, copy, target))
        plain.expect(FAILED, "a subscription brings rows", "lag = ")
        assert ids(target) == []
        inrush("run", feed(inrush, copy, target, LAG)).expect(CLEAN, "more than 5 minutes after")
        assert ids(target) == [1, 2, 3]
        # A row with a value above the mark arrives by the subscription, and is loaded once.
        crm.execute(f"INSERT INTO orders VALUES (4, 4, {old(4)})")
        wait_until(copy, "SELECT count(*) = 4 FROM orders")
        inrush("run", feed(inrush, copy, target, ', lag = "1 minute"')).expect(CLEAN)
        assert ids(target) == [1, 2, 3, 4]
        words = flow("orders", APPEND).replace('table = "orders", since', 'table = "own", since')
        text = package(copy, target.url, words).replace('"feed"', '"own"')
        inrush("run", inrush.write("own.toml", text)).expect(CLEAN)
        assert ids(target) == [1, 2, 3, 4, 9]
        # A view over the subscribed table is treated like the table.
        copy.execute("CREATE VIEW behind AS SELECT * FROM orders")
        text = text.replace('table = "own", since', 'table = "behind", since')
        behind = inrush.write("behind.toml", text.replace('"own"', '"behind"'))
        inrush("check", behind).expect(FAILED, "a subscription brings rows")
    finally:
        copy.execute("ALTER SUBSCRIPTION feed DISABLE")
        copy.execute("ALTER SUBSCRIPTION feed SET (slot_name = NONE)")
        copy.execute("DROP SUBSCRIPTION feed")
        of_slot = "FROM pg_replication_slots WHERE slot_name = 'feed'"
        wait_until(crm, f"SELECT bool_and(NOT active) {of_slot}")
        crm.execute("SELECT pg_drop_replication_slot('feed')")
        primary.done_with(copy)


def test_a_standby_counts_back_from_what_it_has_replayed(
    primary: Server, crm: Database, target: Database, inrush: Inrush, servers_folder: Path
) -> None:
    """Without `lag` a standby is refused; while it replays nothing, the bound does not move."""
    with follow(primary, servers_folder / f"since-{primary.version}") as standby:
        there = Database(standby, crm.name)
        follows(crm, there)
        inrush("run", feed(inrush, there, target)).expect(FAILED, "is a standby", "lag = ")
        assert ids(target) == []
        with_lag = feed(inrush, there, target, ', lag = "1 second"')
        crm.execute("INSERT INTO orders (id, v) VALUES (4, 4)")
        wait_until(crm, OLD_ENOUGH)
        crm.execute("CREATE TABLE later ()")
        follows(crm, there)
        inrush("run", with_lag).expect(CLEAN)
        assert ids(target) == [1, 2, 3, 4]
        there.execute("SELECT pg_wal_replay_pause()")
        crm.execute("INSERT INTO orders (id, v) VALUES (5, 5)")
        wait_until(crm, OLD_ENOUGH)
        inrush("run", with_lag).expect(CLEAN, "nothing new since")
        there.execute("SELECT pg_wal_replay_resume()")
        crm.execute("CREATE TABLE latest ()")
        follows(crm, there)
        inrush("run", with_lag).expect(CLEAN)
        assert ids(target) == [1, 2, 3, 4, 5]


def follows(primary: Database, standby: Database) -> None:
    """Wait until a standby has replayed all changes of its primary."""
    # After a commit that waits for the disk, all earlier changes are written and can be replayed.
    flushed = "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, '', '')"
    primary.execute(flushed)
    lsn = primary.value("SELECT pg_current_wal_flush_lsn()::text")
    stop = monotonic() + 60
    while not standby.value(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'::pg_lsn"):
        assert monotonic() < stop, "the standby does not follow"
