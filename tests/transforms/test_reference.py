"""Random packages with steps: contents, account and rejects are those of the reference."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.destinations import in_order
from harness.command import CLEAN, LOADED_WITH_REJECTS, Outcome
from harness.packages import flow
from transforms.conftest import FIRST, LAST, Loader, rows_of, settings_of
from transforms.loads import made_of
from transforms.packages import RandomPackage, RejectedRow

# Codes of rejects that name a derived column.
OF_VALUES = ("step_failed", "out_of_range")


def rejects_of(random_package: RandomPackage, outcome: Outcome) -> list[RejectedRow]:
    """Return each rejected row with its column and its code."""
    starts = [0]
    for size in random_package.file_sizes:
        starts.append(starts[-1] + size)
    found = []
    for reject in outcome.rejects():
        part = int(reject["file"].split(".")[1])
        column = reject["column"] if reject["code"] in OF_VALUES else ""
        origin = (starts[part] + reject["line"] - 2, made_of(reject))
        found.append((origin, column, reject["code"]))
    return sorted(found)


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_rows_are_those_of_the_reference(loader: Loader, seed: int) -> None:
    random_package = RandomPackage(seed)
    rows_flow = flow("loaded", "rows.*.csv", **settings_of(random_package))
    ends = random_package.ends()
    outcome = loader.run(random_package, rows_flow + random_package.toml())
    outcome.expect(LOADED_WITH_REJECTS if ends.rejects else CLEAN)
    expected = rows_of(random_package, ends.rows)
    types = list(random_package.types.values())
    assert loader.place.rows("loaded", types) == in_order(expected), random_package.toml()
    account = outcome.report["account"]
    assert account["rows_loaded"] == len(ends.rows)
    assert account["rows_filtered"] == ends.filtered
    assert account["rows_added"] == ends.added
    (table,) = outcome.report["tables"]
    # A package without steps has none in its report.
    steps = table["steps"] if random_package.steps else []
    assert sum(each["warned"] for each in steps) == ends.warned
    assert rejects_of(random_package, outcome) == sorted(ends.rejects)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + (LAST - FIRST) // 2))
def test_outputs_are_those_of_the_reference(loader: Loader, seed: int) -> None:
    random_package = RandomPackage(seed)
    outputs = random_package.outputs()
    rows_flow = flow(None, "rows.*.csv", **settings_of(random_package), **outputs.settings())
    ends = random_package.ends()
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in outputs.tables()}
    rejects = list(ends.rejects)
    for origin, row in zip(ends.origins, ends.rows, strict=True):
        takers = outputs.of(row)
        for taker in takers:
            tables[taker].append(row)
        if not takers and outputs.otherwise != "filter":
            rejects.append((origin, "", "check_failed"))
    text = rows_flow + random_package.toml() + outputs.toml()
    outcome = loader.run(random_package, text)
    outcome.expect(LOADED_WITH_REJECTS if rejects else CLEAN)
    types = list(random_package.types.values())
    for name, rows in tables.items():
        assert loader.place.rows(name, types) == in_order(rows_of(random_package, rows)), text
    for table in outcome.report["tables"]:
        account = table["account"]
        assert account["rows_read"] == len(random_package.records)
        assert account["rows_loaded"] == len(tables[table["flow"]])
    assert rejects_of(random_package, outcome) == sorted(rejects)
