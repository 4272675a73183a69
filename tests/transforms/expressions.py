"""Random expressions, each as DuckDB's SQL and as a function of plain Python.

A value is a Python object, and NULL is None; dates and timestamps are numbers (`moments.py`). An
expression that fails for a row raises `FailsError`. Operands of conditions never fail: DuckDB may
move constants from one side of a comparison to the other, and then does not compute a part that
would fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from transforms.moments import (
    DATE_RANGE,
    DAY_MICROSECONDS,
    TIMESTAMP_RANGE,
    Moment,
    civil,
    date,
    days_of,
    is_infinite,
    timestamp,
)

Values = Mapping[str, Any]

# The types of columns and of derived values, by their names in SQL.
INTEGER = "integer"
BIGINT = "bigint"
TEXT = "text"
DATE = "date"
TIMESTAMP = "timestamp"
TIMESTAMPTZ = "timestamptz"
BOOLEAN = "boolean"
DOUBLE = "double precision"

_RANGES = {INTEGER: 2**31, BIGINT: 2**63}


class FailsError(Exception):
    """The expression fails for this row."""

    code = "step_failed"


class OutOfRangeError(FailsError):
    """The result is a date that DuckDB can hold but a column of a target cannot."""

    code = "out_of_range"


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


def _is_in(limits: tuple[int, int], moment: Moment) -> bool:
    return is_infinite(moment) or limits[0] <= moment <= limits[1]


def _in_dates(moment: Moment) -> Moment:
    if not _is_in(DATE_RANGE, moment):
        raise OutOfRangeError(str(moment))
    return moment


def _in_timestamps(moment: Moment) -> Moment:
    if not _is_in(TIMESTAMP_RANGE, moment):
        raise FailsError(str(moment))
    return moment


def _finite(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails if an argument is infinite."""

    def value(*arguments: Moment) -> Any:
        if any(map(is_infinite, arguments)):
            raise FailsError("infinite")
        return function(*arguments)

    return value


def _same_if_infinite(function: Callable[[int], Moment]) -> Callable[[Moment], Moment]:
    return lambda moment: moment if isinstance(moment, float) else function(moment)


def _day(moment: int) -> int:
    """Return the day of a timestamp."""
    return moment // DAY_MICROSECONDS


# Parts of the days of dates and timestamps.
_PARTS: dict[str, Callable[[int], int]] = {
    "year": lambda day: civil(day)[0],
    "month": lambda day: civil(day)[1],
    "day": lambda day: civil(day)[2],
    "dayofyear": lambda day: day - days_of(civil(day)[0], 1, 1) + 1,
    # 1970-01-01 was a Thursday.
    "isodow": lambda day: (day + 3) % 7 + 1,
}
_TRUNCATED: dict[str, Callable[[int], int]] = {
    "year": lambda own: days_of(civil(_day(own))[0], 1, 1) * DAY_MICROSECONDS,
    "month": lambda own: days_of(*civil(_day(own))[:2], 1) * DAY_MICROSECONDS,
    "day": lambda own: _day(own) * DAY_MICROSECONDS,
    "hour": lambda own: own - own % 3_600_000_000,
}


