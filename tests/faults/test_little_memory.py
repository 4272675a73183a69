"""With a limited address space (`ulimit -v`), a load ends with a message, never silently."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, FAILED, Inrush
from harness.servers import Database

LIMITS_MIB = [96, 128, 192, 300, 500, 976, 1400]


def words(inrush: Inrush, to: str, database: Database, streams: int) -> tuple[str, ...]:
    """Return a command that loads a few files of some 100 kB."""
    for part in range(8):
        inrush.write(f"{part}.csv", "id\n" + "".join(f"{number}\n" for number in range(20_000)))
    url = {"postgresql": database.url, "duckdb": "x.duckdb", "parquet": "parquet:lake"}[to]
    files = [f"{part}.csv" for part in range(8)]
    return ("load", *files, "--to", url, "--table", "t", "--columns", "id integer",
            "--streams", str(streams))  # fmt: skip


@pytest.mark.parametrize("to", ["postgresql", "duckdb", "parquet"])
@pytest.mark.parametrize("streams", [2, 32])
@pytest.mark.parametrize("limit_mib", LIMITS_MIB)
def test_too_little_address_space_is_told(
    newest_database: Database, inrush: Inrush, to: str, streams: int, limit_mib: int
) -> None:
    command = words(inrush, to, newest_database, streams)
    before = ["prlimit", f"--as={limit_mib << 20}"]
    with inrush.start(*command, before=before) as running:
        outcome = running.wait()
    if outcome.status != CLEAN:
        outcome.expect(FAILED, "error: ", "hint: ", "ulimit -v")
    # With more memory, the same command completes the load.
    inrush(*command).expect(CLEAN)


def test_what_is_lacking_is_said(inrush: Inrush, newest_database: Database) -> None:
    command = words(inrush, "parquet", newest_database, 8)
    before = ["prlimit", f"--as={200 << 20}"]
    with inrush.start(*command, before=before) as running:
        running.wait().expect(FAILED, "8 streams need", "(ulimit -v 204800)", "fewer --streams")
    command = words(inrush, "duckdb", newest_database, 1)
    with inrush.start(*command, before=["prlimit", f"--as={300 << 20}"]) as running:
        running.wait().expect(FAILED, "DuckDB needs 1024 MiB", "(ulimit -v 307200)")
