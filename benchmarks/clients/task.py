"""The task that the suite gives to a client: `CLIENT.py TASK.json`."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Load:
    """A file and the table it goes into."""

    table: str
    # Make the table in the transaction that fills it.
    create: bool
    # Names, SQL types, and whether there may be NULLs.
    columns: list[tuple[str, str, bool]]
    file: str

    @property
    def definitions(self) -> str:
        """The columns as in CREATE TABLE."""
        return ", ".join(
            f"{name} {kind}{'' if nullable else ' NOT NULL'}"
            for name, kind, nullable in self.columns
        )


@dataclass(frozen=True)
class Task:
    """All that a client loads."""

    url: str
    parquet: bool
    delimiter: str
    quote: str
    header: bool
    # One transaction for all files.
    at_once: bool
    skip_bad_rows: bool
    streams: int
    folder: str
    loads: list[Load]


def read() -> Task:
    """Read the task that this process was started with."""
    told: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    loads = [
        Load(one["table"], one["create"], [tuple(each) for each in one["columns"]], one["file"])
        for one in told.pop("loads")
    ]
    return Task(**told, loads=loads)


def base(kind: str) -> tuple[str, list[int]]:
    """Split a type such as numeric(15,2) into its name and its numbers."""
    found = re.fullmatch(r"([a-z ]+)(?:\(([0-9,]+)\))?", kind)
    assert found is not None, kind
    return found[1], [int(word) for word in (found[2] or "").split(",") if word]
