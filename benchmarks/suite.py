r"""The benchmark suite: each workload by Inrush and its peers, in turn, on one durable server.

In each round of a workload, the sides load it one after the other, each into a new empty database.
In the first round of each run of this script, the rows of each side are compared with those of a
`\copy` of the same files. Before each measurement the server writes a checkpoint, and a fixed
command is timed to record how calm the machine was. The results also say which workloads a peer
cannot do, which peers are absent, and which sides were stopped because they took too long.

A suite can be run in pieces: `--join RESULT.json` adds rounds, workloads or peers to a result of
the same machine and the same source code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import findings
import ground
import noise
import one_load
import pages
import peers
import results
import same_rows
import workloads
from harness.checkout import ROOT
from harness.servers import Server
from peers import configured
from peers.peer import Peer, Surroundings
from peers.server_alone import ServerAlone
from workload import Job, Workload

BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
# The number of streams of the README's results.
STREAMS = 2
PARTS = 4
# A side is stopped after this time, and two seconds more for each MB of text. The slowest side that
# ever finished is pgloader with bad rows: 1.5 MB per second on a calm machine, half of that on a
# busy machine.
STOP_S = 120
STOP_S_A_MEGABYTE = 2
# The word that means today's result file.
TODAY = Path("today")
PLOTS = Path(__file__).resolve().parent / "plots.py"


def numbers(text: str) -> list[int]:
    """Read `1,2,4`."""
    return [int(word) for word in text.split(",")]


def words(text: str) -> list[str]:
    """Read `one,two`."""
    return text.split(",")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of all workloads' data")
    parser.add_argument(
        "--parts", type=int, help=f"files of a table; by default {PARTS}, or the streams"
    )
    parser.add_argument(
        "--streams", type=numbers, default=[STREAMS], help="one number, or several: 1,2,4"
    )
    parser.add_argument("--workloads", type=words, default=list(workloads.ALL), metavar="NAMES")
    parser.add_argument("--peers", type=words, metavar="NAMES", help="by default all")
    parser.add_argument("--more-peers", type=Path, help="a JSON file: see peers/configured.py")
    parser.add_argument("--peers-python", type=ground.whole_path, default=BENCH_PYTHON)
    parser.add_argument(
        "--data", type=ground.whole_path, help="made files stay there; by default below --folder"
    )
    parser.add_argument(
        "--join", nargs="?", const=TODAY, type=Path, help="add to this result, or to today's"
    )
    parser.add_argument("--limit-s", type=float, help="no further round of a peer that took longer")
    parser.add_argument(
        "--stop-s",
        type=float,
        help="a side that takes longer is stopped, and the workload goes on without it; by default "
        f"{STOP_S}, and {STOP_S_A_MEGABYTE} for each MB of the workload",
    )
    options = parser.parse_args()
    options.parts = options.parts or max(PARTS, *options.streams)
    unknown = set(options.workloads) - set(workloads.ALL)
    if unknown:
        parser.error(
            f"no such workload: {', '.join(unknown)}; there are {', '.join(workloads.ALL)}"
        )
    return options


def stop_s(options: argparse.Namespace, job: Job) -> float:
    """Return the seconds after which a side is stopped."""
    if options.stop_s is not None:
        return float(options.stop_s)
    return STOP_S + STOP_S_A_MEGABYTE * job.text_bytes / 1e6


class Suite:
    """One run of this script."""

    def __init__(self, options: argparse.Namespace, server: Server, folder: Path) -> None:
        self.options, self.server, self.folder = options, server, folder
        self.data: Path = options.data or (options.folder or folder) / "data"
        self.data.mkdir(parents=True, exist_ok=True)
        self.about: dict[str, dict[str, Any]] = {}
        self.not_run: list[dict[str, str]] = []
        self.stopped: list[findings.Run] = []
        self.runs: list[findings.Run] = []
        self.workloads: dict[str, dict[str, Any]] = {}
        surroundings = Surroundings(options.peers_python, server.programs, folder)
        known = [kind(surroundings) for kind in peers.ALL]
        if options.more_peers is not None:
            known += configured.read(options.more_peers, surroundings)
        self.sides = self._present(known, options.peers)

    def _present(self, known: Sequence[Peer], chosen: Sequence[str] | None) -> list[Peer]:
        names = {peer.name for peer in known}
        if chosen is not None and not set(chosen) <= names:
            sys.exit(
                f"no such peer: {', '.join(set(chosen) - names)}; there are {', '.join(names)}"
            )
        present = []
        for peer in known:
            if chosen is not None and peer.name not in chosen:
                continue
            version = peer.version()
            self.about[peer.name] = {"version": version, "about": peer.about}
            if version is None:
                self.skip("all", peer.name, "not installed")
            else:
                present.append(peer)
        return present

    def skip(self, workload: str, side: str, why: str) -> None:
        """Record and print the sides that are not run."""
        self.not_run.append({"workload": workload, "side": side, "why": why})
        print(f"{workload}: {side} is not run: {why}", flush=True)

    def stop(self, workload: str, streams: int, number: int, side: str, after_s: float) -> None:
        """Record and print that a side was stopped."""
        about = {"workload": workload, "streams": streams, "round": number, "side": side}
        self.stopped.append({**about, "after_s": after_s})
        print(
            f"{workload}, {streams} streams, round {number}: {side} was stopped after "
            f"{after_s:.1f} s, past its limit of time; the workload goes on without it",
            flush=True,
        )

    def run(self, workload: Workload) -> None:
        """Run all rounds of a workload."""
        job = workload.make(self.options.scale, self.options.parts, self.data)
        why = same_rows.cannot(job, self.server.version)
        if why is not None:
            self.skip(job.workload, "all", why)
            return
        expected = same_rows.expected(
            self.server, job, self.options.scale, self.options.parts, self.data
        )
        self.workloads[workload.name] = {
            "title": workload.title,
            "bytes": job.text_bytes,
            "bad_rows": job.bad_rows,
            "rows": {name: asdict(rows) for name, rows in expected.items()},
        }
        able = []
        for side in self.sides:
            why = side.cannot(job, self.server.version)
            if why is None:
                able.append(side)
            else:
                self.skip(job.workload, side.name, why)
        for streams in self.options.streams:
            stood_still = {one["side"] for one in self.stopped if one["workload"] == job.workload}
            going = [side for side in able if side.name not in stood_still]
            self._rounds(job, going, streams, expected)
        for side in self.sides:
            if isinstance(side, ServerAlone):
                side.forget(job)

    def _rounds(
        self, job: Job, going: list[Peer], streams: int, expected: dict[str, same_rows.Rows]
    ) -> None:
        for number in range(1, self.options.rounds + 1):
            if not going:
                return
            # The leftovers of a side (caches, dirty pages) should not always affect the same next
            # side.
            first = number % len(going)
            for side in going[first:] + going[:first]:
                if not self._goes_on(job, side, streams, number, expected):
                    going.remove(side)

    def _goes_on(
        self,
        job: Job,
        side: Peer,
        streams: int,
        number: int,
        expected: dict[str, same_rows.Rows],
    ) -> bool:
        """Measure a side, and return whether it takes part in further rounds."""
        try:
            wall_s = self._measure(job, side, streams, number, expected)
        except ground.StoppedError as error:
            print(error, end="", file=sys.stderr)
            self.stop(job.workload, streams, number, side.name, error.after_s)
            return False
        except (ground.CommandError, same_rows.DifferentRowsError) as error:
            if side.name == findings.OURS:
                raise
            print(error, file=sys.stderr)
            # The error is usually at the end of the output.
            last = str(error).strip().splitlines()[-1]
            self.skip(job.workload, side.name, f"failed: {last}")
            return False
        limit_s = self.options.limit_s
        return limit_s is None or wall_s <= limit_s or side.name == findings.OURS

    def _measure(
        self,
        job: Job,
        side: Peer,
        streams: int,
        number: int,
        expected: dict[str, same_rows.Rows],
    ) -> float:
        must_be = expected if number == 1 else None
        with one_load.prepared(self.server, job, side) as database:
            reference = noise.reference(self.folder)
            found = one_load.measure(
                database, job, side, streams, self.folder, must_be, stop_s(self.options, job)
            )
        self.runs.append(
            {
                "workload": job.workload,
                "streams": streams,
                "round": number,
                "side": side.name,
                **asdict(found),
                **side.noted(),
                "reference_hash_s": reference.hash_s,
                "reference_write_s": reference.write_s,
            }
        )
        print(
            f"{job.workload}, {streams} streams, round {number}: {side.name} {found.wall_s:.2f} s",
            flush=True,
        )
        return found.wall_s

    def facts(self, machine: dict[str, Any]) -> findings.Facts:
        """Return all that was found."""
        options = self.options
        return {
            "benchmark": results.BENCHMARK,
            "date": datetime.now(timezone.utc).date().isoformat(),
            "scale": options.scale,
            "parts": options.parts,
            "wal_level": options.wal_level,
            "over": options.over,
            "limit_s": options.limit_s,
            "stop_s": options.stop_s,
            "machine": machine,
            "peers": self.about,
            "workloads": self.workloads,
            "runs": self.runs,
            "not_run": self.not_run,
            "stopped": self.stopped,
        }


def main() -> None:
    """Run the benchmark."""
    options = arguments()
    with ground.ground(options) as (server, folder):
        machine = ground.machine(server)
        suite = Suite(options, server, folder)
        path = results.place(options.results, suite.facts(machine))
        if options.join not in (None, TODAY):
            path = options.join
        before = None
        if options.join is None and path.exists():
            sys.exit(f"{path} is there: add to it with --join, or move it away")
        if options.join is not None and path.exists():
            before = json.loads(path.read_text())
            # Checked now, before an hour is spent on measurements.
            results.join(before, suite.facts(machine))
        for name in options.workloads:
            try:
                suite.run(workloads.ALL[name])
            finally:
                # If anything ends the run early, the measurements so far are kept.
                facts = suite.facts(machine)
                facts = results.join(before, facts) if before is not None else facts
                if facts["runs"] or facts["stopped"]:
                    results.write(path, facts)
    if not path.exists():
        sys.exit("nothing was measured")
    draw(options.peers_python, path)
    pages.prune(path.parent)
    print(path.with_suffix(".md").read_text())
    print(f"written: {path} and .md")


def draw(python: Path, path: Path) -> None:
    """Draw the plots of a result; only the peers' Python has matplotlib."""
    if not python.exists():
        print(f"no plots: {python} is not there")
        return
    if subprocess.run([python, PLOTS, path], check=False).returncode == 0:
        results.write_page(path)


if __name__ == "__main__":
    main()
