"""The script of `inrush check --sql` makes the same objects as a load without rows.

The database's own client runs the script, in an empty database. PostgreSQL's own destination is in
tests/postgres/test_sql_script.py.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from conformance.conftest import MakePlace
from conformance.destinations import AdbcDuckDb, AdbcPostgreSql, AdbcSqlite, DuckDb, Parquet, Place
from harness.catalogs import dumped, run_script
from harness.command import CLEAN, USAGE, Inrush
from harness.packages import Value, flow

KINDS: list[type[Place]] = [DuckDb, AdbcDuckDb, AdbcSqlite, AdbcPostgreSql]
COLUMNS: list[Value] = ["id int not null", "day date", "note text"]
NO_ROWS = "id,day,note\n"
ROWS = NO_ROWS + "1,2024-01-01,a\n2,2024-01-31,b\n"
MADE = "CREATE TABLE t (id int NOT NULL, day date, note text)"
FILLED = "INSERT INTO t VALUES (7, NULL, 'x')"

# Statements before the load, and the settings of its flows.
LOADS: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "create": ([], [{}]),
    "a column that staging has in another type": (
        [],
        [{"columns": ["id uuid", "* skip"]}],
    ),
    "several flows": ([], [{}, {"table": "u"}]),
    "a name that is a statement": ([], [{"table": '"t""; DROP TABLE u; --"'}]),
    "into an empty table": ([MADE], [{}]),
    "append": ([MADE, FILLED], [{"mode": "append"}]),
    "replace": ([MADE, FILLED], [{"mode": "replace"}]),
    "keep as": ([MADE, FILLED], [{"mode": "replace", "replace": {"keep": "old"}}]),
    "upsert": (
        [MADE, FILLED, "CREATE UNIQUE INDEX of_id ON t (id)"],
        [{"mode": "upsert", "key": "id"}],
    ),
    "versions": (
        [
            f"{MADE[:-1]}, valid_from timestamptz, valid_to timestamptz)",
            "CREATE UNIQUE INDEX of_current ON t (id) WHERE valid_to IS NULL",
        ],
        [{"mode": "upsert", "key": "id", "scd": {}}],
    ),
    "statements of the user": (
        [MADE, FILLED],
        [
            {
                "mode": "append",
                "pre_sql": "DELETE FROM t -- all of them",
                "post_sql": ["CREATE INDEX of_t ON t (id);", "CREATE VIEW v AS SELECT 1 < 2 AS a"],
            }
        ],
    ),
}


def catalog(place: Place) -> list[str]:
    """Return the statements that create the objects of a database."""
    if isinstance(place, AdbcPostgreSql):
        # The server names a constraint after the staging table.
        staging = re.compile(r'"?inrush_staging_(?:<\d>|[0-9a-f]{16})(\w*)"?')
        return [staging.sub(r"inrush_staging\1", line) for line in dumped(place.database)]
    if isinstance(place, AdbcSqlite):
        with sqlite3.connect(place.file) as file:
            return [str(one) for one in file.execute("SELECT * FROM sqlite_master ORDER BY name")]
    assert isinstance(place, DuckDb)
    with place.connect() as connection:
        found = connection.execute(
            "SELECT sql FROM duckdb_schemas() WHERE NOT internal UNION ALL "
            "SELECT sql FROM duckdb_tables() UNION ALL SELECT sql FROM duckdb_indexes() "
            "UNION ALL SELECT sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        )
        return [str(sql) for (sql,) in found.fetchall()]


def performed(place: Place, script: Path) -> None:
    """Run a script with the database's own client."""
    if isinstance(place, AdbcPostgreSql):
        run_script(place.database, script)
    elif isinstance(place, AdbcSqlite):
        with sqlite3.connect(place.file, isolation_level=None) as file:
            file.executescript(script.read_text())
    else:
        assert isinstance(place, DuckDb)
        with place.connect(read_only=False) as connection:
            connection.execute(script.read_text())


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("load", LOADS)
def test_the_script_is_a_load_without_rows(
    kind: type[Place], load: str, make_place: MakePlace, tmp_path: Path
) -> None:
    before, flows = LOADS[load]
    catalogs = []
    for way in ("run", "script"):
        folder = tmp_path / way
        folder.mkdir()
        inrush = Inrush(folder)
        inrush.write("rows.csv", NO_ROWS)
        place = make_place(kind, folder)
        for statement in before:
            if "INDEX of_current" not in statement or place.partial_indexes:
                place.execute(statement)
        made = [
            flow(**{"table": "t", "files": "rows.csv", "columns": COLUMNS, "mode": "create", **one})
            for one in flows
        ]
        package = inrush.write("package.toml", place.package(*made))
        if load == "keep as" and kind is AdbcPostgreSql:
            inrush("check", package, "--sql").expect(USAGE, "hint: ")
            return
        if way == "run":
            inrush("run", package).expect(CLEAN)
        else:
            script = inrush.write(
                "load.sql", inrush("check", package, "--sql").expect(CLEAN).output
            )
            performed(place, script)
        catalogs.append(catalog(place))
    of_run, of_script = catalogs
    assert any("t" in one for one in of_run)
    assert of_script == of_run


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_script_enters_no_run_and_loads_no_row(
    kind: type[Place], make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    place = make_place(kind, tmp_path)
    inrush.write("rows.csv", ROWS)
    into = flow("t", "rows.csv", columns=COLUMNS, mode="create")
    package = inrush.write("package.toml", place.package(into))
    script = inrush.write("load.sql", inrush("check", package, "--sql").expect(CLEAN).output)
    performed(place, script)
    assert place.rows("t", ("int", "date", "text")) == []
    inrush("status", package).expect(CLEAN, "no stopped runs")
    # The run finds an empty table, and loads into it.
    inrush("run", package).expect(CLEAN)
    loaded = place.rows("t", ("int", "date", "text"))
    assert loaded == [("1", "2024-01-01", "a"), ("2", "2024-01-31", "b")]
    inrush("check", package, "--sql").expect(CLEAN, "-- Nothing is left to load")


def test_files_have_no_script(make_place: MakePlace, inrush: Inrush, tmp_path: Path) -> None:
    place = make_place(Parquet, tmp_path)
    inrush.write("rows.csv", ROWS)
    into = flow("t", "rows.csv", columns=COLUMNS, mode="create")
    package = inrush.write("package.toml", place.package(into))
    lines = inrush("check", package, "--sql").expect(CLEAN, "without SQL").output.splitlines()
    assert [line for line in lines if line and not line.startswith("-- ")] == []
