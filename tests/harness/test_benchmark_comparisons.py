"""The pages about pgbench and about predictions say which figures missed their limit, and why."""

from __future__ import annotations

from typing import Any

import capacity_accuracy
import clients_vs_pgbench
from clients_vs_pgbench import Measure

MACHINE: dict[str, Any] = {
    "processor": "A CPU",
    "cores": 2,
    "memory_gib": 8.0,
    "file_system": "ext4",
    "kernel": "6.1",
    "commit": "abc",
    "commit_changed": False,
    "load_average_at_start": 0.1,
}


def test_clients_that_miss_a_limit_are_named() -> None:
    """The median of the ratios counts; each ratio is to pgbench in the same round."""
    theirs = Measure(1000.0, 10.0)
    right = [(Measure(960.0, 10.9), theirs), (Measure(500.0, 30.0), theirs)]
    right.append((Measure(1100.0, 9.0), theirs))
    found = [
        clients_vs_pgbench.compared("prepared", 1, right),
        clients_vs_pgbench.compared("prepared", 8, [(Measure(940.0, 9.0), theirs)]),
        clients_vs_pgbench.compared("simple", 8, [(Measure(2000.0, 11.5), theirs)]),
    ]
    assert [one["is_right"] for one in found] == [True, False, False]
    page = clients_vs_pgbench.page({"machine": MACHINE, "seconds": 5, "rounds": 3, "found": found})
    assert "Missed: prepared with 8 clients, simple with 8 clients." in page
    assert (
        "| prepared | 1 | 960 | 1,000 | 0.96 (0.50-1.10) | 10.9 | 10.0 | 1.09 (0.90-3.00) |" in page
    )


def test_cases_that_were_not_measured_have_a_reason() -> None:
    measures = [{"predicted_s": 9.0, "took_s": 10.0, "error": -0.1, "limit": "the network"}]
    facts = {
        "machine": MACHINE,
        "scale": "10",
        "files": 40,
        "text_bytes": 7_600_000_000,
        "streams": 2,
        "rounds": 1,
        "found": [{"case": "a link", "tenths": 1, "seen_tenths": 0.5, "measures": measures}],
        "left_out": {"disk of 40 MB/s": "a disk of our own needs root"},
        "predictions": 1,
        "median_error": 0.1,
        "worst_error": 0.1,
    }
    page = capacity_accuracy.page(facts)
    assert "Left out: disk of 40 MB/s, because a disk of our own needs root." in page
    assert "| a link | 1 | 0.5 | 9.0 (9.0-9.0) | 10.0 (10.0-10.0) | -10 (-10--10) % " in page
