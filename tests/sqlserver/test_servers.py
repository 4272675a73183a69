"""Versions and editions of servers that are loaded, and those that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from harness.command import CLEAN, FAILED, USAGE
from sqlserver.loads import Loads

# Values of SERVERPROPERTY from the documentation of Microsoft and of Babelfish, and words that the
# plan must have.
LOADED: dict[str, tuple[dict[str, Any], str]] = {
    "2016": ({"PRODUCTVERSION": "13.0.1601.5"}, "SQL Server 13.0.1601.5"),
    "2025": ({"PRODUCTVERSION": "17.0.1000.7"}, "SQL Server 17.0.1000.7"),
    "database": ({"PRODUCTVERSION": "12.0.2000.8", "ENGINEEDITION": 5}, "Azure SQL Database"),
    "instance": ({"PRODUCTVERSION": "12.0.2000.8", "ENGINEEDITION": 8}, "Managed Instance"),
    "fabric": ({"PRODUCTVERSION": "12.0.2000.8", "ENGINEEDITION": 12}, "SQL database in Fabric"),
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "2014": ({"PRODUCTVERSION": "12.0.6024.0"}, "the server is SQL Server 12.0.6024.0"),
    "synapse": ({"ENGINEEDITION": 6}, "the server is Azure Synapse"),
    "fabric": ({"ENGINEEDITION": 11}, "the server is a Fabric warehouse"),
}
BABELFISH = {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1}
# Texts are only counted before SQL Server 2019.
COUNTED_ONLY = "the destination has no exact sum of them: note"


@pytest.mark.parametrize("name", LOADED)
def test_a_server_is_loaded(loads: Loads, name: str) -> None:
    properties, words = LOADED[name]
    loads.double.database.properties |= properties
    loads.files("1,2024-01-01")
    said = loads("check", verify="sums").expect(CLEAN, words).output
    assert (COUNTED_ONLY in said) == (name == "2016"), said
    loads(verify="sums").expect(CLEAN)
    assert loads.ids() == [1]


def test_babelfish_takes_plain_tables(loads: Loads) -> None:
    loads.double.database.properties |= BABELFISH
    loads.files("1,2024-01-01 2,2024-02-01")
    for settings in ({"partition_by": "id"}, {"verify": "sums"}):
        loads("check", **settings).expect(USAGE)
    loads("check").expect(CLEAN, "Babelfish has no SWITCH")
    loads().expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert not loads.switches


def test_babelfish_has_names_in_lower_case(loads: Loads) -> None:
    """Only the catalog has such names; results have the names of the statement."""
    loads.double.database.properties |= BABELFISH
    loads.files("1,2024-01-01 2,2024-02-01")
    loads(columns=["ID integer not null", "Day date not null", "Note nvarchar(20)"]).expect(CLEAN)
    named = "SELECT ID, Day, Note FROM t ORDER BY ID"
    assert [row[0] for row in loads.rows(named)] == [1, 2]
    assert [row[2] for row in loads.rows(named)] == ["n1", "n2"]


def test_babelfish_copies_rows_into_partitions(loads: Loads) -> None:
    loads.months(side="RIGHT")
    loads.double.database.properties |= BABELFISH
    loads.files("1,2024-01-01 2,2024-02-01")
    said = loads("check", mode="append").expect(CLEAN, "its partitions get their rows by INSERT")
    assert "switched into" not in said.output
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert not loads.switches and len(loads.copies) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_a_server_is_refused_before_anything_is_made(loads: Loads, name: str) -> None:
    properties, words = REFUSED[name]
    loads.double.database.properties |= properties
    loads.files("1,2024-01-01")
    for command in ("check", "run"):
        loads(command).expect(FAILED, words)
    assert not loads.ran("CREATE")
