"""Inrush: one command with a package."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import findings
import ground
from harness.servers import Database
from peers.peer import Command, Peer
from workload import Job, Table

LOADED_WITH_REJECTS = 3
NO_VERDICT = "No verdict: the load took less than a second."


class Inrush(Peer):
    """Inrush."""

    name = findings.OURS
    about = (
        "One command, with the same settings except those that a workload tests. It counts every "
        "row, keeps a ledger, and makes all rows visible at once (except in plain-straight)."
    )
    accepted = (0, LOADED_WITH_REJECTS)

    def version(self) -> str | None:
        """Return its version."""
        done = subprocess.run([*ground.INRUSH, "--version"], capture_output=True, text=True)
        return done.stdout.strip().removeprefix("inrush ") if done.returncode == 0 else None

    def prepare(self, database: Database, job: Job) -> None:
        """Make the targets that Inrush does not make itself."""
        for statement in job.before:
            database.execute(statement)

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return the one command."""
        lines = [
            f"name = {json.dumps(job.workload)}",
            "[connections.target]",
            f"url = {json.dumps(database.url)}",
            "[run]",
            f"streams = {streams}",
            f"analyze = {json.dumps(job.analyze)}",
            f"staging = {json.dumps(job.staging)}",
        ]
        for table in job.tables:
            lines += self._flow(job, table)
        path = self.surroundings.folder / f"{database.name}.toml"
        path.write_text("\n".join(lines) + "\n")
        return [[*ground.INRUSH, "run", path]]

    def _flow(self, job: Job, table: Table) -> list[str]:
        lines = [
            "[[flow]]",
            f"table = {json.dumps(table.name)}",
            f"files = {json.dumps([str(file) for file in table.files])}",
        ]
        if not job.parquet:
            lines.append(f"format = {job.inrush_format}")
        if not job.before:
            lines.append(f"columns = {json.dumps([one.definition for one in table.columns])}")
        if table.partition_by is not None:
            lines.append(f"partition_by = {json.dumps(table.partition_by)}")
        return [*lines, *job.settings]

    def noted(self) -> dict[str, Any]:
        """Return its meters' cost and its verdict, from the report of its last run."""
        reports = (self.surroundings.folder / "runs").glob("*/report.json")
        report = json.loads(max(reports, key=lambda path: path.stat().st_mtime_ns).read_text())
        return {
            "metering_cpu_s": report["measurements"]["metering_cpu_s"],
            "verdict": report["verdict"]["line"] if "verdict" in report else NO_VERDICT,
        }

    def relation(self, job: Job, table: Table) -> str:  # noqa: ARG002
        """Return the table itself: Inrush always loads into one table, partitioned or plain."""
        return table.name
