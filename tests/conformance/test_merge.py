"""Rows that are merged into a target by their key: `upsert`, and versions of rows (`scd`)."""

from __future__ import annotations

import random
import re
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from conformance import abilities
from conformance.canonical import Row
from conformance.destinations import (
    AdbcDuckDb,
    AdbcPostgreSql,
    AdbcSqlite,
    DuckDb,
    Place,
    PostgreSql,
    PostgreSql15,
    SqlServer,
    in_order,
)
from harness.command import (
    CLEAN,
    FAILED,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    Inrush,
    Outcome,
)
from harness.packages import Value, flow, output
from harness.versions import FIRST, SCD, SECOND, Key, Model, Values, file_text, some_rows

CLAIMS = abilities.claims()
TYPES = ("integer", "integer", "text", "text")
KEY: list[Value] = ["id", "k"]
POINTS = [
    "before_unit_commit", "after_unit_commit", "before_switch", "in_switch",
    "before_switch_commit", "after_switch_commit", "before_report",
]  # fmt: skip


@pytest.fixture
def merging(place: Place) -> Place:
    """Return each destination that merges rows. `test_abilities.py` tests that others refuse."""
    if "upsert" not in CLAIMS[place.title]:
        pytest.skip(f"{place.title} cannot merge; test_abilities.py checks that it refuses it")
    return place


OLD: list[Row] = [(str(n), str(n % 10), "old", "old") for n in range(1, 101)]
MERGED: list[Row] = [
    *OLD[:50],
    *((str(n), str(n % 10), f"note {n}", "old") for n in range(51, 101)),
    *((str(n), str(n % 10), f"note {n}", "new") for n in range(101, 201)),
]


class Stock:
    """A table with rows, and a load that is merged into it."""

    def __init__(self, place: Place, inrush: Inrush) -> None:
        self.place, self.inrush = place, inrush
        place.execute(
            "CREATE TABLE stock (id integer NOT NULL, k integer NOT NULL CHECK (k >= 0), "
            "note text, stays text DEFAULT 'new', PRIMARY KEY (k, id))"
        )
        values = ", ".join(f"({n}, {n % 10}, 'old', 'old')" for n in range(1, 101))
        place.execute(f"INSERT INTO stock VALUES {values}")
        for part in range(3):
            lines = (f"{n},{n % 10},note {n}\n" for n in range(51 + part * 50, 101 + part * 50))
            inrush.write(f"rows.{part}.csv", "id,k,note\n" + "".join(lines))

    def package(self, **more: Value) -> Path:
        settings: dict[str, Value] = {"mode": "upsert", "key": KEY, **more}
        one = flow("stock", "rows.*.csv", **settings)
        return self.inrush.write("package.toml", self.place.package(one, streams=2))

    def run(self, fault: str | None = None, **more: Value) -> Outcome:
        environment = {} if fault is None else {"INRUSH_FAULT": fault}
        return self.inrush("run", self.package(**more), environment=environment)

    @property
    def rows(self) -> list[Row] | None:
        return self.place.rows("stock", TYPES)


@pytest.fixture
def stock(merging: Place, inrush: Inrush) -> Stock:
    return Stock(merging, inrush)


@pytest.mark.clause("D-46")
def test_rows_take_the_place_of_those_of_their_key(stock: Stock) -> None:
    checked = stock.inrush("check", stock.package()).expect(CLEAN, "merged into it by the key")
    # The plan also has the query that counts the rows to update.
    assert re.search(r"SELECT (count|COUNT_BIG)\(\*\)", checked.output)
    (table,) = stock.run().expect(CLEAN).report["tables"]
    assert stock.rows == in_order(MERGED)
    assert (table["account"]["rows_loaded"], table["rows_updated"]) == (150, 50)
    stock.run().expect(CLEAN, "already loaded")
    assert stock.place.tables() == {"stock"}


