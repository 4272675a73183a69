"""Reads numbers exactly, with fractions, as the types of a database hold them."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from values.meanings import Column, Meaning, double_bits, may, must, nothing, single_bits

BLANKS = " \t\n\r\f\v"
INTEGERS = {"int2": 15, "int4": 31, "int8": 63}
# Fractions with such exponents need little memory, and no type holds larger ones.
EXPONENT_MAX = 200_000
NUMERIC_WHOLE_DIGITS = 131_072
NUMERIC_SCALE_MAX = 16_383


@dataclass(frozen=True)
class Written:
    """A number as it is written."""

    value: Fraction
    # Floats can hold minus zero.
    negative: bool
    digits: str
    scale: int
    has_point: bool
    has_exponent: bool
    # True if it has the usual form: no plus, no leading zeros, no blanks around it.
    plain: bool
    # True if it has a leading zero or a plus, as codes often do.
    looks_coded: bool


def special(text: str) -> str | None:
    """Return "nan", "inf" or "-inf" if a text is one of their names."""
    match = re.fullmatch(r"([+-]?)(nan|inf|infinity)", text.strip(BLANKS), re.I | re.A)
    if match is None:
        return None
    sign, word = match.group(1), match.group(2).lower()
    if word == "nan":
        return "nan" if not sign else None
    return "-inf" if sign == "-" else "inf"


def written(text: str, column: Column) -> Written | None:
    """Take a number apart in the form that the column declares, or return None."""
    decimal = re.escape(column.setting("decimal_separator", "."))
    group = column.setting("group_separator")
    body = text.strip(BLANKS)
    negative_form = column.setting("negative", "leading")
    around = ""
    if negative_form == "parentheses" and (match := re.fullmatch(r"\((.*)\)", body, re.S)):
        around, body = "(", match.group(1).strip(BLANKS)
    elif negative_form == "trailing" and body.endswith("-"):
        around, body = "-", body[:-1].strip(BLANKS)
    whole = r"[0-9]+"
    if group is not None:
        whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(group)}[0-9]{{3}})+|[0-9]+)"
    match = re.fullmatch(rf"([+-]?)({whole})?(?:({decimal})([0-9]*))?(?:[eE]([+-]?[0-9]+))?", body)
    if match is None:
        return None
    sign, integer, point, fraction, exponent = match.groups()
    integer, fraction = integer or "", fraction or ""
    if group is not None:
        integer = integer.replace(group, "")
    if (not integer and not fraction) or (around and sign):
        return None
    power = int(exponent or 0)
    if abs(power) > EXPONENT_MAX:
        return None
    negative = sign == "-" or bool(around)
    value = Fraction(int(integer + fraction), 10 ** len(fraction)) * Fraction(10) ** power
    codes = len(integer) > 1 and integer[0] == "0"
    plus = sign == "+" and exponent is None
    return Written(
        value=-value if negative else value,
        negative=negative,
        digits=(integer + fraction).strip("0"),
        scale=max(len(fraction) - power, 0),
        has_point=point is not None,
        has_exponent=exponent is not None,
        plain=body == text and not codes and sign != "+" and bool(integer)
        and (point is None or fraction != "") and not around,
        looks_coded=codes or plus,
    )  # fmt: skip


def rounded(value: Fraction, how: str) -> int:
    """Round to a whole number by a column's `round` setting."""
    sign = -1 if value < 0 else 1
    whole, rest = divmod(abs(value), 1)
    up = {
        "down": False,
        "half_up": rest >= Fraction(1, 2),
        "half_even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
    }[how]
    return sign * (int(whole) + up)


def kept(value: Fraction, places: int, column: Column) -> Fraction | None:
    """Return a value with this number of digits after the point, or None if it would lose any."""
    scaled = value * Fraction(10) ** places
    if scaled.denominator == 1:
        return value
    how = column.setting("round", "reject")
    return None if how == "reject" else rounded(scaled, how) / Fraction(10) ** places


def number(text: str, column: Column) -> Meaning:
    """Return the meaning of a text in a column of numbers."""
    word = special(text)
    if word is not None:
        return _special(word, column)
    parts = written(text, column)
    if parts is None:
        return nothing("it is not a number in the form that the column declares")
    if column.setting("lossless", False) and parts.looks_coded:
        return nothing("lossless: a zero or a plus before a number is a part of a code")
    if column.kind in INTEGERS:
        return _integer(parts, column)
    if column.kind == "numeric":
        return _numeric(parts, column)
    return _float(parts, column)


def _special(word: str, column: Column) -> Meaning:
    if word == "nan" and column.setting("nan") == "null":
        return may(None)
    match column.kind:
        case "float8":
            return may(double_bits(float(word)))
        case "float4":
            return may(single_bits(float(word)))
        case "numeric" if not column.sizes or word == "nan":
            return may(word)
    return nothing("the type holds no such value")


def _integer(parts: Written, column: Column) -> Meaning:
    value = kept(parts.value, 0, column)
    if value is None:
        return nothing("the type keeps no fraction")
    limit = 2 ** INTEGERS[column.kind]
    if not -limit <= value < limit:
        return nothing("it is outside the range of the type")
    is_whole = not parts.has_point and not parts.has_exponent
    return must(int(value)) if is_whole and parts.plain else may(int(value))


