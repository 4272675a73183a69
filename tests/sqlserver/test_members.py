"""Members of lookups in SQL Server: the keys and the rights that they need.

The tests for all destinations are in tests/conformance/test_members.py.
"""

from __future__ import annotations

import pytest

from harness.command import CLEAN, FAILED, USAGE, Outcome
from harness.packages import flow, package, step
from sqlserver.loads import Loads

BINARY = "nvarchar(10) COLLATE Latin1_General_BIN2"


def load(loads: Loads, command: str = "run") -> Outcome:
    """Load the files of rows, and look up their notes in `d`."""
    columns = ["id integer", "day date", "note text"]
    text = flow("t", "part.*.csv", columns=columns) + step(
        lookup={"connection": "target", "table": "d"},
        on={"note": "CODE"},
        take={"number": "Number"},
        unmatched="add",
    )
    path = loads.inrush.write("package.toml", package(loads.double.url, text))
    return loads.inrush(command, path)


def make(loads: Loads, code: str) -> None:
    loads.make(
        "CREATE TABLE t (id int, day date, note nvarchar(20), number int)",
        f"CREATE TABLE d (number int IDENTITY(1, 1) PRIMARY KEY, code {code} UNIQUE)",
        "INSERT INTO d (code) VALUES (N'n1')",
    )


def test_texts_are_keys_and_names_are_found_without_case(loads: Loads) -> None:
    make(loads, BINARY)
    loads.files("1,2024-01-01 2,2024-01-01", "1,2024-01-01 3,2024-01-01")
    load(loads).expect(CLEAN, "2 members were added to")
    query = "SELECT t.id, d.code FROM t JOIN d ON d.number = t.number ORDER BY 1"
    assert loads.rows(query) == [[1, "n1"], [1, "n1"], [2, "n2"], [3, "n3"]]
    assert loads.rows("SELECT COUNT_BIG(*) FROM d") == [[3]]
    # The keys were inserted once more to take numbers, and rolled back.
    assert loads.ran('BEGIN TRANSACTION; INSERT INTO "dbo"."d"')
    loads.nothing_is_left()
    names = loads.rows("SELECT name FROM sys.tables WHERE schema_id = N'inrush'")
    assert not [name for (name,) in names if str(name).startswith("members_")], names


def test_a_key_that_ends_with_a_blank_ends_the_run(loads: Loads) -> None:
    make(loads, BINARY)
    loads.inrush.write("part.0.csv", "id,day,note\n1,2024-01-01,n1\n2,2024-01-01,odd \n")
    outcome = load(loads).expect(FAILED, 'the key "odd " of a new member of "dbo"."d"')
    assert "rtrim(...)" in outcome.said
    assert loads.rows("SELECT code FROM d") == [["n1"]]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("nvarchar(10)", "for which different texts may be equal"),
        ("varchar(10) COLLATE Latin1_General_BIN2", "does not hold every text unchanged"),
    ],
)
def test_texts_that_the_server_compares_otherwise_are_refused(
    loads: Loads, code: str, said: str
) -> None:
    make(loads, code)
    loads.files("2,2024-01-01")
    for command in ("check", "run"):
        outcome = load(loads, command).expect(USAGE, "step 1, unmatched", said)
        assert "hint: use " in outcome.said


def test_a_login_that_may_not_alter_the_reference_is_refused(loads: Loads) -> None:
    make(loads, BINARY)
    loads.files("2,2024-01-01")
    database = loads.double.database
    database.not_altered.add(database.objects["dbo", "d"].object_id)
    outcome = load(loads, "check").expect(USAGE, "the login may not ALTER")
    assert 'GRANT ALTER ON "dbo"."d"' in outcome.said
    database.not_altered.clear()
    load(loads, "check").expect(CLEAN)
    assert loads.rows("SELECT COUNT_BIG(*) FROM d") == [[1]]
