"""Every type: NULL, extremes and odd values are read back, or are rejected with a reason.

docs/types.md is generated from the findings. After a change:
`INRUSH_BLESS=1 pytest tests/conformance -k matrix`.
"""

from __future__ import annotations

import datetime
import os

import pytest

from conformance.canonical import canonical
from conformance.destinations import PLACES, Place
from conformance.matrix import page
from conformance.measured import Measure
from conformance.values import TYPES, Type
from harness.checkout import DOCS
from harness.command import LOADED_WITH_REJECTS, USAGE, Inrush

PAGE = DOCS / "types.md"


@pytest.mark.clause("D-6", "D-7", "D-8", "D-9")
@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.test_id)
@pytest.mark.parametrize("kind", PLACES, ids=lambda kind: kind.name)
def test_values_are_read_back_or_are_rejects(
    measure: Measure, kind: type[Place], type_: Type
) -> None:
    assert measure(kind, type_).faults == []


@pytest.mark.timeout(900)
@pytest.mark.clause("D-6", "D-7")
def test_the_matrix_of_types_is_what_was_measured(measure: Measure) -> None:
    found = {kind.title: {type_: measure(kind, type_) for type_ in TYPES} for kind in PLACES}
    text = page(found)
    if "INRUSH_BLESS" in os.environ:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, (
        "docs/types.md is not what was measured. "
        "Write it again: INRUSH_BLESS=1 pytest tests/conformance -k matrix"
    )


def test_every_type_is_tried_with_null() -> None:
    for type_ in TYPES:
        assert None in type_.values, type_.name


def test_a_moment_of_python_is_the_one_of_a_text() -> None:
    """python-tds, which reads from a real SQL Server, returns moments as Python objects."""
    at = datetime.datetime(1970, 1, 1, 0, 0, 0, 500_000, datetime.timezone.utc)
    assert canonical("timestamptz", at) == canonical("timestamptz", "1970-01-01 00:00:00.5+00")
    # Another offset is kept, so that it shows as a difference.
    east = at.astimezone(datetime.timezone(datetime.timedelta(hours=1)))
    assert canonical("timestamptz", east) == "1970-01-01 01:00:00.5+01:00"


@pytest.mark.clause("D-6")
def test_a_type_that_is_none_is_refused_in_the_plan(place: Place, inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,v\n1,2\n")
    words = ("--table", "t", "--columns", "id integer, v nonesuch(3)")
    outcome = inrush("load", "rows.csv", *place.words, *words)
    outcome.expect(USAGE, "flow `t`: column `v`: ", "nonesuch(3)", "hint: ")
    assert place.tables() == set()


@pytest.mark.clause("D-8")
def test_null_in_a_column_that_takes_none_is_a_reject(place: Place, inrush: Inrush) -> None:
    inrush.write("rows.csv", 'id,v\n1,\n2,""\n,x\n3,y\n')
    columns = "id integer not null, v text not null"
    words = ("--table", "t", "--columns", columns, "--max-rejects", "2")
    outcome = inrush("load", "rows.csv", *place.words, *words).expect(LOADED_WITH_REJECTS)
    assert place.rows("t", ["integer", "text"]) == [("2", ""), ("3", "y")]
    assert [(one["line"], one["column"]) for one in outcome.rejects()] == [(2, "v"), (4, "id")]
