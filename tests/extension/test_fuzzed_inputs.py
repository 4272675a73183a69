"""Inputs that the decoder's fuzzer found have the same result in a server as with COPY BINARY.

Without a server, a fuzzer shows only that the decoder does not crash. Here the types' receive
functions decide which bytes are right, and what they mean.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from extension.fuzzed import FuzzedLoad, inputs_in
from extension.oracle import compare
from extension.raw_session import Reply
from extension.test_errors import int4, row
from extension.twins import TRAILER, ways_of
from harness.checkout import ROOT
from harness.servers import Database

FUZZ = ROOT / "fuzz"
# INRUSH_FUZZED=/tmp/found in the environment replays the files of a folder instead.
FOUND = os.environ.get("INRUSH_FUZZED")
PLACES = (
    [Path(FOUND)] if FOUND else [FUZZ / "corpus/fastcopy.tar.gz", FUZZ / "regressions/fastcopy"]
)
INPUTS = [found for place in PLACES if place.exists() for found in inputs_in(place)]
GROUP = 500


@pytest.mark.parametrize("first", range(0, len(INPUTS), GROUP))
def test_inputs_end_as_by_copy(prepared: Database, first: int) -> None:
    for way in ways_of(prepared.server.version):
        # The way "pages" needs tables that are new and frozen: `test_stored_bytes.py` has those.
        if way == "pages":
            continue
        compared = compare(prepared, INPUTS[first : first + GROUP], way)
        print(f"{way}: {compared}")
        if FOUND is None:
            assert compared.stored > compared.inputs // 4, compared
            assert {"22P03", "22P04", "23502"} <= compared.refused.keys(), compared


def test_there_are_inputs() -> None:
    assert len(INPUTS) > 0


# Columns of an input: `int4 NOT NULL`, `varchar(3)`, one that is dropped, `numeric(4,2)`.
DESCRIBED = bytes([4, 0x18, 0, 11, 0x14, 4, 1, 0, 1, 13, 0x14, 2 * 40 + 5])
COUNT, MESSAGE_LEN = bytes([4]), bytes([9])
TEN = struct.pack(">hhHHh", 1, 0, 0, 0, 10)


def load_of(body: bytes, room: bytes = b"\0") -> FuzzedLoad:
    """Return the load of these columns."""
    load = FuzzedLoad.of(COUNT + MESSAGE_LEN + room + DESCRIBED + body)
    assert load is not None
    return load


def test_an_input_is_a_table_and_a_stream() -> None:
    rows = row(int4(1), None, TEN) + row(int4(2), b"abc", None)
    load = load_of(rows + b"\0\3\0")
    assert load.create("t") == (
        "CREATE TABLE t (c0 int4 NOT NULL, c1 varchar(3), c2 bool, c3 numeric(4,2));"
        " ALTER TABLE t ALTER c0 SET STORAGE plain, DROP c2"
    )
    assert load.loaded == ("c0", "c1", "c3")
    assert load.rows() == [[int4(1), None, TEN], [int4(2), b"abc", None]]
    assert load.message_len == 10
    other = load_of(rows, b"\1")
    assert other.loaded == load.loaded
    assert other.create("t").startswith("CREATE TABLE t (c3 numeric(4,2), c2 bool, c1 varchar(3),")
    assert FuzzedLoad.of(COUNT + MESSAGE_LEN + b"\0" + DESCRIBED[:-1]) is None


def test_a_refused_load_is_tried_without_its_fault() -> None:
    def error(sqlstate: str, context: str = "") -> Reply:
        return Reply("E", ("SERROR", f"C{sqlstate}", "Mwrong", f"WCOPY t, {context}"))

    def after(load: FuzzedLoad, reason: Reply) -> FuzzedLoad:
        found = load.without(reason)
        assert found is not None
        return found

    good, long = row(int4(1), b"abc", TEN), row(int4(2), b"abcd", TEN)
    load = load_of(good + long + b"\xff\xfe")
    sound = after(load, error("22P04", "line 3"))
    assert sound == load_of(good + long + TRAILER)
    short = after(sound, error("22001", "line 2, column c1"))
    assert short == load_of(good + row(int4(2), None, TEN) + TRAILER)
    assert short.without(error("22001", "line 2, column c1")) is None
    nullable = after(short, error("23502", "line 2"))
    assert nullable.body == short.body
    assert "NOT NULL" not in nullable.create("t")
    assert load_of(b"\0\7").without(error("22P04", "line 1")) is None


SOUND = row(int4(1), b"abc", TEN) + TRAILER
# Two rows and the beginning of a third: a text is too long, and a numeric zero has no digits.
DAMAGED = row(int4(1), b"abcd", TEN) + row(int4(2), "äöü".encode(), bytes(8)) + b"\0\3\0"


@pytest.mark.parametrize("room", [b"\0", b"\1"], ids=["in order", "reversed"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SOUND, [(1, "abc", "10.00")]),
        (DAMAGED, [(1, None, "10.00"), (2, "äöü", "0.00")]),
    ],
    ids=["sound", "damaged"],
)
def test_what_is_good_of_an_input_is_stored(
    prepared: Database, body: bytes, expected: list[tuple[object, ...]], room: bytes
) -> None:
    data = COUNT + MESSAGE_LEN + room + DESCRIBED + body
    compare(prepared, [("input", data)], "tuples")
    for schema in "ab":
        assert prepared.rows(f"SELECT c0, c1, c3::text FROM {schema}.tuples_0") == expected
