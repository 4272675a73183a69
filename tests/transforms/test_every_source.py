"""Every step on every source: the same rows end in the same way, wherever they come from.

The sources are all kinds of inputs that a package can name. `inrush.load` passes the rows of a
Python program on without a package, and so without steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.destinations import DuckDb
from harness.command import LOADED_WITH_REJECTS, USAGE, Inrush
from transforms import all_steps
from transforms.loads import assert_ended, package
from transforms.row_sources import MAY_CHANGE, SOURCES, RowSource

# Rows of different files have equal keys.
COUNT, BUCKETS = 900, 211
RUN = {"batch_rows": 100}


@pytest.fixture
def place(inrush: Inrush) -> DuckDb:
    return DuckDb(inrush.folder / "results.duckdb")


@pytest.fixture(params=SOURCES, ids=lambda kind: kind.name)
def source(request: pytest.FixtureRequest, inrush: Inrush) -> Iterator[RowSource]:
    """Return a source of each kind with the same rows."""
    with ExitStack() as stack:
        made = request.param(inrush, lambda: request.getfixturevalue("newest_database"), stack)
        made.fill(all_steps.records(COUNT))
        yield made


def test_every_step(source: RowSource, place: DuckDb) -> None:
    """A step that a source cannot have is refused with the reason; its rows go through the rest."""
    has_distinct, has_outputs = source.no_distinct is None, source.no_outputs is None
    if source.no_distinct is not None:
        checked = source.call("check", package(place, source, BUCKETS, has_outputs=False, run=RUN))
        checked.expect(USAGE, "`distinct_on`", source.no_distinct)
    if source.no_outputs is not None:
        checked = source.call("check", package(place, source, BUCKETS, has_distinct=False, run=RUN))
        checked.expect(USAGE, source.no_outputs)
        has_outputs = source.stable = source.no_outputs == MAY_CHANGE
    path = package(
        place,
        source,
        BUCKETS,
        has_distinct=has_distinct,
        has_outputs=has_outputs,
        run=RUN,
    )
    outcome = source.call("run", path).expect(LOADED_WITH_REJECTS)
    reference = all_steps.Reference(all_steps.records(COUNT))
    ends = reference.ends(BUCKETS, has_distinct=has_distinct, has_outputs=has_outputs)
    assert_ended(place, source, outcome, ends)
