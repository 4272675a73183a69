"""Random expressions, each as DuckDB's SQL and as a function of plain Python.

A value is a Python object, and NULL is None. An expression that fails for a row raises
`FailsError`. Operands of conditions never fail, because DuckDB may move constants from one side of
a comparison to the other, and then a part that would fail is not computed.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Values = Mapping[str, Any]

# The types of columns and of derived values, by their names in SQL.
INTEGER = "integer"
BIGINT = "bigint"
TEXT = "text"
DATE = "date"
BOOLEAN = "boolean"
DOUBLE = "double precision"

_RANGES = {INTEGER: 2**31, BIGINT: 2**63}


class FailsError(Exception):
    """The expression fails for this row."""


@dataclass(frozen=True)
class Expression:
    """An expression with its type."""

    sql: str
    type: str
    value: Callable[[Values], Any]


def _strict(function: Callable[..., Any], *parts: Expression) -> Callable[[Values], Any]:
    """Return a function that is NULL if any of its arguments is."""

    def value(row: Values) -> Any:
        arguments = [part.value(row) for part in parts]
        return None if any(one is None for one in arguments) else function(*arguments)

    return value


def _in_range(number: int, type_: str) -> int:
    limit = _RANGES[type_]
    if not -limit <= number < limit:
        raise FailsError(str(number))
    return number


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise FailsError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _rest(left: int, right: int) -> int:
    return left - right * _divided(left, right)


def _number(text: str, type_: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise FailsError(text)
    return _in_range(int(text), type_)


def _key(value: Any) -> Any:
    """Return a key in the order of DuckDB: NaN is the largest number, and equals itself."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: _key(left) == _key(right),
    "<>": lambda left, right: _key(left) != _key(right),
    "<": lambda left, right: _key(left) < _key(right),
    "<=": lambda left, right: _key(left) <= _key(right),
    ">": lambda left, right: _key(left) > _key(right),
    ">=": lambda left, right: _key(left) >= _key(right),
}


