"""The same command after success: it loads nothing, except with --again or if the rows are gone."""

from __future__ import annotations

import pytest

from conformance.conftest import MakeJob
from conformance.job import TABLE, Job, filled, record
from harness.command import CLEAN, LOADED_WITH_REJECTS


@pytest.mark.clause("D-26")
def test_it_names_the_run_and_loads_nothing(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    filled(job.place, job.inrush, [])
    run = job.run().expect(CLEAN).report["run"]
    for _ in range(2):
        job.run().expect(CLEAN, "already loaded", run)
        job.assert_done()


@pytest.mark.clause("D-26")
def test_it_says_if_the_package_has_changed_since(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    filled(job.place, job.inrush, [])
    text = job.package.read_text()
    job.run().expect(CLEAN)
    said = "before the package was changed"
    for change, is_told in (("# The same.\n", False), ('[[flow.step]]\nwhere = "false"\n', True)):
        job.package.write_text(text + change)
        outcome = job.run().expect(CLEAN, "already loaded")
        assert (said in outcome.said) == is_told, outcome.said
        job.assert_done()
    # The last load now used the changed package, so the message does not mention a change.
    job.run("--again").expect(CLEAN)
    assert said not in job.run().expect(CLEAN, "already loaded").said
    job.assert_done()


@pytest.mark.clause("D-26", "D-23")
@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_run_that_resumes_with_a_changed_package_has_loaded_by_it(
    make_job: MakeJob, mode: str
) -> None:
    job = make_job(mode=mode)
    filled(job.place, job.inrush, [])
    job.killed_at("after_unit_commit")
    # The committed units do not depend on the limit.
    job.package.write_text(job.package.read_text() + "\n[flow.rejects]\nrows_max = 7\n")
    job.run().expect(CLEAN)
    job.assert_done()
    assert "before the package was changed" not in job.run().expect(CLEAN, "already loaded").said
    job.assert_done()


@pytest.mark.clause("D-26")
def test_again_loads_once_more(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    filled(job.place, job.inrush, [])
    job.run().expect(CLEAN)
    job.run("--again").expect(CLEAN)
    job.assert_done(job.rows)
    job.run().expect(CLEAN, "already loaded")
    job.assert_done(job.rows)


@pytest.mark.clause("D-23", "D-26")
@pytest.mark.parametrize(
    "point", ["in_copy", "after_unit_commit", "in_switch", "after_switch_commit", "before_report"]
)
def test_again_that_was_killed_loads_once_more_in_all(make_job: MakeJob, point: str) -> None:
    job = make_job(mode="append")
    filled(job.place, job.inrush, [])
    job.run().expect(CLEAN)
    job.killed_at(point, "--again")
    outcome = job.run("--again").expect(CLEAN)
    job.assert_done(job.rows)
    if point in ("after_switch_commit", "before_report"):
        outcome.expect(CLEAN, "already loaded", "was killed before it wrote its report")
    # The previous command has ended, so the next one is another load.
    job.run("--again").expect(CLEAN)
    job.assert_done([*job.rows, *job.rows])


@pytest.mark.clause("D-26")
def test_again_loads_other_files_after_a_load_that_was_killed(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    filled(job.place, job.inrush, [])
    job.killed_at("before_report")
    other = make_job(mode="append", first=90_000)
    other.run("--again").expect(CLEAN)
    other.assert_done(job.rows)


@pytest.mark.clause("D-26", "D-16")
def test_again_replaces_once_more(make_job: MakeJob) -> None:
    job = make_job(mode="replace")
    for words in ((), ("--again",)):
        job.run(*words).expect(CLEAN)
        job.assert_done()


@pytest.mark.clause("D-26", "D-16")
def test_files_that_were_appended_are_replaced_when_the_package_says_so(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    before = filled(job.place, job.inrush, [record(10_000)])
    job.run().expect(CLEAN)
    job.assert_done(before)
    appending = job.package.read_text()
    replacing = appending.replace('mode = "append"', 'mode = "replace"')
    assert replacing != appending
    job.package.write_text(replacing)
    for words in ((), ("already loaded",)):
        job.run().expect(CLEAN, *words)
        job.assert_done()


@pytest.mark.clause("D-27")
def test_a_table_that_was_dropped_is_loaded_again(job: Job) -> None:
    for _ in range(2):
        job.run().expect(CLEAN)
        job.assert_done()
        job.place.drop(TABLE)
        assert job.found is None
    job.killed_at("in_switch")
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-26")
def test_other_files_are_loaded(make_job: MakeJob) -> None:
    """If a file with the same name has other rows, the command loads them."""
    job = make_job(mode="append")
    filled(job.place, job.inrush, [])
    job.run().expect(CLEAN)
    other = make_job(mode="append", first=90_000)
    other.run().expect(CLEAN)
    other.assert_done(job.rows)


@pytest.mark.clause("D-26")
def test_with_rejects_it_is_loaded_all_the_same(make_job: MakeJob) -> None:
    job = make_job(rejects={"rows_max": 1})
    path = job.inrush.folder / "package.0.csv"
    path.write_text(path.read_text() + "x,bad,,\n")
    run = job.run().expect(LOADED_WITH_REJECTS).report["run"]
    job.run().expect(LOADED_WITH_REJECTS, "already loaded", run)
    job.assert_done()
