"""Compares predictions of `inrush preflight --size --what-if` with the loads that they predict.

A preflight on a part of the files, with all resources of this machine, measures the costs and
predicts a load of more files with other cores, another disk or another network. Then those files
are loaded with the predicted resources: `taskset` pins loader and server to cores, the server's
data are on a disk with a limited write rate, or the loader reaches the server over a link with a
limited rate (the disk and the network of `tests/verdict`). Cases that are not possible on this
machine are left out, and the page says why.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ground
from harness.servers import Server
from preflight_accuracy import write_package
from verdict.disk import SlowDisk
from verdict.network import Network
from verdict.system import CannotError

# The largest acceptable error of a prediction.
MEDIAN_ERROR_MOST = 0.10
ERROR_MOST = 0.25
# The size of the throttled disk for each tenth of the files. It has room for the tables, their WAL
# and other files of the server.
DISK_BYTES_FOR_TEXT = 4


@dataclass(frozen=True)
class Case:
    """A load: its size, its resources, and preflight's arguments for them."""

    name: str
    # How many tenths of all files are loaded.
    tenths: float
    # How many tenths of all files preflight reads.
    seen_tenths: float
    loader: str = "0,1"
    server: str = "0,1"
    what_if: str | None = None
    disk_bytes_s: int | None = None
    network_bytes_s: int | None = None
    # The longest case is measured in the first round only.
    once: bool = False


CASES = (
    Case("two cores for both", 1, 1),
    Case("two cores for both", 1, 0.5),
    Case("two cores for both", 4, 1),
    Case("two cores for both", 10, 1, once=True),
    Case("a core for each", 1, 1, "0", "1", "loader_cores=1,server_cores=1"),
    Case("one core for both", 1, 1, "0", "0", "shared_cores=1"),
    Case("disk of 80 MB/s", 1, 1, what_if="disk=80MB/s", disk_bytes_s=80_000_000),
    Case("disk of 40 MB/s", 1, 1, what_if="disk=40MB/s", disk_bytes_s=40_000_000),
    Case("network of 400 Mbit/s", 1, 1, what_if="network=400Mbit", network_bytes_s=50_000_000),
    Case("network of 200 Mbit/s", 1, 1, what_if="network=200Mbit", network_bytes_s=25_000_000),
)


@dataclass
class Site:
    """The servers, disks and networks of the loads; each is made when a case needs it."""

    folder: Path
    files: Sequence[Path]
    server: Server
    streams: int
    stack: ExitStack
    _disk: tuple[SlowDisk, Server] | None = None
    _network: Network | None = None

    def some(self, tenths: float) -> list[Path]:
        """Return some tenths of the files."""
        return list(self.files[: round(len(self.files) * tenths / 10)])

    def disk(self) -> tuple[SlowDisk, Server]:
        """Return a disk that can be limited, and another server with its data on it."""
        if self._disk is None:
            text_bytes = sum(file.stat().st_size for file in self.some(1))
            size_bytes = text_bytes * DISK_BYTES_FOR_TEXT + 2**30
            disk = self.stack.enter_context(SlowDisk(self.folder, "disk", size_bytes))
            like = self.server
            other = Server(like.version, like.programs, disk.folder / "server", like.settings)
            other.initialise()
            other.start()
            self.stack.callback(other.stop, "immediate")
            self._disk = disk, other
        return self._disk

    def network(self) -> Network:
        """Return a link to the server that can be limited."""
        if self._network is None:
            network = self.stack.enter_context(Network("veth"))
            server = self.server
            server.stop()
            server.configure(server.settings, addresses=network.server_address)
            with (server.data / "pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {network.server_address}/24 trust\n")
            server.start()
            self._network = network
        return self._network

    def one(self, case: Case) -> dict[str, Any]:
        """Predict a load on the whole machine, then load with the case's resources."""
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        server, host, before = self.server, str(self.server.folder), []
        limited: AbstractContextManager[None] = nullcontext()
        if case.disk_bytes_s is not None:
            disk, server = self.disk()
            host, limited = str(server.folder), disk.limited(writes=case.disk_bytes_s)
        if case.network_bytes_s is not None:
            network = self.network()
            host, before = network.server_address, network.inside
            limited = network.rate(case.network_bytes_s)
        database = ground.fresh(server)
        url = f"postgresql://{server.user}@/{database.name}?host={host}&port={server.port}"
        words = ("--connection", f"target={url}", "--streams", str(self.streams))
        files = self.some(case.tenths)
        text_bytes = sum(file.stat().st_size for file in files)
        asked = [f"streams={self.streams}", *([case.what_if] if case.what_if else [])]
        pin_server(server, "0,1")
        package = write_package(self.folder, self.some(case.seen_tenths))
        sync(server)
        said = self.inrush(
            *(before, "0,1", "preflight", package, "--json", *words),
            *("--size", f"{text_bytes}B", "--what-if", ",".join(asked)),
        )
        report = json.loads(said)
        package = write_package(self.folder, files)
        pin_server(server, case.server)
        sync(server)
        with limited:
            self.inrush(before, case.loader, "run", package, *words)
        (path,) = (self.folder / "runs").glob("*/report.json")
        phases = json.loads(path.read_text())["phases"]
        ground.drop(database)
        predicted_s = report["capacity"]["predicted_s"]
        return {
            "predicted_s": predicted_s,
            "took_s": phases["total_s"],
            "error": predicted_s / phases["total_s"] - 1,
            "limit": report["capacity"]["limit"],
            "phases": phases,
            "costs": report["costs"],
            "load_average": os.getloadavg()[0],
        }

    def inrush(self, before: Sequence[str], cores: str, *words: str | Path) -> str:
        """Run the command on these cores, after a prefix, and return its output."""
        pinned = [*before, "taskset", "--cpu-list", cores]
        command: list[str | Path] = [*pinned, *ground.INRUSH, *words]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def sync(server: Server) -> None:
    """Flush earlier writes to the disks, so that they do not slow down this run."""
    with server.connect() as connection:
        connection.execute("CHECKPOINT")
    os.sync()


