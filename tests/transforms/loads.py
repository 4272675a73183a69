"""Loads of the rows of a source through every kind of step, and how they ended."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.destinations import Place, in_order
from harness.command import Outcome
from harness.packages import flow
from transforms import all_steps
from transforms.all_steps import Counts, Ends, RejectedRow
from transforms.row_sources import RowSource


def made_of(reject: dict[str, Any]) -> tuple[str, ...]:
    """Return the unpivoted columns of which a rejected row was made."""
    said = re.search(r" \(the row of (.*)\)$", reject["reason"])
    return tuple(re.findall(r"`(\w+)`", said[1])) if said else ()


def package(
    place: Place,
    source: RowSource,
    buckets: int,
    *,
    has_distinct: bool = True,
    has_outputs: bool = True,
    run: Mapping[str, Any],
) -> Path:
    """Write a package that loads the rows of a source; see `all_steps.steps` for the buckets."""
    settings: dict[str, Any] = {"files": None, **source.settings()}
    settings |= {"columns": all_steps.COLUMNS, "rejects": {"rows_max": 100_000}}
    text = flow(None if has_outputs else all_steps.ONE_TABLE, **settings)
    text += all_steps.steps(source.inrush, buckets, has_distinct=has_distinct)
    text += all_steps.outputs() if has_outputs else ""
    return source.inrush.write("package.toml", place.package(text, **run) + source.connection())


def rejected_rows(source: RowSource, outcome: Outcome) -> list[RejectedRow]:
    """Return the rejected rows of a load, by the ids of the rows at their places."""
    return sorted(
        (
            source.id_at(reject),
            "".join(made_of(reject)),
            reject["column"] or "",
            reject["code"],
        )
        for reject in outcome.rejects()
    )


def counts_of(steps: Sequence[dict[str, Any]]) -> list[Counts]:
    """Return the counts of the steps of a report."""
    names = [field.name for field in dataclasses.fields(Counts)]
    return [Counts(**{name: each[name] for name in names}) for each in steps]


def assert_ended(place: Place, source: RowSource, outcome: Outcome, ends: Ends) -> None:
    """Fail unless contents, account, rejects and the counts of each step are the right ones."""
    for table, rows in ends.tables.items():
        assert place.rows(table, list(all_steps.TYPES.values())) == in_order(rows), table
    tables = outcome.report["tables"]
    # The bytes of a row differ between databases, so they are not compared.
    accounts = {table["flow"]: dict(table["account"], bytes_read=0) for table in tables}
    assert accounts == ends.accounts(), accounts
    found = rejected_rows(source, outcome)
    assert found == ends.rejects, set(found) ^ set(ends.rejects)
    counts = counts_of(tables[0]["steps"])
    assert counts == ends.counts, counts
