r"""Compares loads by the server extension with COPY, two psql sessions, and the server alone.

    make build && .venv/bin/python benchmarks/with_extension.py --rounds 5

All sides load the same files into the same durable server, in turn; the side that goes first
changes from round to round. Ratios are to Inrush with the extension, round by round: above 1 means
that the side takes longer. `idle` is the idle time of all cores together, from the start of a
side's programs to their end. In the first round the rows of each side are compared with those that
a `\copy` made of the files.

The demo is measured too, into a database with the extension and into one without it. Its times are
taken from its report, and count from the start of the run to its end.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ground
import one_load
import same_rows
import workloads
from ground import Measure
from harness import extension
from harness.servers import Database, Server
from peers.inrush import Inrush
from peers.peer import Command, Peer, Surroundings
from peers.psql import Psql
from peers.server_alone import ServerAlone
from workload import Job

WORKLOADS = "lineitem,narrow,wide,quoted,plain-straight"
BY_EXTENSION, BY_COPY = "Inrush by the extension", "Inrush by COPY"
PHASES = ("plan_s", "load_s", "switch_s", "analyze_s", "total_s")

# The measurements by side: one for each round, with the seconds of phases if the side is Inrush.
Found = dict[str, list[tuple[Measure, dict[str, float]]]]


class InrushBy(Inrush):
    """Inrush, with a given way to store rows."""

    def __init__(self, surroundings: Surroundings, name: str, server_copy: str) -> None:
        super().__init__(surroundings)
        self.name = name
        self._server_copy = server_copy

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return the suite's command, with this way to store rows."""
        (command,) = super().commands(database, job, streams)
        return [[*command, "--server-copy", self._server_copy]]

    def phases(self) -> dict[str, float]:
        """Return the seconds of each phase of its last run."""
        return phases_of(self.surroundings.folder / "runs")


def phases_of(runs: Path) -> dict[str, float]:
    """Return the seconds of each phase of the newest run of a folder."""
    newest = max(runs.glob("*/report.json"), key=lambda path: path.stat().st_mtime_ns)
    told = json.loads(newest.read_text())["phases"]
    return {name: told[name] for name in PHASES}


def idle_s(one: Measure) -> float:
    """Return the idle seconds of all cores together."""
    cores = len(os.sched_getaffinity(0))
    used = one.client_cpu_s + one.server_cpu_s + one.others_cpu_s + one.stolen_cpu_s
    return max(0.0, cores * one.wall_s - used)


def in_turn(sides: Sequence[Peer], number: int) -> Sequence[Peer]:
    """Return the sides of a round; each round begins with another side."""
    first = number % len(sides)
    return [*sides[first:], *sides[:first]]


