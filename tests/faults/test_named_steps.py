"""After a fault at a chosen moment, the same command loads exactly the right rows, never a part.

There are two methods. With `INRUSH_FAULT` the command kills itself at a named step. With a gate in
the server (see pauses.py) a load is paused while the test acts.
"""

from __future__ import annotations

import gzip
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import StartServer
from harness import kill_points, pauses, servers
from harness.command import CLEAN, FAILED, INTERRUPTED, USAGE, Inrush
from harness.contents import assert_same_rows, staging_tables
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.watcher import Watcher

PARTS = 4
ROWS_OF_A_PART = 2_000

KILL_POINTS = [
    *kill_points.ALL,
    "in_copy:3",
    "before_unit_commit:3",
    "unit_commit_sent:3",
    "after_unit_commit:3",
    "before_unit_commit:4",
    "after_unit_commit:4",
]


class Job:
    """A load of four parts into a partitioned table, beside a table with the expected rows.

    The target is new, or with `held` it exists and has a gate (see pauses.py).
    """

    def __init__(self, database: Database, inrush: Inrush, *, held: bool = False) -> None:
        self.database = database
        self.inrush = inrush
        gate_type = "held" if held else "int"
        columns = f"id int not null, k int not null, gate {gate_type}, note text"
        if held:
            database.execute(pauses.HELD_DOMAIN)
            database.execute(f"CREATE TABLE loaded ({columns}) PARTITION BY RANGE (k)")
        database.execute(f"CREATE TABLE expected ({columns})")
        for part in range(PARTS):
            lines = []
            for row in range(ROWS_OF_A_PART):
                number = part * ROWS_OF_A_PART + row
                # The last row of the last part waits at the gate, if there is one.
                last = part == PARTS - 1 and row == ROWS_OF_A_PART - 1
                lines.append(f"{number}|{number}|{-1 if last else 1}|note {number}|")
            file = inrush.write(f"rows.tbl.{part}", "\n".join(lines) + "\n")
            plain = inrush.write("plain", file.read_text().replace("|\n", "\n"))
            database.psql(f"\\copy expected FROM '{plain}' (DELIMITER '|')")
        self.columns = [column.strip() for column in columns.split(",")]
        self.write_package()
        self.watcher = Watcher(database, "loaded")
        self.full = Watcher(database, "expected").now()
        assert self.full is not None

    def write_package(self, *, lock_timeout_ms: int = 5000) -> None:
        text = package(
            self.database.url,
            flow("loaded", "rows.tbl.*", columns=self.columns, partition_by="k"),
            lock_timeout_ms=lock_timeout_ms,
        )
        self.package = self.inrush.write("package.toml", text)

    def assert_done(self) -> None:
        assert_same_rows(self.database, "loaded", "expected", "id")
        assert self.full is not None
        self.watcher.assert_all_or_nothing(self.full)

    def assert_nothing(self) -> None:
        assert self.watcher.now() in (None, (0, 0))


