"""Outputs of a flow: rows that are easily lost or loaded twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.destinations import DuckDb, in_order
from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.duckdb_files import opened
from harness.packages import flow, output

ID_AND_KIND = ["id integer", "kind text"]
TYPES = ("integer", "text")


@pytest.fixture
def place(tmp_path: Path) -> DuckDb:
    return DuckDb(tmp_path / "results.duckdb")


def write(inrush: Inrush, place: DuckDb, text: str, **run: Any) -> Path:
    return inrush.write("package.toml", place.package(text, **run))


@pytest.mark.parametrize("names", [("s.ta", "s.tb"), ('"qa"', '"qb"'), ("s.t", "r.t")])
def test_other_types_are_refused_whatever_the_names(
    inrush: Inrush, place: DuckDb, tmp_path: Path, names: tuple[str, str]
) -> None:
    with opened(tmp_path / "results.duckdb") as database:
        database.execute("CREATE SCHEMA s; CREATE SCHEMA r")
        database.execute(f"CREATE TABLE {names[0]} (id varchar, kind varchar)")
        database.execute(f"CREATE TABLE {names[1]} (id bigint, kind varchar)")
    inrush.write("rows.csv", "id,kind\n1,a\nx,b\n")
    text = (
        flow(None, "rows.csv", mode="append", columns=["id text", "kind text"])
        + output(names[0], when="kind = 'a'")
        + output(names[1], when="kind = 'b'")
    )
    inrush("run", write(inrush, place, text)).expect(USAGE, "`id`", "would not read the same rows")


def test_tables_of_two_schemas_have_their_own_rejects(
    inrush: Inrush, place: DuckDb, tmp_path: Path
) -> None:
    with opened(tmp_path / "results.duckdb") as database:
        database.execute("CREATE SCHEMA s; CREATE SCHEMA r")
        for schema in ("s", "r"):
            database.execute(f"CREATE TABLE {schema}.t (id integer, kind varchar NOT NULL)")
    inrush.write("rows.csv", "id,kind\n1,a\n2,\nx,b\n3,b\n")
    text = (
        flow(None, "rows.csv", mode="append", columns=ID_AND_KIND, rejects={"rows_max": 9})
        + output("s.t", when="kind = 'a'")
        + output("r.t")
    )
    outcome = inrush("run", write(inrush, place, text)).expect(LOADED_WITH_REJECTS)
    assert sorted(reject["line"] for reject in outcome.rejects()) == [3, 4]
    (folder,) = inrush.folder.glob("runs/*")
    for path in folder.glob("rejects/*.rejects"):
        path.write_text(path.read_text().replace("x,b", "4,a").replace("2,\n", "2,c\n"))
    replayed = inrush("rejects", "replay", folder.name).expect(CLEAN)
    assert "by hand" not in replayed.said
    with opened(tmp_path / "results.duckdb") as database:
        rows = database.execute("FROM s.t ORDER BY id").fetchall()
        assert rows == [(1, "a"), (4, "a")]
        rows = database.execute("FROM r.t ORDER BY id").fetchall()
        assert rows == [(2, "c"), (3, "b")]


def test_the_next_output_reports_if_the_first_is_loaded_already(
    inrush: Inrush, place: DuckDb, tmp_path: Path
) -> None:
    with opened(tmp_path / "results.duckdb") as database:
        database.execute("CREATE TABLE first (id integer, kind varchar)")
    inrush.write("rows.csv", "id,kind\n1,a\n2,b\n")
    text = (
        flow(None, "rows.csv", columns=ID_AND_KIND, rejects={"rows_max": 9})
        + output("first", when="kind = 'a'", mode="append")
        + output("second", when="kind = '{kind}'", mode="replace")
        + "\n[parameters]\nkind = 'b'\n"
    )
    package = write(inrush, place, text)
    inrush("run", package).expect(CLEAN)
    outcome = inrush("run", package, "--set", "kind=zzz").expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert reject["line"] == 3
    assert "no output takes the row" in reject["reason"]
    assert place.rows("first", TYPES) == [("1", "a")]


def test_a_row_that_fails_again_is_still_that_of_its_target(
    inrush: Inrush, place: DuckDb, tmp_path: Path
) -> None:
    """With `each`, other targets may have the row, so a correction always goes to this target."""
    with opened(tmp_path / "results.duckdb") as database:
        database.execute("CREATE TABLE first (id integer, note varchar NOT NULL)")
        database.execute("CREATE TABLE second (id integer, note varchar)")
    inrush.write("rows.csv", "id,note\n1,\n2,x\n")
    text = (
        flow(
            None,
            "rows.csv",
            mode="append",
            columns=["id integer", "note text"],
            rejects={"rows_max": 9},
            each=True,
        )
        + output("first")
        + output("second")
    )
    inrush("run", write(inrush, place, text)).expect(LOADED_WITH_REJECTS)
    for wrong, right in [("1,\n", "zz,fixed\n"), ("zz,fixed\n", "1,fixed\n")]:
        folder = max(inrush.folder.glob("runs/*"))
        (kept,) = folder.glob("rejects/*.target.rejects")
        kept.write_text(kept.read_text().replace(wrong, right))
        status = CLEAN if right.startswith("1") else LOADED_WITH_REJECTS
        inrush("rejects", "replay", folder.name).expect(status)
    assert place.rows("first", TYPES) == in_order([("1", "fixed"), ("2", "x")])
    assert place.rows("second", TYPES) == in_order([("1", None), ("2", "x")])
