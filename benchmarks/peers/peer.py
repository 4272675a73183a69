"""A side of the suite: one way to load a job, in its best configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.servers import Database
from workload import Job, Table

Command = Sequence[str | Path]

CLIENTS = Path(__file__).resolve().parent.parent / "clients"


@dataclass(frozen=True)
class Surroundings:
    """The environment of the peers."""

    # The Python with the packages of benchmarks/requirements.txt.
    python: Path
    # The path of the psql of the server's version.
    programs: Path
    # A folder of this run, for packages, control files, and files that the server can read and
    # write.
    folder: Path


class Peer(ABC):
    """A side of the suite."""

    name: str
    # Its settings, and why they are its best: one sentence or two for the results.
    about: str
    # Exit statuses that mean success.
    accepted: tuple[int, ...] = (0,)

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    @abstractmethod
    def version(self) -> str | None:
        """Return its version, or None if it is not installed."""

    def cannot(self, job: Job, database_version: int) -> str | None:  # noqa: ARG002
        """Return why this peer cannot do a job, or None if it can."""
        return None

    def prepare(self, database: Database, job: Job) -> None:
        """Prepare a load, unmeasured: by default, run the statements that make the targets."""
        for statement in (*job.before, *job.before_others):
            database.execute(statement)

    @abstractmethod
    def commands(self, database: Database, job: Job, streams: int) -> list[Command]:
        """Return the commands that load a job, all of which are run at the same time."""

    def noted(self) -> dict[str, Any]:
        """Return the side's own notes about the last measurement."""
        return {}

    def relation(self, job: Job, table: Table) -> str:
        """Return the relation that has a table's rows after the load, as a FROM clause names it."""
        if not job.makes_tables:
            return table.name
        union = " UNION ALL ".join(f"TABLE {name}" for name, _ in table.parts())
        return f"({union})"


def target_of(job: Job, table: Table, index: int) -> str:
    """Return the name of a file's table, for peers that make a table for each file."""
    return table.parts()[index][0] if job.makes_tables else table.name


def make_parts(database: Database, job: Job) -> None:
    """Make a table for each file, for peers that cannot make the tables during the load."""
    for table in job.tables if job.makes_tables else ():
        for name, _ in table.parts():
            database.execute(f"CREATE TABLE {name} ({table.definitions})")
