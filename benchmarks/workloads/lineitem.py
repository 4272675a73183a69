"""Lineitem alone, from text and from Parquet, with and without statistics at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workload import Job, Workload
from workloads import tpch


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem; each of its files becomes a partition."""
    return Job("lineitem", (tpch.lineitem(scale, parts, folder),), tpch.TBL)


def make_analyzed(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem for sides that also collect statistics."""
    return replace(make(scale, parts, folder), workload="lineitem-analyzed", analyze=True)


def make_parquet(scale: float, parts: int, folder: Path) -> Job:
    """Make lineitem as Parquet; the contents are compared with the text files."""
    text = tpch.lineitem(scale, parts, folder)
    files = tuple(tpch.generate(["lineitem"], scale, parts, folder, form="parquet"))
    return Job("lineitem-parquet", (replace(text, files=files),), tpch.TBL, parquet=True)


WORKLOADS = (
    Workload("lineitem", "TPC-H lineitem, each file a partition", make),
    Workload("lineitem-analyzed", "the same, and ANALYZE", make_analyzed),
    Workload("lineitem-parquet", "the same from Parquet files", make_parquet),
)
