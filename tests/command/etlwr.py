"""The record workload in the tests: its files, its command, its results."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from harness.checkout import DOCS
from harness.command import Inrush, Outcome
from harness.schema import faults
from harness.servers import Database

GENERATOR = Path(sys.executable).parent / "tpchgen-cli"
SCHEMA = DOCS / "bench-etlwr.schema.json"

# The smallest scale at which each part of each large table has rows.
SCALE = "0.002"
PARTS = 3
KEYS = {
    "customer": "c_custkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey",
}
SMALL = ("nation", "region")


def generate(inrush: Inrush, *words: str, to: str = "data") -> Outcome:
    """Make the files of all parts, or of the parts that additional arguments select."""
    scale = ("--scale", SCALE, "--parts", str(PARTS))
    return inrush("bench", "etlwr", "generate", *scale, "--to", to, *words)


def copied(inrush: Inrush, made: Path, *tables: str, parts: str = "123", to: str = "data") -> Path:
    """Copy files that were made before into a folder of this test."""
    folder = inrush.folder / to
    folder.mkdir(parents=True)
    shutil.copy(made / "etlwr.json", folder)
    for table in tables or KEYS:
        for file in made.glob(f"{table}.tbl*"):
            if file.suffix == ".tbl" or file.suffix[1:] in parts:
                shutil.copy2(file, folder)
    return folder


def run(inrush: Inrush, to: str, *words: str, data: str = "data") -> Outcome:
    """Load and measure; a sweep is several loads."""
    return inrush("bench", "etlwr", "run", "--data", data, "--to", to, *words, seconds=300)


def results(outcome: Outcome) -> dict[str, Any]:
    """Return the newest results file, which must match the schema."""
    (*_, path) = sorted(
        outcome.folder.glob("etlwr-results/*/results.json"),
        key=lambda path: path.stat().st_mtime_ns,
    )
    found: dict[str, Any] = json.loads(path.read_text())
    schema = json.loads(SCHEMA.read_text())
    assert list(faults(found, schema, schema, "results")) == []
    return found


def rows_of(database: Database, table: str) -> list[str]:
    """Return all rows of a table as dbgen writes them, in their order."""
    columns = database.rows(
        "SELECT attname, atttypid::regtype::text FROM pg_attribute "
        f"WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
    )
    # dbgen writes this column without its two digits after the point.
    fields = [
        f"{name}::bigint::text" if name == "l_quantity" else f"{name}::text" for name, _ in columns
    ]
    found = database.rows(f"SELECT concat_ws('|', {', '.join(fields)}) || '|' FROM {table}")
    return sorted(row for (row,) in found)


def assert_holds(database: Database, whole: Path, tables: tuple[str, ...]) -> None:
    """Fail unless tables hold the generator's rows, value for value."""
    for table in tables:
        lines = (whole / f"{table}.tbl").read_text().splitlines()
        assert rows_of(database, table) == sorted(lines), table
