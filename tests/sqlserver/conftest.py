"""A double, and loads into it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.command import Inrush
from sqlserver.double import Double
from sqlserver.loads import Loads


@pytest.fixture
def double() -> Iterator[Double]:
    """Return a double with the filegroups `old` and `new`."""
    with Double() as made:
        made.database.filegroups += ["old", "new"]
        yield made
        assert made.unknown == []


@pytest.fixture
def loads(inrush: Inrush, double: Double) -> Loads:
    """Return an object that loads into the double."""
    return Loads(inrush, double)
