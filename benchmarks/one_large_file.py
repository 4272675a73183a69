"""Compares lineitem in one large file, in uneven files, and in even files, in turn in one run.

The same rows are in four files, in one, and in three files of which the first has half of the
bytes. A partitioned table is loaded from the four files, or from the one file, which is cut where
the key changes (`bounds = { parts = 4 }`). A plain table is loaded by several streams, from four
files or from one, or by one stream. The contents of each side are compared with a server-side COPY
of the stripped files.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import ways
from ways import PARTITIONED, Way


def all_ways(files: Sequence[Path], stripped: Sequence[Path], streams: int) -> list[Way]:
    """Return all ways; the others are compared with the first one."""
    del stripped
    one = join("one", files)
    count = len(files)
    half = join("half", files[: count // 2])
    skewed = [half, *files[count // 2 :]]
    cut = (PARTITIONED, f"bounds = {{ parts = {count} }}")
    return [
        Way(f"{count} files, each a partition", files, streams, (PARTITIONED,)),
        Way(f"1 file, cut into {count} partitions", [one], streams, cut),
        Way("one file with half of the bytes, each a partition", skewed, streams, (PARTITIONED,)),
        Way(f"{count} files into a plain table", files, streams),
        Way(f"1 file into a plain table, {streams} streams", [one], streams),
        Way("1 file into a plain table, 1 stream", [one], 1),
    ]


def join(name: str, files: Sequence[Path]) -> Path:
    """Concatenate the files into one, in a folder of this name."""
    folder = files[0].parent.parent / name
    folder.mkdir()
    path = folder / "lineitem.tbl"
    with path.open("wb") as output:
        for file in files:
            with file.open("rb") as part:
                shutil.copyfileobj(part, output, 1 << 20)
    return path


def main() -> None:
    """Run the benchmark."""
    ways.run(
        (__doc__ or "").splitlines()[0],
        "one-large-file",
        "one file and as many rows in even ones",
        all_ways,
    )


if __name__ == "__main__":
    main()
