"""Measures the cost of verifying sums or rows, and of routing rows to existing partitions.

The first way is the main job: four files, each a partition. The next two are the same with `verify
= "sums"` and `"rows"`. The last two load into 84 partitions by month of l_shipdate, whose rows are
spread over all files: by staging (`routing = true`), and directly (`atomic = false`, where the
server routes). The contents are compared with a server-side COPY of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ground
import ways
from ways import PARTITIONED, Way

FIRST_YEAR, YEARS = 1992, 7


def partitions() -> list[str]:
    """Return the statements that make lineitem with a partition for each month."""
    columns = ", ".join(ground.LINEITEM)
    statements = [f"CREATE TABLE lineitem ({columns}) PARTITION BY RANGE (l_shipdate)"]
    for month in range(12 * YEARS):
        ends = (f"{FIRST_YEAR + at // 12}-{at % 12 + 1:02}-01" for at in (month, month + 1))
        lower, upper = ends
        statements.append(
            f"CREATE TABLE lineitem_{month} PARTITION OF lineitem "
            f"FOR VALUES FROM ('{lower}') TO ('{upper}')"
        )
    return statements


def all_ways(files: Sequence[Path], stripped: Sequence[Path], streams: int) -> list[Way]:
    """Return all ways; the others are compared with the first one."""
    del stripped
    months = partitions()
    append = 'mode = "append"'
    return [
        Way("counted", files, streams, (PARTITIONED,)),
        Way('verify = "sums"', files, streams, (PARTITIONED, 'verify = "sums"')),
        Way('verify = "rows"', files, streams, (PARTITIONED, 'verify = "rows"')),
        Way("routed by staging", files, streams, (append, "routing = true"), months),
        Way("routed, atomic = false", files, streams, (append, "atomic = false"), months),
    ]


def main() -> None:
    """Run the benchmark."""
    ways.run(
        (__doc__ or "").splitlines()[0],
        "verified-and-routed",
        "verified, and routed to 84 partitions",
        all_ways,
    )


if __name__ == "__main__":
    main()
