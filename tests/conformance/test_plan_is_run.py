"""A run performs the steps that `inrush check` printed, and no others, in each mode.

PostgreSQL's log is compared in tests/postgres/test_plan_is_run.py.
"""

from __future__ import annotations

import gzip
import importlib.util
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from conformance.conftest import MakePlace
from conformance.destinations import AdbcDuckDb, AdbcPostgreSql, AdbcSqlite, DuckDb, Place
from harness import logging_driver
from harness.command import CLEAN, USAGE, Inrush, Outcome
from harness.logging_driver import LoggingDriver
from harness.packages import Value, flow, step
from harness.planned_steps import compare, planned

COLUMNS: list[Value] = ["id int", "day date"]
ROWS = "id,day\n1,2024-01-01\n2,2024-01-31\n"

# The settings of a flow into an existing table with rows.
MODES: dict[str, dict[str, Any]] = {
    "append": {"mode": "append"},
    "replace": {"mode": "replace"},
    "statements of the user": {
        "mode": "append",
        "pre_sql": "DELETE FROM parts WHERE id = 1; DELETE FROM parts WHERE id = 2",
        "post_sql": "CREATE INDEX of_parts ON parts (id)",
    },
    "keep": {"mode": "replace", "replace": {"keep": True}},
    "keep as": {"mode": "replace", "replace": {"keep": "old"}},
    "sums": {"mode": "append", "verify": "sums"},
    "upsert": {"mode": "upsert", "key": "id"},
    "scd": {"mode": "upsert", "key": "id", "scd": {}},
}
# For some modes: statements that change the table which the first load made.
SET_UP: dict[str, list[str]] = {
    "upsert": ["CREATE UNIQUE INDEX of_id ON parts (id)"],
    "scd": [
        "DROP TABLE parts",
        "CREATE TABLE parts (id integer NOT NULL, day date, "
        "valid_from timestamptz NOT NULL, valid_to timestamptz)",
        "INSERT INTO parts VALUES (1, '2023-01-01', '2023-01-01 00:00:00+00:00', NULL)",
    ],
}
OF_CURRENT = "CREATE UNIQUE INDEX of_current ON parts (id) WHERE valid_to IS NULL"
# The modes that PostgreSQL lacks if it is loaded through its ADBC driver.
KEEPS = {"keep", "keep as", "sums"}


