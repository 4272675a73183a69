"""Properties of a target that forbid SWITCH: the plan says so, and the rows are copied."""

from __future__ import annotations

from typing import Any

import pytest

from harness.command import CLEAN, USAGE
from sqlserver.double import Session, Table
from sqlserver.double.storage import ForeignKey
from sqlserver.loads import COLUMNS, FUNCTION, SCHEME, Loads
from sqlserver.statements import OpenSession, fails

PLAIN = (
    "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note varchar(20) NULL, CONSTRAINT c "
    "CHECK (id > 0))"
)
# The trait, its column, the number of the error of SWITCH, and the reason in the plan.
FORBIDDEN: list[tuple[str, str | None, int, str]] = [
    ("change_tracking", None, 4900, "its changes are tracked (CHANGE_TRACKING)"),
    ("fulltext_index", None, 4918, "it has a full-text index"),
    ("is_merge_published", None, 4941, "it is replicated, or its changes are captured"),
    ("filestream", "note", 4951, "column note is stored as FILESTREAM"),
    ("ansi_unpadded", "note", 4952, "column note was made with ANSI_PADDING OFF"),
    ("text_in_row", None, 4954, "it has the option 'text in row'"),
    ("rowguidcol", "note", 4958, "column note is the ROWGUIDCOL"),
    ("rule", "id", 4964, "column id has a rule (sp_bindrule)"),
    ("xml_collection", "note", 4987, "column note has an XML schema collection"),
    ("temporal", None, 13577, "it is a temporal table"),
    ("out_of_row", None, 4993, "it has the option 'large value types out of row'"),
]
IDS = [trait for trait, *_ in FORBIDDEN]


@pytest.mark.parametrize(("trait", "column", "number", "reason"), FORBIDDEN, ids=IDS)
def test_rows_are_copied(
    loads: Loads, trait: str, column: str | None, number: int, reason: str
) -> None:
    del number
    loads.make(PLAIN)
    loads.mark(trait, column)
    _are_copied(loads, reason)


def _are_copied(loads: Loads, reason: str) -> None:
    """Fail unless the rows are copied for this reason, which the plan and the report name."""
    loads.files("1,2024-01-01 2,2024-02-02")
    said = f"gets its rows by INSERT ... SELECT and not by SWITCH, because {reason}"
    loads("check", mode="append").expect(CLEAN, said)
    assert "SWITCH TO" not in loads("check", "", "--sql", mode="append").expect(CLEAN).output
    outcome = loads(mode="append").expect(CLEAN)
    assert loads.rows("SELECT id, day, note FROM t ORDER BY id") == [
        [1, "2024-01-01", "n1"],
        [2, "2024-02-02", "n2"],
    ]
    assert not loads.switches and len(loads.copies) == 1
    assert any(f"and not by SWITCH, because {reason}" in note for note in outcome.report["notes"])
    loads.nothing_is_left()


@pytest.mark.parametrize(("trait", "column", "number", "reason"), FORBIDDEN, ids=IDS)
def test_the_double_refuses_the_switch(
    open_session: OpenSession, trait: str, column: str | None, number: int, reason: str
) -> None:
    del reason
    session: Session = open_session()
    for name in ("s", "t"):
        session.execute(PLAIN.replace("TABLE t", f"TABLE {name}"))
    session.execute("ALTER TABLE s SWITCH TO t")
    table = session.database.objects["dbo", "t"]
    assert isinstance(table, Table)
    if column is None:
        table.traits.add(trait)
    else:
        table.columns[table.place(column) or 0].traits |= {trait}
    fails(session, number, "ALTER TABLE s SWITCH TO t")


def test_a_check_that_is_not_for_replication(loads: Loads) -> None:
    loads.make(PLAIN, PLAIN.replace("TABLE t", "TABLE s"))
    (check,) = loads.table.checks
    check.not_for_replication = True
    session = loads.double.session()
    fails(session, 4975, "ALTER TABLE s SWITCH TO t")
    session.execute("DROP TABLE s")
    session.close()
    loads.files("1,2024-01-01")
    said = "and not by SWITCH, because its CHECK c is NOT FOR REPLICATION"
    loads("check", mode="append").expect(CLEAN, said)
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1]
    assert not loads.switches[1:] and len(loads.copies) == 1


LARGE = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(max) NULL)"


