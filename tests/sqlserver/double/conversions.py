"""Converts values to the types of columns.

For the rules of cutting and rounding, see "Truncating and rounding results" of
https://learn.microsoft.com/sql/t-sql/functions/cast-and-convert-transact-sql.
"""

from __future__ import annotations

import datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any

from .errors import NotInDoubleError, SqlError
from .types import TEXTS, Column, Money, SqlType

# A precision with more digits than any number has.
_DIGITS = 76
_RANGES = {
    "tinyint": (0, 255),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}
# The smallest absolute value that is too large for each type.
_MONEY = {"money": Decimal(2**63).scaleb(-4), "smallmoney": Decimal(2**31).scaleb(-4)}


def _integer(value: Any, kind: SqlType) -> int:
    """Return a whole number: money is rounded, other numbers are cut (errors 245, 220, 8115)."""
    if isinstance(value, str):
        text = value.strip()
        if not text.lstrip("+-").isdigit():
            raise SqlError(245, value, kind.name)
        number = int(text)
    elif isinstance(value, Money):
        number = int(value.quantize(Decimal(1), ROUND_HALF_UP))
    elif isinstance(value, Decimal):
        number = int(value.to_integral_value(ROUND_DOWN))
    else:
        number = int(value)
    low, high = _RANGES[kind.name]
    if low <= number <= high:
        return number
    if kind.name in ("tinyint", "smallint"):
        raise SqlError(220, kind.name, number)
    raise SqlError(8115, kind.name)


def _rounded(value: Any, kind: SqlType, scale: int, beyond: Decimal) -> Decimal:
    """Return a number with this many digits after the point; half is rounded away from zero."""
    with localcontext() as context:
        context.prec = _DIGITS
        try:
            number = Decimal(str(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        except InvalidOperation:
            raise SqlError(8114, "nvarchar", kind.name) from None
    # The smallest money value is one unit further from zero than the largest one.
    is_least = kind.name in _MONEY and number == -beyond
    if abs(number) >= beyond and not is_least:
        raise SqlError(8115, kind.name)
    return number


def converted(value: Any, kind: SqlType) -> Any:
    """Return a value converted to a type."""
    if value is None:
        return None
    if kind.name == "bit":
        return int(value)
    if kind.name in _RANGES:
        return _integer(value, kind)
    if kind.name in TEXTS:
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if kind.name in ("decimal", "numeric"):
        return _rounded(value, kind, kind.scale, Decimal(10) ** (kind.precision - kind.scale))
    if kind.name in _MONEY:
        return Money(_rounded(value, kind, 4, _MONEY[kind.name]))
    if kind.name in ("real", "float"):
        return float(value)
    if kind.name in ("datetime2", "datetimeoffset"):
        return moment(str(value), kind)
    return value


def moment(text: str, kind: SqlType) -> str:
    """Return a moment as rows contain it: with all digits of its type, and the offset of UTC.

    A text that is not a moment is an error (241).
    """
    text, _, zone = text.replace("T", " ").replace("Z", "+00:00").partition("+")
    if zone not in ("", "00:00"):
        raise NotInDoubleError(f"the offset +{zone}")
    day, _, time = text.strip().partition(" ")
    whole, _, fraction = (time or "00:00:00").partition(".")
    try:
        datetime.datetime.fromisoformat(f"{day} {whole}")
    except ValueError:
        raise SqlError(241) from None
    if fraction[kind.scale :].strip("0"):
        raise NotInDoubleError(f"rounding {text} to {kind.scale} digits")
    digits = "." + fraction.ljust(kind.scale, "0")[: kind.scale] if kind.scale else ""
    return f"{day} {whole}{digits}" + (" +00:00" if kind.name == "datetimeoffset" else "")


def stored(value: Any, column: Column, table: str) -> Any:
    """Return a value as a column stores it (errors 515 and 2628)."""
    if value is None:
        if not column.nullable:
            raise SqlError(515, column.name, table)
        return None
    value = converted(value, column.kind)
    if column.kind.name in TEXTS:
        # A character that the code page lacks becomes `?`
        # (https://learn.microsoft.com/sql/relational-databases/collations/collation-and-unicode-support).
        value = str(value).encode(column.kind.encoding, "replace").decode(column.kind.encoding)
    if column.kind.name in TEXTS and column.kind.length > 0:
        used = len(str(value).encode(column.kind.encoding, "replace"))
        if used > column.kind.length and str(value).rstrip(" ") != str(value):
            value = str(value).rstrip(" ")
            used = len(value.encode(column.kind.encoding, "replace"))
        if used > column.kind.length:
            raise SqlError(2628, table, column.name)
        if column.kind.name in ("char", "nchar"):
            unit = 2 if column.kind.name == "nchar" else 1
            value += " " * ((column.kind.length - used) // unit)
    return value
