"""Rows refer to tables of the same package; some refer to rows that do not exist.

The alphabetical order of the tables' names is never the right order for loading.
"""

from __future__ import annotations

import random
import signal
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.contents import staging_tables, state
from harness.packages import Value, flow, package
from harness.serial import (
    Files,
    SerialJob,
    assert_rejects,
)
from harness.servers import Database

ZONES = "CREATE TABLE {name}zones (id int PRIMARY KEY, CHECK (id <> 7))"
PARENTS = """
CREATE TABLE {name}parents (
    id int, zone int NOT NULL REFERENCES {name}zones {later}, code text,
    PRIMARY KEY (id), UNIQUE (id, code)
) {partitioning}
"""
CHILDREN = """
CREATE TABLE {name}children (
    k int NOT NULL,
    id int NOT NULL,
    parent int,
    code text,
    UNIQUE (k, id),
    CONSTRAINT "its parent" FOREIGN KEY (parent) REFERENCES {name}parents {later},
    CONSTRAINT "its code" FOREIGN KEY (parent, code) REFERENCES {name}parents (id, code) {later}
) {partitioning}
"""
# The ways to load the parents into their table.
KINDS: dict[str, tuple[str, str, dict[str, Value]]] = {
    "copied": ("", "", {}),
    "attached": (
        "PARTITION BY RANGE (id)",
        "CREATE TABLE parents_old PARTITION OF parents FOR VALUES FROM (0) TO (20)",
        {"partition_by": "id", "bounds": [20, 40, 60]},
    ),
    "routed": (
        "PARTITION BY HASH (id)",
        "CREATE TABLE parents_0 PARTITION OF parents FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE parents_1 PARTITION OF parents FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        {"routing": True},
    ),
    "merged": ("", "", {"mode": "upsert", "key": ["id"]}),
}
OLD = """
INSERT INTO {name}zones VALUES (1);
INSERT INTO {name}parents SELECT id, 1, 'c' || id FROM generate_series(1, 19) id
"""
HEADERS = {"zones": "id", "parents": "id,zone,code", "children": "k,id,parent,code"}
INSERTS = {
    "zones": "INSERT INTO expected_zones VALUES (%s::int)",
    "parents": "INSERT INTO expected_parents VALUES (%s::int, %s::int, %s)",
    "children": "INSERT INTO expected_children "
    "VALUES (%s::int, %s::int, nullif(%s, '')::int, nullif(%s, ''))",
}
# Each row that is refused is slow. A file still has three batches of 64 rows.
ROWS = 130
# More rows of a batch are refused than the 64 after which they are counted.
MANY_ROWS = 300


