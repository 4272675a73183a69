"""The meaning of a text in a column: one value, NULL, or nothing that the column may hold."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from harness.packages import Value as Setting


@dataclass(frozen=True)
class Meaning:
    """What an independent reader says about a text.

    `is_none` marks a text that has no value, or more than one: its row must be a reject. A value
    that is not `plain` may be a reject too, because each loader chooses how strict it is.
    """

    value: Any = None
    plain: bool = False
    is_none: bool = False
    why: str = ""

    def softened(self) -> Meaning:
        """Return the same meaning, for a text that no loader has to accept."""
        return Meaning(self.value, False, self.is_none, self.why)

    def __str__(self) -> str:
        """Return it as one line."""
        if self.is_none:
            return f"a reject ({self.why})"
        return f"{shown(self.value)}{'' if self.plain else ', or a reject'}"


def must(value: Any) -> Meaning:
    """Return the meaning of a text that every loader must accept."""
    return Meaning(value, plain=True)


def may(value: Any) -> Meaning:
    """Return the meaning of a text that a loader may reject."""
    return Meaning(value)


def nothing(why: str) -> Meaning:
    """Return the meaning of a text whose row must be a reject."""
    return Meaning(is_none=True, why=why)


@dataclass(frozen=True)
class Column:
    """A column: its type as PostgreSQL writes it and in parts, and its settings in a package."""

    kind: str
    type_name: str
    # Length, or precision and scale, or digits of a second.
    sizes: tuple[int, ...] = ()
    # The fields of an interval, in SQL's words.
    fields: str = ""
    labels: tuple[str, ...] = ()
    element: Column | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    # The statement that creates the type.
    before: str = ""

    def setting(self, name: str, default: Any = None) -> Any:
        """Return one of its settings in the package, or the default."""
        return self.settings.get(name, default)

    def with_money(self, digits: int) -> Column:
        """Return the column for a server whose currency has this number of decimal digits."""
        if self.element is not None:
            return replace(self, element=self.element.with_money(digits))
        return replace(self, sizes=(digits,)) if self.kind == "money" else self

    def __str__(self) -> str:
        """Return it as one line."""
        said = ", ".join(f"{name} = {value!r}" for name, value in self.settings.items())
        return f"{self.type_name}{f' ({said})' if said else ''}"


def double_bits(value: float) -> tuple[str, str]:
    """Return a key for a double, unique for each value, including the negative zero."""
    return ("float8", "nan" if value != value else struct.pack(">d", value).hex())


def single_bits(value: float) -> tuple[str, str]:
    """Return the same key for a float of four bytes."""
    return ("float4", "nan" if value != value else struct.pack(">f", value).hex())


def shown(value: Any) -> str:
    """Return a value in a form that a person can compare."""
    match value:
        case ("float8", str(bits)) if bits != "nan":
            return f"{struct.unpack('>d', bytes.fromhex(bits))[0]!r} (float8)"
        case ("float4", str(bits)) if bits != "nan":
            return f"{struct.unpack('>f', bytes.fromhex(bits))[0]!r} (float4)"
        case Fraction():
            return f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value)
        case None:
            return "NULL"
        case str() | bytes() if len(value) > 200:
            return f"{value[:200]!r}... ({len(value)})"
        case _:
            return repr(value)
