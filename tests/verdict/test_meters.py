"""The measurements of a run, in its report."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

import pytest

from conftest import StartServer
from harness import pauses
from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.packages import flow, package
from harness.servers import FAST, Database

COLUMNS = ["id int not null", "note text"]
# A phase uses other clock readings than the load does.
SLACK_S = 0.05


def write_rows(inrush: Inrush, name: str, count: int) -> None:
    inrush.write(name, "".join(f"{n}|row {n}|\n" for n in range(count)))


def series_of(measured: dict[str, Any]) -> Iterable[list[int]]:
    """Return all series, at any depth."""
    for value in measured.values():
        match value:
            case dict():
                yield from series_of(value)
            case list() if value and all(isinstance(item, int) for item in value):
                yield value
            case list():
                for item in value:
                    if isinstance(item, dict) and "phase" not in item:
                        yield from series_of(item)


def in_phases(stream: dict[str, Any]) -> float:
    """Return the seconds of a stream in all phases."""
    return sum(sum(series) for series in stream["phases_us"].values()) / 1e6


def test_measurements_agree_with_the_account(newest_database: Database, inrush: Inrush) -> None:
    for part in range(3):
        write_rows(inrush, f"first.tbl.{part}", 20_000)
    inrush.write("second.tbl", "".join(f"{n}|x|\n" for n in range(5_000)) + "none|x|\n")
    text = package(
        newest_database.url,
        flow("first", "first.tbl.*", columns=COLUMNS),
        flow("second", "second.tbl", columns=COLUMNS, rejects={"rows_max": 1}),
        streams=3,
    )
    report = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS).report
    measured = report["measurements"]
    assert {len(series) for series in series_of(measured)} == {measured["steps"]}
    assert [stream["stream"] for stream in measured["streams"]] == [1, 2, 3]
    rows = sum(sum(stream["rows"]) for stream in measured["streams"])
    assert rows == report["account"]["rows_loaded"] == 65_000
    tables = {table["flow"]: sum(table["rows"]) for table in measured["tables"]}
    assert tables == {"first": 60_000, "second": 5_001}
    text_bytes = sum(sum(stream["text_bytes"]) for stream in measured["streams"])
    assert text_bytes == report["account"]["bytes_read"]
    for stream, said in zip(measured["streams"], report["streams"], strict=True):
        assert in_phases(stream) <= said["ended_s"] + SLACK_S
        assert stream["ended_s"] == said["ended_s"] <= measured["load_s"] + SLACK_S
        assert "tcp" not in stream, "it goes by a socket of this machine"
    assert measured["machine"]["loader_memory_bytes"][-1] > 0
    # The measurements of units use the same clock.
    for unit in report["units"]:
        meter = unit["meter"]
        spent = sum(meter[name] for name in meter if name.endswith("_ns") and name != "busy_ns")
        assert spent <= meter["busy_ns"]


def test_who_holds_a_load_is_named(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(pauses.HELD_DOMAIN + "CREATE TABLE held_rows (id held, note text)")
    inrush.write("rows.tbl", "1|before|\n-1|held|\n2|after|\n")
    text = package(database.url, flow("held_rows", "rows.tbl", mode="append"))
    path = inrush.write("package.toml", text)
    with ExitStack() as gate:
        gate.enter_context(pauses.closed_gate(database))
        with inrush.start("run", path) as running:
            # The meter has seen that the load does not advance, and asks which session blocks it.
            pauses.wait_until(
                database,
                "SELECT EXISTS (SELECT FROM pg_stat_activity AS meter, pg_locks AS lock "
                "WHERE meter.datname = current_database() "
                "AND meter.application_name LIKE 'inrush%meter' "
                "AND NOT lock.granted AND meter.query_start > lock.waitstart "
                "AND meter.query LIKE '%usename%')",
            )
            # A statement is prepared, then executed: the next sample begins after both.
            meter = "application_name LIKE 'inrush%meter'"
            pauses.wait_for_statements(database, meter, 3, running)
            gate.close()
            report = running.wait().expect(CLEAN).report
    server = report["measurements"]["server"]
    assert server["is_local"]
    assert server["wal_bytes"] >= 0
    backends = [
        stream["backend"] for stream in report["measurements"]["streams"] if "backend" in stream
    ]
    (backend,) = [backend for backend in backends if backend.get("blockers")]
    assert any(sample["state"] == "lock" for sample in backend["samples"])
    assert [name for name, _ in backend["events"] if name.startswith("Lock:")] == ["Lock:advisory"]
    assert any("of user" in blocker and "tester" in blocker for blocker in backend["blockers"])


def test_a_connection_by_tcp_is_looked_at(start_server: StartServer, inrush: Inrush) -> None:
    server = start_server()
    server.move_to_tcp(dict(FAST))
    database = server.create_database("by_tcp")
    write_rows(inrush, "rows.tbl", 200_000)
    url = f"postgresql://{server.user}@127.0.0.1:{server.port}/by_tcp"
    text = package(url, flow("loaded", "rows.tbl", columns=COLUMNS), streams=1)
    # At this rate the load lasts for several samples.
    path = inrush.write("package.toml", text)
    report = inrush("run", path, "--max-rate", "5MB").expect(CLEAN).report
    (stream,) = report["measurements"]["streams"]
    assert stream["tcp"]["is_loopback"]
    assert sum(stream["tcp"]["busy_us"]) >= 0
    assert len(stream["tcp"]["round_trip_us"]) == report["measurements"]["steps"]
    assert database.value("SELECT count(*) FROM loaded") == 200_000


def test_who_reads_a_compressed_file_is_looked_at(
    newest_database: Database, inrush: Inrush
) -> None:
    # Data that gzip cannot compress: a small file goes to one stream.
    rows = "".join(f"{n}|{sha256(b'%d' % n).hexdigest()}|\n" for n in range(150_000))
    (inrush.folder / "rows.tbl.gz").write_bytes(gzip.compress(rows.encode(), 1))
    text = package(newest_database.url, flow("loaded", "rows.tbl.gz", columns=COLUMNS), streams=2)
    report = inrush("run", inrush.write("package.toml", text)).expect(CLEAN).report
    (feed,) = report["measurements"]["feeds"]
    assert feed["file"].endswith("rows.tbl.gz")
    assert sum(feed["decompress_us"]) > 0
    waits = [
        stream["phases_us"].get("feed_wait", [0]) for stream in report["measurements"]["streams"]
    ]
    assert sum(sum(wait) for wait in waits) > 0


@pytest.mark.parametrize("to", ["results.duckdb", "parquet:lake"])
def test_other_destinations_are_measured_too(inrush: Inrush, to: str) -> None:
    write_rows(inrush, "rows.tbl", 50_000)
    words = ("load", "rows.tbl", "--to", to, "--table", "loaded", "--columns", "id int, note text")
    outcome = inrush(*words)
    report = outcome.expect(CLEAN).report
    measured = report["measurements"]
    assert sum(sum(stream["rows"]) for stream in measured["streams"]) == 50_000
    assert "server" not in measured
    assert all("backend" not in stream for stream in measured["streams"])


def test_nothing_to_do_measures_nothing(newest_database: Database, inrush: Inrush) -> None:
    write_rows(inrush, "rows.tbl", 10)
    text = package(newest_database.url, flow("loaded", "rows.tbl", columns=COLUMNS))
    path = inrush.write("package.toml", text)
    assert "measurements" in inrush("run", path).expect(CLEAN).report
    told = inrush("run", path, "--json").expect(CLEAN, "already_loaded")
    assert "measurements" not in told.output