class Job(SerialJob):
    """Files of three tables, and the result of a serial load in the order of the keys."""

    tables = (
        ("zones", "expected_zones", "id"),
        ("parents", "expected_parents", "id"),
        ("children", "expected_children", "k, id"),
    )

    def __init__(
        self,
        database: Database,
        inrush: Inrush,
        *,
        seed: int,
        kind: str = "attached",
        children: str = "PARTITION BY RANGE (k)",
        partitions: int = 2,
        later: str = "",
        orphans: bool = True,
        rows: int = ROWS,
    ) -> None:
        super().__init__(database, inrush)
        self.kind = kind
        self.is_plain = not children
        self.partitions = partitions
        self.orphans = orphans
        self.rows = rows
        chance = random.Random(seed)  # noqa: S311
        partitioning, existing, self.settings = KINDS[kind]
        for name in ("expected_", ""):
            tables = [
                ZONES.format(name=name),
                PARENTS.format(
                    name=name,
                    partitioning="" if name else partitioning,
                    later="" if name else later,
                ),
                "" if name else existing,
                CHILDREN.format(
                    name=name, partitioning="" if name else children, later="" if name else later
                ),
                OLD.format(name=name),
            ]
            for statement in filter(None, tables):
                database.execute(statement)
        self.files: dict[str, Files] = {
            "zones": {"zones.csv": [["2"], ["3"], ["2"], ["7"]] if orphans else [["2"], ["3"]]},
            "parents": {
                f"parents.{part}.csv": [self.parent(part, n, chance) for n in range(20)]
                for part in range(2)
            },
            "children": {
                f"children.{part}.csv": [self.child(part, n, chance) for n in range(rows)]
                for part in range(4)
            },
        }
        for table, files in self.files.items():
            self.insert(HEADERS[table], INSERTS[table], files)
        self.name_as_targets()
        if orphans:
            assert {one.code for one in self.expected} == {
                "foreign_key_missing", "duplicate_key", "check_violated", "syntax",
            }  # fmt: skip

    def parent(self, part: int, number: int, chance: random.Random) -> list[str]:
        key = 20 + 20 * part + number
        fields = [str(key), str(chance.randrange(1, 4)), f"c{key}"]
        if self.orphans:
            match chance.randrange(6):
                case 0:
                    fields[1] = chance.choice(["7", "8"])
                # Of two rows with the same key a merge uses only the first, even if that row is
                # refused.
                case 1 if self.kind != "merged":
                    fields[0] = str(20 + 20 * part + chance.randrange(20))
        return fields

    def child(self, part: int, number: int, chance: random.Random) -> list[str]:
        key = chance.randrange(4 * self.rows * 4) if self.orphans else part * self.rows + number
        parent = chance.randrange(1, 60)
        fields = [str(part % self.partitions), str(key), str(parent), f"c{parent}"]
        if self.orphans:
            match chance.randrange(20):
                case 0:
                    fields[2] = str(chance.randrange(60, 70))
                case 1:
                    fields[3] = "other"
                case 2:
                    fields[3] = ""
                case 3:
                    fields[2] = ""
                case 4:
                    fields[1] = "x"
        return fields

    def package(self, rows_max: int = 10_000, verify: str = "count", **run: Any) -> None:
        common: dict[str, Value] = {
            "mode": "append", "rejects": {"rows_max": rows_max}, "verify": verify
        }  # fmt: skip
        bounds: list[Value] = list(range(self.partitions + 1))
        of_children: dict[str, Value] = {"partition_by": "k", "bounds": bounds}
        text = package(
            self.database.url,
            flow("children", "children.*.csv", **common, **({} if self.is_plain else of_children)),
            flow("parents", "parents.*.csv", **common | self.settings),
            flow("zones", "zones.csv", **common),
            **run,
        )
        self.inrush.write("package.toml", text)

    def assert_nothing_is_left(self) -> None:
        """Fail if triggers or functions are left, or a partition lacks or repeats a foreign key."""
        left = "SELECT {} FROM {} WHERE {} AND {}::text LIKE '%inrush%'"
        for query in (
            left.format("tgname", "pg_trigger", "NOT tgisinternal", "tgname"),
            left.format("proname", "pg_proc", "pronamespace = 'public'::regnamespace", "proname"),
            "SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace "
            "WHERE nspname = 'inrush_staging'",
        ):
            assert self.database.rows(query) == [], query
        assert staging_tables(self.database) == []
        if not self.is_plain:
            assert self.database.rows(
                "SELECT DISTINCT count(*), bool_and(convalidated) FROM pg_constraint c "
                "WHERE contype = 'f' AND conrelid IN (SELECT inhrelid FROM pg_inherits "
                "WHERE inhparent = 'children'::regclass) "
                "AND conparentid IN (SELECT oid FROM pg_constraint "
                "WHERE conrelid = 'children'::regclass) GROUP BY conrelid"
            ) == [(2, True)]

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        self.assert_nothing_is_left()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("partitions", "streams"), [(4, 2), (1, 3)])
def test_as_a_serial_load(
    database: Database, inrush: Inrush, kind: str, partitions: int, streams: int
) -> None:
    job = Job(database, inrush, seed=streams, kind=kind, partitions=partitions)
    job.package(streams=streams, verify="rows")
    outcome = job.run()
    job.assert_done(outcome)
    job.run().expect(outcome.status, "already loaded")


