"""DuckDB's postgres extension, as many processes as there are streams."""

from __future__ import annotations

from harness.servers import Database
from peers import python
from peers.peer import Command, Peer
from workload import Job


class DuckDb(Peer):
    """Processes of Python with DuckDB and its postgres extension."""

    name = "duckdb"
    about = (
        "A process for each stream, because the extension writes a transaction over one "
        "connection. read_csv reads declared columns, guesses nothing and does not keep the "
        "order; the rows are sent by COPY BINARY. Each file's table is made in the transaction "
        "that fills it. Bad rows are skipped by ignore_errors."
    )

    def version(self) -> str | None:
        """Return DuckDB's version if the extension is installed too."""
        python_of = self.surroundings.python
        if python.version_of(python_of, "duckdb-extension-postgres-scanner") is None:
            return None
        return python.version_of(python_of, "duckdb")

    def cannot(self, job: Job, database_version: int) -> str | None:  # noqa: ARG002
        """Return why this peer cannot do a job, or None if it can."""
        return "it loads only" if job.analyze else None

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return a command for each stream."""
        processes = 1 if job.at_once else streams
        return python.commands(self, "duckdb_postgres.py", database, job, streams, processes)
