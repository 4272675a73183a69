"""In each mode a run executes what `inrush check` printed; the server's log is compared with it."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from harness.command import Inrush
from harness.old_ledger import make_version_4
from harness.packages import Value, flow, package, settings, step
from harness.planned_steps import hold_to_plan
from harness.servers import Database

ROWS = "id,day\n1,2024-01-01\n2,2024-01-31\n"
PARTITIONED = "CREATE TABLE parts (id int, day date NOT NULL) PARTITION BY RANGE (day)"

# The table before the load, and the settings of the flow and of the run.
MODES: dict[str, tuple[str, dict[str, Value], dict[str, Any]]] = {
    "create": (
        "",
        {
            "mode": "create",
            "columns": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}],
        },
        {},
    ),
    "create partitioned": (
        "",
        {
            "mode": "create",
            "columns": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}],
            "partition_by": "day",
        },
        {},
    ),
    "append": ("CREATE TABLE parts (id int, day date)", {"mode": "append"}, {}),
    # The second partition gets no rows, and no file.
    "create with bounds": (
        "",
        {
            "mode": "create",
            "columns": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}],
            "partition_by": "id",
            "bounds": [0, 5, 10],
        },
        {},
    ),
    "create with a number of partitions": (
        "",
        {
            "mode": "create",
            "columns": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}],
            "partition_by": "id",
            "bounds": {"parts": 2},
        },
        {},
    ),
    "attach": (PARTITIONED, {"mode": "append"}, {}),
    "attach with an index": (
        PARTITIONED + "; CREATE INDEX ON parts (id)",
        {"mode": "append"},
        {},
    ),
    "sums": ("CREATE TABLE parts (id int, day date)", {"mode": "append", "verify": "sums"}, {}),
    "rows": (PARTITIONED, {"mode": "append", "verify": "rows"}, {}),
    "swap": (
        "CREATE TABLE parts (id int, day date); CREATE INDEX ON parts (id)",
        {"mode": "replace"},
        {},
    ),
    "replace by rows": (
        "CREATE TABLE parts (id int, day date)",
        {"mode": "replace", "replace": {"by": "rows"}},
        {},
    ),
    "replace partitions": (
        PARTITIONED
        + "; CREATE TABLE old PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2024-01-15')",
        {"mode": "replace", "replace": {"scope": "partitions"}},
        {},
    ),
    "replace and keep": (
        "CREATE TABLE parts (id int, day date)",
        {"mode": "replace", "replace": {"keep": True}},
        {},
    ),
    "replace and keep by name": (
        "CREATE TABLE parts (id int, day date)",
        {"mode": "replace", "replace": {"keep": "before"}},
        {},
    ),
    "replace partitions and keep": (
        PARTITIONED
        + "; CREATE TABLE old PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')",
        {"mode": "replace", "replace": {"scope": "partitions", "keep": True}},
        {},
    ),
    "indexes built again": (
        "CREATE TABLE parts (id int, day date); CREATE INDEX ON parts (id); "
        "INSERT INTO parts VALUES (9, '2024-01-09')",
        {"mode": "append", "indexes": "rebuild"},
        {},
    ),
    "triggers skipped": (
        PARTITIONED
        + "; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        "CREATE TRIGGER t AFTER INSERT ON parts EXECUTE FUNCTION f()",
        {"mode": "append", "triggers": "skip"},
        {},
    ),
    "at a rate": (
        "CREATE TABLE parts (id int, day date)",
        {"mode": "append"},
        {
            "rate_bytes_max": 100_000,
            "slot_bytes_max": 1_000_000_000,
            "replica_lag_bytes_max": 1_000_000_000,
        },
    ),
    "upsert": (
        "CREATE TABLE parts (id int PRIMARY KEY, day date)",
        {"mode": "upsert", "key": ["id"]},
        {},
    ),
    "versions": (
        "CREATE TABLE parts (id int NOT NULL, day date, valid_from timestamptz, "
        "valid_to timestamptz); CREATE UNIQUE INDEX ON parts (id) WHERE valid_to IS NULL",
        {"mode": "upsert", "key": ["id"], "scd": {}},
        {},
    ),
    "versions with columns that are overwritten": (
        "CREATE TABLE parts (id int NOT NULL, day date, note int DEFAULT 1, valid_from timestamp, "
        "ended timestamp, now bool); CREATE UNIQUE INDEX ON parts (id) WHERE ended IS NULL",
        {
            "mode": "upsert",
            "key": ["id"],
            "columns": ["id", "day"],
            "scd": {"track": "day", "valid_to": "ended", "current": "now"},
        },
        {},
    ),
    "straight": ("CREATE TABLE parts (id int, day date)", {"mode": "append", "atomic": False}, {}),
    "one transaction": (
        "CREATE TABLE parts (id int, day date)",
        {"mode": "append"},
        {"staging": False},
    ),
    "routed": (
        PARTITIONED
        + "; CREATE TABLE old PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
        {"mode": "append", "routing": True},
        {},
    ),
    "create routed": (
        "",
        {
            "mode": "create",
            "columns": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}],
            "partition_by": "day",
            "bounds": {"every": "1 month"},
            "routing": True,
        },
        {},
    ),
    "routed, with new partitions": (
        PARTITIONED
        + "; CREATE TABLE old PARTITION OF parts FOR VALUES FROM ('2023-12-01') TO ('2024-01-01')",
        {
            "mode": "append",
            "partition_by": "day",
            "bounds": {"every": "1 month"},
            "routing": True,
        },
        {},
    ),
    "statements of the user": (
        "CREATE TABLE parts (id int, day date)",
        {
            "mode": "append",
            "pre_sql": "DELETE FROM parts",
            "post_sql": "CREATE INDEX ON parts (id)",
        },
        {},
    ),
    "no statistics": (
        "CREATE TABLE parts (id int, day date)",
        {"mode": "append"},
        {"analyze": False},
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_run_executes_its_plan(mode: str, database: Database, inrush: Inrush) -> None:
    made, settings_of_flow, run = MODES[mode]
    if made:
        database.execute(made)
    inrush.write("rows.csv", ROWS)
    hold_to_plan(
        inrush,
        database,
        package(database.url, flow("parts", "rows.csv", **settings_of_flow), **run),
    )


@pytest.mark.parametrize(
    "name", ["a unit of several files", "a unit of several streams", "a file that is fed"]
)
def test_units_of_all_kinds(name: str, newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE parts (id int, day date)")
    files: list[str] = ["rows.1.csv", "rows.2.csv"]
    for file in files:
        inrush.write(file, ROWS)
    run: dict[str, Any] = {"streams": 1}
    if name != "a unit of several files":
        run = {"streams": 2}
    if name == "a file that is fed":
        (inrush.folder / "rows.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
        files = ["rows.csv.gz"]
    hold_to_plan(
        inrush,
        newest_database,
        package(newest_database.url, flow("parts", files, mode="append"), **run),
    )


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_a_copy_with_the_indexes_and_partitions_of_its_source(
    newest_database: Database, inrush: Inrush, is_partitioned: bool
) -> None:
    parts = "PARTITION BY RANGE (id)" if is_partitioned else ""
    newest_database.execute(f"CREATE TABLE origin (id int PRIMARY KEY, day date) {parts}")
    newest_database.execute("CREATE INDEX ON origin (day)")
    if is_partitioned:
        newest_database.execute("CREATE TABLE low PARTITION OF origin FOR VALUES FROM (0) TO (5)")
        newest_database.execute("CREATE TABLE high PARTITION OF origin FOR VALUES FROM (5) TO (9)")
    newest_database.execute("INSERT INTO origin VALUES (1, '2024-01-01'), (2, '2024-01-31')")
    newest_database.execute("CREATE SCHEMA copied")
    source: dict[str, Value] = {
        "connection": "source",
        "table": "origin",
        "indexes": True,
        "partitions": True,
    }
    copied = "\n[[flow]]\n" + settings({"table": "copied.origin", "source": source})
    text = package(newest_database.url, copied + '\nconnection = "target"\n')
    text += "\n[connections.source]\n" + settings({"url": newest_database.url})
    hold_to_plan(inrush, newest_database, text)
    assert newest_database.value("SELECT count(*) FROM copied.origin") == 2


def test_several_flows_that_refer_to_each_other(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE a (id int PRIMARY KEY, day date)")
    newest_database.execute("CREATE TABLE b (id int REFERENCES a, day date)")
    inrush.write("rows.csv", ROWS)
    flows = [flow(table, "rows.csv", mode="append") for table in ("a", "b")]
    hold_to_plan(inrush, newest_database, package(newest_database.url, *flows))


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_a_lookup_that_adds_members(
    newest_database: Database, inrush: Inrush, is_partitioned: bool
) -> None:
    newest_database.execute(
        "CREATE TABLE days (key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, day text UNIQUE); "
        "CREATE TABLE parts (id int NOT NULL, day_key int)"
        + (" PARTITION BY RANGE (id)" if is_partitioned else "")
    )
    adding = step(
        lookup={"connection": "target", "table": "days"},
        on={"day": "day"},
        take={"day_key": "key"},
        unmatched="add",
    )
    for file in ("rows.1.csv", "rows.2.csv"):
        # Keys of partitions that do not overlap.
        first = 1 if file == "rows.1.csv" else 11
        inrush.write(file, f"id,day\n{first},2024-01-01\n{first + 1},2024-01-31\n")
    rows = flow("parts", "rows.*.csv", columns=["id int not null", "day text"], mode="append")
    hold_to_plan(inrush, newest_database, package(newest_database.url, rows + adding))
    assert newest_database.value("SELECT count(*) FROM days JOIN parts ON key = day_key") == 4


def test_a_ledger_of_the_version_before_is_altered(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.csv", ROWS)
    columns: list[Value] = ["id int", "day date"]
    for table in ("before", "after"):
        text = package(newest_database.url, flow(table, "rows.csv", columns=columns), name=table)
        hold_to_plan(inrush, newest_database, text)
        if table == "before":
            make_version_4(newest_database)
