"""Processes that are there, by the folder that they are of."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose command line or working folder names a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in words or where.startswith(str(folder)):
            found.append(int(entry.name))
    return found


def wait_for_no_process(folder: Path, seconds: float = 30) -> None:
    """Fail unless they are gone within this number of seconds."""
    end = monotonic() + seconds
    while left := processes_in(folder):
        assert monotonic() < end, f"still there: {left}"