@pytest.mark.clause("D-46")
def test_a_key_alone_and_null_in_a_key(merging: Place, inrush: Inrush) -> None:
    merging.execute("CREATE TABLE t (id integer UNIQUE)")
    merging.execute("INSERT INTO t VALUES (7), (9)")
    inrush.write("rows.tbl", "7|\n8|\n|\n|\n")
    one = flow("t", "rows.tbl", mode="upsert", key="id", columns=["id"])
    path = inrush.write("package.toml", merging.package(one))
    if merging.in_unique_key(None) is not None:
        for command in ("check", "run"):
            inrush(command, path).expect(FAILED, "treats NULL as equal to NULL", "NOT NULL")
        assert merging.rows("t", ("integer",)) == [("7",), ("9",)]
        merging.drop("t")
        merging.execute("CREATE TABLE t (id integer NOT NULL UNIQUE)")
        merging.execute("INSERT INTO t VALUES (7), (9)")
        inrush.write("rows.tbl", "7|\n8|\n")
        (table,) = inrush("run", path).expect(CLEAN).report["tables"]
        assert merging.rows("t", ("integer",)) == [("7",), ("8",), ("9",)]
        assert table["rows_updated"] == 1
        return
    outcome = inrush("run", path)
    (table,) = outcome.expect(CLEAN).report["tables"]
    assert merging.rows("t", ("integer",)) == [(None,), (None,), ("7",), ("8",), ("9",)]
    assert table["rows_updated"] == 1


@pytest.mark.clause("D-46")
def test_an_index_in_which_null_is_equal_to_null(merging: Place, inrush: Inrush) -> None:
    """A row with a NULL in its key would be new, and the index would refuse it."""
    if isinstance(merging, SqlServer):
        pytest.skip("all its unique indexes are such: test_a_key_alone_and_null_in_a_key")
    if not isinstance(merging, PostgreSql):
        pytest.skip(f"{merging.title} has no such indexes")
    merging.execute("CREATE TABLE t (id integer, n integer, UNIQUE NULLS NOT DISTINCT (id))")
    merging.execute("INSERT INTO t VALUES (NULL, 1)")
    inrush.write("rows.tbl", "7|1|\n|2|\n")
    one = flow("t", "rows.tbl", mode="upsert", key="id", columns=["id", "n"])
    path = inrush.write("package.toml", merging.package(one))
    for command in ("check", "run"):
        inrush(command, path).expect(FAILED, "NULL as equal to NULL", "NULLS NOT DISTINCT")
    merging.execute("DELETE FROM t")
    merging.execute("ALTER TABLE t ALTER id SET NOT NULL")
    inrush.write("rows.tbl", "7|1|\n")
    inrush("run", path).expect(CLEAN)
    assert merging.rows("t", ("integer", "integer")) == [("7", "1")]


@pytest.mark.clause("D-46")
def test_a_key_without_an_index_and_a_missing_table(stock: Stock) -> None:
    stock.run(key="id").expect(FAILED, "no unique index on the key", "CREATE UNIQUE INDEX")
    stock.run(key=["id", "stays"]).expect(USAGE, "`stays`", "is not loaded")
    assert stock.rows == in_order(OLD)
    stock.place.drop("stock")
    stock.run().expect(FAILED, "does not exist")
    assert stock.place.tables() == set()


# Tables that drop or replace merged rows, with rows and a file that show this.
ALTERING = {
    AdbcSqlite: (
        "CREATE TABLE t (id text UNIQUE, n text UNIQUE ON CONFLICT REPLACE)",
        "INSERT INTO t VALUES ('1', 'a'), ('2', 'b'), ('9', 'keep')",
        "3|a|\n4|keep|\n2|z|\n",
    ),
    AdbcPostgreSql: (
        "CREATE TABLE t (id text UNIQUE, n text); "
        "CREATE RULE r AS ON UPDATE TO t DO INSTEAD NOTHING",
        "INSERT INTO t VALUES ('1', 'a'), ('2', 'b')",
        "2|z|\n3|c|\n",
    ),
}
NOT_ALTERING = {
    PostgreSql: "tests/postgres/test_scd.py has its triggers, and its rules, which plans refuse",
    DuckDb: "DuckDB has no triggers, rules or ON CONFLICT in its tables",
    SqlServer: "the double has no triggers",
}


