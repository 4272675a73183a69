"""Expressions and definitions of indexes, which the parser makes and tables keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# An expression or statement: its kind, then its parts.
Node = tuple[Any, ...]
# The filegroup that every database has.
PRIMARY = "PRIMARY"


@dataclass
class Index:
    """An index, or a key."""

    name: str
    columns: list[str]
    unique: bool
    clustered: bool = False
    is_constraint: bool = False
    is_primary: bool = False
    columnstore: bool = False
    # Which columns of the key are descending.
    descending: list[bool] = field(default_factory=list)
    included: list[str] = field(default_factory=list)
    # The condition of a filtered index, and its text.
    where: Node | None = None
    where_text: str | None = None
    # Its filegroup or partition scheme.
    space: str = PRIMARY


@dataclass
class Computed:
    """The expression from which the server computes a column, and its text as it was written.

    https://learn.microsoft.com/sql/t-sql/statements/alter-table-computed-column-definition-transact-sql
    """

    expression: Node
    text: str
    is_persisted: bool
