"""Reads intervals: words and clocks, ISO 8601, and the parts that the fields of their type keep."""

from __future__ import annotations

import re
from fractions import Fraction

from values.amounts import BLANKS
from values.meanings import Column, Meaning, may, must, nothing

SECOND = 1_000_000
UNITS = {
    "microseconds": (0, 0, 1),
    "milliseconds": (0, 0, 1_000),
    "seconds": (0, 0, SECOND),
    "minutes": (0, 0, 60 * SECOND),
    "hours": (0, 0, 3600 * SECOND),
    "days": (0, 1, 0),
    "weeks": (0, 7, 0),
    "months": (1, 0, 0),
    "years": (12, 0, 0),
    "decades": (120, 0, 0),
    "centuries": (1_200, 0, 0),
    "millennia": (12_000, 0, 0),
}
NAMES = {
    "microseconds": "us usec usecs usecond useconds microsecon microsecond microseconds",
    "milliseconds": "ms msec msecs msecond mseconds millisecon millisecond milliseconds",
    "seconds": "s sec secs second seconds",
    "minutes": "m min mins minute minutes",
    "hours": "h hr hrs hour hours",
    "days": "d day days",
    "weeks": "w week weeks",
    "months": "mon mons month months",
    "years": "y yr yrs year years",
    "decades": "dec decs decade decades",
    "centuries": "c cent century centuries",
    "millennia": "mil mils millennia millennium",
}
# PostgreSQL accepts digits directly after these units, because they are also words of its dates.
DIGITS_MAY_FOLLOW = {"d", "dec", "h", "m", "mon", "s", "y"}
UNIT_OF = {name: unit for unit, names in NAMES.items() for name in names.split()}
Parts = tuple[Fraction, Fraction, Fraction]


def _added(sum_so_far: Parts, amount: Fraction, unit: str) -> Parts:
    months, days, time = (amount * size for size in UNITS[unit])
    return sum_so_far[0] + months, sum_so_far[1] + days, sum_so_far[2] + time


def _whole(parts: Parts) -> tuple[int, int, int] | None:
    """Carry fractions down, as PostgreSQL does: a month has 30 days, a day 24 hours."""
    months, days, time = parts
    rest = months - int(months)
    days += rest * 30
    months -= rest
    rest = days - int(days)
    time += rest * 86_400 * SECOND
    days -= rest
    if time.denominator != 1:
        return None
    return int(months), int(days), int(time)


_ITEM = re.compile(
    r"(?P<blanks>\s*)(?:(?P<sign>[+-]?)(?P<hours>[0-9]+):(?P<minutes>[0-9]{1,2})"
    r"(?P<fraction>\.[0-9]+)?(?::(?P<seconds>[0-9]{1,2}(?:\.[0-9]*)?))?(?=\s|$)"
    r"|(?P<years_sign>[+-]?)(?P<years>[0-9]+)-(?P<months>[0-9]+)(?=\s|$)"
    r"|(?P<amount>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*(?P<unit>[A-Za-z]*))",
    re.A,
)
# A clock directly after the number needs a `+`: `10-02:03` begins with ten years.
_CLOCK_IS_NEXT = re.compile(r"(?:\s+[+-]?|\+)[0-9]+:", re.A)


def _clock(match: re.Match[str], fields: str) -> Fraction | None:
    """Return the seconds of `H:MM[:SS]`, or of `M:SS` for minutes and seconds."""
    hours, minutes = Fraction(match.group("hours")), Fraction(match.group("minutes"))
    seconds = match.group("seconds")
    if match.group("fraction") is not None and (seconds or fields != "minute to second"):
        return None
    if seconds is None and fields == "minute to second":
        hours, minutes, seconds = Fraction(0), hours, match.group("minutes")
        seconds += match.group("fraction") or ""
    seconds = Fraction((seconds or "0").rstrip("."))
    if minutes > 59 or seconds >= 60:
        return None
    size = hours * 3600 + minutes * 60 + seconds
    return -size if match.group("sign") == "-" else size


