"""One large file against as many even ones: lineitem both ways, in turn in the same run.

The same rows come as four files and as one. A partitioned table takes the files as they are, or
the one file cut where its key changes (`bounds = { parts = 4 }`); a plain table is shared by the
streams, whether its rows come in four files or one, or is filled by one stream alone. The contents
of each side are compared with a server-side COPY of the stripped files.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import ground
from ground import Measure
from lineitem_vs_copy import drop, expected_digest, fresh
from servers import Database, Server

PARTITIONED = 'partition_by = "l_orderkey"'


@dataclass(frozen=True)
class Side:
    """A way to load the rows."""

    name: str
    files: Sequence[Path]
    streams: int
    settings: Sequence[str] = ()


def sides(files: Sequence[Path], one: Path, *, streams: int) -> list[Side]:
    """Return all ways; the first one is what the others are held against."""
    count = len(files)
    cut = (PARTITIONED, f"bounds = {{ parts = {count} }}")
    return [
        Side(f"{count} files, each a partition", files, streams, (PARTITIONED,)),
        Side(f"1 file, cut into {count} partitions", [one], streams, cut),
        Side(f"{count} files into a plain table", files, streams),
        Side(f"1 file into a plain table, {streams} streams", [one], streams),
        Side("1 file into a plain table, 1 stream", [one], 1),
    ]


def write_package(database: Database, side: Side, folder: Path) -> Path:
    """Write the package of a side."""
    lines = [
        'name = "lineitem"',
        "[connections.target]",
        f"url = {json.dumps(database.url)}",
        "[run]",
        f"streams = {side.streams}",
        "analyze = false",
        "[[flow]]",
        'table = "lineitem"',
        f"files = {json.dumps([str(file) for file in side.files])}",
        'format = { preset = "tbl" }',
        f"columns = {json.dumps(list(ground.LINEITEM))}",
        *side.settings,
    ]
    path = folder / f"{database.name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def join(files: Sequence[Path]) -> Path:
    """Write the files one behind the other into one."""
    folder = files[0].parent.parent / "one"
    folder.mkdir()
    path = folder / "lineitem.tbl"
    with path.open("wb") as output:
        for file in files:
            with file.open("rb") as part:
                shutil.copyfileobj(part, output, 1 << 20)
    return path


def main() -> None:
    """Run it."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--streams", type=int, default=2)
    options = parser.parse_args()
    with ground.ground(options) as (server, folder):
        run(options, server, folder)


def run(options: argparse.Namespace, server: Server, folder: Path) -> None:
    """Measure all sides in turn and write what was found."""
    about = ground.machine(server)
    files = ground.generate(folder, options.scale, options.parts)
    stripped = ground.strip(files)
    expected = expected_digest(server, stripped)
    for file in stripped:
        file.unlink()
    one = join(files)
    ways = sides(files, one, streams=options.streams)
    rounds: dict[str, list[Measure]] = {side.name: [] for side in ways}
    for number in range(options.rounds):
        for side in ways:
            database = fresh(server)
            package = write_package(database, side, folder)
            found = ground.measure(server, [[ground.INRUSH, "run", package]], folder)
            rounds[side.name].append(found)
            if number == 0:
                same = ground.digest(database, "lineitem") == expected
                assert same, f"{side.name}: the contents differ from COPY's"
            drop(database)
        walls = ", ".join(f"{name} {found[-1].wall_s:.2f} s" for name, found in rounds.items())
        print(f"round {number + 1}: {walls}", flush=True)
    base = rounds[ways[0].name]
    ratios = {
        name: [mine.wall_s / theirs.wall_s for mine, theirs in zip(found, base, strict=True)]
        for name, found in rounds.items()
    }
    facts = {
        "benchmark": "one_large_file",
        "scale": options.scale,
        "parts": options.parts,
        "streams": options.streams,
        "text_bytes": one.stat().st_size,
        "contents": f"sha256 of all rows in binary form, equal on all sides: {expected}",
        "wall_over_even_files_median": {
            name: statistics.median(values) for name, values in ratios.items()
        },
        "machine": about,
        "rounds": {name: [asdict(one) for one in found] for name, found in rounds.items()},
    }
    ground.write_results(options.results, "one-large-file", facts, page(facts, rounds, ratios))


def page(
    facts: dict[str, object], rounds: dict[str, list[Measure]], ratios: dict[str, list[float]]
) -> str:
    """Return the page to read."""
    size = int(str(facts["text_bytes"]))
    first = next(iter(rounds))
    count = len(rounds[first])
    lines = [
        f"# TPC-H scale {facts['scale']}, lineitem as one file and as {facts['parts']}, "
        f"{facts['streams']} streams",
        "",
        ground.machine_lines(facts),
        f"{size / 1e6:.0f} MB of text; {count} rounds, all sides in turn; medians (least-most).",
        "The contents of all sides equal those of a server-side COPY, by digest of all rows.",
        "",
        f"| side | wall s | MB/s | wall / {first} | client CPU s | server CPU s "
        "| client resident MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in rounds.items():
        speed = size / 1e6 / statistics.median(one.wall_s for one in found)
        lines.append(
            f"| {name} | {ground.spread([one.wall_s for one in found])} | {speed:.0f} "
            f"| {ground.spread(ratios[name])} "
            f"| {ground.spread([one.client_cpu_s for one in found])} "
            f"| {ground.spread([one.server_cpu_s for one in found])} "
            f"| {ground.spread([one.client_resident_kib_max / 1024 for one in found], 1)} |"
        )
    lines += ["", "Again: `make bench`, or `.venv/bin/python benchmarks/one_large_file.py`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