class Maker:
    """Makes expressions over columns."""

    def __init__(self, random_: random.Random, columns: Mapping[str, str]) -> None:
        self.random = random_
        # The type of each column, by its name.
        self.columns = dict(columns)

    def of_type(self, type_: str, depth: int) -> Expression:
        """Return an expression of a type, which may fail for some rows."""
        forms: list[Callable[[str, int], Expression]] = [self._plain]
        if depth > 0:
            forms += [self._case, self._coalesce]
            if type_ in (INTEGER, BIGINT):
                forms += [self._arithmetic, self._arithmetic, self._of_text]
            if type_ == BIGINT:
                forms += [self._length, self._days]
            if type_ == TEXT:
                forms += [self._text, self._text]
            if type_ == DATE:
                forms += [self._later]
            if type_ == BOOLEAN:
                return self.condition(depth)
        return self.random.choice(forms)(type_, depth)

    def _plain(self, type_: str, _depth: int) -> Expression:
        names = [name for name, own in self.columns.items() if own == type_]
        if not names or self.random.random() < 0.2:
            return self._literal(type_)
        name = self.random.choice(names)
        return Expression(name, type_, lambda row: row[name])

    def _literal(self, type_: str) -> Expression:
        value: Any
        if type_ in (INTEGER, BIGINT):
            value = self.random.choice([2, 3, 7, 1000, 46_341, 2_000_000_000])
            return Expression(f"CAST({value} AS {type_})", type_, lambda _: value)
        if type_ == TEXT:
            value = self.random.choice(["", "a", "Zz", "12", "it''s", "b|c"])
            return Expression(f"'{value}'", type_, lambda _: value.replace("''", "'"))
        if type_ == DATE:
            value = self.random.choice([datetime.date(1, 1, 1), datetime.date(2024, 2, 29)])
            return Expression(f"DATE '{value.isoformat()}'", type_, lambda _: value)
        if type_ == BOOLEAN:
            value = self.random.random() < 0.5
            return Expression(str(value).lower(), type_, lambda _: value)
        if type_ == DOUBLE:
            value = self.random.choice([0.5, -2.0, 1e300])
            return Expression(f"CAST({value!r} AS DOUBLE)", type_, lambda _: value)
        precision, scale = map(int, type_.removeprefix("numeric(").rstrip(")").split(","))
        value = Decimal(self.random.choice([0, 5, 17]))
        sql = f"CAST({value} AS DECIMAL({precision},{scale}))"
        return Expression(sql, type_, lambda _: value)

    def _case(self, type_: str, depth: int) -> Expression:
        condition = self.condition(depth - 1)
        yes, no = self.of_type(type_, depth - 1), self.of_type(type_, depth - 1)
        return Expression(
            f"CASE WHEN {condition.sql} THEN {yes.sql} ELSE {no.sql} END",
            type_,
            lambda row: yes.value(row) if condition.value(row) is True else no.value(row),
        )

    def _coalesce(self, type_: str, depth: int) -> Expression:
        first, second = self._plain(type_, 0), self.of_type(type_, depth - 1)

        def value(row: Values) -> Any:
            own = first.value(row)
            return second.value(row) if own is None else own

        return Expression(f"coalesce({first.sql}, {second.sql})", type_, value)

    def _arithmetic(self, type_: str, depth: int) -> Expression:
        left, right = self.of_type(type_, depth - 1), self.of_type(type_, depth - 1)
        operator = self.random.choice(["+", "-", "*", "//", "%"])
        compute: dict[str, Callable[[int, int], int]] = {
            "+": lambda one, other: one + other,
            "-": lambda one, other: one - other,
            "*": lambda one, other: one * other,
            "//": _divided,
            "%": _rest,
        }

        def checked(one: int, other: int) -> int:
            if operator == "%":
                # DuckDB divides first: the lowest number by -1 fails, although its rest is 0.
                _in_range(_divided(one, other), type_)
            return _in_range(compute[operator](one, other), type_)

        sql = f"({left.sql} {operator} {right.sql})"
        return Expression(sql, type_, _strict(checked, left, right))

    def _of_text(self, type_: str, _depth: int) -> Expression:
        text = self._plain(TEXT, 0)
        sql = f"CAST({text.sql} AS {type_})"
        return Expression(sql, type_, _strict(lambda own: _number(own, type_), text))

    def _length(self, type_: str, depth: int) -> Expression:
        text = self.of_type(TEXT, depth - 1)
        return Expression(f"length({text.sql})", type_, _strict(len, text))

    def _days(self, type_: str, _depth: int) -> Expression:
        first, second = self._plain(DATE, 0), self._plain(DATE, 0)
        days = _strict(lambda one, other: (other - one).days, first, second)
        return Expression(f"date_diff('day', {first.sql}, {second.sql})", type_, days)

    def _text(self, type_: str, depth: int) -> Expression:
        text = self.of_type(TEXT, depth - 1)
        form = self.random.randrange(6)
        if form == 0:
            return Expression(f"upper({text.sql})", type_, _strict(str.upper, text))
        if form == 1:
            start, length = self.random.randint(1, 4), self.random.randint(0, 5)
            cut = _strict(lambda own: own[start - 1 : start - 1 + length], text)
            return Expression(f"substr({text.sql}, {start}, {length})", type_, cut)
        if form == 2:
            other = self.of_type(TEXT, depth - 1)
            joined = _strict(lambda one, second: one + second, text, other)
            return Expression(f"({text.sql} || {other.sql})", type_, joined)
        if form == 3:
            other = self.of_type(TEXT, depth - 1)

            def without_null(row: Values) -> str:
                return (text.value(row) or "") + (other.value(row) or "")

            return Expression(f"concat({text.sql}, {other.sql})", type_, without_null)
        if form == 4:
            replaced = _strict(lambda own: own.replace("a", "bb"), text)
            return Expression(f"replace({text.sql}, 'a', 'bb')", type_, replaced)
        number = self.of_type(self.random.choice([INTEGER, BIGINT]), depth - 1)
        return Expression(f"CAST({number.sql} AS VARCHAR)", type_, _strict(str, number))

    def _later(self, type_: str, _depth: int) -> Expression:
        day, days = self._plain(DATE, 0), self.random.randint(1, 40)

        def later(own: datetime.date) -> datetime.date:
            return own + datetime.timedelta(days=days)

        return Expression(f"CAST({day.sql} + {days} AS DATE)", type_, _strict(later, day))

    def condition(self, depth: int) -> Expression:
        """Return a condition whose operands never fail."""
        form = self.random.randrange(6 if depth > 0 else 3)
        if form in (3, 4):
            one, other = self.condition(depth - 1), self.condition(depth - 1)
            word = ["AND", "OR"][form - 3]
            decides = form == 4

            def both(row: Values) -> bool | None:
                values = (one.value(row), other.value(row))
                if decides in values:
                    return decides
                return None if None in values else not decides

            return Expression(f"({one.sql} {word} {other.sql})", BOOLEAN, both)
        if form == 5:
            one = self.condition(depth - 1)
            return Expression(f"(NOT {one.sql})", BOOLEAN, _strict(lambda own: not own, one))
        type_ = self.random.choice(sorted(set(self.columns.values())))
        left = self._plain(type_, 0)
        if form == 0:
            return Expression(f"({left.sql} IS NULL)", BOOLEAN, lambda row: left.value(row) is None)
        right = self._plain(type_, 0)
        operator = self.random.choice(list(_COMPARISONS))
        sql = f"({left.sql} {operator} {right.sql})"
        return Expression(sql, BOOLEAN, _strict(_COMPARISONS[operator], left, right))
