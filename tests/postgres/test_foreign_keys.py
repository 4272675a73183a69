"""Rows that break a foreign key of a partitioned target: ATTACH finds them."""

from __future__ import annotations

import random
import signal

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.contents import state
from harness.packages import Value, flow, package
from harness.serial import SerialJob, text_of
from harness.servers import Database

HEADER = "k,id,parent,amount"
INSERT = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int, %s::int)"
PARENTS = """
CREATE TABLE parents (id int PRIMARY KEY) {partitioning};
INSERT INTO parents SELECT generate_series(1, 50)
"""
PARTED = """PARTITION BY HASH (id);
CREATE TABLE parents_0 PARTITION OF parents FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parents_1 PARTITION OF parents FOR VALUES WITH (MODULUS 2, REMAINDER 1)"""
TABLE = """
CREATE TABLE {name} (
    k int NOT NULL,
    id int NOT NULL,
    parent int,
    amount int CHECK (amount <> 0),
    PRIMARY KEY (k, id),
    CONSTRAINT "to its parent" FOREIGN KEY (parent) REFERENCES parents {later}
) PARTITION BY RANGE (k)
"""


class Job(SerialJob):
    """Files for a partitioned target with a foreign key, and the result of a serial load."""

    def __init__(
        self,
        database: Database,
        inrush: Inrush,
        *,
        seed: int,
        partitions: int,
        parents: str = "",
        later: str = "",
    ) -> None:
        super().__init__(database, inrush)
        self.partitions = partitions
        self.files_count = 4
        # Each row that is refused is slow. A file still has three batches of 64 rows.
        self.rows = 150
        chance = random.Random(seed)  # noqa: S311
        database.execute(PARENTS.format(partitioning=parents))
        database.execute(TABLE.format(name="loaded", later=later))
        database.execute(TABLE.format(name="expected", later=""))
        database.execute("CREATE TABLE expected_all PARTITION OF expected DEFAULT")
        self.files = {
            f"rows.{number}.csv": [self.row(number, chance) for _ in range(self.rows)]
            for number in range(self.files_count)
        }
        self.insert(HEADER, INSERT, self.files)
        codes = {one.code for one in self.expected}
        assert codes == {"foreign_key_missing", "duplicate_key", "check_violated", "syntax"}

    def row(self, number: int, chance: random.Random) -> list[str]:
        fields = [
            str(number % self.partitions),
            str(chance.randrange(self.files_count * self.rows * 4)),
            str(chance.randrange(1, 51)),
            "1",
        ]
        match chance.randrange(40):
            case 0 | 1:
                fields[2] = str(chance.randrange(51, 60))
            case 2:
                fields[3] = "0"
            case 3:
                fields[1] = "x"
        return fields

    def package(self, rows_max: int = 10_000, routing: bool = False, **run: Value) -> None:
        settings: dict[str, Value] = {"mode": "append", "rejects": {"rows_max": rows_max}}
        if routing:
            settings |= {"routing": True}
        else:
            bounds: list[Value] = list(range(self.partitions + 1))
            settings |= {"partition_by": "k", "bounds": bounds}
        text = package(
            self.database.url, flow("loaded", "rows.*.csv", **settings), name="test", **run
        )
        self.inrush.write("package.toml", text)

    def assert_loaded(self, outcome: Outcome) -> None:
        super().assert_loaded(outcome)
        # Each partition has the key once, inherited from the target.
        assert self.database.rows(
            "SELECT DISTINCT count(*), bool_and(convalidated) FROM pg_constraint "
            "WHERE contype = 'f' AND conrelid IN (SELECT inhrelid FROM pg_inherits "
            "WHERE inhparent = 'loaded'::regclass) "
            "AND conparentid IN (SELECT oid FROM pg_constraint "
            "WHERE conrelid = 'loaded'::regclass) GROUP BY conrelid"
        ) == [(1, True)]


@pytest.mark.parametrize("parents", ["", PARTED], ids=["plain", "hash"])
@pytest.mark.parametrize(("partitions", "streams"), [(4, 2), (1, 3), (2, 1)])
def test_as_a_serial_load(
    database: Database, inrush: Inrush, partitions: int, streams: int, parents: str
) -> None:
    job = Job(database, inrush, seed=streams, partitions=partitions, parents=parents)
    job.package(streams=streams)
    outcome = job.run()
    job.assert_done(outcome)
    assert all(unit["careful"] for unit in outcome.report["units"])
    job.run().expect(outcome.status, "already loaded")