def _numeric(parts: Written, column: Column) -> Meaning:
    if not column.sizes:
        whole = abs(parts.value.numerator) // parts.value.denominator
        if whole >= 10**NUMERIC_WHOLE_DIGITS or parts.scale > NUMERIC_SCALE_MAX:
            return nothing("it is outside the range of the type")
        found = (parts.value, parts.scale)
        return must(found) if parts.plain and not parts.has_exponent else may(found)
    precision, scale = column.sizes
    has_more = parts.has_point or parts.has_exponent
    if column.setting("lossless", False) and scale == 0 and has_more:
        if column.setting("round", "reject") == "reject":
            return nothing("lossless: the point in a whole number may separate thousands")
        return may((kept(parts.value, scale, column), 0))
    value = kept(parts.value, scale, column)
    if value is None:
        return nothing("the type keeps fewer digits behind the point")
    if abs(value) * Fraction(10) ** scale >= 10**precision:
        return nothing("it has more digits than the type")
    found = (value, max(scale, 0))
    return must(found) if parts.plain and not parts.has_exponent else may(found)


def nearest_single(value: Fraction) -> float:
    """Return the float of four bytes that is nearest to a value; halves go to the even one."""
    guess = float(value)
    try:
        bits = struct.unpack(">I", struct.pack(">f", abs(guess)))[0]
    except OverflowError:
        bits = 0x7F800000
    best = None
    for candidate in range(max(bits - 1, 0), min(bits + 1, 0x7F800000) + 1):
        found = struct.unpack(">f", struct.pack(">I", candidate))[0]
        # Infinity takes the place of the next float.
        exact = Fraction(2) ** 128 if candidate == 0x7F800000 else Fraction(found)
        order = (abs(exact - abs(value)), candidate % 2)
        if best is None or order < best[0]:
            best = (order, found)
    assert best is not None
    single: float = best[1]
    return -single if value < 0 else single


def shortest_single(value: float) -> Fraction:
    """Return the number with fewest digits that is read as this float of four bytes."""
    for digits in range(1, 10):
        short = Fraction(f"{value:.{digits - 1}e}")
        if nearest_single(short) == value:
            return short
    return Fraction(value)


def still_says(value: float, parts: Written, is_single: bool) -> bool:
    """Whether a float, with the fewest or with the written number of digits, equals its text."""
    # A float of four bytes may be printed as one of eight.
    shortest = {Fraction(repr(value)), *([shortest_single(value)] if is_single else [])}
    as_many = Fraction(f"{Decimal(value):.{max(len(parts.digits), 1) - 1}e}")
    step = Fraction(10) ** -parts.scale

    def is_like(short: Fraction) -> bool:
        # If two texts are equally short and near, printers may choose either: 0.25 is 0.2 or 0.3.
        is_as_near = abs(parts.value - Fraction(value)) <= abs(short - Fraction(value))
        ends_there = (short / step).denominator == 1 and (short / (10 * step)).denominator != 1
        is_as_short = abs(parts.value - short) == step and ends_there
        return parts.value == short or (is_as_short and is_as_near)

    return parts.value == as_many or any(is_like(short) for short in shortest)


def _float(parts: Written, column: Column) -> Meaning:
    is_single = column.kind == "float4"
    try:
        value = nearest_single(parts.value) if is_single else float(parts.value)
    except OverflowError:
        value = float("inf")
    if value in (float("inf"), float("-inf")):
        return nothing("it is outside the range of the type")
    if value == 0 and parts.value != 0:
        return nothing("it is too small for the type")
    if value == 0 and parts.negative:
        value = -0.0
    # The smallest numbers keep fewer and fewer digits.
    is_tiny = value != 0 and abs(value) < (2.0**-126 if is_single else 2.0**-1022)
    digits_always = 0 if is_tiny else 6 if is_single else 15
    is_lossy = len(parts.digits) > digits_always and Fraction(value) != parts.value
    if column.setting("lossless") is not False and is_lossy:
        if parts.scale == 0 and parts.value.denominator == 1 and not parts.has_exponent:
            return nothing("the float does not equal this whole number")
        if not still_says(value, parts, is_single):
            return nothing("the float is another number than the one that is written")
    bits = single_bits(value) if is_single else double_bits(value)
    is_long = len(parts.digits) > digits_always
    if not parts.plain or is_long or parts.has_exponent or abs(value) < 1e-30:
        return may(bits)
    return must(bits)


def money(text: str, column: Column) -> Meaning:
    """Return the amount that a text means, written as in the C locale or without any sign.

    It is counted in the smallest unit of the currency. `sizes` has its number of digits after the
    point by `lc_monetary` (none in Japan); the default is two.
    """
    digits = column.sizes[0] if column.sizes else 2
    body = text.strip(BLANKS)
    match = re.fullmatch(
        r"(\()?([+-])?\s*(\$)?\s*([+-])?([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+|(?=\.[0-9]))(?:\.([0-9]*))?\)?",
        body,
        re.A,
    )
    if match is None:
        return nothing("it is not an amount in the C locale")
    bracket, sign, dollar, inner, whole, fraction = match.groups()
    if bool(bracket) != body.endswith(")") or (sign and inner) or (bracket and (sign or inner)):
        return nothing("its signs contradict each other")
    fraction = fraction or ""
    if fraction[digits:].strip("0"):
        return nothing(f"the type keeps {digits} digits behind the point")
    cents = int("0" + whole.replace(",", "") + fraction[:digits].ljust(digits, "0"))
    if bracket or "-" in (sign, inner):
        cents = -cents
    if not -(2**63) <= cents < 2**63:
        return nothing("it is outside the range of the type")
    is_plain = re.fullmatch(r"-?[1-9][0-9]*(\.[0-9]{2})?", text) and abs(cents) < 10**15
    return must(cents) if is_plain and not dollar else may(cents)
