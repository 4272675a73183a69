"""Compares the kernels on one core with their targets and with arrow-csv, in turn.

Criterion measures (`benchmarks/kernels`), in processor time of the thread. Each round runs the
sides one after the other, and a ratio uses the figures of one round, so that disturbances of the
machine affect both sides. The median of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from operator import truediv
from pathlib import Path
from typing import Any

import ground
from harness.checkout import ROOT
from noise import Processors, reference

KERNELS = ROOT / "benchmarks" / "kernels"
PEER = KERNELS / "arrow-csv"
# The benches that the table needs, as Criterion's filters.
OURS = {
    "convert": "^text to columns/",
    "encode": "^(text to (copy binary|tds rows)/|(copy binary|tds rows)/lineitem)",
}
INSTRUCTIONS = {"avx512": "AVX-512", "avx2": "AVX2", "portable": "any machine's instructions"}

Facts = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """Criterion's result for one benchmark in one round."""

    round: int
    group: str
    case: str
    # The instruction set, or the peer's setting.
    parameter: str
    bytes: int
    # Median of the samples, for all bytes.
    cpu_ns: float
    # The smallest sample, which has the least noise from other programs.
    cpu_ns_least: float

    @property
    def rate(self) -> float:
        """GB/s."""
        return self.bytes / self.cpu_ns


class Round:
    """The rates of one round."""

    def __init__(self, runs: list[Run]) -> None:
        self._runs = runs

    def rate(self, group: str, case: str, parameter: str | None = None) -> float | None:
        """Return GB/s; if no setting is named, the rate of the best setting."""
        rates = [
            run.rate
            for run in self._runs
            if (run.group, run.case) == (group, case) and parameter in (None, run.parameter)
        ]
        return max(rates, default=None)

    def time(self, group: str, case: str, parameter: str) -> float | None:
        """Return the nanoseconds for all rows; all cases have the same number of rows."""
        times = [
            run.cpu_ns
            for run in self._runs
            if (run.group, run.case, run.parameter) == (group, case, parameter)
        ]
        return min(times, default=None)


@dataclass(frozen=True)
class Row:
    """A figure of the table: how it is computed from a round, and its minimum."""

    title: str
    unit: str
    of: Callable[[Round], float | None]
    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool | None:
        """Return whether the target is met; None if there is no target."""
        if self.at_least is not None:
            return value >= self.at_least
        return value <= self.at_most if self.at_most is not None else None


def _rate(group: str, case: str, instructions: str) -> Callable[[Round], float | None]:
    return lambda one: one.rate(group, case, instructions)


def _ratio(
    above: tuple[str, str, str | None], below: tuple[str, str, str | None]
) -> Callable[[Round], float | None]:
    def of(one: Round) -> float | None:
        upper, lower = one.rate(*above), one.rate(*below)
        return upper / lower if upper and lower else None

    return of


def _times(
    above: tuple[str, str, str], below: tuple[str, str, str]
) -> Callable[[Round], float | None]:
    def of(one: Round) -> float | None:
        upper, lower = one.time(*above), one.time(*below)
        return upper / lower if upper and lower else None

    return of


def rows() -> Iterator[Row]:
    """Yield the table's rows."""
    to_columns, to_copy = "text to columns", "text to copy binary"
    for key, name in INSTRUCTIONS.items():
        least = {"avx512": 1.5, "avx2": 0.8}.get(key)
        yield Row(f"text to columns, {name}", "GB/s", _rate(to_columns, "tbl", key), least)
    for key, name in INSTRUCTIONS.items():
        least = {"avx512": 0.8, "avx2": 0.5}.get(key)
        yield Row(f"text to COPY BINARY, {name}", "GB/s", _rate(to_copy, "tbl", key), least)
    for key, name in INSTRUCTIONS.items():
        for case in ("utf-8", "utf-16"):
            title = f"text to TDS rows, {case.upper()}, {name}"
            yield Row(title, "GB/s", _rate("text to tds rows", case, key), 0.3)
    for key, name in INSTRUCTIONS.items():
        yield Row(
            f"columns to TDS rows, UTF-8: time / COPY BINARY's, {name}",
            "",
            _times(("tds rows", "lineitem utf-8", key), ("copy binary", "lineitem", key)),
            at_most=1.5,
        )
    yield Row("arrow-csv, CSV to columns", "GB/s", lambda one: one.rate("arrow-csv", "csv"))
    for case in ("csv", "csv text quoted", "csv all quoted"):
        yield Row(
            f"{case}: rate / arrow-csv's",
            "",
            _ratio((to_columns, case, None), ("arrow-csv", case, None)),
            8.0 if case == "csv" else None,
        )
    for key, name in INSTRUCTIONS.items():
        for case, least in (("csv text quoted", 0.6), ("csv all quoted", None)):
            yield Row(
                f"{case}: rate / unquoted, {name}",
                "",
                _ratio((to_columns, case, key), (to_columns, "csv", key)),
                least,
            )
    nullable = {
        "nullable": "nullable columns without a NULL",
        "nulls": "nullable columns, a tenth of all values NULL",
    }
    for key, name in INSTRUCTIONS.items():
        for case, title in nullable.items():
            yield Row(
                f"{title}: time / not nullable, {name}",
                "",
                _times((to_columns, case, key), (to_columns, "tbl", key)),
                at_most=1.1,
            )


