"""Each error of COPY BINARY is the same with the extension: SQLSTATE, message and place."""

from __future__ import annotations

import random
import struct

import pytest

from extension.twins import HEADER, TRAILER, Twins, binary_of
from harness.servers import Database


def row(*fields: bytes | None) -> bytes:
    """Return a row of COPY BINARY."""
    return struct.pack(">h", len(fields)) + b"".join(
        struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
        for field in fields
    )


def int4(value: int) -> bytes:
    return struct.pack(">i", value)


GOOD = row(int4(1), b"abc")
NUMERIC_BAD_SIGN = struct.pack(">hhHHh", 1, 0, 0x1234, 0, 1)
NUMERIC_BAD_DIGIT = struct.pack(">hhHHh", 1, 0, 0, 0, 10000)
NUMERIC_BAD_SCALE = struct.pack(">hhHHh", 1, 0, 0, 0x7FFF, 1)

# The table's columns after `a int`, a stream, and its SQLSTATE.
STREAMS: dict[str, tuple[str, bytes, str]] = {
    "no header": ("text", b"", "22P04"),
    "half a signature": ("text", HEADER[:7], "22P04"),
    "another signature": ("text", b"PGCOPX" + HEADER[6:], "22P04"),
    "no flags": ("text", HEADER[:13], "22P04"),
    "oids": ("text", HEADER[:11] + b"\0\1\0\0" + bytes(4), "22P04"),
    "critical flags": ("text", HEADER[:11] + b"\1\0\0\0" + bytes(4), "22P04"),
    "no length": ("text", HEADER[:17], "22P04"),
    "length below zero": ("text", HEADER[:15] + b"\xff\xff\xff\xff", "22P04"),
    "half an extension": ("text", HEADER[:15] + b"\0\0\0\5abc", "22P04"),
    "too many fields": ("text", HEADER + GOOD + row(b"", b"", b""), "22P04"),
    "fields below minus one": ("text", HEADER + GOOD + b"\xff\xfe", "22P04"),
    "no fields": ("text", HEADER + b"\0\0", "22P04"),
    "size below minus one": ("text", HEADER + GOOD + b"\0\2\xff\xff\xff\xfe", "22P04"),
    "size of the whole memory": (
        "text", HEADER + GOOD + b"\0\2" + b"\0\0\0\4" + int4(1) + b"\x7f\xff\xff\xff", "54000",
    ),
    "end in a size": ("text", HEADER + GOOD + b"\0\2\0\0", "22P04"),
    "end in a field": ("text", HEADER + GOOD + b"\0\2" + b"\0\0\0\4" + int4(1)[:3], "22P04"),
    "end before a field": ("text", HEADER + GOOD + b"\0\2" + b"\0\0\0\4" + int4(1), "22P04"),
    "data behind the trailer": ("text", HEADER + GOOD + TRAILER + b"x", "22P04"),
    "an int of three bytes": ("text", HEADER + GOOD + row(b"abc", b""), "08P01"),
    "an int of five bytes": ("text", HEADER + row(b"abcde", b""), "22P03"),
    "not UTF-8": ("text", HEADER + GOOD + row(int4(2), b"a\xff"), "22021"),
    "a surrogate": ("text", HEADER + row(int4(2), b"\xed\xa0\x80"), "22021"),
    "half a character": ("varchar(5)", HEADER + row(int4(2), b"abc\xc3"), "22021"),
    "the byte zero": ("text", HEADER + row(int4(2), b"a\0b"), "22021"),
    "too long for varchar": ("varchar(2)", HEADER + row(int4(2), b"abc"), "22001"),
    "too long for char": ("char(2)", HEADER + row(int4(2), "äbc".encode()), "22001"),
    "a numeric's sign": ("numeric", HEADER + row(int4(2), NUMERIC_BAD_SIGN), "22P03"),
    "a numeric's digit": ("numeric", HEADER + row(int4(2), NUMERIC_BAD_DIGIT), "22P03"),
    "a numeric's scale": ("numeric", HEADER + row(int4(2), NUMERIC_BAD_SCALE), "22P03"),
    "half a numeric": ("numeric", HEADER + row(int4(2), NUMERIC_BAD_SIGN[:5]), "08P01"),
    "a numeric too large": (
        "numeric(4,2)", HEADER + row(int4(2), struct.pack(">hhHHh", 1, 0, 0, 2, 100)), "22003",
    ),
    "an infinite numeric": (
        "numeric(4,2)", HEADER + row(int4(2), struct.pack(">hhHH", 0, 0, 0xD000, 0)), "22003",
    ),
    "a date too late": ("date", HEADER + row(int4(2), int4(2_145_031_949)), "22008"),
    "a date too early": ("date", HEADER + row(int4(2), int4(-2_451_546)), "22008"),
    "a time below zero": ("time", HEADER + row(int4(2), struct.pack(">q", -1)), "22008"),
    "a time too late": ("time", HEADER + row(int4(2), struct.pack(">q", 86400000001)), "22008"),
    "a timestamp too late": (
        "timestamp", HEADER + row(int4(2), struct.pack(">q", 9223371331200000000)), "22008",
    ),
    "a timestamptz too early": (
        "timestamptz", HEADER + row(int4(2), struct.pack(">q", -211813488000000001)), "22008",
    ),
    "a uuid of 15 bytes": ("uuid", HEADER + row(int4(2), bytes(15)), "08P01"),
    "a bool of two bytes": ("bool", HEADER + row(int4(2), b"\1\1"), "22P03"),
    "a json": ("json", HEADER + row(int4(2), b"{"), "22P02"),
    "an array": ("int[]", HEADER + row(int4(2), struct.pack(">iii", 99, 0, 23)), "54000"),
    "NULL": ("text NOT NULL", HEADER + GOOD + row(int4(2), None), "23502"),
    "a check": ("text CHECK (b <> 'bad')", HEADER + GOOD + row(int4(2), b"bad"), "23514"),
    "a check before a wrong value": (
        "text CHECK (b <> 'bad')", HEADER + row(int4(2), b"bad") + row(b"ab", b""), "23514",
    ),
    "a check before a wrong row": (
        "text CHECK (b <> 'bad')", HEADER + row(int4(2), b"bad") + b"\0\7", "23514",
    ),
    "NULL before a check": (
        "text NOT NULL, c int CHECK (a < 2)",
        HEADER + row(int4(1), b"", int4(1)) + row(int4(2), None, None),
        "23502",
    ),
    "a row too large": ("text", HEADER + row(int4(2), b"x" * 9000), "54000"),
}  # fmt: skip


