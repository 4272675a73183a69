"""Damaged streams, damaged messages and cancels end as with COPY, and the server keeps running."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from extension.damage import cut, damaged, disturbed
from extension.random_tables import RandomTable, in_other_order, random_table
from extension.raw_session import RawSession, Reply, message, statement
from extension.test_errors import GOOD, int4, row
from extension.twins import HEADER, TRAILER, binary_of, copy_statement, ways_of
from harness.contents import contents
from harness.pauses import wait_until
from harness.servers import Database

# INRUSH_SEEDS=1000:2000 in the environment uses other seeds, or more.
FIRST, _, LAST = os.environ.get("INRUSH_SEEDS", "0:4").partition(":")
SEEDS = range(int(FIRST), int(LAST))
STREAMS = 25
CANCELS = 25


def some_table(seed: int, version: int, chance: random.Random) -> RandomTable:
    """Return the table of a seed, some with columns that come in another order."""
    table = random_table(seed, version)
    return in_other_order(table, chance) if chance.random() < 0.3 else table


def table_of(seed: int, version: int, chance: random.Random) -> tuple[RandomTable, list[str]]:
    """Return a table, and constraints that some of its rows may break."""
    table = some_table(seed, version, chance)
    more = list(table.more)
    for column in table.columns[:3]:
        if chance.random() < 0.2:
            more.append(f"ALTER TABLE {{}} ALTER {column} SET NOT NULL")
        if chance.random() < 0.2:
            like = chance.choice(("0%", "00%"))
            more.append(f"ALTER TABLE {{}} ADD CHECK (md5({column}::text) NOT LIKE '{like}')")
    return table, more


def making(schema: str, table: RandomTable, more: list[str]) -> list[str]:
    """Return the statements that make the table in a schema."""
    made = [f"CREATE TABLE {{}} {table.definition}", *more]
    return [text.replace("{}", f"{schema}.t") for text in made]


@contextmanager
def begin(
    database: Database, schema: str, table: RandomTable, more: list[str]
) -> Iterator[RawSession]:
    """Open a session, and begin a transaction that makes the table."""
    with RawSession(database) as session:
        made = making(schema, table, more)
        replies = session.run("BEGIN", *made, "SELECT inrush_fastcopy.open()")
        assert not [reply for reply in replies if reply.kind == "E"], replies
        yield session


def copy_of(schema: str, table: RandomTable, way: str, *, freeze: bool) -> str:
    """Return the COPY into a schema: COPY BINARY for `a`, the extension's format for `b`."""
    form = "FORMAT binary" if schema == "a" else f"FORMAT inrush, WAY {way}"
    return copy_statement(f"{schema}.t", table.columns, f"{form}, FREEZE {freeze}").decode()


