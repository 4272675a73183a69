"""One canonical text for each value of each type, whatever form a destination returns.

Two values have the same text if and only if they are the same: nothing is rounded here, so every
change that a destination makes to a value is found. Only differences that a type itself ignores are
ignored: trailing blanks of a `char(n)`, trailing zeros of a `numeric`.
"""

from __future__ import annotations

import datetime
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

Row = tuple["str | None", ...]

_DAY_MICROSECONDS = 86_400_000_000
_ZEROS_OF_A_FRACTION = re.compile(r"\.(\d*?)0*(?!\d)")


@cache
def base(type_name: str) -> str:
    """Return a type's name without its modifiers."""
    if type_name.endswith("[]"):
        return "array"
    return type_name.split("(")[0].strip().lower()


def canonical(type_name: str, value: Any) -> str | None:
    """Return the canonical text of a value from a file or from a destination."""
    if value is None:
        return None
    # The tests load the same values again and again.
    if type(value) is str and len(value) <= 40:
        return _of_short_text(base(type_name), value)
    return _FORMS[base(type_name)](value)


@lru_cache(maxsize=1 << 16)
def _of_short_text(base_name: str, text: str) -> str:
    return _FORMS[base_name](text)


def _boolean(value: Any) -> str:
    text = str(value).lower()
    return {"1": "true", "t": "true", "0": "false", "f": "false"}.get(text, text)


def _number(value: Any) -> str:
    # Decimal represents a float exactly.
    number = Decimal(value)
    if not number.is_finite():
        return str(number)
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _money(value: Any) -> str:
    return _number(str(value).replace("$", "").replace(",", ""))


def _double(value: Any) -> str:
    return float(value).hex()


def _real(value: Any) -> str:
    # A text means the nearest float; a float is taken as it is.
    if isinstance(value, str):
        value = struct.unpack("f", struct.pack("f", float(value)))[0]
    return float(value).hex()


def _text(value: Any) -> str:
    assert isinstance(value, str), f"{value!r} is no text"
    return value


def _padded_text(value: Any) -> str:
    return _text(value).rstrip(" ")


def _bytes(value: Any) -> str:
    if isinstance(value, str):
        assert value.startswith("\\x"), f"{value!r} is no bytea"
        return value[2:].lower()
    return bytes(value).hex()


def _uuid(value: Any) -> str:
    if isinstance(value, bytes):
        return str(uuid.UUID(bytes=value))
    return str(uuid.UUID(str(value)))


def day(number: int) -> str:
    """Return the date this number of days after 1970-01-01, in any year."""
    # Howard Hinnant's civil_from_days: 400 years have 146,097 days, and a year begins in March.
    number += 719_468
    era, of_era = divmod(number, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * of_year + 2) // 153
    day_of_month = of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = year_of_era + era * 400 + (month <= 2)
    written = f"{year:04}" if year > 0 else f"{1 - year:04}"
    return f"{written}-{month:02}-{day_of_month:02}" + ("" if year > 0 else " BC")


def clock(microseconds: int) -> str:
    """Return the time of day this long after midnight, up to 24:00:00."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0").rstrip(".")


def _without_zeros(text: str) -> str:
    return _ZEROS_OF_A_FRACTION.sub(lambda found: f".{found[1]}" if found[1] else "", text)


_ISO_YEAR = re.compile(r"(-\d{4,}|0000)(?=-\d\d-\d\d)")


def _before_christ(text: str) -> str:
    # DuckDB writes the era before the time or offset; here it comes last.
    if "(BC)" in text:
        text = text.replace(" (BC)", "") + " BC"
    # ISO 8601 has a year 0 and years below it: 0000 is 1 BC.
    elif year := _ISO_YEAR.match(text):
        text = f"{1 - int(year[0]):04}{text[year.end() :]} BC"
    return text


def _date(value: Any) -> str:
    if isinstance(value, int):
        return day(value)
    if isinstance(value, datetime.date):
        value = value.isoformat()
    return _before_christ(_text(value))


def _time(value: Any) -> str:
    if isinstance(value, int):
        return clock(value)
    if isinstance(value, datetime.time):
        value = value.isoformat()
    return _without_zeros(_text(value))


def _timestamp(value: Any) -> str:
    if isinstance(value, int):
        days, rest = divmod(value, _DAY_MICROSECONDS)
        date, _, era = day(days).partition(" ")
        return f"{date} {clock(rest)}" + (f" {era}" if era else "")
    if isinstance(value, datetime.datetime):
        value = value.isoformat(sep=" ")
    return _without_zeros(_before_christ(_text(value)).replace("T", " "))


def _timestamptz(value: Any) -> str:
    if isinstance(value, str):
        # Destinations return only the offset zero here. Any other offset is kept, so that it shows
        # as a difference.
        value = re.sub(r"(?<=\d)(\+00(:00)?|Z)(?=$| )", "", value)
    elif isinstance(value, datetime.datetime) and value.utcoffset() == datetime.timedelta(0):
        value = value.replace(tzinfo=None)
    return _timestamp(value)


_INTERVAL_PART = re.compile(r"([+-]?\d+) (year|month|mon|day)s?")
_INTERVAL_TIME = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$")


# The form in which destinations without the type store its three parts.
_ISO_INTERVAL = re.compile(r"P(-?\d+)M(-?\d+)DT(-?\d+(?:\.\d+)?)S")


def _interval(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(str(value[part]) for part in ("months", "days", "microseconds"))
    if not isinstance(value, str):
        months, days, nanoseconds = value
        microseconds, rest = divmod(nanoseconds, 1000)
        assert rest == 0, f"{value!r} has nanoseconds"
        return f"{months} {days} {microseconds}"
    if value.lower().lstrip("+-") == "infinity":
        return value.lower()
    if found := _ISO_INTERVAL.fullmatch(value):
        months, days, seconds = found.groups()
        return f"{months} {days} {int(Decimal(seconds).scaleb(6))}"
    months = days = microseconds = 0
    for number, unit in _INTERVAL_PART.findall(value):
        if unit == "day":
            days += int(number)
        else:
            months += int(number) * (12 if unit == "year" else 1)
    time_of_day = _INTERVAL_PART.sub("", value).strip()
    if time_of_day:
        found = _INTERVAL_TIME.match(time_of_day)
        assert found, f"{value!r} is no interval"
        sign, hours, minutes, seconds, fraction = found.groups()
        microseconds = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000
        microseconds += int((fraction or "0").ljust(6, "0"))
        microseconds *= -1 if sign == "-" else 1
    return f"{months} {days} {microseconds}"


_FORMS: dict[str, Callable[[Any], str]] = {
    "boolean": _boolean,
    "smallint": _number,
    "int": _number,
    "integer": _number,
    "bigint": _number,
    "real": _real,
    "double precision": _double,
    "numeric": _number,
    "text": _text,
    "varchar": _text,
    "char": _padded_text,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "uuid": _uuid,
    "bytea": _bytes,
    "json": _text,
    "interval year to month": _interval,
    "timetz": _text,
    "money": _money,
    "name": _text,
    '"char"': _text,
    "array": _text,
}