@pytest.mark.parametrize("place", ["", " ON [old]", " ON [old] TEXTIMAGE_ON [new]"])
def test_large_values_are_staged_in_the_filegroup_of_the_target(loads: Loads, place: str) -> None:
    loads.make(LARGE + place)
    loads.files("1,2024-01-01")
    loads(mode="append").expect(CLEAN)
    assert loads.rows("SELECT id, day, note FROM t") == [[1, "2024-01-01", "n1"]]
    assert len(loads.switches) == 1 and not loads.copies
    staged = " TEXTIMAGE_ON " + ('"new"' if "new" in place else '"PRIMARY"')
    (made,) = loads.ran('CREATE TABLE "dbo"."inrush_staging')
    assert made.endswith(staged)


def test_large_values_that_a_partitioned_table_has_elsewhere(loads: Loads) -> None:
    loads.make(FUNCTION.format(side="LEFT"), SCHEME, LARGE + " ON by_month(day)")
    loads.files("1,2024-01-01")
    loads(mode="append").expect(CLEAN)
    assert len(loads.switches) == 1 and not loads.copies
    # The table had no partitions when it was made.
    loads.table.large_value_space = "old"
    loads.files("2,2024-02-02")
    said = "because its large values are in old and not in its partition scheme"
    loads("check", mode="append").expect(CLEAN, said)
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert len(loads.switches) == 1 and len(loads.copies) == 1


def test_the_double_refuses_large_values_in_another_filegroup(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.database.filegroups += ["old"]
    session.execute("CREATE TABLE s (note nvarchar(max))")
    session.execute("CREATE TABLE t (note nvarchar(max)) TEXTIMAGE_ON [old]")
    fails(session, 4959, "ALTER TABLE s SWITCH TO t")
    fails(session, 1709, "CREATE TABLE u (id int) TEXTIMAGE_ON [old]")


def test_rows_are_copied_into_a_table_with_a_trigger(loads: Loads) -> None:
    """Neither SWITCH nor TRUNCATE would run the trigger."""
    loads.make(PLAIN)
    loads.mark("trigger")
    _are_copied(loads, "it has triggers, which a switch does not run")
    _is_replaced_row_by_row(loads)


def test_rows_are_copied_into_a_table_with_a_foreign_key(loads: Loads) -> None:
    loads.make(PLAIN, "CREATE TABLE other (id int NOT NULL)")
    loads.double.database.foreign_keys.append(ForeignKey("of_t", "t", "other"))
    _are_copied(loads, "it has foreign keys")
    loads.make("CREATE TABLE s (id int NOT NULL, day date NOT NULL, note varchar(20) NULL)")
    session = loads.double.session()
    fails(session, 4968, "ALTER TABLE s SWITCH TO t")
    session.close()


def test_rows_are_copied_into_a_table_that_an_indexed_view_reads(loads: Loads) -> None:
    loads.make(PLAIN)
    loads.double.database.indexed_views = {"days": "t"}
    _are_copied(loads, "a view with SCHEMABINDING reads it")
    _is_replaced_row_by_row(loads)


@pytest.mark.parametrize(
    ("trait", "reason"),
    [
        ("history", "is the history of a temporal table"),
        ("memory_optimized", "is memory-optimized"),
    ],
)
def test_a_table_that_cannot_be_loaded_is_refused(loads: Loads, trait: str, reason: str) -> None:
    loads.make(PLAIN)
    loads.mark(trait)
    loads.files("1,2024-01-01")
    for command in ("check", "run"):
        loads(command, mode="append").expect_one_message(USAGE, f'"dbo"."t" {reason}')
    assert not loads.ran("INSERT BULK") and not loads.ids()


def _is_replaced_row_by_row(loads: Loads) -> None:
    """Fail unless the replaced rows of the table are removed by DELETE."""
    loads.files("1,2024-01-01")
    loads.double.batches.clear()
    loads(mode="replace").expect(CLEAN)
    assert loads.ids() == [1]
    assert loads.ran('DELETE FROM "dbo"."t"') and not loads.ran("TRUNCATE")


@pytest.mark.parametrize(
    ("trait", "number"), [("is_published", 4711), ("is_tracked_by_cdc", 4711), ("temporal", 13545)]
)
def test_a_table_is_emptied_row_by_row(loads: Loads, trait: str, number: int) -> None:
    """TRUNCATE of such a table is refused."""
    loads.make(PLAIN, "INSERT INTO t VALUES (7, '2024-01-01', NULL)")
    loads.mark(trait)
    session = loads.double.session()
    fails(session, number, "TRUNCATE TABLE t")
    session.close()
    loads.files("1,2024-01-01")
    words: dict[str, Any] = {"mode": "replace", "columns": COLUMNS}
    loads(**words).expect(CLEAN)
    assert loads.ids() == [1]
