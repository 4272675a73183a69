"""Ctrl-C during a load: the run ends cleanly, no row is visible, and the same command resumes."""

from __future__ import annotations

import signal

import pytest

from conformance.conftest import MakeJob
from conformance.job import Job, filled, record
from harness.command import CLEAN, INTERRUPTED


@pytest.mark.clause("D-12", "D-30")
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM], ids=["sigint", "sigterm"])
@pytest.mark.parametrize("point", ["in_copy", "after_unit_commit:2"])
def test_it_stops_and_goes_on(job: Job, point: str, which: signal.Signals) -> None:
    with job.stopped_at(point, "stop_until_asked") as running:
        running.send(which)
        running.resume().wait().expect(INTERRUPTED)
    job.assert_nothing()
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-16", "D-30")
def test_rows_that_are_there_stay(make_job: MakeJob) -> None:
    job = make_job(mode="replace")
    before = filled(job.place, job.inrush, [record(10_000)])
    with job.stopped_at("in_copy", "stop_until_asked") as running:
        running.send(signal.SIGINT)
        running.resume().wait().expect(INTERRUPTED)
    job.assert_nothing(before)
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-24", "D-30")
def test_what_is_committed_is_kept(job: Job) -> None:
    with job.stopped_at("after_unit_commit:2", "stop_until_asked") as running:
        running.send(signal.SIGINT)
        running.resume().wait().expect(INTERRUPTED)
    report = job.run().expect(CLEAN).report
    assert report["resumed"]
    job.assert_done()
