"""A load into the double performs the steps that `inrush check` printed, and its script as well."""

from __future__ import annotations

import re
from typing import Any

import pytest

from harness.command import CLEAN
from harness.packages import flow, package
from harness.planned_steps import compare, planned
from sqlserver.double import Double
from sqlserver.loads import COLUMNS, FUNCTION, SCHEME, TABLE, Loads

PLAIN = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)"
NUMBERED = PLAIN.replace("id int", "id int IDENTITY(1, 1)")
KEY = "ALTER TABLE t ADD CONSTRAINT key_of_t PRIMARY KEY CLUSTERED (id)"
IN_JANUARY = "INSERT INTO t (id, day, note) VALUES (99, '2024-01-02', NULL)"
MONTHS = "months"
JANUARY, FEBRUARY = "1,2024-01-05 2,2024-01-20", "3,2024-02-10"

# The objects that are made before, the files, the options of the connection, and the settings of
# the flow.
LOADS: dict[str, tuple[list[str], list[str], str, dict[str, Any]]] = {
    "create": ([], [JANUARY, FEBRUARY], "", {}),
    "create partitions": ([], [JANUARY, FEBRUARY], "", {"partition_by": "id"}),
    "create a columnstore": ([], [JANUARY], "&columnstore=yes", {}),
    "into an empty table": ([PLAIN, KEY], [JANUARY], "", {}),
    "append by switch": ([PLAIN], [JANUARY], "", {"mode": "append"}),
    "append by copy": ([PLAIN, IN_JANUARY], [JANUARY], "", {"mode": "append"}),
    "append without switch": ([PLAIN], [JANUARY], "&switch=no", {"mode": "append"}),
    "values of an identity column": ([NUMBERED], [JANUARY], "", {"mode": "append"}),
    "append to partitions": ([MONTHS], [JANUARY, FEBRUARY], "", {"mode": "append"}),
    "append to partitions with rows": (
        [MONTHS, IN_JANUARY],
        [JANUARY, FEBRUARY],
        "",
        {"mode": "append"},
    ),
    "replace": ([PLAIN, KEY, IN_JANUARY], [JANUARY], "", {"mode": "replace"}),
    "replace all partitions": ([MONTHS, IN_JANUARY], [FEBRUARY], "", {"mode": "replace"}),
    "replace partitions": (
        [MONTHS, IN_JANUARY],
        [JANUARY, FEBRUARY],
        "",
        {"mode": "replace", "replace": {"scope": "partitions"}},
    ),
    "keep": (
        [PLAIN, KEY, IN_JANUARY],
        [JANUARY],
        "",
        {"mode": "replace", "replace": {"keep": True}},
    ),
    "keep by copy": (
        [NUMBERED, f"SET IDENTITY_INSERT t ON; {IN_JANUARY}"],
        [JANUARY],
        "",
        {"mode": "replace", "replace": {"keep": "before"}},
    ),
    "keep all partitions": (
        [MONTHS, IN_JANUARY],
        [FEBRUARY],
        "",
        {"mode": "replace", "replace": {"keep": True}},
    ),
    "keep partitions": (
        [MONTHS, IN_JANUARY],
        [JANUARY, FEBRUARY],
        "",
        {"mode": "replace", "replace": {"scope": "partitions", "keep": True}},
    ),
    "append to new partitions": (
        [FUNCTION.format(side="RIGHT"), SCHEME, TABLE.format(more=""), IN_JANUARY],
        [FEBRUARY, "4,2024-05-02"],
        "&filegroups=old,new",
        {
            "mode": "append",
            "partition_by": "day",
            "bounds": ["2024-04-30", "2024-05-31", "2024-06-30"],
        },
    ),
    "append to new partitions of RANGE LEFT": (
        [MONTHS, IN_JANUARY],
        [FEBRUARY, "4,2024-05-02"],
        "",
        {"mode": "append", "partition_by": "day", "bounds": ["2024-04-01", "2024-06-01"]},
    ),
    "upsert": ([PLAIN, KEY, IN_JANUARY], [JANUARY], "", {"mode": "upsert", "key": "id"}),
    "upsert by an identity column": (
        [NUMBERED, KEY],
        [JANUARY],
        "",
        {"mode": "upsert", "key": "id"},
    ),
    "versions": (
        [
            PLAIN.replace("note", "valid_from datetime2(6), valid_to datetime2(6), note"),
            "CREATE UNIQUE INDEX of_current ON t (id) WHERE valid_to IS NULL",
        ],
        [JANUARY],
        "",
        {"mode": "upsert", "key": "id", "scd": {}},
    ),
    "members": (
        [
            PLAIN.replace("note nvarchar(20)", "number int"),
            "CREATE TABLE d (number int IDENTITY(1, 1) PRIMARY KEY, id int UNIQUE)",
            "INSERT INTO d (id) VALUES (2)",
        ],
        [JANUARY, FEBRUARY],
        "",
        {
            "mode": "append",
            "columns": ["id integer not null", "day date not null", "* skip"],
            "step": [
                {
                    "lookup": {"connection": "target", "table": "d"},
                    "on": {"id": "id"},
                    "take": {"number": "number"},
                    "unmatched": "add",
                },
            ],
        },
    ),
    "statements of the user": (
        [PLAIN],
        [JANUARY],
        "",
        {
            "mode": "append",
            "pre_sql": "DELETE FROM t",
            "post_sql": ["CREATE NONCLUSTERED INDEX of_t ON t (day)", "DELETE FROM t WHERE id = 2"],
        },
    ),
}


