"""Functions of values: of texts, dates and moments."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from .errors import NotInDoubleError

_EPOCH = datetime.datetime(1970, 1, 1)


def _moment(text: str) -> tuple[int, int]:
    """Return the seconds since 1970 (or since midnight), and the ticks of 100 ns in the second."""
    text = text.removesuffix(" +00:00").removesuffix("+00:00").replace("T", " ")
    text, _, fraction = text.partition(".")
    if text.count(":") and not text.count("-"):
        text = f"1970-01-01 {text}"
    moment = datetime.datetime.fromisoformat(text)
    since = moment - _EPOCH
    return since.days * 86_400 + since.seconds, int(fraction.ljust(7, "0")[:7] or 0)


def _difference(part: str, begin: str, end: str) -> int:
    """Count the starts of seconds or days between two moments, as DATEDIFF does."""
    seconds = {"second": 1, "day": 86_400}.get(part)
    if seconds is None:
        raise NotInDoubleError(f"DATEDIFF({part})")
    return _moment(end)[0] // seconds - _moment(begin)[0] // seconds


def _added(part: str, number: int, moment: str) -> str:
    """Add seconds or minutes to a moment in UTC; the fraction of its second stays the same."""
    seconds = {"second": 1, "minute": 60}.get(part)
    if seconds is None:
        raise NotInDoubleError(f"DATEADD({part})")
    whole, point, fraction = moment.partition(".")
    added = datetime.datetime.fromisoformat(whole) + datetime.timedelta(seconds=seconds * number)
    return added.isoformat(sep=" ", timespec="seconds") + point + fraction


def _switched(moment: str, offset: str) -> str:
    if offset != "+00:00":
        raise NotInDoubleError(f"SWITCHOFFSET to {offset}")
    return moment


def now() -> str:
    """Return the present in UTC, with the digits of a `datetime2(7)`."""
    present = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return present.isoformat(sep=" ", timespec="microseconds") + "0"


def _part(part: str, moment: str) -> int:
    if part != "microsecond":
        raise NotInDoubleError(f"DATEPART({part})")
    return _moment(moment)[1] // 10


def _length(value: Any) -> int:
    if not isinstance(value, bytes):
        raise NotInDoubleError("DATALENGTH of a text whose encoding is not told")
    return len(value)


MOMENTS: dict[str, Callable[..., Any]] = {
    "DATEADD": _added,
    "DATEDIFF": _difference,
    "DATEDIFF_BIG": _difference,
    "DATEPART": _part,
}
TEXT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "DATALENGTH": _length,
    "REPLACE": lambda text, old, new: text.replace(old, new),
    "RTRIM": lambda text: text.rstrip(" "),
    "SWITCHOFFSET": _switched,
    "SUBSTRING": lambda text, start, length: text[start - 1 : start - 1 + length],
}
