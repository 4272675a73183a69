"""Queries on the suite's results, for its page and its plots.

Only the standard library is imported, because the plots and the page are made by different Pythons.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

# All sides are compared with `OURS`. `LIMIT` is not a peer: the server loads the rows without the
# work of a client.
OURS = "inrush"
LIMIT = "server alone"

Facts = dict[str, Any]
# A measurement, or a stop: its workload, streams, round, side and figures.
Run = dict[str, Any]


def cases(facts: Facts) -> list[tuple[str, int]]:
    """Return the workloads and streams that were run, in order."""
    found = {(run["workload"], run["streams"]) for run in [*facts["runs"], *stops(facts)]}
    order = list(facts["workloads"])
    return sorted(found, key=lambda case: (order.index(case[0]), case[1]))


def sides(facts: Facts) -> list[str]:
    """Return the sides that were run, in the suite's order."""
    found = {run["side"] for run in [*facts["runs"], *stops(facts)]}
    return [name for name in facts["peers"] if name in found]


def runs_of(facts: Facts, case: tuple[str, int], side: str) -> list[Run]:
    """Return the measures of a side, round by round."""
    workload, streams = case
    return [
        run
        for run in facts["runs"]
        if (run["workload"], run["streams"], run["side"]) == (workload, streams, side)
    ]


def stops(facts: Facts) -> list[Run]:
    """Return the rounds in which a side was stopped; older results do not record it."""
    return list(facts.get("stopped", []))


def stopped(facts: Facts, case: tuple[str, int], side: str) -> Run | None:
    """Return the first round in which a side was stopped, or None if it never was."""
    for run in stops(facts):
        if (run["workload"], run["streams"], run["side"]) == (*case, side):
            return run
    return None


def ratios(facts: Facts, case: tuple[str, int], side: str) -> list[float]:
    """Return a side's wall time over Inrush's, for each round that has both.

    The list is empty if either was ever stopped, because its completed rounds are then only the
    fast ones.
    """
    if stopped(facts, case, side) or stopped(facts, case, OURS):
        return []
    ours = {run["round"]: run["wall_s"] for run in runs_of(facts, case, OURS)}
    theirs = runs_of(facts, case, side)
    return [run["wall_s"] / ours[run["round"]] for run in theirs if run["round"] in ours]


def median(runs: Sequence[Run], key: str) -> float:
    """Return the median of a measure."""
    return float(statistics.median(run[key] for run in runs))
