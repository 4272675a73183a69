"""Lineitem into 24 partitions by ship date; each file has rows of many partitions.

For a new table, Inrush makes the partitions itself, and readers see all rows at once; for the other
sides the partitions exist, and several sessions fill them at the same time. Into existing
partitions all sides load in one transaction.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from workload import Job, Table, Workload
from workloads import tpch

PARTITIONS = 24
KEY = "l_shipdate"
FIRST = date(1992, 1, 1)
# The days of a partition. With 107 days, the last of 24 partitions ends after dbgen's last date,
# 1998-12-01.
DAYS = 107
BOUNDS = [FIRST + timedelta(DAYS * at) for at in range(PARTITIONS + 1)]


def statements(table: Table) -> tuple[str, ...]:
    """Return the statements that make the partitions."""
    made = [f"CREATE TABLE lineitem ({table.definitions}) PARTITION BY RANGE ({KEY})"]
    made += [
        f"CREATE TABLE lineitem_{number} PARTITION OF lineitem "
        f"FOR VALUES FROM ('{lower}') TO ('{upper}')"
        for number, (lower, upper) in enumerate(itertools.pairwise(BOUNDS))
    ]
    return tuple(made)


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem for a target that does not exist."""
    table = replace(tpch.lineitem(scale, parts, folder), partition_by=KEY)
    bounds = json.dumps([str(bound) for bound in BOUNDS])
    settings = (f"bounds = {bounds}", "routing = true")
    others = statements(table)
    return Job("routed", (table,), tpch.TBL, before_others=others, settings=settings)


def make_existing(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem for partitions that exist."""
    table = replace(tpch.lineitem(scale, parts, folder), partition_by=None)
    settings = ('mode = "append"',)
    before = statements(table)
    return Job(
        "routed-existing",
        (table,),
        tpch.TBL,
        before=before,
        settings=settings,
        staging=False,
        at_once=True,
    )


WORKLOADS = (
    Workload("routed", f"lineitem, each row to one of {PARTITIONS} new partitions", make),
    Workload(
        "routed-existing", "the same into partitions that are there, all at once", make_existing
    ),
)
