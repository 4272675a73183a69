"""Memory: streams, buffers, and what is kept of each file; the figure of the plan has it all."""

from __future__ import annotations

import re
import signal
from pathlib import Path

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


def many_files(folder: Path, count: int) -> None:
    """Write files of one row."""
    folder.mkdir()
    for number in range(count):
        (folder / f"part-{number}.csv").write_text(f"id,note\n{number},x\n")


def larger_code_kib(inrush: Inrush) -> int:
    """Return by how much an unoptimised build is larger than the figure has it."""
    return 3 * max(0, inrush.peak_kib("--version") - VERSION_KIB)


# A hundred thousand files by one stream are one transaction.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("count", "streams", "verify"),
    [
        (1, 2, "count"),
        (1_000, 2, "count"),
        (1_000, 4, "rows"),
        (1_000, 1, "rows"),
        (100_000, 1, "count"),
    ],
)
def test_memory_stays_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush, count: int, streams: int, verify: str
) -> None:
    many_files(inrush.folder / "many", count)
    target = flow("many", "many/*.csv", columns=["id int", "note text"])
    settings = package(newest_database.url, target, streams=streams, verify=verify)
    path = inrush.write("many.toml", settings)
    promised = promised_kib(inrush("check", path).expect(0).said)
    peak = inrush.peak_kib("run", path)
    assert peak <= promised + larger_code_kib(inrush), (count, peak, promised)
    found = newest_database.rows("SELECT count(*), sum(id)::int8, count(DISTINCT id) FROM many")
    assert found == [(count, count * (count - 1) // 2, count)]


def test_a_resumed_run_stays_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush
) -> None:
    many_files(inrush.folder / "many", 3_000)
    target = flow("many", "many/*.csv", columns=["id int", "note text"])
    path = inrush.write("many.toml", package(newest_database.url, target, verify="rows"))
    stopped = inrush("run", path, environment={"INRUSH_FAULT": "before_switch"})
    assert stopped.status == -signal.SIGKILL, stopped.said
    promised = promised_kib(inrush("check", path).expect(0).said)
    peak = inrush.peak_kib("run", path)
    assert peak <= promised + larger_code_kib(inrush), (peak, promised)
    assert newest_database.value("SELECT count(DISTINCT id) FROM many") == 3_000


# A destination that keeps the contract makes a unit of each file, and takes memory of its own
# beside the figure: so the growth from few files to many is held against it.
def test_files_of_a_destination_take_what_the_plan_says(inrush: Inrush) -> None:
    peaks, promises = [], []
    for count in (500, 3_000):
        many_files(inrush.folder / f"many_{count}", count)
        target = flow("many", f"many_{count}/*.csv", columns=["id int", "note text"])
        path = inrush.write(f"{count}.toml", package(f"parquet:made_{count}", target))
        promises.append(promised_kib(inrush("check", path).expect(0).said))
        peaks.append(inrush.peak_kib("run", path))
    assert peaks[1] - peaks[0] <= promises[1] - promises[0], (peaks, promises)
