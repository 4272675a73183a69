"""The needs of a load: `inrush preflight --size --within --what-if`."""

from __future__ import annotations

from typing import Any

import pytest

from command.test_preflight import found, write
from harness.command import CLEAN, USAGE, Inrush
from harness.servers import Database


def capacity(inrush: Inrush, path: Any, *words: str) -> dict[str, Any]:
    report = found(inrush("preflight", path, "--json", *words).expect(CLEAN))
    answer: dict[str, Any] = report["capacity"]
    return answer | {"costs": report["costs"]}


def test_a_terabyte_in_30_minutes(database: Database, inrush: Inrush) -> None:
    """The needs follow from the measured costs, and every assumption is printed."""
    path = write(inrush, database.url)
    said = inrush("preflight", path, "--size", "1TB", "--within", "30min").expect(CLEAN)
    for part in ("What would be needed", "cores for the loader", "first limit here", "assumed:"):
        assert part in said.output
    answer = capacity(inrush, path, "--size", "1TB", "--within", "30min")
    needs, costs = answer["needs"], answer["costs"]
    assert answer["size_bytes"] == 1e12
    rate = needs["disk_read_bytes_s"] / costs["read_per_text"]
    assert rate >= 1e12 / 1800
    assert needs["loader_cores"] == pytest.approx(rate * costs["loader_cpu_s_per_gb"] / 1e9)
    assert needs["server_cores"] == pytest.approx(rate * costs["server_cpu_s_per_gb"] / 1e9)
    assert needs["network_bytes_s"] == pytest.approx(rate * costs["sent_per_text"])
    # The text is only a small sample, but the trial's WAL is counted nevertheless.
    assert needs["wal_bytes"] == pytest.approx(costs["wal_per_text"] * 1e12)


def test_other_machines(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    words = ("--size", "100GB", "--what-if", "server_cores=1000,loader_cores=1000,disk=1TB/s")
    answer = capacity(inrush, path, *words, "--what-if", "network=8Mbit,streams=4")
    assert answer["limit"] == "the network" and answer["streams"] == 4
    sent = 100e9 * answer["costs"]["sent_per_text"]
    assert answer["predicted_s"] == pytest.approx(sent / 1e6, rel=0.3)
    assert answer["with"]["loader_cores"] == 1000
    for wrong in ("cores=4", "network=fast", "server_cores=0"):
        said = inrush("preflight", path, "--what-if", wrong)
        said.expect(USAGE, "--what-if")


def test_a_smaller_machine_for_both(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    words = ("--size", "100GB", "--what-if", "shared_cores=0.1,streams=2")
    answer = capacity(inrush, path, *words)
    assert answer["limit"] == "the cores that loader and server share"
    assert answer["with"]["shared_cores"] == 0.1
    assert answer["with"].get("loader_cores") is None
    costs = answer["costs"]
    cpu_s = 100 * (costs["loader_cpu_s_per_gb"] + costs["server_cpu_s_per_gb"])
    assert answer["predicted_s"] >= cpu_s / 0.1
    slow = capacity(inrush, path, "--size", "100GB", "--what-if", "disk=1MB/s,streams=2")
    costs = slow["costs"]
    written = 100e9 * (costs["table_per_text"] + costs["wal_per_text"])
    assert slow["limit"] == "the writes of the server's disk"
    assert slow["predicted_s"] >= written / 1e6


def test_a_destination_that_is_no_server(inrush: Inrush) -> None:
    path = write(inrush, "x.duckdb", key=None)
    answer = capacity(inrush, path, "--size", "1TB", "--within", "1h")
    assert "server_cores" not in answer["needs"] or answer["needs"]["server_cores"] is None
    assert any("not measured: the server's CPU" in told for told in answer["assumptions"])
