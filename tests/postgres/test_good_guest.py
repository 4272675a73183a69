"""A load beside other work: it yields locks, keeps to a rate, and waits for standbys."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import StartServer
from harness import pauses, servers
from harness.command import (
    CLEAN,
    FAILED,
    LOADED_WITH_REJECTS,
    USAGE,
    Inrush,
    Outcome,
)
from harness.contents import state
from harness.packages import Value, flow, package
from harness.servers import Database, Server
from harness.standby import follow

MIB = 1 << 20
COLUMNS = ["id int not null", "note text"]


def write_rows(inrush: Inrush, count: int, note: str = "a row") -> Path:
    return inrush.write("rows.tbl", "".join(f"{n}|{note}|\n" for n in range(count)))


def job(inrush: Inrush, database: Database, **run: int | bool) -> Path:
    text = package(database.url, flow("loaded", "rows.tbl", columns=COLUMNS), name="guest", **run)
    return inrush.write("package.toml", text)


# The statement of the lock's holder, and others' statements that must proceed while the loader
# waits.
HELD_UP = {
    "a_plain_target": (
        "CREATE TABLE loaded (id int, note text)",
        "INSERT INTO loaded VALUES (-1, 'holder')",
        "INSERT INTO loaded VALUES (-2, 'other')",
    ),
    # ATTACH also locks the default partition against readers.
    "a_default_partition": (
        "CREATE TABLE loaded (id int NOT NULL, note text) PARTITION BY RANGE (id); "
        "CREATE TABLE rest PARTITION OF loaded DEFAULT",
        "SELECT count(*) FROM loaded",
        "SELECT count(*) FROM loaded",
    ),
}


@pytest.mark.parametrize("held_up", HELD_UP.values(), ids=HELD_UP)
def test_a_blocked_switch_does_not_queue_up_the_target(
    newest_database: Database, inrush: Inrush, held_up: tuple[str, str, str]
) -> None:
    database = newest_database
    setup, holds, others = held_up
    database.execute(setup)
    write_rows(inrush, 1_000)
    more = {"partition_by": "id"} if "PARTITION" in setup else {}
    text = package(
        database.url, flow("loaded", "rows.tbl", mode="append", **more), lock_timeout_ms=300
    )
    path = inrush.write("package.toml", text)
    with database.connect(autocommit=False) as holder, inrush.start("run", path) as running:
        holder.execute(holds.encode())
        pauses.wait_until_held(database)
        # A new session now waits behind the loader, which waits behind the holder.
        with database.connect() as other:
            other.execute(b"SET lock_timeout = '20s'")
            for _ in range(3):
                other.execute(others.encode())
        assert running.process.poll() is None or running.wait().status == FAILED
        outcome = running.wait()
        holder.rollback()
    outcome.expect(FAILED, "lock", "did not get it")
    inrush("run", path).expect(CLEAN)
    assert database.value("SELECT count(*) FROM loaded WHERE id >= 0") == 1_000


@pytest.mark.parametrize("way", ["one_transaction", "straight"])
def test_analyze_does_not_wait_for_a_lock_without_limit(
    newest_database: Database, inrush: Inrush, way: str
) -> None:
    database = newest_database
    database.execute("CREATE TABLE loaded (id int, note text)")
    inrush.write("rows.tbl", "1|a|\n2|b|\n")
    settings: dict[str, Value] = {"atomic": False} if way == "straight" else {}
    text = package(
        database.url,
        flow("loaded", "rows.tbl", mode="append", **settings),
        lock_timeout_ms=300,
        staging=way != "one_transaction",
    )
    path = inrush.write("package.toml", text)
    with database.connect(autocommit=False) as holder:
        holder.execute(b"LOCK TABLE loaded IN SHARE UPDATE EXCLUSIVE MODE")
        outcome = inrush("run", path, seconds=30)
        holder.rollback()
    outcome.expect(CLEAN, "was not analyzed", "lock_timeout_ms (300 ms)", "ANALYZE")
    assert database.value("SELECT count(*) FROM loaded") == 2


def test_a_rate_is_kept(newest_database: Database, inrush: Inrush) -> None:
    write_rows(inrush, 3_000, "x" * 990)
    path = job(inrush, newest_database)
    report = inrush("run", path, "--max-rate", "1MB").expect(CLEAN).report
    sent = sum(stream["meter"]["sent_bytes"] for stream in report["streams"])
    assert sent > 2_900_000
    # The load does not wait for data that is still on its way when the last block is sent.
    assert report["phases"]["load_s"] > (sent - 2 * 320_000) / 1e6
    assert any("rate_bytes_max" in note for note in report["notes"])


@pytest.mark.parametrize("rate", ["fast", "0", "-1MB", "10", "1e30"])
def test_a_rate_that_is_none(inrush: Inrush, rate: str) -> None:
    words = ("load", "rows.tbl", "--to", "embedded", "--table", "t", f"--max-rate={rate}")
    inrush(*words).expect(USAGE, "--max-rate")


def test_a_stop_does_not_wait_for_the_rate(newest_database: Database, inrush: Inrush) -> None:
    write_rows(inrush, 20_000, "x" * 990)
    path = job(inrush, newest_database, rate_bytes_max=2_000)
    with inrush.start("run", path) as running:
        pauses.wait_until(
            newest_database,
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() "
            "AND query LIKE 'COPY%' AND state = 'active'",
        )
        running.send(signal.SIGINT)
        running.wait().expect(130)


@pytest.fixture(scope="module")
def primary(start_server: StartServer) -> Server:
    """Return a server that others may follow."""
    return start_server(18, servers.REPLICATING)


@pytest.fixture(scope="module")
def standby(primary: Server, servers_folder: Path) -> Iterator[Server]:
    with follow(primary, servers_folder / "lagging") as one:
        yield one


def test_a_load_waits_for_a_standby(primary: Server, standby: Server, inrush: Inrush) -> None:
    database = primary.create_database("lagging")
    write_rows(inrush, 12_000, "x" * 990)
    # At this rate the load still runs when the standby is checked.
    path = job(inrush, database, replica_lag_bytes_max=2 * MIB, rate_bytes_max=4 * MIB)
    with standby.connect() as replay:
        replay.execute(b"SELECT pg_wal_replay_pause()")
        with inrush.start("run", path) as running:
            pauses.wait_for_note(inrush, running, "paused: standby")
            behind = database.value(
                "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::int8 "
                "FROM pg_stat_replication"
            )
            replay.execute(b"SELECT pg_wal_replay_resume()")
            outcome = running.wait().expect(CLEAN)
    assert behind > 2 * MIB
    assert "resumed: no standby" in pauses.notes(inrush)
    assert any("replica_lag_bytes_max" in note for note in outcome.report["notes"])
    assert database.value("SELECT count(*) FROM loaded") == 12_000


def test_a_load_waits_for_a_slot(primary: Server, inrush: Inrush) -> None:
    database = primary.create_database("slot")
    write_rows(inrush, 12_000, "x" * 990)
    # At this rate the load still runs when the slot is checked.
    path = job(inrush, database, slot_bytes_max=2 * MIB, rate_bytes_max=4 * MIB)
    database.value("SELECT pg_create_physical_replication_slot('forgotten', true)::text")
    with inrush.start("run", path) as running:
        pauses.wait_for_note(inrush, running, "paused: replication slot forgotten")
        database.value("SELECT pg_drop_replication_slot('forgotten')::text")
        running.wait().expect(CLEAN)
    assert database.value("SELECT count(*) FROM loaded") == 12_000


def test_who_cannot_see_standbys_is_told(primary: Server, inrush: Inrush) -> None:
    database = primary.create_database("blind")
    database.execute("CREATE ROLE blind LOGIN; GRANT CREATE ON DATABASE blind TO blind")
    database.execute("GRANT CREATE ON SCHEMA public TO blind")
    write_rows(inrush, 10)
    path = job(inrush, database, replica_lag_bytes_max=MIB)
    url = primary.url("blind", user="blind")
    words = ("run", path, "--connection", f"target={url}")
    inrush(*words).expect(FAILED, "pg_monitor", "blind")
    database.execute("GRANT pg_monitor TO blind")
    inrush(*words).expect(CLEAN)


def test_a_disk_that_is_too_small(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    path = inrush.write("rows.tbl", "1|one|\n")
    free = os.statvfs(database.server.data)
    # The file is sparse: its size is far larger than the free space of the disk.
    os.truncate(path, 4 * free.f_bavail * free.f_frsize)
    before = state(database)
    checked = inrush("run", job(inrush, database)).expect(FAILED, "disk", "disk_check")
    assert str(database.server.data) in checked.said
    assert state(database) == before
    plan = inrush("check", job(inrush, database, disk_check=False)).expect(CLEAN, "Disk")
    assert str(database.server.data) in plan.output


# Files of a stopped run that someone with write access to the folder of runs might replace by
# links.
PLACES = [
    "log.jsonl",
    "report.json",
    "report.json.draft",
    "report.html",
    "report.html.draft",
    "rejects",
    "rejects/loaded.1.rejects",
    "",
]


@pytest.mark.parametrize("place", PLACES)
def test_links_are_not_followed(newest_database: Database, inrush: Inrush, place: str) -> None:
    inrush.write("rows.tbl", "1|one|\nx|two|\n3|three|\n")
    text = package(
        newest_database.url, flow("loaded", "rows.tbl", columns=COLUMNS, rejects={"rows_max": 1})
    )
    path = inrush.write("package.toml", text)
    inrush("run", path, environment={"INRUSH_FAULT": "in_copy"})
    (folder,) = inrush.folder.glob("runs/*")
    victim = inrush.folder / "victim"
    own = folder / place
    if place in ("rejects", ""):
        victim.mkdir()
        own.rename(inrush.folder / "moved")
    else:
        victim.write_text("untouched")
        own.unlink(missing_ok=True)
    own.symlink_to(victim)
    outcome = inrush("run", path)
    assert outcome.status in (3, FAILED), outcome.said
    if victim.is_dir():
        assert list(victim.rglob("*")) == []
        outcome.expect(FAILED, "symbolic link")
    else:
        assert victim.read_text() == "untouched"
    own.unlink(missing_ok=True)
    # The result does not depend on the run's folder: the rows are either loaded already or loaded
    # now.
    if outcome.status == FAILED:
        again = inrush("run", path)
        assert again.status == 3 or "already loaded" in again.said, again.said
    assert newest_database.value("SELECT array_agg(id ORDER BY id) FROM loaded") == [1, 3]


def test_run_folders_are_for_their_owner_alone(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.tbl", "1|one|\nx|two|\n")
    text = package(
        newest_database.url, flow("loaded", "rows.tbl", columns=COLUMNS, rejects={"rows_max": 1})
    )
    inrush("run", inrush.write("package.toml", text)).expect(3)
    (folder,) = inrush.folder.glob("runs/*")
    modes = {path: path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}
    assert set(modes.values()) <= {0o700, 0o600}, modes


def test_what_is_loaded_outlives_a_crash_whatever_the_role_does_without(
    start_server: StartServer, inrush: Inrush
) -> None:
    """A role's synchronous_commit = off, which may lose a COMMIT, has no effect."""
    server = start_server(18, servers.DURABLE | {"wal_writer_delay": "10s"})
    database = server.create_database("crash")
    database.execute("ALTER DATABASE crash SET synchronous_commit = off")
    write_rows(inrush, 1_000)
    path = job(inrush, database)
    inrush("run", path).expect(CLEAN)
    server.restart("immediate")
    assert database.value("SELECT count(*) FROM loaded") == 1_000
    inrush("run", path).expect(CLEAN, "already loaded")
    server.stop()