@pytest.mark.parametrize("later", ["DEFERRABLE INITIALLY DEFERRED", "ON DELETE CASCADE"])
def test_other_foreign_keys(newest_database: Database, inrush: Inrush, later: str) -> None:
    job = Job(newest_database, inrush, seed=3, partitions=2, later=later)
    job.package()
    job.assert_done(job.run())


@pytest.mark.parametrize("streams", [1, 3])
def test_routed_rows(database: Database, inrush: Inrush, streams: int) -> None:
    job = Job(database, inrush, seed=streams, partitions=4)
    for k in range(4):
        database.execute(
            f"CREATE TABLE loaded_{k} PARTITION OF loaded FOR VALUES FROM ({k}) TO ({k + 1})"
        )
    job.package(routing=True, streams=streams)
    job.assert_done(job.run())


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "in_careful_copy:7", "before_unit_commit:2", "unit_commit_sent:2",
     "after_unit_commit:2", "in_switch", "before_switch_commit", "switch_commit_sent",
     "after_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize(("partitions", "streams"), [(4, 2), (1, 3)])
def test_killed_and_run_again(
    newest_database: Database, inrush: Inrush, point: str, partitions: int, streams: int
) -> None:
    job = Job(newest_database, inrush, seed=len(point), partitions=partitions)
    job.package(streams=streams, batch_rows=64)
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        job.assert_loaded(outcome)
    else:
        job.assert_done(outcome)


def test_the_missing_row_comes_while_the_load_is_stopped(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(PARENTS.format(partitioning=""))
    newest_database.execute(TABLE.format(name="loaded", later=""))
    rows = [[str(k), str(n), "77" if n == 5 else "1", "1"] for k in range(2) for n in range(9)]
    for k in range(2):
        # A reject that is found before anything is sent counts too.
        inrush.write(
            f"rows.{k}.csv", text_of(HEADER, [*rows[k * 9 :][:9], [str(k), "x", "1", "1"]])
        )
    settings: dict[str, Value] = {"partition_by": "k", "bounds": [0, 1, 2], "mode": "append"}
    text = package(
        newest_database.url,
        flow("loaded", "rows.*.csv", rejects={"rows_max": 4}, **settings),
        streams=1,
    )
    inrush.write("package.toml", text)
    # The run is killed in the middle of the second careful load: one unit was loaded again, and the
    # other was not.
    died = inrush("run", "package.toml", environment={"INRUSH_FAULT": "before_unit_commit:4"})
    assert died.status == -signal.SIGKILL, died.said
    newest_database.execute("INSERT INTO parents VALUES (77)")
    outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS)
    rejects = {(one["file"].rsplit("/")[-1], one["line"], one["code"]) for one in outcome.rejects()}
    careful = {("rows.0.csv", 7, "foreign_key_missing")}
    assert rejects - careful == {("rows.0.csv", 11, "syntax"), ("rows.1.csv", 11, "syntax")}
    missing = {(0, 5)} if rejects & careful else set()
    assert {tuple(row) for row in newest_database.rows("SELECT k, id FROM loaded")} == {
        (int(k), int(n)) for k, n, *_ in rows
    } - missing
    assert outcome.report["account"]["rows_rejected"] == len(rejects)


def test_the_limit_holds(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=4, partitions=4)
    before = state(newest_database)
    job.package(rows_max=len(job.expected) - 1)
    job.run().expect(REJECT_LIMIT, str(len(job.expected) - 1))
    assert state(newest_database) == before
    job.package(rows_max=len(job.expected))
    job.assert_done(job.run())


def test_parents_that_come_with_pre_sql_set_no_right_row_aside(
    database: Database, inrush: Inrush
) -> None:
    database.execute(PARENTS.format(partitioning=""))
    database.execute(TABLE.format(name="loaded", later=""))
    rows = {"right": "1,1,77,1", "orphan": "1,2,78,1"}
    settings: dict[str, Value] = {"mode": "append", "rejects": {"rows_max": 9}, "partition_by": "k"}
    settings |= {"bounds": [1, 2], "pre_sql": "INSERT INTO parents VALUES (77)"}
    text = package(database.url, flow("loaded", "rows.csv", **settings))
    file = inrush.write("package.toml", text)
    # Only the switch finds out which row refers to nothing, so the whole load fails.
    inrush.write("rows.csv", text_of(HEADER, [row.split(",") for row in rows.values()]))
    before = state(database)
    inrush("run", file).expect(FAILED, "to its parent", "(78)")
    assert state(database) == before
    inrush.write("rows.csv", text_of(HEADER, [rows["right"].split(",")]))
    inrush("run", file, "--again").expect(CLEAN)
    assert database.rows("SELECT * FROM loaded") == [(1, 1, 77, 1)]
