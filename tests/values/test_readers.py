"""The independent reader itself: tables of texts and their meanings."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest

from harness.packages import Value as Setting
from values.declared_formats import write
from values.meanings import Column, Meaning, double_bits, single_bits
from values.moments import day_number, offset_at
from values.reader import Field, read, value

DAY = 86_400_000_000


class Nothing(Enum):
    """The mark of a text without a meaning; `None` is NULL."""

    NOTHING = "nothing"


NOTHING = Nothing.NOTHING


def column(kind: str, *sizes: int, **settings: Setting) -> Column:
    return Column(kind, kind, sizes, settings=settings)


def interval(fields: str) -> Column:
    return Column("interval", f"interval {fields}", fields=fields)


def means(text: str, of: Column) -> Any:
    found = value(text, of)
    return NOTHING if found.is_none else found.value


GERMAN: Any = {"decimal_separator": ",", "group_separator": "."}
NUMBERS: list[tuple[Column, str, Any]] = [
    (column("int2"), "32767", 32767),
    (column("int2"), "32768", NOTHING),
    (column("int4"), " 007 ", 7),
    (column("int4", lossless=True), "007", NOTHING),
    (column("int4", lossless=True), "+7", NOTHING),
    (column("int4"), "2.0", 2),
    (column("int4"), "2.5", NOTHING),
    (column("int4", round="half_even"), "2.5", 2),
    (column("int4", round="half_up"), "-2.5", -3),
    (column("int4", round="down"), "-2.9", -2),
    (column("int4"), "\u0661", NOTHING),
    (column("int4"), "1_000", NOTHING),
    (column("int4", group_separator="_"), "1_000", 1000),
    (column("int4", group_separator="."), "1.5", NOTHING),
    (column("int4", negative="parentheses"), "(12)", -12),
    (column("int4", negative="parentheses"), "(-12)", NOTHING),
    (column("int4", negative="trailing"), "12-", -12),
    (column("int4"), "12-", NOTHING),
    (column("numeric", 5, 2), "1.10", (Fraction(11, 10), 2)),
    (column("numeric", 5, 2), "1.1000", (Fraction(11, 10), 2)),
    (column("numeric", 5, 2), "1.239", NOTHING),
    (column("numeric", 5, 2, round="half_even"), "1.005", (Fraction(1), 2)),
    (column("numeric", 5, 2), "1000", NOTHING),
    (column("numeric", 5, -2), "12300", (Fraction(12300), 0)),
    (column("numeric", **GERMAN), "1.000,5", (Fraction(2001, 2), 1)),
    (column("numeric", decimal_separator=","), "1.5", NOTHING),
    (column("numeric"), "1e-3", (Fraction(1, 1000), 3)),
    (column("numeric"), "NaN", "nan"),
    (column("float8", nan="null"), "NaN", None),
    (column("float8"), "9007199254740993", NOTHING),
    (column("float8", lossless=False), "9007199254740993", double_bits(9007199254740992.0)),
    (column("float8"), "7e-324", NOTHING),
    (column("float8"), "4.9406564584124654e-324", double_bits(5e-324)),
    (column("float4"), "1.1e-45", NOTHING),
    (column("float8", lossless=True), "9007199254740993", NOTHING),
    (column("float8", lossless=True), "9007199254740994", double_bits(9007199254740994.0)),
    (column("float8", lossless=True), "0.1", double_bits(0.1)),
    (column("float8", lossless=True), "0.30000000000000004", double_bits(0.1 + 0.2)),
    (column("float8", lossless=True), "0.1000000000000000123", NOTHING),
    (column("float4", lossless=True), "16777217", NOTHING),
    (column("float4", lossless=True), "16777216", single_bits(16777216.0)),
    (column("float4"), "-0", single_bits(-0.0)),
    (column("float4"), "3.5e38", NOTHING),
    (column("float4"), "1e-60", NOTHING),
    (column("float8"), "0x10", NOTHING),
    (column("money"), "1234.56", 123_456),
    (column("money"), "-$1,234.5", -123_450),
    (column("money"), "($1.00)", -100),
    (column("money"), "1.239", NOTHING),
    (column("money", 0), "1234", 1234),
    (column("money", 0), "1234.00", 1234),
    (column("money", 0), "1.23", NOTHING),
    (column("money"), "664,68", NOTHING),
    (column("money"), "(1.00", NOTHING),
]  # fmt: skip


@pytest.mark.parametrize(("of", "text", "meaning"), NUMBERS, ids=str)
def test_numbers(of: Column, text: str, meaning: Any) -> None:
    assert means(text, of) == meaning


def at(day: tuple[int, int, int], seconds: float = 0) -> int:
    days = day_number(*day)
    assert days is not None
    return days * DAY + round(seconds * 1_000_000)


VIENNA: dict[str, Setting] = {"zone": "Europe/Vienna"}
MOMENTS: list[tuple[Column, str, Any]] = [
    (column("date"), "2000-01-01", 0),
    (column("date"), "20000102", 1),
    (column("date"), "1999-12-31", -1),
    (column("date"), "2024-02-30", NOTHING),
    (column("date"), "025-06-02", NOTHING),
    (column("date"), "0001-12-31 BC", -730_120),
    (column("date"), "20111022 BC", -1_464_328),
    (column("date"), "infinity", "infinity"),
    (column("date"), "2024-01-02 00:00:00", NOTHING),
    (column("time"), "24:00:00", DAY),
    (column("time"), "24:00:01", NOTHING),
    (column("time"), "23:59:60", NOTHING),
    (column("time", 0), "00:00:01.5", NOTHING),
    (column("time", 0, round="half_up"), "00:00:01.5", 2_000_000),
    (column("time"), "12:00:00+01", NOTHING),
    (column("timetz"), "12:00:00", NOTHING),
    (column("timetz"), "12:00:00+05:30", (DAY // 2, -19_800)),
    (column("timetz"), "12:00:00+01%", NOTHING),
    (column("timestamp"), "2000-01-01 00:00:01", 1_000_000),
    (column("timestamp"), "2000-01-01 00:00:01Z", NOTHING),
    (column("timestamptz"), "2000-01-01 00:00:00", NOTHING),
    (column("timestamptz"), "2000-01-01 01:00:00+01", 0),
    (column("timestamptz", **VIENNA), "2000-01-01 01:00:00", 0),
    (column("timestamptz", **VIENNA), "2024-03-31 02:30:00", NOTHING),
    (column("timestamptz", **VIENNA), "2024-10-27 02:30:00", NOTHING),
    (column("time", format="%H%M%S"), "12345", NOTHING),
    (column("time", format="%H%M%S"), "012345", 5_025_000_000),
    (column("time", format="%H%M"), "123", NOTHING),
    (column("time", format="%H%M"), "1 23", NOTHING),
    (column("time", format="%H:%M"), "1:23", 4_980_000_000),
    (column("time", format="%I:%M %p"), "12:00 am", 0),
    (column("time", format="%H:%M:%S"), "23:59:60", NOTHING),
    (column("date", format="%y%m%d", year_pivot=1970), "40102", NOTHING),
    (column("date", format="%y%m%d", year_pivot=1970), "000102", 1),
    (column("date", format="%Y%m%d"), "2024112", NOTHING),
    (column("date", format="%Y%m%d"), "0240102", NOTHING),
    (column("date", format="%d%m%Y"), "2012000", NOTHING),
    (column("date", format="%Y%j"), "2000002", 1),
    (column("date", format="%Y%j"), "201204", NOTHING),
    (column("date", format="%d.%m.%Y"), "2.1.2000", 1),
    (column("date", format="%d.%m.%Y"), "2.1.24", NOTHING),
    (column("date", format="%a %d.%m.%Y"), "Sun 01.01.2000", NOTHING),
    (column("date", format="%a %d.%m.%Y"), "Sat 01.01.2000", 0),
    (column("date", format=["%d/%m/%Y", "%m/%d/%Y"]), "02/01/2000", NOTHING),
    (column("timestamp", format="%d%m%Y %H%M"), "1012000 0100", NOTHING),
    (column("timestamp", format="%d%m%Y %H%M"), "01012000 0100", at((2000, 1, 1), 3600)),
    (column("timestamp", format="%d%m%Y %H%M"), "010120000100", at((2000, 1, 1), 3600)),
    (column("timestamptz", format="%s"), "946684800", 0),
    (column("timestamptz", format="%Y%m%d%H%M%S%z"), "20000101010000+0100", 0),
]


@pytest.mark.parametrize(("of", "text", "meaning"), MOMENTS, ids=str)
def test_moments(of: Column, text: str, meaning: Any) -> None:
    assert means(text, of) == meaning


def test_days_are_those_of_the_calendar() -> None:
    for ordinal in range(1, datetime(9999, 12, 31).toordinal(), 37):
        day = datetime.fromordinal(ordinal)
        expected = ordinal - datetime(2000, 1, 1).toordinal()
        assert day_number(day.year, day.month, day.day) == expected


def test_a_local_time_has_its_only_offset() -> None:
    assert offset_at(at((2024, 7, 1)), "Europe/Vienna") == 7_200
    assert offset_at(at((2024, 3, 31), 9_000), "Europe/Vienna") is None
    assert offset_at(at((82025, 7, 16)), "Europe/Vienna") == 7_200
    assert offset_at(at((82025, 1, 16)), "Europe/Vienna") == 3_600
    assert offset_at(at((9999, 12, 31)), "Asia/Kolkata") == 19_800
    # Before standard time, the zone has its local mean time.
    assert offset_at(at((-500, 7, 16)), "America/New_York") == -17_762


@pytest.mark.parametrize("text", ["%Y%m%d", "%d.%m.%Y", "%d %b %Y", "%A, %d %B %Y", "%F", "%Y%j"])
def test_what_a_format_writes_it_reads(text: str) -> None:
    for number in range(400):
        moment = datetime.fromordinal(datetime(2023, 12, 1).toordinal() + number)
        days = day_number(moment.year, moment.month, moment.day)
        found = value(write(moment, text), column("date", format=text))
        assert (found.value, found.plain) == (days, True)


OTHERS: list[tuple[Column, str, Any]] = [
    (column("interval"), "1 year 2 mons 3 days 04:05:06.5", (14, 3, 14_706_500_000)),
    (column("interval"), "P1Y2M3DT4H5M6S", (14, 3, 14_706_000_000)),
    (column("interval"), "1.5 days", (0, 1, DAY // 2)),
    (column("interval"), "1 day ago", (0, -1, 0)),
    (column("interval"), "5", NOTHING),
    (column("interval", 0), "00:00:00.5", NOTHING),
    (interval("year to month"), "1 day", NOTHING),
    (interval("year to month"), "14 mons", (14, 0, 0)),
    (interval("year"), "14 mons", NOTHING),
    (interval("day"), "3 days 01:00:00", NOTHING),
    (interval("day"), "3 days", (0, 3, 0)),
    (interval("hour"), "01:30:00", NOTHING),
    (interval("minute to second"), "1:30", (0, 0, 90_000_000)),
    (column("varchar", 3), "abcd", NOTHING),
    (column("varchar", 3), "äöü", "äöü"),
    (column("varchar", 3, on_truncate="truncate"), "abcd", "abc"),
    (column("char", 3), "a    ", "a"),
    (column("name"), "x" * 63, "x" * 63),
    (column("name"), "ä" * 32, NOTHING),
    (column('"char"'), "a", b"a"),
    (column('"char"'), "ä", NOTHING),
    (column("bool"), "of", False),
    (column("bool"), "o", NOTHING),
    (column("bool", true_words=["ja"], false_words=["nein"]), "true", NOTHING),
    (column("bytea"), "\\x00fF", b"\x00\xff"),
    (column("bytea"), "\\x0", NOTHING),
    (column("bytea"), "a\\\\b\\101", b"a\\bA"),
    (column("json"), '{"a": NaN}', NOTHING),
    (column("json"), '{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    (column("json"), '{"a": 1, "a": 2}-', NOTHING),
    (column("jsonb"), '{"a": 1, "a": 2}', NOTHING),
    (column("jsonb"), '[{"b": {"a": 1, "\\u0061": 1}}]', NOTHING),
    (column("jsonb"), '{"b": {"a": 1}, "a": 2}', {"b": {"a": 1}, "a": 2}),
    (column("jsonb"), '"\\u0000"', NOTHING),
    (column("bit", 3), "101", "101"),
    (column("bit", 3), "10", NOTHING),
    (column("bit", 4), "xA", "1010"),
    (column("uuid"), "a0eebc99-9c0b-4ef8-bb6d", NOTHING),
]


@pytest.mark.parametrize(("of", "text", "meaning"), OTHERS, ids=str)
def test_other_types(of: Column, text: str, meaning: Any) -> None:
    assert means(text, of) == meaning


def array(of: Column) -> Column:
    return Column("array", f"{of.type_name}[]", element=of)


ARRAYS: list[tuple[Column, str, Any]] = [
    (column("int4"), "{}", ((), (), ())),
    (column("int4"), "{1,NULL,3}", ((3,), (1,), (1, None, 3))),
    (column("text"), '{a,"NULL",null, b c }', ((4,), (1,), ("a", "NULL", None, "b c"))),
    (column("int4"), "{{1,2},{3,4}}", ((2, 2), (1, 1), (1, 2, 3, 4))),
    (column("int4"), "{{1,2},{3}}", NOTHING),
    (column("int4"), "[0:1]={5,6}", ((2,), (0,), (5, 6))),
    (column("int4"), "[0:2]={5,6}", NOTHING),
    (column("numeric", 5, 2), "{1.239}", NOTHING),
    (column("varchar", 3), "{abcd}", NOTHING),
    (column("text"), '{"a\\"b"}', ((1,), (1,), ('a"b',))),
    (column("text"), "{a,}", NOTHING),
    (column("timestamptz"), '{"2000-01-01 00:00:00"}', NOTHING),
]


@pytest.mark.parametrize(("element", "text", "meaning"), ARRAYS, ids=str)
def test_arrays(element: Column, text: str, meaning: Any) -> None:
    assert means(text, array(element)) == meaning


FIELDS: list[tuple[Field, dict[str, Setting], Any]] = [
    (Field(""), {}, None),
    (Field("", quoted=True), {}, ""),
    (Field("NA"), {"null": "NA"}, None),
    (Field("NA", quoted=True), {"null": "NA"}, "NA"),
    (Field(" NA "), {"null": ["NA", "-"], "trim": "both"}, None),
    (Field(""), {"null": False}, ""),
    (Field(" a ", quoted=True), {"trim": "both"}, " a "),
    (Field(" a ", quoted=True), {"trim": "end", "trim_quoted": True}, " a"),
    (Field("\\N", escaped=True), {}, None),
    (Field("\\N", escaped=True), {"null": False}, "N"),
    (Field("\ta ", escaped=True), {"trim": "both"}, "\ta"),
    (Field("a\\", escaped=True), {}, "a\\"),
]


@pytest.mark.parametrize(("field", "settings", "meaning"), FIELDS, ids=str)
def test_fields(field: Field, settings: dict[str, Setting], meaning: Any) -> None:
    assert read(field, column("text", **settings)).value == meaning


def test_plain_texts_are_told_from_odd_ones() -> None:
    def plain(text: str, of: Column) -> bool:
        return value(text, of).plain

    assert plain("12", column("int4")) and not plain("012", column("int4"))
    assert plain("2024-01-02", column("date")) and not plain("20240102", column("date"))
    assert Meaning(1, plain=True).softened() == Meaning(1)
