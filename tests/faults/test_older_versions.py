"""Runs that another version of Inrush has left unfinished.

A unit's key describes all settings that affect the unit's rows, and contains the version of that
description (`plan/identity`). The keys of version 1 had no version.
"""

from __future__ import annotations

import pytest

from harness.command import CLEAN, FAILED, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database

ROWS = [(number, f"note {number}") for number in range(9)]
OLDER = "was loaded by another version of Inrush"


def stop_half_way(database: Database, inrush: Inrush, **settings: Value) -> None:
    """Stop a load after its first unit, and replace the units' keys by keys of version 1."""
    for part in range(3):
        own = ROWS[part * 3 : part * 3 + 3]
        inrush.write(f"rows.tbl.{part}", "".join(f"{number}|{note}|\n" for number, note in own))
    of = flow("events", "rows.tbl.*", columns=["id int not null", "note text"], **settings)
    inrush.write("package.toml", package(database.url, of, streams=1))
    inrush("run", "package.toml", environment={"INRUSH_FAULT": "after_unit_commit"}).expect(-9)
    assert database.rows("SELECT count(*) FROM inrush.unit WHERE unit_key LIKE '%.2'") != [(0,)]
    database.execute("ALTER TABLE inrush.shard DROP CONSTRAINT shard_run_id_unit_key_fkey")
    for table in ("unit", "shard"):
        database.execute(f"UPDATE inrush.{table} SET unit_key = split_part(unit_key, '.', 1)")
    database.execute(
        "ALTER TABLE inrush.shard ADD FOREIGN KEY (run_id, unit_key) REFERENCES inrush.unit "
        "ON DELETE CASCADE"
    )


def found(database: Database) -> list[tuple[int, str]]:
    return database.rows("SELECT id, note FROM events ORDER BY id")


def test_its_units_are_loaded_again_and_that_is_told(database: Database, inrush: Inrush) -> None:
    stop_half_way(database, inrush, partition_by="id")
    checked = inrush("check", "package.toml").expect(CLEAN, OLDER)
    assert "1 unit starts again from the beginning" in checked.said
    inrush("run", "package.toml").expect(CLEAN, OLDER)
    assert found(database) == ROWS
    inrush("run", "package.toml").expect(CLEAN, "already loaded")
    left = "SELECT relname FROM pg_class WHERE relnamespace = 'inrush_staging'::regnamespace"
    assert database.rows(left) == []


def test_units_of_this_version_are_resumed(database: Database, inrush: Inrush) -> None:
    stop_half_way(database, inrush, partition_by="id")
    database.execute("ALTER TABLE inrush.shard DROP CONSTRAINT shard_run_id_unit_key_fkey")
    for table in ("unit", "shard"):
        database.execute(f"UPDATE inrush.{table} SET unit_key = unit_key || '.2'")
    checked = inrush("check", "package.toml").expect(CLEAN, "1 unit kept")
    assert OLDER not in checked.said
    inrush("run", "package.toml").expect(CLEAN)
    assert found(database) == ROWS


@pytest.mark.parametrize("again", [(), ("--again",)], ids=["", "again"])
def test_rows_that_are_in_a_target_are_refused(
    database: Database, inrush: Inrush, again: tuple[str, ...]
) -> None:
    database.execute("CREATE TABLE events (id int not null, note text)")
    stop_half_way(database, inrush, mode="append", atomic=False)
    refused = inrush("run", "package.toml", *again).expect(FAILED, "Another version of Inrush")
    assert "inrush cleanup --run" in refused.said
    assert found(database) == ROWS[:3]
