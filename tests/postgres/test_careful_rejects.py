"""Each row of a load unit that the server refuses becomes a reject, and the rest is loaded.

The outcome must be that of a serial load: one INSERT after the other, in the order of the files.
"""

from __future__ import annotations

import json
import random
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness import pauses, polling
from harness.command import LOADED_WITH_REJECTS, Inrush, Outcome
from harness.contents import differing_rows
from harness.packages import Value, flow, package
from harness.serial import SerialJob
from harness.servers import Database
from postgres.refusing import PARTITIONED

FILES = 4
# Each row that is refused is slow. A file still has three batches of 64 rows.
ROWS = 150


class Job(SerialJob):
    """Files with rows of all kinds, and the result of a careful serial load."""

    def __init__(
        self, database: Database, inrush: Inrush, *, seed: int = 1, partitions: int = 1
    ) -> None:
        super().__init__(database, inrush)
        self.partitions = partitions
        database.execute(PARTITIONED.format(name="loaded"))
        database.execute(PARTITIONED.format(name="expected"))
        database.execute("CREATE TABLE expected_all PARTITION OF expected DEFAULT")
        chance = random.Random(seed)  # noqa: S311
        files = {
            f"rows.{number}.csv": [self.row(number, chance) for _ in range(ROWS)]
            for number in range(FILES)
        }
        statement = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int, %s::jsonb)"
        self.insert("k,id,amount,doc", statement, files)

    def row(self, number: int, chance: random.Random) -> list[str]:
        # Some keys occur again in the same file and in others.
        fields = [
            str(number % self.partitions),
            str(chance.randrange(FILES * ROWS * 4)),
            chance.choice(["1", "2", "-3"]),
            '{"a": 1}',
        ]
        match chance.randrange(60):
            case 0:
                fields[2] = "0"
            case 1:
                fields[3] = "{broken"
            case 2:
                fields[1] = "x"
            case 3:
                fields[2] = "99999999999"
            case 4:
                fields[3] = "line\nbreak"
        return fields

    def package(self, **run: Any) -> Path:
        settings: dict[str, Value] = {
            "partition_by": "k",
            "bounds": list(range(self.partitions + 1)),
        }
        settings |= {"mode": "append", "rejects": {"rows_max": 1_000_000}}
        text = package(self.database.url, flow("loaded", "rows.*.csv", **settings), **run)
        return self.inrush.write("package.toml", text)

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        kept = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
        assert sum(path.read_text().count("\n") for path in kept) >= len(self.expected)


def test_private_units_as_a_serial_load(database: Database, inrush: Inrush) -> None:
    job = Job(database, inrush, partitions=4)
    outcome = inrush("run", job.package(streams=2)).expect(LOADED_WITH_REJECTS)
    assert not any(unit["shared"] for unit in outcome.report["units"])
    job.assert_done(outcome)


@pytest.mark.parametrize("streams", [2, 3, 7])
@pytest.mark.parametrize("batch_rows", [64, 1024])
def test_shared_units_as_a_serial_load(
    database: Database, inrush: Inrush, streams: int, batch_rows: int
) -> None:
    job = Job(database, inrush, seed=streams * batch_rows)
    path = job.package(streams=streams, batch_rows=batch_rows, chunk_bytes=65_536)
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert [unit["shared"] for unit in outcome.report["units"]] == [True]
    assert [unit["careful"] for unit in outcome.report["units"]] == [True]
    job.assert_done(outcome)


def told(inrush: Inrush, event: str) -> bool:
    """Return whether the log of the run has an event."""
    (log,) = inrush.folder.glob("runs/*/log.jsonl")
    return f'"event":"{event}"' in log.read_text()


def test_a_refusal_while_another_stream_is_in_the_middle_of_a_block(
    newest_database: Database, inrush: Inrush
) -> None:
    """The COPY of the other stream ends between two messages, so its session can be used again."""
    database = newest_database
    database.execute(pauses.HELD_DOMAIN)
    for table in ("loaded", "expected"):
        database.execute(
            f"CREATE TABLE {table} (id int, gate held, amount int CHECK (amount > 0), t text)"
        )
    # The second range of four is blocked in the server, and has far more to send than fits into a
    # socket's buffer. One of the last rows of the first range is refused.
    count, row_bytes = 4_000, 10_000
    refused, held = 900, 1_100
    rows = [
        f"{n},{-1 if n >= held else 1},{0 if n == refused else n + 1},{'x' * row_bytes}\n"
        for n in range(count)
    ]
    good = "".join(row for n, row in enumerate(rows) if n != refused)
    plain = inrush.write("good", good)
    database.psql(f"\\copy expected FROM '{plain}' (FORMAT csv)")
    inrush.write("rows.csv", "".join(rows))
    settings: dict[str, Value] = {
        "mode": "append",
        "format": {"header": False},
        "rejects": {"rows_max": 1},
    }
    text = package(database.url, flow("loaded", "rows.csv", **settings), streams=2)
    path = inrush.write("package.toml", text)
    with ExitStack() as stack:
        gate = stack.enter_context(ExitStack())
        gate.enter_context(pauses.closed_gate(database))
        running = stack.enter_context(inrush.start("run", path))
        pauses.wait_until_held(database)
        polling.until(lambda: told(inrush, "unit_refused"), running=running)
        gate.close()
        outcome = running.wait()
    outcome.expect(LOADED_WITH_REJECTS)
    assert [unit["shared"] for unit in outcome.report["units"]] == [True]
    assert [reject["line"] for reject in outcome.rejects()] == [refused + 1]
    assert differing_rows(database, "loaded", "expected") == 0


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "in_careful_copy:9", "before_unit_commit", "unit_commit_sent",
     "after_unit_commit", "before_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize("partitions", [1, 4])
def test_killed_in_careful_mode(
    newest_database: Database, inrush: Inrush, point: str, partitions: int
) -> None:
    job = Job(newest_database, inrush, partitions=partitions)
    path = job.package(streams=2, batch_rows=64)
    died = inrush("run", path, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    assert newest_database.value("SELECT count(*) FROM loaded") == 0
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    job.assert_done(outcome)


def test_what_is_no_rows_fault_stops_the_load(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(
        "CREATE FUNCTION lost(n int) RETURNS bool LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN gone(n); END $$;"
        "CREATE TABLE t (k int NOT NULL, n int CHECK (lost(n))) PARTITION BY RANGE (k)"
    )
    inrush.write("rows.csv", "k,n\n1,1\n")
    text = package(
        newest_database.url, flow("t", "rows.csv", mode="append", rejects={"rows_max": 5})
    )
    inrush("run", inrush.write("package.toml", text)).expect(1, "gone(integer) does not exist")


def test_events_tell_of_a_careful_load(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(PARTITIONED.format(name="t"))
    inrush.write("rows.csv", "k,id,amount,doc\n1,1,0,\n1,2,1,\n")
    text = package(
        newest_database.url, flow("t", "rows.csv", mode="append", rejects={"rows_max": 5})
    )
    outcome = inrush("run", inrush.write("package.toml", text), "--json")
    events = [json.loads(line) for line in outcome.output.splitlines()]
    told = [event["event"] for event in events]
    assert told.count("unit_refused") == 1
    assert told.count("rejected") == 1