def library_of(module: str, name: str = "") -> Path:
    """Return the library of a Python package, or a library beside its first file."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name(name) if name else Path(spec.origin)


# The driver of each kind of destination, and its entry point.
DRIVERS: dict[type[Place], tuple[str, str, str]] = {
    DuckDb: ("_duckdb", "", "duckdb_adbc_init"),
    AdbcDuckDb: ("_duckdb", "", "duckdb_adbc_init"),
    AdbcSqlite: ("adbc_driver_sqlite", "libadbc_driver_sqlite.so", "AdbcDriverInit"),
    AdbcPostgreSql: ("adbc_driver_postgresql", "libadbc_driver_postgresql.so", "AdbcDriverInit"),
}


class Logged:
    """A destination that is loaded through a driver which logs."""

    def __init__(self, place: Place, inrush: Inrush) -> None:
        module, name, entry = DRIVERS[type(place)]
        library = logging_driver.built(inrush.folder)
        self.inrush = inrush
        self.place = place
        log = inrush.folder / "statements.log"
        self.driver = LoggingDriver(library, library_of(module, name), entry, log)
        if type(place) is DuckDb:
            place.options["driver"] = str(library)
        else:
            place.url = f"adbc:{library}"
        if type(place) is AdbcDuckDb:
            place.options["entrypoint"] = entry

    @property
    def analyzed(self) -> list[str]:
        """The statements of the last command that update statistics."""
        statements = (one for session in self.driver.sessions() for one in session)
        return [one for one in statements if one.startswith("ANALYZE")]

    def command(self, *words: str, **environment: str) -> Outcome:
        """Clear the log, and run a command on the package."""
        self.driver.log.unlink(missing_ok=True)
        return self.inrush(
            words[0],
            "package.toml",
            "--trust",
            *words[1:],
            environment={**self.driver.environment, **environment},
        )

    def load(self, *flows: str, **run: Any) -> None:
        """Load a package, and compare the log with its plan."""
        self.inrush.write("package.toml", self.place.package(*flows, **run))
        self.compare()

    def compare(self) -> None:
        """Run the package, and compare the log with its plan."""
        plan = planned(self.command("check").expect(CLEAN).output)
        # The run begins, has at least one unit, and switches.
        assert len(plan) >= 3, plan
        self.command("run").expect(CLEAN)
        compare(plan, self.driver.sessions())


@pytest.fixture(params=DRIVERS, ids=lambda kind: kind.name)
def logged(
    request: pytest.FixtureRequest, make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> Logged:
    """Return each destination that a driver can log, empty."""
    inrush.write("rows.csv", ROWS)
    return Logged(make_place(request.param, tmp_path), inrush)


def into(table: str = "parts", files: str | list[str] = "rows.csv", **settings: Any) -> str:
    """Return a flow into a table."""
    return flow(table, files, **{"columns": COLUMNS, "mode": "create", **settings})


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("mode", MODES)
def test_a_run_performs_its_plan(logged: Logged, mode: str) -> None:
    # The first run creates the ledger and the table; the last one finds the rows that the run
    # before it has kept.
    logged.load(into(), name="first")
    if isinstance(logged.place, AdbcPostgreSql) and mode in KEEPS:
        logged.inrush.write("package.toml", logged.place.package(into(**MODES[mode])))
        logged.command("check").expect(USAGE, "hint: ")
        return
    for statement in SET_UP.get(mode, []):
        logged.place.execute(statement)
    if mode == "scd" and logged.place.partial_indexes:
        logged.place.execute(OF_CURRENT)
    logged.load(into(**MODES[mode]))
    if mode in ("replace", "keep"):
        logged.inrush.write("rows.csv", ROWS + "3,2024-02-01\n")
        logged.load(into(**MODES[mode]))


@pytest.mark.clause("D-45")
def test_several_flows_units_and_streams(logged: Logged) -> None:
    for part in range(3):
        logged.inrush.write(f"part.{part}.csv", ROWS)
    flows = [into("a", ["part.0.csv", "part.1.csv", "part.2.csv"]), into("b")]
    logged.load(*flows, streams=2)


@pytest.mark.clause("D-45")
def test_targets_are_analyzed_if_the_package_asks(logged: Logged) -> None:
    flows = [into("a"), into("b")]
    logged.load(*flows, analyze=False)
    assert not logged.analyzed
    if isinstance(logged.place, DuckDb):
        logged.inrush.write("package.toml", logged.place.package(*flows, analyze=True))
        logged.command("check").expect(USAGE, "analyze")
        return
    logged.load(*(into(table, mode="append") for table in "ab"), name="analyzed", analyze=True)
    assert [re.sub(r"\W", "", statement[-3:]) for statement in logged.analyzed] == ["a", "b"]


@pytest.mark.clause("D-45")
def test_members_that_are_added(logged: Logged) -> None:
    lookup: Value = {"connection": "target", "table": "kinds"}
    logged.place.make_numbered("kinds", "kind_key", "id int UNIQUE")
    logged.place.execute("INSERT INTO kinds (id) VALUES (1)")
    logged.place.execute("CREATE TABLE parts (day date, kind_key int)")
    adding = step(lookup=lookup, on={"id": "id"}, take={"kind_key": "kind_key"}, unmatched="add")
    adding = into(mode="append") + adding
    if not isinstance(logged.place, AdbcSqlite):
        logged.inrush.write("package.toml", logged.place.package(adding))
        logged.command("check").expect(USAGE, "cannot add members")
        return
    logged.inrush.write("package.toml", logged.place.package(adding))
    plan = planned(logged.command("check").expect(CLEAN).output)
    logged.command("run").expect(CLEAN)
    # The reference is read by a session of the source, which begins with this statement.
    reads = "SELECT count(*) FROM sqlite_schema"
    loads = [session for session in logged.driver.sessions() if reads not in session]
    compare(plan, loads)
    assert logged.place.query("SELECT id FROM kinds ORDER BY 1") == [(1,), (2,)]


@pytest.mark.clause("D-45")
def test_a_file_that_is_fed(logged: Logged) -> None:
    (logged.inrush.folder / "rows.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    logged.load(into("a", "rows.csv.gz"), streams=2)


@pytest.mark.clause("D-45")
def test_columns_that_staging_has_in_another_type(logged: Logged) -> None:
    logged.inrush.write("ids.csv", "id\n6f2c4c39-5d3c-4f35-8f66-5b5f3a1f7c11\n")
    logged.load(into("a", "ids.csv", columns=["id uuid"]))


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("point", ["run_entered", "after_unit_commit", "before_switch"])
def test_a_run_that_resumes_another(logged: Logged, point: str) -> None:
    logged.inrush.write("package.toml", logged.place.package(into()))
    killed = logged.command("run", INRUSH_FAULT=point)
    assert killed.status == -signal.SIGKILL, killed.said
    logged.compare()


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("change", ["left out", "added"])
def test_a_statement_that_differs_is_found(logged: Logged, change: str) -> None:
    """The comparison fails if the plan has one statement more or fewer than the run."""
    logged.inrush.write("package.toml", logged.place.package(into()))
    output = logged.command("check").expect(CLEAN).output
    lines = output.splitlines()
    [switched] = [at for at, line in enumerate(lines) if "state = 'switched'" in line]
    lines[switched : switched + 1] = [] if change == "left out" else [lines[switched]] * 2
    logged.command("run").expect(CLEAN)
    with pytest.raises(AssertionError, match="not in the plan"):
        compare(planned("\n".join(lines)), logged.driver.sessions())
