"""Rows that the target refuses while they are loaded directly into it (`atomic = false`)."""

from __future__ import annotations

import gzip
import itertools
import random
import signal
from collections.abc import Sequence

import pytest

from harness.command import LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.contents import Contents, contents
from harness.packages import Value, flow, package
from harness.pauses import GATE, closed_gate, wait_until
from harness.serial import (
    PARENTS_AND_GUARD,
    Refused,
    SerialJob,
    assert_account,
    assert_rejects,
    insert,
    text_of,
)
from harness.servers import Database

HEADER = "id,parent,amount,note"
INSERT = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int, %s)"
TABLE = """
CREATE TABLE {name} (
    id int PRIMARY KEY,
    parent int REFERENCES parents {later},
    amount int CHECK (amount > 0),
    note text
) {partitioning};
CREATE TRIGGER guard BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION guard();
INSERT INTO {name} VALUES (10, 1, 1, 'old')
"""
HASH = """PARTITION BY HASH (id);
CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"""


class Job(SerialJob):
    """Files for a target that already has a row."""

    def __init__(
        self,
        database: Database,
        inrush: Inrush,
        *,
        seed: int,
        files: int = 3,
        rows: int = 200,
        filler: int = 10,
        duplicates: str = "in a file",
        partitioning: str = "",
        later: str = "",
    ) -> None:
        super().__init__(database, inrush)
        self.rows_read = files * rows
        self.chance = random.Random(seed)  # noqa: S311
        database.execute(PARENTS_AND_GUARD)
        for name, deferred in (("loaded", later), ("expected", "")):
            database.execute(
                TABLE.format(name=name, later=deferred, partitioning=partitioning.format(name=name))
            )
        self.files = {
            f"rows.{number}.csv": [
                self.row(number * rows + row, rows, files, filler, duplicates)
                for row in range(rows)
            ]
            for number in range(files)
        }

    def row(self, number: int, rows: int, files: int, filler: int, duplicates: str) -> list[str]:
        # Random letters are made slowly, so long fillers repeat some.
        letters = self.chance.choices("abcdefghijklmnopqrstuvwxyz", k=min(filler, 50))
        note = "".join(letters) * max(filler // 50, 1)
        fields = [str(number + 100), "1", "1", note]
        match self.chance.randrange(30):
            case 0:
                fields[0] = "10"
            case 1 if duplicates == "in a file":
                fields[0] = str(number // rows * rows + self.chance.randrange(rows) + 100)
            case 1 if duplicates == "anywhere":
                fields[0] = str(self.chance.randrange(files * rows) + 100)
            case 2:
                fields[1] = "51"
            case 3:
                fields[2] = "0"
            case 4:
                fields[3] = "no"
            case 5:
                fields[0] = "x"
            case 6:
                fields[3] = "set"
        return fields

    def write(self, *, compressed: bool = False, rows_max: int = 10_000, **run: Value) -> None:
        for name, rows in self.files.items():
            text = text_of(HEADER, rows).encode()
            if compressed:
                self.inrush.write(f"{name}.gz", gzip.compress(text, 1))
            else:
                self.inrush.write(name, text)
        self.write_package("rows.*.csv*", rows_max, **run)

    def write_package(self, files: str, rows_max: int, **run: Value) -> None:
        settings: dict[str, Value] = {
            "mode": "append",
            "atomic": False,
            "rejects": {"rows_max": rows_max},
        }
        text = package(self.database.url, flow("loaded", files, **settings), name="test", **run)
        self.inrush.write("package.toml", text)

    def contents(self, table: str) -> Contents:
        return contents(self.database, f"SELECT * FROM {table} ORDER BY id")

    def serial(self, order: Sequence[str]) -> list[Refused]:
        self.database.execute("DELETE FROM expected WHERE id <> 10")
        return insert(self.database, INSERT, {name: self.files[name] for name in order})

    def assert_done(self, outcome: Outcome, suffix: str = "") -> None:
        """Fail unless the outcome is that of a serial load, whatever the order of the files."""
        outcome.expect(LOADED_WITH_REJECTS)
        expected = self.serial(list(self.files))
        named = [Refused(f"{r.file}{suffix}", r.line, r.code, r.said) for r in expected]
        assert_rejects(outcome, named)
        assert self.contents("loaded") == self.contents("expected")
        assert_account(outcome, self.rows_read, len(expected))

    def assert_done_in_some_order(self, outcome: Outcome) -> None:
        """Fail unless the outcome is that of a serial load in some order of the files."""
        outcome.expect(LOADED_WITH_REJECTS)
        loaded = self.contents("loaded")
        for order in itertools.permutations(self.files):
            expected = self.serial(order)
            if self.contents("expected") == loaded:
                assert_rejects(outcome, expected)
                assert_account(outcome, self.rows_read, len(expected))
                return
        pytest.fail("no order of the files leads there")


@pytest.mark.parametrize("partitioning", ["", HASH], ids=["plain", "hash"])
@pytest.mark.parametrize("streams", [1, 3])
def test_as_a_serial_load(
    database: Database, inrush: Inrush, streams: int, partitioning: str
) -> None:
    job = Job(database, inrush, seed=streams, partitioning=partitioning)
    job.write(streams=streams, batch_rows=64)
    outcome = job.run()
    job.assert_done(outcome)
    assert all(unit["straight"] and unit["careful"] for unit in outcome.report["units"])
    job.run().expect(outcome.status, "already loaded")
    assert job.contents("loaded") == job.contents("expected")


@pytest.mark.parametrize("streams", [1, 3])
def test_keys_of_other_files_in_the_order_of_their_commits(
    database: Database, inrush: Inrush, streams: int
) -> None:
    job = Job(database, inrush, seed=streams, duplicates="anywhere")
    job.write(streams=streams)
    job.assert_done_in_some_order(job.run())


def test_what_is_checked_at_commit(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=3, later="DEFERRABLE INITIALLY DEFERRED")
    # No row is refused before the COMMIT of the first file.
    job.files["rows.0.csv"] = [
        [str(number), "51" if number % 20 == 0 else "1", "1", "a note"]
        for number in range(1000, 1200)
    ]
    job.write(streams=1)
    job.assert_done(job.run())


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "in_careful_copy:9", "before_unit_commit", "before_unit_commit:2",
     "unit_commit_sent:2", "after_unit_commit:2", "before_switch_commit", "before_report"],
)  # fmt: skip
def test_killed_and_run_again(newest_database: Database, inrush: Inrush, point: str) -> None:
    job = Job(newest_database, inrush, seed=len(point))
    job.write(streams=2, batch_rows=64)
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        expected = job.serial(list(job.files))
        assert_rejects(outcome, expected)
        assert job.contents("loaded") == job.contents("expected")
    else:
        job.assert_done(outcome)