@pytest.mark.parametrize("later", ["", "DEFERRABLE INITIALLY DEFERRED"], ids=["now", "later"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_copied(database: Database, inrush: Inrush, kind: str, later: str) -> None:
    job = Job(database, inrush, seed=5, kind=kind, children="", later=later)
    job.package(streams=3)
    job.assert_done(job.run())


@pytest.mark.parametrize("children", ["", "PARTITION BY RANGE (k)"], ids=["copied", "attached"])
@pytest.mark.parametrize("kind", KINDS)
def test_right_rows_need_no_second_load(
    newest_database: Database, inrush: Inrush, kind: str, children: str
) -> None:
    job = Job(newest_database, inrush, seed=6, kind=kind, children=children, orphans=False)
    job.package(rows_max=0)
    outcome = job.run().expect(CLEAN)
    assert not any(unit["careful"] for unit in outcome.report["units"])
    job.assert_same_contents()


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "in_careful_copy:7", "before_unit_commit:5", "unit_commit_sent:5",
     "after_unit_commit:5", "before_unit_commit:6", "in_switch", "before_switch_commit",
     "switch_commit_sent", "after_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["copied", "attached"])
def test_killed_and_run_again(
    newest_database: Database, inrush: Inrush, point: str, kind: str
) -> None:
    job = Job(newest_database, inrush, seed=len(point), kind=kind)
    job.package(batch_rows=64)
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        job.assert_same_contents()
        assert_rejects(outcome, job.expected)
    else:
        job.assert_done(outcome)


def test_the_limit_holds(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=4, rows=MANY_ROWS)
    before = state(newest_database)
    for part in range(4):
        assert sum(one.file == f"children.{part}.csv" for one in job.expected) > 64
    limit = sum(one.file.startswith("children") for one in job.expected)
    job.package(rows_max=limit - 1)
    job.run().expect(REJECT_LIMIT, str(limit - 1))
    assert state(newest_database) == before
    job.package(rows_max=limit)
    job.assert_done(job.run())


def test_one_row_too_many_is_named(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=4, orphans=False)
    inrush.write("children.2.csv", "k,id,parent,code\n0,9001,5,c5\n0,9002,5,c6\n0,9003,5,c5\n")
    before = state(newest_database)
    job.package(rows_max=0)
    job.run().expect(
        REJECT_LIMIT,
        "children.2.csv:3",
        "FOREIGN KEY (parent, code)",
        "(parent, code)=(5, c6)",
        'table "parents"',
    )
    assert state(newest_database) == before


def test_mended_rows_are_replayed(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, seed=4, orphans=False)
    inrush.write("children.2.csv", "k,id,parent,code\n0,9001,5,c5\n0,9002,77,\n0,9003,5,c5\n")
    inrush.write("parents.0.csv", "id,zone,code\n20,9,c20\n")
    inrush.write("children.3.csv", "k,id,parent,code\n1,9004,20,c20\n")
    for part in range(2):
        inrush.write(f"children.{part}.csv", f"k,id,parent,code\n{part},{part},20,\n")
    job.package(rows_max=9)
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    found = {(one["file"].rsplit("/")[-1], one["line"]) for one in outcome.rejects()}
    assert found == {
        ("parents.0.csv", 2), ("children.0.csv", 2), ("children.1.csv", 2), ("children.2.csv", 3),
        ("children.3.csv", 2),
    }  # fmt: skip
    folder = outcome.run_folders()[-1]
    kept = list((folder / "rejects").glob("*.rejects"))
    texts = sorted(line for path in kept for line in path.read_text().splitlines()[1:])
    assert texts == ["0,0,20,", "0,9002,77,", "1,1,20,", "1,9004,20,c20", "20,9,c20"]
    for path in kept:
        path.write_text(path.read_text().replace("20,9,c20", "20,3,c20").replace(",77,", ",20,"))
    inrush("rejects", "replay", folder.name).expect(CLEAN, "5 rows: 5 loaded now")
    assert newest_database.rows("SELECT * FROM parents WHERE id = 20") == [(20, 3, "c20")]
    assert newest_database.rows("SELECT * FROM children ORDER BY k, id") == [
        (0, 0, 20, None), (0, 9001, 5, "c5"), (0, 9002, 20, None), (0, 9003, 5, "c5"),
        (1, 1, 20, None), (1, 9004, 20, "c20"),
    ]  # fmt: skip


CODED = """
CREATE TABLE a_children (
    id int NOT NULL, code text CONSTRAINT "its code" REFERENCES parents
) PARTITION BY RANGE (id);
"""
KEYS_THAT_COME_WITH_THE_SWITCH: dict[str, tuple[str, dict[str, Value]]] = {
    "trigger": (
        "CREATE FUNCTION smaller() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.code := lower(NEW.code); RETURN NEW; END $$; "
        "CREATE TRIGGER smaller BEFORE INSERT ON parents "
        "FOR EACH ROW EXECUTE FUNCTION smaller()",
        {},
    ),
    "pre_sql": ("", {"pre_sql": "INSERT INTO parents VALUES ('a')"}),
}


@pytest.mark.parametrize("how", KEYS_THAT_COME_WITH_THE_SWITCH)
def test_keys_that_only_the_switch_makes(database: Database, inrush: Inrush, how: str) -> None:
    """A row that refers to a key which only the switch makes fails the whole load."""
    before, settings = KEYS_THAT_COME_WITH_THE_SWITCH[how]
    database.execute("CREATE TABLE parents (code text PRIMARY KEY)")
    database.execute(CODED + before)
    left = state(database)
    inrush.write("parents.csv", "code\nA\nB\n" if how == "trigger" else "code\nb\n")
    inrush.write("children.csv", "id,code\n1,a\n2,b\n3,c\n4,b\n")
    common: dict[str, Value] = {"mode": "append", "rejects": {"rows_max": 9}}
    text = package(
        database.url,
        flow("a_children", "children.csv", **common, partition_by="id", bounds=[0, 10]),
        flow("parents", "parents.csv", **common | settings),
    )
    inrush("run", inrush.write("package.toml", text)).expect(FAILED, "its code", "(code)=(c)")
    assert state(database) == left
    database.execute("INSERT INTO parents VALUES ('c')")
    inrush("run", "package.toml").expect(CLEAN)
    assert database.rows("SELECT * FROM a_children ORDER BY id") == [
        (1, "a"), (2, "b"), (3, "c"), (4, "b"),
    ]  # fmt: skip
