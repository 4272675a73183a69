"""Loads the types that DuckDB also has into a DuckDB file, and reads the stored values back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any
from uuid import UUID

from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.duckdb_files import opened
from harness.packages import package
from values.loads import Loaded, flow_of, note_rejects, table, write_file
from values.meanings import Column, double_bits, single_bits
from values.rounds import Round

# Microseconds from 1970 to 2000.
TO_2000 = 946_684_800_000_000
# The query for a value, in a form that needs no Python type: Python's dates end in 9999.
QUERIES = {
    "date": "CASE WHEN isinf(value) THEN value::VARCHAR "
    "ELSE date_diff('day', DATE '2000-01-01', value)::VARCHAR END",
    "timestamp": "CASE WHEN isinf(value) THEN value::VARCHAR ELSE epoch_us(value)::VARCHAR END",
    "timestamptz": "CASE WHEN isinf(value) THEN value::VARCHAR ELSE epoch_us(value)::VARCHAR END",
    "time": "epoch_us(value)",
    "numeric": "value::VARCHAR",
    "json": "value::VARCHAR",
    "uuid": "value::VARCHAR",
}
PLAIN_KINDS = "int2 int4 int8 float4 float8 text varchar char bool bytea".split()


def has(column: Column) -> bool:
    """Whether DuckDB has a type for a column."""
    if column.kind == "numeric":
        return bool(column.sizes) and 0 <= column.sizes[1] <= column.sizes[0] <= 38
    return column.kind in QUERIES or column.kind in PLAIN_KINDS


def shared(chosen: Round) -> Round:
    """Return the part of a round that can be loaded into DuckDB."""
    groups = tuple(group for group in chosen.groups if has(group.column))
    return replace(chosen, groups=groups, roles=(), verifies=False)


def load(chosen: Round, inrush: Inrush) -> Loaded:
    """Load a round into a new file."""
    found = Loaded()
    for group in chosen.groups:
        write_file(group, inrush)
    for group in chosen.groups:
        # A package for each group, because one refused column makes its whole package fail.
        text = package({"url": "values.duckdb"}, flow_of(group), name=table(group))
        outcome = inrush("run", inrush.write("package.toml", text))
        if outcome.status in (CLEAN, LOADED_WITH_REJECTS):
            note_rejects(outcome, [group], inrush, found)
        else:
            found.refused[group.cases[0].number] = outcome.errors
    with opened(inrush.folder / "values.duckdb", read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for group in chosen.groups:
            if group.cases[0].number in found.refused:
                continue
            query = QUERIES.get(group.column.kind, "value")
            rows = connection.execute(f"SELECT id, {query} FROM {table(group)}").fetchall()
            found.values |= {number: decode(value, group.column) for number, value in rows}
    return found


def decode(value: Any, column: Column) -> Any:
    """Return a value in the form that the readers give."""
    if value is None:
        return None
    match column.kind:
        case "float4":
            return single_bits(value)
        case "float8":
            return double_bits(value)
        case "numeric":
            return Fraction(value), column.sizes[1]
        case "char":
            return value.rstrip(" ")
        case "uuid":
            return UUID(value).bytes
        case "date":
            return value if value.endswith("infinity") else int(value)
        case "timestamp" | "timestamptz":
            return value if value.endswith("infinity") else int(value) - TO_2000
    return value
