"""Compares loads into a plain table that has rows: by staging and one INSERT, or directly.

The table already has a quarter of lineitem, with and without a primary key; the rest is appended.
With staging (the default), readers never see a part of the rows; `atomic = false` writes each row
only once. The contents are compared with a server-side COPY of all files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ground
import ways
from ways import Way

KEY = "ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber)"


def all_ways(files: Sequence[Path], stripped: Sequence[Path], streams: int) -> list[Way]:
    """Return all ways; the others are compared with the first one."""
    there = (
        f"CREATE TABLE lineitem ({', '.join(ground.LINEITEM)})",
        f"COPY lineitem FROM '{stripped[0]}' (DELIMITER '|')",
    )
    append = 'mode = "append"'
    straight = (append, "atomic = false")
    rest = files[1:]
    return [
        Way("staging, no index", rest, streams, (append,), there),
        Way("atomic = false, no index", rest, streams, straight, there),
        Way("staging, primary key", rest, streams, (append,), (*there, KEY)),
        Way("atomic = false, primary key", rest, streams, straight, (*there, KEY)),
    ]


def main() -> None:
    """Run the benchmark."""
    ways.run(
        (__doc__ or "").splitlines()[0],
        "into-a-filled-table",
        "appended to a plain table that has rows",
        all_ways,
    )


if __name__ == "__main__":
    main()
