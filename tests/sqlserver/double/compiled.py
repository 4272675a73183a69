"""Expressions as functions of a row, for queries of many rows.

A load reads a table range by range, and each query of a range has a condition on every row. An
expression is looked through once for a query, and not once for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expressions import COMPARISONS, Evaluator, Scope
from .nodes import Node

# The value of an expression for a row.
OfRow = Callable[[Scope], Any]


def compiled(evaluator: Evaluator, node: Node, first: Scope) -> OfRow:
    """Return a function with the values of `Evaluator.value` for the rows of a query.

    `first` is one of these rows; all of them have the same sources.
    """
    if node[0] == "literal":
        return lambda _, value=node[1]: value  # type: ignore[misc]
    if node[0] == "column":
        found = first.place(node[1], node[2])
        if found is not None:
            source, place = found
            return lambda row: row.sources[source][2][place]
    if node[0] == "compare":
        return _comparison(evaluator, node, first)
    if node[0] == "and":
        return _conjunction([compiled(evaluator, part, first) for part in node[1:]])
    return lambda row: evaluator.value(node, row)


def _comparison(evaluator: Evaluator, node: Node, first: Scope) -> OfRow:
    left, right = (compiled(evaluator, part, first) for part in node[2:4])
    is_binary = evaluator.is_binary(first, *node[2:4])
    mark, compare = node[1], COMPARISONS[node[1]]

    def value(row: Scope) -> Any:
        one, other = left(row), right(row)
        # Most comparisons are of the numbers of a key.
        if type(one) is int and type(other) is int:
            return compare(one, other)
        return evaluator.compared(mark, one, other, is_binary)

    return value


def _conjunction(parts: list[OfRow]) -> OfRow:
    def value(row: Scope) -> Any:
        result: Any = True
        for part in parts:
            found = part(row)
            if found is False:
                return False
            if found is None:
                result = None
        return result

    return value
