"""Names of every kind: each is used unchanged, or refused with a message."""

from __future__ import annotations

import re

import pytest

from conformance.destinations import Place
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.packages import Value, flow

# Each is a valid name that would become code if it were not quoted.
NAMES = {
    "double_quote": 'say "yes"',
    "single_quote": "o'clock",
    "blanks": "  two  words ",
    "reserved": "select",
    "upper": "SELECT",
    "unicode": "Größe 大きさ 🐘",
    "sql": 'x"; DROP TABLE witness; --',
    "sql_of_a_text": "x'); DROP TABLE witness; --",
    "percent": "100% %s %20",
    "backslash": "a\\b",
    "slash": "a/../b",
    "dots": "a.b..c",
    "parent": "..",
    "hive": "a=b",
    "hidden": "_x",
    "long": "n" * 63,
}


def braced(name: str) -> str:
    """Return a text whose braces do not mean parameters."""
    return name.replace("{", "{{").replace("}", "}}")


def load(place: Place, inrush: Inrush, table: str, column: str) -> str | None:
    """Load two rows into a table of this name; return the message if it is refused."""
    header = '"' + column.replace('"', '""') + '",note\n'
    (inrush.folder / "rows.csv").write_text(header + "1,Ann\n2,\n", newline="")
    columns: list[Value] = [
        {"name": braced(column), "type": "integer", "nullable": False},
        {"name": "note", "type": "text"},
    ]
    doubled = table.replace('"', '""')
    text = place.package(flow(braced(f'"{doubled}"'), "rows.csv", columns=columns))
    outcome = inrush("run", inrush.write("package.toml", text))
    if outcome.status in (FAILED, USAGE):
        return outcome.expect(outcome.status).said
    outcome.expect(CLEAN)
    return None


def make_witness(place: Place, inrush: Inrush) -> None:
    """Make a table that is gone if a name is run as SQL."""
    if place.speaks_sql:
        place.execute("CREATE TABLE witness (n integer)")
        place.execute("INSERT INTO witness VALUES (1)")
        return
    inrush.write("witness.csv", "n\n1\n")
    words = ("--table", "witness", "--columns", "n integer")
    inrush("load", "witness.csv", *place.words, *words).expect(CLEAN)


@pytest.mark.clause("D-3")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_taken_as_it_is(place: Place, inrush: Inrush, name: str) -> None:
    """One load has a table and a column of this name: each statement must quote both."""
    make_witness(place, inrush)
    table = name
    refused = load(place, inrush, table, name)
    if refused is not None:
        # A folder cannot have every name, but every destination has columns of every name.
        assert name in refused, refused
        assert not place.speaks_sql, refused
        table = "plain"
        assert load(place, inrush, table, name) is None
    assert place.rows(table, ["integer", "text"]) == [("1", "Ann"), ("2", None)]
    assert list(place.column_types(table)) == [name, "note"]
    assert place.rows("witness", ["integer"]) == [("1",)], "a name was run as SQL"
    assert place.tables() == {"witness", table}


@pytest.mark.clause("D-3")
def test_columns_that_differ_only_in_case(place: Place, inrush: Inrush) -> None:
    """A destination that treats them as the same name refuses them before anything runs."""
    inrush.write("rows.csv", "note,NOTE\na,b\n")
    words = ("--table", "t", "--columns", '"note" text, "NOTE" text')
    outcome = inrush("load", "rows.csv", *place.words, *words)
    if outcome.status == CLEAN:
        assert place.rows("t", ["text", "text"]) == [("a", "b")]
    else:
        assert outcome.status in (FAILED, USAGE), outcome.said
        outcome.expect(outcome.status, "NOTE")
        assert place.tables() == set()


# Names around the limits of the destinations: 63 bytes, 128 UTF-16 units, 255 bytes of a folder.
LONG = {
    "64": "n" * 64,
    "64_pairs": "🐘" * 64,
    "129": "n" * 129,
    "256": "n" * 256,
    "1024": "n" * 1024,
}


@pytest.mark.clause("D-3")
@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
def test_a_long_name_is_taken_whole_or_refused(place: Place, inrush: Inrush, name: str) -> None:
    """A name is never cut. If it is too long, the message has it, its length and the limit."""
    taken = set()
    for table, column in ((name, "id"), ("plain", name)):
        refused = load(place, inrush, table, column)
        if refused is None:
            taken.add(table)
            assert place.rows(table, ["integer", "text"]) == [("1", "Ann"), ("2", None)]
            assert list(place.column_types(table)) == [column, "note"]
            continue
        lengths = {len(name.encode()), len(name.encode("utf-16-le")) // 2}
        assert name in refused, refused
        assert any(re.search(rf"\b{length}\b", refused) for length in lengths), refused
        assert any(limit in refused for limit in ("63", "128", "255")), refused
    assert place.tables() == taken


@pytest.mark.clause("D-3")
def test_a_name_that_is_too_long_for_a_package(place: Place, inrush: Inrush) -> None:
    refused = load(place, inrush, "n" * 1025, "id")
    assert refused is not None
    assert "a name has at most 1024 bytes, but this one has 1025" in refused
    assert place.tables() == set()
