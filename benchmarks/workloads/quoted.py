"""Tickets: CSV with every text in quotes, some with newlines, delimiters and quotes in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from workload import CSV, Job, Table, Workload, columns
from workloads.made import write_csv

ROWS = 1_000_000
COLUMNS = (
    "id bigint not null",
    "opened timestamp not null",
    "customer integer not null",
    "status varchar(10) not null",
    "subject varchar(120) not null",
    "body text",
    "amount numeric(12,2)",
    "urgent boolean not null",
)
HEADER = ",".join(definition.split(" ")[0] for definition in COLUMNS)
WORDS = (
    "the parcel arrived open and the invoice shows another sum than the order please call back "
    "before noon Grüße naïve façade délai ordered twice paid once return label missing size "
    "colour wrong again thanks in advance regards"
).split()
STATUS = ("open", "waiting", "closed", "reopened")
TEXTS = 4_096


def texts() -> list[str]:
    """Return quoted texts of 40 to 400 characters; a third have several lines."""
    numbers = random.Random("quoted/texts")  # noqa: S311
    made = []
    for _ in range(TEXTS):
        pieces = []
        for _ in range(8 + int(numbers.random() * 60)):
            word = WORDS[int(numbers.random() * len(WORDS))]
            chance = numbers.random()
            if chance < 0.03:
                word = f'""{word}""'
            elif chance < 0.10:
                word += ","
            pieces.append(word)
        text = " ".join(pieces)
        if numbers.random() < 1 / 3:
            text = text.replace(", ", ",\n", 3).replace(" the ", "\nthe ", 2)
        made.append(f'"{text}"')
    return made


def lines(numbers: random.Random, first: int, last: int) -> Iterator[str]:
    """Yield the records of a part."""
    bodies = texts()
    subjects = [
        f'"{body[1:-1].replace(chr(10), " ").replace(chr(34), "")[:100]}"' for body in bodies
    ]
    chance = numbers.random
    for row in range(first, last):
        second = row * 37 % 86_400
        opened = f"2024-{row // 100_000 % 12 + 1:02}-{row // 4_000 % 28 + 1:02} "
        opened += f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        body = bodies[int(chance() * TEXTS)] if chance() < 0.95 else ""
        cents = int(chance() * 1_000_000)
        amount = f"{cents // 100}.{cents % 100:02}" if cents % 10 else ""
        yield (
            f'{row},{opened},{int(chance() * 100_000)},"{STATUS[int(chance() * 4)]}",'
            f"{subjects[int(chance() * TEXTS)]},{body},{amount},{('false', 'true')[cents & 1]}\n"
        )


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make the tickets."""
    files = write_csv(folder, "quoted", HEADER, max(parts, round(ROWS * scale)), parts, lines)
    table = Table("tickets", columns(COLUMNS), files, files, "id")
    return Job("quoted", (table,), '{ preset = "csv" }', CSV)


WORKLOAD = Workload("quoted", "CSV with quoted texts of several lines", make)
