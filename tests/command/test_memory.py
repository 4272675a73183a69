"""Memory: streams, buffers, and what is kept of each file; the figure of the plan has it all."""

from __future__ import annotations

import re

import pytest

from harness.command import Inrush
from harness.packages import flow, package
from harness.servers import Database

LINE = "{}|some text that is neither short nor long|12345.67|2024-02-29|\n"
COLUMNS = ["id int not null", "note text", "price numeric(15,2)", "day date"]


def test_ten_times_the_rows_take_the_same_memory(newest_database: Database, inrush: Inrush) -> None:
    peaks = []
    # The smaller files fill all chunks of their streams already.
    for rows in (60_000, 600_000):
        for part in range(2):
            numbers = range(part * rows, (part + 1) * rows)
            inrush.write(f"{rows}/rows.tbl.{part}", "".join(map(LINE.format, numbers)))
        target = flow(f"loaded_{rows}", f"{rows}/rows.tbl.*", columns=COLUMNS, partition_by="id")
        path = inrush.write(f"{rows}.toml", package(newest_database.url, target, name=f"n{rows}"))
        peaks.append(inrush.peak_kib("run", path))
        assert newest_database.value(f"SELECT count(*) FROM loaded_{rows}") == 2 * rows
    small, large = peaks
    assert large < small * 1.1, peaks


# What `inrush --version` takes of an optimised build; one without optimisation has larger code.
VERSION_KIB = 16 << 10


def promised_kib(said: str) -> float:
    """Return the figure of a printed plan."""
    found = re.search(r"^Memory +at most ([0-9.]+) (MB|GB) ", said, re.MULTILINE)
    assert found, said
    return float(found[1]) * {"MB": 1e6, "GB": 1e9}[found[2]] / 1024


# A hundred thousand files by one stream are one transaction, which keeps most in memory.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("count", "streams"), [(1, 2), (1_000, 2), (1_000, 1), (100_000, 1)])
def test_memory_stays_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush, count: int, streams: int
) -> None:
    folder = inrush.folder / "many"
    folder.mkdir()
    for number in range(count):
        (folder / f"part-{number}.csv").write_text(f"id,note\n{number},x\n")
    target = flow("many", "many/*.csv", columns=["id int", "note text"])
    path = inrush.write("many.toml", package(newest_database.url, target, streams=streams))
    promised = promised_kib(inrush("check", path).expect(0).said)
    peak = inrush.peak_kib("run", path)
    larger_code = max(0, inrush.peak_kib("--version") - VERSION_KIB)
    assert peak <= promised + 3 * larger_code, (count, peak, promised, larger_code)
    found = newest_database.rows("SELECT count(*), sum(id)::int8, count(DISTINCT id) FROM many")
    assert found == [(count, count * (count - 1) // 2, count)]
