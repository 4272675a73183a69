"""What a reader sees at each step: first the old table, then all rows."""

from __future__ import annotations

import pytest

from conformance.canonical import Row
from conformance.conftest import MakeJob
from conformance.destinations import KeptOutError, in_order
from conformance.job import Job, filled, record
from harness.command import CLEAN

BEFORE = ["in_copy", "after_unit_commit", "before_switch", "in_switch", "before_switch_commit"]
AFTER = ["after_switch_commit", "before_report"]


def look(job: Job) -> list[Row] | str | None:
    """Return the rows that a reader finds, or "kept out" if the reader must wait."""
    try:
        return job.found
    except KeptOutError:
        assert not job.place.keeps("D-13"), "a reader waits"
        return "kept out"


@pytest.mark.clause("D-12", "D-13")
@pytest.mark.parametrize("point", BEFORE + AFTER)
@pytest.mark.parametrize("mode", ["create", "append", "replace"])
def test_nothing_before_the_switch_and_all_after(make_job: MakeJob, mode: str, point: str) -> None:
    job = make_job(mode=mode)
    before: list[Row] = []
    if mode != "create":
        before = filled(job.place, job.inrush, [record(10_000), record(10_001)])
    after = in_order([*before, *job.rows]) if mode == "append" else job.rows
    with job.stopped_at(point) as running:
        seen = look(job)
        running.resume().wait().expect(CLEAN)
    assert job.found == after
    if seen != "kept out":
        assert seen == after if point in AFTER else (seen or []) == before
