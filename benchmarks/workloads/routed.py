"""Lineitem into 24 partitions by ship date that are there: its files do not line up with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from workload import Job, Workload
from workloads import tpch

PARTITIONS = 24
FIRST = date(1992, 1, 1)
# 24 of them end behind the last date that dbgen writes, 1998-12-01.
DAYS = 107


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem and the statements that make its partitions."""
    table = replace(tpch.lineitem(scale, parts, folder), partition_by=None)
    statements = [f"CREATE TABLE lineitem ({table.definitions}) PARTITION BY RANGE (l_shipdate)"]
    for number in range(PARTITIONS):
        lower, upper = (FIRST + timedelta(DAYS * at) for at in (number, number + 1))
        statements.append(
            f"CREATE TABLE lineitem_{number} PARTITION OF lineitem "
            f"FOR VALUES FROM ('{lower}') TO ('{upper}')"
        )
    settings = ('mode = "append"', "routing = true")
    return Job("routed", (table,), tpch.TBL, before=tuple(statements), settings=settings)


WORKLOAD = Workload("routed", f"lineitem, each row to one of {PARTITIONS} partitions", make)
