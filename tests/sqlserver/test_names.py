"""Names of tables and columns of SQL Server: up to 128 UTF-16 units, and no temporary tables."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, FAILED, USAGE
from harness.packages import Value, flow, package
from sqlserver.loads import COLUMNS, Loads

LONGEST = "t" * 126 + "🐘"


def test_the_longest_names(loads: Loads) -> None:
    """Such a table is loaded, and replaced with its rows kept."""
    column = "Spalte" * 21 + "xx"
    loads.files("1,2024-01-01")
    listed: list[Value] = [
        {"name": column, "field": "id", "type": "integer"},
        "day date",
        "note nvarchar(20)",
    ]
    text = package(
        loads.double.url,
        flow(f'"{LONGEST}"', "part.*.csv", columns=listed, mode="replace", replace={"keep": True}),
    )
    saved = loads.inrush.write("package.toml", text)
    loads.inrush("run", saved).expect(CLEAN)
    loads.files("2,2024-02-02")
    loads.inrush("run", saved).expect(CLEAN)
    assert loads.rows(f'SELECT "{column}", day, note FROM "{LONGEST}"') == [[2, "2024-02-02", "n2"]]


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_name_that_is_too_long(loads: Loads, command: str) -> None:
    loads.files("1,2024-01-01")
    for table, column in (("t" + LONGEST, "id"), ("t", "c" + LONGEST)):
        columns: list[Value] = [
            {"name": column, "field": "id", "type": "integer"},
            "day date",
            "note nvarchar(20)",
        ]
        text = package(loads.double.url, flow(f'"{table}"', "part.*.csv", columns=columns))
        outcome = loads.inrush(command, loads.inrush.write("package.toml", text))
        outcome.expect(FAILED, "has 129 characters (UTF-16 units), and 128 are possible", LONGEST)
    assert not loads.double.database.objects


@pytest.mark.parametrize("table", ["#t", "##t"])
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_temporary_table(loads: Loads, command: str, table: str) -> None:
    loads.files("1,2024-01-01")
    text = package(loads.double.url, flow(f'"{table}"', "part.*.csv", columns=COLUMNS))
    outcome = loads.inrush(command, loads.inrush.write("package.toml", text))
    outcome.expect(FAILED, table, "would be a temporary table")
    assert not loads.double.database.objects


def test_names_of_a_header_are_as_long_as_the_server_takes(loads: Loads) -> None:
    name = "amount_" * 16 + "n"
    loads.inrush.write("rows.csv", f"{name},b\n1,x\n2,y\n")
    words = ("load", "rows.csv", "--to", loads.double.url, "--table", "t")
    loads.inrush(*words, "--format", "csv,header").expect(CLEAN)
    assert loads.rows(f'SELECT "{name}", b FROM t ORDER BY b') == [[1, "x"], [2, "y"]]


def test_a_package_for_postgresql(loads: Loads) -> None:
    """PostgreSQL would truncate the names: the package is refused before the server is asked."""
    loads.files("1,2024-01-01")
    long = "n" * 64
    url = "postgresql://me@127.0.0.1:1/d"
    said = "a name of PostgreSQL has at most 63 bytes, but this one has 64"
    for text in (
        package(url, flow(long, "part.*.csv", columns=COLUMNS)),
        package(url, flow(f"{long}.t", "part.*.csv", columns=COLUMNS)),
        package(url, flow("t", "part.*.csv", columns=[f"{long} integer"])),
    ):
        loads.inrush("check", loads.inrush.write("package.toml", text)).expect(USAGE, said, long)