def test_foreign_keys_are_checked_whatever_the_role_says(
    database: Database, inrush: Inrush
) -> None:
    """A role's session_replication_role = replica would switch off keys and triggers."""
    role = f"replica_{database.name}"
    database.execute(
        "CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents VALUES (0), (1);"
        "CREATE TABLE loaded (id int REFERENCES parents, note text);"
        f"CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET session_replication_role = replica;"
        f"GRANT ALL ON SCHEMA public TO {role}; GRANT CREATE ON DATABASE {database.name} TO {role};"
        f"ALTER TABLE loaded OWNER TO {role}; ALTER TABLE parents OWNER TO {role};"
        f"ALTER DATABASE {database.name} SET session_replication_role = replica"
    )
    write_rows(inrush, 3)

    def load(url: str) -> Outcome:
        settings = flow("loaded", "rows.tbl", mode="append", rejects={"rows_max": 5})
        return inrush("run", inrush.write("package.toml", package(url, settings)))

    url = database.url.replace("tester@", f"{role}@")
    load(url).expect(FAILED, "session_replication_role = replica", f"ALTER ROLE {role} RESET")
    assert database.value("SELECT count(*) FROM loaded") == 0
    # A superuser may reset it, so a superuser's load does so.
    outcome = load(database.url).expect(LOADED_WITH_REJECTS)
    assert [one["code"] for one in outcome.rejects()] == ["foreign_key_missing"]
    assert database.rows("SELECT id FROM loaded ORDER BY id") == [(0,), (1,)]
