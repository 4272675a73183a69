"""Reads and writes moments in the formats that a column declares, by the letters of strftime.

If two digit directives touch, each must have its full width. Otherwise a text would have two
readings, usually because zeros were lost at an unknown position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from values.amounts import BLANKS
from values.meanings import Column, Meaning, nothing
from values.moments import Moment, day_number, finish, read_offset

MONTHS = "January February March April May June July August September October November December"
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
EXPANDED = {"F": "%Y-%m-%d", "D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M", "h": "%b"}
WIDTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "e": 2, "H": 2, "k": 2, "I": 2, "l": 2, "M": 2}
WIDTHS |= {"S": 2, "j": 3}
# PostgreSQL itself accepts less, but offsets up to here still look like hours.
OFFSET_PAST = 26 * 3600
BLANK_PADDED = "ekl"


@dataclass(frozen=True)
class Token:
    """A directive, or literal characters."""

    letter: str = ""
    literal: str = ""
    flags: str = ""

    @property
    def is_digits(self) -> bool:
        """Whether it is written in digits."""
        return self.letter in WIDTHS or (self.letter == "f" and not self.flags.startswith("."))


def tokens(text: str) -> list[Token]:
    """Take a format apart."""
    found: list[Token] = []
    for match in re.finditer(r"%([-_.:0-9]*)([A-Za-z%])|(\s+)|([^%\s]+)", text):
        flags, letter, blank, literal = match.groups()
        if letter in EXPANDED:
            found += tokens(EXPANDED[letter])
        elif letter == "%":
            found.append(Token(literal="%"))
        elif letter in ("n", "t"):
            found.append(Token(literal=" "))
        elif letter is not None:
            found.append(Token(letter, flags=flags))
        else:
            found.append(Token(literal=" " if blank else literal))
    return found


def _pattern(parts: list[Token], at: int) -> str:
    token = parts[at]
    before = at > 0 and parts[at - 1].is_digits
    behind = at + 1 < len(parts) and parts[at + 1].is_digits
    if not token.letter:
        if token.literal != " ":
            return re.escape(token.literal)
        # Between digits a blank separates them; elsewhere it may be missing.
        return r"\s+" if before and behind else r"\s*"
    name = f"(?P<{token.letter}{at}>"
    if token.letter in WIDTHS:
        width = WIDTHS[token.letter]
        if token.letter in BLANK_PADDED and (before or behind):
            return rf"{name}[ 0-9][0-9])"
        least = width if before or behind or token.letter == "Y" else 1
        # A plus before a year does not change the year.
        sign = r"\+?" if token.letter == "Y" and not before else ""
        return rf"{'' if before else ' *'}{sign}{name}[0-9]{{{least},{width}}})"
    if token.letter == "f":
        digits = re.sub(r"[^0-9]", "", token.flags)
        count = f"{{{digits}}}" if digits and before and "." not in token.flags else "{1,9}"
        # The point may be missing together with its digits.
        return rf"(?:\.{name}[0-9]{count}))?" if "." in token.flags else f"{name}[0-9]{count})"
    return {
        "p": rf"{name}[AaPp][Mm])",
        "P": rf"{name}[AaPp][Mm])",
        "b": rf"{name}[A-Za-z]{{3}})",
        "B": rf"{name}[A-Za-z]{{3,9}})",
        "a": rf"{name}[A-Za-z]{{3}})",
        "A": rf"{name}[A-Za-z]{{6,9}})",
        "z": rf"{name}[Zz]|[+-][0-9]{{2}}(?::?[0-9]{{2}}(?::?[0-9]{{2}})?)?)",
        "s": rf"{name}[+-]?[0-9]{{1,19}})",
    }[token.letter]


def _place(word: str, names: str, short: bool) -> int | None:
    for number, name in enumerate(names.split()):
        if word.lower() == (name[:3] if short else name).lower():
            return number
    return None


def parts_of(text: str, format_text: str) -> dict[str, str] | None:
    """Return a text's parts in a format, by letter, or None if it does not have the format."""
    found = tokens(format_text)
    # Blanks between digits may be missing if all digits are present.
    joined = [token for token in found if token.literal != " "]
    for some in (found, joined):
        pattern = "".join(_pattern(some, at) for at in range(len(some)))
        match = re.fullmatch(pattern, text)
        if match is not None:
            return _parts(match)
    return None


def _parts(match: re.Match[str]) -> dict[str, str] | None:
    parts: dict[str, str] = {}
    for name, value in match.groupdict().items():
        if value is None:
            continue
        if parts.setdefault(name[0], value) != value:
            return None
    return parts


def moment(text: str, format_text: str, pivot: int | None) -> Moment | None:
    """Return the meaning of a text in a format, or None if it has none."""
    parts = parts_of(text, format_text)
    if parts is None:
        return None
    if "s" in parts:
        days, seconds = divmod(int(parts["s"]), 86_400)
        return Moment(days - 10_957, Fraction(seconds), True, 0)
    day = _day(parts, pivot)
    has_date = any(letter in parts for letter in "Yy")
    if has_date and day is None:
        return None
    clock = _clock(parts)
    if clock is None:
        return None
    offset = None
    if "z" in parts:
        offset = read_offset(parts["z"], OFFSET_PAST)
        if offset is None:
            return None
    # A loader may refuse a blank within a group of digits, because a digit may have been lost
    # there.
    plain = not any(value.startswith(" ") for value in parts.values())
    return Moment(day, clock, any(letter in parts for letter in "HkIl"), offset, plain)