def _words(text: str, fields: str) -> Parts | None:
    """Read numbers with units; if the type has fields, also the short forms of SQL's standard.

    In the short forms the last number counts the last field, a number before a time counts days,
    and `Y-M` is years and months.
    """
    body = text.removeprefix("@").strip(BLANKS)
    is_ago = bool(re.search(r"\bago$", body, re.I))
    body = re.sub(r"\s*\bago$", "", body, flags=re.I)
    found: Parts = (Fraction(0), Fraction(0), Fraction(0))
    seen: set[str] = set()
    at = 0
    unit_before = ""
    if not body:
        return None
    while at < len(body):
        match = _ITEM.match(body, at)
        if match is None:
            return None
        # PostgreSQL accepts neither `day+01` nor `day-2h`, nor a number right after another word.
        number_at = match.end("blanks")
        is_apart = number_at == 0 or not body[number_at - 1].isalpha()
        signs = ("sign", "years_sign", "amount")
        if not is_apart and any((match.group(sign) or "")[:1] in {"+", "-", "."} for sign in signs):
            return None
        # `1h30m` is valid, because `h` is a word of PostgreSQL's dates; `1 week01` is taken for a
        # date.
        if not is_apart and unit_before not in DIGITS_MAY_FOLLOW:
            return None
        amount = match.group("amount") or ""
        if amount[:2] in {"+.", "-."} or (amount.endswith(".") and text_follows(body, match)):
            return None
        unit_before = (match.group("unit") or "").lower()
        at = match.end()
        if match.group("amount") is not None:
            name = UNIT_OF.get(match.group("unit").lower())
            if match.group("unit") == "" and fields and is_apart:
                if at == len(body) and not is_ago:
                    name = UNIT_OF[fields.split()[-1]]
                elif _CLOCK_IS_NEXT.match(body, match.end("amount")):
                    name = "days"
            if name is None or name in seen:
                return None
            size = Fraction(match.group("amount").rstrip("."))
            fine = {"milliseconds", "microseconds"} if name == "seconds" and size % 1 else set()
            if seen & fine:
                return None
            seen |= {name} | fine
            found = _added(found, size, name)
            continue
        if match.group("years") is not None:
            months = int(match.group("months"))
            if not fields or months > 11 or seen & {"years", "months"}:
                return None
            seen |= {"years", "months"}
            size = Fraction(match.group("years")) * 12 + months
            found = _added(found, -size if match.group("years_sign") == "-" else size, "months")
            continue
        clock = _clock(match, fields)
        parts = {"hours", "minutes", "seconds", "milliseconds", "microseconds"}
        if clock is None or seen & (parts | {"clock"}):
            return None
        seen |= parts | {"clock"}
        found = _added(found, clock, "seconds")
    return (-found[0], -found[1], -found[2]) if is_ago else found


def text_follows(body: str, match: re.Match[str]) -> bool:
    """Whether the character after the amount is not a blank."""
    return body[match.end("amount") :][:1].strip(BLANKS) != ""


def _iso(text: str) -> Parts | None:
    match = re.fullmatch(r"P((?:-?[0-9.]+[YMWD])*)(?:T((?:-?[0-9.]+[HMS])+))?", text)
    if match is None or (not match.group(1) and not match.group(2)):
        return None
    found: Parts = (Fraction(0), Fraction(0), Fraction(0))
    for part, names in ((match.group(1), "YMWD"), (match.group(2) or "", "HMS")):
        letters = dict(zip("YMWD", ("years", "months", "weeks", "days"), strict=True))
        if names == "HMS":
            letters = dict(zip("HMS", ("hours", "minutes", "seconds"), strict=True))
        last = ""
        for amount, letter in re.findall(r"([+-]?[0-9.]+)([A-Z])", part):
            if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)", amount):
                return None
            if last and names.index(letter) <= names.index(last):
                return None
            last = letter
            found = _added(found, Fraction(amount.rstrip(".")), letters[letter])
    return found


def _by_fields(text: str, fields: str) -> Parts | None:
    """Return the value of a number without a unit: the last field of the type is its unit."""
    zero: Parts = (Fraction(0), Fraction(0), Fraction(0))
    last = fields.split()[-1] + "s" if fields else ""
    if match := re.fullmatch(r"([+-]?)([0-9]+):([0-9]{1,2}(?:\.[0-9]+)?)", text):
        if fields != "minute to second":
            return None
        size = Fraction(match.group(2)) * 60 + Fraction(match.group(3))
        return _added(zero, -size if match.group(1) == "-" else size, "seconds")
    if last and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", text):
        return _added(zero, Fraction(text), last)
    if match := re.fullmatch(r"([+-]?)([0-9]+)-([0-9]+)", text):
        if int(match.group(3)) > 11:
            return None
        months = Fraction(match.group(2)) * 12 + int(match.group(3))
        return _added(zero, -months if match.group(1) == "-" else months, "months")
    return None


# For the last field of a type: a value fits if its months are a multiple of the first number, if it
# has no days or the second value is true, and if its time is a multiple of the third (0: no time).
KEEPS = {
    "": (1, True, 1),
    "year": (12, False, 0),
    "month": (1, False, 0),
    "day": (1, True, 0),
    "hour": (1, True, 3600 * SECOND),
    "minute": (1, True, 60 * SECOND),
    "second": (1, True, 1),
}


def interval(text: str, column: Column) -> Meaning:
    """Return the months, days and microseconds that a text means."""
    body = text.strip(BLANKS)
    if body.lower().lstrip("+-") == "infinity":
        return may(("-" if body[0] == "-" else "") + "infinity")
    special = _by_fields(body, column.fields)
    parts = special or (_iso(body) if body.startswith("P") else _words(body, column.fields))
    if parts is None:
        return nothing("it is no interval in words or ISO 8601, each number with its unit")
    found = _whole(parts)
    if found is None:
        return nothing("it has a finer fraction than a microsecond")
    months, days, time = found
    month_step, keeps_days, time_step = KEEPS[column.fields.split()[-1] if column.fields else ""]
    if months % month_step or (days and not keeps_days) or (time and not time_step):
        return nothing(f"`interval {column.fields}` does not keep all of it")
    if time_step and time % time_step:
        return nothing(f"`interval {column.fields}` does not keep all of it")
    if column.sizes and time % 10 ** (6 - column.sizes[0]):
        return nothing("the type keeps fewer digits of a second")
    if abs(months) >= 2**31 or abs(days) >= 2**31 or abs(time) >= 2**63:
        return nothing("it is outside the range of the type")
    is_plain = special is None and re.fullmatch(
        r"(-?[1-9][0-9]{0,5} (years?|mons|days))?( ?-?[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?",
        text,
    )
    return must(found) if text and is_plain else may(found)
