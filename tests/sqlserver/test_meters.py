"""Meters of a load into the double: what sessions wait for, the verdict, and growth of files."""

from __future__ import annotations

import time
from typing import Any

import pytest

from harness.command import CLEAN, Inrush
from harness.packages import flow, package
from sqlserver.double import Double
from sqlserver.double.storage import File
from sqlserver.loads import COLUMNS, Loads

ROWS = "1,2024-01-05 2,2024-01-20"
SAMPLE = "dm_exec_requests"
# A load that is over within a second has no verdict.
SECONDS = 2.5
# The wait of the sessions, the cause of the verdict, and the words of its evidence.
CAUSES = {
    "WRITELOG": ("destination_disk", "Tran Log IO:WRITELOG"),
    "PAGEIOLATCH_EX": ("destination_disk", "Buffer IO:PAGEIOLATCH_EX"),
    "PAGELATCH_UP": ("destination_locks", "Buffer Latch:PAGELATCH_UP"),
    None: ("destination_cpu", "backends computed"),
}


def _verdict(report: dict[str, Any]) -> tuple[str, str]:
    """Return the first cause, and its evidence."""
    first = report["verdict"]["causes"][0]
    return first["cause"], "; ".join(first["evidence"])


@pytest.mark.parametrize("wait_type", CAUSES)
def test_the_verdict_names_what_the_server_waits_for(loads: Loads, wait_type: str | None) -> None:
    loads.double.bulk_seconds = SECONDS
    loads.double.database.wait_type = wait_type
    loads.files(ROWS)
    report = loads().expect(CLEAN).report
    cause, words = CAUSES[wait_type]
    found, evidence = _verdict(report)
    assert (found, words in evidence) == (cause, True), report["verdict"]
    measured = report["measurements"]
    assert measured["server"]["kind"] == "sqlserver"
    (backend,) = [it["backend"] for it in measured["streams"] if "backend" in it]
    numbers = {number for number, *_ in loads.rows("SELECT session_id FROM sys.dm_exec_sessions")}
    assert backend["process_id"] > 50 and backend["process_id"] not in numbers


def test_the_holder_of_a_lock_is_named(loads: Loads) -> None:
    """Another session changes the run's row in the ledger, which each unit reads."""
    double = loads.double
    loads.files(ROWS, "3,2024-01-07")
    text = package(double.url, flow("t", "part.*.csv", columns=COLUMNS), streams=1)
    loads.inrush.write("package.toml", text)
    double.bulk_seconds = 0.5
    with loads.inrush.start("run", "package.toml") as running:
        double.wait_for_batch("INSERT BULK")
        other = double.session()
        other.lock_timeout = 60
        other.execute("BEGIN TRANSACTION")
        other.execute("UPDATE inrush.run SET holder = holder")
        with double.database.locks.changed:
            blocked = lambda: any(  # noqa: E731
                one.wait is not None for one in double.database.sessions.values()
            )
            assert double.database.locks.changed.wait_for(blocked, 60)
        time.sleep(SECONDS)
        other.close()
        outcome = running.wait().expect(CLEAN)
    cause, evidence = _verdict(outcome.report)
    assert cause == "destination_locks", outcome.report["verdict"]
    assert f'session {other.number} of login "tester", program "a test", sleeping' in evidence
    assert loads.ids() == [1, 2, 3]


def test_a_missing_right_costs_the_figures_only(loads: Loads) -> None:
    loads.double.bulk_seconds = SECONDS
    loads.double.database.shows_server_state = False
    loads.files(ROWS)
    outcome = loads().expect(CLEAN)
    report = outcome.report
    assert loads.ids() == [1, 2]
    (note,) = [one for one in report["notes"] if "sessions waited for" in one]
    assert "VIEW SERVER STATE" in note
    cause, evidence = _verdict(report)
    assert cause == "undecided" and "VIEW SERVER STATE" in evidence, report["verdict"]
    assert not any("backend" in it for it in report["measurements"]["streams"])


@pytest.mark.parametrize("version", ["13.0.1601.5", "15.0.2000.5", "17.0.1000.7"])
def test_each_version_has_the_right(loads: Loads, version: str) -> None:
    """SQL Server before 2022 knows only the older right."""
    loads.double.bulk_seconds = 1.5
    loads.double.database.properties["PRODUCTVERSION"] = version
    loads.files(ROWS)
    report = loads().expect(CLEAN).report
    assert any("backend" in it for it in report["measurements"]["streams"])
    assert "not_sampled" not in report["measurements"]["server"]


