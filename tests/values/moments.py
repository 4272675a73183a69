"""Reads dates, times and timestamps as written in a column that declares no format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo

from values.amounts import BLANKS, rounded
from values.meanings import Column, Meaning, may, must, nothing

DAY = 86_400_000_000
# Days and microseconds of the database count from 2000-01-01.
DAYS_TO_2000 = 730_120
FIRST_DAY = -2_451_545
LAST_DATE = 2_145_031_948
FIRST_TIMESTAMP = -211_813_488_000_000_000
PAST_TIMESTAMPS = 9_223_371_331_200_000_000
FOUR_CENTURIES = 146_097 * DAY
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# The offsets that PostgreSQL accepts.
OFFSET_PAST = 16 * 3600


def is_leap(year: int) -> bool:
    """Whether a year of the Gregorian calendar has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def day_number(year: int, month: int, day: int) -> int | None:
    """Return the days since 2000-01-01; year 0 is 1 BC. None if there is no such day."""
    if not 1 <= month <= 12:
        return None
    if not 1 <= day <= MONTH_DAYS[month - 1] + (month == 2 and is_leap(year)):
        return None
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 - DAYS_TO_2000
    days += sum(MONTH_DAYS[: month - 1]) + (month > 2 and is_leap(year))
    return days + day


@dataclass(frozen=True)
class Moment:
    """The parts of a date or a time that a text gives."""

    # Days since 2000-01-01.
    day: int | None = None
    # Seconds since midnight.
    clock: Fraction = Fraction(0)
    has_clock: bool = False
    # Seconds east of UTC.
    offset: int | None = None
    plain: bool = True


def finish(moment: Moment, column: Column) -> Meaning:
    """Return the value of a column that holds a moment."""
    match column.kind:
        case "date":
            return _date(moment)
        case "time" | "timetz":
            return _time(moment, column)
        case _:
            return _timestamp(moment, column)


def _said(value: object, plain: bool) -> Meaning:
    return must(value) if plain else may(value)


def _date(moment: Moment) -> Meaning:
    if moment.day is None:
        return nothing("there is no such day")
    if moment.offset is not None or moment.clock != 0:
        return nothing("a date keeps no time of day")
    if not FIRST_DAY <= moment.day <= LAST_DATE:
        return nothing("it is outside the range of the type")
    return _said(moment.day, moment.plain and not moment.has_clock)


def microseconds(clock: Fraction, column: Column) -> tuple[int, bool] | None:
    """Return the microseconds that a column keeps from seconds, and whether it keeps all."""
    digits = column.sizes[0] if column.sizes else 6
    scaled = clock * 10**digits
    if scaled.denominator == 1:
        return int(scaled) * 10 ** (6 - digits), True
    how = column.setting("round", "reject")
    if how == "reject":
        return None
    return rounded(scaled, how) * 10 ** (6 - digits), False


def _time(moment: Moment, column: Column) -> Meaning:
    found = microseconds(moment.clock, column)
    if found is None:
        return nothing("the type keeps fewer digits of a second")
    value, _ = found
    if value > DAY:
        return nothing("a day ends at 24:00:00")
    plain = moment.plain and value < DAY
    if column.kind == "time":
        if moment.offset is not None:
            return nothing("a time keeps no offset")
        return _said(value, plain)
    if moment.offset is None:
        return nothing("the offset is not said, and a session's is not the file's")
    return _said((value, -moment.offset), plain)


def _timestamp(moment: Moment, column: Column) -> Meaning:
    if moment.day is None:
        return nothing("there is no such day")
    # Before 2000 the number is negative, but the digits cut off must be those of the clock.
    found = microseconds(moment.clock, column)
    if found is None:
        return nothing("the type keeps fewer digits of a second")
    value = moment.day * DAY + found[0]
    plain = moment.plain and moment.has_clock and found[0] < DAY
    if column.kind == "timestamp":
        if moment.offset is not None:
            return nothing("a timestamp keeps no offset")
    elif moment.offset is not None:
        value -= moment.offset * 1_000_000
    else:
        zone = column.setting("zone")
        if zone is None:
            return nothing("the offset is not said, and a session's is not the file's")
        offset = offset_at(moment.day * DAY + int(moment.clock * 1_000_000), zone)
        if offset is None:
            return nothing("the zone has this time twice, or never")
        value -= offset * 1_000_000
    if not FIRST_TIMESTAMP <= value < PAST_TIMESTAMPS:
        return nothing("it is outside the range of the type")
    return _said(value, plain)


