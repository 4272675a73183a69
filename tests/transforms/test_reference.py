"""Random packages with steps: contents, account and rejects are those of the reference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row, canonical
from conformance.destinations import DuckDb, in_order
from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.packages import flow
from transforms.packages import RandomPackage

# `INRUSH_SEEDS=100:300` tries 200 others.
FIRST, LAST = map(int, os.environ.get("INRUSH_SEEDS", "0:24").split(":"))


def written(value: Any) -> Any:
    """Return a value in a form that `canonical` reads."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str | float) or value is None else str(value)


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_rows_are_those_of_the_reference(tmp_path: Path, inrush: Inrush, seed: int) -> None:
    random_package = RandomPackage(seed)
    for number, text in enumerate(random_package.files()):
        inrush.write(f"rows.{number}.csv", text)
    place = DuckDb(tmp_path / "results.duckdb")
    columns = [f"{name} {type_}" for name, type_ in random_package.columns.items()]
    settings: dict[str, Any] = {
        "columns": columns,
        "format": {"preset": "csv", "header": True},
        "rejects": {"rows_max": 10_000},
    }
    rows_flow = flow("loaded", "rows.*.csv", **settings) + random_package.toml()
    # The smallest chunks, so that a file has several.
    package = inrush.write("package.toml", place.package(rows_flow, chunk_bytes=65_536, streams=3))
    ends = random_package.ends()
    outcome = inrush("run", package).expect(LOADED_WITH_REJECTS if ends.rejects else CLEAN)
    types = list(random_package.types.values())
    expected: list[Row] = [
        tuple(canonical(type_, written(row[name])) for name, type_ in random_package.types.items())
        for row in ends.rows
    ]
    assert place.rows("loaded", types) == in_order(expected), package.read_text()
    account = outcome.report["account"]
    assert account["rows_loaded"] == len(ends.rows)
    assert account["rows_filtered"] == ends.filtered
    (table,) = outcome.report["tables"]
    assert sum(each["warned"] for each in table["steps"]) == ends.warned
    starts = [0]
    for size in random_package.file_sizes:
        starts.append(starts[-1] + size)
    found = []
    for reject in outcome.rejects():
        part = int(reject["file"].split(".")[1])
        column = reject["column"] if reject["code"] == "step_failed" else None
        found.append((starts[part] + reject["line"] - 2, column, reject["code"]))
    assert sorted(found, key=lambda one: one[0]) == ends.rejects