@pytest.mark.parametrize("is_in_order", [True, False], ids=["in order", "other order"])
@pytest.mark.parametrize("name", STREAMS)
def test_errors_are_those_of_copy(fast_database: Database, name: str, *, is_in_order: bool) -> None:
    column, stream, sqlstate = STREAMS[name]
    more = ("ALTER TABLE {} ALTER b SET STORAGE plain",) if name == "a row too large" else ()
    definition = f"(a int, b {column})" if is_in_order else f"(b {column}, a int)"
    columns = ("a", "b", "c") if ", c int" in column else ("a", "b")
    twins = Twins(fast_database, "t", definition, columns, more, "tuples")
    copied, fast = twins.load([stream])
    assert fast == copied
    assert copied.sqlstate == sqlstate
    assert copied.tag is None


@pytest.mark.parametrize("seed", range(6))
def test_damaged_streams_end_as_by_copy(fast_database: Database, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    query = (
        "SELECT n, n % 7 = 0, (n * 1.25)::numeric(15,2), 'row ' || n, ('x' || n)::char(6),"
        " date '2020-01-01' + n, now()::timestamp, md5(n::text)::uuid, ARRAY[n, n],"
        " CASE WHEN n % 3 = 0 THEN NULL ELSE n * 0.001 END"
        " FROM generate_series(1, 5) n"
    )
    stream = binary_of(fast_database, query)
    ended = set()
    for number in range(100):
        damaged = bytearray(stream)
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(19, len(damaged))
            kind = chance.random()
            if kind < 0.6:
                damaged[place] = chance.choice((0, 1, 255, 127, 128, chance.randrange(256)))
            elif kind < 0.8:
                del damaged[place : place + chance.choice((1, 2, 4))]
            else:
                damaged[place:place] = chance.randbytes(chance.choice((1, 2, 4)))
        twins = Twins(
            fast_database,
            f"t{number}",
            "(a int, b bool, c numeric(15,2) CHECK (c <> 2.5), d text, e char(6), f date,"
            " g timestamp, h uuid, i int[], j numeric)",
            way="tuples",
        )
        copied, fast = twins.load([bytes(damaged)])
        assert fast == copied, f"seed {seed}, stream {number}"
        ended.add(copied.sqlstate)
        if copied.tag is not None:
            rows = [
                fast_database.rows(f"SELECT t::text FROM {schema}.t{number} t") for schema in "ab"
            ]
            assert rows[0] == rows[1], f"seed {seed}, stream {number}"
    assert len(ended) > 3
