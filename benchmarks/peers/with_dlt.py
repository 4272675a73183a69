"""dlt, one pipeline with as many load workers as there are streams."""

from __future__ import annotations

from harness.servers import Database
from peers import python
from peers.peer import Command, Peer, make_parts
from workload import Job


class Dlt(Peer):
    """A process of Python with a dlt pipeline."""

    name = "dlt"
    about = (
        "One pipeline with a load worker for each stream. Text files are imported as they are "
        "(with_file_import), so that dlt neither reads nor rewrites them and each goes into one "
        "COPY; that is its quickest way. Parquet files likewise, by ADBC. The tables are made "
        "beforehand, with the types of the others."
    )

    def version(self) -> str | None:
        """Return its version."""
        return python.version_of(self.surroundings.python, "dlt")

    def cannot(self, job: Job, database_version: int) -> str | None:  # noqa: ARG002
        """Return why this peer cannot do a job, or None if it can."""
        if job.bad_rows:
            return "it stops at a value that the server refuses"
        if job.at_once:
            return "it commits file by file"
        return "it loads only" if job.analyze else None

    def prepare(self, database: Database, job: Job) -> None:
        """Make the tables."""
        super().prepare(database, job)
        make_parts(database, job)

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return one command."""
        return python.commands(self, "dlt_pipeline.py", database, job, streams, 1)
