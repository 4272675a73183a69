"""Partition functions and schemes of the double, and the partition of each row."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .nodes import PRIMARY
from .types import TEXTS, SqlType

if TYPE_CHECKING:
    from .storage import Database, Table


@dataclass(frozen=True)
class PartitionFunction:
    """A function: the type of its values, and its bounds in ascending order."""

    name: str
    kind: SqlType
    is_right: bool
    bounds: tuple[Any, ...]
    # How often the function was changed.
    changes: int = 0

    @property
    def fanout(self) -> int:
        """Return the number of partitions."""
        return len(self.bounds) + 1

    def number(self, value: Any) -> int:
        """Return the partition of a value; NULL is in the leftmost one."""
        if value is None:
            return 1
        key = key_of(self.kind, value)
        below = sum(1 for bound in self.bounds if bound < key)
        return 1 + below + int(self.is_right and key in self.bounds)

    def ends(self, number: int) -> tuple[Any, Any, bool]:
        """Return the bounds of a partition; None for no bound."""
        bounds = (None, *self.bounds, None)
        return bounds[number - 1], bounds[number], self.is_right

    def contains(self, number: int, other: PartitionFunction, other_number: int) -> bool:
        """Return whether a partition contains a partition of another function."""
        low, high, is_right = self.ends(number)
        other_low, other_high, other_is_right = other.ends(other_number)
        if is_right != other_is_right and (low, high) != (None, None):
            return False
        begins = low is None or (other_low is not None and other_low >= low)
        ends = high is None or (other_high is not None and other_high <= high)
        return begins and ends


@dataclass(frozen=True)
class PartitionScheme:
    """A scheme: its function, and the filegroup of each partition."""

    name: str
    function: PartitionFunction
    filegroups: tuple[str, ...]
    # The filegroup of the next partition.
    next_used: str | None = None


def key_of(kind: SqlType, value: Any) -> Any:
    """Return a value in a form that sorts as the type does."""
    if kind.name in TEXTS:
        return str(value).rstrip(" ").casefold()
    if kind.name == "date":
        return datetime.date.fromisoformat(str(value))
    if kind.name in ("datetime", "smalldatetime", "datetime2", "datetimeoffset"):
        moment = datetime.datetime.fromisoformat(str(value).replace(" +", "+")[:32])
        return moment.replace(tzinfo=None)
    if kind.name in ("real", "float"):
        return float(value)
    return Decimal(str(value))


def scheme_of(database: Database, table: Table) -> PartitionScheme | None:
    """Return the scheme of a table that has partitions."""
    return database.schemes.get(table.space.lower()) if table.partition_column else None


def partition_of(scheme: PartitionScheme, table: Table, values: list[Any]) -> int:
    """Return the partition of a row."""
    place = table.place(table.partition_column or "")
    assert place is not None
    return scheme.function.number(values[place])


def large_value_space(table: Table) -> str | None:
    """Return the filegroup or scheme of a table's large values; None if it has no such columns."""
    if not any(column.kind.is_chunked for column in table.columns):
        return None
    if table.large_value_space is not None:
        return table.large_value_space
    # "If TEXTIMAGE_ON isn't specified at all, the large value columns are stored in the default
    # filegroup." (https://learn.microsoft.com/sql/t-sql/statements/create-table-transact-sql)
    return table.space if table.partition_column else PRIMARY


def filegroup(database: Database, table: Table, number: int | None) -> str:
    """Return the filegroup of a partition, or of a table without partitions."""
    scheme = scheme_of(database, table)
    return table.space if scheme is None or number is None else scheme.filegroups[number - 1]
