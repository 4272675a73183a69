r"""Compares the build of this checkout with another one, by workload.

    .venv/bin/python benchmarks/two_builds.py --other /path/to/other/.venv/bin/inrush --rounds 8

Both builds load the same files into the same server by the same package, in turn; the side that
goes first alternates from round to round. In the first round the rows of both are compared with
those that a `\copy` made of the files. Ratios are of this build to the other one, round by round,
so a slower machine affects both sides of a ratio.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import ground
import one_load
import same_rows
import workloads
from ground import Measure
from harness.servers import Database, Server
from peers.inrush import Inrush
from peers.peer import Command, Surroundings
from workload import Job

# The measures by workload and side; each side has one for each round.
Found = dict[str, dict[str, list[Measure]]]

THIS, OTHER = "this build", "other build"
MEASURES: dict[str, Callable[[Measure], float]] = {
    "wall": lambda one: one.wall_s,
    "client CPU": lambda one: one.client_cpu_s,
    "all CPU": lambda one: one.client_cpu_s + one.server_cpu_s,
    "client memory": lambda one: float(one.client_resident_kib_max),
}


class Build(Inrush):
    """The command of one build."""

    def __init__(self, surroundings: Surroundings, name: str, command: Sequence[str]) -> None:
        super().__init__(surroundings)
        self.name = name
        self._command = command

    def version(self) -> str | None:
        """Return its version."""
        done = subprocess.run([*self._command, "--version"], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return the suite's command, with this build's program."""
        ((*_, word, package),) = super().commands(database, job, streams)
        return [[*self._command, word, package]]


def ratios(sides: dict[str, list[Measure]], value: Callable[[Measure], float]) -> list[float]:
    """Return this build's measures over the other's, round by round."""
    pairs = zip(sides[THIS], sides[OTHER], strict=True)
    return [value(this) / value(other) for this, other in pairs]


def page(facts: dict[str, object], found: Found) -> str:
    """Return the result as a page."""
    lines = [
        "# This build against another one",
        "",
        ground.machine_lines(facts),
        f"The other build: {facts['other']}. {facts['streams']} streams, scale {facts['scale']}, "
        "in turn; medians (least-most). Ratios are of this build to the other one: below 1 this "
        "build takes less.",
        "",
        "| workload | wall s | other's wall s | " + " | ".join(MEASURES) + " |",
        "|---|---|---|" + "---|" * len(MEASURES),
    ]
    for workload, sides in found.items():
        walls = [ground.spread([one.wall_s for one in sides[side]]) for side in (THIS, OTHER)]
        cells = [ground.spread(ratios(sides, value), 3) for value in MEASURES.values()]
        lines.append(f"| {workload} | " + " | ".join([*walls, *cells]) + " |")
    return "\n".join([*lines, ""])


def turns(sides: Sequence[Build], rounds: int) -> Iterator[tuple[int, Build]]:
    """Yield the side that loads next; the one that goes first alternates from round to round."""
    for number in range(1, rounds + 1):
        for side in sides if number % 2 else reversed(sides):
            yield number, side


def measure(
    server: Server,
    folder: Path,
    data: Path,
    workload: str,
    sides: Sequence[Build],
    options: argparse.Namespace,
) -> dict[str, list[Measure]]:
    """Measure a workload with both builds."""
    job = workloads.ALL[workload].make(options.scale, options.parts, data)
    must_be = same_rows.expected(server, job, options.scale, options.parts, data)
    found: dict[str, list[Measure]] = {side.name: [] for side in sides}
    for number, side in turns(sides, options.rounds):
        with one_load.prepared(server, job, side) as database:
            one = one_load.measure(
                database, job, side, options.streams, folder, must_be if number == 1 else None
            )
        found[side.name].append(one)
        print(
            f"{workload}, round {number}, {side.name}: {one.wall_s:.2f} s, "
            f"CPU {one.client_cpu_s:.2f} + {one.server_cpu_s:.2f} s",
            flush=True,
        )
    return found


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--other", type=ground.whole_path, required=True, help="its command")
    parser.add_argument("--other-is", default="not said", help="its commit, for the result")
    parser.add_argument("--workloads", default="lineitem", help="by comma: lineitem,narrow")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--data", type=ground.whole_path, help="keep the made files there")
    options = parser.parse_args()
    found: Found = {}
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        surroundings = Surroundings(Path(sys.executable), server.programs, folder)
        sides = (
            Build(surroundings, THIS, ground.INRUSH),
            Build(surroundings, OTHER, [str(options.other)]),
        )
        data = options.data or folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        for workload in options.workloads.split(","):
            found[workload] = measure(server, folder, data, workload, sides, options)
    facts: dict[str, object] = {
        "benchmark": "two_builds",
        "other": f"{sides[1].version()}, commit {options.other_is}",
        "scale": options.scale,
        "streams": options.streams,
        "parts": options.parts,
        "machine": about,
        "rounds": {
            workload: {name: [asdict(one) for one in of] for name, of in by_side.items()}
            for workload, by_side in found.items()
        },
    }
    text = page(facts, found)
    ground.write_results(options.results, "two-builds", facts, text)


if __name__ == "__main__":
    main()
