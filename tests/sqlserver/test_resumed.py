"""Runs that stop while their rows are switched in, and are resumed with more files."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, REJECT_LIMIT
from harness.packages import flow, package
from sqlserver.double import Table
from sqlserver.loads import COLUMNS, Loads

# The constraints of the table, or None if the load makes it, and the options of the load.
TARGETS: dict[str, tuple[str | None, str]] = {
    "heap": ("", ""),
    "key": (", CONSTRAINT pk PRIMARY KEY CLUSTERED (id), CONSTRAINT ck CHECK (id > 0)", ""),
    "keys": (", CONSTRAINT u UNIQUE (id), CONSTRAINT pk PRIMARY KEY CLUSTERED (day, id)", ""),
    "columnstore": (None, "&columnstore=yes"),
}
# The kind of table, and the change to it while no run works.
CHANGES: dict[str, tuple[list[str], list[str]]] = {
    "check": (
        ["ALTER TABLE t ADD CONSTRAINT c CHECK (id > 0)"],
        ["ALTER TABLE t DROP CONSTRAINT c", "ALTER TABLE t ADD CONSTRAINT c CHECK (id < 9)"],
    ),
    "index": (
        ["CREATE INDEX i ON t (id)"],
        ["DROP INDEX i ON t", "CREATE INDEX i ON t (day)"],
    ),
    "clustered": (["CREATE CLUSTERED INDEX i ON t (id)"], ["DROP INDEX i ON t"]),
}
MORE = {"part.1.csv": "3,2024-01-01,x", "part.2.csv": "4,2024-01-01,x"}


@pytest.mark.parametrize("stop", ["in_switch", "before_switch_commit"])
@pytest.mark.parametrize("kind", TARGETS)
def test_more_files_follow(loads: Loads, kind: str, stop: str) -> None:
    """The staging table has the indexes and CHECKs of the target already."""
    constraints, options = TARGETS[kind]
    if constraints is not None:
        columns = "id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL"
        loads.make(f"CREATE TABLE t ({columns}{constraints})")
    mode = "create" if constraints is None else "append"
    inrush = loads.inrush
    loads.files("1,2024-01-01 2,2024-01-01")
    into = flow("t", "part.*.csv", columns=COLUMNS, mode=mode)
    words = ("run", inrush.write("package.toml", package(loads.double.url + options, into)))
    with inrush.stopped_by(f"stop:{stop}", *words) as running:
        running.process.kill()
    for name, row in MORE.items():
        inrush.write(name, f"id,day,note\n{row}\n")
    if kind == "key":
        inrush.write("part.3.csv", "id,day,note\n-5,2024-01-01,x\n")
        inrush(*words).expect(REJECT_LIMIT, "part.3.csv:2", "it breaks the constraint ck")
        (inrush.folder / "part.3.csv").unlink()
    inrush(*words, "--streams", "2").expect(CLEAN)
    assert loads.ids() == [1, 2, 3, 4]
    loads.nothing_is_left()


@pytest.mark.parametrize("kind", CHANGES)
def test_the_target_is_changed_before_the_next_attempt(loads: Loads, kind: str) -> None:
    """The staging table gets the new indexes and CHECKs instead of the old ones."""
    before, change = CHANGES[kind]
    loads.make("CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)")
    loads.make(*before)
    loads.files("1,2024-01-01 2,2024-01-02")
    into = flow("t", "part.*.csv", columns=COLUMNS, mode="append")
    text = package(loads.double.url, into)
    words = ("run", loads.inrush.write("package.toml", text))
    with loads.inrush.stopped_by("stop:before_switch_commit", *words) as running:
        running.process.kill()
    # A change waits until the server has noticed the end of the sessions.
    session = loads.double.session()
    session.lock_timeout = 60
    for statement in change:
        session.execute(statement)
    session.close()
    outcome = loads.inrush(*words).expect(CLEAN)
    assert "INSERT ... SELECT" not in str(outcome.report)
    assert loads.ids() == [1, 2]
    loads.nothing_is_left()


def test_the_target_is_dropped_before_the_next_attempt(loads: Loads) -> None:
    """The new table has the columns of the load, and not the key of the old table."""
    loads.make(
        "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL, "
        "CONSTRAINT pk PRIMARY KEY CLUSTERED (id), CONSTRAINT ck CHECK (id > 0))"
    )
    loads.files("1,2024-01-01 2,2024-01-02")
    into = flow("t", "part.*.csv", columns=COLUMNS, mode="replace")
    words = ("run", loads.inrush.write("package.toml", package(loads.double.url, into)))
    with loads.inrush.stopped_by("stop:before_switch_commit", *words) as running:
        running.process.kill()
    session = loads.double.session()
    session.lock_timeout = 60
    session.execute("DROP TABLE t")
    session.close()
    loads.inrush(*words).expect(CLEAN)
    assert loads.ids() == [1, 2]
    table = loads.double.database.objects["dbo", "t"]
    assert isinstance(table, Table)
    assert (table.indexes, table.checks) == ([], [])


def test_a_staging_table_is_left_over(loads: Loads) -> None:
    """A restored ledger does not contain the run whose staging table has rows."""
    loads.files("1,2024-01-01 2,2024-01-02")
    into = flow("t", "part.*.csv", columns=COLUMNS)
    words = ("run", loads.inrush.write("package.toml", package(loads.double.url, into)))
    with loads.inrush.stopped_by("stop:before_switch", *words) as running:
        running.process.kill()
    session = loads.double.session()
    session.lock_timeout = 60
    session.execute("DELETE FROM inrush.unit")
    session.execute("DELETE FROM inrush.run")
    session.close()
    loads.inrush(*words).expect(CLEAN)
    assert loads.ids() == [1, 2]
    loads.nothing_is_left()


@pytest.mark.parametrize(
    ("point", "kept", "loaded"),
    [
        ("run_entered", "0 of 3 units, 0 rows", "116 B in "),
        ("after_unit_commit", "1 of 3 units, 2 rows", "72 B in "),
        ("before_switch", "3 of 3 units, 5 rows", "0 B in "),
    ],
)
def test_the_summary_tells_kept_rows_from_loaded_ones(
    loads: Loads, point: str, kept: str, loaded: str
) -> None:
    """The speed counts the rows that this attempt loaded, without kept rows."""
    loads.files("1,2024-01-01 2,2024-01-02", "3,2024-01-01 4,2024-01-02", "5,2024-01-03")
    into = flow("t", "part.*.csv", columns=COLUMNS)
    words = ("run", loads.inrush.write("package.toml", package(loads.double.url, into, streams=1)))
    killed = loads.inrush(*words, environment={"INRUSH_FAULT": point})
    assert killed.status < 0, killed.said
    lines = loads.inrush(*words).expect(CLEAN).output.splitlines()
    at = lines.index("5 read = 5 loaded + 0 rejected + 0 skipped")
    assert lines[at + 1] == f"kept from earlier attempts: {kept}"
    assert lines[at + 2].startswith(loaded)
    assert ("rows/s" in lines[at + 2]) == (point != "before_switch")
