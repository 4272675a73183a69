"""Targets with a computed column, which the server fills and a load must not fill.

All tests use the double.
"""

from __future__ import annotations

import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE
from harness.packages import Value, flow, package
from sqlserver.double import Session
from sqlserver.loads import FUNCTION, SCHEME, Loads
from sqlserver.statements import OpenSession, fails

# The column is between others, so that positions in the table and in the file differ.
TABLE = (
    "CREATE TABLE t (id int NOT NULL, twice AS (id * 2){kind}, day date NOT NULL, "
    "note nvarchar(20) NULL)"
)
KINDS = {"not_persisted": "", "persisted": " PERSISTED", "not_null": " PERSISTED NOT NULL"}
ALL = "SELECT * FROM t ORDER BY id"
OBSTACLE = "by INSERT ... SELECT and not by SWITCH, because the server computes column twice"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Return how the server keeps the column, as its definition says it."""
    return KINDS[request.param]


def row(number: int, day: str) -> list[object]:
    """Return a row of the files as the table has it."""
    return [number, number * 2, day, f"n{number}"]


@pytest.mark.parametrize("partitioned", [False, True])
def test_the_server_computes_the_values(loads: Loads, kind: str, partitioned: bool) -> None:
    table = TABLE.format(kind=kind)
    if partitioned:
        loads.make(FUNCTION.format(side="LEFT"), SCHEME, f"{table} ON by_month(day)")
    else:
        loads.make(table)
    loads.files("1,2024-01-01 2,2024-02-02", "3,2024-03-03")
    loads("check", mode="append").expect(CLEAN, OBSTACLE)
    outcome = loads(mode="append").expect(CLEAN)
    first = [row(1, "2024-01-01"), row(2, "2024-02-02"), row(3, "2024-03-03")]
    assert loads.rows(ALL) == first
    assert not loads.switches and len(loads.copies) == 1
    assert any(OBSTACLE in note for note in outcome.report["notes"])
    loads.nothing_is_left()

    loads.files("4,2024-01-04")
    loads(mode="append").expect(CLEAN)
    assert loads.rows(ALL) == [*first, row(4, "2024-01-04")]
    loads.files("5,2024-02-05")
    loads(mode="replace").expect(CLEAN)
    assert loads.rows(ALL) == [row(5, "2024-02-05")]
    loads.nothing_is_left()


def test_an_upsert_computes_the_values_again(loads: Loads, kind: str) -> None:
    loads.make(
        TABLE.format(kind=kind),
        "CREATE UNIQUE INDEX u ON t (id)",
        "INSERT INTO t VALUES (1, '2024-01-01', N'old'), (2, '2024-02-02', N'kept')",
    )
    loads.files("1,2024-01-11 3,2024-03-03")
    loads(mode="upsert", key=["id"]).expect(CLEAN)
    assert loads.rows(ALL) == [
        row(1, "2024-01-11"),
        [2, 4, "2024-02-02", "kept"],
        row(3, "2024-03-03"),
    ]
    loads.nothing_is_left()


def test_a_careful_load_rejects_by_the_columns_that_it_fills(loads: Loads, kind: str) -> None:
    loads.make(TABLE.format(kind=kind), "CREATE UNIQUE INDEX u ON t (id)")
    loads.files("1,2024-01-01 1,2024-01-02 2,2024-02-02")
    outcome = loads(mode="append", rejects={"rows_max": 1}).expect(LOADED_WITH_REJECTS)
    assert [(one["line"], one["code"], one["column"]) for one in outcome.rejects()] == [
        (3, "duplicate_key", "id")
    ]
    assert loads.rows(ALL) == [row(1, "2024-01-01"), row(2, "2024-02-02")]


# How a load names the column: in the package, or only in the header of its file.
NAMED: dict[str, dict[str, Value]] = {
    "package": {"columns": ["id integer not null", "day date not null", "twice integer"]},
    "header": {},
}


@pytest.mark.parametrize("how", NAMED)
def test_a_load_that_names_the_column_is_refused(loads: Loads, kind: str, how: str) -> None:
    loads.make(TABLE.format(kind=kind), "INSERT INTO t VALUES (9, '2024-01-09', NULL)")
    loads.inrush.write("part.0.csv", "id,day,twice\n1,2024-01-01,2\n")
    text = package(loads.double.url, flow("t", "part.0.csv", mode="append", **NAMED[how]))
    for command in ("check", "run"):
        outcome = loads.inrush(command, loads.inrush.write("package.toml", text))
        outcome.expect_one_message(
            USAGE,
            "error: flow `t`: ",
            "the destination fills column `twice` itself",
            "hint: remove it from the files: it is computed by an expression of the table",
        )
    assert loads.rows(ALL) == [[9, 18, "2024-01-09", None]]
    assert not loads.ran("INSERT BULK") and not loads.ran('CREATE TABLE "dbo"')
    # Its field can be skipped.
    skipping = ["id integer not null", "day date not null", "twice skip"]
    loads(mode="append", columns=skipping).expect(CLEAN)
    assert loads.rows(ALL) == [[1, 2, "2024-01-01", None], [9, 18, "2024-01-09", None]]
    loads.nothing_is_left()


def test_the_double_computes_the_values(open_session: OpenSession, kind: str) -> None:
    session: Session = open_session()
    session.execute(TABLE.format(kind=kind))
    session.execute("INSERT INTO t VALUES (1, '2024-01-01', N'a')")
    session.execute("INSERT INTO t (note, day, id) VALUES (N'b', '2024-01-02', 2)")
    session.execute("UPDATE t SET id = 5 WHERE note = N'b'")
    assert session.rows(ALL) == [[1, 2, "2024-01-01", "a"], [5, 10, "2024-01-02", "b"]]
    fails(session, 271, "INSERT INTO t (id, twice, day) VALUES (3, 6, '2024-01-03')")
    fails(session, 271, "UPDATE t SET twice = 6")
    fails(session, 8115, "INSERT INTO t (id, day) VALUES (2000000000, '2024-01-03')")
    names = "name, is_computed, is_nullable, TYPE_NAME(system_type_id)"
    found = session.rows(f"SELECT {names} FROM sys.columns WHERE object_id = OBJECT_ID(N't')")
    assert found[:2] == [
        ["id", 0, 0, "int"],
        ["twice", 1, int("NOT NULL" not in kind), "int"],
    ]


def test_the_double_refuses_expressions(open_session: OpenSession) -> None:
    session: Session = open_session()
    fails(session, 207, "CREATE TABLE t (id int, twice AS (other * 2))")
    fails(session, 1759, "CREATE TABLE t (id int, twice AS (id * 2), more AS (twice + 1))")


OTHERS = {
    "twice int NULL": 4965,
    "twice AS (id * 3)": 4966,
    "twice AS (id * 2) PERSISTED": 4946,
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_double_refuses_to_switch_another_column(open_session: OpenSession, other: str) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE s (id int NOT NULL, twice AS (id * 2))")
    session.execute(f"CREATE TABLE t (id int NOT NULL, {other})")
    fails(session, OTHERS[other], "ALTER TABLE s SWITCH TO t")
    fails(session, OTHERS[other], "ALTER TABLE t SWITCH TO s")
    session.execute("CREATE TABLE u (id int NOT NULL, twice AS (id * 2))")
    session.execute("INSERT INTO s VALUES (4)")
    session.execute("ALTER TABLE s SWITCH TO u")
    assert session.rows("SELECT * FROM u") == [[4, 8]]
