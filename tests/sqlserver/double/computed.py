"""The types of computed columns, which are those of their expressions."""

from __future__ import annotations

from typing import Any

from .errors import NotInDoubleError, SqlError
from .nodes import Node
from .types import Column, SqlType

_INT = SqlType("int")


def find_types(table: str, columns: list[Column]) -> None:
    """Set the types of a table's computed columns (errors 207 and 1759)."""
    for column in columns:
        if column.computed is not None:
            column.kind = _type_of(column.computed.expression, table, columns)


def _type_of(node: Node, table: str, columns: list[Column]) -> SqlType:
    if node[0] == "column":
        found = [one for one in columns if one.name.lower() == node[2].lower()]
        if not found:
            raise SqlError(207, node[2])
        if found[0].computed is not None:
            raise SqlError(1759, found[0].name, table)
        return found[0].kind
    if node[0] == "literal" and _is_int(node[1]):
        return _INT
    if node[0] == "arithmetic":
        sides = [_type_of(side, table, columns) for side in node[2:]]
        if sides == [_INT, _INT]:
            return _INT
    raise NotInDoubleError("the type of a computed column's expression")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and abs(value) < 2**31
