"""A reference that is larger than its memory is looked up on disk, with the same result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.destinations import DuckDb, in_order
from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.packages import flow, step

KEYS = 30_000
ROWS = 4_000
ON_DISK = "in the folder for temporary files"


def package(inrush: Inrush, place: DuckDb, files: str = "keys.csv", **lookup: Any) -> Path:
    """Write the rows, the reference and the package; every third row has no match."""
    keys = "".join(f"key {key},{key * 7},{key % 97}.25\n" for key in range(KEYS))
    if not (inrush.folder / files).exists():
        inrush.write(files, "name,number,price\n" + keys)
    rows = "".join(f"{row},key {row * 11}{'x' * (row % 3 == 0)}\n" for row in range(ROWS))
    inrush.write("rows.csv", "id,name\n" + rows)
    settings: dict[str, Any] = {
        "columns": ["id integer", "name text"],
        "rejects": {"rows_max": ROWS},
    }
    reference = {
        "files": files,
        "columns": ["name text", "number bigint", "price numeric(10,2)"],
        **lookup,
    }
    text = place.package(
        flow("loaded", "rows.csv", **settings)
        + step(lookup=reference, on={"name": "name"}, take={"number": "number", "price": "price"})
    )
    return inrush.write("package.toml", text)


@pytest.mark.parametrize("memory", [None, 200_000])
def test_rows_are_those_of_a_reference_in_memory(
    tmp_path: Path, inrush: Inrush, memory: int | None
) -> None:
    place = DuckDb(tmp_path / "results.duckdb")
    more: dict[str, Any] = {} if memory is None else {"memory_bytes_max": memory}
    words = package(inrush, place, **more)
    checked = inrush("check", words).expect(CLEAN).output
    assert (ON_DISK in checked) == (memory is not None)
    outcome = inrush("run", words).expect(LOADED_WITH_REJECTS)
    expected = [
        (str(row), f"key {row * 11}", str(row * 77), f"{row * 11 % 97}.25")
        for row in range(ROWS)
        if row % 3 and row * 11 < KEYS
    ]
    types = ("integer", "text", "bigint", "numeric(10,2)")
    assert place.rows("loaded", types) == in_order(expected)
    assert len(outcome.rejects()) == ROWS - len(expected)
    assert {reject["code"] for reject in outcome.rejects()} == {"lookup_unmatched"}


def test_a_reference_with_a_key_twice_is_refused_on_disk_too(
    tmp_path: Path, inrush: Inrush
) -> None:
    place = DuckDb(tmp_path / "results.duckdb")
    words = package(inrush, place, memory_bytes_max=200_000)
    path = inrush.folder / "keys.csv"
    path.write_text(path.read_text() + "key 29999,1,1.00\n")
    inrush("check", words).expect(USAGE, "is there twice", "key 29999")
    words.write_text(
        words.read_text().replace("memory_bytes_max", 'first = "number", memory_bytes_max')
    )
    inrush("check", words).expect(CLEAN, ON_DISK)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, inrush: Inrush) -> None:
    words = package(inrush, DuckDb(tmp_path / "results.duckdb"), memory_bytes_max=200_000)
    nowhere = {"TMPDIR": str(tmp_path / "nowhere")}
    inrush("check", words, environment=nowhere).expect(USAGE, ON_DISK, "TMPDIR")


def test_a_pipe_is_refused(tmp_path: Path, inrush: Inrush) -> None:
    """A pipe cannot be read a second time."""
    os.mkfifo(inrush.folder / "pipe.csv")
    place = DuckDb(tmp_path / "results.duckdb")
    words = package(inrush, place, "pipe.csv", memory_bytes_max=1_000)
    with inrush.start("check", words) as running:
        keys = "".join(f"key {key},{key},1.00\n" for key in range(100))
        (inrush.folder / "pipe.csv").write_text("name,number,price\n" + keys)
        outcome = running.wait()
    outcome.expect(USAGE, "needs more than 1.0 kB of memory", "write the rows into a file first")