@pytest.mark.clause("D-46")
def test_a_table_that_alters_merged_rows_keeps_its_own(merging: Place, inrush: Inrush) -> None:
    if type(merging) not in ALTERING:
        pytest.skip(next(why for kind, why in NOT_ALTERING.items() if isinstance(merging, kind)))
    made, filled, rows = ALTERING[type(merging)]
    for statement in (*made.split("; "), filled):
        merging.execute(statement)
    before = merging.rows("t", ("text", "text"))
    inrush.write("rows.tbl", rows)
    one = flow("t", "rows.tbl", mode="upsert", key="id", columns=["id", "n"])
    outcome = inrush("run", inrush.write("package.toml", merging.package(one)))
    outcome.expect(FAILED, "after the merge", "a trigger, a rule, ON CONFLICT or ")
    assert merging.rows("t", ("text", "text")) == before


# Columns of texts, the statement that makes them unique, and the result for the rows ABC, abc and
# aBC. The first row is in the target, and the others are in a file.
BY_BYTES = [("ABC", "old"), ("aBC", "two"), ("abc", "one")]
COLLATED = {
    # A collation in which texts with different bytes are equal needs ICU. Of the suite's servers,
    # only this one is built with ICU.
    (PostgreSql15,): [
        ("text", "(id)", BY_BYTES),
        ("text COLLATE folded", "(id)", [("ABC", "one")]),
        ("text", "(id COLLATE folded)", [("ABC", "one")]),
        ("text COLLATE folded", '(id COLLATE "C")', BY_BYTES),
        ("text COLLATE folded", '(id COLLATE "C" text_pattern_ops)', BY_BYTES),
        ("text UNIQUE", "(id COLLATE folded)", [("ABC", "one")]),
    ],
    (PostgreSql,): [
        ("text", "(id)", BY_BYTES),
        ('text COLLATE "C"', "(id)", BY_BYTES),
        ('varchar(20) COLLATE "C"', '(id COLLATE "POSIX" varchar_pattern_ops)', BY_BYTES),
    ],
    (DuckDb, AdbcDuckDb): [
        ("varchar COLLATE nocase", "(id)", BY_BYTES),
        ("varchar COLLATE nocase.noaccent", "(id)", BY_BYTES),
    ],
    (SqlServer,): [
        ("nvarchar(20) COLLATE Latin1_General_BIN2", "(id)", BY_BYTES),
        ("nvarchar(20)", "(id)", [("ABC", "one")]),
    ],
    (AdbcSqlite,): [
        ("text COLLATE NOCASE", "(id COLLATE BINARY)", BY_BYTES),
        ("text", "(id)", BY_BYTES),
        ("text COLLATE NOCASE", "(id)", [("ABC", "one")]),
        ("text", "(id COLLATE NOCASE)", [("ABC", "one")]),
    ],
}


