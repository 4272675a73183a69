"""Python's reader of `report.json` takes reports of newer and of older versions.

A newer version may add keys; keys that the schema does not require may be absent.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inrush
from harness.packages import flow, package
from harness.servers import Database
from inrush.report import Report

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "report.schema.json").read_text()
)
# Bad rows of several lines in a file with another encoding, a comment and a blank line.
PARTS = (
    "id;name;born\n# a comment\n1;Ann;2024-02-29\n\nx;Zoé;2024-01-01\n",
    "id;name;born\n10;Bob;2024-03-01\n11;Jürgen;30.02.2024\n12;only two\n",
)


@pytest.fixture
def read(newest_database: Database, tmp_path: Path) -> Report:
    """Return a report with everything that the reader reads: partitions, rejects, encodings."""
    for number, text in enumerate(PARTS):
        (tmp_path / f"people-{number}.csv").write_bytes(text.encode("windows-1252"))
    people = flow(
        "people",
        "people-*.csv",
        format={"encoding": "windows-1252", "delimiter": ";", "header": True, "comment": "#"},
        columns=["id int not null", "name text", "born date"],
        partition_by="id",
        rejects={"rows_max": 3},
    )
    (tmp_path / "package.toml").write_text(package(newest_database.url, people))
    return inrush.run(tmp_path / "package.toml", runs_folder=tmp_path / "runs")


def objects(value: Any, at: str = "report") -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk through all objects of a report, each with its path."""
    if isinstance(value, dict):
        yield at, value
        for key, inner in value.items():
            yield from objects(inner, f"{at}.{key}")
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from objects(inner, f"{at}[{index}]")


def again(read: Report, details: dict[str, Any]) -> Report:
    """Read the report again, with these details."""
    found = Report.from_details(details, read.path)
    assert found.details is details
    return found


def without_details(report: Report) -> dict[str, Any]:
    """Return everything that was read from a report, except its details."""
    return {name: value for name, value in vars(report).items() if name != "details"}


def test_all_of_it_is_read(read: Report) -> None:
    assert read.path is not None
    # The returned report equals the file.
    assert again(read, json.loads(read.path.read_text())) == read
    assert read.account == inrush.Account(
        rows_read=7, rows_loaded=2, rows_rejected=3, rows_skipped=2, bytes_read=124
    )
    (table,) = read.tables
    assert table.account == read.account
    assert len(table.partitions) == 2
    assert {(one.lower, one.upper) for one in table.partitions} == {
        ("'1'", "'2'"),
        ("'10'", "'11'"),
    }
    found = [
        (Path(one.file).name, one.line, one.byte_offset, one.column, one.value, one.encoding)
        for one in read.rejects
    ]
    assert sorted(found, key=lambda one: one[:2]) == [
        ("people-0.csv", 5, 43, "id", "x", "windows-1252"),
        ("people-1.csv", 3, 31, "born", "30.02.2024", "windows-1252"),
        ("people-1.csv", 4, 52, None, None, "windows-1252"),
    ]


def test_unknown_keys_are_passed_over_at_every_level(read: Report) -> None:
    details = copy.deepcopy(dict(read.details))
    places = [at for at, _ in objects(details)]
    for at in ("report", "report.account", "report.phases", "report.tables[0].account"):
        assert at in places
    for at in ("report.tables[0].partitions[1]", "report.rejects[2]", "report.machine"):
        assert at in places
    # One object at a time gets an unknown key, so that a failure names the place; then all do.
    for at, value in objects(copy.deepcopy(details)):
        one = copy.deepcopy(details)
        (there,) = (inner for place, inner in objects(one) if place == at)
        there["of_a_newer_version"] = value
        assert without_details(again(read, one)) == without_details(read), at
    for _, value in list(objects(details)):
        value["of_a_newer_version"] = {"key": [1, None]}
    assert without_details(again(read, details)) == without_details(read)


def leave_out_what_may_be_absent(value: Any, schema: dict[str, Any]) -> None:
    """Remove all keys that the schema does not require, at any depth."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    if isinstance(value, list):
        for inner in value:
            leave_out_what_may_be_absent(inner, schema.get("items", {}))
    if isinstance(value, dict) and "properties" in schema:
        for key in set(value) - set(schema["required"]):
            del value[key]
        for key, inner in value.items():
            leave_out_what_may_be_absent(inner, schema["properties"][key])


def test_keys_that_are_not_required_may_be_absent(read: Report) -> None:
    details = copy.deepcopy(dict(read.details))
    leave_out_what_may_be_absent(details, SCHEMA)
    assert "lower" not in details["tables"][0]["partitions"][0]
    assert "column" not in details["rejects"][0]
    assert "error" not in details
    found = again(read, details)
    assert {(one.lower, one.upper) for one in found.tables[0].partitions} == {(None, None)}
    assert {(one.column, one.value, one.encoding) for one in found.rejects} == {(None, None, None)}
    assert [one.reason for one in found.rejects] == [one.reason for one in read.rejects]
    assert found.account == read.account


@pytest.mark.parametrize("key", ["run", "account", "tables", "phases"])
def test_a_required_key_that_is_absent_is_named(read: Report, key: str) -> None:
    details = dict(read.details)
    del details[key]
    with pytest.raises(KeyError, match=key):
        again(read, details)
