"""Rows that are merged into a target (`upsert`), and that it refuses."""

from __future__ import annotations

import random
import signal
from collections.abc import Sequence

import pytest

from harness.command import REJECT_LIMIT, Inrush, Outcome
from harness.contents import state
from harness.packages import Value, flow, package
from harness.serial import Refused, SerialJob
from harness.servers import Database

HEADER = "id,k,parent,code,note"
SET_UP = """
CREATE TABLE parents (id int PRIMARY KEY);
INSERT INTO parents SELECT generate_series(1, 50);
CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'no' OR (TG_OP = 'UPDATE' AND NEW.note = 'not this one') THEN
        RAISE EXCEPTION 'row % says no', NEW.id;
    END IF;
    NEW.seen := TG_OP;
    RETURN NEW;
END $$;
"""
TABLE = """
CREATE TABLE {name} (
    id int NOT NULL,
    k int NOT NULL CHECK (k >= 0),
    parent int REFERENCES parents {later},
    code text,
    note text,
    seen text,
    PRIMARY KEY (k, id),
    UNIQUE (k, code)
) {partitioning};
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON {name} FOR EACH ROW EXECUTE FUNCTION guard();
INSERT INTO {name} SELECT n, n % 4, 1, 'code ' || n, 'old' FROM generate_series(1, 200) n
"""
HASH = """PARTITION BY HASH (k);
CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"""
MERGE = """
INSERT INTO expected (id, k, parent, code, note) VALUES (%s::int, %s::int, %s::int, %s, %s)
ON CONFLICT (k, id) DO UPDATE SET parent = excluded.parent, code = excluded.code, note = excluded.note
"""  # noqa: E501
FILES = 3
ROWS = 150
KEPT = 200


class Job(SerialJob):
    """Files whose rows are merged into a target with rows, and the result of a serial load."""

    def __init__(
        self,
        database: Database,
        inrush: Inrush,
        *,
        seed: int,
        partitioning: str = "",
        later: str = "",
    ) -> None:
        super().__init__(database, inrush)
        self.chance = random.Random(seed)  # noqa: S311
        database.execute(SET_UP)
        for name, deferred in (("loaded", later), ("expected", "")):
            database.execute(
                TABLE.format(name=name, later=deferred, partitioning=partitioning.format(name=name))
            )
        keys = self.chance.sample(range(1, FILES * ROWS + KEPT), FILES * ROWS)
        self.files = {
            f"rows.{number}.csv": [
                self.row(key) for key in keys[number * ROWS : (number + 1) * ROWS]
            ]
            for number in range(FILES)
        }
        # Rows that the staging table refuses before the merge, because their keys repeat.
        self.staged: dict[tuple[str, str], tuple[str, int]] = {}
        self.updated = 0
        self.insert(HEADER, MERGE, self.files, self.before)
        refused = {(one.file, one.line) for one in self.expected}
        old = {(str(n), str(n % 4)) for n in range(1, KEPT + 1)}
        self.updated = sum(
            1 for key, place in self.staged.items() if key in old and place not in refused
        )
        codes = {one.code for one in self.expected}
        assert codes >= {"raised", "foreign_key_missing", "duplicate_key", "check_violated"}

    def row(self, key: int) -> list[str]:
        # More than 64 pages of rows, so that the merge takes more than one window. Four rows fill a
        # page, because each row that is refused is slow.
        note = "".join(self.chance.choices("abcdefghijklmnopqrstuvwxyz", k=1700))
        fields = [str(key), str(key % 4), "1", f"code {key}", note]
        match self.chance.randrange(40):
            case 0:
                fields[4] = "no"
            case 1:
                fields[2] = "51"
            case 2:
                # Another row has this unique value, had it, or will have it.
                fields[3] = f"code {self.chance.randrange(300)}"
            case 3:
                fields[0], fields[1] = "7", "3"
            case 4:
                fields[1] = "-1"
            case 5:
                fields[4] = "not this one"
        return fields

    def before(self, file: str, line: int, row: Sequence[str]) -> Refused | None:
        if row[1] == "-1":
            # The server tests the CHECK before any key.
            return None
        key = (row[0], row[1])
        if key in self.staged:
            return Refused(file, line, "duplicate_key", f"Key (id, k)=({row[0]}, {row[1]})")
        self.staged[key] = (file, line)
        return None

    def package(self, rows_max: int = 10_000, **run: Value) -> None:
        settings: dict[str, Value] = {
            "mode": "upsert",
            "key": ["id", "k"],
            "rejects": {"rows_max": rows_max},
        }
        text = package(
            self.database.url, flow("loaded", "rows.*.csv", **settings), name="test", **run
        )
        self.inrush.write("package.toml", text)

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        (table,) = outcome.report["tables"]
        assert table["rows_updated"] == self.updated


@pytest.mark.parametrize("partitioning", ["", HASH], ids=["plain", "hash"])
@pytest.mark.parametrize("streams", [1, 3])
def test_as_a_serial_merge(
    database: Database, inrush: Inrush, streams: int, partitioning: str
) -> None:
    job = Job(database, inrush, seed=streams, partitioning=partitioning)
    job.package(streams=streams)
    outcome = job.run()
    job.assert_done(outcome)
    job.run().expect(outcome.status, "already loaded")


def test_what_is_checked_at_commit(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=3, later="DEFERRABLE INITIALLY DEFERRED")
    job.package()
    job.assert_done(job.run())


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "in_switch", "before_switch_commit", "switch_commit_sent",
     "after_switch_commit"],
)  # fmt: skip
def test_killed_and_run_again(newest_database: Database, inrush: Inrush, point: str) -> None:
    job = Job(newest_database, inrush, seed=len(point))
    job.package(streams=2)
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        job.assert_loaded(outcome)
    else:
        job.assert_done(outcome)


def test_the_limit_holds_at_the_merge(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=4)
    before = state(newest_database)
    job.package(rows_max=len(job.expected) - 1, streams=2)
    job.run().expect(REJECT_LIMIT, str(len(job.expected) - 1))
    assert state(newest_database) == before
    job.package(rows_max=len(job.expected), streams=2)
    job.assert_done(job.run())
