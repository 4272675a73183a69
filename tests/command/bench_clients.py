"""Many clients in the tests: the command, its results, what it leaves at a server."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from harness.checkout import DOCS
from harness.command import Inrush, Outcome
from harness.schema import faults
from harness.servers import Database

SCHEMA = DOCS / "bench-clients.schema.json"
pause = threading.Event()


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
    """Return the schemas of measurements that exist; the server extension has one of its own."""
    query = (
        "SELECT nspname FROM pg_namespace "
        "WHERE nspname LIKE 'inrush%' AND nspname <> 'inrush_fastcopy' ORDER BY 1"
    )
    return [name for (name,) in database.rows(query)]


def clients_of(database: Database) -> int:
    """Return how many clients are connected."""
    query = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE application_name LIKE 'inrush bench client%' AND datname = current_database()"
    )
    return int(database.value(query))


def inserting(database: Database, clients: int) -> bool:
    """Tell whether this number of clients is connected and one of them has inserted a row."""
    if clients_of(database) != clients:
        return False
    (schema,) = left(database)
    return bool(database.value(f"SELECT pg_relation_size('{schema}.rows')"))
