"""Merging rows into a target by a key."""

from __future__ import annotations

import signal

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.watcher import Watcher

TARGETS = {
    "plain": "",
    "range": "PARTITION BY RANGE (k); "
    "CREATE TABLE low PARTITION OF stock FOR VALUES FROM (0) TO (5);"
    "CREATE TABLE high PARTITION OF stock FOR VALUES FROM (5) TO (10)",
    "hash": "PARTITION BY HASH (k);"
    "CREATE TABLE h0 PARTITION OF stock FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
    "CREATE TABLE h1 PARTITION OF stock FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
}


def make_target(database: Database, partitioning: str = "") -> None:
    database.execute(
        "CREATE TABLE stock (id int NOT NULL, k int NOT NULL, note text, stays text DEFAULT 'new', "
        f"PRIMARY KEY (k, id)) {partitioning}"
    )
    database.execute(
        "INSERT INTO stock SELECT n, n % 10, 'old', 'old' FROM generate_series(1, 100) n"
    )


def write_package(inrush: Inrush, database: Database, **more: Value) -> None:
    lines = "".join(f"{n}|{n % 10}|note {n}|\n" for n in range(51, 201))
    inrush.write("rows.tbl", lines)
    settings: dict[str, Value] = {"mode": "upsert", "key": ["id", "k"]}
    settings |= {"columns": ["id", "k", "note"], **more}
    inrush.write("package.toml", package(database.url, flow("stock", "rows.tbl", **settings)))


MERGED = [
    *((n, n % 10, "old", "old") for n in range(1, 51)),
    *((n, n % 10, f"note {n}", "old") for n in range(51, 101)),
    *((n, n % 10, f"note {n}", "new") for n in range(101, 201)),
]


def loaded(database: Database) -> list[tuple[int, int, str, str]]:
    return database.rows("SELECT id, k, note, stays FROM stock ORDER BY id")


def run(inrush: Inrush) -> Outcome:
    return inrush("run", "package.toml")


@pytest.mark.parametrize("partitioning", TARGETS.values(), ids=list(TARGETS))
def test_rows_take_the_place_of_those_of_their_key(
    database: Database, inrush: Inrush, partitioning: str
) -> None:
    make_target(database, partitioning)
    write_package(inrush, database)
    inrush("check", "package.toml").expect(CLEAN, "merged into it by the key", "ON CONFLICT")
    (table,) = run(inrush).expect(CLEAN).report["tables"]
    assert loaded(database) == MERGED
    assert (table["account"]["rows_loaded"], table["rows_updated"]) == (150, 50)
    run(inrush).expect(CLEAN, "already loaded")


@pytest.mark.parametrize("point", ["in_switch", "before_switch_commit", "after_switch_commit"])
def test_killed_around_the_switch(database: Database, inrush: Inrush, point: str) -> None:
    make_target(database)
    write_package(inrush, database)
    watcher = Watcher(database, "stock")
    old = watcher.now()
    with watcher:
        died = inrush("run", "package.toml", environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
        run(inrush).expect(CLEAN)
    assert loaded(database) == MERGED
    assert watcher.seen <= {old, watcher.now()}, watcher.seen


def test_a_key_alone(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE stock (id int UNIQUE); INSERT INTO stock VALUES (7), (9)")
    inrush.write("rows.tbl", "7|\n8|\n|\n|\n")
    write_package(inrush, newest_database, key="id", columns=["id"])
    inrush.write("rows.tbl", "7|\n8|\n|\n|\n")
    (table,) = run(inrush).expect(CLEAN).report["tables"]
    assert newest_database.rows("SELECT id FROM stock ORDER BY id") == [
        (7,), (8,), (9,), (None,), (None,),
    ]  # fmt: skip
    assert table["rows_updated"] == 1


def test_a_key_without_an_index_and_odd_ones_are_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    make_target(newest_database)
    write_package(inrush, newest_database, key="id")
    run(inrush).expect(FAILED, "no unique index on the key", "CREATE UNIQUE INDEX")
    write_package(inrush, newest_database, key=["id", "stays"])
    run(inrush).expect(USAGE, "`stays`", "is not loaded")
    newest_database.execute("DROP TABLE stock")
    write_package(inrush, newest_database)
    run(inrush).expect(FAILED, "does not exist")


UNFIT = {
    "UNIQUE (id) DEFERRABLE": ("the deferrable constraint", "DROP CONSTRAINT", "UNIQUE"),
    "PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED": ("the deferrable constraint", "PRIMARY KEY"),
    "UNIQUE NULLS NOT DISTINCT (id)": (
        "NULLS NOT DISTINCT",
        "make the columns of the key NOT NULL",
    ),
}


@pytest.mark.parametrize("constraint", UNFIT)
def test_unique_indexes_that_the_merge_cannot_use_are_refused_by_the_plan(
    newest_database: Database, inrush: Inrush, constraint: str
) -> None:
    """Before this check existed, each such index failed the load in the switch."""
    newest_database.execute(f"CREATE TABLE stock (id int, k int, {constraint})")
    write_package(inrush, newest_database, key="id", columns=["id", "k"])
    inrush.write("rows.tbl", "1|1|\n|2|\n|3|\n")
    for command in ("check", "run"):
        inrush(command, "package.toml").expect(FAILED, *UNFIT[constraint])
    # A second, usable index does not help: the server looks at all unique indexes.
    newest_database.execute("CREATE UNIQUE INDEX ON stock (id)")
    inrush("check", "package.toml").expect(FAILED, *UNFIT[constraint])


def test_nulls_that_are_equal_do_not_matter_where_none_may_be(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(
        "CREATE TABLE stock (id int NOT NULL, k int NOT NULL, note text, UNIQUE NULLS NOT DISTINCT "
        "(id, k), UNIQUE (note) DEFERRABLE)"
    )
    write_package(inrush, newest_database)
    run(inrush).expect(CLEAN)
    assert newest_database.rows("SELECT count(*) FROM stock") == [(150,)]
