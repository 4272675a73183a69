"""The targets of the suite's figures for lineitem.

They apply when loader and server share two cores, with a stream for each core.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ground
from findings import LIMIT, OURS, Facts, ratios, runs_of, sides, stopped

WORKLOAD = "lineitem"


@dataclass(frozen=True)
class Target:
    """A figure, round by round, and what its median should be."""

    title: str
    unit: str
    values: Sequence[float]
    at_least: float | None = None
    at_most: float | None = None

    @property
    def is_met(self) -> bool:
        """Return whether the median is within the target."""
        median = statistics.median(self.values)
        if self.at_least is not None and median < self.at_least:
            return False
        return self.at_most is None or median <= self.at_most

    @property
    def wanted(self) -> str:
        """The target in words."""
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return f"at most {self.at_most:g}"


def targets(facts: Facts, case: tuple[str, int]) -> Iterator[Target]:
    """Yield each target with its figures from the rounds of a case."""
    workload, streams = case
    ours = runs_of(facts, case, OURS)
    if workload != WORKLOAD or not ours or stopped(facts, case, OURS):
        return
    peers = [side for side in sides(facts) if side not in (OURS, LIMIT)]
    best = min(
        (found for side in peers if (found := ratios(facts, case, side))),
        key=statistics.median,
        default=None,
    )
    if best is not None:
        yield Target("best peer's time / Inrush's", "", best, at_least=1.5)
    limit = ratios(facts, case, LIMIT) if LIMIT in sides(facts) else []
    if limit:
        over = [1 / ratio for ratio in limit]
        yield Target("Inrush's time / that of the server alone", "", over, at_most=1.15)
    cpu_s = [run["client_cpu_s"] + run["server_cpu_s"] for run in ours]
    share = [run["client_cpu_s"] / total * 100 for run, total in zip(ours, cpu_s, strict=True)]
    yield Target("the loader's part of all processor seconds", "%", share, at_most=15)
    noted = [run["metering_cpu_s"] / total * 100 for run, total in zip(ours, cpu_s, strict=True)]
    yield Target("the meters' part of all processor seconds", "%", noted, at_most=1)
    resident = [run["client_resident_kib_max"] / 1024 for run in ours]
    yield Target("peak memory", "MiB", resident, at_most=64 + 16 * streams)


def lines(facts: Facts, case: tuple[str, int]) -> Iterator[str]:
    """Write the table of a case; nothing if it has no targets."""
    found = list(targets(facts, case))
    if not found:
        return
    yield "| target | measured | wanted | met |"
    yield "|---|---|---|---|"
    for one in found:
        unit = f" {one.unit}" if one.unit else ""
        met = "yes" if one.is_met else "**no**"
        yield f"| {one.title} | {ground.spread(one.values)}{unit} | {one.wanted} | {met} |"
    yield ""
