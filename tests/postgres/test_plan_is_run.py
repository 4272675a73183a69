"""A run executes what `inrush check` printed, in each mode: compared with the server's log.

Statements that only read, and that the plan does not print, are ignored. All other statements must
be in the plan, in the same transaction and order, and every statement of the plan must be run.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from harness.command import CLEAN, Inrush
from harness.old_ledger import make_version_4
from harness.packages import Value, flow, package
from harness.servers import Database

END = "\x00"
# A SELECT that locks or changes something does not count as a read.
NO_READ = r"FOR SHARE|FOR UPDATE|lo_unlink|lo_create\(0|advisory"
READ = rf"(?:(?:SELECT|WITH|VALUES|EXPLAIN)(?![^{END}]*(?:{NO_READ}))[^{END}]*{END})*"


@dataclass
class Transaction:
    """Statements of a plan that are run together, as one pattern."""

    lines: list[str]
    # Each session runs it once.
    is_of_sessions: bool = False
    is_used: bool = False

    @property
    def is_repeated(self) -> bool:
        """Whether it may be run more than once."""
        return self.is_of_sessions or self.is_optional

    @property
    def is_optional(self) -> bool:
        """Whether it may be run any number of times, including none."""
        return len(self.lines) == 1 and pattern_of(self.lines[0]).endswith("*")

    def holds(self, statements: list[str]) -> bool:
        """Return whether these statements match the pattern."""
        pattern = READ + READ.join(pattern_of(line) for line in self.lines) + READ
        return (
            re.fullmatch(pattern, "".join(one + END for one in statements), re.DOTALL) is not None
        )


def pattern_of(line: str) -> str:
    """Return the pattern of a line of the plan: a statement, once, often, or under a condition."""
    statement, _, comment = line.partition("; -- ")
    statement = statement.removesuffix(";")
    parts = re.split(r"<[^<>]+>", statement)
    pattern = f"[^{END}]*".join(re.escape(" ".join(part.split(" "))) for part in parts) + END
    if times := re.fullmatch(r"(\d+) times", comment):
        return f"(?:{pattern}){{{times[1]}}}"
    if comment.startswith("if "):
        return f"(?:{pattern})*"
    if comment.startswith("for each "):
        return f"(?:{pattern})+"
    assert not comment, line
    return pattern


def transactions_of(lines: list[str]) -> Iterator[Transaction]:
    """Cut the lines of a plan into transactions."""
    times = 1
    inside: list[str] | None = None
    for line in lines:
        if each := re.fullmatch(r"-- for each of (\d+) splits:", line):
            times = int(each[1])
        elif line == "BEGIN;":
            inside = [line]
        elif inside is None:
            yield Transaction([line])
        else:
            inside.append(line)
            if line == "COMMIT;":
                for _ in range(times):
                    yield Transaction(inside)
                inside, times = None, 1
    assert inside is None, inside


def planned(output: str) -> list[Transaction]:
    """Return the transactions that `inrush check` printed."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in output.splitlines():
        if not line.startswith(" "):
            section = line
            continue
        text = line.strip()
        if text.endswith(";") or "; -- " in text or text.startswith("-- for each"):
            sections.setdefault(section, []).append(text)
    of_sessions = sections.pop("Each session, when it is opened")
    lines = [line for own in sections.values() for line in own]
    return [Transaction(of_sessions, is_of_sessions=True), *transactions_of(lines)]


def logged(database: Database, log: str) -> list[list[str]]:
    """Return the transactions that the sessions of a run have executed."""
    sessions: dict[str, list[str]] = {}
    statements: list[str] | None = None
    for line in log.splitlines():
        if line.startswith("\t") and statements is not None:
            statements[-1] += "\n" + line[1:]
            continue
        statements = None
        head = rf"{re.escape(database.name)} (inrush .*?) LOG:  (?:statement|execute [^:]*): (.*)"
        if found := re.fullmatch(head, line):
            # The control session has another name until it knows its run.
            name = "control" if "stream" not in found[1] else found[1]
            statements = sessions.setdefault(name, [])
            statements.append(found[2])
    found_transactions: list[list[str]] = []
    for own in sessions.values():
        inside: list[str] | None = None
        for statement in own:
            if statement == "BEGIN":
                inside = [statement]
                found_transactions.append(inside)
            elif inside is not None:
                inside.append(statement)
                if statement == "COMMIT":
                    inside = None
            elif not re.fullmatch(READ, statement + END, re.DOTALL):
                found_transactions.append([statement])
    return found_transactions


def hold(inrush: Inrush, database: Database, text: str) -> None:
    """Load a package, and compare the log with its plan."""
    inrush.write("package.toml", text)
    plan = planned(inrush("check", "package.toml").expect(CLEAN).output)
    database.execute(f"ALTER DATABASE {database.name} SET log_statement = 'all'")
    before = database.server.log.stat().st_size
    inrush("run", "package.toml").expect(CLEAN)
    with database.server.log.open() as log:
        log.seek(before)
        ran = logged(database, log.read())
    for statements in ran:
        unused = (one for one in plan if one.is_repeated or not one.is_used)
        # A line that must be run comes before an equal line that need not be run.
        left_over = sorted(unused, key=lambda one: one.is_repeated)
        match = next((one for one in left_over if one.holds(statements)), None)
        assert match, "not in the plan:\n" + "\n".join(statements) + "\nleft of it:\n" + left(plan)
        match.is_used = True
    assert not left(plan), left(plan)


def left(plan: list[Transaction]) -> str:
    """Return the transactions of a plan that were not run."""
    return "\n\n".join("\n".join(one.lines) for one in plan if not (one.is_used or one.is_optional))


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
