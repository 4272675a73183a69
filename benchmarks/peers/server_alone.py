"""The server alone: sessions in which it reads binary files that it wrote before.

No client reads, converts or sends anything. This is the lower limit: the time with a client that
costs nothing. If Inrush attaches partitions, these sessions also count rows and attach partitions.
Like Inrush, they create the CHECK with the empty table, which is faster than adding it to a full
table.
"""

from __future__ import annotations

from pathlib import Path

import findings
import ground
from harness.servers import Database, Server, own_by_server
from peers.peer import Command, Peer, Surroundings, target_of
from peers.psql import Psql, options
from workload import Job, Table


class ServerAlone(Peer):
    """COPY from binary files that the server itself wrote."""

    name = findings.LIMIT
    about = (
        "Not a peer but the limit: sessions that COPY the same rows from binary files which the "
        "server has written beforehand, with FREEZE into tables made in the same transaction, "
        "count them and attach them."
    )

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._psql = Psql(surroundings)
        # For each text file: the binary file, and the range of the partition's key.
        self._prepared: dict[Path, tuple[Path, int, int]] = {}

    def version(self) -> str | None:
        """Return the version of psql, which only sends the commands."""
        return self._psql.version()

    def cannot(self, job: Job, database_version: int) -> str | None:
        """Return why this side cannot do a job: the reason why psql cannot prepare it."""
        if job.parquet:
            return "its files are those of lineitem"
        return self._psql.cannot(job, database_version)

    def prepare(self, database: Database, job: Job) -> None:
        """Write the binary files, once, and make the targets."""
        super().prepare(database, job)
        for table in job.tables:
            if job.makes_tables and table.partition_by is not None:
                database.execute(
                    f"CREATE TABLE {table.name} ({table.definitions}) "
                    f"PARTITION BY RANGE ({table.partition_by})"
                )
            for file in table.files_of_peers:
                if file not in self._prepared:
                    self._prepared[file] = self._write(database.server, job, table, file)

    def _write(self, server: Server, job: Job, table: Table, file: Path) -> tuple[Path, int, int]:
        folder = self.surroundings.folder / "prepared"
        if not folder.exists():
            folder.mkdir(mode=0o755)
            own_by_server(folder)
        # The file's name alone does not identify it: files with different data have the same names.
        path = folder / f"{file.parent.name}-{file.stem}.binary"
        database = ground.fresh(server)
        database.execute(f"CREATE TABLE part ({table.definitions})")
        database.psql(f"\\copy part FROM '{file}' ({options(job.form, job.bad_rows)})")
        database.execute(f"COPY part TO '{path}' (FORMAT binary)")
        least, most = 0, 0
        if table.partition_by is not None:
            key = table.partition_by
            ((least, most),) = database.rows(f"SELECT min({key}), max({key}) FROM part")
        ground.drop(database)
        return path, least, most

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return a psql command for each stream."""
        commands: list[Command] = []
        for share in job.shares(1 if job.at_once else streams):
            command: list[str | Path] = [
                database.server.programs / "psql",
                "--no-psqlrc",
                "--quiet",
            ]
            command += ["--set=ON_ERROR_STOP=1", "--output=/dev/null", "--dbname", database.url]
            steps = ["BEGIN"] if job.at_once else []
            for table, index in share:
                steps += self._steps(job, table, index)
            steps += ["COMMIT"] if job.at_once else []
            for step in steps:
                command += ["--command", step]
            commands.append(command)
        return commands

    def _steps(self, job: Job, table: Table, index: int) -> list[str]:
        path, least, most = self._prepared[table.files_of_peers[index]]
        target = target_of(job, table, index)
        analyze = [f"ANALYZE {target}"] if job.analyze else []
        if not job.makes_tables:
            return [f"COPY {target} FROM '{path}' (FORMAT binary)", *analyze]
        key = table.partition_by
        check = f", CHECK ({key} >= {least} AND {key} <= {most})" if key else ""
        steps = [
            "BEGIN",
            f"CREATE TABLE {target} ({table.definitions}{check})",
            f"COPY {target} FROM '{path}' (FORMAT binary, FREEZE)",
            f"SELECT count(*) FROM {target}",
            "COMMIT",
            *analyze,
        ]
        if key:
            steps.append(
                f"ALTER TABLE {table.name} ATTACH PARTITION {target} "
                f"FOR VALUES FROM ({least}) TO ({most + 1})"
            )
        return steps

    def forget(self, job: Job) -> None:
        """Remove the binary files of a job."""
        for table in job.tables:
            for file in table.files_of_peers:
                if file in self._prepared:
                    self._prepared.pop(file)[0].unlink()