@pytest.mark.parametrize("point", KILL_POINTS)
def test_killed_and_run_again(database: Database, inrush: Inrush, point: str) -> None:
    job = Job(database, inrush)
    with job.watcher:
        died = inrush("run", job.package, environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
        after = job.watcher.now()
        if point in kill_points.SWITCHED:
            assert after == job.full
        elif point != kill_points.SWITCHED_OR_NOT:
            assert after in (None, (0, 0))
        inrush("run", job.package).expect(CLEAN)
    job.assert_done()
    assert staging_tables(job.database) == []


@pytest.mark.parametrize("point", KILL_POINTS)
def test_killed_twice_and_run_again(newest_database: Database, inrush: Inrush, point: str) -> None:
    job = Job(newest_database, inrush)
    with job.watcher:
        for place in (point, "before_switch_commit"):
            inrush("run", job.package, environment={"INRUSH_FAULT": place})
        inrush("run", job.package).expect(CLEAN)
    job.assert_done()


def test_finished_units_are_kept(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush)
    inrush("run", job.package, environment={"INRUSH_FAULT": "before_switch_commit"})
    # All units are committed: the files are no longer needed, but must be unchanged.
    report = inrush("run", job.package).expect(CLEAN).report
    assert report["account"]["rows_loaded"] == PARTS * ROWS_OF_A_PART
    assert sum(1 for unit in report["units"] if unit["kept"]) == PARTS
    job.assert_done()


def test_the_same_command_after_success_loads_nothing(database: Database, inrush: Inrush) -> None:
    job = Job(database, inrush)
    first = inrush("run", job.package).expect(CLEAN)
    again = inrush("run", job.package).expect(CLEAN, "already loaded")
    assert first.report["run"] in again.said
    job.assert_done()


def test_files_that_changed_after_a_stop_are_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    """Otherwise the table would have a mixture of the old and the new file."""
    job = Job(newest_database, inrush)
    inrush("run", job.package, environment={"INRUSH_FAULT": "before_switch_commit"})
    path = inrush.folder / "rows.tbl.0"
    path.write_text(path.read_text().replace("note 7|", "NOTE 7|"))
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))
    inrush("run", job.package).expect(FAILED, "rows.tbl.0 changed since", "--again")
    job.assert_nothing()
    report = inrush("run", job.package, "--again").expect(CLEAN).report
    assert sum(1 for unit in report["units"] if unit["kept"]) == PARTS - 1
    assert newest_database.value("SELECT note FROM loaded WHERE id = 7") == "NOTE 7"
    assert newest_database.value("SELECT count(*) FROM loaded") == PARTS * ROWS_OF_A_PART


def rewritten(path: Path, old: str, new: str) -> None:
    """Write other text of the same length, and restore the file's time."""
    status = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


def test_other_text_of_the_same_size_and_time_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush)
    inrush("run", job.package, environment={"INRUSH_FAULT": "before_switch_commit"})
    rewritten(inrush.folder / "rows.tbl.0", "note 7|", "NOTE 7|")
    inrush("check", job.package).expect(FAILED, "rows.tbl.0 changed since")
    inrush("run", job.package).expect(FAILED, "rows.tbl.0 changed since", "but its text changed")
    job.assert_nothing()
    report = inrush("run", job.package, "--again").expect(CLEAN).report
    assert sum(1 for unit in report["units"] if unit["kept"]) == PARTS - 1
    assert newest_database.value("SELECT note FROM loaded WHERE id = 7") == "NOTE 7"
    assert newest_database.value("SELECT count(*) FROM loaded") == PARTS * ROWS_OF_A_PART


def test_a_file_that_was_only_touched_is_the_same(
    newest_database: Database, inrush: Inrush
) -> None:
    """A file that was copied back counts as the same too; the ledger then has the new times."""
    job = Job(newest_database, inrush)
    inrush("run", job.package, environment={"INRUSH_FAULT": "before_switch_commit"})
    for number in range(2):
        path = inrush.folder / f"rows.tbl.{number}"
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))
    path = inrush.folder / "rows.tbl.2"
    copy = inrush.write("copy", path.read_bytes())
    copy.replace(path)
    (inrush.folder / "rows.tbl.3").chmod(0o600)
    report = inrush("run", job.package).expect(CLEAN).report
    assert sum(1 for unit in report["units"] if unit["kept"]) == PARTS
    job.assert_done()
    inrush("run", job.package).expect(CLEAN, "already loaded")


