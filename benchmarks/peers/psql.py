r"""psql's `\copy`, as many sessions as there are streams."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.servers import Database
from peers.peer import Command, Peer, target_of
from workload import Form, Job

ON_ERROR_SINCE = 17


def options(form: Form, bad_rows: int, *extra: str) -> str:
    """Return the options of COPY for files of this form."""
    words = [*extra, f"DELIMITER '{form.delimiter}'"]
    if form.quote:
        words += ["FORMAT csv", f"QUOTE '{form.quote}'"]
    if form.header:
        words.append("HEADER")
    if bad_rows:
        words.append("ON_ERROR ignore")
    return ", ".join(words)


class Psql(Peer):
    r"""Sessions of psql with `\copy`."""

    name = "psql"
    about = (
        "A session for each stream, the largest file first. Each file goes into a separate plain "
        "table that is made in the same transaction, with FREEZE, so that no WAL is written "
        "if wal_level is minimal; nothing is checked, and the tables are not attached to "
        "anything. Existing targets are loaded by parallel sessions, or in one transaction if all "
        "rows must become visible at once. Bad rows are skipped by ON_ERROR ignore, which reports "
        "neither the rows nor the reasons."
    )

    def version(self) -> str | None:
        """Return its version."""
        program = self.surroundings.programs / "psql"
        if not program.exists():
            return None
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        return done.stdout.split()[2]

    def cannot(self, job: Job, database_version: int) -> str | None:
        """Return why this peer cannot do a job, or None if it can."""
        if job.parquet:
            return "COPY reads no Parquet"
        if job.bad_rows and database_version < ON_ERROR_SINCE:
            return f"COPY has ON_ERROR since version {ON_ERROR_SINCE}"
        return None

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return a psql command for each stream."""
        shares = job.shares(1 if job.at_once else streams)
        commands: list[Command] = []
        for share in shares:
            command: list[str | Path] = [
                database.server.programs / "psql",
                "--no-psqlrc",
                "--quiet",
            ]
            command += ["--set=ON_ERROR_STOP=1", "--dbname", database.url]
            steps = ["BEGIN"] if job.at_once else []
            for table, index in share:
                target, file = target_of(job, table, index), table.files_of_peers[index]
                if job.makes_tables:
                    how = options(job.form, job.bad_rows, "FREEZE")
                    steps += [
                        "BEGIN",
                        f"CREATE TABLE {target} ({table.definitions})",
                        f"\\copy {target} FROM '{file}' ({how})",
                        "COMMIT",
                    ]
                else:
                    how = options(job.form, job.bad_rows)
                    steps.append(f"\\copy {target} FROM '{file}' ({how})")
                if job.analyze:
                    steps.append(f"ANALYZE {target}")
            steps += ["COMMIT"] if job.at_once else []
            for step in steps:
                command += ["--command", step]
            commands.append(command)
        return commands
