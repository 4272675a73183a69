"""A signal ends a load while no row is sent, and while its plan waits for the ledger."""

from __future__ import annotations

import gzip
import json
import signal

import pytest

from harness.command import CLEAN, INTERRUPTED, Inrush, Running
from harness.packages import flow, package
from harness.pauses import wait_until
from harness.servers import Database

CHUNK_BYTES = 65536
ROWS = 400_000

# Input that gives no rows to send, and the columns for reading it.
TEXTS = {
    "rejects": "x\n" * ROWS,
    "blank_lines": "1\n" + "\n" * ROWS,
    "comments": "1\n" + "# nothing\n" * (ROWS // 5),
}


def chunks_told(running: Running, status: int) -> int:
    """Let the command end, and return the number of chunks that it read."""
    outcome = running.wait().expect(status)
    events = [json.loads(line) for line in outcome.output.splitlines()]
    return sum(event["event"] == "progress" for event in events)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("compressed", [True, False], ids=["gzip", "plain"])
@pytest.mark.parametrize("to", ["postgresql", "duckdb", "parquet"])
def test_a_signal_ends_a_load_that_sends_nothing(
    newest_database: Database, inrush: Inrush, to: str, text: str, compressed: bool
) -> None:
    urls = {"postgresql": newest_database.url, "duckdb": "x.duckdb", "parquet": "parquet:lake"}
    name = "rows.csv.gz" if compressed else "rows.csv"
    data = TEXTS[text].encode()
    inrush.write(name, gzip.compress(data) if compressed else data)
    of = flow(
        "t",
        name,
        columns=["id integer"],
        format={"header": False, "comment": "#"},
        rejects={"rows_max": ROWS},
    )
    path = inrush.write("package.toml", package(urls[to], of, streams=1, chunk_bytes=CHUNK_BYTES))
    with inrush.stopped_by("stop_until_asked:in_copy", "run", path, "--json") as running:
        running.send(signal.SIGTERM)
        running.resume()
        # It has read only the chunk at which it was paused.
        assert chunks_told(running, INTERRUPTED) == 1


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_plan_that_waits_for_the_ledger(
    newest_database: Database, inrush: Inrush, which: signal.Signals
) -> None:
    inrush.write("rows.csv", "id\n1\n2\n")
    of = flow("t", "rows.csv", columns=["id integer"])
    path = inrush.write("package.toml", package(newest_database.url, of, lock_timeout_ms=600_000))
    inrush("run", path).expect(CLEAN)
    with newest_database.connect(autocommit=False) as holder:
        holder.execute(b"LOCK TABLE inrush.run IN ACCESS EXCLUSIVE MODE")
        with inrush.start("run", path) as running:
            wait_until(
                newest_database,
                "SELECT count(*) = 1 FROM pg_locks "
                "WHERE NOT granted AND relation = 'inrush.run'::regclass",
            )
            running.send(which)
            running.wait().expect(INTERRUPTED)
        # The plan's session does not wait any longer, either.
        wait_until(newest_database, "SELECT count(*) = 0 FROM pg_locks WHERE NOT granted")
        holder.rollback()
    inrush("run", path).expect(CLEAN, "already loaded")
    assert newest_database.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
