"""If the server may refuse rows of a pipe, the pipe's data is kept until the load is done."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.command import REJECT_LIMIT, Inrush, Outcome
from harness.contents import state
from harness.packages import Value, flow, package
from harness.serial import (
    PARENTS_AND_GUARD,
    SerialJob,
    insert,
    text_of,
)
from harness.servers import Database

HEADER = "id,k,parent,amount,note"
INSERT = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int, %s::int, %s)"
TABLE = """
CREATE TABLE {name} (
    id int NOT NULL,
    k int NOT NULL,
    parent int CONSTRAINT "its parent" REFERENCES parents,
    amount int CHECK (amount > 0),
    note text,
    PRIMARY KEY (id, k)
) {partitioning};
"""
HASH = """PARTITION BY HASH (k);
CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"""
# The way to load the rows, and whether their table has a row trigger.
KINDS: dict[str, tuple[str, dict[str, Value], bool]] = {
    "copied": ("", {}, True),
    "merged": ("", {"mode": "upsert", "key": ["id", "k"]}, True),
    "attached": ("PARTITION BY RANGE (k)", {"partition_by": "k", "bounds": [0, 10]}, False),
    "routed": (HASH, {"routing": True}, True),
}
# Few rows, because each costs an INSERT, but long ones: the pipe has four ranges of 4 MiB.
ROWS = 1000
NOTE_BYTES = 13_000
RANGE_BYTES = 4 << 20


@contextmanager
def writer(path: Path, text: bytes) -> Iterator[None]:
    """Write into a pipe as long as it has a reader."""

    def write() -> None:
        try:
            with path.open("wb") as pipe:
                pipe.write(text)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        # Opening a pipe for writing waits for its reader.
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        thread.join()


class Job(SerialJob):
    """A pipe, and the result of a serial load."""

    def __init__(self, database: Database, inrush: Inrush, kind: str, seed: int = 1) -> None:
        super().__init__(database, inrush)
        partitioning, self.settings, has_trigger = KINDS[kind]
        database.execute(PARENTS_AND_GUARD)
        for name, form in (("loaded", partitioning), ("expected", "")):
            database.execute(TABLE.format(name=name, partitioning=form.format(name=name)))
            if has_trigger:
                database.execute(
                    f"CREATE TRIGGER guard BEFORE INSERT ON {name} "
                    "FOR EACH ROW EXECUTE FUNCTION guard()"
                )
        chance = random.Random(seed)  # noqa: S311
        rows = [self.row(number, chance, has_trigger) for number in range(ROWS)]
        self.text = text_of(HEADER, rows)
        os.mkfifo(inrush.folder / "pipe.csv")
        self.rows_read = len(rows)
        self.expected = insert(database, INSERT, {"pipe.csv": rows})
        assert {"foreign_key_missing", "check_violated", "syntax"} <= {
            one.code for one in self.expected
        }
        # The feed has a fourth range, and each of the first three has rows that are refused.
        assert len(self.text) > 3 * RANGE_BYTES
        starts = self.line_starts()
        assert {starts[one.line - 1] // RANGE_BYTES for one in self.expected} >= {0, 1, 2}

    def line_starts(self) -> list[int]:
        """Return the offsets at which the lines begin."""
        lengths = map(len, self.text.splitlines(keepends=True))
        return list(itertools.accumulate(lengths, initial=0))

    def row(self, number: int, chance: random.Random, has_trigger: bool) -> list[str]:
        note = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=50)) * (NOTE_BYTES // 50)
        fields = [str(number), str(number % 7), "1", "1", note]
        match chance.randrange(100):
            case 0:
                fields[2] = "51"
            case 1:
                fields[3] = "0"
            case 2:
                fields[0] = "x"
            case 3 if has_trigger:
                fields[4] = "no"
            case 4:
                fields[0], fields[1] = "0", "0"
        return fields

    def package(self, rows_max: int = 10_000, **run: Any) -> None:
        settings: dict[str, Value] = {"mode": "append", "verify": "rows"}
        settings |= {"rejects": {"rows_max": rows_max}} | self.settings
        text = package(self.database.url, flow("loaded", "pipe.csv", **settings), **run)
        self.inrush.write("package.toml", text)

    def run(self, fault: str | None = None, text: bytes | None = None) -> Outcome:
        with writer(self.inrush.folder / "pipe.csv", text or self.text.encode()):
            return super().run(fault)

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        lines = self.text.splitlines(keepends=True)
        starts = self.line_starts()
        for one in outcome.rejects():
            assert one["byte_offset"] == starts[one["line"] - 1]
        kept = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
        rows = [line for path in kept for line in path.read_text().splitlines(keepends=True)[1:]]
        assert sorted(rows) == sorted(lines[one.line - 1] for one in self.expected)
        # The kept data of the pipe is gone.
        names = {path.name for path in outcome.run_folders()[-1].iterdir()}
        assert names <= {"log.jsonl", "package.toml", "rejects", "report.html", "report.json"}


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_as_a_serial_load(database: Database, inrush: Inrush, kind: str, streams: int) -> None:
    job = Job(database, inrush, kind, streams)
    job.package(streams=streams)
    job.assert_done(job.run())


@pytest.mark.parametrize("streams", [1, 3])
def test_compressed(newest_database: Database, inrush: Inrush, streams: int) -> None:
    job = Job(newest_database, inrush, "attached")
    job.package(streams=streams)
    job.assert_done(job.run(text=gzip.compress(job.text.encode(), 1)))


@pytest.mark.parametrize("kind", ["copied", "attached"])
def test_the_limit_holds(newest_database: Database, inrush: Inrush, kind: str) -> None:
    job = Job(newest_database, inrush, kind)
    before = state(newest_database)
    job.package(rows_max=len(job.expected) - 1)
    job.run().expect(REJECT_LIMIT, str(len(job.expected) - 1))
    assert state(newest_database) == before
    job.package(rows_max=len(job.expected))
    job.assert_done(job.run())


@pytest.mark.parametrize("kind", ["copied", "attached"])
def test_without_rejects_the_first_one_ends_it(
    newest_database: Database, inrush: Inrush, kind: str
) -> None:
    job = Job(newest_database, inrush, kind)
    before = state(newest_database)
    job.package(rows_max=0)
    checked = f"{HEADER}\n1,1,1,1,x\n2,1,51,1,x\n"
    job.run(text=checked.encode()).expect(
        REJECT_LIMIT, "its parent", "(parent)=(51)", "pipe.csv is a pipe", "accept rejects"
    )
    assert state(newest_database) == before


@pytest.mark.parametrize(
    "point",
    ["in_copy:2", "in_careful_copy:2", "before_unit_commit", "after_unit_commit",
     "before_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["copied", "attached"])
def test_killed_and_run_again(
    newest_database: Database, inrush: Inrush, point: str, kind: str
) -> None:
    job = Job(newest_database, inrush, kind)
    job.package()
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    (folder,) = inrush.folder.glob("runs/*/")
    assert {path.name for path in folder.iterdir()} <= {"log.jsonl", "package.toml", "rejects"}
    job.assert_done(job.run())


def test_the_plan_says_so(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, "attached")
    for rows_max, word in ((1, "kept in the run's folder"), (0, "ends the load")):
        job.package(rows_max=rows_max)
        with writer(inrush.folder / "pipe.csv", job.text.encode()):
            inrush("check", "package.toml").expect(0, "pipes: ", word)
