"""Compares preflight's prediction with the run: lineitem into the embedded server.

In each round, and for each number of streams: a preflight, then its run, each with a new embedded
server. The run finds the prediction by itself; the figures of its report are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ground
from harness.checkout import ROOT

STREAMS = (1, 2, 4)
WITHIN = 0.25


def write_package(folder: Path, files: Sequence[Path]) -> Path:
    """Write the package: each file becomes a partition."""
    lines = [
        'name = "lineitem"',
        "[connections.target]",
        'url = "embedded"',
        "[[flow]]",
        'table = "lineitem"',
        f"files = {json.dumps([str(file) for file in files])}",
        'format = { preset = "tbl" }',
        f"columns = {json.dumps(list(ground.LINEITEM))}",
        'partition_by = "l_orderkey"',
    ]
    path = folder / "lineitem.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def inrush(folder: Path, *words: str | Path) -> str:
    """Run the command in a folder and return its output."""
    command: list[str | Path] = [*ground.INRUSH, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def one(folder: Path, package: Path, streams: int) -> dict[str, Any]:
    """Predict a run, run it, and return both."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    # Earlier writes must not slow down either of them.
    os.sync()
    words = ("--streams", str(streams))
    took_s = json.loads(inrush(folder, "preflight", package, "--json", *words))["took_s"]
    os.sync()
    inrush(folder, "run", package, *words)
    (path,) = (folder / "runs").glob("*/report.json")
    report = json.loads(path.read_text())
    phases, prediction = report["phases"], report["prediction"]
    return {
        "predicted": {
            name: prediction[name] for name in ("plan_s", "load_s", "switch_s", "analyze_s")
        }
        | {"total_s": prediction["predicted_s"]},
        "actual": phases,
        "error": prediction["predicted_s"] / phases["total_s"] - 1,
        "load_error": prediction["load_s"] / phases["load_s"] - 1,
        "limiting": prediction["limiting"],
        "because": prediction["because"],
        "preflight_s": took_s,
        "load_average": os.getloadavg()[0],
    }


def page(facts: dict[str, Any]) -> str:
    """Return the result as a page."""
    lines = [
        "# Preflight: predicted against actual, lineitem into the embedded server",
        "",
        ground.machine_lines(facts),
        f"{facts['text_bytes'] / 1e6:.0f} MB of text in {facts['files']} files; "
        f"{facts['rounds']} rounds, all numbers of streams in turn; medians (least-most).",
        "",
        "| streams | predicted s | actual s | error, all of it | error, load | within 25 % "
        "| preflight s |",
        "|---|---|---|---|---|---|---|",
    ]
    for streams, found in facts["found"].items():
        error = [each["error"] * 100 for each in found]
        load = [each["load_error"] * 100 for each in found]
        within = sum(abs(each["error"]) <= WITHIN for each in found)
        lines.append(
            f"| {streams} | {ground.spread([each['predicted']['total_s'] for each in found])} "
            f"| {ground.spread([each['actual']['total_s'] for each in found])} "
            f"| {ground.spread(error, 0)} % | {ground.spread(load, 0)} % "
            f"| {within} of {len(found)} "
            f"| {ground.spread([each['preflight_s'] for each in found], 1)} |"
        )
    lines += [
        "",
        "To repeat: `.venv/bin/python benchmarks/preflight_accuracy.py --files FOLDER`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=Path, help="lineitem's parts, where they are made already")
    parser.add_argument("--scale", default="1")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--streams", type=int, nargs="+", default=STREAMS)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-bench-"))
    try:
        if options.files:
            files = sorted(options.files.glob("*.tbl"))
        else:
            files = ground.generate(folder, options.scale, options.parts)
        about = ground.machine(None)
        package = write_package(folder, files)
        found: dict[int, list[dict[str, Any]]] = {streams: [] for streams in options.streams}
        for number in range(options.rounds):
            for streams, list_of in found.items():
                each = one(folder, package, streams)
                list_of.append(each)
                print(
                    f"round {number + 1}, {streams} streams: predicted "
                    f"{each['predicted']['total_s']:.2f} s, took {each['actual']['total_s']:.2f} s "
                    f"({each['error']:+.0%}); load {each['predicted']['load_s']:.2f} s, "
                    f"{each['actual']['load_s']:.2f} s ({each['load_error']:+.0%}); "
                    f"{each['limiting']}; load average {each['load_average']:.1f}",
                    flush=True,
                )
        facts = {
            "benchmark": "preflight_accuracy",
            "machine": about,
            "rounds": options.rounds,
            "files": len(files),
            "text_bytes": sum(file.stat().st_size for file in files),
            "median_error": {
                streams: statistics.median(each["error"] for each in list_of)
                for streams, list_of in found.items()
            },
            "found": found,
        }
        ground.write_results(options.results, "preflight-accuracy", facts, page(facts))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