def test_growth_of_files_is_measured(loads: Loads) -> None:
    double = loads.double
    double.database.files = [File("test", "PRIMARY", size=10), File("test_log", None, size=20)]
    loads.files(ROWS)
    text = package(double.url, flow("t", "part.*.csv", columns=COLUMNS))
    with loads.inrush.start("run", loads.inrush.write("package.toml", text)) as running:
        with double.bulk_gate:
            # The sizes at the beginning are known once the next sample is asked for.
            double.wait_for_batch("SELECT type_desc")
            double.wait_until(lambda: len([one for one in double.batches if SAMPLE in one]) > 1)
            double.database.files[0].size += 3
            double.database.files[1].size += 5
        server = running.wait().expect(CLEAN).report["measurements"]["server"]
    assert server["data_growth_bytes"] == 3 * 8192
    assert server["log_growth_bytes"] == 5 * 8192


def test_babelfish_is_not_sampled(loads: Loads) -> None:
    database = loads.double.database
    database.properties |= {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1}
    loads.files(ROWS)
    report = loads().expect(CLEAN).report
    assert "server" not in report["measurements"]
    assert not any("dm_exec_requests" in batch for batch in loads.double.batches)


def copied(double: Double, *words: str) -> tuple[str, ...]:
    """Return the words of a copy of the table by one stream."""
    there = ("copy", "--from", double.url, "--table", "t", "--to", "duckdb:x.duckdb")
    return (*there, "--streams", "1", *words)


# The wait of the reading session, the cause of the verdict, and the words of its evidence.
OF_SOURCE = {
    "PAGEIOLATCH_SH": ("source_database_disk", "Buffer IO:PAGEIOLATCH_SH"),
    "SOS_WORK_DISPATCHER": ("source_read", "SOS_WORK_DISPATCHER"),
    None: ("source_database_cpu", "the source's backends computed"),
}


@pytest.mark.parametrize("wait_type", OF_SOURCE)
def test_the_verdict_names_what_a_source_waits_for(
    inrush: Inrush, double: Double, wait_type: str | None
) -> None:
    session = double.session()
    session.execute("CREATE TABLE t (id int NOT NULL, note nvarchar(9) NULL)")
    session.execute("INSERT INTO t VALUES (1, N'a'), (2, N'b')")
    session.close()
    double.read_seconds = SECONDS
    double.database.wait_type = wait_type
    report = inrush(*copied(double)).expect(CLEAN).report
    cause, words = OF_SOURCE[wait_type]
    verdict = report["verdict"]
    found, evidence = _verdict(report)
    assert (found, words in f"{evidence}; {verdict['line']}") == (cause, True), verdict
    (stream,) = report["measurements"]["streams"]
    assert stream["source_backend"]["process_id"] > 50


def test_a_source_that_waits_for_the_load(inrush: Inrush, double: Double) -> None:
    """A session that waits until its rows are taken does not slow the load down."""
    session = double.session()
    session.execute("CREATE TABLE t (id int NOT NULL, note nvarchar(4000) NULL)")
    session.insert("t", [[number, "x" * 4_000] for number in range(1_500)])
    session.close()
    report = inrush(*copied(double, "--max-rate", "1MB")).expect(CLEAN).report
    shares = {one["cause"]: one["share"] for one in report["verdict"]["causes"]}
    for cause in ("source_database_cpu", "source_database_disk", "source_database_network"):
        assert shares.get(cause, 0) < 0.2, shares
    (stream,) = report["measurements"]["streams"]
    seen = stream["source_backend"]
    waits = [one for one in seen["samples"] if one["state"] == "client"]
    assert sum(one["samples"] for one in waits) >= 5, seen
    assert "Network IO:ASYNC_NETWORK_IO" in dict(seen["events"]), seen


def test_the_report_has_the_waits_of_all_sessions(loads: Loads) -> None:
    """The server counts the waits of each session; short waits are not named."""
    waits = {"WRITELOG": 2400, "LCK_M_S": 600, "LATCH_EX": 9000, "HT": 499, "ASYNC_IO": 1500}
    loads.double.database.session_waits = waits
    loads.files(ROWS, "3,2024-01-07")
    notes = loads("run", "", "--streams", "2").expect(CLEAN).report["notes"]
    said = "LATCH_EX 18.0 s, WRITELOG 4.8 s, ASYNC_IO 3.0 s"
    assert f"the sessions of the streams waited on the server, in total: {said}" in notes
    loads.double.database.session_waits = {"WRITELOG": 400}
    loads.files("4,2024-01-08")
    outcome = loads("run", "", "--again", mode="append").expect(CLEAN)
    assert "waited on the server" not in str(outcome.report)
