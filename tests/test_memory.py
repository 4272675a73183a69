"""Memory is set by streams and buffers: it does not grow with the files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from command import COMMAND, Inrush
from packages import flow, package
from servers import Database

MEASURED = Path(__file__).resolve().parent.parent / "benchmarks" / "measured.py"
LINE = "{}|some text that is neither short nor long|12345.67|2024-02-29|\n"
COLUMNS = ["id int not null", "note text", "price numeric(15,2)", "day date"]


def peak_kib(inrush: Inrush, *words: str | Path) -> int:
    """Return the peak of the resident memory of the command."""
    result = inrush.folder / "measured"
    command = [sys.executable, "-I", "-S", MEASURED, result, COMMAND, *words]
    subprocess.run(command, check=True, cwd=inrush.folder, stdout=subprocess.DEVNULL)
    return int(result.read_text().split()[1])


def test_ten_times_the_rows_take_the_same_memory(newest_database: Database, inrush: Inrush) -> None:
    peaks = []
    # The smaller files fill all chunks of their streams already.
    for rows in (60_000, 600_000):
        for part in range(2):
            numbers = range(part * rows, (part + 1) * rows)
            inrush.write(f"{rows}/rows.tbl.{part}", "".join(map(LINE.format, numbers)))
        target = flow(f"loaded_{rows}", f"{rows}/rows.tbl.*", columns=COLUMNS, partition_by="id")
        path = inrush.write(f"{rows}.toml", package(newest_database.url, target, name=f"n{rows}"))
        peaks.append(peak_kib(inrush, "run", path))
        assert newest_database.value(f"SELECT count(*) FROM loaded_{rows}") == 2 * rows
    small, large = peaks
    assert large < small * 1.1, peaks