def measure(
    server: Server, folder: Path, workload: str, sides: Sequence[Peer], options: Any
) -> Found:
    """Measure a workload by all sides."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    job = workloads.ALL[workload].make(options.scale, options.parts, data)
    must_be = same_rows.expected(server, job, options.scale, options.parts, data)
    found: Found = {side.name: [] for side in sides}
    for number in range(options.rounds):
        for side in in_turn(sides, number):
            with one_load.prepared(server, job, side) as database:
                one = one_load.measure(
                    database, job, side, options.streams, folder, None if number else must_be
                )
            phases = side.phases() if isinstance(side, InrushBy) else {}
            found[side.name].append((one, phases))
            print(f"{workload}, round {number + 1}, {side.name}: {one.wall_s:.2f} s", flush=True)
    return found


def demo(server: Server, folder: Path, options: Any) -> dict[str, list[dict[str, float]]]:
    """Run the demo into a database with the extension and into one without, in turn."""
    found: dict[str, list[dict[str, float]]] = {BY_EXTENSION: [], BY_COPY: []}
    for number in range(options.demo_rounds):
        names = list(found)
        for name in names if number % 2 else reversed(names):
            database = ground.fresh(server)
            if name == BY_COPY:
                database.execute("DROP SCHEMA inrush_fastcopy CASCADE")
            runs = folder / "demo-runs"
            command = [*ground.INRUSH, "demo", "--to", database.url, "--runs-folder", str(runs)]
            command += ["--scale", str(options.demo_scale), "--streams", str(options.streams)]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            found[name].append(phases_of(runs))
            ground.drop(database)
            print(f"demo, round {number + 1}, {name}: {found[name][-1]['total_s']:.2f} s")
    return found


def page(facts: dict[str, Any], found: dict[str, Found], demos: Any) -> str:
    """Return the result as a page."""
    lines = [
        "# Loads by the server extension",
        "",
        ground.machine_lines(facts),
        f"{facts['streams']} streams, scale {facts['scale']}, in turn; medians (least-most). "
        "Ratios are to Inrush by the extension, round by round: above 1 a side takes longer.",
        "",
        "| workload | side | wall s | ratio | client CPU s | server CPU s | idle core s |",
        "|---|---|---|---|---|---|---|",
    ]
    for workload, by_side in found.items():
        first = [one.wall_s for one, _ in by_side[BY_EXTENSION]]
        for side, rounds in by_side.items():
            of = [one for one, _ in rounds]
            ratios = [one.wall_s / base for one, base in zip(of, first, strict=True)]
            cells = [
                ground.spread([one.wall_s for one in of]),
                ground.spread(ratios),
                ground.spread([one.client_cpu_s for one in of]),
                ground.spread([one.server_cpu_s for one in of]),
                ground.spread([idle_s(one) for one in of]),
            ]
            lines.append(f"| {workload} | {side} | " + " | ".join(cells) + " |")
    lines += ["", "Phases of Inrush's runs, seconds, medians; `outside` is the process before and "
              "behind its run.", ""]  # fmt: skip
    lines += [f"| workload | side | outside | {' | '.join(PHASES)} |", "|---|---|---|" + "---|" * 5]
    for workload, by_side in found.items():
        for side in (BY_EXTENSION, BY_COPY):
            rounds = by_side[side]
            outside = statistics.median(one.wall_s - told["total_s"] for one, told in rounds)
            cells = [
                f"{statistics.median(told[name] for _, told in rounds):.3f}" for name in PHASES
            ]
            lines.append(f"| {workload} | {side} | {outside:.3f} | " + " | ".join(cells) + " |")
    if demos[BY_EXTENSION]:
        lines += ["", f"`inrush demo --scale {facts['demo_scale']} --to` the same server:", ""]
        lines += ["| side | load s | whole run s |", "|---|---|---|"]
        for side, runs in demos.items():
            cells = [ground.spread([run[name] for run in runs]) for name in ("load_s", "total_s")]
            lines.append(f"| {side} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", default=WORKLOADS, help="by comma")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--demo-rounds", type=int, default=3, help="0: no demo")
    parser.add_argument("--demo-scale", type=float, default=0.5)
    options = parser.parse_args()
    found: dict[str, Found] = {}
    with ground.ground(options) as (server, folder):
        # All databases that are created from here on have the extension.
        template = Database(server, "template1")
        extension.run_script(template, extension.built(options.version, folder))
        about = ground.machine(server)
        surroundings = Surroundings(Path(sys.executable), server.programs, folder)
        sides: list[Peer] = [
            InrushBy(surroundings, BY_EXTENSION, "require"),
            InrushBy(surroundings, BY_COPY, "plain"),
            Psql(surroundings),
            ServerAlone(surroundings),
        ]
        for workload in options.workloads.split(","):
            found[workload] = measure(server, folder, workload, sides, options)
        demos = demo(server, folder, options)
    facts: dict[str, Any] = {
        "benchmark": "with_extension",
        "scale": options.scale,
        "streams": options.streams,
        "parts": options.parts,
        "demo_scale": options.demo_scale,
        "machine": about,
        "rounds": {
            workload: {
                side: [asdict(one) | {"phases": told} for one, told in rounds]
                for side, rounds in by_side.items()
            }
            for workload, by_side in found.items()
        },
        "demo": demos,
    }
    ground.write_results(options.results, "with-extension", facts, page(facts, found, demos))


if __name__ == "__main__":
    main()
