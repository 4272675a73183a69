"""Memory is set by streams and buffers: eight times the rows take about the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command import COMMAND, Inrush
from conformance.destinations import Place
from packages import flow

MEASURED = Path(__file__).resolve().parents[2] / "benchmarks" / "measured.py"
LINE = "{},some text that is neither short nor long,12345.67,2024-02-29\n"
COLUMNS = ["id integer not null", "note text", "price numeric(15,2)", "day date"]


def peak_kib(inrush: Inrush, *words: str | Path) -> int:
    """Return the peak of the resident memory of the command."""
    result = inrush.folder / "measured"
    command = [sys.executable, "-I", "-S", MEASURED, result, COMMAND, *words]
    subprocess.run(command, check=True, cwd=inrush.folder, stdout=subprocess.DEVNULL)
    return int(result.read_text().split()[1])


@pytest.mark.clause("D-35")
def test_it_does_not_grow_with_the_rows(place: Place, inrush: Inrush) -> None:
    peaks = []
    for rows in (50_000, 400_000):
        for part in range(2):
            numbers = range(part * rows, (part + 1) * rows)
            inrush.write(
                f"{rows}/{part}.csv", "id,note,price,day\n" + "".join(map(LINE.format, numbers))
            )
        target = flow(f"loaded_{rows}", f"{rows}/*.csv", columns=COLUMNS)
        path = inrush.write(f"{rows}.toml", place.package(target, name=f"n{rows}"))
        peaks.append(peak_kib(inrush, "run", path))
    small, large = peaks
    print(f"peaks: {small} and {large} KiB")
    assert large < small * place.memory_growth_max, peaks
