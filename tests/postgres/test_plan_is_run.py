"""A run executes what `inrush check` printed, in each mode: compared with the server's log."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest

from harness.command import CLEAN, Inrush
from harness.old_ledger import make_version_4
from harness.packages import Value, flow, package, step
from harness.planned_steps import compare, planned
from harness.servers import Database


def logged(database: Database, log: str) -> list[list[str]]:
    """Return the statements that the sessions of a run have executed."""
    sessions: dict[str, list[str]] = {}
    statements: list[str] | None = None
    for line in log.splitlines():
        if line.startswith("\t") and statements is not None:
            statements[-1] += "\n" + line[1:]
            continue
        statements = None
        head = rf"{re.escape(database.name)} (inrush .*?) LOG:  (?:statement|execute [^:]*): (.*)"
        found = re.fullmatch(head, line)
        # The reference of a lookup is read as any source is.
        if found and found[1] != "inrush source":
            # The control session has another name until it knows its run. Streams and the meter run
            # beside it.
            is_beside = "stream" in found[1] or found[1].endswith(" meter")
            name = found[1] if is_beside else "control"
            statements = sessions.setdefault(name, [])
            statements.append(found[2])
    return list(sessions.values())


def hold(inrush: Inrush, database: Database, text: str) -> None:
    """Load a package, and compare the log with its plan."""
    inrush.write("package.toml", text)
    plan = planned(inrush("check", "package.toml").expect(CLEAN).output)
    database.execute(f"ALTER DATABASE {database.name} SET log_statement = 'all'")
    before = database.server.log.stat().st_size
    inrush("run", "package.toml").expect(CLEAN)
    with database.server.log.open() as log:
        log.seek(before)
        compare(plan, logged(database, log.read()))


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
    made, settings, run = MODES[mode]
    if made:
        database.execute(made)
    inrush.write("rows.csv", ROWS)
    hold(inrush, database, package(database.url, flow("parts", "rows.csv", **settings), **run))


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
    hold(
        inrush,
        newest_database,
        package(newest_database.url, flow("parts", files, mode="append"), **run),
    )


def test_several_flows_that_refer_to_each_other(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE a (id int PRIMARY KEY, day date)")
    newest_database.execute("CREATE TABLE b (id int REFERENCES a, day date)")
    inrush.write("rows.csv", ROWS)
    flows = [flow(table, "rows.csv", mode="append") for table in ("a", "b")]
    hold(inrush, newest_database, package(newest_database.url, *flows))


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
    hold(inrush, newest_database, package(newest_database.url, rows + adding))
    assert newest_database.value("SELECT count(*) FROM days JOIN parts ON key = day_key") == 4


def test_a_ledger_of_the_version_before_is_altered(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.csv", ROWS)
    columns: list[Value] = ["id int", "day date"]
    for table in ("before", "after"):
        text = package(newest_database.url, flow(table, "rows.csv", columns=columns), name=table)
        hold(inrush, newest_database, text)
        if table == "before":
            make_version_4(newest_database)
