"""Columns whose type is to be guessed: values of one kind, in the samples and after them.

The true content of a column is known here. If its samples do not show it, because their numbers or
dates can be read in two ways, the only right guess is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from values.declared_formats import write

Draw = Callable[[Random], str]
THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")
CODE = re.compile(r"[0-9]+[eE][0-9]+")
DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")


@dataclass(frozen=True)
class Sampled:
    """A column: the samples that are guessed from, and values that come later."""

    kind: str
    samples: tuple[str, ...]
    later: tuple[str, ...]
    # How its dates and times are written.
    format: str = ""

    @property
    def shows_decimals(self) -> bool:
        """Whether a sample has a point that cannot separate thousands."""
        return any("." in one and not THOUSANDS.fullmatch(one) for one in self.samples)

    @property
    def has_two_readings(self) -> bool:
        """Whether its samples are numbers in which a dot may separate decimals or thousands."""
        numbers = all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", one) for one in self.samples if one)
        dotted = any(THOUSANDS.fullmatch(one) for one in self.samples)
        return numbers and dotted and not self.shows_decimals

    @property
    def has_codes(self) -> bool:
        """Whether a sample with an E may be a code, and no other sample proves it a number."""
        floats = any(re.fullmatch(r"-?[0-9]+\.[0-9]+[eE][-+]?[0-9]+", one) for one in self.samples)
        floats = floats or any(re.search(r"[0-9][eE][-+][0-9]", one) for one in self.samples)
        return any(CODE.fullmatch(one) for one in self.samples) and not floats

    @property
    def tells_no_order(self) -> bool:
        """Whether its dates can be read both with the day first and with the month first."""
        if self.kind != "date" or self.format in ("%Y-%m-%d",):
            return False
        firsts = [re.split(r"[./-]", one)[:2] for one in self.samples if one]
        return all(int(first) <= 12 and int(second) <= 12 for first, second in firsts)


def _dates(format_text: str, *, is_early: bool) -> Draw:
    def draw(random: Random) -> str:
        found = datetime(2021, 1, 1) + timedelta(days=random.randrange(1_400))
        return write(found.replace(day=random.randint(1, 12)) if is_early else found, format_text)

    return draw


def _pick(*draws: Draw) -> Draw:
    return lambda random: random.choice(draws)(random)


def whole(random: Random) -> str:
    """Return a whole number."""
    return str(random.randrange(-(10 ** random.randint(1, 5)), 10 ** random.randint(1, 5)))


def thousands(random: Random) -> str:
    """Return a number that is wrong by a factor of a thousand if its dot is misread."""
    return f"{random.randint(1, 999)}.{random.randrange(1000):03}"


def decimal(random: Random) -> str:
    """Return a number with two digits after the point."""
    return f"{random.randrange(10_000)}.{random.randrange(100):02}"


def scientific(random: Random) -> str:
    """Return a float as programs print it."""
    return f"{random.uniform(1, 10):.3f}e{random.choice('+-')}{random.randrange(1, 30):02}"


def binary(random: Random) -> str:
    """Return a float with all its digits."""
    return repr(random.uniform(0, 1) * 10 ** random.randint(1, 6))


def code(random: Random) -> str:
    """Return a code of digits, now and then with a letter."""
    return f"{random.randrange(10, 99)}E{random.randrange(10, 99)}"


def number_code(random: Random) -> str:
    """Return a code of digits."""
    return str(random.randrange(10_000, 99_999))


def comma(random: Random) -> str:
    """Return a decimal comma."""
    return f"{random.randrange(1000)},{random.randrange(100):02}"


def padded(random: Random) -> str:
    """Return a code with zeros before it."""
    return f"{random.randrange(10_000):05}"


def word(random: Random) -> str:
    """Return a word."""
    return random.choice("Ann Bob Cy Dora Emil Fritz x y London Wien".split()) + random.choice(
        ("", "", " b", "ä")
    )


def flag(random: Random) -> str:
    """Return a word for true or false."""
    return random.choice(("true", "false"))


def clock(random: Random) -> str:
    """Return a time of day."""
    return f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"


def stamp(random: Random) -> str:
    """Return a timestamp."""
    day = datetime(2024, 1, 1) + timedelta(days=random.randrange(400))
    return f"{day:%Y-%m-%d} {clock(random)}{random.choice(('', '', '.5', '.123456'))}"


def zoned(random: Random) -> str:
    """Return a timestamp with its offset."""
    return stamp(random) + random.choice(("+00:00", "Z", "-08:00", "+05:30"))


def grouped(random: Random) -> str:
    """Return a number with commas between its thousands."""
    return f"{random.randrange(1000, 10**7):,}"


def empty(_: Random) -> str:
    """Return an empty text."""
    return ""


def large(random: Random) -> str:
    """Return a whole number beyond those that floats hold."""
    return str(random.choice((2**53, 2**24, 10**16, 10**17)) + random.choice((-1, 1, 3)))


def odd(random: Random) -> str:
    """Return a value of a kind that the samples do not show."""
    return random.choice(
        "007 +43123 12E45 1.500 1,5 1e5 yes 1 t NA NULL 0x1F 9007199254740993 16777217 12.345 1. "
        ".5 "
        "2024-01-02 02.01.2024 1/2/2024 20240102 12345678901234567890 0.1 -0 00 1_000".split()
    )


# The name of each kind, how its samples are drawn, and how its later values are drawn.
KINDS: tuple[tuple[str, Draw, Draw], ...] = (
    ("whole", whole, _pick(whole, large, odd)),
    ("decimal", _pick(decimal, whole), _pick(decimal, large, thousands)),
    ("thousands", thousands, _pick(thousands, whole)),
    ("thousands and whole", _pick(thousands, whole), _pick(thousands, whole, odd)),
    ("scientific", scientific, _pick(scientific, large, whole)),
    ("binary", binary, _pick(binary, large, whole, odd)),
    ("floats and whole", _pick(scientific, whole), _pick(large, whole, code)),
    ("codes", _pick(number_code, number_code, code), _pick(code, number_code)),
    ("comma", comma, _pick(comma, whole)),
    ("padded", _pick(padded, number_code), padded),
    ("clock", clock, _pick(clock, odd)),
    ("stamp", stamp, _pick(stamp, stamp, zoned, odd)),
    ("zoned", zoned, _pick(zoned, zoned, stamp, odd)),
    ("grouped", grouped, _pick(grouped, whole)),
    ("word", word, _pick(word, whole)),
    ("flag", flag, _pick(flag, odd)),
    ("empty", empty, _pick(empty, whole)),
)


def sampled(random: Random, sample_count: int, later_count: int) -> Sampled:
    """Return a column."""
    if random.random() < 0.25:
        format_text = random.choice(DATE_FORMATS)
        draw = _dates(format_text, is_early=random.random() < 0.5)
        later = _pick(_dates(format_text, is_early=False), odd)
        kind = "date"
    else:
        format_text = ""
        kind, draw, later = random.choice(KINDS)
    holes = 0.15 if random.random() < 0.3 else 0.0
    samples = ["" if random.random() < holes else draw(random) for _ in range(sample_count)]
    if kind == "codes":
        # At least one sample has the column's special property.
        samples[random.randrange(sample_count)] = code(random)
    return Sampled(
        kind, tuple(samples), tuple(later(random) for _ in range(later_count)), format_text
    )
