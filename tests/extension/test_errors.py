"""Each error of COPY BINARY is the same with the extension: SQLSTATE, message and place."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from extension.random_tables import PRELUDE, VALUES
from extension.stored import tuples
from extension.twins import HEADER, TRAILER, Twins, append, binary_in, ways_of
from harness import extension
from harness.contents import contents_in
from harness.servers import Database, Server


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
    "NULL in a column that is left out": ("text, d int NOT NULL", HEADER + GOOD, "23502"),
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
def test_errors_are_those_of_copy(
    unchanged_database: Database, name: str, *, is_in_order: bool
) -> None:
    column, stream, sqlstate = STREAMS[name]
    more = ("ALTER TABLE {} ALTER b SET STORAGE plain",) if name == "a row too large" else ()
    definition = f"(a int, b {column})" if is_in_order else f"(b {column}, a int)"
    columns = ("a", "b", "c") if ", c int" in column else ("a", "b")
    with unchanged_database.connect(autocommit=False) as connection:
        for way in ways_of(unchanged_database.server.version):
            twins = Twins(unchanged_database, f"t_{way}", definition, columns, more, way)
            copied, fast = twins.load_in(connection, [stream])
            assert fast == copied, way
            assert copied.sqlstate == sqlstate
            # Failed loads leave nothing in the database, which other tests use, too.
            assert copied.tag is None


def wrong(value: bytes) -> Iterator[bytes]:
    """Return bytes that resemble a value's; the type refuses most of them."""
    yield from (b"", b"\0", value[:-1], value[1:], value + b"\0", value * 3)
    yield from (b"\xff" * len(value), bytes(len(value)), b"\x7f" * 40)
    for place in range(0, len(value), max(1, len(value) // 8)):
        yield value[:place] + bytes([value[place] ^ 0x80]) + value[place + 1 :]
        yield value[:place] + bytes([value[place] ^ 0x01]) + value[place + 1 :]


def test_wrong_bytes_of_every_type(fast_database: Database) -> None:
    """Each type's errors are the same, and so are the odd values that it accepts."""
    ways = [way for way in ways_of(fast_database.server.version) if way != "pages"]
    told = set()
    with fast_database.connect() as connection:
        connection.execute(f"{PRELUDE} CREATE SCHEMA a; CREATE SCHEMA b".encode())
        for number, (type_name, texts) in enumerate(VALUES.items()):
            text = next((text for text in texts if text and "arge}" not in text), texts[0])
            literal = text.replace("{medium}", "abc").replace("{n}", "7")
            literal = literal.replace("{{", "{").replace("}}", "}").replace("'", "''")
            stream = binary_in(connection, f"SELECT '{literal}'::{type_name}")
            # The number of fields and the field's length follow the header.
            value = stream[len(HEADER) + 6 : -len(TRAILER)]
            streams = [HEADER + GOOD_ROW + row(int4(2), bad) + TRAILER for bad in wrong(value)]
            for way in ways:
                name = f"t{number}_{way}"
                for schema in "ab":
                    connection.execute(
                        f"CREATE TABLE {schema}.{name} (a int, b {type_name})".encode()
                    )
                outcomes = append(connection, name, ("a", "b"), way, streams)
                for bad, (copied, fast) in zip(wrong(value), outcomes, strict=True):
                    assert fast == copied, f"{type_name}, {bad.hex()}, way {way}"
                    told.add(copied.sqlstate)
                stored = [contents_in(connection, f"TABLE {schema}.{name}") for schema in "ab"]
                assert stored[1] == stored[0], f"{type_name}, way {way}"
    assert {None, "22P03", "22021", "08P01"} <= told


@pytest.mark.parametrize("encoding", ["LATIN1", "EUC_JP", "SQL_ASCII"])
def test_other_encodings(fast_server: Server, session_folder: Path, encoding: str) -> None:
    """Texts in the database's own encoding, valid or not, give the same rows or errors."""
    name = f"in_{encoding}".lower()
    with fast_server.connect() as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING {encoding} LOCALE 'C' TEMPLATE template0".encode()
        )
    database = Database(fast_server, name)
    extension.install(database, extension.built(fast_server.version, session_folder))
    texts = (
        b"",
        b"abcde",
        b"caf\xe9",
        b"\xa4\xa2\xa4\xa4\xa4\xa6",
        b"\xa4",
        b"\xff",
        b"a\0",
        b"ab  ",
    )
    streams = [HEADER + row(int4(1), text) + TRAILER for text in texts]
    told = set()
    with database.connect() as connection:
        connection.execute("CREATE SCHEMA a; CREATE SCHEMA b")
        for number, kind in enumerate(("text", "varchar(3)", "char(3)", "varchar", "name", "json")):
            for schema in "ab":
                connection.execute(f"CREATE TABLE {schema}.t{number} (a int, b {kind})".encode())
            outcomes = append(connection, f"t{number}", ("a", "b"), "auto", streams)
            for text, (copied, fast) in zip(texts, outcomes, strict=True):
                assert fast == copied, f"{kind}, {text!r}"
                told.add(copied.sqlstate)
    assert {None, "22021", "22001"} <= told
    database.execute("CHECKPOINT")
    for number in range(6):
        assert tuples(database, f"b.t{number}") == tuples(database, f"a.t{number}")
    fast_server.done_with(database)


# A row whose second field is NULL, which every type accepts.
GOOD_ROW = row(int4(1), None)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_streams_end_as_by_copy(fast_database: Database, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    query = (
        "SELECT n, n % 7 = 0, (n * 1.25)::numeric(15,2), 'row ' || n, ('x' || n)::char(6),"
        " date '2020-01-01' + n, now()::timestamp, md5(n::text)::uuid, ARRAY[n, n],"
        " CASE WHEN n % 3 = 0 THEN NULL ELSE n * 0.001 END"
        " FROM generate_series(1, 5) n"
    )
    ended = set()
    with fast_database.connect(autocommit=False) as connection:
        stream = binary_in(connection, query)
        for number in range(100):
            twins = Twins(
                fast_database,
                f"t{number}",
                "(a int, b bool, c numeric(15,2) CHECK (c <> 2.5), d text, e char(6), f date,"
                " g timestamp, h uuid, i int[], j numeric)",
                way="tuples",
            )
            copied, fast = twins.load_in(connection, [damaged(stream, chance)])
            assert fast == copied, f"seed {seed}, stream {number}"
            ended.add(copied.sqlstate)
            if copied.tag is not None:
                rows = [
                    connection.execute(
                        f"SELECT t::text FROM {schema}.t{number} t".encode()
                    ).fetchall()
                    for schema in "ab"
                ]
                assert rows[0] == rows[1], f"seed {seed}, stream {number}"
    assert len(ended) > 3


def damaged(stream: bytes, chance: random.Random) -> bytes:
    """Return the stream with a few bytes changed, lost or added behind the header."""
    made = bytearray(stream)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(19, len(made))
        kind = chance.random()
        if kind < 0.6:
            made[place] = chance.choice((0, 1, 255, 127, 128, chance.randrange(256)))
        elif kind < 0.8:
            del made[place : place + chance.choice((1, 2, 4))]
        else:
            made[place:place] = chance.randbytes(chance.choice((1, 2, 4)))
    return bytes(made)
