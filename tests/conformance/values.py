"""The values of each type that every destination gets: NULL, extremes, and odd values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """A type as a package names it, and values of it as a file writes them; None is NULL."""

    name: str
    values: tuple[str | None, ...]

    @property
    def test_id(self) -> str:
        """The name of the type in the names of tests."""
        return self.name.replace(" ", "_")


def label(value: str | None) -> str:
    """Return a short form of a value that may be long."""
    if value is None:
        return "NULL"
    if len(value) > 50:
        return f"{value[:8]}... ({len(value):,} characters)"
    return value


def _type(name: str, *values: str) -> Type:
    return Type(name, (*values, None))


_TIMESTAMPS = (
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "2024-02-29 12:34:56.5",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    # 64 bits cannot hold the nanoseconds since 1970 of these times.
    "1677-09-20 00:00:00",
    "2262-04-12 00:00:00",
    "10000-01-01 00:00:00",
    "294246-12-31 23:59:59.999999",
    # 64 bits cannot hold the microseconds since 1970 of this time.
    "294276-12-31 23:59:59.999999",
    "4713-01-01 00:00:00 BC",
)

TYPES = (
    _type("boolean", "true", "false"),
    _type("smallint", "-32768", "32767", "0"),
    _type("integer", "-2147483648", "2147483647", "0"),
    _type("bigint", "-9223372036854775808", "9223372036854775807", "0", "9007199254740993"),
    _type(
        "real",
        *("0.1", "3.4028235e38", "-3.4028235e38", "1.17549435e-38", "1e-45", "16777216"),
        *("0", "-0", "NaN", "Infinity", "-Infinity"),
    ),
    _type(
        "double precision",
        *("0.1", "1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308"),
        *("4.9406564584124654e-324", "0", "-0", "NaN", "Infinity", "-Infinity"),
    ),
    _type("numeric(15,2)", "9999999999999.99", "-9999999999999.99", "0.01", "-0.10", "0"),
    _type(
        "numeric(38,10)",
        *(f"{'9' * 28}.{'9' * 10}", f"-{'9' * 28}.{'9' * 10}", "0.0000000001", "0", "-1.5"),
    ),
    _type("numeric(38,0)", "9" * 38, "-" + "9" * 38, "0", "1"),
    _type(
        "numeric",
        *("0.1", "-1.500", "9" * 38, f"{'1234567890' * 5}.0987654321", "NaN", "Infinity"),
    ),
    _type(
        "text",
        *("", "a", "  blanks  ", "say \"yes\" and 'no'", "two\nlines", "\r\n", "\ttab\t", "\\N"),
        *("NULL", "äöü€😀", "\u200b\ufeff\u0301", "\x01\x1f\x7f", "x" * 1_000_000),
    ),
    _type("varchar(5)", "", "abcde", "äöü€😀", " a ", "\n"),
    _type("char(5)", "", "ab", "abcde", "äöü€😀", " a"),
    _type(
        "date",
        *("1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31", "10000-01-01"),
        *("0001-12-31 BC", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity"),
    ),
    _type("time", "00:00:00", "23:59:59.999999", "00:00:00.000001", "12:30:00.5", "24:00:00"),
    _type("timestamp", *_TIMESTAMPS, "infinity", "-infinity"),
    _type(
        "timestamptz",
        *(
            f"{value.removesuffix(' BC')}+00{value[-3:] * value.endswith(' BC')}"
            for value in _TIMESTAMPS
        ),
        *("infinity", "-infinity"),
    ),
    _type(
        "interval",
        *("00:00:00", "1 year 2 mons 3 days 04:05:06.789012", "-1 years -2 mons 3 days -04:05:06"),
        *("14 mons", "36 days", "178956970 years 7 mons", "2147483647 days"),
        # 64 bits cannot hold the nanoseconds of the first value, and can barely hold the
        # microseconds of the second.
        *("2562048:00:00", "2562047788:00:54.775806", "infinity"),
    ),
    _type(
        "uuid",
        *("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    _type("bytea", "\\x", "\\x00", "\\xdeadbeef", "\\x" + "00ff" * 50_000),
    _type(
        "json",
        *("{}", "null", '"text"', "1e400", '{"b": 1, "a": 2,  "a": 3}', '{"e": "\\u00e9\\n"}'),
        '"' + "x" * 200_000 + '"',
    ),
    # Types that only PostgreSQL has, and whose values PostgreSQL would change silently.
    _type("interval year to month", "1 year 2 mons", "-2 mons", "00:00:00", "1 day"),
    _type("timetz", "12:00:00+02", "24:00:00+00", "23:59:59.999999-15:59:59", "12:00:00"),
    _type("money", "$1,234.56", "-$0.01", "$92,233,720,368,547,758.07", "1.239"),
    _type("name", "", "n", "a" * 63, "a" * 64),
    _type('"char"', "", "a", "ä"),
    _type("numeric(5,2)[]", "{}", "{1.25,NULL,NaN}", "{{1.00},{2.50}}", "[0:0]={5.00}", "{1.239}"),
)
