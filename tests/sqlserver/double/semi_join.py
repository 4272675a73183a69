"""EXISTS and joins by a key: a row is looked up by its key, without reading all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .nodes import Node
from .types import Column


@dataclass(frozen=True)
class Equality:
    """A column of the subquery that must equal an expression of the outer query."""

    inner: Node
    outer: Node
    # True if NULL is equal to NULL.
    with_null: bool


@dataclass(frozen=True)
class Keys:
    """The rows of a subquery by their keys."""

    equalities: list[Equality]
    # The columns and values of each row, as a scope has them.
    rows: dict[tuple[Any, ...], list[Any]]
    # The other condition that a row must fulfil.
    rest: Node | None


@dataclass(frozen=True)
class JoinIndex:
    """The rows of a joined source by their keys."""

    columns: list[Column]
    equalities: list[Equality]
    rows: dict[tuple[Any, ...], list[list[Any]]]


def conditions(where: Node | None) -> Iterator[Node]:
    """Return the conditions that are joined by AND."""
    if where is None:
        return
    if where[0] == "and":
        yield from conditions(where[1])
        yield from conditions(where[2])
    else:
        yield where


def _is_of_another(node: Node, alias: str) -> bool:
    """Return whether it is a column of another alias, perhaps cast or with a collation."""
    while node[0] in ("cast", "collate"):
        node = node[1]
    return node[0] == "column" and node[1] not in (None, alias)


def equality(node: Node, alias: str) -> Equality | None:
    """Return a condition as an equality, if it compares with a column of another alias."""
    if node[:2] == ("compare", "="):
        for inner, outer in ((node[2], node[3]), (node[3], node[2])):
            if inner[:2] == ("column", alias) and _is_of_another(outer, alias):
                return Equality(inner, outer, with_null=False)
    if node[0] == "or":
        plain = equality(node[1], alias)
        both = node[2]
        if plain is not None and both == (
            "and",
            ("is_null", plain.inner),
            ("is_null", plain.outer),
        ):
            return Equality(plain.inner, plain.outer, with_null=True)
    return None