@pytest.mark.clause("D-46", "D-47")
@pytest.mark.parametrize("scd", [False, True], ids=["upsert", "scd"])
def test_texts_are_compared_as_the_unique_index_does(
    merging: Place, inrush: Inrush, scd: bool
) -> None:
    """Keys are compared by bytes or by the index's collation. A second equal key is a reject."""
    cases = next(own for kinds, own in COLLATED.items() if isinstance(merging, kinds))
    of_versions = ", valid_from timestamptz NOT NULL, valid_to timestamptz" if scd else ""
    is_current = " WHERE valid_to IS NULL" if scd else ""
    if isinstance(merging, PostgreSql15):
        merging.execute(
            "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', "
            "deterministic = false)"
        )
    for number, (text, key, expected) in enumerate(cases):
        if scd and "UNIQUE" in text:
            # Such a table can have only one version of each row.
            continue
        table = f"t{number}"
        merging.execute(f"CREATE TABLE {table} (id {text} NOT NULL, n varchar(20){of_versions})")
        if not scd or merging.partial_indexes:
            merging.execute(f"CREATE UNIQUE INDEX of_{table} ON {table} {key}{is_current}")
        old = "('ABC', 'old', '2020-01-01 00:00:00+00:00', NULL)" if scd else "('ABC', 'old')"
        merging.execute(f"INSERT INTO {table} VALUES {old}")
        inrush.write("rows.tbl", "abc|one|\naBC|two|\n")
        more: dict[str, Value] = {"scd": {}} if scd else {}
        one = flow(
            table, "rows.tbl", mode="upsert", key="id", columns=["id", "n"],
            rejects={"rows_max": 1}, **more,
        )  # fmt: skip
        outcome = inrush("run", inrush.write("package.toml", merging.package(one, name=table)))
        outcome.expect(CLEAN if expected == BY_BYTES else LOADED_WITH_REJECTS)
        rows = merging.query(f"SELECT id, n FROM {table}{is_current}")
        if scd and expected != BY_BYTES:
            # A new version has the key as the file writes it.
            expected = [("abc", "one")]
        assert sorted(rows) == expected


@pytest.mark.clause("D-20", "D-37", "D-46")
@pytest.mark.parametrize("scd", [False, True], ids=["upsert", "scd"])
def test_rows_that_cannot_be_merged_are_rejects(merging: Place, inrush: Inrush, scd: bool) -> None:
    """Two rows are refused: the second row with the same key, and a row that violates a CHECK."""
    more: dict[str, Value] = {"scd": {}} if scd else {}
    key = "UNIQUE (id)"
    if scd:
        key = "valid_from timestamptz NOT NULL, valid_to timestamptz"
    merging.execute(f"CREATE TABLE t (id integer NOT NULL, n integer CHECK (n >= 0), {key})")
    if scd and merging.partial_indexes:
        merging.execute("CREATE UNIQUE INDEX current_t ON t (id) WHERE valid_to IS NULL")
    inrush.write("first.csv", "id,n\n1,10\n2,20\n3,30\n")
    one = flow("t", "first.csv", mode="upsert", key="id", **more)
    inrush("run", inrush.write("first.toml", merging.package(one, name="first"))).expect(CLEAN)
    query = f"SELECT id, n FROM t{' WHERE valid_to IS NULL' if scd else ''} ORDER BY id"
    inrush.write("new.0.csv", "id,n\n1,11\n4,-1\n2,21\n1,12\n")
    inrush.write("new.1.csv", "id,n\n5,50\n2,-2\n2,22\n4,40\n3,30\n5,51\n")
    rejected = [
        ("new.0.csv", 3, "check_violated"), ("new.0.csv", 5, "duplicate_key"),
        ("new.1.csv", 3, "check_violated"), ("new.1.csv", 4, "duplicate_key"),
        ("new.1.csv", 7, "duplicate_key"),
    ]  # fmt: skip

    def run(rows_max: int) -> Outcome:
        settings: dict[str, Value] = {"rejects": {"rows_max": rows_max}, **more}
        one = flow("t", "new.*.csv", mode="upsert", key="id", **settings)
        return inrush("run", inrush.write("package.toml", merging.package(one)))

    run(len(rejected) - 1).expect(REJECT_LIMIT)
    assert merging.query(query) == [(1, 10), (2, 20), (3, 30)]
    outcome = run(len(rejected)).expect(LOADED_WITH_REJECTS)
    assert merging.query(query) == [(1, 11), (2, 21), (3, 30), (4, 40), (5, 50)]
    told = [(one["file"].rsplit("/", 1)[-1], one["line"], one["code"]) for one in outcome.rejects()]
    assert told == rejected