# Forms of a large file that is loaded in parts: its name, its format, and its text as bytes.
LARGE: dict[str, tuple[str, dict[str, Value], Callable[[str], bytes]]] = {
    "ranges": ("rows.csv", {}, str.encode),
    "compressed": ("rows.csv.gz", {}, lambda text: gzip.compress(text.encode(), 1)),
    "translated": ("rows.csv", {"encoding": "utf-16le"}, lambda text: text.encode("utf-16le")),
}


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("large", LARGE.values(), ids=list(LARGE))
def test_the_text_of_a_part_of_a_file(
    newest_database: Database,
    inrush: Inrush,
    large: tuple[str, dict[str, Value], Callable[[str], bytes]],
    atomic: bool,
) -> None:
    """If part of a file is loaded, the run resumes as long as only the file's time has changed."""
    name, form, encode = large
    count = 75_000
    database = newest_database
    database.execute("CREATE TABLE loaded (id int, note text)")
    filler = random.Random(5).randbytes(500).hex()  # noqa: S311
    rows = [f"{n},{filler} {n}\n" for n in range(count)]
    text = "id,note\n" + "".join(rows)
    path = inrush.write(name, encode(text))
    settings = flow("loaded", name, mode="append", format=form, atomic=atomic)
    file = inrush.write("package.toml", package(database.url, settings))
    died = inrush("run", file, environment={"INRUSH_FAULT": "after_unit_commit:1"})
    assert died.status == -signal.SIGKILL, died.said
    assert database.value("SELECT count(*) FROM inrush.shard") > 0
    status = path.stat()
    stored = path.read_bytes()
    path.write_bytes(encode(text.replace(filler, filler[::-1])))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert name.endswith("gz") or path.stat().st_size == status.st_size
    said = "changed since" if atomic else "are not removed"
    inrush("run", file).expect(FAILED, name, said)
    path.write_bytes(stored)
    inrush("run", file).expect(CLEAN)
    assert database.rows("SELECT count(*), count(DISTINCT id), sum(id) FROM loaded") == [
        (count, count, count * (count - 1) // 2)
    ]
    assert database.value(f"SELECT count(*) FROM loaded WHERE note <> '{filler} ' || id") == 0
    inrush("run", file).expect(CLEAN, "already loaded")


def test_a_file_that_gets_other_text_while_it_is_loaded(
    newest_database: Database, inrush: Inrush
) -> None:
    """The file keeps its size and its time; only its text differs."""
    job = Job(newest_database, inrush)
    for old, new, ends in (("note 7|", "NOTE 7|", FAILED), ("", "", CLEAN)):
        with inrush.stopped_by("stop:before_switch", "run", job.package) as running:
            rewritten(inrush.folder / "rows.tbl.0", old, new)
            outcome = running.resume().wait().expect(ends)
        if ends == FAILED:
            assert "rows.tbl.0" in outcome.said
            job.assert_nothing()
            rewritten(inrush.folder / "rows.tbl.0", new, old)
    job.assert_done()


def test_the_holder_of_the_lock_is_named(newest_database: Database, inrush: Inrush) -> None:
    """A finished run, whose process is gone, is not named."""
    job = Job(newest_database, inrush)
    done = inrush("run", job.package).expect(CLEAN).report["run"]
    key = newest_database.value("SELECT run_key FROM inrush.run")
    newest_database.execute("DROP TABLE loaded")
    with newest_database.connect() as holder:
        process = holder.info.backend_pid
        holder.execute("SET application_name = 'inrush plan'")
        holder.execute(f"SELECT pg_advisory_lock(hashtextextended('inrush run {key}', 0))".encode())
        outcome = inrush("run", job.package)
        outcome.expect(FAILED, "in progress", f"backend {process}", '"inrush plan"')
        assert done not in outcome.said


def test_a_ledger_of_another_version_is_refused(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush)
    inrush("run", job.package).expect(CLEAN)
    newest_database.execute("COMMENT ON SCHEMA inrush IS 'The ledger of Inrush, version 3: x'")
    for words in (("run", job.package), ("status", "--to", newest_database.url)):
        inrush(*words).expect(FAILED, "has version 3", "ledger_schema")


def test_a_changed_file_is_begun_anew_after_cleanup(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush)
    inrush("run", job.package, environment={"INRUSH_FAULT": "before_switch_commit"})
    path = inrush.folder / "rows.tbl.0"
    path.write_text(path.read_text() + f"{10**6}|1|1|one more|\n")
    inrush("run", job.package).expect(FAILED, "changed since")
    inrush("cleanup", "--to", newest_database.url).expect(CLEAN)
    inrush("run", job.package).expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM loaded") == PARTS * ROWS_OF_A_PART + 1


def test_each_range_has_a_hash_of_its_text(newest_database: Database, inrush: Inrush) -> None:
    """The same text has the same hash in every run, and another text has another hash."""
    hashes = []
    for name in ("one", "two"):
        newest_database.execute(f"CREATE TABLE {name} (id int)")
        inrush.write("rows.csv", "id\n" + "".join(f"{n}\n" for n in range(1000)))
        inrush.write("other.csv", "id\n" + "".join(f"{n}\n" for n in range(1001)))
        for file in ("rows.csv", "other.csv"):
            words = ("--to", newest_database.url, "--columns", "id int", "--mode", "append")
            inrush("load", file, *words, "--table", name).expect(CLEAN)
        hashes.append(
            newest_database.rows(
                "SELECT content_hash FROM inrush.shard JOIN inrush.unit USING (run_id, unit_key) "
                f"WHERE target LIKE '%{name}%' ORDER BY file"
            )
        )
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 2
    assert all(hash[0].startswith("xxh3:") for hash in hashes[0])


def test_killed_inside_a_copy(database: Database, inrush: Inrush) -> None:
    job = Job(database, inrush, held=True)
    with job.watcher:
        with pauses.closed_gate(database), inrush.start("run", job.package) as running:
            pauses.wait_until_held(database)
            running.send(signal.SIGKILL)
            running.wait()
        job.assert_nothing()
        inrush("run", job.package).expect(CLEAN)
    job.assert_done()
    assert staging_tables(job.database) == []


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_cleanly(
    newest_database: Database, inrush: Inrush, which: signal.Signals
) -> None:
    job = Job(newest_database, inrush, held=True)
    with job.watcher:
        with pauses.closed_gate(newest_database), inrush.start("run", job.package) as running:
            pauses.wait_until_held(newest_database)
            running.send(which)
            outcome = running.wait()
        outcome.expect(INTERRUPTED)
        # The command has ended its own sessions, and says how to resume.
        pauses.wait_until(newest_database, pauses.sessions_of_inrush(newest_database))
        job.assert_nothing()
        inrush("run", job.package).expect(CLEAN)
    job.assert_done()


def test_a_second_signal_stops_at_once(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, held=True)
    with pauses.closed_gate(newest_database), inrush.start("run", job.package) as running:
        pauses.wait_until_held(newest_database)
        running.send(signal.SIGINT)
        running.send(signal.SIGTERM)
        outcome = running.wait()
    assert outcome.status in (INTERRUPTED, -signal.SIGTERM, -signal.SIGINT), outcome.said
    inrush("run", job.package).expect(CLEAN)
    job.assert_done()


def test_after_a_pipe_nothing_is_promised_that_a_pipe_cannot_do(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute("CREATE TABLE people (id int, note text)")
    pipe = inrush.folder / "feed.csv"
    os.mkfifo(pipe)
    words = ("load", pipe.name, "--to", newest_database.url, "--table", "people")
    for signal_count in (1, 2):
        with inrush.start(*words) as running, pipe.open("wb") as writer:
            # The pipe has more than the planner reads, and stays open, so the load waits for the
            # rest.
            writer.write(b"id,note\n" + b"1,x\n" * (1 << 20))
            for _ in range(signal_count):
                running.send(signal.SIGINT)
            outcome = running.wait()
        assert outcome.status in (INTERRUPTED, -signal.SIGINT), outcome.said
        assert "the data read from a pipe is lost" in outcome.errors or signal_count == 2
        assert "resumes from" not in outcome.errors
    assert newest_database.value("SELECT count(*) FROM people") == 0


def test_a_second_run_at_the_same_time_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush, held=True)
    with job.watcher, inrush.start("run", job.package) as running:
        with pauses.closed_gate(newest_database):
            pauses.wait_until_held(newest_database)
            inrush("run", job.package).expect(FAILED, "in progress")
        running.wait().expect(CLEAN)
    job.assert_done()


def test_a_run_that_was_taken_over_changes_nothing_more(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush, held=True)
    with job.watcher, inrush.start("run", job.package) as first:
        with pauses.closed_gate(newest_database):
            pauses.wait_until_held(newest_database)
            # The process is suspended, and its sessions end: for the server it is dead.
            first.send(signal.SIGSTOP)
            newest_database.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'inrush%'"
            )
        inrush("run", job.package).expect(CLEAN)
        first.resume().wait().expect(FAILED)
    job.assert_done()