def pin_server(server: Server, cores: str) -> None:
    """Pin all processes of a server; later sessions inherit the first one's cores."""
    first = server.first_process
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    for pid in (str(first), *children):
        command = ["taskset", "--all-tasks", "--cpu-list", "--pid", cores, pid]
        # A child may have just ended, so there is nothing to pin.
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and Path(f"/proc/{pid}").exists():
            sys.exit(f"{command} ended with {done.returncode}: {done.stderr}")


def page(facts: dict[str, Any]) -> str:
    """Return the result as a page."""
    lines = [
        "# Capacity: predicted against actual, lineitem into a durable server",
        "",
        ground.machine_lines(facts),
        f"Lineitem at scale {facts['scale']} in {facts['files']} files, "
        f"{facts['text_bytes'] / 1e6:.0f} MB of text, or tenths of it; {facts['streams']} streams; "
        f"{facts['rounds']} rounds, all cases in turn; medians (least-most). Preflight had all of "
        "the machine, and was asked for the load's size and resources (`--size --what-if`).",
        "",
        "| the load has | tenths of the files | preflight saw | predicted s | actual s | error "
        "| predicted limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in facts["found"]:
        of = found["measures"]
        lines.append(
            f"| {found['case']} | {found['tenths']:g} | {found['seen_tenths']:g} "
            f"| {ground.spread([each['predicted_s'] for each in of], 1)} "
            f"| {ground.spread([each['took_s'] for each in of], 1)} "
            f"| {ground.spread([each['error'] * 100 for each in of], 0)} % "
            f"| {of[0]['limit']} |"
        )
    lines += [
        "",
        f"Of all {facts['predictions']} predictions the median error is "
        f"{facts['median_error']:.0%} (wanted: at most {MEDIAN_ERROR_MOST:.0%}) and the worst "
        f"{facts['worst_error']:.0%} (wanted: at most {ERROR_MOST:.0%}).",
        *(f"Left out: {case}, because {why}." for case, why in facts["left_out"].items()),
        "",
        "Again, as root: `.venv/bin/python benchmarks/capacity_accuracy.py`.",
        "",
    ]
    return "\n".join(lines)


def told(number: int, found: dict[str, Any], measured: dict[str, Any]) -> str:
    """Return a measurement as a line."""
    return (
        f"round {number}, {found['case']}, {found['tenths']:g} tenths, preflight on "
        f"{found['seen_tenths']:g}: predicted {measured['predicted_s']:.2f} s, took "
        f"{measured['took_s']:.2f} s ({measured['error']:+.0%}); {measured['limit']}"
    )


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments(str(__doc__))
    parser.set_defaults(rounds=2)
    parser.add_argument("--scale", default="10")
    parser.add_argument("--parts", type=int, default=40, help="files, a multiple of 20")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0) & {0, 1}) < 2:
        sys.exit("this benchmark pins processes to cores 0 and 1, and may not use both of them")
    if options.parts % 20:
        sys.exit("--parts must be a multiple of 20: cases load and see tenths and halves of them")
    with ground.ground(options) as (server, folder), ExitStack() as stack:
        about = ground.machine(server)
        files = ground.generate(folder, options.scale, options.parts)
        site = Site(folder, files, server, options.streams, stack)
        cases = [case for case in CASES if options.only in case.name]
        found: list[dict[str, Any]] = [
            {"case": case.name, "tenths": case.tenths, "seen_tenths": case.seen_tenths}
            | {"measures": []}
            for case in cases
        ]
        left_out: dict[str, str] = {}
        for number in range(1, options.rounds + 1):
            for case, its in zip(cases, found, strict=True):
                if case.name in left_out or (case.once and number > 1):
                    continue
                try:
                    measured = site.one(case)
                except CannotError as error:
                    left_out[case.name] = str(error)
                    continue
                its["measures"].append(measured)
                print(told(number, its, measured), flush=True)
        found = [its for its in found if its["measures"]]
        errors = [abs(measure["error"]) for each in found for measure in each["measures"]]
        facts: dict[str, Any] = {
            "benchmark": "capacity_accuracy",
            "machine": about,
            "rounds": options.rounds,
            "scale": options.scale,
            "files": len(files),
            "text_bytes": sum(file.stat().st_size for file in files),
            "streams": options.streams,
            "left_out": left_out,
            "predictions": len(errors),
            "median_error": statistics.median(errors),
            "worst_error": max(errors),
            "found": found,
        }
        ground.write_results(options.results, "capacity-accuracy", facts, page(facts))


if __name__ == "__main__":
    main()
