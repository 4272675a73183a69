"""After a kill at any step the same command loads exactly the right rows and leaves nothing."""

from __future__ import annotations

import json

import pytest

from conformance.conftest import MakeJob
from conformance.destinations import in_order
from conformance.job import PARTS, ROWS_OF_A_PART, Job, filled, record
from harness import kill_points
from harness.command import CLEAN

KILL_POINTS = [
    *kill_points.ALL,
    "in_copy:3",
    "before_unit_commit:3",
    "unit_commit_sent:3",
    "after_unit_commit:3",
]


@pytest.mark.clause("D-12", "D-22", "D-23", "D-25")
@pytest.mark.parametrize("point", KILL_POINTS)
def test_killed_and_run_again(job: Job, point: str) -> None:
    job.killed_at(point)
    if point in kill_points.SWITCHED:
        assert job.found == job.rows
    elif point == kill_points.SWITCHED_OR_NOT:
        assert job.found in (None, [], job.rows)
    else:
        job.assert_nothing()
    outcome = job.run().expect(CLEAN)
    job.assert_done()
    if point in kill_points.SWITCHED:
        outcome.expect(CLEAN, "already loaded")


@pytest.mark.clause("D-12", "D-16", "D-22", "D-23", "D-25")
@pytest.mark.parametrize("mode", ["append", "replace"])
@pytest.mark.parametrize("point", ["after_unit_commit", "in_switch", "switch_commit_sent"])
def test_killed_over_rows_that_are_there(make_job: MakeJob, mode: str, point: str) -> None:
    job = make_job(mode=mode)
    before = filled(job.place, job.inrush, [record(10_000), record(10_001)])
    after = before if mode == "append" else []
    job.killed_at(point)
    if point == kill_points.SWITCHED_OR_NOT:
        assert job.found in (before, in_order([*after, *job.rows]))
    else:
        job.assert_nothing(before)
    job.run().expect(CLEAN)
    job.assert_done(after)


@pytest.mark.clause("D-22", "D-23", "D-24")
def test_killed_again_and_again(job: Job) -> None:
    # When a commit is reached, the other stream may have committed all other units. Then no row is
    # left to copy.
    for point in ("in_copy", "after_unit_commit", "in_switch", "before_switch_commit"):
        job.killed_at(point)
        job.assert_nothing()
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-24")
def test_committed_units_are_kept(job: Job) -> None:
    job.killed_at("before_switch")
    report = job.run().expect(CLEAN).report
    assert report["resumed"]
    assert [unit["kept"] for unit in report["units"]] == [True] * len(report["units"])
    assert report["account"]["rows_loaded"] == PARTS * ROWS_OF_A_PART
    job.assert_done()


@pytest.mark.clause("D-22", "D-24")
def test_what_was_not_committed_is_loaded_by_the_next_run(make_job: MakeJob) -> None:
    """With one stream: one file is read, the next is begun, and the last is not read at all."""
    job = make_job(run={"streams": 1})
    job.killed_at("in_copy:2")
    report = job.run("--json").expect(CLEAN).report
    assert report["account"]["rows_loaded"] == PARTS * ROWS_OF_A_PART
    job.assert_done()


@pytest.mark.clause("D-23", "D-31")
@pytest.mark.parametrize("point", ["in_copy", "after_unit_commit:3", "before_switch_commit"])
def test_cleanup_removes_what_a_stopped_run_left(job: Job, point: str) -> None:
    job.killed_at(point)
    job.inrush("status", *job.place.words).expect(CLEAN)
    job.inrush("cleanup", *job.place.words).expect(CLEAN)
    assert job.place.tables() == set()
    report = job.run().expect(CLEAN).report
    assert not report["resumed"]
    job.assert_done()
    job.inrush("cleanup", *job.place.words).expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-50")
def test_status_adds_up_what_a_stopped_run_has_committed(job: Job) -> None:
    job.killed_at("before_switch")
    said = job.inrush("status", *job.place.words, "--json").expect(CLEAN).output
    (stopped,) = json.loads(said)
    report = job.run("--json").expect(CLEAN).report
    assert report["resumed"]
    assert stopped["run"] == report["run"]
    assert stopped["account"] == report["account"]
    assert stopped["units_finished"] + stopped["units_begun"] == len(report["units"])
    assert stopped["rows_straight"] == 0
    assert not stopped["is_of_another_version"]
    job.assert_done()