@pytest.mark.parametrize("streams", [1, 3])
def test_the_limit_holds_over_all_streams(
    newest_database: Database, inrush: Inrush, streams: int
) -> None:
    job = Job(newest_database, inrush, seed=5)
    limit = len(job.serial(list(job.files)))
    job.write(streams=streams, rows_max=limit - 1)
    outcome = job.run().expect(REJECT_LIMIT, f"{limit - 1}", "were written directly to")
    assert outcome.report["account"]["rows_rejected"] < limit
    # Committed rows stay and count; the rest is loaded once the limit of rejects is raised.
    job.write_package("rows.*.csv", limit, streams=streams)
    job.assert_done(job.run())


@pytest.mark.parametrize("fault", [None, "in_careful_copy:2", "after_unit_commit"])
def test_a_compressed_file_that_streams_share(
    newest_database: Database, inrush: Inrush, fault: str | None
) -> None:
    # The feed has four ranges of 4 MiB, nearly all with rows that are refused. The rows are long
    # instead of many, because each row that is refused is slow.
    job = Job(newest_database, inrush, seed=7, files=1, rows=1000, filler=13_000, duplicates="none")
    job.write(compressed=True, streams=3)
    if fault:
        died = job.run(fault)
        assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    print(outcome.said)
    job.assert_done(outcome, ".gz")


def test_files_that_wait_for_each_other(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=8)
    newest_database.execute(
        f"""
        CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.note = 'gate' THEN
                PERFORM pg_advisory_lock_shared({GATE});
                PERFORM pg_advisory_unlock_shared({GATE});
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER gate BEFORE INSERT ON loaded FOR EACH ROW EXECUTE FUNCTION pass_gate()
        """
    )
    # The last row of each file has the key of the other file's first row.
    job.files = {
        "rows.0.csv": [["1", "1", "1", "a"], ["101", "1", "1", "gate"], ["2", "1", "1", "b"]],
        "rows.1.csv": [["2", "1", "1", "c"], ["102", "1", "1", "gate"], ["1", "1", "1", "d"]],
    }
    job.rows_read = 6
    job.write(streams=2)
    with closed_gate(newest_database):
        running = inrush.start("run", "package.toml")
        wait_until(
            newest_database,
            "SELECT count(*) = 2 FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event = 'advisory'",
        )
    with running:
        outcome = running.wait()
    (log,) = inrush.folder.glob("runs/*/log.jsonl")
    assert "deadlock" in log.read_text()
    job.assert_done_in_some_order(outcome)


def test_rejects_of_rows_that_went_straight_in_are_told_of(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    database.execute("CREATE TABLE t (id int, note text)")
    for file in range(3):
        inrush.write(f"rows.{file}.csv", "id,note\n1,a\nx,b\n2,c\n")
    settings = flow("t", "rows.*.csv", mode="append", atomic=False, rejects={"rows_max": 10})
    inrush.write("package.toml", package(database.url, settings, streams=1))
    inrush("run", "package.toml", environment={"INRUSH_FAULT": "after_unit_commit:1"})
    for path in inrush.folder.glob("runs/*/rejects/*"):
        path.unlink()
    outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS, "1 row that run")
    assert outcome.report["account"]["rows_rejected"] == 3
    (note,) = (note for note in outcome.report["notes"] if "1 row that run" in note)
    assert "the loaded rows of rows." in note
    assert 'stay in "public"."t" (atomic = false) and are not loaded again' in note
    assert database.value("SELECT count(*) FROM t") == 6