def _rounds(runs: list[Run]) -> list[Round]:
    return [
        Round([run for run in runs if run.round == number])
        for number in sorted({run.round for run in runs})
    ]


def judged(runs: list[Run]) -> list[Facts]:
    """Return each row's figures, round by round, and whether its target is met."""
    rounds = _rounds(runs)
    undisturbed = _rounds([replace(run, cpu_ns=run.cpu_ns_least) for run in runs])
    found = []
    for row in rows():
        values = [value for one in rounds if (value := row.of(one)) is not None]
        # The machine may lack the instruction set.
        if not values:
            continue
        median = statistics.median(values)
        # The fastest samples of two sides are from different moments, so only rates use them, not
        # ratios.
        fastest = max(filter(None, map(row.of, undisturbed)), default=None) if row.unit else None
        found.append(
            {
                "what": row.title,
                "unit": row.unit,
                "rounds": values,
                "median": median,
                "fastest_sample": fastest,
                "at_least": row.at_least,
                "at_most": row.at_most,
                "is_met": row.holds(median),
            }
        )
    return found


def page(facts: Facts) -> str:
    """Return the page to read."""
    hashes = [one["reference_hash_s"] for one in facts["noise"]]
    wall_s = sum(one["wall_s"] for one in facts["noise"]) * facts["machine"]["cores"]
    stolen = sum(one["stolen_cpu_s"] for one in facts["noise"]) / wall_s
    busy = sum(one["busy_cpu_s"] for one in facts["noise"]) / wall_s
    lines = [
        "# The kernels on one core",
        "",
        ground.machine_lines(facts),
        f"{facts['rounds']} rounds, medians (and ends) of the rounds; lineitem's shapes, chunks of "
        "512 KiB, batches of 1,024 rows, bytes of text per second of processor time. A fixed hash "
        f"took {ground.spread(hashes)} s before each round, all processors were {busy:.0%} busy "
        f"with this and other work, and the host took {stolen:.0%}.",
        "",
        "| what | measured | fastest sample | target | met |",
        "|---|---|---|---|---|",
    ]
    for one in facts["targets"]:
        target = ""
        if one["at_least"] is not None:
            target = f"at least {one['at_least']:g}"
        elif one["at_most"] is not None:
            target = f"at most {one['at_most']:g}"
        met = {None: "", True: "yes", False: "**no**"}[one["is_met"]]
        unit = f" {one['unit']}" if one["unit"] else ""
        cells = [
            one["what"],
            f"{ground.spread(one['rounds'])}{unit}",
            f"{one['fastest_sample']:.2f}{unit}" if one["fastest_sample"] else "",
            target,
            met,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "To repeat: `make bench-kernels`.", ""]
    return "\n".join(lines)


def read(folder: Path, number: int) -> Iterator[Run]:
    """Yield the results that Criterion wrote into a folder."""
    for file in sorted(folder.rglob("new/benchmark.json")):
        about = json.loads(file.read_text())
        estimates = json.loads(file.with_name("estimates.json").read_text())
        samples = json.loads(file.with_name("sample.json").read_text())
        yield Run(
            number,
            about["group_id"],
            about["function_id"],
            about["value_str"],
            about["throughput"]["BytesDecimal"],
            estimates["median"]["point_estimate"],
            min(map(truediv, samples["times"], samples["iters"])),
        )


def built(*arguments: str | Path) -> dict[str, Path]:
    """Build benches, and return their programs."""
    # The same target folder as for all other builds, so that common parts are built once.
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command: list[str | Path] = ["cargo", "bench", "--locked", "--no-run", *arguments]
    command += ["--target-dir", target, "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        one["target"]["name"]: Path(one["executable"])
        for one in messages
        if one["reason"] == "compiler-artifact" and "bench" in one["target"]["kind"]
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="the rounds; each measures all sides in turn"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    about = ground.machine(None)
    programs = built("--workspace", *(f"--bench={name}" for name in OURS))
    peer = built("--manifest-path", PEER / "Cargo.toml")["arrow_csv"]
    sides: list[list[str | Path]] = [
        [programs["convert"], "--bench", OURS["convert"]],
        [peer, "--bench"],
        [programs["encode"], "--bench", OURS["encode"]],
    ]
    runs: list[Run] = []
    noise = []
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="inrush-kernels-") as name:
            folder = Path(name)
            calm = reference(folder)
            before = Processors.now()
            begun = os.times().elapsed
            for side in sides:
                subprocess.run(
                    [*side, "--noplot"],
                    env={**os.environ, "CRITERION_HOME": name},
                    check=True,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            after = Processors.now()
            runs += read(folder, number)
        noise.append(
            {
                "round": number,
                "reference_hash_s": calm.hash_s,
                "wall_s": os.times().elapsed - begun,
                "busy_cpu_s": after.busy_s - before.busy_s,
                "stolen_cpu_s": after.stolen_s - before.stolen_s,
            }
        )
    facts: Facts = {
        "benchmark": "kernels",
        "rounds": options.rounds,
        "machine": about,
        "targets": judged(runs),
        "noise": noise,
        "runs": [{**asdict(run), "gb_per_s": run.rate} for run in runs],
    }
    ground.write_results(options.results, "kernels", facts, page(facts))


if __name__ == "__main__":
    main()
