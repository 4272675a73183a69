"""Expressions as functions of a row, for queries of many rows.

A load reads a table range by range, and each query of a range has a condition on every row. An
expression is looked through once for a query, and not once for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expressions import Evaluator, Scope, conjunction
from .nodes import Node

# The value of an expression for a row.
OfRow = Callable[[Scope], Any]


def compiled(evaluator: Evaluator, node: Node, first: Scope) -> OfRow:
    """Return a function with the values of `Evaluator.value` for the rows of a query.

    `first` is one of these rows; all of them have the same sources.
    """
    if node[0] == "literal":
        return lambda _: node[1]
    if node[0] == "column":
        found = first.place(node[1], node[2])
        if found is not None:
            source, place = found
            return lambda row: row.sources[source][2][place]
    if node[0] == "compare":
        left, right = (compiled(evaluator, part, first) for part in node[2:4])
        is_binary = evaluator.is_binary(first, *node[2:4])
        return lambda row: evaluator.compared(node[1], left(row), right(row), is_binary)
    if node[0] == "and":
        parts = [compiled(evaluator, part, first) for part in node[1:]]
        return lambda row: conjunction(part(row) for part in parts)
    return lambda row: evaluator.value(node, row)
