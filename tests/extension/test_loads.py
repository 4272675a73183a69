"""Loads use the extension if possible, and COPY otherwise: the rows are the same."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import extension, staging_triggers
from harness.command import (
    CLEAN,
    FAILED,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    Inrush,
    Outcome,
)
from harness.contents import assert_same_rows
from harness.packages import Value, flow, package
from harness.planned_steps import hold_to_plan
from harness.servers import Database, Server

COLUMNS = ["id int not null", "amount numeric(15,2)", "day date", "note text"]
TABLE = "(id int NOT NULL, amount numeric(15,2), day date, note text)"
PARTITIONED = f"{TABLE} PARTITION BY RANGE (id)"


def rows_of(start: int, count: int) -> str:
    """Return lines with unordered keys; some have NULLs."""
    lines = []
    for n in range(count):
        key = start + (n * 7919) % count
        amount = "" if n % 11 == 0 else f"{n * 37 % 9973}.{n % 100:02}"
        lines.append(f"{key}|{amount}|2024-{n % 12 + 1:02}-{n % 28 + 1:02}|note {n} äöü|\n")
    return "".join(lines)


def ways_of(outcome: Outcome) -> set[str]:
    """Return the methods in a run's report, for all units."""
    units = outcome.report["units"]
    return {unit.get("server_copy", {}).get("way", "not told") for unit in units}


