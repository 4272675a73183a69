"""Makes files once, from a seed: the same bytes on every machine and with every Python.

Only `random.random()` is used, because it is the only function whose sequence Python guarantees in
all versions. A folder of made files has a list of their digests, and is reused if it exists.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

# Makes the lines of a part from a random generator, the first row, and the row after the last.
Lines = Callable[[random.Random, int, int], Iterator[str]]
BLOCK_CHARACTERS = 1 << 20


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    whole = sha256()
    with file.open("rb") as source:
        while block := source.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


def once(folder: Path, make: Callable[[Path], None]) -> list[Path]:
    """Return the files of a folder, in order; make it if it is missing or incomplete."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        make(folder)
        digests = {file.name: digest(file) for file in sorted(folder.iterdir())}
        manifest.write_text(json.dumps(digests, indent=2) + "\n")
    return [folder / name for name in json.loads(manifest.read_text())]


def write_csv(
    folder: Path, name: str, header: str, rows: int, parts: int, lines: Lines
) -> tuple[Path, ...]:
    """Write rows as CSV, in parts with about the same number of rows, each with its own seed."""

    def make(place: Path) -> None:
        for part in range(parts):
            first, last = rows * part // parts, rows * (part + 1) // parts
            # The seed's text is hashed by version 2 of Python's seeding, which does not change.
            numbers = random.Random(f"{name}/{part}")  # noqa: S311
            file = place / f"{name}.{part + 1:02}.csv"
            with file.open("w", encoding="utf-8", newline="") as output:
                output.write(header + "\n")
                block: list[str] = []
                size = 0
                for line in lines(numbers, first, last):
                    block.append(line)
                    size += len(line)
                    if size >= BLOCK_CHARACTERS:
                        output.write("".join(block))
                        block, size = [], 0
                output.write("".join(block))

    return tuple(once(folder / f"{name}-{rows}-rows-{parts}-parts", make))