def offset_at(local: int, zone: str) -> int | None:
    """Return how far a zone's clocks are ahead, in seconds, at a local time that occurs once."""
    # Python's years are 1 to 9999. A zone's rules without an end repeat every 400 years, and before
    # its first change a zone has its first offset.
    over = max(local - FOUR_CENTURIES * 15, 0)
    local -= -(-over // FOUR_CENTURIES) * FOUR_CENTURIES
    local = max(local, -FOUR_CENTURIES * 4)
    there = datetime(2000, 1, 1) + timedelta(microseconds=local)
    info = ZoneInfo(zone)
    offsets = {
        offset
        for fold in (0, 1)
        if (offset := there.replace(tzinfo=info, fold=fold).utcoffset()) is not None
        and (there - offset).replace(tzinfo=timezone.utc).astimezone(info).replace(tzinfo=None)
        == there
    }
    return int(offsets.pop().total_seconds()) if len(offsets) == 1 else None


DATE = r"(?P<year>[0-9]{4,7})(?P<mark>[-/])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})"
SHORT_DATE = r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})"
CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?P<fraction>\.[0-9]+)?)?"
)
OFFSET = r" *(?P<offset>[Zz]|[+-][0-9]{1,2}(?:[0-9]{2}(?:[0-9]{2})?|:[0-9]{1,2}(?::[0-9]{1,2})?)?)"
ERA = r"(?P<era> *[Bb][Cc])?"
PLAIN = {
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "time": re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"),
    "timetz": re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?[+-][0-9]{2}(:[0-9]{2})?"),
    "timestamp": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}(\.[0-9]{1,6})?"),
    "timestamptz": re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}(\.[0-9]{1,6})?([+-][0-9]{2}(:[0-9]{2})?|Z)?"
    ),
}
INFINITIES = {"infinity": 1, "-infinity": -1}


def read_offset(text: str, past: int = OFFSET_PAST) -> int | None:
    """Return the seconds east of UTC."""
    if text in "Zz":
        return 0
    parts = text[1:].split(":")
    digits = "".join(part.zfill(2) for part in parts)
    hours, minutes, seconds = digits[:-4] or "0", "0", "0"
    if len(digits) <= 2:
        hours = digits
    elif len(digits) <= 4:
        hours, minutes = digits[:-2], digits[-2:]
    else:
        hours, minutes, seconds = digits[:-4], digits[-4:-2], digits[-2:]
    if int(minutes) > 59 or int(seconds) > 59:
        return None
    size = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return None if size >= past else -size if text[0] == "-" else size


def default(text: str, column: Column) -> Meaning:
    """Return the meaning of a text without a declared format."""
    body = text.strip(BLANKS)
    kind = column.kind
    if kind in ("date", "timestamp", "timestamptz") and body.lower() in INFINITIES:
        return may("infinity" if INFINITIES[body.lower()] > 0 else "-infinity")
    clocked = rf"(?:[Tt]| +){CLOCK}(?:{OFFSET})?"
    shapes = {
        "date": (DATE + ERA, SHORT_DATE + ERA),
        "time": (CLOCK,),
        "timetz": (CLOCK + OFFSET, CLOCK),
    }.get(kind, (f"{DATE}(?:{clocked})?{ERA}", f"{SHORT_DATE}(?:{clocked})?{ERA}"))
    for shape in shapes:
        match = re.fullmatch(shape, body)
        if match is not None:
            parts = match.groupdict()
            moment = assemble(parts)
            if moment is None:
                return nothing("there is no such day or time")
            plain = bool(PLAIN[kind].fullmatch(text)) and int(parts.get("year") or 1) > 0
            found = finish(moment, column)
            return found if plain else found.softened()
    return nothing("it is not written as the type's values are, and no format is declared")


def assemble(parts: dict[str, str | None]) -> Moment | None:
    """Combine the parts, or return None if they have no value."""
    day = None
    if (year := parts.get("year")) is not None:
        number = int(year)
        if number == 0:
            return None
        if parts.get("era"):
            number = 1 - number
        day = day_number(number, int(parts["month"] or 0), int(parts["day"] or 0))
        if day is None:
            return None
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    if hour > 24 or minute > 59 or second > 59:
        return None
    clock = hour * 3600 + minute * 60 + second + Fraction(f"0{parts.get('fraction') or '.0'}")
    if clock > 86_400:
        return None
    offset = None
    if (said := parts.get("offset")) is not None:
        offset = read_offset(said)
        if offset is None:
            return None
    return Moment(day, clock, parts.get("hour") is not None, offset)
