"""Lookups whose reference is a table of a database: the target's own, or another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.conftest import MakePlace
from conformance.destinations import AdbcDuckDb, AdbcSqlite, DuckDb, Parquet, Place
from harness.command import CLEAN, FAILED, Inrush
from harness.packages import Value, flow, settings, step

ROWS = "id,kind\n1,a\n2,b\n3,c\n"
LOADED = [("1", "first"), ("2", "second"), ("3", None)]


def fill(place: Place) -> None:
    place.execute(f"CREATE TABLE kinds (kind {place.key_text}, title varchar(20))")
    place.execute("INSERT INTO kinds VALUES ('a', 'first'), ('b', 'second')")


def package(place: Place, inrush: Inrush, reference: str, more: str = "") -> Path:
    inrush.write("rows.csv", ROWS)
    columns: list[Value] = ["id int not null", {"name": "kind", "type": "text", "load": False}]
    # A table of Parquet files is made by its first load.
    mode = "create" if isinstance(place, Parquet) else "append"
    text = flow("loaded", "rows.csv", columns=columns, connection="target", mode=mode)
    text += step(
        lookup={"connection": reference, "table": "kinds"},
        on={"kind": "kind"},
        take={"title": "title"},
        unmatched="null",
    )
    return inrush.write("package.toml", place.package(text) + more)


def test_the_reference_is_in_the_target(place: Place, inrush: Inrush) -> None:
    if isinstance(place, Parquet):
        pytest.skip("a folder of Parquet files is no database, and has no tables for references")
    fill(place)
    place.execute("CREATE TABLE loaded (id int NOT NULL, title varchar(20))")
    path = package(place, inrush, "target")
    if isinstance(place, AdbcDuckDb):
        # The driver's instance cannot be shared.
        inrush("check", path).expect(FAILED, "this process has the file open already")
        return
    for command in ("check", "preflight"):
        inrush(command, path).expect(CLEAN)
    inrush("peek", path).expect(CLEAN, "3 in, 0 filtered, ", ", 1 without a match")
    outcome = inrush("run", path).expect(CLEAN, "3 in = 3 out; 1 without a match")
    assert place.rows("loaded", ("integer", "text")) == LOADED
    (lookup,) = outcome.report["tables"][0]["steps"]
    assert lookup["unmatched"] == 1
    inrush("run", path).expect(CLEAN, "already loaded")


@pytest.mark.parametrize("kind", [DuckDb, AdbcSqlite])
def test_the_reference_is_in_another_file(
    place: Place, inrush: Inrush, make_place: MakePlace, kind: type[Place]
) -> None:
    folder = inrush.folder / "other"
    folder.mkdir()
    other = make_place(kind, folder)
    fill(other)
    # Paths begin at the folder of the package.
    url = other.url if other.options else f"other/{other.url}"
    options: dict[str, Value] = {name: f"other/{it}" for name, it in other.options.items()}
    connection: dict[str, Value] = {"url": url, **({"options": options} if options else {})}
    if not isinstance(place, Parquet):
        place.execute("CREATE TABLE loaded (id int NOT NULL, title varchar(20))")
    more = "\n[connections.other]\n" + settings(connection)
    path = package(place, inrush, "other", more)
    inrush("run", path).expect(CLEAN)
    assert place.rows("loaded", ("integer", "text")) == LOADED
