"""Rowgroups of clustered columnstores: which rows of a batch are compressed, and how many.

The rules are those of
https://learn.microsoft.com/sql/relational-databases/indexes/columnstore-indexes-data-loading-guidance
and of
https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-db-column-store-row-group-physical-stats-transact-sql
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .storage import Database, Table

# The number of the partition of a table without partitions.
_WHOLE = 1


@dataclass(frozen=True)
class RowGroup:
    """A rowgroup: its partition, its rows, and why it was closed; None if it is open."""

    partition: int
    rows: int
    trim_reason: str | None

    @property
    def state(self) -> str:
        """Return its state."""
        return "OPEN" if self.trim_reason is None else "COMPRESSED"


def built(database: Database, rows: Counter[int]) -> list[RowGroup]:
    """Return the rowgroups of a columnstore built from rows; `rows` counts them by partition.

    "RESIDUAL_ROW_GROUP: Closed because it is last row group with rows < 1 million during index
    build operation."
    """
    return [group for at in sorted(rows) for group in _full(database, at, rows[at], is_build=True)]


def inserted(database: Database, rows: Counter[int]) -> list[RowGroup]:
    """Return the rowgroups that one statement, or one batch of a bulk load, makes."""
    return [group for at in sorted(rows) for group in _full(database, at, rows[at], is_build=False)]


def _full(database: Database, partition: int, rows: int, *, is_build: bool) -> list[RowGroup]:
    most, least = database.rowgroup_rows_max, database.compressed_rows_min
    groups = [RowGroup(partition, most, "NO_TRIM")] * (rows // most)
    rest = rows % most
    if not rest:
        return groups
    reason = "RESIDUAL_ROW_GROUP" if is_build else "BULKLOAD" if rest >= least else None
    if is_build and database.trims_builds_for is not None:
        reason = database.trims_builds_for
    return [*groups, RowGroup(partition, rest, reason)]


def columnstore(table: Table) -> bool:
    """Return whether a table is a clustered columnstore."""
    return any(index.clustered and index.columnstore for index in table.indexes)


def rowgroups(tables: list[Table]) -> list[list[Any]]:
    """Return the rows of the view of rowgroups."""
    return [
        [table.object_id, 1, group.partition, number, group.state, group.rows, group.trim_reason]
        for table in tables
        for number, group in enumerate(table.rowgroups)
    ]
