"""Tables that another session changes between a load's plan and its switch."""

from __future__ import annotations

import pytest

from harness.command import FAILED, REJECT_LIMIT, USAGE
from harness.packages import Value, flow, package
from sqlserver.loads import Loads

# The columns of the file and its only value; the columns of the table when the load is planned, and
# when it is switched; the load's error; the exit status and the message of the same command
# afterwards.
CHANGED: dict[str, tuple[list[Value], str, str | None, str, str, tuple[int, str]]] = {
    "digits": (
        ["id int", "note numeric(9,3)"],
        "1.256",
        "id int NOT NULL, note decimal(9,3) NULL",
        "id int NOT NULL, note decimal(9,1) NULL",
        'column note of "dbo"."t" is decimal(9,1) now, but the load was planned for decimal(9,3)',
        (REJECT_LIMIT, "numeric(9,1) keeps 1"),
    ),
    "code_page": (
        ["id int", "note nvarchar(9)"],
        "漢",
        "id int NOT NULL, note nvarchar(9) NULL",
        "id int NOT NULL, note varchar(9) NULL",
        'column note of "dbo"."t" is varchar(9)',
        (REJECT_LIMIT, "is not in code page 1252"),
    ),
    "fewer": (
        ["id int", "note nvarchar(9)"],
        "a",
        "id int NOT NULL, note nvarchar(9) NULL",
        "id int NOT NULL",
        '"dbo"."t" has no column note any more',
        (USAGE, "no column `note`"),
    ),
    "new": (
        ["id int", "note nvarchar(9)"],
        "漢",
        None,
        "id int NOT NULL, note varchar(9) NULL",
        'column note of "dbo"."t" is varchar(9)',
        (REJECT_LIMIT, "is not in code page 1252"),
    ),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_values_are_not_converted(loads: Loads, kind: str) -> None:
    """A statement that copies rows would silently round numbers and replace characters."""
    columns, value, before, after, says, (status, says_then) = CHANGED[kind]
    if before is not None:
        loads.make(f"CREATE TABLE t ({before})")
    inrush = loads.inrush
    inrush.write("rows.csv", f"id,note\n1,{value}\n")
    text = package(loads.double.url, flow("t", "rows.csv", columns=columns))
    words = ("run", inrush.write("package.toml", text))
    with inrush.stopped_by("stop:before_switch", *words) as running:
        if before is not None:
            loads.make("DROP TABLE t")
        loads.make(f"CREATE TABLE t ({after})")
        running.resume().wait().expect(FAILED, says, "run the same command again")
    assert loads.rows("SELECT id FROM t") == []
    inrush(*words).expect(status, says_then)
    assert loads.rows("SELECT id FROM t") == []