# The statement that makes the table before the load ({} is its name), the settings of the flow and
# of the run, and the method: first before PostgreSQL 18, then from PostgreSQL 18 on.
Kind = tuple[str, dict[str, Value], dict[str, Any], str, str]
KINDS: dict[str, Kind] = {
    "a new table": ("", {"columns": COLUMNS}, {}, "tuples", "tuples"),
    "pages": (
        "",
        {"columns": COLUMNS, "partition_by": "id"},
        {"server_copy": "pages"},
        "tuples",
        "pages",
    ),
    "pages, asked for two COPYs": (
        "",
        {"columns": COLUMNS},
        {"server_copy": "pages", "streams": 1},
        "tuples",
        "tuples",
    ),
    "without FREEZE": ("", {"columns": COLUMNS}, {"freeze": False}, "tuples", "tuples"),
    "partitions by the files' keys": (
        "",
        {"columns": COLUMNS, "partition_by": "id"},
        {},
        "tuples",
        "tuples",
    ),
    "partitions by bounds": (
        "",
        {"columns": COLUMNS, "partition_by": "id", "bounds": [0, 1_000, 2_000]},
        {},
        "tuples",
        "tuples",
    ),
    "attached": (f"CREATE TABLE {{}} {PARTITIONED}", {"mode": "append"}, {}, "tuples", "tuples"),
    "copied": (f"CREATE TABLE {{}} {TABLE}", {"mode": "append"}, {}, "tuples", "tuples"),
    "swapped": (
        f"CREATE TABLE {{}} {TABLE}; CREATE INDEX ON {{}} (id)",
        {"mode": "replace"},
        {},
        "tuples",
        "tuples",
    ),
    "merged": (
        f"CREATE TABLE {{}} {TABLE}; CREATE UNIQUE INDEX ON {{}} (id)",
        {"mode": "upsert", "key": ["id"]},
        {},
        "tuples",
        "tuples",
    ),
    "verified": (
        f"CREATE TABLE {{}} {PARTITIONED}",
        {"mode": "append", "verify": "rows"},
        {},
        "tuples",
        "tuples",
    ),
    "routed": (
        f"CREATE TABLE {{}} {PARTITIONED}; "
        "CREATE TABLE {}_old PARTITION OF {} FOR VALUES FROM (0) TO (5000)",
        {"mode": "append", "routing": True},
        {},
        "not told",
        "executor",
    ),
    "straight": (
        f"CREATE TABLE {{}} {TABLE}",
        {"mode": "append", "atomic": False},
        {},
        "tuples",
        "tuples",
    ),
    "straight, with an index": (
        f"CREATE TABLE {{}} {TABLE}; CREATE INDEX ON {{}} (id)",
        {"mode": "append", "atomic": False},
        {},
        "not told",
        "executor",
    ),
    "one transaction": (
        f"CREATE TABLE {{}} {TABLE}",
        {"mode": "append"},
        {"staging": False},
        "tuples",
        "tuples",
    ),
    "a default": (
        f"CREATE TABLE {{}} {TABLE}; ALTER TABLE {{}} ADD more int DEFAULT 7",
        {"mode": "append", "columns": ["id", "amount", "day", "note"]},
        {},
        "not told",
        "executor",
    ),
    "columns in another order": (
        "CREATE TABLE {} (note text, day date, id int NOT NULL, amount numeric(15,2))",
        {"mode": "append", "columns": ["id", "amount", "day", "note"]},
        {},
        "tuples",
        "tuples",
    ),
    "a CHECK": (
        f"CREATE TABLE {{}} {TABLE}; ALTER TABLE {{}} ADD CHECK (id >= 0)",
        {"mode": "append"},
        {},
        "tuples",
        "tuples",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_are_those_of_copy_and_the_run_executes_its_plan(
    kind: str, fast_database: Database, inrush: Inrush
) -> None:
    made, settings, run, way_before_18, way_from_18 = KINDS[kind]
    files = ["rows.0.tbl", "rows.1.tbl"]
    for part, file in enumerate(files):
        inrush.write(file, rows_of(part * 1_000, 1_000))

    def text_of(table: str, **said: Any) -> str:
        fast_database.execute(made.replace("{}", table))
        return package(fast_database.url, flow(table, files, **settings), name=table, **run | said)

    # The plan is that of the first load into a database, so it has the statements for the ledger.
    outcome = hold_to_plan(inrush, fast_database, text_of("by_extension"))
    way = way_from_18 if fast_database.server.version >= 18 else way_before_18
    assert ways_of(outcome) == {way}
    inrush.write("by_copy.toml", text_of("by_copy", server_copy="plain"))
    assert ways_of(inrush("run", "by_copy.toml").expect(CLEAN)) == {"not told"}
    assert_same_rows(fast_database, "by_copy", "by_extension", "id, note")


@pytest.mark.parametrize("is_fed", [False, True], ids=["ranges", "fed"])
def test_a_unit_of_several_streams(is_fed: bool, fast_database: Database, inrush: Inrush) -> None:
    # Text that stays long when it is compressed.
    generator = random.Random(24)  # noqa: S311
    text = "".join(f"{n:07}|{generator.randbytes(495).hex()}|\n" for n in range(26_000))
    file = "rows.tbl.gz" if is_fed else "rows.tbl"
    inrush.write(file, gzip.compress(text.encode(), 1) if is_fed else text)
    columns: list[Value] = ["id int", "note text"]
    for table, server_copy in (("by_copy", "plain"), ("by_extension", "auto")):
        one = flow(table, file, columns=columns)
        text = package(fast_database.url, one, name=table, server_copy=server_copy, streams=2)
        inrush.write(f"{table}.toml", text)
        outcome = inrush("run", f"{table}.toml").expect(CLEAN)
    (unit,) = outcome.report["units"]
    assert unit["shared"]
    assert unit["server_copy"] == {"way": "tuples"}
    assert_same_rows(fast_database, "by_copy", "by_extension", "id")


def test_all_databases_of_a_server_have_it_if_the_tests_are_asked_to(
    start_server: Callable[..., Server], inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a run of all tests with INRUSH_TEST_EXTENSION=1 would show nothing."""
    monkeypatch.setenv("INRUSH_TEST_EXTENSION", "1")
    server = start_server(15)
    inrush.write("rows.tbl", rows_of(0, 100))
    one = flow("t", "rows.tbl", columns=COLUMNS)
    url = loading_role(server.create_database("has_it"))
    inrush.write("package.toml", package(url, one))
    outcome = inrush("run", "package.toml").expect(CLEAN)
    assert ways_of(outcome) == {"tuples"}
    server.stop("immediate")


def test_the_plan_says_the_way(fast_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.tbl", rows_of(0, 10))
    one = flow("t", "rows.tbl", columns=COLUMNS, partition_by="id")
    inrush.write("package.toml", package(fast_database.url, one))
    plan = inrush("check", "package.toml").expect(CLEAN).output
    assert "rows go by the extension inrush_fastcopy 0.1.0, way tuples" in plan
    assert "FROM STDIN (FORMAT inrush, FREEZE true, KEY 'id')" in plan
    assert "FROM inrush_fastcopy.open();" in plan


def test_the_server_does_not_read_the_rows_again(fast_database: Database, inrush: Inrush) -> None:
    """The number of rows comes from COPY's tag, and the smallest and largest key from the COPY."""
    inrush.write("rows.tbl", rows_of(0, 1_000))
    name = fast_database.name
    fast_database.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    before = fast_database.server.log.stat().st_size
    one = flow("t", "rows.tbl", columns=COLUMNS, partition_by="id")
    inrush.write("package.toml", package(fast_database.url, one))
    inrush("run", "package.toml").expect(CLEAN)
    with fast_database.server.log.open() as log:
        log.seek(before)
        said = log.read()
    assert "FORMAT inrush" in said
    assert "inrush_fastcopy.last_load()" in said
    staging = [line for line in said.splitlines() if 'FROM "inrush_staging"' in line]
    assert not [line for line in staging if "count(*)" in line or "min(" in line], staging
    assert fast_database.rows(
        "SELECT rows_counted, key_smallest, key_largest FROM inrush.unit"
    ) == [(1_000, "0", "999")]


def test_keys_in_order_are_held_by_a_check(fast_database: Database, inrush: Inrush) -> None:
    """The first and last row of the file show its range. A row outside needs a second COPY."""
    last = 40_000
    lines = [f"{n}|1|2024-01-01|{'x' * 40}|\n" for n in range(last)]
    lines[last // 2] = f"{last + 5}|1|2024-01-01|outside|\n"
    inrush.write("rows.tbl", "".join(lines))
    one = flow("t", "rows.tbl", columns=COLUMNS, partition_by="id")
    inrush.write("package.toml", package(fast_database.url, one, streams=1))
    outcome = inrush("run", "package.toml").expect(CLEAN)
    assert ways_of(outcome) == {"tuples"}
    assert fast_database.rows(
        "SELECT rows_counted, key_smallest, key_largest FROM inrush.unit"
    ) == [(last, "0", str(last + 5))]
    assert fast_database.value("SELECT count(*) FROM t") == last


def test_a_row_that_the_server_refuses(fast_database: Database, inrush: Inrush) -> None:
    """The row becomes a reject, because its unit is loaded again by COPY."""
    fast_database.execute(f"CREATE TABLE t {TABLE}; ALTER TABLE t ADD CHECK (id <> 77)")
    inrush.write("rows.tbl", rows_of(0, 1_000))
    one = flow("t", "rows.tbl", mode="append", rejects={"rows_max": 1})
    said = {"server_copy": "require"}
    inrush.write("package.toml", package(fast_database.url, one, **said))
    outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS)
    (unit,) = outcome.report["units"]
    assert unit["careful"]
    assert unit["server_copy"]["way"] == "copy"
    assert "refused a row" in unit["server_copy"]["reason"]
    assert fast_database.rows("SELECT count(*), count(*) FILTER (WHERE id = 77) FROM t") == [
        (999, 0)
    ]


def loading_role(database: Database) -> str:
    """Make a role that may load, and return the URL for it."""
    role = f"etl_{database.name}"
    database.execute(
        f"CREATE ROLE {role} LOGIN; GRANT CREATE ON DATABASE {database.name} TO {role}"
    )
    database.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
    return database.server.url(database.name, role)


def harm(database: Database, what: str) -> str:
    """Make the extension unusable, and return the URL of the role that loads."""
    if what == "absent":
        is_whole = database.server.version >= 18
        what_goes = "EXTENSION inrush_fastcopy" if is_whole else "SCHEMA inrush_fastcopy CASCADE"
        database.execute(f"DROP {what_goes}")
    return loading_role(database)


CANNOT = {
    "not granted": "the role may not call inrush_fastcopy.",
    "absent": "the extension inrush_fastcopy is not in this database",
}


@pytest.mark.parametrize("what", CANNOT)
def test_where_it_cannot_be_used_copy_is(
    what: str, fast_database: Database, inrush: Inrush
) -> None:
    url = harm(fast_database, what)
    inrush.write("rows.tbl", rows_of(0, 100))
    one = flow("t", "rows.tbl", columns=COLUMNS)
    inrush.write("package.toml", package(url, one))
    plan = inrush("check", "package.toml").expect(CLEAN).output
    assert f"rows go by binary COPY: {CANNOT[what]}" in plan
    inrush("run", "package.toml", "--server-copy", "require").expect(
        USAGE, 'server_copy = "require"', CANNOT[what]
    )
    inrush("run", "package.toml").expect(CLEAN)
    assert fast_database.value("SELECT count(*) FROM t") == 100


def test_the_grants_in_the_report_make_the_extension_usable(
    fast_database: Database, inrush: Inrush
) -> None:
    url = harm(fast_database, "not granted")
    inrush.write("rows.tbl", rows_of(0, 100))
    inrush.write("package.toml", package(url, flow("t", "rows.tbl", columns=COLUMNS)))
    outcome = inrush("run", "package.toml").expect(CLEAN)
    assert ways_of(outcome) == {"copy"}
    (fix,) = {unit["server_copy"]["fix"] for unit in outcome.report["units"]}
    assert fix.startswith("GRANT ")
    fast_database.execute(f"DROP TABLE t; {fix}")
    outcome = inrush("run", "package.toml", "--again").expect(CLEAN)
    assert ways_of(outcome) == {"tuples"}
    assert fast_database.value("SELECT count(*) FROM t") == 100


def test_a_failed_run_tells_the_way_of_units_that_it_began(
    fast_database: Database, inrush: Inrush
) -> None:
    """The bad row of the largest file, which is loaded first, ends the run."""
    url = harm(fast_database, "not granted")
    inrush.write("rows.0.tbl", rows_of(0, 100) + "bad|1|2024-01-01|no number|\n")
    inrush.write("rows.1.tbl", rows_of(200, 10))
    one = flow("t", ["rows.0.tbl", "rows.1.tbl"], columns=COLUMNS, partition_by="id")
    inrush.write("package.toml", package(url, one, streams=1))
    outcome = inrush("run", "package.toml").expect(REJECT_LIMIT)
    units = {unit["files"][0][-10:]: unit for unit in outcome.report["units"]}
    assert units["rows.0.tbl"]["server_copy"]["fix"].startswith("GRANT ")
    assert "server_copy" not in units["rows.1.tbl"]


def test_functions_that_a_stranger_made_are_not_called(
    inrush: Inrush, newest_database: Database
) -> None:
    """Anybody can create a schema with this name, but only a superuser can create C functions."""
    newest_database.execute(
        "CREATE TABLE called (at timestamptz); CREATE SCHEMA inrush_fastcopy;"
        "CREATE FUNCTION inrush_fastcopy.open(OUT abi int, OUT version text, OUT ways text[]) AS "
        "$$ INSERT INTO called VALUES (now()); SELECT 1, 'x', '{tuples}'::text[] $$ LANGUAGE sql;"
        "CREATE FUNCTION inrush_fastcopy.refusal(regclass, text[], text) RETURNS text AS "
        "'SELECT NULL::text' LANGUAGE sql;"
        "CREATE FUNCTION inrush_fastcopy.last_load() RETURNS text AS 'SELECT NULL' LANGUAGE sql"
    )
    inrush.write("rows.tbl", rows_of(0, 100))
    text = package(newest_database.url, flow("t", "rows.tbl", columns=COLUMNS))
    inrush.write("package.toml", text)
    inrush("run", "package.toml").expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM called") == 0


def test_a_table_that_is_refused_late(
    fast_server_of: Callable[[int], Server],
    servers_folder: Path,
    inrush: Inrush,
) -> None:
    """The catalog does not show the reason: the extension refuses the table only when it exists."""
    server = fast_server_of(16)
    database = server.create_database("refused_late")
    extension.install(database, extension.built(16, servers_folder))
    staging_triggers.for_each_row(database, staging_triggers.KEEPS_ROWS)
    inrush.write("rows.tbl", rows_of(0, 100))
    inrush.write("package.toml", package(database.url, flow("t", "rows.tbl", columns=COLUMNS)))
    inrush("run", "package.toml", "--server-copy", "require").expect(
        FAILED, 'server_copy = "require"', "has a trigger or foreign key"
    )
    outcome = inrush("run", "package.toml").expect(CLEAN)
    (unit,) = outcome.report["units"]
    assert unit["server_copy"]["way"] == "copy"
    assert "has a trigger or foreign key" in unit["server_copy"]["reason"]
    assert database.value("SELECT count(*) FROM t") == 100
    server.done_with(database)
