"""Readings: 200 columns of ten types, most of them with NULLs."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from workload import CSV, Job, Table, Workload, columns
from workloads.made import write_csv

ROWS = 200_000
WIDTH = 200
# Each column has a pool of values of prime length, and goes through it with its own step. This
# gives enough different rows at a tenth of the cost of making each value.
POOL = 4_093


def _decimal(chance: float) -> str:
    cents = int(chance * 20_000_000) - 10_000_000
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def _time(chance: float) -> str:
    second = int(chance * 86_400)
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def _date(chance: float) -> str:
    day = int(chance * 10_000)
    return f"{1995 + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}"


# Each type, with a function that writes a number from 0 to 1 as a value of the type.
KINDS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("integer", lambda chance: str(int(chance * 4_000_000_000) - 2_000_000_000)),
    ("numeric(12,2)", _decimal),
    ("varchar(20)", lambda chance: f"unit {int(chance * 1e9):x}"),
    ("date", _date),
    ("double precision", lambda chance: f"{int(chance * 1e9)}.{int(chance * 1e7) % 1000:03}5"),
    ("bigint", lambda chance: str(int(chance * 9_000_000_000_000))),
    ("boolean", lambda chance: "true" if chance < 0.5 else "false"),
    ("timestamp", lambda chance: f"{_date(chance)} {_time(chance * 977 % 1)}"),
    ("smallint", lambda chance: str(int(chance * 60_000) - 30_000)),
    ("text", lambda chance: f"reading {int(chance * 1e12)} of line {int(chance * 1e15) % 97}"),
)
TYPES = tuple(KINDS[number % len(KINDS)] for number in range(WIDTH - 1))
COLUMNS = (
    "id bigint not null",
    *(f"c{number:03} {kind}" for number, (kind, _) in enumerate(TYPES, 1)),
)
HEADER = ",".join(definition.split(" ")[0] for definition in COLUMNS)


@functools.cache
def written() -> list[list[str]]:
    """Return the pool of each column: up to three in ten of its values are NULL."""
    chance = random.Random("wide/pools").random  # noqa: S311
    pools = []
    for number, (_, write) in enumerate(TYPES):
        empty = number % 4 * 0.1
        pools.append([write(chance()) if chance() >= empty else "" for _ in range(POOL)])
    return pools


def lines(numbers: random.Random, first: int, last: int) -> Iterator[str]:
    """Yield the records of a part."""
    chance = numbers.random
    pools = written()
    steps = [1 + int(chance() * (POOL - 1)) for _ in TYPES]
    at = [int(chance() * POOL) for _ in TYPES]
    for row in range(first, last):
        at = [(place + step) % POOL for place, step in zip(at, steps, strict=True)]
        fields = ",".join([pool[place] for pool, place in zip(pools, at, strict=True)])
        yield f"{row},{fields}\n"


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make the readings."""
    files = write_csv(folder, "wide", HEADER, max(parts, round(ROWS * scale)), parts, lines)
    table = Table("readings", columns(COLUMNS), files, files, "id")
    return Job("wide", (table,), '{ preset = "csv" }', CSV)


WORKLOAD = Workload("wide", "200 columns of ten types", make)
