"""Other tools: a JSON file says how to run each of them.

    {"mytool": {"command": ["mytool", "--to", "{url}", "--table", "{table}", "{file}"],
                "about": "its settings, and why they are its best",
                "version": ["mytool", "--version"],
                "workloads": ["lineitem", "narrow"]}}

The command is run once for each file, after the tables are made; the commands of a stream run one
after another.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from harness.servers import Database
from peers.peer import Command, Peer, Surroundings, make_parts, target_of
from workload import Job


class Configured(Peer):
    """A tool that a file describes."""

    def __init__(self, surroundings: Surroundings, name: str, told: dict[str, Any]) -> None:
        super().__init__(surroundings)
        self.name = name
        self.about = str(told["about"])
        self._command = [str(word) for word in told["command"]]
        self._version = [str(word) for word in told["version"]]
        self._workloads = told.get("workloads")

    def version(self) -> str | None:
        """Return the output of its own version command."""
        if shutil.which(self._command[0]) is None:
            return None
        done = subprocess.run(self._version, capture_output=True, text=True)
        return done.stdout.strip() or "unknown"

    def cannot(self, job: Job, database_version: int) -> str | None:  # noqa: ARG002
        """Return why this peer cannot do a job, or None if it can."""
        if self._workloads is not None and job.workload not in self._workloads:
            return "not among the workloads that its configuration names"
        return None

    def prepare(self, database: Database, job: Job) -> None:
        """Make the tables."""
        super().prepare(database, job)
        make_parts(database, job)

    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return a shell command for each stream."""
        shell = shutil.which("sh")
        assert shell is not None
        found: list[Command] = []
        for share in job.shares(streams):
            steps = ["set -e"]
            for table, index in share:
                words = {
                    "url": database.url,
                    "table": target_of(job, table, index),
                    "file": str((table.files if job.parquet else table.files_of_peers)[index]),
                }
                steps.append(shlex.join(word.format_map(words) for word in self._command))
            found.append([shell, "-c", "\n".join(steps)])
        return found


def read(path: Path, surroundings: Surroundings) -> list[Peer]:
    """Return the tools of a file."""
    told = json.loads(path.read_text())
    return [Configured(surroundings, name, one) for name, one in told.items()]
