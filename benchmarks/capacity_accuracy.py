"""Capacity: what `inrush preflight --size --what-if` says, compared with loads that have just that.

A preflight on a part of the files measures the costs and predicts a load of all of them by other
cores. Then all files are loaded by those cores: `taskset` pins the loader and the server. Loads of
the part itself are predicted, too. Disks and networks are not throttled: a cgroup of version 1 does
not hold back buffered writes, and a network needs a second name space.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ground
from harness.servers import Server
from preflight_accuracy import write_package

# What the issue asks of the predictions.
MEDIAN_ERROR_MOST = 0.10
ERROR_MOST = 0.25


@dataclass(frozen=True)
class Case:
    """The cores of loader and server, and how preflight is told of them."""

    name: str
    loader: str
    server: str
    what_if: str | None
    # A preflight that cannot be told of these cores has them itself.
    pins_preflight: bool = False


CASES = (
    Case("two cores for both", "0,1", "0,1", None),
    Case("a core for each", "0", "1", "loader_cores=1,server_cores=1"),
    Case("one core for both", "0", "0", None, pins_preflight=True),
)


def pin_server(server: Server, cores: str) -> None:
    """Pin all processes of a server; sessions that begin later have the cores of the first one."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    for pid in (str(first), *children):
        command = ["taskset", "--all-tasks", "--cpu-list", "--pid", cores, pid]
        # A child that has just ended has nothing to pin.
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and Path(f"/proc/{pid}").exists():
            sys.exit(f"{command} ended with {done.returncode}: {done.stderr}")


def inrush(folder: Path, cores: str, *words: str | Path) -> str:
    """Run the command on these cores, and return what it printed."""
    command: list[str | Path] = ["taskset", "--cpu-list", cores, *ground.INRUSH, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def one(
    server: Server, folder: Path, case: Case, files: Sequence[Path], part: int, streams: int
) -> dict[str, Any]:
    """Predict a load of all files from a preflight on the first of them, then load all."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    text_bytes = sum(file.stat().st_size for file in files)
    database = ground.fresh(server)
    to = ("--connection", f"target={database.url}", "--streams", str(streams))
    pin_server(server, case.server if case.pins_preflight else "0,1")
    package = write_package(folder, files[:part])
    words: list[str | Path] = ["preflight", package, "--json", *to]
    asked = [f"streams={streams}", *([case.what_if] if case.what_if else [])]
    words += ["--size", f"{text_bytes}B", "--what-if", ",".join(asked)]
    os.sync()
    cores = case.loader if case.pins_preflight else "0,1"
    capacity = json.loads(inrush(folder, cores, *words))["capacity"]
    pin_server(server, case.server)
    os.sync()
    inrush(folder, case.loader, "run", write_package(folder, files), *to)
    (path,) = (folder / "runs").glob("*/report.json")
    phases = json.loads(path.read_text())["phases"]
    ground.drop(database)
    return {
        "predicted_s": capacity["predicted_s"],
        "took_s": phases["total_s"],
        "error": capacity["predicted_s"] / phases["total_s"] - 1,
        "limit": capacity["limit"],
        "streams": streams,
        "load_average": os.getloadavg()[0],
    }


def page(facts: dict[str, Any]) -> str:
    """Return the result as a page."""
    lines = [
        "# Capacity: predicted against actual, lineitem into a durable server",
        "",
        ground.machine_lines(facts),
        f"{facts['text_bytes'] / 1e6:.0f} MB of text in {facts['files']} files, and a preflight on "
        f"{facts['part']} or all of them; {facts['rounds']} rounds, all cases in turn; medians "
        "(least-most).",
        "",
        "| cores | preflight on | streams | predicted s | actual s | error | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in facts["found"]:
        of = found["measures"]
        lines.append(
            f"| {found['case']} | {found['part']} of {facts['files']} files | {found['streams']} "
            f"| {ground.spread([each['predicted_s'] for each in of])} "
            f"| {ground.spread([each['took_s'] for each in of])} "
            f"| {ground.spread([each['error'] * 100 for each in of], 0)} % "
            f"| {of[0]['limit']} |"
        )
    lines += [
        "",
        f"Of all {facts['predictions']} predictions the median error is "
        f"{facts['median_error']:.0%} (wanted: at most {MEDIAN_ERROR_MOST:.0%}) and the worst "
        f"{facts['worst_error']:.0%} (wanted: at most {ERROR_MOST:.0%}). Disks and networks were "
        "not throttled.",
        "",
        "Again: `.venv/bin/python benchmarks/capacity_accuracy.py`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run it."""
    parser = ground.arguments(str(__doc__))
    parser.add_argument("--scale", default="1")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--part", type=int, default=2, help="files of the smaller preflight")
    parser.add_argument("--streams", type=int, default=2)
    options = parser.parse_args()
    if len(os.sched_getaffinity(0) & {0, 1}) < 2:
        sys.exit("this benchmark pins processes to cores 0 and 1, and may not use both of them")
    with ground.ground(options) as (server, folder):
        files = ground.generate(folder, options.scale, options.parts)
        facts: dict[str, Any] = {
            "benchmark": "capacity_accuracy",
            "machine": ground.machine(server),
            "rounds": options.rounds,
            "files": len(files),
            "part": options.part,
            "text_bytes": sum(file.stat().st_size for file in files),
        }
        found: list[dict[str, Any]] = [
            {"case": case.name, "part": part, "streams": options.streams, "measures": []}
            for case in CASES
            for part in (options.part, len(files))
        ]
        cases = {case.name: case for case in CASES}
        for number in range(options.rounds):
            for each in found:
                case, part = cases[each["case"]], each["part"]
                measured = one(server, folder, case, files, part, options.streams)
                each["measures"].append(measured)
                print(
                    f"round {number + 1}, {case.name}, preflight on {part} files: predicted "
                    f"{measured['predicted_s']:.2f} s, took {measured['took_s']:.2f} s "
                    f"({measured['error']:+.0%}); {measured['limit']}",
                    flush=True,
                )
        errors = [abs(measure["error"]) for each in found for measure in each["measures"]]
        facts |= {
            "predictions": len(errors),
            "median_error": statistics.median(errors),
            "worst_error": max(errors),
            "found": found,
        }
        ground.write_results(options.results, "capacity-accuracy", facts, page(facts))


if __name__ == "__main__":
    main()
