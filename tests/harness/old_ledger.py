"""A PostgreSQL ledger of version 4, made from a current one."""

from __future__ import annotations

from harness.servers import Database

_ALTER = (
    "ALTER TABLE inrush.shard DROP COLUMN rows_filtered, DROP COLUMN rows_added, "
    "ADD CONSTRAINT shard_check CHECK (rows_read = rows_loaded + rows_rejected + rows_skipped)"
)
_COMMENT = "'The ledger of Inrush, version 4: what each run has loaded'"


def make_version_4(database: Database) -> None:
    """Give the ledger the form of version 4: no filtered or added rows, and no lineage."""
    lineage = "DROP TABLE IF EXISTS inrush.lineage"
    database.execute(f"{_ALTER}; {lineage}; COMMENT ON SCHEMA inrush IS {_COMMENT}")