def sent(double: Double) -> list[list[str]]:
    """Return the statements of a run by session.

    Sessions that plan, sample others or read a source are left out.
    """
    sessions: list[list[str]] = []
    others = re.compile(r".*LOCK_TIMEOUT (5000|0)$|SET XACT_ABORT OFF")
    for batches in double.sessions:
        if not batches or others.match(batches[0]):
            continue
        sessions.append([])
        for batch in batches:
            # The row of a unit and its COMMIT are one batch.
            statement, commit, _ = batch.partition("; COMMIT TRANSACTION")
            sessions[-1] += [statement, "COMMIT TRANSACTION"] if commit else [batch]
    return sessions


def made(loads: Loads, load: str) -> None:
    """Make the objects and the files of a load."""
    before, files, _, _ = LOADS[load]
    loads.files(*files)
    for statement in before:
        if statement == MONTHS:
            loads.months()
        else:
            loads.make(statement)


def compared(loads: Loads, options: str, **settings: Any) -> None:
    """Run a load, and compare its log with its plan."""
    plan = planned(loads("check", options, **settings).expect(CLEAN).output)
    # The run begins, has at least one unit, and switches.
    assert len(plan) >= 3, plan
    loads.double.sessions.clear()
    loads("run", options, **settings).expect(CLEAN)
    compare(plan, sent(loads.double))


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("load", LOADS)
def test_a_run_performs_its_plan(loads: Loads, load: str) -> None:
    made(loads, load)
    _, _, options, settings = LOADS[load]
    compared(loads, options, **settings)


@pytest.mark.clause("D-45")
def test_a_run_after_another_one(loads: Loads) -> None:
    """The ledger exists, and the rows of the earlier run are noted as gone."""
    loads.files(JANUARY)
    compared(loads, "")
    loads.files(FEBRUARY)
    compared(loads, "", mode="replace")


@pytest.mark.clause("D-45")
def test_several_flows(loads: Loads) -> None:
    loads.files(JANUARY, FEBRUARY)
    flows = [flow(table, "part.*.csv", columns=COLUMNS) for table in ("t", "u")]
    loads.inrush.write("package.toml", package(loads.double.url, *flows, streams=2))
    plan = planned(loads.inrush("check", "package.toml").expect(CLEAN).output)
    loads.double.sessions.clear()
    loads.inrush("run", "package.toml").expect(CLEAN)
    compare(plan, sent(loads.double))


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("point", ["run_entered", "after_unit_commit", "before_switch"])
def test_a_run_that_resumes_another(loads: Loads, point: str) -> None:
    loads.files(JANUARY, FEBRUARY)
    loads("check", mode="create").expect(CLEAN)
    words = ("run", "package.toml")
    killed = loads.inrush(*words, environment={"INRUSH_FAULT": point})
    assert killed.status < 0, killed.said
    plan = loads("check", mode="create").expect(CLEAN).output
    assert 'DROP PARTITION SCHEME "inrush_partitions_<its number>"' in plan
    compared(loads, "", mode="create")


