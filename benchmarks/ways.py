"""Compares ways to load the same rows, measured in turn, with ratios to the first way."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import ground
from ground import Measure, drop, expected_digest, fresh
from harness.servers import Database, Server

PARTITIONED = 'partition_by = "l_orderkey"'


@dataclass(frozen=True)
class Way:
    """A way to load rows."""

    name: str
    files: Sequence[Path]
    streams: int
    # Settings of the flow, a line each.
    settings: Sequence[str] = ()
    # Statements that create the target before the load; they are not measured. Without them the
    # load creates the target.
    before: Sequence[str] = ()


def arguments(description: str) -> argparse.ArgumentParser:
    """Return the parser of the arguments that benchmarks of ways take."""
    parser = ground.arguments(description)
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--streams", type=int, default=2)
    return parser


def run(
    description: str,
    name: str,
    title: str,
    ways_of: Callable[[Sequence[Path], Sequence[Path], int], list[Way]],
) -> None:
    """Measure ways to load lineitem and write the results.

    `ways_of` takes dbgen's files, the same files without the trailing delimiter, and the number of
    streams. It returns the ways. All ways load the same rows.
    """
    options = arguments(description).parse_args()
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        files = ground.generate(folder, options.scale, options.parts)
        stripped = ground.strip(files)
        expected = expected_digest(server, stripped)
        loaded = ways_of(files, stripped, options.streams)
        text_bytes = sum(file.stat().st_size for file in loaded[0].files)
        found = measure(server, folder, loaded, expected, options.rounds)
        write_results(options, name, title, about, text_bytes, expected, found)


def write_package(database: Database, way: Way, folder: Path) -> Path:
    """Write the package of a way."""
    lines = [
        'name = "lineitem"',
        "[connections.target]",
        f"url = {json.dumps(database.url)}",
        "[run]",
        f"streams = {way.streams}",
        "analyze = false",
        "[[flow]]",
        'table = "lineitem"',
        f"files = {json.dumps([str(file) for file in way.files])}",
        'format = { preset = "tbl" }',
    ]
    if not way.before:
        lines.append(f"columns = {json.dumps(list(ground.LINEITEM))}")
    path = folder / f"{database.name}.toml"
    path.write_text("\n".join([*lines, *way.settings]) + "\n")
    return path


def measure(
    server: Server, folder: Path, ways: Sequence[Way], expected: str, rounds: int
) -> dict[str, list[Measure]]:
    """Measure all ways in turn, round by round; the first round compares contents."""
    found: dict[str, list[Measure]] = {way.name: [] for way in ways}
    for number in range(rounds):
        for way in ways:
            database = fresh(server)
            for statement in way.before:
                database.execute(statement)
            package = write_package(database, way, folder)
            found[way.name].append(
                ground.measure(server, [[*ground.INRUSH, "run", package]], folder)
            )
            if number == 0:
                same = ground.digest(database, "lineitem") == expected
                assert same, f"{way.name}: the contents differ from COPY's"
            drop(database)
        walls = ", ".join(f"{name} {one[-1].wall_s:.2f} s" for name, one in found.items())
        print(f"round {number + 1}: {walls}", flush=True)
    return found


def write_results(
    options: argparse.Namespace,
    name: str,
    title: str,
    about: dict[str, object],
    text_bytes: int,
    expected: str,
    found: dict[str, list[Measure]],
) -> None:
    """Write the findings; each way is compared with the first one, round by round."""
    first = next(iter(found))
    ratios = {
        name: [mine.wall_s / base.wall_s for mine, base in zip(one, found[first], strict=True)]
        for name, one in found.items()
    }
    facts = {
        "benchmark": name.replace("-", "_"),
        "scale": options.scale,
        "parts": options.parts,
        "streams": options.streams,
        "text_bytes": text_bytes,
        "contents": f"sha256 of all rows in binary form, equal for all: {expected}",
        "wall_over_first_median": {way: statistics.median(one) for way, one in ratios.items()},
        "machine": about,
        "rounds": {way: [asdict(one) for one in measures] for way, measures in found.items()},
    }
    lines = [
        f"# TPC-H scale {options.scale}, lineitem: {title}",
        "",
        ground.machine_lines(facts),
        f"{text_bytes / 1e6:.0f} MB of text, {options.streams} streams; "
        f"{len(found[first])} rounds, all ways in turn; medians (least-most).",
        "The contents of all equal those of a server-side COPY, by digest of all rows.",
        "",
        f"| way | wall s | MB/s | wall / {first} | client CPU s | server CPU s "
        "| client resident MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for way, one in found.items():
        speed = text_bytes / 1e6 / statistics.median(each.wall_s for each in one)
        lines.append(
            f"| {way} | {ground.spread([each.wall_s for each in one])} | {speed:.0f} "
            f"| {ground.spread(ratios[way])} "
            f"| {ground.cells(one)}"
        )
    script = f"benchmarks/{name.replace('-', '_')}.py"
    lines += ["", f"To repeat: `make bench-ways`, or `.venv/bin/python {script}`.", ""]
    ground.write_results(options.results, name, facts, "\n".join(lines))
