"""Values of expressions, and the collations by which texts are compared."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from .conversions import converted
from .editions import refuse_collation
from .errors import NotInDoubleError, SqlError
from .functions import MOMENTS, TEXT_FUNCTIONS
from .nodes import Node
from .types import Column

if TYPE_CHECKING:
    from .queries import Queries

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
}
# A precision with more digits than any number has.
_DIGITS = 76
AGGREGATES = ("COUNT_BIG", "COUNT", "MAX", "MIN", "SUM")


class Scope:
    """The columns of each source's row, by alias; in a subquery also those of the outer query."""

    __slots__ = ("outer", "sources")

    def __init__(self, outer: Scope | None = None) -> None:
        self.sources: list[tuple[str, list[Column], list[Any]]] = []
        self.outer = outer

    def find(self, alias: str | None, name: str) -> tuple[Column, Any]:
        """Return a column and its value (error 207)."""
        found = self.place(alias, name)
        if found is not None:
            source, place = found
            _, columns, values = self.sources[source]
            return columns[place], values[place]
        if self.outer is not None:
            return self.outer.find(alias, name)
        raise SqlError(207, name)

    def place(self, alias: str | None, name: str) -> tuple[int, int] | None:
        """Return the positions of a column's source, and of the column in it; None for no own."""
        wanted = name.lower()
        for source, (own, columns, _) in enumerate(self.sources):
            if alias is not None and own.lower() != alias.lower():
                continue
            for place, column in enumerate(columns):
                if column.name.lower() == wanted:
                    return source, place
        return None


def aggregates(node: Any) -> bool:
    """Return whether an expression has an aggregate function."""
    if not isinstance(node, (tuple, list)):
        return False
    if isinstance(node, tuple) and node and node[0] == "call" and node[1] in AGGREGATES:
        return True
    if isinstance(node, tuple) and node and node[0] in ("query", "exists", "in_query"):
        return False
    return any(aggregates(part) for part in node)


def conjunction(values: Iterable[Any]) -> Any:
    """Return the AND of values; None is the unknown value of a comparison with NULL."""
    result: Any = True
    for value in values:
        if value is False:
            return False
        if value is None:
            result = None
    return result