def _day(parts: dict[str, str], pivot: int | None) -> int | None:
    if "Y" in parts:
        year = int(parts["Y"])
    elif "y" in parts and pivot is not None:
        year = pivot + (int(parts["y"]) - pivot) % 100
    else:
        return None
    if year < 1:
        return None
    if "j" in parts:
        first = day_number(year, 1, 1)
        number = int(parts["j"])
        last = day_number(year, 12, 31)
        if first is None or last is None or not 1 <= number <= last - first + 1:
            return None
        return first + number - 1
    month: int | None = None
    if "m" in parts:
        month = int(parts["m"])
    for letter, short in (("b", True), ("B", False)):
        if letter in parts:
            place = _place(parts[letter], MONTHS, short)
            # May is its own short form; the longer short forms of other months are accepted too.
            place = place if place is not None else _place(parts[letter], MONTHS, not short)
            if place is None or month not in (None, place + 1):
                return None
            month = place + 1
    day = parts.get("d", parts.get("e"))
    if month is None or day is None:
        return None
    found = day_number(year, month, int(day))
    for letter, short in (("a", True), ("A", False)):
        if letter in parts and found is not None:
            place = _place(parts[letter], DAYS, short)
            # 2000-01-01 was a Saturday.
            if place != (found + 5) % 7:
                return None
    return found


def _clock(parts: dict[str, str]) -> Fraction | None:
    hour = int(parts.get("H", parts.get("k", "0")))
    twelve = parts.get("I", parts.get("l"))
    if twelve is not None:
        half = parts.get("p", parts.get("P"))
        if half is None or not 1 <= int(twelve) <= 12:
            return None
        hour = int(twelve) % 12 + (12 if half.lower() == "pm" else 0)
    minute, second = int(parts.get("M", "0")), int(parts.get("S", "0"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return Fraction(hour * 3600 + minute * 60 + second) + Fraction(f"0.{parts.get('f', '0')}")


def write(value: datetime, format_text: str, offset: int = 0) -> str:
    """Write a moment as a program that knows the format would: each directive in full width."""
    out = ""
    for token in tokens(format_text):
        match token.letter:
            case "":
                out += token.literal
            case "Y":
                out += f"{value.year:04}"
            case "y":
                out += f"{value.year % 100:02}"
            case "e":
                out += f"{value.day:2}"
            case "k":
                out += f"{value.hour:2}"
            case "l":
                out += f"{(value.hour + 11) % 12 + 1:2}"
            case "P":
                out += "am" if value.hour < 12 else "pm"
            case "b":
                out += MONTHS.split()[value.month - 1][:3]
            case "B":
                out += MONTHS.split()[value.month - 1]
            case "a":
                out += DAYS.split()[value.weekday()][:3]
            case "A":
                out += DAYS.split()[value.weekday()]
            case "p":
                out += "AM" if value.hour < 12 else "PM"
            case "f":
                digits = int(re.sub(r"[^0-9]", "", token.flags) or 6)
                fraction = f"{value.microsecond:06}".ljust(digits, "0")[:digits]
                out += ("." if "." in token.flags else "") + fraction
            case "z":
                sign, size = "-" if offset < 0 else "+", abs(offset)
                colon = ":" if ":" in token.flags else ""
                out += f"{sign}{size // 3600:02}{colon}{size // 60 % 60:02}"
            case "s":
                seconds = (value - datetime(1970, 1, 1)) / timedelta(seconds=1)
                out += str(int(seconds // 1))
            case letter:
                number = {
                    "m": value.month,
                    "d": value.day,
                    "H": value.hour,
                    "I": (value.hour + 11) % 12 + 1,
                    "M": value.minute,
                    "S": value.second,
                    "j": value.timetuple().tm_yday,
                }[letter]
                out += f"{number:0{1 if '-' in token.flags else WIDTHS[letter]}}"
    return out


def declared(text: str, column: Column) -> Meaning:
    """Return the meaning of a text in a column that declares formats."""
    said = column.setting("format")
    formats = [said] if isinstance(said, str) else list(said)
    body = text.strip(BLANKS)
    moments = {moment(body, one, column.setting("year_pivot")) for one in formats} - {None}
    if not moments:
        return nothing("no declared format reads it, each directive in its full width")
    if len(moments) > 1:
        return nothing("the declared formats read it as different moments")
    (only,) = moments
    assert only is not None
    if column.kind == "date" and only.clock:
        return nothing("a date keeps no time of day")
    meaning = finish(only, column)
    is_written_so = any(tidy(text, one) for one in formats)
    return meaning if is_written_so else meaning.softened()


def tidy(text: str, format_text: str) -> bool:
    """Whether each digit directive has its full width, and nothing surrounds the text."""
    return re.fullmatch("".join(map(_full, tokens(format_text))), text) is not None


def _full(token: Token) -> str:
    if not token.letter:
        return re.escape(token.literal)
    if token.letter in WIDTHS:
        return r"[ 0-9]" * WIDTHS[token.letter]
    if token.letter == "z":
        return rf"[+-](?:0[0-9]|1[0-4]){':' if ':' in token.flags else ''}[0-5][0-9]"
    return r"\.?[0-9]{1,6}" if token.letter == "f" else r".+"
