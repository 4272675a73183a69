"""Rows that are routed and refused.

Some fit no partition, which only the server can find out. Others are refused by partitions of the
target, row by row.
"""

from __future__ import annotations

import random
import signal

import pytest

from harness.command import LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.contents import assert_nothing_staged, state
from harness.packages import flow, package
from harness.serial import (
    PARENTS_AND_GUARD,
    SerialJob,
)
from harness.servers import Database
from postgres.shapes import Shape, make, month

PLAIN = ["1", "1", "2024-01-15", "2024-01-15 12:00:00", "north", "1.00", "t", "x"]

# The shape of the target, and the fields that make each row bad.
STRAYS = {
    "two columns": (
        Shape(
            "RANGE (k, day)",
            "CREATE TABLE t_a PARTITION OF t "
            "FOR VALUES FROM (1, '2024-01-01') TO (2, '2024-01-01');",
        ),
        [{1: "0"}, {1: "2"}, {1: ""}],
    ),
    "an expression": (
        Shape(
            "LIST (upper(region))",
            "CREATE TABLE t_n PARTITION OF t FOR VALUES IN ('NORTH');",
        ),
        [{4: "south"}, {4: ""}],
    ),
    "texts by range": (
        Shape("RANGE (region)", "CREATE TABLE t_a PARTITION OF t FOR VALUES FROM ('m') TO ('q');"),
        [{4: "a"}, {4: "q"}],
    ),
    "a level below": (
        Shape(
            "RANGE (day)",
            month("t", 1, "PARTITION BY LIST (k)")
            + "CREATE TABLE t_m1_a PARTITION OF t_m1 FOR VALUES IN (1, 2);",
        ),
        [{1: "3"}, {2: "2024-02-01"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("name", STRAYS)
def test_a_row_that_fits_no_partition_is_a_reject(
    database: Database, inrush: Inrush, name: str, streams: int
) -> None:
    shape, strays = STRAYS[name]
    for part in range(2):
        rows = [",".join(PLAIN)] * 500
        for number, fields in enumerate(strays):
            bad = list(PLAIN)
            for field, value in fields.items():
                bad[field] = value
            rows.insert(100 * (number + 1), ",".join(bad))
        inrush.write(f"rows.{part}.csv", "\n".join(rows) + "\n")
    make(database, "loaded", shape)
    count = 2 * len(strays)
    written = package(
        database.url,
        flow(
            "loaded",
            "rows.*.csv",
            format={"header": False},
            routing=True,
            rejects={"rows_max": count},
        ),
        streams=streams,
    )
    outcome = inrush("run", inrush.write("package.toml", written)).expect(LOADED_WITH_REJECTS)
    assert database.value("SELECT count(*) FROM loaded") == 1000
    rejects = outcome.rejects()
    places = [(reject["file"].rsplit("/")[-1], reject["line"]) for reject in rejects]
    expected = [
        (f"rows.{part}.csv", 100 * (number + 1) + 1)
        for part in range(2)
        for number in range(len(strays))
    ]
    assert sorted(places) == sorted(expected)
    assert {reject["code"] for reject in rejects} == {"outside_partition"}
    assert not any("inrush_staging" in reject["reason"] for reject in rejects)
    assert_nothing_staged(database)


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
CREATE TABLE {name}_high PARTITION OF {name} FOR VALUES FROM (2) TO (4) PARTITION BY LIST (k);
CREATE TABLE {name}_2 PARTITION OF {name}_high FOR VALUES IN (2);
CREATE TABLE {name}_3 PARTITION OF {name}_high FOR VALUES IN (3);
CREATE TRIGGER guard BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION guard();
INSERT INTO {name} SELECT n % 4, n, 1, 1, 'old' FROM generate_series(1, 100) n
"""
FILES = 3
# Each row that is refused is slow. All kinds of them occur, which the job asserts.
ROWS = 150


class Job(SerialJob):
    """Files for partitions that have rows, and the result of a serial load."""

    def __init__(self, database: Database, inrush: Inrush, seed: int, later: str = "") -> None:
        super().__init__(database, inrush)
        chance = random.Random(seed)  # noqa: S311
        database.execute(PARENTS_AND_GUARD)
        database.execute(TARGET.format(name="loaded", later=later))
        database.execute(TARGET.format(name="expected", later=""))
        files = {
            f"rows.{number}.csv": [self.row(chance) for _ in range(ROWS)] for number in range(FILES)
        }
        self.insert(HEADER, INSERT, files)
        assert {one.code for one in self.expected} == {
            "duplicate_key", "foreign_key_missing", "check_violated", "raised", "syntax",
            "outside_partition",
        }  # fmt: skip

    def row(self, chance: random.Random) -> list[str]:
        # Some keys are in the target already, some occur twice in the files.
        key = chance.randrange(60, FILES * ROWS * 6)
        fields = [str(key % 4), str(key), "1", "1", f"note {chance.randrange(3)}"]
        match chance.randrange(40):
            case 0:
                fields[0] = "4"
            case 1:
                fields[2] = "51"
            case 2:
                fields[3] = "0"
            case 3:
                fields[4] = "no"
            case 4:
                fields[1] = "x"
            case 5:
                fields[4] = "set"
            case 6:
                fields[0], fields[1] = "2", "42"
        return fields

    def package(self, rows_max: int = 10_000, streams: int = 2) -> None:
        settings = flow(
            "loaded", "rows.*.csv", mode="append", routing=True, rejects={"rows_max": rows_max}
        )
        self.inrush.write("package.toml", package(self.database.url, settings, streams=streams))

    def assert_loaded(self, outcome: Outcome) -> None:
        super().assert_loaded(outcome)
        assert_nothing_staged(self.database)


@pytest.mark.parametrize("later", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["now", "later"])
@pytest.mark.parametrize("streams", [1, 3])
def test_rows_that_partitions_refuse(
    database: Database, inrush: Inrush, streams: int, later: str
) -> None:
    job = Job(database, inrush, streams, later)
    job.package(streams=streams)
    outcome = job.run()
    job.assert_done(outcome)
    job.run().expect(outcome.status, "already loaded")


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "before_unit_commit:2", "after_unit_commit:2", "in_switch",
     "before_switch_commit", "switch_commit_sent", "after_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize("streams", [1, 3])
def test_killed_while_partitions_refuse_rows(
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


def test_the_limit_holds_for_what_partitions_refuse(
    newest_database: Database, inrush: Inrush
) -> None:
    job = Job(newest_database, inrush, 4)
    before = state(newest_database)
    job.package(rows_max=len(job.expected) - 1)
    job.run().expect(REJECT_LIMIT, str(len(job.expected) - 1))
    assert state(newest_database) == before
    job.package(rows_max=len(job.expected))
    job.assert_done(job.run())
