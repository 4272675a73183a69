"""Into a plain table that has rows: by staging and one INSERT at the end, or straight in.

A quarter of lineitem is there before, with and without a primary key; the rest is appended. Staging
keeps readers from seeing a part of it (the default), `atomic = false` writes each row once. The
contents are compared with a server-side COPY of all files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ground
import ways
from lineitem_vs_copy import expected_digest
from ways import Way

KEY = "ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber)"


def all_ways(files: Sequence[Path], stripped: Sequence[Path], *, streams: int) -> list[Way]:
    """Return all ways; the first one is what the others are held against."""
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
    """Run it."""
    options = ways.arguments((__doc__ or "").splitlines()[0]).parse_args()
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        files = ground.generate(folder, options.scale, options.parts)
        stripped = ground.strip(files)
        expected = expected_digest(server, stripped)
        loaded = all_ways(files, stripped, streams=options.streams)
        found = ways.measure(server, folder, loaded, expected, options.rounds)
        title = "appended to a plain table that has rows"
        size = sum(file.stat().st_size for file in files[1:])
        ways.write_results(options, "into-a-filled-table", title, about, size, expected, found)


if __name__ == "__main__":
    main()
