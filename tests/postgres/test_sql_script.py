"""`psql` with the script of `inrush check --sql` makes the objects of a load without rows."""

from __future__ import annotations

from typing import Any

import pytest

from harness.catalogs import dumped, run_script
from harness.command import CLEAN, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database, Server

COLUMNS: list[Value] = ["id int not null", "day date not null"]
HEADER = "id,day\n"
PLAIN = "CREATE TABLE parts (id int, day date)"
PARTITIONED = "CREATE TABLE parts (id int, day date NOT NULL) PARTITION BY RANGE (day)"
BOUNDS = ["2024-01-01", "2024-02-01", "2024-03-01"]
# No partition would be made for a file without rows, because its keys are unknown.
MONTHS = ["january.csv", "february.csv"]
INDEX = "; CREATE INDEX of_parts ON parts (id)"

# The statements before the load, and the settings of its flow and of the run.
LOADS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "create": ("", {"columns": COLUMNS}, {}),
    "create partitioned": (
        "",
        {
            "files": MONTHS,
            "columns": COLUMNS,
            "partition_by": "day",
            "bounds": BOUNDS,
        },
        {},
    ),
    "create routed": (
        "",
        {"columns": COLUMNS, "partition_by": "day", "bounds": BOUNDS, "routing": True},
        {},
    ),
    "a name that is a statement": (
        "",
        {"table": '"t""; DROP TABLE u; --\\! touch touched"', "columns": COLUMNS},
        {},
    ),
    "append": (PLAIN + INDEX, {"mode": "append"}, {}),
    "attach": (
        PARTITIONED,
        {"mode": "append", "files": MONTHS, "partition_by": "day", "bounds": BOUNDS},
        {},
    ),
    "routed": (
        PARTITIONED,
        {"mode": "append", "partition_by": "day", "bounds": BOUNDS, "routing": True},
        {},
    ),
    "sums": (PLAIN, {"mode": "append", "verify": "sums"}, {}),
    "swap": (PLAIN, {"mode": "replace"}, {}),
    "replace by rows": (PLAIN, {"mode": "replace", "replace": {"by": "rows"}}, {}),
    "upsert": (
        "CREATE TABLE parts (id int PRIMARY KEY, day date)",
        {"mode": "upsert", "key": ["id"]},
        {},
    ),
    "straight": (PLAIN, {"mode": "append", "atomic": False}, {}),
    "one transaction": (PLAIN, {"mode": "append"}, {"staging": False}),
    "a comparison that looks like words": (
        "CREATE TABLE parts (id int, day date CHECK (id <5 OR id> 9 AND day > '2000-01-01'))",
        {"mode": "append"},
        {},
    ),
    "statements of the user": (
        PLAIN,
        {
            "mode": "append",
            "pre_sql": ["CREATE VIEW v AS SELECT 1 <2 AS a, 3> 2 AS b -- two", "SELECT 1;"],
            "post_sql": "CREATE INDEX ON parts (id)",
        },
        {},
    ),
}


@pytest.mark.parametrize("load", LOADS)
def test_the_script_is_a_load_without_rows(
    load: str, newest_server: Server, newest_database: Database, inrush: Inrush
) -> None:
    before, settings, run = LOADS[load]
    of_script = newest_server.create_database(newest_database.name + "_script")
    inrush.write("rows.csv", HEADER)
    for number, month in enumerate(MONTHS, 1):
        inrush.write(month, HEADER + f"1,2024-0{number}-05\n")
    into = flow(**{"table": "parts", "files": "rows.csv", **settings})
    for database in (newest_database, of_script):
        if before:
            database.execute(before)
        inrush.write("package.toml", package(database.url, into, **run))
        if database is newest_database:
            inrush("run", "package.toml").expect(CLEAN)
        else:
            output = inrush("check", "package.toml", "--sql").expect(CLEAN).output
            run_script(database, inrush.write("load.sql", output))
    assert not (inrush.folder / "touched").exists()
    expected = dumped(newest_database)
    assert any("inrush" in line for line in expected)
    assert dumped(of_script) == expected
    newest_server.done_with(of_script)


def test_a_stopped_run(newest_database: Database, inrush: Inrush) -> None:
    """Steps that the stopped run has completed are comments, as they need not be done again."""
    inrush.write("rows.csv", HEADER + "1,2024-01-01\n")
    into = flow("parts", "rows.csv", columns=COLUMNS)
    inrush.write("package.toml", package(newest_database.url, into, streams=1))
    killed = inrush("run", "package.toml", environment={"INRUSH_FAULT": "after_unit_commit"})
    assert killed.status < 0, killed.said
    output = inrush("check", "package.toml", "--sql").expect(CLEAN).output
    creates = [line for line in output.splitlines() if "CREATE TABLE" in line]
    kept = [line for line in creates if line.startswith("-- ")]
    assert (len(kept), len(creates)) == (1, 1), output
    assert kept[0].endswith("-- if the stopped run has not done it")


def test_nothing_is_left_to_load(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.csv", HEADER + "1,2024-01-01\n")
    inrush.write(
        "package.toml", package(newest_database.url, flow("parts", "rows.csv", columns=COLUMNS))
    )
    inrush("run", "package.toml").expect(CLEAN)
    output = (
        inrush("check", "package.toml", "--sql").expect(CLEAN, "Nothing is left to load").output
    )
    assert [line for line in output.splitlines() if line and not line.startswith("-- ")] == []
