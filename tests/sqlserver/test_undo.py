"""Replaced rows that are kept, and runs that are undone, on the double.

The tests for all destinations are in tests/conformance/test_undo.py.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, Outcome
from sqlserver.double.storage import ForeignKey
from sqlserver.loads import FUNCTION, SCHEME, TABLE, Loads
from sqlserver.test_partitions import INDEXED

PLAIN = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)"
KEY = "ALTER TABLE t ADD CONSTRAINT key_of_t PRIMARY KEY CLUSTERED (id)"
CHECK = "ALTER TABLE t WITH CHECK ADD CONSTRAINT positive CHECK (id > 0)"
OLD = "INSERT INTO t (id, day, note) VALUES (90, '2024-01-02', N'old'), (91, '2024-02-03', NULL)"
KEEP: dict[str, Any] = {"mode": "replace", "replace": {"keep": True}}
KEEP_PARTITIONS: dict[str, Any] = {
    "mode": "replace",
    "replace": {"scope": "partitions", "keep": True},
}
JANUARY, FEBRUARY, MARCH = "1,2024-01-05 2,2024-01-20", "3,2024-02-10", "4,2024-03-05"


def run(loads: Loads, rows: str, options: str = "", **settings: Any) -> str:
    """Load a file, and return the name of the run."""
    loads.files(rows)
    name: str = loads("run", options, **settings).expect(CLEAN).report["run"]
    return name


def undo(loads: Loads, name: str, *words: str, fault: str | None = None) -> Outcome:
    """Undo a run."""
    environment = {"INRUSH_FAULT": fault} if fault else {}
    return loads.inrush("undo", name, "--to", loads.double.url, *words, environment=environment)


def contents(loads: Loads) -> list[list[object]]:
    """Return the rows of the table."""
    return loads.rows("SELECT id, day, note FROM t ORDER BY id")


def own_tables(loads: Loads) -> set[str]:
    """Return the tables that keep rows."""
    names = loads.rows("SELECT name FROM sys.tables WHERE schema_id = N'inrush'")
    return {str(name) for (name,) in names if str(name).startswith(("kept_", "undone_"))}


@pytest.mark.parametrize("drops", [False, True], ids=["kept", "dropped"])
def test_replaced_rows_are_switched_out_and_back(loads: Loads, drops: bool) -> None:
    loads.make(PLAIN, KEY, CHECK, OLD)
    before = contents(loads)
    name = run(loads, JANUARY, **KEEP)
    assert loads.ids() == [1, 2]
    assert own_tables(loads) == {"kept_1_1"}
    undo(loads, name, *(["--drop"] if drops else [])).expect(CLEAN)
    assert contents(loads) == before
    assert loads.copies == [] and loads.ran('SELECT "id"') == []
    kept, staged, *back = loads.switches
    assert (kept, staged.startswith('TO "dbo"."t"')) == ('TO "inrush"."kept_1_1"', True)
    assert back == ([] if drops else ['TO "inrush"."undone_1_1"']) + ['TO "dbo"."t"']
    assert own_tables(loads) == (set() if drops else {"undone_1_1"})


@pytest.mark.parametrize("options", ["", "&switch=no"])
def test_rows_that_cannot_be_switched_are_copied_out_and_back(loads: Loads, options: str) -> None:
    loads.make(PLAIN.replace("id int", "id int IDENTITY(1, 1)"))
    session = loads.double.session()
    session.execute(f"SET IDENTITY_INSERT t ON; {OLD}")
    session.close()
    before = contents(loads)
    name = run(loads, JANUARY, options, **KEEP)
    assert loads.ids() == [1, 2]
    undo(loads, name).expect(CLEAN)
    assert contents(loads) == before
    assert loads.switches == []
    assert loads.rows('SELECT id FROM "inrush"."undone_1_1" ORDER BY id') == [[1], [2]]


def test_a_table_that_lost_an_index_gets_its_rows_by_a_copy(loads: Loads) -> None:
    loads.make(PLAIN, "CREATE INDEX of_day ON t (day)", OLD)
    before = contents(loads)
    name = run(loads, JANUARY, **KEEP)
    loads.make("DROP INDEX of_day ON t")
    undo(loads, name, "--drop").expect(CLEAN)
    assert contents(loads) == before
    assert len(loads.copies) == 1


@pytest.mark.parametrize("indexed", [False, True], ids=["heap", "indexed"])
def test_replaced_partitions_come_back(loads: Loads, indexed: bool) -> None:
    loads.months()
    loads.make(*(INDEXED if indexed else []), OLD)
    before = contents(loads)
    name = run(loads, JANUARY, **KEEP_PARTITIONS)
    assert loads.ids() == [1, 2, 91]
    later = run(loads, MARCH, mode="append")
    undo(loads, name).expect(CLEAN)
    # The rows of the later run are in another partition.
    assert loads.ids() == [4, 90, 91]
    undo(loads, later).expect(CLEAN)
    assert contents(loads) == before
    assert loads.copies == []


def test_rows_that_were_added_to_a_partition(loads: Loads) -> None:
    loads.months(side="RIGHT")
    loads.make(OLD)
    name = run(loads, f"{MARCH} 5,2024-04-01", mode="append")
    later = run(loads, "6,2024-03-07", mode="append")
    undo(loads, name).expect(FAILED, f"run {later} has loaded into", "nothing was changed")
    undo(loads, later).expect(FAILED, "it added its rows to those of", "nothing was changed")
    loads.make("DELETE FROM t WHERE id = 6")
    undo(loads, name).expect(FAILED, f"run {later} has loaded into")
    assert loads.ids() == [4, 5, 90, 91]


def test_rows_of_empty_partitions_are_taken_out(loads: Loads) -> None:
    loads.months()
    loads.make(OLD)
    name = run(loads, MARCH, mode="append")
    loads.make("INSERT INTO t VALUES (7, '2024-03-09', NULL)")
    says = 'partition 3 of "dbo"."t" had 1 row, but now it has 2 rows'
    undo(loads, name).expect(FAILED, says, "nothing was changed")
    loads.make("DELETE FROM t WHERE id = 7", "INSERT INTO t VALUES (8, '2024-02-09', NULL)")
    undo(loads, name, "--drop").expect(CLEAN)
    assert loads.ids() == [8, 90, 91]


def test_partitions_with_other_numbers_are_not_taken_out(loads: Loads) -> None:
    """A split of a lower partition changes the numbers of the partitions above it."""
    loads.months(side="RIGHT")
    name = run(loads, f"{FEBRUARY} {MARCH}", mode="append")
    loads.make(
        "ALTER PARTITION SCHEME by_month NEXT USED old",
        "ALTER PARTITION FUNCTION months() SPLIT RANGE ('2023-06-01')",
    )
    undo(loads, name).expect(FAILED, "were added, split or merged since", "nothing was changed")
    assert loads.ids() == [3, 4]


@pytest.mark.parametrize("drops", [False, True], ids=["kept", "dropped"])
def test_a_table_that_was_made_goes_with_its_partitions(loads: Loads, drops: bool) -> None:
    name = run(loads, JANUARY, partition_by="id", bounds=[0, 2, 4])
    outcome = undo(loads, name, *(["--drop"] if drops else [])).expect(CLEAN)
    assert loads.rows("SELECT name FROM sys.tables WHERE name = N't'") == []
    if not drops:
        assert loads.double.database.functions
        statements = outcome.output.split("DROP TABLE", 1)[1].strip()
        loads.make(f"DROP TABLE {statements}")
    assert not loads.double.database.functions and not loads.double.database.schemes
    assert own_tables(loads) == set()
    run(loads, JANUARY, partition_by="id", bounds=[0, 2, 4])
    assert loads.ids() == [1, 2]


def test_partitions_that_another_table_uses_stay(loads: Loads) -> None:
    name = run(loads, JANUARY, partition_by="id", bounds=[0, 2, 4])
    (scheme,) = loads.double.database.schemes
    loads.make(f'CREATE TABLE other (id int NOT NULL) ON "{scheme}"(id)')
    undo(loads, name, "--drop").expect(CLEAN)
    assert list(loads.double.database.schemes) == [scheme]


def test_a_table_that_somebody_locks(loads: Loads) -> None:
    loads.make(PLAIN, OLD)
    name = run(loads, JANUARY, **KEEP)
    session = loads.double.session()
    session.execute("BEGIN TRANSACTION; INSERT INTO t VALUES (7, '2024-01-02', NULL)")
    refused = undo(loads, name, "--lock-timeout-ms", "200")
    refused.expect(FAILED, "was locked by another session", "at most 200 ms", "nothing was changed")
    session.close()
    undo(loads, name).expect(CLEAN)
    assert loads.ids() == [90, 91]


def test_rows_of_other_tables_are_not_deleted(loads: Loads) -> None:
    """Neither a run that replaces rows nor an undo sets off ON DELETE CASCADE."""
    loads.make(PLAIN, KEY, "CREATE TABLE orders (t_id int NOT NULL)", OLD)
    name = run(loads, JANUARY, **KEEP)
    keys = loads.double.database.foreign_keys
    keys.append(ForeignKey("of_orders", "orders", "t", on_delete=1))
    undo(loads, name).expect(FAILED, "of_orders", "ON DELETE")
    loads.files(FEBRUARY)
    loads(mode="replace").expect(FAILED, "of_orders", "ON DELETE")
    assert loads.ids() == [1, 2]
    # No rows are switched out of a table to which foreign keys refer (error 4967).
    keys[0].on_delete = 0
    loads.double.batches.clear()
    name = loads(**KEEP).expect(CLEAN).report["run"]
    assert loads.ids() == [3]
    undo(loads, name, "--drop").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert len(loads.switches) == 1 and len(loads.copies) == 1


def test_the_history_of_a_temporal_table_would_keep_the_rows(loads: Loads) -> None:
    loads.make(PLAIN)
    loads.mark("temporal")
    name = run(loads, JANUARY, mode="append")
    undo(loads, name).expect(FAILED, "is a temporal table", "nothing was changed")
    assert loads.ids() == [1, 2]


def test_a_run_of_an_older_ledger(loads: Loads) -> None:
    """A ledger without the table of changes can be used, but its runs cannot be undone."""
    loads.make(PLAIN)
    old = run(loads, JANUARY, mode="append")
    loads.make('DROP TABLE "inrush"."change"')
    says = "an earlier version of Inrush made the run"
    undo(loads, old).expect(FAILED, says, "nothing was changed")
    name = run(loads, FEBRUARY, **KEEP)
    undo(loads, old).expect(FAILED, says)
    undo(loads, name).expect(CLEAN)
    assert loads.ids() == [1, 2]


@pytest.mark.parametrize("point", ["in_switch", "before_switch_commit", "after_switch_commit"])
def test_killed_while_partitions_come_back(loads: Loads, point: str) -> None:
    loads.months()
    loads.make(OLD)
    before = contents(loads)
    name = run(loads, JANUARY, **KEEP_PARTITIONS)
    died = undo(loads, name, fault=point)
    assert died.status == -signal.SIGKILL, died.said
    undo(loads, name).expect(CLEAN)
    assert contents(loads) == before


def test_kept_partitions_of_a_split_function_come_back(loads: Loads) -> None:
    """The table with kept rows has the same partition function, so a later split affects both."""
    loads.make(FUNCTION.format(side="RIGHT"), SCHEME, TABLE.format(more=""), OLD)
    name = run(loads, JANUARY, **KEEP_PARTITIONS)
    bounds = ["2024-04-30", "2024-05-31"]
    loads.files("9,2024-05-02")
    loads(mode="append", partition_by="day", bounds=bounds).expect(CLEAN)
    undo(loads, name).expect(FAILED, "were added, split or merged since")
    assert loads.ids() == [1, 2, 9, 91]