def _key(value: Any) -> Any:
    """Return a key in the order of DuckDB: NaN is the largest number, and equals itself."""
    return (1, 0) if value != value else (0, value)


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

    def derived(self, type_: str, depth: int) -> Expression:
        """Return an expression of a derived column, which may fail for some rows.

        Parts of dates and distances between them are whole expressions: if a date is infinite, they
        fail there, but inside a longer expression they are NULL.
        """
        if type_ == BIGINT and self.random.random() < 0.5:
            forms = [self._part, self._finite_part, self._difference, self._days]
            return self.random.choice(forms)(type_, depth)
        return self.of_type(type_, depth)

    def of_type(self, type_: str, depth: int) -> Expression:
        """Return an expression of a type, which may fail for some rows."""
        forms: list[Callable[[str, int], Expression]] = [self._plain]
        if depth > 0:
            forms += [self._case, self._coalesce]
            if type_ in (INTEGER, BIGINT):
                forms += [self._arithmetic, self._arithmetic, self._of_text]
            if type_ == BIGINT:
                forms += [self._length]
            if type_ == TEXT:
                forms += [self._text, self._text]
            if type_ == DATE:
                forms += [self._later, self._date_of]
            if type_ == TIMESTAMP:
                forms += [self._shifted, self._truncated, self._start_of]
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
            text = self.random.choice(["0001-01-01", "2024-02-29"])
            value = date(text)
            return Expression(f"DATE '{text}'", type_, lambda _: value)
        if type_ in (TIMESTAMP, TIMESTAMPTZ):
            text = self.random.choice(["1969-12-31 23:59:59.999999", "2024-02-29 12:34:56"])
            value = timestamp(text)
            return Expression(f"CAST('{text}' AS {type_})", type_, lambda _: value)
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
                # DuckDB divides first, so the lowest number by -1 fails, although the remainder is
                # 0.
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
        own = self.random.choice([DATE, TIMESTAMP])
        first, second = self._plain(own, 0), self._plain(own, 0)
        unit = 1 if own == DATE else DAY_MICROSECONDS

        def days(one: int, other: int) -> int:
            return other // unit - one // unit

        sql = f"date_diff('day', {first.sql}, {second.sql})"
        return Expression(sql, type_, _strict(_finite(days), first, second))

    def _difference(self, type_: str, _depth: int) -> Expression:
        first, second = self._plain(DATE, 0), self._plain(DATE, 0)
        days = _strict(_finite(lambda one, other: one - other), first, second)
        return Expression(f"({first.sql} - {second.sql})", type_, days)

    def _part(self, type_: str, _depth: int) -> Expression:
        moment, name = self._of_days()
        sql = f"{name}({moment.sql})"
        return Expression(sql, type_, _strict(_finite(_part_of(moment, name)), moment))

    def _finite_part(self, type_: str, _depth: int) -> Expression:
        moment, name = self._of_days()
        part = _part_of(moment, name)
        own = _strict(lambda one: None if is_infinite(one) else part(one), moment)
        sql = f"CASE WHEN isfinite({moment.sql}) THEN {name}({moment.sql}) END"
        return Expression(sql, type_, own)

    def _of_days(self) -> tuple[Expression, str]:
        """Return a date or a timestamp, and the name of a part of it."""
        moment = self._plain(self.random.choice([DATE, TIMESTAMP]), 0)
        return moment, self.random.choice(list(_PARTS))

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
        later = _strict(lambda own: _in_dates(own + days), day)
        return Expression(f"CAST({day.sql} + {days} AS DATE)", type_, later)

    def _date_of(self, type_: str, _depth: int) -> Expression:
        moment = self._plain(TIMESTAMP, 0)
        own = _strict(_same_if_infinite(_day), moment)
        return Expression(f"CAST({moment.sql} AS DATE)", type_, own)

    def _start_of(self, type_: str, _depth: int) -> Expression:
        day = self._plain(DATE, 0)
        start = _strict(lambda own: _in_timestamps(own * DAY_MICROSECONDS), day)
        return Expression(f"CAST({day.sql} AS TIMESTAMP)", type_, start)

    def _shifted(self, type_: str, _depth: int) -> Expression:
        moment, hours = self._plain(TIMESTAMP, 0), self.random.randint(-500, 500)
        by = hours * DAY_MICROSECONDS // 24
        shifted = _strict(lambda own: _in_timestamps(own + by), moment)
        return Expression(f"({moment.sql} + INTERVAL '{hours} hours')", type_, shifted)

    def _truncated(self, type_: str, _depth: int) -> Expression:
        moment, unit = self._plain(TIMESTAMP, 0), self.random.choice(list(_TRUNCATED))
        cut = _same_if_infinite(_TRUNCATED[unit])
        own = _strict(lambda one: _in_timestamps(cut(one)), moment)
        return Expression(f"date_trunc('{unit}', {moment.sql})", type_, own)

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


def _part_of(moment: Expression, name: str) -> Callable[[int], int]:
    part = _PARTS[name]
    return (lambda own: part(_day(own))) if moment.type == TIMESTAMP else part
