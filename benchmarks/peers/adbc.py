"""ADBC ingest with pyarrow's readers, as many processes as there are streams."""

from __future__ import annotations

from harness.servers import Database
from peers import python
from peers.peer import Command, Peer
from workload import Job


class Adbc(Peer):
    """Processes of Python with adbc_ingest."""

    name = "adbc"
    about = (
        "A process for each stream: pyarrow's streaming CSV reader with the columns' types "
        "declared, handed to adbc_ingest, which sends COPY BINARY. Each file's table is made in "
        "the transaction that fills it, so that no WAL is written where wal_level is minimal."
    )

    def version(self) -> str | None:
        """Return the driver's version."""
        return python.version_of(self.surroundings.python, "adbc_driver_postgresql")

    def cannot(self, job: Job, database_version: int) -> str | None:  # noqa: ARG002
        """Return why this peer cannot do a job, or None if it can."""
        if job.bad_rows:
            return "pyarrow's CSV reader stops at a value that does not convert"
        if job.analyze:
            return "it loads only"
        return None

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return a command for each stream."""
        processes = 1 if job.at_once else streams
        return python.commands(self, "adbc_ingest.py", database, job, streams, processes)
