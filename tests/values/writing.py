"""Writes texts of values as programs and people write them, and texts that are nearly right."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from random import Random
from typing import Any

from values import declared_formats
from values.meanings import Column

WORDS: tuple[str, ...] = (
    "a",
    "abc",
    "äöü€😀",
    "NULL",
    "NA",
    "  padded ",
    "",
    "x" * 63,
    "ä" * 32,
    "\\N",
    "ß",
    '"',
    "\\",
)
WORDS += (
    "a\tb",
    "two\nlines",
    "0",
    "1.50",
    "-",
    "{a}",
    "y" * 64,
    "é",
    "\\101",
    "\\303",
    ",",
    "'",
    "x" * 70,
)
# The limits up to which floats of four and eight bytes hold every whole number.
EDGES_OF = {"float4": (2**24, 10**8, 10**9), "float8": (2**53, 10**16, 10**17)}
EDGES = (2**24, 2**53, 2**31, 2**63, 10**15, 10**16, 10**17, 2**15, 10**6, 10**7)


def moment(random: Random) -> datetime:
    """Return a moment not far from now; its small parts often have one digit."""
    start = datetime(random.choice((1999, 2001, 2024, 1970, 2010)), 1, 1)
    found = start + timedelta(days=random.randrange(730), seconds=random.randrange(86_400))
    if random.random() < 0.5:
        found = found.replace(
            month=random.randint(1, 9), day=random.randint(1, 9), hour=random.randint(0, 9)
        )
    return found.replace(microsecond=random.choice((0, 0, 500_000, 123_000, 123_456, 100_000, 5)))


def number(random: Random, column: Column) -> str:
    """Return a number in the form that the column declares."""
    digits = random.choice((1, 2, 3, 4, 6, 9, 12))
    whole = random.randrange(10**digits)
    if random.random() < (0.45 if column.kind in ("float4", "float8") else 0.2):
        whole = random.choice(EDGES_OF.get(column.kind, EDGES)) + random.randint(-3, 3)
    if random.random() < 0.15:
        whole = random.randrange(10**16, 10**18)
    fraction = ""
    if column.kind not in ("int2", "int4", "int8") and random.random() < 0.6:
        places = random.choice((1, 2, 2, 3, 5, 9, 17))
        fraction = f"{random.randrange(10**places):0{places}}"
    if column.kind == "money":
        fraction = fraction[:2].ljust(2, "0") if random.random() < 0.6 else fraction
    group = column.setting("group_separator", "")
    text = f"{whole:,}".replace(",", str(group)) if random.random() < 0.6 else str(whole)
    if fraction:
        text += str(column.setting("decimal_separator", ".")) + fraction
    if random.random() < 0.08 and column.kind != "money":
        text += f"e{random.choice(('', '-', '+'))}{random.randrange(12)}"
    if random.random() < 0.25:
        form = column.setting("negative", "leading")
        if form == "parentheses" and random.random() < 0.6:
            return f"({text})"
        return text + "-" if form == "trailing" and random.random() < 0.6 else "-" + text
    return text


def _clock(random: Random, places: int) -> str:
    text = f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"
    if places and random.random() < 0.4:
        text += f".{random.randrange(10**places):0{places}}"
    return text


def _moment(random: Random, column: Column) -> str:
    found = moment(random)
    said = column.setting("format")
    offset = random.choice((0, 3600, -28_800, 19_800))
    if said is not None:
        one = said if isinstance(said, str) else random.choice(list(said))
        if column.kind == "date":
            found = found.replace(hour=0, minute=0, second=0, microsecond=0)
        if random.random() < 0.2:
            # Some programs write the parts of a date as whole numbers, without leading zeros.
            one = re.sub(r"%([mdHMSIj])", r"%-\1", one)
        return declared_formats.write(found, one, offset)
    places = column.sizes[0] if column.sizes else 6
    if random.random() < 0.1:
        places += 1
    zone = declared_formats.write(found, "%:z", offset)
    if column.kind == "date":
        return f"{found:%Y-%m-%d}" if random.random() < 0.9 else f"{found:%Y%m%d}"
    if column.kind == "time":
        return _clock(random, places)
    if column.kind == "timetz":
        return _clock(random, places) + (zone if random.random() < 0.7 else "")
    text = f"{found:%Y-%m-%d}{random.choice(' T')}{_clock(random, places)}"
    return text + zone if column.kind == "timestamptz" and random.random() < 0.6 else text


def _interval(random: Random, column: Column) -> str:
    choice = random.random()
    if choice < 0.15:
        return random.choice(
            ("P1Y2M3DT4H5M6S", "PT1H", "P3D", "P14M", "PT36H30M", "P1W", "PT0.5S", "P2Y")
        )
    if choice < 0.25:
        return random.choice(("1 day ago", "@ 2 hours", "1.5 days", "1 week", "1 decade", "90 min"))
    if choice < 0.32:
        return random.choice(("5", "-3", "1-2", "1:30", "1.5", "12:30", "2 3"))
    parts = []
    names = set(column.fields.split()) if random.random() < 0.6 and column.fields else set()
    for unit, name in (("year", "years"), ("month", "mons"), ("day", "days")):
        if (unit in names) or (not names and random.random() < 0.4):
            parts.append(f"{random.randint(1, 40)} {name}")
    if names & {"hour", "minute", "second"} or (not names and random.random() < 0.5):
        parts.append(_clock(random, column.sizes[0] if column.sizes else 6))
    return " ".join(parts) or "00:00:00"


def _json(random: Random) -> str:
    value: Any = random.choice(
        (1, 1.5, "text", None, True, [], {}, [1, "ä", None], {"a": {"b": [1, 2]}}, {"b": 1, "a": 2})
    )
    if random.random() < 0.3:
        return random.choice(
            (
                '{"a": 1, "a": 2}',
                '[{"a": 1, "\\u0061": 2}]',
                "1e400",
                "12345678901234567890.10",
                '"\\u00e9"',
                "NaN",
                "{a:1}",
            )
        )
    return json.dumps(value, ensure_ascii=False)


def _array(random: Random, column: Column) -> str:
    assert column.element is not None
    elements = []
    for _ in range(random.choice((0, 1, 2, 3))):
        word = plain(random, column.element)
        if random.random() < 0.2:
            word = nearly(random, word)
        needs_quotes = not re.fullmatch(r"[-+0-9A-Za-z.:]+", word) or word.upper() == "NULL"
        if random.random() < 0.15:
            elements.append("NULL")
        elif needs_quotes or random.random() < 0.2:
            elements.append('"' + re.sub(r'(["\\])', r"\\\1", word) + '"')
        else:
            elements.append(word)
    return "{" + ",".join(elements) + "}"


def plain(random: Random, column: Column) -> str:
    """Return a text that most programs would write for some value of the type."""
    match column.kind:
        case "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" | "money":
            return number(random, column)
        case "date" | "time" | "timestamp" | "timestamptz" | "timetz":
            return _moment(random, column)
        case "interval":
            return _interval(random, column)
        case "text" | "varchar" | "char" | "name" | '"char"':
            return random.choice(WORDS)
        case "bool":
            words = column.setting("true_words", "t f true false yes no on off 1 0".split())
            return str(random.choice(words))
        case "uuid":
            digits = f"{random.getrandbits(128):032x}"
            return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        case "bytea":
            return random.choice(
                ("\\x", "\\x00ff", "\\xDEADbeef", "plain", "\\000\\377", "a\\\\b", "")
            )
        case "json" | "jsonb":
            return _json(random)
        case "bit" | "varbit":
            length = column.sizes[0] if column.sizes and random.random() < 0.8 else 5
            return "".join(random.choice("01") for _ in range(length))
        case "enum":
            return random.choice(column.labels)
        case "array":
            return _array(random, column)
        case "domain":
            assert column.element is not None
            return plain(random, column.element)
    raise AssertionError(column.kind)


def _lost_zeros(text: str) -> str:
    return re.sub(r"(?<![0-9.])0+(?=[0-9])", "", text)


def nearly(random: Random, text: str) -> str:
    """Return a text damaged as spreadsheets, old programs and people damage it."""
    at = random.randrange(len(text) + 1)
    digits = [place for place, character in enumerate(text) if character.isdigit()]
    match random.randrange(18):
        case 0 | 1 | 2:
            return _lost_zeros(text)
        case 3:
            # A spreadsheet read it as a whole number: only its digits are left, without leading
            # zeros.
            return text.lstrip("0") or "0"
        case 4:
            return text[:at] + " " + text[at:]
        case 5:
            return random.choice((" ", "\t", "\u00a0", "\n")) + text
        case 6:
            return text + random.choice(
                (" ", "\r", "0", ".", "-", "Z", "+01", "%", " BC", "0000000")
            )
        case 7:
            return random.choice("+-0$(") + text
        case 8 if digits:
            # Arabic digits, which some libraries take.
            place = random.choice(digits)
            return text[:place] + chr(0x660 + int(text[place], 16)) + text[place + 1 :]
        case 9 if digits:
            place = random.choice(digits)
            return text[:place] + text[place + 1 :]
        case 10 if digits:
            place = random.choice(digits)
            return text[:place] + str(random.randrange(10)) + text[place + 1 :]
        case 11 if digits:
            place = random.choice(digits)
            return text[:place] + str(random.randrange(10)) + text[place:]
        case 12:
            return re.sub(r":[0-9]{2}", random.choice((":60", ":59", ":61")), text, count=2)
        case 13:
            return re.sub(r"[0-9]{2}(?=:|[0-9]{2}$|[0-9]{4}$)", "24", text, count=1)
        case 14:
            return random.choice((text.upper(), text.lower(), text.replace("-", "/")))
        case 15:
            return random.choice(
                (text.replace(".", ","), text.replace(",", "."), text.replace(" ", ""))
            )
        case 16:
            return random.choice(
                ("NaN", "Infinity", "-inf", "0", "-0", "NA", "NULL", "", "0x10", "1_000")
            )
        case _:
            # A part of the text, the text twice, or the text reversed.
            return random.choice((text[:at], text + text, text[::-1]))


def text_for(random: Random, column: Column) -> str:
    """Return a text for a column."""
    text = plain(random, column)
    if column.setting("format") is not None and random.random() < 0.5:
        # The text after a spreadsheet or a column of integers has changed it.
        return random.choice((text.lstrip("0"), _lost_zeros(text), text.replace("0", " ", 1)))
    if random.random() < 0.5:
        text = nearly(random, text)
        if random.random() < 0.25:
            text = nearly(random, text)
    return text.replace("\0", "")
