"""Types with each sort of modifier, and values that a modifier rounds, pads, cuts or refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extension.random_tables import VALUES


@dataclass(frozen=True)
class Modified:
    """A type with a modifier, the same type without it, and texts of the latter."""

    name: str
    base: str
    texts: tuple[str, ...]


def modified_types() -> Iterator[Modified]:
    """Return all types with modifiers."""
    yield from _moments()
    yield from _interval_fields()
    yield from _numerics()
    yield from _lengths()


def _moments() -> Iterator[Modified]:
    """Return types with every precision of seconds."""
    moments = ("1999-12-31 23:59:59.555555", "2000-01-01 00:00:00.000001")
    times = ("23:59:59.999999", "00:00:00.000001")
    intervals = ("1 day 00:00:00.555555", "-00:00:59.999999")
    for digits in range(7):
        yield Modified(f"time({digits})", "time", VALUES["time"] + times)
        yield Modified(f"time({digits}) with time zone", "timetz", VALUES["timetz"] + times)
        yield Modified(f"timestamp({digits})", "timestamp", VALUES["timestamp"] + moments)
        yield Modified(
            f"timestamp({digits}) with time zone", "timestamptz", VALUES["timestamptz"] + moments
        )
        yield Modified(f"interval({digits})", "interval", VALUES["interval"] + intervals)


def _interval_fields() -> Iterator[Modified]:
    fields = ("day", "hour", "minute", "second")
    pairs = [(first, last) for n, first in enumerate(fields) for last in fields[n + 1 :]]
    named = ["year", "month", "year to month", *fields, *map(" to ".join, pairs)]
    texts = ("14 mons 40 days 30:59:59.555555", "-1 year -2 days -03:04:05.5", "0")
    for name in named:
        yield Modified(f"interval {name}", "interval", texts)


def _numerics() -> Iterator[Modified]:
    """Return precisions and scales on both sides of the four digits that are stored together."""
    for precision in (1, 4, 5, 8, 9, 38, 1000):
        for scale in (-1000, -5, -1, 0, 1, 4, 5, 40, 1000):
            largest = f"{'9' * precision}e{-scale}"
            texts = (
                *("0", "-0.5", "1.005", "12345.6789", "NaN", "Infinity"),
                *(largest, f"-{largest}", f"{'9' * precision}.5e{-scale}"),
                *(f"1e{precision - scale}", f"4e{-scale - 1}", f"-5e{-scale - 1}"),
            )
            yield Modified(f"numeric({precision},{scale})", "numeric", texts)


def _lengths() -> Iterator[Modified]:
    """Return lengths on both sides of 127 bytes, where the header of a value grows."""
    for length in (1, 2, 125, 126, 127, 128, 2000, 9000):
        whole = "x" * length
        texts = ("", "a", "  ", whole[1:], whole, whole + "x", whole + "  ", "é" * length)
        yield Modified(f"char({length})", "bpchar", texts)
        yield Modified(f"varchar({length})", "varchar", texts)
    for length in (1, 2, 8, 9, 64, 1000):
        bits = ("", "1", "10" * (length // 2), "1" * length, "1" * (length + 1))
        yield Modified(f"bit({length})", "varbit", bits)
        yield Modified(f"varbit({length})", "varbit", bits)
