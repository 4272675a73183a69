"""One large file against as many even ones: lineitem both ways, in turn in the same run.

The same rows come as four files and as one. A partitioned table takes the files as they are, or
the one file cut where its key changes (`bounds = { parts = 4 }`); a plain table is shared by the
streams, whether its rows come in four files or one, or is filled by one stream alone. The contents
of each side are compared with a server-side COPY of the stripped files.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import ground
import ways
from lineitem_vs_copy import expected_digest
from ways import PARTITIONED, Way


def all_ways(files: Sequence[Path], one: Path, *, streams: int) -> list[Way]:
    """Return all ways; the first one is what the others are held against."""
    count = len(files)
    cut = (PARTITIONED, f"bounds = {{ parts = {count} }}")
    return [
        Way(f"{count} files, each a partition", files, streams, (PARTITIONED,)),
        Way(f"1 file, cut into {count} partitions", [one], streams, cut),
        Way(f"{count} files into a plain table", files, streams),
        Way(f"1 file into a plain table, {streams} streams", [one], streams),
        Way("1 file into a plain table, 1 stream", [one], 1),
    ]


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
    options = ways.arguments((__doc__ or "").splitlines()[0]).parse_args()
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        files = ground.generate(folder, options.scale, options.parts)
        stripped = ground.strip(files)
        expected = expected_digest(server, stripped)
        for file in stripped:
            file.unlink()
        one = join(files)
        loaded = all_ways(files, one, streams=options.streams)
        found = ways.measure(server, folder, loaded, expected, options.rounds)
        title = f"one file and as many rows in {options.parts}"
        size = one.stat().st_size
        ways.write_results(options, "one-large-file", title, about, size, expected, found)


if __name__ == "__main__":
    main()
