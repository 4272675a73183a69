"""Values of every column type in COPY's text form, which psql and Inrush read.

A family is one table. Its rows are sent in binary form; the last families hold types that are sent
as text.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.servers import Database


@dataclass(frozen=True)
class Family:
    """Types that belong together: the columns of a table, and its rows as text."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    before: str = ""
    # Whether COPY can also return it in binary form, to compare with.
    binary: bool = True
    # The servers that accept all of its rows.
    version_min: int = 0
    version_max: int = 99


def each(name: str, type_name: str, values: list[str], **more: object) -> Family:
    """Return a family with one column, and a row for each value."""
    return Family(name, (type_name,), tuple((value,) for value in values), **more)  # type: ignore[arg-type]


def escaped(value: str) -> str:
    """Return a text as COPY's text form writes it."""
    for plain, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(plain, written)
    return value


NULL = "\\N"
NINES = "9" * 38

FAMILIES = [
    each(
        "bool",
        "bool",
        [*"t f true false TRUE False y n yes no YES on off On OFF 1 0".split(), NULL],
    ),
    Family(
        "integers",
        ("int2", "int4", "int8"),
        (
            ("-32768", "-2147483648", "-9223372036854775808"),
            ("32767", "2147483647", "9223372036854775807"),
            ("0", "0", "0"),
            ("-0", "+7", "007"),
            ("-1", "-1", "-1"),
            (NULL, NULL, NULL),
        ),
    ),
    Family(
        "floats",
        ("float4", "float8"),
        (
            ("3.4028235e38", "1.7976931348623157e308"),
            ("-3.4028235e38", "-1.7976931348623157e308"),
            ("1.17549435e-38", "2.2250738585072014e-308"),
            ("1e-45", "4.9406564584124654e-324"),
            ("NaN", "NaN"),
            ("Infinity", "Infinity"),
            ("-Infinity", "-Infinity"),
            ("0", "0"),
            ("-0", "-0"),
            ("0.1", "0.1"),
            ("1e10", "1E+10"),
            (".5", "5."),
            ("16777216", "9007199254740992"),
            ("3.1415927", "3.141592653589793"),
            (NULL, NULL),
        ),
    ),
    Family(
        "numeric_bounded",
        ("numeric(38,0)", "numeric(38,38)", "numeric(15,2)", "numeric(1,0)", "decimal(20,10)"),
        (
            (NINES, f"0.{NINES}", "9999999999999.99", "9", "9999999999.9999999999"),
            (f"-{NINES}", f"-0.{NINES}", "-9999999999999.99", "-9", "-9999999999.9999999999"),
            ("0", "0", "0", "0", "0"),
            ("0", "0.00000000000000000000000000000000000001", "0.01", "1", "0.0000000001"),
            ("10000", "0.1", "10000", "1", "10000"),
            ("100000000", "0.0001", "9999.5", "5", "0.00001"),
            ("-0", "-0.0", "-0.00", "-0", "+1.5"),
            ("1e3", "1e-3", "1.5e2", "1", "12.5e-1"),
            ("00012", ".5", "5.", "0", "00.10"),
            (NULL, NULL, NULL, NULL, NULL),
        ),
    ),
    Family(
        "numeric_wide",
        ("numeric(1000,0)", "numeric(1000,1000)", "numeric(39,3)", "numeric(5,-2)", "numeric(3,5)"),
        (
            ("9" * 1000, f"0.{'9' * 1000}", f"{'9' * 36}.999", "9999900", "0.00999"),
            ("-" + "9" * 1000, f"-0.{'9' * 1000}", "-1.001", "-100", "-0.00001"),
            ("0", "0", "0", "0", "0"),
            ("1" + "0" * 999, "0.0001", "10000.001", "12300", "0.00123"),
            (NULL, NULL, NULL, NULL, NULL),
        ),
    ),
    each(
        "numeric",
        "numeric",
        [
            "0",
            "0.00",
            "1.500",
            "-1.500",
            "0001.10",
            "9" * 131072,
            f"0.{'0' * 16382}1",
            "1e131071",
            "1e-16383",
            "1.5e3",
            "1e-5",
            "12345678901234567890123456789012345678901234567890.0987654321",
            "10000",
            "100000000",
            "0.0001",
            "0.00010000",
            "NaN",
            "Infinity",
            "-Infinity",
            "inf",
            NULL,
        ],
    ),
    Family(
        "texts",
        ("text", "varchar", "varchar(5)", "char(5)", "char", "bpchar"),
        (
            ("", "", "", "", "", ""),
            ("a", "a", "abcde", "abcde", "x", "ends in blanks  "),
            (" a ", " a ", " a ", " a ", " ", " a "),
            ("ends in blanks  ", "  ", "ab   ", "ab   ", "y", "  "),
            ("äöü€😀", "äöü€😀", "äöü€😀", "äöü€😀", "😀", "äöü€😀"),
            (escaped("quote \" and ' and \\"), escaped("\ttab\t"), "'", '"', ",", "|"),
            (escaped("two\nlines"), escaped("\r\n"), escaped("\n"), escaped("\\"), "-", "-"),
            (escaped("\\N"), escaped("\\."), escaped("\\N"), escaped("\\N"), "N", escaped("\\N")),
            ("NULL", "null", "NULL", "NULL", "0", "NULL"),
            ("x" * 300_000, "é" * 100_000, "12345", "12345", "1", "z" * 70_000),
            (escaped("\x01\x1f\x7f"), "\u200b\ufeff", "\u0301", "\u0301", "\u00a0", "\U0010ffff"),
            (NULL, NULL, NULL, NULL, NULL, NULL),
        ),
    ),
    each(
        "date",
        "date",
        [
            "4713-01-01 BC",
            "0001-12-31 BC",
            "0001-01-01",
            "1582-10-15",
            "1900-02-28",
            "1969-12-31",
            "1970-01-01",
            "1999-12-31",
            "2000-01-01",
            "2000-02-29",
            "2024-02-29",
            "9999-12-31",
            "10000-01-01",
            "5874897-12-31",
            "infinity",
            "-infinity",
            NULL,
        ],
    ),
    Family(
        "time",
        ("time", "time(3)", "time(0)"),
        (
            ("00:00:00", "00:00:00", "00:00:00"),
            ("24:00:00", "24:00:00", "24:00:00"),
            ("23:59:59.999999", "23:59:59.999", "23:59:59"),
            ("00:00:00.000001", "00:00:00.001", "00:00:01"),
            ("12:30", "12:30:15.5", "04:05:06"),
            (NULL, NULL, NULL),
        ),
    ),
    Family(
        "timestamp",
        ("timestamp", "timestamp(0)", "timestamp(3)"),
        (
            ("4713-01-01 00:00:00 BC", "4713-01-01 00:00:00 BC", "4713-01-01 00:00:00 BC"),
            ("4714-11-24 00:00:00 BC", "4714-11-24 00:00:00 BC", "4714-11-24 00:00:00 BC"),
            ("294276-12-31 23:59:59.999999", "294276-12-31 23:59:59", "294276-12-31 23:59:59.999"),
            # The last microseconds since 1970 that 64 bits hold, and the first that they do not.
            ("294247-01-10 04:00:54.775806", "294247-01-10 04:00:54", "294247-01-10 04:00:54.775"),
            ("294247-01-10 04:00:54.775807", "294247-01-10 04:00:55", "294247-01-10 04:00:54.776"),
            ("294247-01-10 04:00:54.775808", "294262-01-01 00:00:00", "294270-02-28 12:00:00.001"),
            ("0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00"),
            ("1969-12-31 23:59:59.999999", "1969-12-31 23:59:59", "1969-12-31 23:59:59.999"),
            ("1970-01-01 00:00:00", "1970-01-01T00:00:00", "1970-01-01 00:00:00"),
            ("1999-12-31 23:59:59.999999", "2000-01-01 00:00:00", "2000-01-01 00:00:00.001"),
            ("2024-02-29T12:00:00.5", "2024-02-29 12:00", "2024-02-29 12:00:00.5"),
            ("2024-03-31 02:30:00", "2024-12-31 24:00:00", "2024-10-27 02:30:00"),
            ("2024-01-01", "2024-01-01", "2024-01-01"),
            ("infinity", "infinity", "infinity"),
            ("-infinity", "-infinity", "-infinity"),
            (NULL, NULL, NULL),
        ),
    ),
    Family(
        "timestamptz",
        ("timestamptz", "timestamptz(0)"),
        (
            ("4713-01-02 00:00:00+00 BC", "4713-01-02 00:00:00+00 BC"),
            ("4714-11-24 00:00:00+00 BC", "4714-11-23 08:00:01-15:59:59 BC"),
            ("294276-12-31 23:59:59.999999+00", "294276-12-31 23:59:59Z"),
            ("294277-01-01 15:59:58.999999+15:59:59", "294276-12-31 08:00:00-15:59:59"),
            ("294247-01-10 04:00:54.775806+00", "294247-01-10 04:00:54+00"),
            ("294247-01-10 05:00:54.775807+01", "294247-01-10 04:00:55+00"),
            ("294247-01-10 03:00:54.775808-01", "294262-01-01 00:00:00+00"),
            ("2024-01-01 00:00:00+00", "2024-01-01 00:00:00Z"),
            ("2024-01-01 00:00:00+05:30", "2024-01-01 00:00:00-08"),
            ("2024-01-01T00:00:00.123456+14:00", "2024-01-01T00:00:00-12:00"),
            ("2024-01-01 00:00:00-15:59", "2024-01-01 00:00:00+15:59"),
            ("1969-12-31 23:59:59.999999+00", "1970-01-01 00:00:00+0000"),
            ("infinity", "infinity"),
            ("-infinity", "-infinity"),
            (NULL, NULL),
        ),
    ),
    Family(
        "interval",
        ("interval", "interval(0)"),
        (
            ("00:00:00", "00:00:00"),
            ("1 year 2 mons 3 days 04:05:06.789012", "1 year 2 mons 3 days 04:05:06"),
            ("-1 years -2 mons +3 days -04:05:06", "-00:00:01"),
            ("178000000 years", "-178000000 years"),
            ("178956970 years 7 mons", "-178956970 years -8 mons"),
            ("2147483647 days", "-2147483648 days"),
            ("2562047788:00:54.775807", "-2562047788:00:54"),
            ("1 day", "30 days"),
            ("1 mon", "12 mons"),
            ("P1Y2M3DT4H5M6S", "PT1H"),
            ("1 week", "2 hours"),
            (NULL, NULL),
        ),
    ),
    Family(
        "infinite_interval",
        ("interval", "interval(0)"),
        (
            ("infinity", "-infinity"),
            ("-Infinity", "+INFINITY"),
            ("2147483647 mons 2147483647 days 2562047788:00:54.775806", "1 day"),
            ("-2147483648 mons -2147483648 days -2562047788:00:54.775807", "-1 day"),
            (NULL, NULL),
        ),
        version_min=17,
    ),
    # Values that newer versions of PostgreSQL use for infinity.
    Family(
        "finite_interval",
        ("interval",),
        (
            ("2147483647 mons 2147483647 days 2562047788:00:54.775807",),
            ("-2147483648 mons -2147483648 days -2562047788 hours -54.775808 secs",),
            (NULL,),
        ),
        version_max=16,
    ),
    each(
        "uuid",
        "uuid",
        [
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            NULL,
        ],
    ),
    each(
        "bytea",
        "bytea",
        [
            escaped("\\x"),
            "",
            escaped("\\x00"),
            escaped("\\xDEADbeef"),
            escaped("\\x" + "00ff" * 50_000),
            escaped("\\000\\001\\377"),
            escaped("plain \\\\ text"),
            NULL,
        ],
    ),
    Family(
        "json",
        ("json", "jsonb"),
        (
            ("{}", "{}"),
            ("[]", "[]"),
            ("null", "null"),
            ("1.10", "1.10"),
            ('"text"', '"text"'),
            ('{"b": 1, "a": 2,  "a": 3}', '{"b": 1, "a": 2,  "c": 3}'),
            (escaped('{"e": "\\u00e9\\n"}'), escaped('{"e": "\\u00e9\\n"}')),
            (escaped('{\n\t"a": [1, 2]\n}'), escaped('{\n\t"a": [1, 2]\n}')),
            ("1e400", "1e400"),
            ('"' + "x" * 200_000 + '"', '"' + "x" * 200_000 + '"'),
            (NULL, NULL),
        ),
    ),
    Family(
        "enums_and_domains",
        ("mood", "positive", "short", "money_like", "happy", "twice"),
        (
            ("sad", "1", "abc", "9999999999999.99", "happy", "2"),
            ("happy", "2147483647", "", "-0.01", "so so", "2147483647"),
            ("so so", "7", "äöü", "0", "happy", "3"),
            ("Ünï 'quoted'", "8", escaped("a\tb"), "1.5", "happy", "4"),
            (NULL, NULL, NULL, NULL, NULL, NULL),
        ),
        before="""
            CREATE TYPE mood AS ENUM ('sad', 'so so', 'happy', 'Ünï ''quoted''');
            CREATE DOMAIN positive AS int CHECK (VALUE > 0);
            CREATE DOMAIN short AS varchar(3);
            CREATE DOMAIN money_like AS numeric(15,2);
            CREATE DOMAIN happy AS mood CHECK (VALUE <> 'sad');
            CREATE DOMAIN twice AS positive CHECK (VALUE > 1);
        """,
    ),
    # The following types are sent to the server as unchanged text.
    Family(
        "network",
        ("inet", "cidr", "macaddr", "int4"),
        (
            ("192.168.0.1/24", "10.0.0.0/8", "08:00:2b:01:02:03", "1"),
            ("::1", "2001:db8::/32", "08-00-2b-01-02-04", "-2147483648"),
            (NULL, NULL, NULL, NULL),
        ),
    ),
    Family(
        "arrays",
        ("int[]", "text[]", "numeric(5,2)[]", "text"),
        (
            ("{}", "{}", "{}", ""),
            ("{1,2,NULL}", escaped('{a,"b c","d\\"e",NULL}'), "{1.25,999.99}", escaped("a\tb\n")),
            ("{{1,2},{3,4}}", "{NULL}", "{-0.01}", escaped("\\N")),
            (NULL, NULL, NULL, NULL),
        ),
    ),
    Family(
        "others",
        ("point", "tsvector", "bit(3)", "varbit", "int4range", "money", "timetz", "name", "pair"),
        (
            ("(1,2)", "'a':1 'b':2A", "101", "1", "[1,5)", "$1.50", "12:00:00+02", "n", "(1,a)"),
            (
                "(-0,1e300)",
                "",
                "000",
                "",
                "empty",
                "-$2.00",
                "24:00:00+00",
                "",
                escaped('(,"\\"")'),
            ),
            (NULL,) * 9,
        ),
        before="CREATE TYPE pair AS (number int, word text);",
        binary=False,
    ),
]


def families_of(database: Database) -> list[Family]:
    """Return the families that a server takes."""
    return [
        family
        for family in FAMILIES
        if family.version_min <= database.server.version <= family.version_max
    ]


def lines(family: Family) -> str:
    """Return the file of a family: a number, then its columns."""
    numbered = ("\t".join((str(number), *row)) for number, row in enumerate(family.rows, 1))
    return "\n".join(numbered) + "\n"