def test_the_switch_waits_for_its_locks_and_gives_way(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush)
    newest_database.execute("CREATE TABLE loaded (LIKE expected) PARTITION BY RANGE (k)")
    job.write_package(lock_timeout_ms=100)
    with pauses.locked_target(newest_database, "loaded"):
        inrush("run", job.package).expect(FAILED, "lock")
    job.assert_nothing()
    inrush("run", job.package).expect(CLEAN)
    job.assert_done()


def test_killed_while_the_switch_waits(database: Database, inrush: Inrush) -> None:
    job = Job(database, inrush)
    database.execute("CREATE TABLE loaded (LIKE expected) PARTITION BY RANGE (k)")
    job.write_package(lock_timeout_ms=60_000)
    with job.watcher:
        locked = pauses.locked_target(database, "loaded")
        with locked, inrush.start("run", job.package) as running:
            pauses.wait_until_held(database)
            running.send(signal.SIGKILL)
            running.wait()
        inrush("run", job.package).expect(CLEAN)
    job.assert_done()


@pytest.mark.parametrize("version", servers.VERSIONS)
def test_the_server_crashes_in_the_middle(
    start_server: StartServer, inrush: Inrush, version: int
) -> None:
    server = start_server(version, servers.DURABLE)
    database = server.create_database("crash")
    job = Job(database, inrush, held=True)
    with job.watcher:
        gate = database.connect()
        gate.execute(f"SELECT pg_advisory_lock({pauses.GATE})".encode())
        with inrush.start("run", job.package) as running:
            pauses.wait_until_held(database)
            server.restart("immediate")
            running.wait().expect(FAILED)
        gate.close()
        job.assert_nothing()
        inrush("run", job.package).expect(CLEAN)
    job.assert_done()
    # Rows that are reported as committed survive another crash.
    server.restart("immediate")
    job.assert_done()
    server.stop()


def test_a_session_that_is_ended_by_the_administrator(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush, held=True)
    with inrush.start("run", job.package) as running:
        with pauses.closed_gate(newest_database):
            pauses.wait_until_held(newest_database)
            newest_database.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        running.wait().expect(FAILED)
    job.assert_nothing()
    inrush("run", job.package).expect(CLEAN)
    job.assert_done()


def test_status_and_cleanup_of_a_stopped_run(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush)
    inrush("run", job.package, environment={"INRUSH_FAULT": "before_switch_commit"})
    words = ("--to", newest_database.url)
    inrush("status", *words).expect(CLEAN, "loaded")
    inrush("cleanup", *words).expect(CLEAN)
    assert staging_tables(job.database) == []
    job.assert_nothing()
    # Removed rows are loaded again.
    inrush("run", job.package).expect(CLEAN)
    job.assert_done()


def test_a_fault_that_is_not_known_is_refused(inrush: Inrush) -> None:
    words = ("load", "rows.csv", "--to", "embedded", "--table", "t")
    inrush(*words, environment={"INRUSH_FAULT": "nowhere"}).expect(USAGE, "nowhere", "in_copy")