# Messages that end a COPY, and how much of the stream comes before them.
ENDS = {
    "CopyFail": message(b"f", b"given up\0"),
    "CopyFail without an end": message(b"f", b"given up"),
    "a statement": statement("SELECT 1"),
    "an unknown message": message(b"\x01"),
    "a length below four": b"d" + struct.pack(">i", 3),
    "a length of 1 GB": b"d" + struct.pack(">i", 0x7FFFFFFF),
    "half a message": message(b"d", bytes(9))[:7],
    "CopyDone": message(b"c"),
    "the end of the connection": b"",
}
PLACES = {
    "nothing": b"",
    "half the header": HEADER[:13],
    "the header": HEADER,
    "half a row": HEADER + GOOD + GOOD[:12],
    "a number of fields": HEADER + GOOD + GOOD[:2],
    "two rows": HEADER + GOOD + GOOD,
    "a row that breaks a constraint": HEADER + row(int4(-1), None),
    "the trailer": HEADER + GOOD + TRAILER,
    "bytes behind the trailer": HEADER + GOOD + TRAILER + b"x",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_message_that_ends_the_copy(prepared: Database, end: str) -> None:
    table = RandomTable("(a int CHECK (a > 0), b text)", (), ("a", "b"), "")
    for place, stream in PLACES.items():
        for way in ways_of(prepared.server.version):
            told: list[list[Reply]] = []
            for schema in "ab":
                with begin(prepared, schema, table, []) as session:
                    session.send(statement(copy_of(schema, table, way, freeze=way == "pages")))
                    replies = session.until_ready("G")
                    session.send(message(b"d", stream) + ENDS[end])
                    told.append(replies + session.until_end())
            assert told[1] == told[0], f"behind {place}, way {way}"
            assert len(told[0]) > 1 or ENDS[end] == b""


@pytest.mark.parametrize("seed", SEEDS)
def test_damage_ends_as_by_copy(prepared: Database, seed: int) -> None:
    chance = random.Random(f"damage {seed}")  # noqa: S311
    version = prepared.server.version
    table, more = table_of(seed, version, chance)
    stream = binary_of(prepared, table.rows)[: chance.choice((500, 5_000, 300_000))]
    kinds = set()
    for number in range(STREAMS):
        way = chance.choice(ways_of(version))
        freeze = way == "pages" or chance.random() < 0.5
        messages = disturbed(cut(damaged(stream, chance), chance), chance)
        told: list[list[Reply]] = []
        for schema in "ab":
            with begin(prepared, schema, table, more) as session:
                session.send(statement(copy_of(schema, table, way, freeze=freeze)))
                replies = session.until_ready("G")
                session.send(b"".join(messages) + statement("COMMIT"))
                told.append(replies + session.until_end())
        place = f"seed {seed}, stream {number}, way {way}"
        assert told[1] == told[0], place
        kinds |= {reply.sqlstate for reply in told[0]}
        made = [prepared.value(f"SELECT to_regclass('{schema}.t')") for schema in "ab"]
        assert (made[0] is None) == (made[1] is None), place
        if made[0] is not None:
            found = [contents(prepared, f"TABLE {schema}.t") for schema in "ab"]
            assert found[1] == found[0], place
            prepared.execute("DROP TABLE a.t; DROP TABLE b.t")
    assert len(kinds) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_cancels_at_random_points(prepared: Database, seed: int) -> None:
    """A cancelled load leaves no row. If its session still works, it then loads the same rows."""
    chance = random.Random(f"cancel {seed}")  # noqa: S311
    version = prepared.server.version
    table = some_table(seed, version, chance)
    more = list(table.more)
    stream = binary_of(prepared, table.rows)
    with begin(prepared, "a", table, more) as session:
        copied = load(session, copy_of("a", table, "auto", freeze=False), [message(b"d", stream)])
    assert sqlstates(copied) == {None}
    expected = contents(prepared, "TABLE a.t")
    for number in range(CANCELS):
        way = chance.choice(ways_of(version))
        place = f"seed {seed}, cancel {number}, way {way}"
        copy = copy_of("b", table, way, freeze=way == "pages")
        messages = cut(stream, chance)
        point = chance.randrange(len(messages) + 1)
        with begin(prepared, "b", table, more) as session:
            session.send(statement(copy))
            assert session.until_ready("G")[-1].kind == "G", place
            session.send(b"".join(messages[:point]))
            end = chance.choice(("cancel", "cancel", "terminate", "hang up"))
            if end == "cancel":
                session.cancel()
            elif end == "terminate":
                prepared.execute(f"SELECT pg_terminate_backend(pid) FROM ({OTHERS}) AS other")
            if end != "hang up":
                session.send(b"".join(messages[point:]))
                replies = session.until_ready()
                # The cancel may come before or after the last row.
                assert sqlstates(replies) <= {ENDED_BY[end], None}, f"{place}: {replies}"
            if end == "cancel":
                # A late cancel ends a statement after the COPY.
                session.run("ROLLBACK", "SELECT 1")
                made = making("b", table, more)
                replies = session.run("BEGIN", *made) + load(session, copy, messages)
                assert sqlstates(replies) == {None}, f"{place}: {replies}"
        if end == "cancel":
            assert contents(prepared, "TABLE b.t") == expected, place
            prepared.execute("DROP TABLE b.t")
        else:
            wait_until(prepared, f"SELECT NOT EXISTS ({OTHERS})")
            assert prepared.value("SELECT to_regclass('b.t')") is None, place


# The query for the other sessions of this database.
OTHERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
ENDED_BY = {"cancel": "57014", "terminate": "57P01"}


def load(session: RawSession, copy: str, messages: list[bytes]) -> list[Reply]:
    """Send a COPY with these messages, and commit."""
    session.send(statement(copy))
    replies = session.until_ready("G")
    session.send(b"".join(messages))
    if messages[-1][:1] != b"c":
        session.send(message(b"c"))
    return replies + session.until_ready() + session.run("COMMIT")


def sqlstates(replies: list[Reply]) -> set[str | None]:
    """Return the SQLSTATEs of errors, and None if a statement was completed."""
    return {reply.sqlstate for reply in replies if reply.kind in "EC"}
