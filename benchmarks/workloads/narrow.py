"""Links: two columns of numbers, so most of the cost is for each row, not for its values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from workload import CSV, Job, Table, Workload, columns
from workloads.made import write_csv

ROWS = 12_000_000
COLUMNS = ("id bigint not null", "linked integer not null")


def lines(numbers: random.Random, first: int, last: int) -> Iterator[str]:
    """Yield the records of a part."""
    chance = numbers.random
    for row in range(first, last):
        yield f"{row},{int(chance() * 2_000_000_000)}\n"


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make the links."""
    rows = max(parts, round(ROWS * scale))
    files = write_csv(folder, "narrow", "id,linked", rows, parts, lines)
    table = Table("links", columns(COLUMNS), files, files, "id")
    return Job("narrow", (table,), '{ preset = "csv" }', CSV)


WORKLOAD = Workload("narrow", "two columns of numbers", make)