@pytest.mark.clause("D-23", "D-46")
@pytest.mark.parametrize("point", POINTS)
def test_a_merge_is_killed_and_run_again(stock: Stock, point: str) -> None:
    died = stock.run(point)
    assert died.status == -signal.SIGKILL, died.said
    is_switched = point in ("after_switch_commit", "before_report")
    assert stock.rows == in_order(MERGED if is_switched else OLD)
    stock.run().expect(CLEAN)
    assert stock.rows == in_order(MERGED)
    assert stock.place.tables() == {"stock"}


class Customers:
    """A table that keeps versions, and the loads into it."""

    def __init__(self, place: Place, inrush: Inrush, time: str = "timestamptz") -> None:
        self.place, self.inrush, self.time = place, inrush, time
        self.model = Model()
        # For each moment at which versions begin, the number of the load that made them.
        self.loads: dict[str, int] = {}
        self.make()

    def make(self) -> None:
        self.place.execute(
            "CREATE TABLE customer (no integer NOT NULL, land text NOT NULL, city text, "
            "level integer, phone text, visits integer, "
            f"valid_from {self.time} NOT NULL, valid_to {self.time}, is_current boolean NOT NULL)"
        )
        if self.place.partial_indexes:
            self.place.execute(
                "CREATE UNIQUE INDEX of_current ON customer (no, land) WHERE valid_to IS NULL"
            )

    def write(self, rows: dict[Key, Values], name: str = "") -> Path:
        self.inrush.write(f"rows{name}.csv", file_text(rows))
        settings: dict[str, Value] = {"mode": "upsert", "key": ["no", "land"], "scd": SCD}
        one = flow("customer", f"rows{name}.csv", **settings)
        return self.inrush.write("package.toml", self.place.package(one))

    def run(self, fault: str | None = None) -> Outcome:
        environment = {} if fault is None else {"INRUSH_FAULT": fault}
        return self.inrush("run", "package.toml", environment=environment)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, with times as texts."""
        times = [f"CAST({name} AS VARCHAR(40))" for name in ("valid_from", "valid_to")]
        return self.place.query(
            f"SELECT no, land, {times[0]}, city, level, phone, visits, {times[1]}, is_current "
            "FROM customer"
        )

    def assert_as_the_model(self, since: datetime) -> None:
        """Fail unless the rows are those of the model; `since` is a moment before the last load."""
        found = self.rows
        new = {time for row in found for time in (row[2], row[7]) if time} - set(self.loads)
        # All versions of a run begin at one moment, between its start and now.
        assert len(new) <= 1, new
        for text in new:
            time = datetime.fromisoformat(text)
            time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
            assert since - timedelta(milliseconds=1) <= time <= datetime.now(timezone.utc)
            self.loads[text] = self.model.loads
        numbered = [
            (
                *row[:2],
                self.loads[row[2]],
                *row[3:7],
                self.loads[row[7]] if row[7] else None,
                bool(row[8]),
            )
            for row in found
        ]
        assert sorted(numbered) == self.model.rows()


@pytest.mark.clause("D-47")
@pytest.mark.parametrize("time", ["timestamptz", "timestamp"])
@pytest.mark.parametrize("seed", range(3))
def test_versions_are_as_the_model(merging: Place, inrush: Inrush, seed: int, time: str) -> None:
    customers = Customers(merging, inrush, time)
    chance = random.Random(seed)  # noqa: S311
    print("seed", seed)
    for load in range(5):
        rows = some_rows(chance)
        since = datetime.now(timezone.utc)
        customers.write(rows, str(load))
        expected = customers.model.load(rows)
        (table,) = customers.run().expect(CLEAN).report["tables"]
        assert table["versions"] == expected
        customers.assert_as_the_model(since)
    customers.run().expect(CLEAN, "already loaded")
    # The file is newer, so it is loaded again.
    since = datetime.now(timezone.utc)
    customers.write(rows, "4")
    (table,) = customers.run().expect(CLEAN).report["tables"]
    assert table["versions"]["unchanged"] == len(rows)
    customers.assert_as_the_model(since)


@pytest.mark.clause("D-47")
def test_one_output_of_several_keeps_versions(merging: Place, inrush: Inrush) -> None:
    """Rows of one land go to the versions, all others to a plain table."""
    customers = Customers(merging, inrush)
    merging.execute(
        "CREATE TABLE abroad (no integer NOT NULL, land text NOT NULL, city text, level integer, "
        "phone text, visits integer)"
    )
    foreign: list[tuple[str, str]] = []
    for load, rows in enumerate([FIRST, SECOND], 1):
        since = datetime.now(timezone.utc)
        inrush.write(f"rows{load}.csv", file_text(rows))
        columns = ["no integer", "land text", "city text", "level integer"]
        text = flow(None, f"rows{load}.csv", columns=[*columns, "phone text", "visits integer"])
        text += output("customer", when="land = 'at'", mode="upsert", key=["no", "land"], scd=SCD)
        text += output("abroad", mode="append")
        inrush.write("package.toml", merging.package(text))
        customers.run().expect(CLEAN)
        customers.model.load({key: row for key, row in rows.items() if key[1] == "at"})
        customers.assert_as_the_model(since)
        foreign += [(str(no), land) for no, land in rows if land != "at"]
    found = merging.query("SELECT no, land FROM abroad")
    assert sorted((str(no), land) for no, land in found) == sorted(foreign) != []


@pytest.mark.clause("D-23", "D-47")
@pytest.mark.parametrize("point", POINTS)
def test_versions_after_a_kill(merging: Place, inrush: Inrush, point: str) -> None:
    customers = Customers(merging, inrush)
    since = datetime.now(timezone.utc)
    customers.write(FIRST, "1")
    customers.run().expect(CLEAN)
    customers.model.load(FIRST)
    customers.assert_as_the_model(since)
    old = sorted(customers.rows)
    since = datetime.now(timezone.utc)
    customers.write(SECOND, "2")
    died = customers.run(point)
    assert died.status == -signal.SIGKILL, died.said
    if point not in ("after_switch_commit", "before_report"):
        assert sorted(customers.rows) == old
    customers.run().expect(CLEAN)
    customers.model.load(SECOND)
    customers.assert_as_the_model(since)


@pytest.mark.clause("D-47")
def test_a_version_that_began_after_the_run_is_not_ended(merging: Place, inrush: Inrush) -> None:
    customers = Customers(merging, inrush)
    customers.write(FIRST, "1")
    customers.run().expect(CLEAN)
    merging.execute("UPDATE customer SET valid_from = '2999-01-01 00:00:00+00:00' WHERE no = 3")
    before = sorted(customers.rows)
    customers.write(SECOND, "2")
    outcome = customers.run()
    outcome.expect(FAILED, "1 current version that begins at or after the start of this run")
    outcome.expect(FAILED, "no = 3, land = at begins at 2999-01-01 ", "cleanup", '"valid_from"')
    assert sorted(customers.rows) == before


@pytest.mark.clause("D-47")
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "changed"])
def test_a_version_does_not_begin_inside_an_ended_one(
    merging: Place, inrush: Inrush, is_new: bool
) -> None:
    customers = Customers(merging, inrush)
    customers.write(FIRST, "1")
    customers.run().expect(CLEAN)
    end = "valid_to = '2999-01-01 00:00:00+00:00', is_current = false"
    columns = "no, land, city, level, phone, visits, valid_from, valid_to, is_current"
    kept = "'2000-01-01 00:00:00+00:00', '2999-01-01 00:00:00+00:00', false"
    # The row with the number 25 gets no new version: its current one is overwritten.
    for number in (3, 25):
        if is_new and number == 3:
            merging.execute(f"UPDATE customer SET {end} WHERE no = 3")
        else:
            merging.execute(
                f"INSERT INTO customer ({columns}) "
                f"VALUES ({number}, 'at', 'Wien', 1, '1', 1, {kept})"
            )
    before = sorted(customers.rows)
    customers.write(SECOND, "2")
    said = "a version of no = 3, land = at that ends at 2999-01-01 "
    customers.run().expect(FAILED, said, '"valid_to"', "cleanup")
    assert sorted(customers.rows) == before
    merging.execute(
        "UPDATE customer SET valid_to = valid_from WHERE no = 3 AND valid_to IS NOT NULL"
    )
    (table,) = customers.run().expect(CLEAN).report["tables"]
    # In SECOND the tracked values of 20 rows differ, only other values of 10 rows differ, and 10
    # rows are new.
    changed = 19 if is_new else 20
    assert table["versions"] == {
        "new": 30 - changed, "changed": changed, "overwritten": 10, "unchanged": 0
    }  # fmt: skip


# Changes of the target, and the words of the refusal.
UNSUITABLE = [
    ("no integer NOT NULL", "no integer", "allows NULL in `no`"),
    ("valid_from timestamptz NOT NULL, ", "", "has no column `valid_from`"),
    ("valid_from timestamptz", "valid_from date", "versions begin at a time"),
    ("valid_from timestamptz", "valid_from timestamp", "in `valid_to`, but "),
    ("valid_to timestamptz", "valid_to timestamptz NOT NULL", "marks the current version"),
    ("is_current boolean", "is_current text", "needs a boolean"),
    ("is_current boolean NOT NULL", "is_current boolean, UNIQUE (land, no)", "only one version of"),
]


@pytest.mark.clause("D-47")
def test_targets_that_cannot_keep_versions(merging: Place, inrush: Inrush) -> None:
    table = (
        "CREATE TABLE customer (no integer NOT NULL, land text NOT NULL, city text, "
        "level integer, phone text, visits integer, "
        "valid_from timestamptz NOT NULL, valid_to timestamptz, is_current boolean NOT NULL)"
    )
    customers = Customers(merging, inrush)
    customers.write(FIRST)
    for old, new, said in UNSUITABLE:
        merging.drop("customer")
        assert old in table
        merging.execute(table.replace(old, new))
        customers.run().expect(FAILED, said)
        assert merging.query("SELECT count(*) FROM customer") == [(0,)]
    merging.drop("customer")
    if merging.partial_indexes:
        merging.execute(table)
        customers.run().expect(FAILED, "no unique index on the key", "CREATE UNIQUE INDEX")
        merging.drop("customer")
    customers.run().expect(FAILED, "does not exist")


@pytest.mark.clause("D-47")
def test_two_current_versions_of_a_key(merging: Place, inrush: Inrush) -> None:
    """Without partial indexes, a database cannot prevent a second current version of a key."""
    if merging.partial_indexes:
        pytest.skip("its index refuses them")
    customers = Customers(merging, inrush)
    customers.write(FIRST, "1")
    customers.run().expect(CLEAN)
    merging.execute("INSERT INTO customer SELECT * FROM customer WHERE no = 3")
    before = sorted(customers.rows)
    customers.write(SECOND, "2")
    customers.run().expect(FAILED, "several current versions with the same key")
    assert sorted(customers.rows) == before


@pytest.mark.clause("D-47")
def test_a_column_of_versions_is_not_loaded(merging: Place, inrush: Inrush) -> None:
    customers = Customers(merging, inrush)
    customers.write({})
    inrush.write("rows.csv", "no,land,valid_from\n1,at,2024-01-01\n")
    customers.run().expect(USAGE, "valid_from")
    assert customers.rows == []
