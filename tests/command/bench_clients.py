"""Helpers for tests of many clients: the command, its results, its leftovers on a server."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from harness import pauses
from harness.checkout import DOCS
from harness.command import Inrush, Outcome
from harness.pauses import wait_until
from harness.schema import faults
from harness.servers import Database

SCHEMA = DOCS / "bench-clients.schema.json"
# The session that observes the server; the wall clock is read after each query.
METER = "application_name = 'inrush bench meter'"
# A statement that waits while the gate is closed.
GATED = "SELECT pass_gate(-1)"


def bench(inrush: Inrush, database: Database, *words: str, seconds: float = 120) -> Outcome:
    """Measure the server of a database."""
    return inrush("bench", *words, "--to", database.url, seconds=seconds)


def folders(inrush: Inrush) -> list[Path]:
    """Return the folders of results, the oldest first."""
    return sorted(inrush.folder.glob("bench-results/*/"))


def results(inrush: Inrush) -> dict[str, Any]:
    """Return the newest results; they must match the schema."""
    found: dict[str, Any] = json.loads((folders(inrush)[-1] / "results.json").read_text())
    schema = json.loads(SCHEMA.read_text())
    assert list(faults(found, schema, schema, "results")) == []
    return found


def left(database: Database) -> list[str]:
    """Return the schemas of measurements, without the schema of the server extension."""
    query = (
        "SELECT nspname FROM pg_namespace "
        "WHERE nspname LIKE 'inrush%' AND nspname <> 'inrush_fastcopy' ORDER BY 1"
    )
    return [name for (name,) in database.rows(query)]


# The sessions of connected clients, without those that only measure.
SESSIONS = (
    "pg_stat_activity "
    "WHERE application_name LIKE 'inrush bench client%' AND datname = current_database()"
)
# The number of clients that are connected.
CLIENTS = f"SELECT count(*) FROM {SESSIONS}"


def wait_for_clients(database: Database, clients: int) -> None:
    """Wait until this number of clients is connected."""
    wait_until(database, f"SELECT ({CLIENTS}) = {clients}")


def wait_until_inserting(database: Database, clients: int) -> None:
    """Wait until this number of clients is connected and one of them has inserted a row."""
    wait_for_clients(database, clients)
    (schema,) = left(database)
    wait_until(database, f"SELECT pg_relation_size('{schema}.rows') > 0")


def closed_gate(database: Database) -> AbstractContextManager[None]:
    """Make statements with `pass_gate(-1)` wait, so that the run pauses until the gate opens."""
    database.execute(pauses.HELD_DOMAIN)
    return pauses.closed_gate(database)