@pytest.mark.clause("D-45")
def test_a_plan_has_the_lines_of_its_own_load(loads: Loads) -> None:
    """A plan without columnstores has no query of rowgroups; it never says "each of 1"."""
    loads.files(JANUARY)
    plan = loads("check").expect(CLEAN).output
    assert "-- in one transaction:" in plan
    assert "LOCK_TIMEOUT 5000" not in plan
    loads.make(f"{PLAIN}; CREATE CLUSTERED COLUMNSTORE INDEX c ON t; {IN_JANUARY}")
    plan = loads("check", mode="append").expect(CLEAN).output
    assert "LOCK_TIMEOUT 5000; -- if rows were copied into a columnstore" in plan


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("change", ["left out", "added"])
def test_a_statement_that_differs_is_found(loads: Loads, change: str) -> None:
    """The comparison fails if the plan has one statement more or fewer than the run."""
    loads.files(JANUARY)
    lines = loads("check").expect(CLEAN).output.splitlines()
    [switched] = [at for at, line in enumerate(lines) if "state = N'switched'" in line]
    lines[switched : switched + 1] = [] if change == "left out" else [lines[switched]] * 2
    loads.double.sessions.clear()
    loads("run").expect(CLEAN)
    with pytest.raises(AssertionError, match="not in the plan"):
        compare(planned("\n".join(lines)), sent(loads.double))


# The names that a run chooses, and those of a script.
CHOSEN = re.compile(
    r"(inrush_(?:staging|partitions)_|kept_|members_)(?:[0-9a-f]{16}|<\d>|<run>|\d+)"
)


def tables(double: Double) -> dict[str, list[list[list[Any]]]]:
    """Return the tables with their columns and indexes."""
    session = double.session()
    found = {}
    for (name,) in session.rows("SELECT name FROM sys.tables"):
        of_table = [
            session.rows(f"SELECT {columns} FROM sys.{view} WHERE object_id = OBJECT_ID(N'{name}')")
            for view, columns in (
                ("columns", "name, max_length, precision, scale, is_nullable"),
                ("indexes", "name, type"),
            )
        ]
        found[CHOSEN.sub(r"\1", str(name))] = of_table
    session.close()
    return found


@pytest.mark.parametrize("load", [name for name in LOADS if "partitions" not in name])
def test_the_script_is_a_load_without_rows(loads: Loads, load: str) -> None:
    """The batches of the script, run in a second double as by sqlcmd, make the tables of a load."""
    made(loads, load)
    _, _, options, settings = LOADS[load]
    into = flow("t", "part.*.csv", **{"columns": COLUMNS, **settings})
    loads.inrush.write("package.toml", package(loads.double.url + options, into))
    output = loads.inrush("check", "package.toml", "--sql").expect(CLEAN).output
    assert "-- Run it with `sqlcmd -x -b -i FILE`" in output
    batches = [
        "\n".join(line for line in batch.splitlines() if not line.startswith("--")).strip()
        for batch in output.split("\nGO\n")
    ]
    batches = [batch for batch in batches if batch]
    assert all(batch.endswith(";") for batch in batches)
    with Double() as other:
        made(Loads(loads.inrush, other), load)
        session = other.session()
        session.quoted_identifiers = False
        for batch in batches:
            session.execute(batch.removesuffix(";"))
        session.close()
        loads("run", options, **settings).expect(CLEAN)
        assert tables(other) == tables(loads.double)
    # The run sent these batches.
    log = {CHOSEN.sub(r"\1", one) for own in sent(loads.double) for one in own}
    assert [one for one in batches if CHOSEN.sub(r"\1", one.removesuffix(";")) not in log] == []
