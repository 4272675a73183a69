"""Every row is accounted for, and the destination's own count is compared with the account."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from conformance.conftest import MakeJob
from conformance.destinations import (
    AdbcPostgreSql,
    Place,
    PostgreSql,
    in_order,
)
from conformance.job import HEADER, ROWS_OF_A_PART, TABLE, TYPES, Job, filled, record
from harness.command import CLEAN, LOADED_WITH_REJECTS, VERIFICATION, Inrush
from harness.packages import flow


def assert_adds_up(account: dict[str, Any]) -> None:
    parts = ("rows_loaded", "rows_rejected", "rows_skipped", "rows_filtered")
    rows = account["rows_read"] + account["rows_added"]
    assert rows == sum(account[part] for part in parts), account


@pytest.mark.clause("D-32")
def test_every_row_that_is_read_is_in_the_account(place: Place, inrush: Inrush) -> None:
    good = "1,a,1.50,2024-01-01 00:00:00\n2,b,,\n3,,-0.01,\n"
    inrush.write("one.csv", HEADER + "\n# a comment\n" + good)
    inrush.write("two.csv", HEADER + "4,c,0.001,\n5,d,2,\n\n")
    settings: dict[str, Any] = {
        "columns": ["id integer", "note text", "price numeric(15,2)", "at timestamp"],
        "format": {"preset": "csv", "comment": "#"},
        "rejects": {"rows_max": 5},
    }
    text = place.package(flow(TABLE, ["one.csv", "two.csv"], **settings))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    account = outcome.report["account"]
    assert account["rows_loaded"] == 4
    assert account["rows_rejected"] == 1
    (of_table,) = outcome.report["tables"]
    for one in (account, of_table["account"]):
        assert_adds_up(one)
    assert account == of_table["account"]
    rows = place.rows(TABLE, TYPES)
    assert rows == in_order(
        [
            ("1", "a", "1.5", "2024-01-01 00:00:00"),
            ("2", "b", None, None),
            ("3", None, "-0.01", None),
            ("5", "d", "2", None),
        ]
    )


@pytest.mark.clause("D-32")
def test_a_record_that_does_not_add_up_is_refused(job: Job) -> None:
    """PostgreSQL refuses it by a CHECK; in other ledgers it is text, which the next run checks."""
    job.killed_at("after_unit_commit")
    if isinstance(job.place, PostgreSql) and not isinstance(job.place, AdbcPostgreSql):
        with pytest.raises(psycopg.errors.CheckViolation, match="shard_account"):
            job.place.execute("UPDATE inrush.shard SET rows_read = rows_read + 1")
    else:
        # In each unit, one row more was read than is accounted for.
        job.place.miscount('rows_read":500', 'rows_read":501')
        said = "does not add up: 501 read is not 500 loaded + 0 rejected + 0 skipped"
        job.run().expect(VERIFICATION, ".csv, bytes 0 to the end: the account", said)
        job.assert_nothing()
        job.inrush("cleanup", *job.place.words).expect(CLEAN)
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-33", "D-19")
@pytest.mark.parametrize("mode", ["create", "append"])
def test_rows_lost_on_the_way_are_found_before_the_switch(make_job: MakeJob, mode: str) -> None:
    job = make_job(mode=mode)
    before = filled(job.place, job.inrush, [record(10_000)]) if mode == "append" else []
    for batch in (1, 4):
        environment = {"INRUSH_FAULT": f"batch_lost:{batch}"}
        outcome = job.inrush("run", job.package, environment=environment)
        outcome.expect(VERIFICATION, "rows")
        job.assert_nothing(before)
        # The committed rows may be those of the damaged record.
        job.inrush("cleanup", *job.place.words).expect(CLEAN)
        job.assert_nothing(before)
    job.run().expect(CLEAN)
    job.assert_done(before)


@pytest.mark.clause("D-32")
def test_the_report_tells_what_the_destination_has(job: Job) -> None:
    report = job.run().expect(CLEAN).report
    rows = len(job.found or [])
    assert report["account"]["rows_loaded"] == rows == job.parts * ROWS_OF_A_PART
    assert_adds_up(report["account"])
    assert sum(unit["account"]["rows_loaded"] for unit in report["units"]) == rows
