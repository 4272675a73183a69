"""Files of rejected rows are limited by `bytes_max` and by the reserve of their disk."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from harness.command import (
    CLEAN,
    FAILED,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    Inrush,
    Outcome,
)
from harness.packages import Value, flow, package
from harness.servers import Database

ROWS = 60_000
BATCH_ROWS = 1000


def write(inrush: Inrush, url: str, rows: int, **rejects: Value) -> Path:
    """Write a package whose file has only rejects, and return its path."""
    inrush.write("rows.csv.gz", gzip.compress(b"x\n" * rows))
    columns: list[Value] = ["id integer"]
    of = flow("t", "rows.csv.gz", columns=columns, format={"header": False}, rejects=rejects)
    return inrush.write("package.toml", package(url, of, batch_rows=BATCH_ROWS))


def bytes_kept(inrush: Inrush) -> int:
    """Return the number of bytes in the reject files of all runs."""
    return sum(path.stat().st_size for path in inrush.folder.glob("runs/*/rejects/*"))


@pytest.fixture(params=["postgresql", "duckdb"])
def url(request: pytest.FixtureRequest, newest_database: Database) -> str:
    return newest_database.url if request.param == "postgresql" else "x.duckdb"


def test_their_bytes_have_a_limit(inrush: Inrush, url: str) -> None:
    limit = 1_000_000
    path = write(inrush, url, ROWS, rows_max=ROWS, bytes_max=limit)
    inrush("check", path).expect(0, f"{ROWS} at most, in files of 1.0 MB at most")
    outcome = inrush("run", path)
    outcome.expect(REJECT_LIMIT, "1.0 MB, which is the limit", "nothing was switched")
    outcome.expect(REJECT_LIMIT, "rows.csv.gz:", "bytes_max = 2000000")
    # The limit is exceeded by at most one batch and the unwritten rejects of each stream.
    assert limit < bytes_kept(inrush) + (64 << 10)
    assert bytes_kept(inrush) < limit + 2 * BATCH_ROWS * 400
    inrush("rejects", "show").expect(0, "syntax, column id")


def test_without_a_setting_the_limit_is_told(inrush: Inrush, url: str) -> None:
    path = write(inrush, url, 10, rows_max=10)
    inrush("check", path).expect(0, "10 at most, in files of 4.3 GB at most")
    inrush("run", path).expect(LOADED_WITH_REJECTS)


def test_a_reason_is_not_repeated_without_an_end(inrush: Inrush, url: str) -> None:
    inrush("run", write(inrush, url, ROWS, share_max=1.0)).expect(LOADED_WITH_REJECTS)
    (path,) = inrush.folder.glob("runs/*/rejects/*.rejects.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["line"] for line in lines] == list(range(1, ROWS + 1))
    reason = lines[0]["reason"]
    assert all(line["reason"] == reason for line in lines[:1000])
    assert all("reason" not in line and line["reason_line"] == 1 for line in lines[1000:])
    shown = json.loads(inrush("rejects", "show", "--json").output)
    assert shown["rows"] == ROWS
    (cause,) = shown["causes"]
    assert cause["rows"] == ROWS
    assert [example["line"] for example in cause["examples"]] == [1, 2, 3]
    assert {example["reason"] for example in cause["examples"]} == {reason}


def test_their_disk_keeps_a_reserve(inrush: Inrush, url: str) -> None:
    path = write(inrush, url, 200_000, share_max=1.0)
    size = 12 << 20
    runs = inrush.folder / "runs"
    runs.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(runs)]
    if subprocess.run(mount, check=False).returncode != 0:
        # Only root can mount a disk.
        return
    try:
        outcome: Outcome = inrush("run", path)
        outcome.expect(FAILED, "a load must leave 1.3 MB free", "nothing was switched")
        # The disk is checked after each MiB. There is room for the report.
        assert bytes_kept(inrush) < size - size // 10 + (1 << 20)
        assert outcome.report["outcome"] == "failed"
    finally:
        subprocess.run(["umount", str(runs)], check=True)


def test_their_disk_is_looked_at_before_the_first_one(inrush: Inrush, url: str) -> None:
    """If only the reserve of the disk is free at the start, no reject is written."""
    path = write(inrush, url, 10, share_max=1.0)
    size = 40 << 20
    runs = inrush.folder / "runs"
    runs.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(runs)]
    if subprocess.run(mount, check=False).returncode != 0:
        # Only root can mount a disk.
        return
    try:
        # 3 MiB are left, which is enough for a run but less than the reserve of 4 MiB.
        (runs / "ballast").write_bytes(bytes(size - (3 << 20)))
        outcome: Outcome = inrush("run", path)
        outcome.expect(FAILED, "a load must leave 4.2 MB free", "nothing was switched")
        assert bytes_kept(inrush) == 0
        assert outcome.report["outcome"] == "failed"
        (runs / "ballast").unlink()
        inrush("run", path).expect(LOADED_WITH_REJECTS)
    finally:
        subprocess.run(["umount", str(runs)], check=True)


def test_those_of_files_whose_names_tell_their_form_are_replayed(inrush: Inrush, url: str) -> None:
    """The replay takes the format from the names, although the pattern does not show it."""
    inrush.write("rows.tbl.1", "1|a|\nx|b|\n")
    settings: dict[str, Value] = {"columns": ["id integer", "note text"]}
    of = flow("t", "rows.tbl.*", rejects={"rows_max": 1}, **settings)
    outcome = inrush("run", inrush.write("package.toml", package(url, of)))
    (folder,) = outcome.expect(LOADED_WITH_REJECTS).run_folders()
    (path,) = (folder / "rejects").glob("*.rejects")
    path.write_text(path.read_text().replace("x", "2"))
    inrush("rejects", "replay", folder.name).expect(CLEAN, "1 row: 1 loaded now")


def test_those_of_a_run_that_has_switched_nothing_in_are_not_replayed(
    inrush: Inrush, url: str
) -> None:
    """The target does not even exist, but that is not the reason."""
    inrush.write("rows.csv", "n\n1\nx\n")
    path = inrush.write("package.toml", package(url, flow("t", "rows.csv", columns=["n integer"])))
    (folder,) = inrush("run", path).expect(REJECT_LIMIT).run_folders()
    replay = inrush("rejects", "replay", folder.name)
    replay.expect(USAGE, "has not been switched in", "run the same command again")
