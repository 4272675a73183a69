"""Rows that are merged as versions (`scd`), and that the target refuses."""

from __future__ import annotations

import random
import signal
from collections.abc import Sequence
from typing import ClassVar

import pytest

from harness.command import REJECT_LIMIT, Inrush, Outcome
from harness.contents import state
from harness.packages import Value, flow, package
from harness.serial import Refused, SerialJob
from harness.servers import Database
from harness.versions import SCD

HEADER = "no,land,city,level,phone,visits"
SET_UP = """
CREATE TABLE levels (level int PRIMARY KEY);
INSERT INTO levels SELECT generate_series(1, 50);
CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.city = 'no' OR (TG_OP = 'UPDATE' AND NEW.phone = 'not this one') THEN
        RAISE EXCEPTION 'row % says no', NEW.no;
    END IF;
    RETURN NEW;
END $$;
"""
TABLE = """
CREATE TABLE {name} (
    sk int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    no int NOT NULL, land text NOT NULL, city text, level int REFERENCES levels, phone text,
    visits int, valid_from timestamptz NOT NULL, valid_to timestamptz, is_current bool NOT NULL
);
CREATE UNIQUE INDEX ON {name} (no, land) WHERE valid_to IS NULL;
CREATE UNIQUE INDEX ON {name} (visits) WHERE valid_to IS NULL;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON {name} FOR EACH ROW EXECUTE FUNCTION guard();
INSERT INTO {name} (no, land, city, level, phone, visits, valid_from, is_current)
    SELECT n, 'at', 'Graz', 1, 'old', n, '2020-01-01', true FROM generate_series(1, 200) n
"""
# The merge of one row, as the documentation describes it.
MERGE_ROW = """
CREATE FUNCTION merge_row(a int, b text, c text, d int, e text, f int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE expected SET valid_to = '2021-01-01', is_current = false
        WHERE no = a AND land = b AND valid_to IS NULL
        AND (city IS DISTINCT FROM c OR level IS DISTINCT FROM d);
    UPDATE expected SET phone = e, visits = f WHERE no = a AND land = b AND valid_to IS NULL
        AND (phone IS DISTINCT FROM e OR visits IS DISTINCT FROM f);
    INSERT INTO expected (no, land, city, level, phone, visits, valid_from, is_current)
        SELECT a, b, c, d, e, f, '2021-01-01', true WHERE NOT EXISTS
        (SELECT FROM expected WHERE no = a AND land = b AND valid_to IS NULL);
END $$
"""
MERGE = "SELECT merge_row(%s::int, %s, %s, %s::int, %s, %s::int)"
FILES = 3
ROWS = 150
KEPT = 200
# The compared columns. The times are not compared, because all versions of a run begin at its
# start.
COMPARED = (
    "(SELECT no, land, city, level, phone, visits, valid_from = '2020-01-01' AS is_old, "
    "valid_to IS NULL AS is_open, is_current FROM {}) AS compared"
)


class Job(SerialJob):
    """Files whose rows are merged into a target with versions, and the result row by row."""

    tables: ClassVar[Sequence[tuple[str, str, str]]] = (
        (COMPARED.format("loaded"), COMPARED.format("expected"), "no, land, is_open"),
    )

    def __init__(self, database: Database, inrush: Inrush, seed: int) -> None:
        super().__init__(database, inrush)
        print("seed", seed)
        self.chance = random.Random(seed)  # noqa: S311
        database.execute(SET_UP)
        for name in ("loaded", "expected"):
            database.execute(TABLE.format(name=name))
        database.execute(MERGE_ROW)
        keys = self.chance.sample(range(1, FILES * ROWS + KEPT), FILES * ROWS)
        files = {
            f"rows.{number}.csv": [
                self.row(key) for key in keys[number * ROWS : (number + 1) * ROWS]
            ]
            for number in range(FILES)
        }
        # Rows that the staging table refuses before the merge, because their keys repeat.
        self.staged: set[str] = set()
        self.insert(HEADER, MERGE, files, self.before)
        codes = {one.code for one in self.expected}
        assert codes == {"raised", "foreign_key_missing", "duplicate_key"}

    def row(self, key: int) -> list[str]:
        # More than 64 pages of rows, so that the merge takes more than one window. Four rows fill a
        # page, because each row that is refused is slow.
        phone = "".join(self.chance.choices("0123456789", k=1800))
        city = self.chance.choice(["Graz", "Linz"])
        fields = [str(key), "at", city, "1", phone, str(key)]
        match self.chance.randrange(30):
            case 0:
                fields[2] = "no"
            case 1:
                fields[3] = "51"
            case 2:
                # Another row has this unique value, had it, or will have it.
                fields[5] = str(self.chance.randrange(300))
            case 3:
                fields[0] = "7"
            case 4:
                fields[4] = "not this one"
        return fields

    def before(self, file: str, line: int, row: Sequence[str]) -> Refused | None:
        if row[0] in self.staged:
            return Refused(file, line, "duplicate_key", f"Key (no, land)=({row[0]}, at)")
        self.staged.add(row[0])
        return None

    def package(self, rows_max: int = 10_000, **run: Value) -> None:
        settings: dict[str, Value] = {
            "mode": "upsert",
            "key": ["no", "land"],
            "scd": SCD,
            "rejects": {"rows_max": rows_max},
        }
        text = package(
            self.database.url, flow("loaded", "rows.*.csv", **settings), name="test", **run
        )
        self.inrush.write("package.toml", text)

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        (table,) = outcome.report["tables"]
        versions = table["versions"]
        count = "SELECT count(*)::int FROM expected WHERE "
        assert versions["changed"] == self.database.value(f"{count} valid_to IS NOT NULL")
        assert versions["new"] == self.database.value(f"{count} no > {KEPT} AND valid_to IS NULL")
        assert sum(versions.values()) == table["account"]["rows_loaded"]


@pytest.mark.parametrize("streams", [1, 3])
def test_as_a_merge_row_by_row(database: Database, inrush: Inrush, streams: int) -> None:
    job = Job(database, inrush, streams)
    job.package(streams=streams)
    outcome = job.run()
    job.assert_done(outcome)
    job.run().expect(outcome.status, "already loaded")


@pytest.mark.parametrize(
    "point", ["in_careful_copy", "in_switch", "before_switch_commit", "after_switch_commit"]
)
def test_killed_and_run_again(newest_database: Database, inrush: Inrush, point: str) -> None:
    job = Job(newest_database, inrush, len(point))
    job.package(streams=2)
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        job.assert_loaded(outcome)
    else:
        job.assert_done(outcome)


def test_the_limit_holds_at_the_merge(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, 4)
    before = state(newest_database)
    job.package(rows_max=len(job.expected) - 1, streams=2)
    job.run().expect(REJECT_LIMIT, str(len(job.expected) - 1))
    assert state(newest_database) == before
    job.package(rows_max=len(job.expected), streams=2)
    job.assert_done(job.run())
