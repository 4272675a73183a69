"""A preflight tries the load, and leaves the destination as it was."""

from __future__ import annotations

import json

import pytest

from conformance.conftest import MakeJob
from conformance.destinations import Place
from conformance.job import TABLE, filled, record
from harness.command import CLEAN, Inrush


@pytest.mark.clause("D-54")
def test_a_trial_load_leaves_nothing(make_job: MakeJob, place: Place, inrush: Inrush) -> None:
    before = filled(place, inrush, [record(number) for number in range(10)])
    status = inrush("status", *place.words).output
    job = make_job(mode="append", first=10)
    report = json.loads(inrush("preflight", job.package, "--json").expect(CLEAN).output)
    steps = {step["step"]: step for step in report["steps"]}
    for name in ("destination", "together"):
        # Either there is a speed, or a note says why there is none.
        assert steps[name].get("all_bytes_s", 0) > 0 or steps[name]["note"], steps[name]
    job.assert_nothing(before)
    assert place.tables() == {TABLE}
    assert inrush("status", *place.words).output == status
    job.run().expect(CLEAN)
    job.assert_done(before)
