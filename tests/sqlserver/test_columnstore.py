"""Clustered columnstores: loads fill them with full rowgroups. All tests use the double."""

from __future__ import annotations

from typing import Any

import pytest

from harness.command import CLEAN, FAILED, USAGE
from sqlserver.loads import FUNCTION, SCHEME, TABLE, Loads

PLAIN = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)"
INDEX = "CREATE CLUSTERED COLUMNSTORE INDEX cci ON t"
NEW = "&columnstore=yes"


@pytest.fixture(autouse=True)
def small_rowgroups(loads: Loads) -> None:
    """Make rowgroups of 4 rows; a batch of fewer than 3 rows is not compressed."""
    loads.double.database.rowgroup_rows_max = 4
    loads.double.database.compressed_rows_min = 3


def rowgroups(loads: Loads) -> list[tuple[object, ...]]:
    """Return the rowgroups of the table: partition, rows, and why they were closed."""
    found = loads.rows(
        "SELECT partition_number, total_rows, trim_reason_desc FROM "
        "sys.dm_db_column_store_row_group_physical_stats WHERE object_id = OBJECT_ID(N't')"
    )
    return [tuple(row) for row in found]


# Ten rows of January in files of one or two rows, and three of February.
JANUARY = [f"{number},2024-01-{number:02}" for number in range(1, 11)]
FILES = (*JANUARY[:6], " ".join(JANUARY[6:8]), " ".join(JANUARY[8:]), "11,2024-02-01 12,2024-02-02")
IDS = list(range(1, 13))


def test_a_table_that_exists_gets_full_rowgroups(loads: Loads) -> None:
    loads.make(PLAIN, INDEX)
    loads.files(*FILES)
    loads("check", mode="append").expect(CLEAN, "clustered columnstore", "whatever the size")
    outcome = loads(mode="append").expect(CLEAN)
    assert loads.ids() == IDS
    assert rowgroups(loads) == [(1, 4, "NO_TRIM")] * 3
    assert loads.switches and not loads.copies
    assert "is a columnstore" not in str(outcome.report["notes"])
    loads.nothing_is_left()


def test_each_partition_gets_full_rowgroups(loads: Loads) -> None:
    place = "by_month(day)"
    loads.make(FUNCTION.format(side="LEFT"), SCHEME, TABLE.format(more=""), f"{INDEX} ON {place}")
    loads.files(*FILES)
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == IDS
    full, rest = (1, 4, "NO_TRIM"), "RESIDUAL_ROW_GROUP"
    assert rowgroups(loads) == [full, full, (1, 2, rest), (2, 2, rest)]
    loads.nothing_is_left()
    loads(mode="append").expect(CLEAN, "already loaded")


NEW_TABLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "partitioned": {"partition_by": "id", "bounds": [5, 9]},
}


@pytest.mark.parametrize("kind", NEW_TABLES)
def test_a_new_table_is_a_columnstore_if_that_is_asked_for(loads: Loads, kind: str) -> None:
    words = NEW_TABLES[kind]
    loads.files(*FILES)
    loads("check", options=NEW, **words).expect(CLEAN, "new tables are clustered columnstores")
    loads(options=NEW, **words).expect(CLEAN)
    assert loads.ids() == IDS
    groups = {(1, 4), (2, 4), (3, 4)} if words else {(1, 4)}
    assert {group[:2] for group in rowgroups(loads)} == groups
    assert sum(int(str(rows)) for _, rows, _ in rowgroups(loads)) == len(IDS)
    loads.nothing_is_left()
    # A table that exists keeps its form.
    loads(options=NEW, mode="replace", **words).expect(CLEAN)
    assert loads.ids() == IDS


def test_rows_that_are_copied_and_wait_are_told(loads: Loads) -> None:
    """If rows are added to a table, the report counts the uncompressed ones and names the fix."""
    loads.make(PLAIN, INDEX, "INSERT INTO t VALUES (100, '2024-01-01', NULL)")
    loads.files(*FILES)
    outcome = loads(mode="append").expect(CLEAN)
    assert loads.ids() == [*IDS, 100]
    # The row that was there waits as well.
    assert rowgroups(loads) == [(1, 1, None), *[(1, 4, "NO_TRIM")] * 3]
    fix = 'ALTER INDEX "cci" ON "dbo"."t" REORGANIZE WITH (COMPRESS_ALL_ROW_GROUPS = ON)'
    said = f"it keeps 1 row uncompressed, in delta rowgroups. {fix} compresses them"
    assert any(said in str(note) for note in outcome.report["notes"])


# The fix that the report names, by the reason why a build closed a rowgroup early.
TRIMS = {
    "MEMORY_LIMITATION": "the server had too little memory for its build: raise the memory grant "
    "of the login's workload group",
    "DICTIONARY_SIZE": "a column has too many different or long texts for its dictionary: shorten "
    "its texts, or use a rowstore for it",
}


@pytest.mark.parametrize("reason", TRIMS)
def test_a_rowgroup_that_was_closed_early_is_told(loads: Loads, reason: str) -> None:
    loads.double.database.trims_builds_for = reason
    loads.files("1,2024-01-01 2,2024-01-02")
    outcome = loads(options=NEW).expect(CLEAN)
    assert loads.rows("SELECT id, day, note FROM t ORDER BY id") == [
        [1, "2024-01-01", "n1"],
        [2, "2024-01-02", "n2"],
    ]
    assert rowgroups(loads) == [(1, 2, reason)]
    said = (
        '"dbo"."t" is a columnstore: 1 rowgroup was closed with 2 rows on average instead of '
        f"1,048,576, because of {reason}: {TRIMS[reason]}"
    )
    told = [note for note in outcome.report["notes"] if "rowgroup was closed" in note]
    assert len(told) == 1 and told[0].endswith(said), outcome.report["notes"]


def test_without_the_right_to_look_the_load_is_the_same(loads: Loads) -> None:
    loads.double.database.shows_rowgroups = False
    loads.files(*FILES)
    outcome = loads(options=NEW).expect(CLEAN)
    assert loads.ids() == IDS
    assert "VIEW DATABASE STATE" in str(outcome.report["notes"])


def test_a_stopped_load_builds_once(loads: Loads) -> None:
    loads.files(*FILES)
    loads("check", options=NEW).expect(CLEAN)
    words = ("run", loads.inrush.folder / "package.toml")
    died = loads.inrush(*words, environment={"INRUSH_FAULT": "before_switch_commit"})
    assert died.status < 0, died.said
    loads.inrush(*words).expect(CLEAN)
    assert loads.ids() == IDS
    assert len(loads.ran("CREATE CLUSTERED COLUMNSTORE")) == 1
    assert rowgroups(loads) == [(1, 4, "NO_TRIM")] * 3
    loads.nothing_is_left()


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "2016": ({"PRODUCTVERSION": "13.0.1601.5"}, "note text", "from SQL Server 2017 on"),
    "babelfish": (
        {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1},
        "note nvarchar(20)",
        "Babelfish has no columnstores",
    ),
    "xml": ({}, "note xml", "no columnstore can have"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_columns_that_a_columnstore_cannot_have(loads: Loads, case: str) -> None:
    properties, column, said = REFUSED[case]
    loads.double.database.properties |= properties
    loads.files("1,2024-01-01")
    columns = ["id integer not null", "day date not null", column]
    for command in ("check", "run"):
        loads(command, options=NEW, columns=columns).expect(FAILED, said)
    assert not loads.double.database.objects
    loads("check", options="&columnstore=maybe").expect(USAGE, "columnstore", "yes or no")
