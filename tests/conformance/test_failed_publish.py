"""After a failed publish nothing is visible; once the cause is fixed, the same command works."""

from __future__ import annotations

import pytest

from conformance.conftest import MakeJob
from conformance.destinations import Place
from conformance.job import COLUMNS, HEADER, TABLE, Job, filled, line, record, row
from harness.command import CLEAN, FAILED, REJECT_LIMIT, USAGE, Inrush


@pytest.mark.clause("D-4", "D-18", "D-19")
def test_a_statement_of_the_user_fails(make_job: MakeJob) -> None:
    job = make_job(
        pre_sql=["INSERT INTO witness VALUES (1)"], post_sql=["INSERT INTO missing VALUES (2)"]
    )
    if not job.place.speaks_sql:
        outcome = job.run()
        assert outcome.status in (FAILED, USAGE), outcome.said
        outcome.expect(outcome.status, "sql")
        assert job.place.tables() == set()
        return
    job.place.execute("CREATE TABLE witness (n integer)")
    for _ in range(2):
        job.run().expect(FAILED, "missing")
        job.assert_nothing()
        assert job.place.rows("witness", ["integer"]) == []
    job.place.execute("CREATE TABLE missing (n integer)")
    report = job.run().expect(CLEAN).report
    assert all(unit["kept"] for unit in report["units"])
    assert job.found == job.rows
    assert job.place.rows("witness", ["integer"]) == [("1",)]
    assert job.place.rows("missing", ["integer"]) == [("2",)]
    assert job.place.tables() == {TABLE, "witness", "missing"}


@pytest.mark.clause("D-16", "D-19", "D-20")
def test_a_constraint_of_the_target_refuses_a_row(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    before = filled(job.place, job.inrush, [record(7)])
    if not job.place.speaks_sql:
        # Without constraints, two rows may have the same number.
        job.run().expect(CLEAN)
        job.assert_done(before)
        return
    job.place.execute(f"CREATE UNIQUE INDEX only_once ON {TABLE} (id)")
    outcome = job.run()
    assert outcome.status in (FAILED, REJECT_LIMIT), outcome.said
    job.assert_nothing(before)
    job.place.execute(f"DELETE FROM {TABLE}")
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-15", "D-19")
def test_a_table_with_rows_appears_meanwhile(job: Job) -> None:
    """Another load makes the table while this one is paused, or has ended if only one may run."""
    other = row(record(10_000))
    with job.stopped_at("before_switch") as running:
        if not job.place.keeps("D-29"):
            running.process.kill()
            running.wait()
            filled(job.place, job.inrush, [record(10_000)])
            outcome = job.run()
        else:
            filled(job.place, job.inrush, [record(10_000)])
            outcome = running.resume().wait()
    outcome.expect(FAILED, TABLE)
    assert job.found == [other]
    job.place.drop(TABLE)
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-15")
def test_create_refuses_a_table_with_rows(job: Job) -> None:
    before = filled(job.place, job.inrush, [record(10_000)])
    outcome = job.run().expect(FAILED, TABLE, "append")
    job.assert_nothing(before)
    assert "panicked" not in outcome.said


@pytest.mark.clause("D-15")
def test_create_takes_an_empty_table(job: Job) -> None:
    filled(job.place, job.inrush, [])
    assert job.found == []
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-21")
def test_what_is_no_table_is_refused(place: Place, inrush: Inrush) -> None:
    inrush.write("rows.csv", HEADER + line(record(1)))
    place.make_no_table("odd")
    for mode in ("create", "append", "replace"):
        words = ("--table", "odd", "--columns", ", ".join(COLUMNS), "--mode", mode)
        outcome = inrush("load", "rows.csv", *place.words, *words)
        assert outcome.status in (FAILED, USAGE), f"{mode}: {outcome.said}"
        outcome.expect(outcome.status, "odd")
    place.remove_no_table("odd")
    assert place.tables() == set()
