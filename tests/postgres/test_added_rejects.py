"""Rows that partitions refuse, in a load that also adds partitions to its target."""

from __future__ import annotations

import random
import signal
from typing import Any

import pytest

from harness.command import REJECT_LIMIT, Inrush, Outcome
from harness.contents import assert_nothing_staged, state
from harness.packages import Value, flow, package
from harness.serial import SerialJob
from harness.servers import Database

HEADER = "k,id,parent,amount,note"
INSERT = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int, %s::int, %s)"
TARGET = """
CREATE TABLE {name} (
    k int NOT NULL,
    id int NOT NULL,
    parent int REFERENCES parents {later},
    amount int CHECK (amount > 0),
    note text,
    PRIMARY KEY (k, id)
) PARTITION BY RANGE (k);
CREATE TABLE {name}_low PARTITION OF {name} FOR VALUES FROM (0) TO (2);
CREATE TABLE {name}_2 PARTITION OF {name} FOR VALUES FROM (2) TO (3);
INSERT INTO {name} SELECT n % 3, n, 1, 1, 'old' FROM generate_series(1, 100) n
"""
FILES = 3
# Each row that is refused is slow. A file still has several batches of 64 rows.
ROWS = 150


class Job(SerialJob):
    """Files whose rows go to existing partitions and to added ones."""

    def __init__(
        self,
        database: Database,
        inrush: Inrush,
        seed: int,
        *,
        orphans: str = "anywhere",
        later: str = "",
    ) -> None:
        super().__init__(database, inrush)
        self.orphans = orphans
        self.orphan_keys: list[list[str]] = []
        chance = random.Random(seed)  # noqa: S311
        database.execute(
            "CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents VALUES (1)"
        )
        database.execute(TARGET.format(name="loaded", later=later))
        database.execute(TARGET.format(name="expected", later=""))
        database.execute("CREATE TABLE expected_3 PARTITION OF expected FOR VALUES FROM (3) TO (5)")
        files = {
            f"rows.{number}.csv": [self.row(chance) for _ in range(ROWS)] for number in range(FILES)
        }
        self.insert(HEADER, INSERT, files)
        codes = {"duplicate_key", "check_violated", "syntax", "outside_partition"}
        if orphans:
            codes.add("foreign_key_missing")
        assert {one.code for one in self.expected} == codes

    def row(self, chance: random.Random) -> list[str]:
        # Some keys are in the target already, some occur twice in the files.
        key = chance.randrange(60, FILES * ROWS * 6)
        fields = [str(key % 5), str(key), "1", "1", f"note {chance.randrange(3)}"]
        if key < 100:
            fields[0] = str(key % 3)
        match chance.randrange(30):
            case 0:
                fields[0] = "5"
            case 1 | 2 if self.orphans == "anywhere" or (self.orphans and key % 5 < 3):
                # Either fault could be the reason for the reject of a row with two faults.
                fields[1:3] = [str(100_000 + len(self.orphan_keys)), "51"]
                self.orphan_keys.append(fields[:2])
            case 3:
                fields[3] = "0"
            case 4:
                fields[1] = "x"
            case 5:
                fields[0], fields[1] = chance.choice([("2", "42"), ("3", "42")])
            case 6 if self.orphan_keys:
                # The first row with this key is refused, so this one is not.
                fields[:2] = self.orphan_keys[-1]
        return fields

    def package(self, rows_max: int = 10_000, **run: Any) -> None:
        settings: dict[str, Value] = {"mode": "append", "routing": True, "verify": "rows"}
        settings |= {
            "partition_by": "k",
            "bounds": [0, 2, 3, 4, 5],
            "rejects": {"rows_max": rows_max},
        }
        text = package(self.database.url, flow("loaded", "rows.*.csv", **settings), **run)
        self.inrush.write("package.toml", text)

    def assert_loaded(self, outcome: Outcome) -> None:
        super().assert_loaded(outcome)
        assert_nothing_staged(self.database)
        partitions = self.database.rows(
            "SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute "
            "WHERE attrelid IN (SELECT relid FROM pg_partition_tree('loaded')) "
            "AND attnum > 0 AND NOT attisdropped GROUP BY attrelid"
        )
        assert partitions == [(sorted(HEADER.split(",")),)] * 5


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("orphans", ["anywhere", "in old partitions", ""])
def test_as_a_serial_load(database: Database, inrush: Inrush, streams: int, orphans: str) -> None:
    job = Job(database, inrush, streams, orphans=orphans)
    job.package(streams=streams, batch_rows=64)
    outcome = job.run()
    job.assert_done(outcome)
    job.run().expect(outcome.status, "already loaded")


def test_what_is_checked_at_commit(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, 3, later="DEFERRABLE INITIALLY DEFERRED")
    job.package()
    job.assert_done(job.run())


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "before_unit_commit:2", "after_unit_commit:2", "in_switch",
     "before_switch_commit", "switch_commit_sent", "after_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize("streams", [1, 3])
def test_killed_and_run_again(
    newest_database: Database, inrush: Inrush, point: str, streams: int
) -> None:
    job = Job(newest_database, inrush, len(point))
    job.package(streams=streams)
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        job.assert_loaded(outcome)
    else:
        job.assert_done(outcome)


def test_the_limit_holds(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, 4)
    before = state(newest_database)
    job.package(rows_max=len(job.expected) - 1)
    job.run().expect(REJECT_LIMIT, str(len(job.expected) - 1))
    assert state(newest_database) == before
    job.package(rows_max=len(job.expected))
    job.assert_done(job.run())


def test_one_row_too_many_is_named(newest_database: Database, inrush: Inrush) -> None:
    Job(newest_database, inrush, 4)
    for number in range(FILES):
        inrush.write(f"rows.{number}.csv", f"{HEADER}\n{number + 2},900{number},1,1,x\n")
    inrush.write("rows.2.csv", f"{HEADER}\n4,9002,1,1,x\n2,50,1,1,there already\n3,9003,1,1,x\n")
    before = state(newest_database)
    settings: dict[str, Value] = {
        "mode": "append",
        "routing": True,
        "partition_by": "k",
        "bounds": [0, 2, 3, 4, 5],
    }
    text = package(newest_database.url, flow("loaded", "rows.*.csv", **settings))
    inrush.write("package.toml", text)
    inrush("run", "package.toml").expect(REJECT_LIMIT, "rows.2.csv:3", "(k, id)=(2, 50)")
    assert state(newest_database) == before
