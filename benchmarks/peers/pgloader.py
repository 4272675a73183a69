"""pgloader, as many processes as there are streams."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from harness.servers import Database
from peers.peer import Command, Peer, make_parts, target_of
from workload import Job, Table

# A process needs two workers, one that reads and one that writes: a single worker reads until the
# queue of prefetched rows is full, and then waits for a writer that never begins. The defaults of a
# batch are 25,000 rows and 20 MB; fewer and larger batches need less processor time.
SETTINGS = (
    "workers = 2",
    "concurrency = 1",
    "batch size = 128MB",
    "prefetch rows = 100000",
)
ROWS_IN_A_BATCH = 100_000
# After each bad row pgloader sends the rest of the batch again. So with many bad rows, a small
# batch is many times faster.
ROWS_IN_A_BATCH_WITH_BAD_ONES = 1_000


def address(url: str) -> str:
    """Return a URL in pgloader's form: a socket's folder in place of the host."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    if "host" in query:
        (folder,), (port,) = query["host"], query["port"]
        return f"postgresql://{parts.username}@unix:{folder}:{port}{parts.path}"
    return url


class Pgloader(Peer):
    """Processes of pgloader, each with a share of the files."""

    name = "pgloader"
    about = (
        "A process for each stream with one reader and one writer. Batches are larger than the "
        "default, or small if there are bad rows. Files without quotes are loaded by LOAD COPY, "
        "which does not split fields, the others by LOAD CSV. It commits batch by batch into "
        "tables that are made before."
    )

    def version(self) -> str | None:
        """Return its version."""
        program = shutil.which("pgloader")
        if program is None:
            return None
        done = subprocess.run([program, "--version"], capture_output=True, text=True)
        return done.stdout.split('"')[1] if '"' in done.stdout else "unknown"

    def cannot(self, job: Job, database_version: int) -> str | None:  # noqa: ARG002
        """Return why this peer cannot do a job, or None if it can."""
        if job.parquet:
            return "it reads no Parquet"
        if job.at_once:
            return "it commits batch by batch"
        if job.analyze:
            return "it collects no statistics of files' targets"
        return None

    def prepare(self, database: Database, job: Job) -> None:
        """Make the tables."""
        super().prepare(database, job)
        make_parts(database, job)

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return a pgloader command for each stream."""
        program = shutil.which("pgloader")
        assert program is not None
        commands: list[Command] = []
        for number, share in enumerate(job.shares(streams)):
            loads = [
                self._load(database, job, table, target_of(job, table, index), index)
                for table, index in share
            ]
            path = self.surroundings.folder / f"{database.name}-{number}.load"
            path.write_text("\n".join(loads))
            root = self.surroundings.folder / f"{database.name}-{number}-pgloader"
            command: list[str | Path] = [program, "--quiet", "--on-error-stop"]
            command += ["--root-dir", root, path]
            certificate = database.server.data / "server.crt"
            if certificate.exists():
                # With any TLS option pgloader verifies certificates, and the server's is
                # self-signed.
                command = ["/usr/bin/env", f"SSL_CERT_FILE={certificate}", *command]
            commands.append(command)
        return commands

    def _load(self, database: Database, job: Job, table: Table, target: str, index: int) -> str:
        file: Path = table.files_of_peers[index]
        names = ", ".join(column.name for column in table.columns)
        rows = ROWS_IN_A_BATCH_WITH_BAD_ONES if job.bad_rows else ROWS_IN_A_BATCH
        settings = [*SETTINGS, f"batch rows = {rows}"]
        if job.form.quote:
            kind = "CSV"
            names = ", ".join(f"{column.name} [null if blanks]" for column in table.columns)
            settings += [
                f"fields optionally enclosed by '{job.form.quote}'",
                "fields escaped by double-quote",
                f"fields terminated by '{job.form.delimiter}'",
            ]
            settings += ["skip header = 1"] if job.form.header else []
        else:
            kind = "COPY"
            settings.append(f"delimiter '{job.form.delimiter}'")
        listed = ", ".join(settings)
        bare = ", ".join(column.name for column in table.columns)
        return (
            f"LOAD {kind} FROM '{file}' ({names}) INTO {address(database.url)} "
            f"TARGET TABLE public.{target} ({bare}) WITH {listed};\n"
        )
