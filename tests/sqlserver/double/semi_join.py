"""EXISTS by a key: a row of the subquery is looked up by its key, without reading all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .nodes import Node


@dataclass(frozen=True)
class Equality:
    """A column of the subquery that equals an expression of the query around it."""

    inner: Node
    outer: Node
    # NULL is equal to NULL.
    with_null: bool


def conditions(where: Node | None) -> Iterator[Node]:
    """Return the conditions that are joined by AND."""
    if where is None:
        return
    if where[0] == "and":
        yield from conditions(where[1])
        yield from conditions(where[2])
    else:
        yield where


def equality(node: Node, alias: str) -> Equality | None:
    """Return a condition as an equality, if it compares with a column of another alias."""
    if node[:2] == ("compare", "=") and node[2][0] == node[3][0] == "column":
        inner, outer = node[2], node[3]
        if inner[1] == alias and outer[1] not in (None, alias):
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
