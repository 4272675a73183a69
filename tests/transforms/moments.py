"""Dates and timestamps of the reference, as numbers.

Python's own dates and timestamps begin in year 1, end in 9999 and are never infinite. So here a
date is the number of days since 1970-01-01, a timestamp is the number of microseconds since then,
and an infinite date or timestamp is infinity.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import TypeAlias

# Only infinities are floats.
Moment: TypeAlias = "int | float"

DAY_MICROSECONDS = 86_400_000_000
# The Gregorian calendar repeats itself after this number of years and days.
_ERA_YEARS, _ERA_DAYS = 400, 146_097
_EPOCH = datetime.date(1970, 1, 1).toordinal()

_TEXT = re.compile(
    r"(\d{4,})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{6}))?)?"
    r"(?:([+-])(\d\d)(?::(\d\d))?)?( BC)?"
)


def days_of(year: int, month: int, day: int) -> int:
    """Return the number of a date; the year before 1 is 0."""
    eras, year_of_era = divmod(year, _ERA_YEARS)
    # Year 400 has the same calendar as year 0, which Python's dates lack.
    shifted = datetime.date(year_of_era + _ERA_YEARS, month, day).toordinal() - _EPOCH
    return shifted + (eras - 1) * _ERA_DAYS


def civil(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of a date; the year before 1 is 0."""
    eras, day_of_era = divmod(days + _EPOCH - 1, _ERA_DAYS)
    date = datetime.date.fromordinal(day_of_era + 1)
    return date.year + eras * _ERA_YEARS, date.month, date.day


# The range of dates is that of PostgreSQL. Timestamps end where DuckDB's do.
DATE_RANGE = (days_of(-4713, 11, 24), days_of(5_874_897, 12, 31))
TIMESTAMP_RANGE = (DATE_RANGE[0] * DAY_MICROSECONDS, 2**63 - 2)


def date(text: str) -> Moment:
    """Return a date of a file."""
    return _moment(text, 1)


def timestamp(text: str) -> Moment:
    """Return a timestamp of a file; one with an offset is in UTC."""
    return _moment(text, DAY_MICROSECONDS)


def _moment(text: str, unit: int) -> Moment:
    if text in ("infinity", "-infinity"):
        return math.copysign(math.inf, -1 if text.startswith("-") else 1)
    found = _TEXT.fullmatch(text)
    assert found, text
    year, month, day = (int(part) for part in found.groups()[:3])
    days = days_of(1 - year if found[11] else year, month, day)
    if unit == 1:
        return days
    hours, minutes, seconds, fraction, off_hours, off_minutes = (
        int(part or 0) for part in found.group(4, 5, 6, 7, 9, 10)
    )
    minutes += hours * 60
    minutes -= (off_hours * 60 + off_minutes) * (-1 if found[8] == "-" else 1)
    return days * unit + (minutes * 60 + seconds) * 1_000_000 + fraction


def is_infinite(moment: Moment) -> bool:
    """Whether it is one of the two infinities."""
    return isinstance(moment, float)
