"""Concurrent runs: the second is refused with the name of the holder, and changes nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conformance.conftest import MakeJob
from conformance.job import TABLE, Job
from harness.command import CLEAN, FAILED, Outcome


@pytest.mark.clause("D-28")
@pytest.mark.parametrize("point", ["in_copy", "before_switch", "before_switch_commit"])
def test_a_second_run_is_refused(job: Job, point: str) -> None:
    with job.stopped_at(point) as running:
        second = job.run().expect(FAILED)
        assert str(running.process.pid) in second.said, second.said
        running.resume().wait().expect(CLEAN)
    job.assert_done()
    job.run().expect(CLEAN, "already loaded")


@pytest.mark.clause("D-28")
def test_check_says_that_a_run_is_in_progress(job: Job) -> None:
    with job.stopped_at("before_switch") as running:
        process = str(running.process.pid)
        checked = job.inrush("check", job.package)
        # A database file is open in one process at a time.
        if checked.status == CLEAN:
            checked.expect(CLEAN, "\nNot now\n  run ", "in progress", process)
        else:
            checked.expect(FAILED, process)
        running.process.kill()
        running.wait()
    # The run is still held by a session that the server has not ended yet.
    job.place.wait_for_no_session()
    stopped = job.inrush("check", job.package).expect(CLEAN, "is not published")
    assert "Not now" not in stopped.said
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-28")
def test_cleanup_leaves_a_run_at_work_alone(job: Job) -> None:
    with job.stopped_at("before_switch") as running:
        job.inrush("cleanup", *job.place.words)
        running.resume().wait().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-28")
def test_status_asks_the_lock_and_names_the_staging_tables(job: Job) -> None:
    def status() -> Outcome:
        return job.inrush("status", *job.place.words, "--json")

    def runs(outcome: Outcome) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(outcome.expect(CLEAN).output)
        return found

    with job.stopped_at("before_switch") as running:
        asked = status()
        if asked.status == CLEAN:
            assert [run["held"] for run in runs(asked)] == [True]
        else:
            asked.expect(FAILED, str(running.process.pid))
        running.process.kill()
        running.wait()
    # The run is still held by a session that the server has not ended yet.
    job.place.wait_for_no_session()
    (stopped,) = runs(status())
    assert not stopped["held"]
    # A folder has staging files instead of staging tables.
    left = {name for name in job.place.tables() - {TABLE} if "/" not in name}
    assert {re.findall(r"\w+", name)[-1] for name in stopped["staging_tables"]} == left
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-29")
def test_a_run_of_another_package(make_job: MakeJob) -> None:
    job = make_job()
    inrush, place = job.inrush, job.place
    inrush.write("other.csv", "n\n1\n2\n")
    words = ("--table", "other", "--columns", "n integer")
    with job.stopped_at("in_copy") as running:
        other = inrush("load", "other.csv", *place.words, *words)
        if place.keeps("D-29"):
            other.expect(CLEAN)
        else:
            other.expect(FAILED)
            assert str(running.process.pid) in other.said, other.said
        running.resume().wait().expect(CLEAN)
    inrush("load", "other.csv", *place.words, *words).expect(CLEAN)
    assert place.rows("other", ["integer"]) == [("1",), ("2",)]
    assert job.found == job.rows


@pytest.mark.clause("D-23")
def test_no_lock_outlives_its_process(job: Job) -> None:
    with job.stopped_at("before_switch_commit") as running:
        running.process.kill()
        running.wait()
    job.run().expect(CLEAN)
    job.assert_done()
