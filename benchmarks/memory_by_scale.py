"""Peak memory of a load at scale 0.1 and at scale 1: it must not grow with the files."""

from __future__ import annotations

import statistics
import sys

import ground
from ground import drop, fresh
from ways import PARTITIONED, Way, write_package

SCALES = ("0.1", "1")
LIMIT = 0.10


def main() -> None:
    """Run it; the exit status says whether the peaks are within the limit."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--parts", type=int, default=4)
    options = parser.parse_args()
    peaks: dict[str, list[int]] = {scale: [] for scale in SCALES}
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        files = {scale: ground.generate(folder, scale, options.parts) for scale in SCALES}
        for _ in range(options.rounds):
            for scale in SCALES:
                database = fresh(server)
                way = Way(scale, files[scale], options.streams, (PARTITIONED,))
                package = write_package(database, way, folder)
                found = ground.measure(server, [[*ground.INRUSH, "run", package]], folder)
                peaks[scale].append(found.client_resident_kib_max)
                drop(database)
    medians = {scale: statistics.median(values) for scale, values in peaks.items()}
    growth = medians["1"] / medians["0.1"] - 1
    facts = {
        "benchmark": "memory_by_scale",
        "streams": options.streams,
        "parts": options.parts,
        "growth": growth,
        "limit": LIMIT,
        "machine": about,
        "peak_resident_kib": peaks,
    }
    lines = ["# Peak memory by scale", "", ground.machine_lines(facts)]
    lines += [
        f"Lineitem in {options.parts} parts, {options.streams} streams, VmHWM of `inrush`.",
        "",
    ]
    lines += ["| scale | MiB, median (least-most) |", "|---|---|"]
    lines += [
        f"| {scale} | {ground.spread([one / 1024 for one in values], 1)} |"
        for scale, values in peaks.items()
    ]
    lines += ["", f"Growth from scale 0.1 to 1: **{growth:+.1%}** (at most {LIMIT:.0%}).", ""]
    ground.write_results(options.results, "memory-by-scale", facts, "\n".join(lines))
    sys.exit(growth > LIMIT)


if __name__ == "__main__":
    main()
