"""Compares lineitem at two scales, by Inrush and by the server alone.

For ten times the rows, the server alone may take more than ten times as long (its log, its disk).
So the ratio of Inrush's time to that of the server alone is compared between the two scales. All
four are measured in turn, round by round. Memory must not grow with the files.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import asdict
from pathlib import Path

import findings
import ground
import one_load
import same_rows
import workloads
from ground import Measure
from peers.inrush import Inrush
from peers.peer import Surroundings
from peers.server_alone import ServerAlone

WORKLOAD = "lineitem"
TIME_LIMIT = 1.03
MEMORY_LIMIT = 1.10
# In MiB. Lineitem's files are partitions, so no row is routed.
MEMORY_BOUND, MEMORY_BOUND_OF_STREAM = 64, 16

# By scale, then by side.
Found = dict[float, dict[str, list[Measure]]]


def over_limit(found: Found, scale: float) -> list[float]:
    """Return Inrush's wall time over that of the server alone, round by round."""
    sides = found[scale]
    pairs = zip(sides[findings.OURS], sides[findings.LIMIT], strict=True)
    return [ours.wall_s / limit.wall_s for ours, limit in pairs]


def peaks(found: Found, scale: float) -> list[float]:
    """Return Inrush's peak memory in MiB, round by round."""
    return [one.client_resident_kib_max / 1024 for one in found[scale][findings.OURS]]


def memory_bound(streams: int) -> int:
    """Return how many MiB of memory a load may use."""
    return MEMORY_BOUND + MEMORY_BOUND_OF_STREAM * streams


def page(facts: dict[str, object], found: Found, streams: int) -> str:
    """Return the result as a page."""
    small, large = found
    lines = [
        f"# Lineitem at scale {small:g} and {large:g}",
        "",
        ground.machine_lines(facts),
        f"{streams} streams, {facts['parts']} files, each a partition; all four in turn; medians "
        "(least-most). The contents of the first round are equal, by a hash of all values.",
        "",
        "| scale | side | wall s | client CPU s | server CPU s | client resident MiB |",
        "|---|---|---|---|---|---|",
    ]
    for scale, sides in found.items():
        for name, one in sides.items():
            walls = ground.spread([each.wall_s for each in one])
            lines.append(f"| {scale:g} | {name} | {walls} | {ground.cells(one)}")
    lines += [
        "",
        f"inrush / server alone: {ground.spread(over_limit(found, small))} at scale {small:g}, "
        f"{ground.spread(over_limit(found, large))} at scale {large:g}; the second over the first: "
        f"**{facts['time_growth']:.3f}** (at most {TIME_LIMIT}).",
        f"Peak memory at scale {large:g} over that at {small:g}: **{facts['memory_growth']:.3f}** "
        f"(at most {MEMORY_LIMIT}); the largest peak: {facts['memory_peak']:.0f} MiB "
        f"(at most {memory_bound(streams)}).",
        "",
        "To repeat: `make bench-ways`, or `.venv/bin/python benchmarks/two_scales.py`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run it; the exit status says whether the memory is within its limits."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scales", type=float, nargs=2, default=(1.0, 10.0))
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--data", type=ground.whole_path, help="keep the made files there")
    options = parser.parse_args()
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        surroundings = Surroundings(Path(sys.executable), server.programs, folder)
        sides = (Inrush(surroundings), ServerAlone(surroundings))
        data = options.data or folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        jobs = {
            scale: workloads.ALL[WORKLOAD].make(scale, options.parts, data)
            for scale in options.scales
        }
        expected = {
            scale: same_rows.expected(server, job, scale, options.parts, data)
            for scale, job in jobs.items()
        }
        found: Found = {scale: {side.name: [] for side in sides} for scale in jobs}
        for number in range(1, options.rounds + 1):
            for scale, job in jobs.items():
                for side in sides:
                    must_be = expected[scale] if number == 1 else None
                    with one_load.prepared(server, job, side) as database:
                        one = one_load.measure(
                            database, job, side, options.streams, folder, must_be
                        )
                    found[scale][side.name].append(one)
                    print(f"round {number}: scale {scale:g} by {side.name} {one.wall_s:.2f} s")
    small, large = jobs
    facts = {
        "benchmark": "two_scales",
        "streams": options.streams,
        "parts": options.parts,
        "machine": about,
        "time_growth": statistics.median(over_limit(found, large))
        / statistics.median(over_limit(found, small)),
        "memory_growth": statistics.median(peaks(found, large))
        / statistics.median(peaks(found, small)),
        "memory_peak": max(max(peaks(found, scale)) for scale in found),
        "rounds": {
            f"{scale:g}": {name: [asdict(each) for each in one] for name, one in of.items()}
            for scale, of in found.items()
        },
    }
    text = page(facts, found, options.streams)
    ground.write_results(options.results, "two-scales", facts, text)
    within = facts["memory_growth"] <= MEMORY_LIMIT
    sys.exit(not (within and facts["memory_peak"] <= memory_bound(options.streams)))


if __name__ == "__main__":
    main()