class Evaluator:
    """Evaluates expressions for a session."""

    def __init__(self, session: Queries) -> None:
        self._session = session
        # The values of window functions, by function and row.
        self._windows: dict[int, dict[int, Any]] = {}

    def look_through_windows(self, nodes: list[Node], scopes: list[Scope]) -> None:
        """Evaluate the window functions for all rows of a query."""
        for node in nodes:
            if node[0] == "row_number":
                self._windows[id(node)] = self._numbers(node[1], scopes)
            if node[0] != "over":
                continue
            groups: dict[Any, list[Scope]] = {}
            for scope in scopes:
                groups.setdefault(self.key(node[3], scope), []).append(scope)
            values = self._windows[id(node)] = {}
            for group in groups.values():
                value = self._aggregate(node[1], node[2], group)
                values |= dict.fromkeys(map(id, group), value)

    def _numbers(self, order: list[Node], scopes: list[Scope]) -> dict[int, int]:
        """Return the number of each row from 1, in the order of these values."""
        sorted_scopes = self._session._ordered(list(scopes), [(node, False) for node in order])
        return {id(scope): number for number, scope in enumerate(sorted_scopes, start=1)}

    def _row_number(self, node: Node, scope: Scope, _: Any) -> Any:
        return self._windows[id(node)][id(scope)]

    def key(self, nodes: list[Node], scope: Scope) -> tuple[Any, ...]:
        """Return values in a form in which SQL's equal values are equal; NULL is equal to NULL."""
        found = []
        for node in nodes:
            value = self.value(node, scope)
            if isinstance(value, str):
                value = value.rstrip(" ")
                value = value if self.is_binary(scope, node) else value.casefold()
            found.append(value)
        return tuple(found)

    def _over(self, node: Node, scope: Scope, _: Any) -> Any:
        return self._windows[id(node)][id(scope)]

    def value(self, node: Node, scope: Scope, group: list[Scope] | None = None) -> Any:
        """Return the value of an expression; a comparison with NULL is None."""
        kind = node[0]
        method: Callable[[Node, Scope, list[Scope] | None], Any] | None
        method = getattr(self, f"_{kind}", None)
        if method is None:
            raise NotInDoubleError(f"expression {kind}")
        return method(node, scope, group)

    def _literal(self, node: Node, *_: Any) -> Any:
        return node[1]

    def _column(self, node: Node, scope: Scope, _: Any) -> Any:
        return scope.find(node[1], node[2])[1]

    def _variable(self, node: Node, *_: Any) -> Any:
        if node[1] == "@@TRANCOUNT":
            return self._session.transaction_count
        if node[1] == "@@SPID":
            return self._session.number
        raise NotInDoubleError(node[1])

    def _and(self, node: Node, scope: Scope, group: Any) -> Any:
        return conjunction(self.value(part, scope, group) for part in node[1:])

    def _or(self, node: Node, scope: Scope, group: Any) -> Any:
        result: Any = False
        for part in node[1:]:
            value = self.value(part, scope, group)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    def _not(self, node: Node, scope: Scope, group: Any) -> Any:
        value = self.value(node[1], scope, group)
        return None if value is None else not value

    def _is_null(self, node: Node, scope: Scope, group: Any) -> bool:
        return self.value(node[1], scope, group) is None

    def _compare(self, node: Node, scope: Scope, group: Any) -> Any:
        left, right = self.value(node[2], scope, group), self.value(node[3], scope, group)
        # Only texts have a collation, and most comparisons are of the numbers of a key.
        are_texts = isinstance(left, str) and isinstance(right, str)
        is_binary = are_texts and self.is_binary(scope, node[2], node[3])
        return self.compared(node[1], left, right, is_binary)

    def compared(self, mark: str, left: Any, right: Any, is_binary: bool) -> Any:
        """Compare two values as the server does; trailing blanks of texts do not count."""
        if left is None or right is None:
            return None
        # Most comparisons are of the numbers of a key.
        if type(left) is int and type(right) is int:
            return _COMPARISONS[mark](left, right)
        if isinstance(left, str) and isinstance(right, str):
            left, right = left.rstrip(" "), right.rstrip(" ")
            if not is_binary:
                left, right = left.casefold(), right.casefold()
        elif isinstance(left, bytes) and isinstance(right, bytes):
            # Zeros at the end do not count.
            left, right = left.rstrip(b"\0"), right.rstrip(b"\0")
        elif isinstance(left, str) != isinstance(right, str):
            left, right = Decimal(str(left)), Decimal(str(right))
        return _COMPARISONS[mark](left, right)

    def is_binary(self, scope: Scope, *nodes: Node) -> bool:
        """Return whether texts are compared by their codes, because one has a BIN2 collation."""
        for node in nodes:
            if node[0] == "collate" and node[2].upper().endswith("BIN2"):
                return True
            if node[0] == "column":
                kind = scope.find(node[1], node[2])[0].kind
                if kind.collation is not None and kind.collation.endswith("BIN2"):
                    return True
        return False

    def _arithmetic(self, node: Node, scope: Scope, group: Any) -> Any:
        left, right = self.value(node[2], scope, group), self.value(node[3], scope, group)
        if left is None or right is None:
            return None
        return {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}[
            node[1]
        ](left, right)

    def _in(self, node: Node, scope: Scope, group: Any) -> Any:
        left = self.value(node[1], scope, group)
        is_binary = self.is_binary(scope, node[1])
        values = [self.value(part, scope, group) for part in node[2]]
        return self._is_among(left, values, is_binary)

    def _in_query(self, node: Node, scope: Scope, group: Any) -> Any:
        left = self.value(node[1], scope, group)
        rows = self._session.query_rows(node[2], scope)
        return self._is_among(left, [row[0] for row in rows], self.is_binary(scope, node[1]))

    def _is_among(self, left: Any, values: list[Any], is_binary: bool) -> Any:
        found = [self.compared("=", left, value, is_binary) for value in values]
        if True in found:
            return True
        return None if None in found else False

    def _exists(self, node: Node, scope: Scope, _: Any) -> bool:
        found = self._session.has_row(node[1], scope)
        return bool(self._session.query_rows(node[1], scope)) if found is None else found

    def _query(self, node: Node, scope: Scope, _: Any) -> Any:
        rows = self._session.query_rows(node[1], scope)
        return rows[0][0] if rows else None

    def _case(self, node: Node, scope: Scope, group: Any) -> Any:
        for condition, result in node[1]:
            if self.value(condition, scope, group):
                return self.value(result, scope, group)
        return self.value(node[2], scope, group)

    def _partition(self, node: Node, scope: Scope, group: Any) -> int:
        return self._session.partition_number(node[1], self.value(node[2], scope, group))

    def _cast(self, node: Node, scope: Scope, group: Any) -> Any:
        value = self.value(node[1], scope, group)
        is_utf8 = node[1][0] == "collate" and node[1][2].upper().endswith("_UTF8")
        if is_utf8 and node[2].name == "varchar" and value is not None:
            # The bytes that the server stores.
            return str(value).encode()
        if node[2].name == "varbinary" and isinstance(value, str):
            if node[1][0] != "column":
                raise NotInDoubleError("the bytes of a text that is no column")
            return value.encode(scope.find(node[1][1], node[1][2])[0].kind.encoding)
        return converted(value, node[2])

    def _collate(self, node: Node, scope: Scope, group: Any) -> Any:
        refuse_collation(self._session.database, node[2])
        return self.value(node[1], scope, group)

    def _convert(self, node: Node, scope: Scope, group: Any) -> Any:
        value = self.value(node[2], scope, group)
        if value is None:
            return None
        if node[1].name == "varbinary" and self.value(node[3], scope, group) == 2:
            return bytes.fromhex(value)
        if node[1].name == "bigint" and isinstance(value, bytes):
            return int.from_bytes(value, "big", signed=True)
        if node[1].name == "nvarchar" and self.value(node[3], scope, group) == 126:
            return str(value).replace(" ", "T")
        raise NotInDoubleError(f"CONVERT to {node[1].name}")

    def _call(self, node: Node, scope: Scope, group: list[Scope] | None) -> Any:
        name, arguments = node[1], node[2]
        if name in AGGREGATES:
            if group is None:
                raise NotInDoubleError(f"{name} in this place")
            return self._aggregate(name, arguments, group)
        if name in MOMENTS:
            # The first argument is a word.
            values = [self.value(argument, scope, group) for argument in arguments[1:]]
            return None if None in values else MOMENTS[name](arguments[0][2].lower(), *values)
        values = [self.value(argument, scope, group) for argument in arguments]
        if name in TEXT_FUNCTIONS:
            return None if None in values else TEXT_FUNCTIONS[name](*values)
        if name == "COALESCE" or name == "ISNULL":
            return next((value for value in values if value is not None), None)
        return self._session.function(name, values)

    def _aggregate(self, name: str, arguments: list[Node], group: list[Scope]) -> Any:
        if arguments[0] == ("star",):
            return len(group)
        values = [self.value(arguments[0], scope) for scope in group]
        values = [value for value in values if value is not None]
        if name in ("COUNT_BIG", "COUNT"):
            return len(values)
        if not values:
            return None
        whole: dict[str, Callable[[list[Any]], Any]] = {"MAX": max, "MIN": min, "SUM": sum}
        with localcontext() as context:
            context.prec = _DIGITS
            return whole[name](values)
