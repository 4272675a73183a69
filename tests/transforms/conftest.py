"""Loads the rows of random packages, and reads them as the reference has them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row, canonical
from conformance.destinations import DuckDb
from harness.command import Inrush, Outcome
from harness.packages import settings
from harness.servers import Database
from transforms.expressions import DATE, TIMESTAMP, TIMESTAMPTZ
from transforms.packages import WAREHOUSE, RandomPackage

# `INRUSH_SEEDS=100:300` tries 200 others.
FIRST, LAST = map(int, os.environ.get("INRUSH_SEEDS", "0:24").split(":"))


def written(type_: str, value: Any) -> Any:
    """Return a value in a form that `canonical` reads."""
    if type_ in (DATE, TIMESTAMP, TIMESTAMPTZ) and value in (math.inf, -math.inf):
        return "infinity" if value > 0 else "-infinity"
    if isinstance(value, bool):
        return str(value).lower()
    is_moment = type_ in (DATE, TIMESTAMP, TIMESTAMPTZ)
    return value if is_moment or isinstance(value, str | float | None) else str(value)


def settings_of(random_package: RandomPackage) -> dict[str, Any]:
    """Return the settings of the flow that reads the rows of a package."""
    return {
        "columns": [f"{name} {type_}" for name, type_ in random_package.columns.items()],
        "format": {"preset": "csv", "header": True},
        "rejects": {"rows_max": 10_000},
    }


@pytest.fixture
def make_warehouse(request: pytest.FixtureRequest) -> Callable[[], Database]:
    """Return a function that returns a database for the tables of lookups."""

    def make() -> Database:
        made: Database = request.getfixturevalue("newest_database")
        return made

    return make


@dataclass(frozen=True)
class Loader:
    """Loads the rows of random packages."""

    inrush: Inrush
    place: DuckDb
    make_warehouse: Callable[[], Database]

    def run(self, random_package: RandomPackage, rows_flow: str) -> Outcome:
        """Load the rows of a package by a flow."""
        for number, text in enumerate(random_package.files()):
            self.inrush.write(f"rows.{number}.csv", text)
        # The smallest chunks, so that a file has several.
        text = self.place.package(rows_flow, chunk_bytes=65_536, streams=3)
        lookups = random_package.lookups()
        for lookup in lookups:
            if not lookup.is_table:
                self.inrush.write(f"{lookup.name}.csv", lookup.text())
        if tables := [lookup.statements() for lookup in lookups if lookup.is_table]:
            warehouse = self.make_warehouse()
            warehouse.execute("".join(tables))
            text += f"\n[connections.{WAREHOUSE}]\n" + settings({"url": warehouse.url})
        return self.inrush("run", self.inrush.write("package.toml", text))


@pytest.fixture
def loader(tmp_path: Path, inrush: Inrush, make_warehouse: Callable[[], Database]) -> Loader:
    """Return a loader into an empty file of DuckDB."""
    return Loader(inrush, DuckDb(tmp_path / "results.duckdb"), make_warehouse)


def rows_of(random_package: RandomPackage, rows: list[dict[str, Any]]) -> list[Row]:
    """Return rows as a reader of the table must find them."""
    types = random_package.types.items()
    return [
        tuple(canonical(type_, written(type_, row[name])) for name, type_ in types) for row in rows
    ]
