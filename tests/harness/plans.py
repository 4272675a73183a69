"""Figures of printed plans, for comparison with measured memory."""

from __future__ import annotations

import re
from pathlib import Path

from harness.command import Inrush

# Memory of `inrush --version` in an optimised build; an unoptimised build has larger code.
VERSION_KIB = 16 << 10


def promised_kib(said: str) -> float:
    """Return the memory figure of a printed plan."""
    found = re.search(r"^Memory +at most ([0-9.]+) (MB|GB) ", said, re.MULTILINE)
    assert found, said
    return float(found[1]) * {"MB": 1e6, "GB": 1e9}[found[2]] / 1024


def larger_code_kib(inrush: Inrush) -> int:
    """Return the KiB allowed for the larger code of an unoptimised build: 3 times the excess."""
    return 3 * max(0, inrush.peak_kib("--version") - VERSION_KIB)


def write_many_files(folder: Path, count: int) -> None:
    """Write files of one row."""
    folder.mkdir()
    for number in range(count):
        (folder / f"part-{number}.csv").write_text(f"id,note\n{number},x\n")
