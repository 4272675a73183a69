"""`inrush undo` removes the rows of a run from its targets."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pyarrow.dataset as pads
import pytest

from conformance.abilities import claims
from conformance.canonical import Row
from conformance.conftest import MakePlace
from conformance.destinations import (
    PLACES,
    AdbcSqlite,
    Parquet,
    Place,
    PostgreSql,
    in_order,
)
from harness.command import CLEAN, FAILED, Inrush, Outcome
from harness.packages import Value, flow

# The undo of PostgreSQL is tested in tests/postgres.
UNDOING = [
    kind for kind in PLACES if "undo" in claims()[kind.title] and not issubclass(kind, PostgreSql)
]
# Destinations in which each file has the rows of one run, so the rows of a run can be found.
BY_FILES = [kind for kind in UNDOING if not kind.speaks_sql]
# Destinations in whose tables the rows of a run cannot be found. They can keep the replaced rows
# instead.
BY_TABLES = [kind for kind in UNDOING if kind.speaks_sql]
# The destinations of BY_TABLES that merge rows by a key.
MERGING = [kind for kind in BY_TABLES if "upsert" in claims()[kind.title]]
TYPES = ("integer", "text")
TABLES = ("one", "two")


class Loads:
    """Loads into two tables of a destination; each run has a separate package."""

    def __init__(self, place: Place, inrush: Inrush) -> None:
        self.place = place
        self.inrush = inrush

    def package(self, name: str, first: int, mode: str, **settings: Value) -> Path:
        """Write a package that loads two rows into each table."""
        flows = []
        for number, table in enumerate(TABLES):
            numbers = range(first + 10 * number, first + 10 * number + 2)
            text = "".join(f"{key},{name}\n" for key in numbers)
            self.inrush.write(f"{name}.{table}.csv", f"id,note\n{text}")
            columns: list[Value] = ["id integer not null", "note text"]
            one = flow(table, f"{name}.{table}.csv", columns=columns, mode=mode, **settings)
            flows.append(one)
        return self.inrush.write(f"{name}.toml", self.place.package(*flows, name=name))

    def run(self, name: str, first: int, mode: str, **settings: Value) -> str:
        """Load, and return the name of the run."""
        package = self.package(name, first, mode, **settings)
        run: str = self.inrush("run", package).expect(CLEAN).report["run"]
        return run

    def undo(self, run: str, *words: str, fault: str | None = None) -> Outcome:
        """Undo a run."""
        environment = {"INRUSH_FAULT": fault} if fault else {}
        return self.inrush("undo", run, *self.place.words, *words, environment=environment)

    def rows(self, table: str) -> list[Row] | None:
        """Return the rows of a table."""
        return self.place.rows(table, TYPES)

    def assert_rows(self, *runs: tuple[str, int]) -> None:
        """Fail unless the tables have the rows of these runs, and staging is empty."""
        for number, table in enumerate(TABLES):
            rows = [
                (str(first + 10 * number + at), name) for name, first in runs for at in range(2)
            ]
            assert self.rows(table) == in_order(rows), table
        assert self.place.tables() == set(TABLES)


@pytest.fixture(params=UNDOING, ids=lambda kind: kind.name)
def loads(
    request: pytest.FixtureRequest, make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> Loads:
    """Return loads into each destination that can undo a run."""
    return Loads(make_place(request.param, tmp_path), inrush)


@pytest.fixture(params=BY_FILES, ids=lambda kind: kind.name)
def files(
    request: pytest.FixtureRequest, make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> Loads:
    """Return loads into each destination whose files have rows of one run."""
    return Loads(make_place(request.param, tmp_path), inrush)


@pytest.fixture(params=BY_TABLES, ids=lambda kind: kind.name)
def database(
    request: pytest.FixtureRequest, make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> Loads:
    """Return loads into each database whose runs can be undone."""
    return Loads(make_place(request.param, tmp_path), inrush)


@pytest.mark.clause("D-43")
def test_created_tables_are_gone_and_loaded_again(loads: Loads) -> None:
    run = loads.run("new", 100, "create")
    loads.undo(run).expect(CLEAN, f"undone: run {run}", "one", "two")
    assert loads.place.tables() == set()
    loads.undo(run).expect(CLEAN, "was undone before")
    again = loads.run("new", 100, "create")
    assert again != run
    loads.assert_rows(("new", 100))


@pytest.mark.clause("D-43")
@pytest.mark.parametrize("settings", [{}, {"partition_by": "note"}], ids=["plain", "partitions"])
def test_appended_rows_go_and_all_others_stay(files: Loads, settings: dict[str, Value]) -> None:
    loads = files
    loads.run("old", 100, "create", **settings)
    run = loads.run("new", 200, "append", **settings)
    loads.run("later", 300, "append", **settings)
    loads.undo(run).expect(CLEAN)
    loads.assert_rows(("old", 100), ("later", 300))
    # The same files can be loaded again, in a new run.
    second = loads.run("new", 200, "append", **settings)
    loads.assert_rows(("old", 100), ("later", 300), ("new", 200))
    loads.undo(second, "--drop").expect(CLEAN, "removed and dropped")
    loads.assert_rows(("old", 100), ("later", 300))


@pytest.mark.clause("D-43")
def test_a_table_without_rows_is_without_rows_again(loads: Loads) -> None:
    empty = loads.package("none", 0, "create")
    for table in TABLES:
        loads.inrush.write(f"none.{table}.csv", "id,note\n")
    loads.inrush("run", empty).expect(CLEAN)
    before = {table: loads.place.column_types(table) for table in TABLES}
    run = loads.run("new", 100, "append")
    loads.undo(run).expect(CLEAN)
    loads.assert_rows()
    assert {table: loads.place.column_types(table) for table in TABLES} == before
    loads.run("new", 100, "append")
    loads.assert_rows(("new", 100))


@pytest.mark.clause("D-43")
def test_replaced_rows_are_not_kept_so_it_is_refused(loads: Loads) -> None:
    old = loads.run("old", 100, "create")
    run = loads.run("new", 200, "replace")
    loads.undo(run).expect(FAILED, "it replaced 2 rows", "nothing was changed")
    since = (
        "were replaced or removed since" if not loads.place.speaks_sql else f"run {run} has loaded"
    )
    loads.undo(old).expect(FAILED, since, "nothing was changed")
    loads.assert_rows(("new", 200))


KEEP: dict[str, Value] = {"replace": {"keep": True}}


@pytest.mark.clause("D-43")
def test_replaced_rows_that_are_kept_come_back(database: Loads) -> None:
    old = database.run("old", 100, "create")
    run = database.run("new", 200, "replace", **KEEP)
    database.assert_rows(("new", 200))
    undone = database.undo(run).expect(CLEAN, f"undone: run {run}", "DROP TABLE")
    database.assert_rows(("old", 100))
    kept = re.findall(r"DROP TABLE (\S+);", undone.output)
    found = [database.place.query(f"SELECT id, note FROM {table}") for table in kept]
    assert [sorted(rows) for rows in found] == [
        [(200 + 10 * number + at, "new") for at in range(2)] for number in range(2)
    ]
    # The rows of the earlier run are there again, so its command has nothing to do.
    again = database.inrush("run", database.inrush.folder / "old.toml")
    again.expect(CLEAN, "already loaded", old)
    database.undo(run).expect(CLEAN, "was undone before")
    assert database.run("new", 200, "replace", **KEEP) != run
    database.assert_rows(("new", 200))


@pytest.mark.clause("D-43")
def test_rows_with_a_key_come_back(database: Loads) -> None:
    """An undo restores the rows, even if new rows have their keys and a column is computed."""
    for table in TABLES:
        columns = f"id integer PRIMARY KEY, note text{database.place.computed_column}"
        database.place.execute(f"CREATE TABLE {table} ({columns})")
        database.place.execute(f"INSERT INTO {table} (id, note) VALUES (100, 'x'), (110, NULL)")
    before = [sorted(database.place.query(f"SELECT * FROM {table}"), key=str) for table in TABLES]
    run = database.run("new", 100, "replace", **KEEP)
    database.undo(run, "--drop").expect(CLEAN)
    after = [sorted(database.place.query(f"SELECT * FROM {table}"), key=str) for table in TABLES]
    assert after == before
    assert [table for table in database.place.tables() if table not in TABLES] == []


@pytest.mark.clause("D-43")
def test_kept_rows_go_with_the_next_replace(database: Loads) -> None:
    database.run("old", 100, "create")
    first = database.run("new", 200, "replace", **KEEP)
    kept = _kept(database)
    database.run("new", 300, "replace", **KEEP)
    assert len(_kept(database)) == len(kept) == 2
    assert not kept & _kept(database)
    database.undo(first).expect(FAILED, "has loaded into", "nothing was changed")
    database.assert_rows(("new", 300))


def _kept(database: Loads) -> set[str]:
    """Return the tables that keep replaced rows, as the newest report names them."""
    reports = database.inrush.folder.glob("runs/*/report.json")
    newest = max(reports, key=lambda path: path.stat().st_mtime_ns)
    notes = "\n".join(json.loads(newest.read_text())["notes"])
    return set(re.findall(r"are kept in (\S+) until", notes))


@pytest.mark.clause("D-43")
def test_rows_are_kept_under_a_name(database: Loads) -> None:
    database.run("old", 100, "create")
    package = database.package("new", 200, "replace")
    text = package.read_text().replace(
        'table = "one"', 'table = "one"\nreplace = { keep = "before" }'
    )
    assert "before" in text
    package.write_text(text)
    database.inrush("run", package).expect(CLEAN)
    assert database.rows("before") == [("100", "old"), ("101", "old")]
    # If a name is taken, the publish is refused and nothing is changed.
    package.write_text(text.replace("new.", "old."))
    database.inrush("run", package).expect(FAILED, "before", "exists")
    assert database.rows("one") == [("200", "new"), ("201", "new")]


@pytest.mark.clause("D-43")
def test_added_rows_cannot_be_told_apart(database: Loads) -> None:
    database.run("old", 100, "create")
    run = database.run("new", 200, "append")
    database.undo(run).expect(FAILED, "it added its rows to those of", "nothing was changed")
    database.assert_rows(("old", 100), ("new", 200))


@pytest.mark.clause("D-43")
@pytest.mark.parametrize("kind", MERGING, ids=lambda kind: kind.name)
def test_merged_rows_stay_and_are_not_to_be_deleted(
    kind: type[Place], make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    database = Loads(make_place(kind, tmp_path), inrush)
    database.run("old", 100, "create")
    for table in TABLES:
        database.place.execute(f"CREATE UNIQUE INDEX of_{table} ON {table} (id)")
    run = database.run("new", 100, "upsert", key="id")
    refused = database.undo(run).expect(FAILED, "merged its rows into those of", "from a backup")
    assert "by hand" not in refused.said
    database.assert_rows(("new", 100))


@pytest.mark.clause("D-43")
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("INSERT INTO two VALUES (7, 'later')", "but now it has 3 rows"),
        ("DELETE FROM two WHERE id = 210", "but now it has 1 row"),
        ("DROP TABLE two", "was removed"),
    ],
    ids=["inserted", "deleted", "dropped"],
)
def test_a_table_that_was_changed_since_is_refused(
    database: Loads, statement: str, says: str
) -> None:
    run = database.run("new", 200, "create")
    database.place.execute(statement)
    database.undo(run).expect(FAILED, says, "nothing was changed")
    assert database.rows("one") == [("200", "new"), ("201", "new")]


@pytest.mark.clause("D-43")
def test_kept_rows_that_were_changed_are_not_put_back(database: Loads) -> None:
    database.run("old", 100, "create")
    run = database.run("new", 200, "replace", **KEEP)
    kept = max(_kept(database))
    database.place.execute(f"DELETE FROM {kept}")
    database.undo(run).expect(FAILED, kept, "was dropped or changed", "nothing was changed")
    database.assert_rows(("new", 200))


@pytest.mark.clause("D-43")
@pytest.mark.parametrize(
    "point", ["in_switch", "before_switch_commit", "switch_commit_sent", "after_switch_commit"]
)
def test_killed_while_kept_rows_come_back(database: Loads, point: str) -> None:
    database.run("old", 100, "create")
    run = database.run("new", 200, "replace", **KEEP)
    died = database.undo(run, fault=point)
    assert died.status == -signal.SIGKILL, f"{point} was not reached: {died.said}"
    # Both tables are exchanged in one transaction.
    name = "new" if point in ("in_switch", "before_switch_commit") else "old"
    database.assert_rows((name, 200 if name == "new" else 100))
    database.undo(run).expect(CLEAN)
    database.assert_rows(("old", 100))


def test_triggers_of_sqlite_are_in_the_way(
    make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    loads = Loads(make_place(AdbcSqlite, tmp_path), inrush)
    loads.place.execute("CREATE TABLE one (id integer, note text)")
    loads.place.execute("CREATE TABLE seen (id integer)")
    run = loads.run("new", 100, "create")
    loads.place.execute(
        "CREATE TRIGGER noted AFTER DELETE ON one BEGIN INSERT INTO seen VALUES (old.id); END"
    )
    loads.undo(run).expect(FAILED, "has triggers", "nothing was changed")
    loads.place.execute("DROP TRIGGER noted")
    loads.undo(run).expect(CLEAN)
    assert loads.rows("one") == []
    assert "two" not in loads.place.tables()


@pytest.mark.clause("D-43")
def test_what_is_no_published_run_is_refused(loads: Loads) -> None:
    run = loads.run("old", 100, "create")
    loads.undo(f"{run}x").expect(FAILED, f"no run {run}x")
    package = loads.package("new", 200, "append")
    died = loads.inrush("run", package, environment={"INRUSH_FAULT": "before_switch"})
    assert died.status == -signal.SIGKILL, died.said
    (stopped,) = {path.name for path in loads.inrush.folder.glob("runs/*/")} - {run}
    loads.undo(stopped).expect(FAILED, "has published nothing", "cleanup")
    loads.inrush("run", package).expect(CLEAN)
    if not loads.place.speaks_sql:
        loads.undo(stopped).expect(CLEAN)
        loads.assert_rows(("old", 100))


@pytest.mark.clause("D-43")
@pytest.mark.parametrize("words", [(), ("--drop",)], ids=["kept", "dropped"])
@pytest.mark.parametrize(
    "point",
    [
        "in_switch",
        "in_switch:2",
        "before_switch_commit",
        "switch_commit_sent",
        "after_switch_commit",
        "before_switch_commit:2",
        "after_switch_commit:2",
        "before_tidying",
    ],
)
def test_killed_the_same_command_completes_it(
    files: Loads, point: str, words: tuple[str, ...]
) -> None:
    loads = files
    loads.run("old", 100, "create")
    run = loads.run("new", 200, "append")
    died = loads.undo(run, *words, fault=point)
    assert died.status == -signal.SIGKILL, f"{point} was not reached: {died.said}"
    for number, table in enumerate(TABLES):
        # Each table has all rows of the run, or none.
        assert len(loads.rows(table) or []) in (2, 4), (number, table)
    loads.undo(run, *words).expect(CLEAN)
    loads.assert_rows(("old", 100))
    loads.undo(run, *words).expect(CLEAN, "was undone before")
    loads.assert_rows(("old", 100))


@pytest.mark.clause("D-43")
@pytest.mark.parametrize("point", ["before_switch_commit", "after_switch_commit"])
def test_killed_while_created_tables_go(loads: Loads, point: str) -> None:
    _created_tables_go(loads, point)


@pytest.mark.clause("D-43")
def test_killed_before_the_rest_of_created_tables_goes(files: Loads) -> None:
    _created_tables_go(files, "before_tidying")


def _created_tables_go(loads: Loads, point: str) -> None:
    run = loads.run("new", 100, "create")
    died = loads.undo(run, fault=point)
    assert died.status == -signal.SIGKILL, f"{point} was not reached: {died.said}"
    loads.undo(run).expect(CLEAN)
    assert loads.place.tables() == set()
    loads.run("new", 100, "create")
    loads.assert_rows(("new", 100))


@pytest.fixture
def lake(make_place: MakePlace, inrush: Inrush, tmp_path: Path) -> Loads:
    """Return loads into a folder of Parquet files."""
    return Loads(make_place(Parquet, tmp_path), inrush)


def test_files_are_kept_in_a_folder_that_is_named(lake: Loads) -> None:
    assert isinstance(lake.place, Parquet)
    lake.run("old", 100, "create")
    run = lake.run("new", 200, "append")
    outcome = lake.undo(run).expect(CLEAN, "rm -r")
    for number, table in enumerate(TABLES):
        (folder,) = lake.place.folder.glob(f"_inrush/undone/*/{table}")
        assert f"kept as ./{folder.relative_to(lake.inrush.folder)}" in outcome.output
        kept = pads.dataset(folder, format="parquet").to_table().to_pylist()
        assert sorted(row["id"] for row in kept) == [200 + 10 * number, 201 + 10 * number]


def test_a_table_that_something_else_rewrote_is_refused(lake: Loads) -> None:
    assert isinstance(lake.place, Parquet)
    lake.run("old", 100, "create")
    run = lake.run("new", 200, "append")
    newest = max(lake.place.path("two").glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    newest.rename(newest.with_name("compacted.parquet"))
    lake.undo(run).expect(FAILED, newest.name, "rewritten the table", "nothing was changed")
    lake.assert_rows(("old", 100), ("new", 200))


def test_a_table_that_was_removed_is_refused(lake: Loads) -> None:
    run = lake.run("new", 200, "create")
    lake.place.drop("two")
    lake.undo(run).expect(FAILED, "table two was removed", "nothing was changed")
    assert len(lake.rows("one") or []) == 2
