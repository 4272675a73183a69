"""Runs one load of a job by a side, into an empty database, and checks the rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ground
import same_rows
from ground import Measure
from harness.servers import Database, Server
from peers.peer import Peer
from workload import Job


@contextmanager
def prepared(server: Server, job: Job, side: Peer) -> Iterator[Database]:
    """Yield an empty database, prepared for a side, and remove it afterwards."""
    database = ground.fresh(server)
    try:
        side.prepare(database, job)
        yield database
    finally:
        ground.drop(database)


def measure(
    database: Database,
    job: Job,
    side: Peer,
    streams: int,
    folder: Path,
    must_be: dict[str, same_rows.Rows] | None = None,
    limit_s: float | None = None,
) -> Measure:
    """Load a job by a side; if expected rows are given, fail if the rows differ."""
    commands = side.commands(database, job, streams)
    found = ground.measure(database.server, commands, folder, side.accepted, limit_s)
    if must_be is not None:
        rows = same_rows.found(database, job, side.relation)
        same_rows.compare(f"{job.workload} by {side.name}", rows, must_be)
    return found
