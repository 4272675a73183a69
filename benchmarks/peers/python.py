"""Shared code of the peers that are Python packages: finds the packages, writes task files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.servers import Database
from peers.peer import CLIENTS, Command, Peer, target_of
from workload import Job

VERSION = "import importlib.metadata as found, sys; print(found.version(sys.argv[1]))"


def version_of(python: Path, package: str) -> str | None:
    """Return the version of a package, or None if the package or its Python is missing."""
    try:
        done = subprocess.run([python, "-c", VERSION, package], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def missing_of(python: Path, packages: Sequence[str]) -> str | None:
    """Return which package is not installed, or None if all are."""
    for package in packages:
        if version_of(python, package) is None:
            return f"{package} is not installed in {python.parent.parent.name}"
    return None


def commands(
    peer: Peer, script: str, database: Database, job: Job, streams: int, processes: int
) -> list[Command]:
    """Return a Python command for each process, each with its task in a file."""
    found: list[Command] = []
    for number, share in enumerate(job.shares(processes)):
        loads = [
            {
                "table": target_of(job, table, index),
                "create": job.makes_tables,
                "columns": [[one.name, one.type, one.nullable] for one in table.columns],
                "file": str((table.files if job.parquet else table.files_of_peers)[index]),
            }
            for table, index in share
        ]
        task = {
            "url": database.url,
            "parquet": job.parquet,
            "delimiter": job.form.delimiter,
            "quote": job.form.quote,
            "header": job.form.header,
            "at_once": job.at_once,
            "skip_bad_rows": job.bad_rows > 0,
            "streams": streams,
            "folder": str(peer.surroundings.folder / f"{database.name}-{number}"),
            "loads": loads,
        }
        path = peer.surroundings.folder / f"{database.name}-{number}.json"
        path.write_text(json.dumps(task))
        found.append([peer.surroundings.python, CLIENTS / script, path])
    return found
