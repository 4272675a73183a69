"""Lineitem appended to a plain table that has rows: visible all at once, or while it is loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workload import Job, Workload
from workloads import tpch

# Rows of the table before the load, with keys that dbgen does not use: no side may create the table
# again or empty it.
ROWS_BEFORE = (
    "INSERT INTO lineitem SELECT -number, 1, 1, 1, 1, 1, 0, 0, 'N', 'O', '1998-01-01', "
    "'1998-01-01', '1998-01-01', 'NONE', 'MAIL', 'there before' FROM generate_series(1, 1000) AS "
    "number"
)


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem for a target whose readers see all of it or nothing."""
    table = replace(tpch.lineitem(scale, parts, folder), partition_by=None)
    before = (f"CREATE TABLE lineitem ({table.definitions})", ROWS_BEFORE)
    settings = ('mode = "append"',)
    return Job(
        "plain-atomic",
        (table,),
        tpch.TBL,
        before=before,
        settings=settings,
        staging=False,
        at_once=True,
    )


def make_straight(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem for a target whose readers may see a part of it."""
    job = make(scale, parts, folder)
    settings = (*job.settings, "atomic = false")
    return replace(job, workload="plain-straight", settings=settings, staging=True, at_once=False)


WORKLOADS = (
    Workload("plain-atomic", "lineitem appended to a plain table, seen all at once", make),
    Workload("plain-straight", "the same, seen as it comes", make_straight),
)
