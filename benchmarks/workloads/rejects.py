"""Payments; in one of twenty, a field is not a value of its column's type.

Every tool that skips bad rows can skip these. Rows with too few or too many fields are not among
them, because COPY cannot skip those.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from workload import CSV, Job, Table, Workload, columns
from workloads.made import write_csv

ROWS = 2_500_000
EVERY = 20
COLUMNS = (
    "id bigint not null",
    "account integer not null",
    "paid date not null",
    "amount numeric(12,2) not null",
    "entered timestamp not null",
    "reference varchar(40) not null",
)
HEADER = ",".join(definition.split(" ")[0] for definition in COLUMNS)


def is_bad(row: int) -> bool:
    """Return whether a row is broken: one in twenty, at varying places."""
    return row % EVERY == row // EVERY * 7 % EVERY


def lines(numbers: random.Random, first: int, last: int) -> Iterator[str]:
    """Yield the records of a part."""
    chance = numbers.random
    for row in range(first, last):
        account, cents = int(chance() * 1e8), int(chance() * 1e9)
        fields = [
            str(account),
            f"{2015 + row % 10}-{account % 12 + 1:02}-{account // 12 % 28 + 1:02}",
            f"{cents // 100}.{cents % 100:02}",
            f"2025-01-{cents % 28 + 1:02} {cents // 28 % 24:02}:{account % 60:02}:{cents % 60:02}",
            f"transfer {cents:x}-{account:x}",
        ]
        if is_bad(row):
            # In turn: a word for a number, a day that no month has, a number with two points, text
            # for a time.
            kind = row // EVERY % 4
            fields[kind] = ("unknown", f"{fields[1][:8]}41", f"{fields[2]}.1", "some time")[kind]
        yield f"{row},{','.join(fields)}\n"


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make the payments."""
    rows = max(EVERY * parts, round(ROWS * scale))
    files = write_csv(folder, "rejects", HEADER, rows, parts, lines)
    table = Table("payments", columns(COLUMNS), files, files, "id")
    return Job(
        "rejects",
        (table,),
        '{ preset = "csv" }',
        CSV,
        settings=("rejects = { share_max = 0.06 }",),
        bad_rows=sum(is_bad(row) for row in range(rows)),
    )


WORKLOAD = Workload("rejects", "one row in twenty does not convert", make)
