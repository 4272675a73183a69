"""The extension stores the bytes that COPY BINARY stores."""

from __future__ import annotations

import os
import random

import pytest

from extension.random_tables import PRELUDE, UNTRIED, VALUES, in_other_order, random_table
from extension.stored import assert_same_tuples
from extension.twins import TRAILER, Twins, binary_in
from harness.servers import Database

# INRUSH_SEEDS=1000:2000 in the environment uses other or more seeds.
FIRST, _, LAST = os.environ.get("INRUSH_SEEDS", "0:60").partition(":")
GROUP = 20
# Of this many messages of a few bytes, most hold only a part of a field or of a row. The messages
# behind them are longer: a million messages would take longer than all else that is done here.
SHORT_MESSAGES = 5_000


def cut(stream: bytes, chance: random.Random) -> list[bytes]:
    """Cut a stream into one message, or at random places; some messages have one byte."""
    largest = chance.choice((None, 7, 500, 8192, 100_000))
    if largest is None:
        return [stream]
    blocks: list[bytes] = []
    place = 0
    while place < len(stream):
        if len(blocks) == SHORT_MESSAGES:
            largest = max(largest, 8192)
        length = chance.choice((1, largest, chance.randint(1, largest)))
        blocks.append(stream[place : place + length])
        place += length
    return blocks


GROUPS = [
    range(first, min(first + GROUP, int(LAST))) for first in range(int(FIRST), int(LAST), GROUP)
]


@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: f"seeds{seeds.start}")
def test_random_tables_are_stored_as_copy_stores_them(
    fast_database: Database, seeds: range
) -> None:
    compare(fast_database, seeds, "tuples", freeze=None)


@pytest.mark.parametrize("fast_server", [18], ids=["pg18"], indirect=True)
@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: f"seeds{seeds.start}")
def test_own_pages_hold_the_tuples_of_copy(fast_database: Database, seeds: range) -> None:
    compare(fast_database, seeds, "pages", freeze=True)


def compare(fast_database: Database, seeds: range, way: str, *, freeze: bool | None) -> None:
    """Load the tables of these seeds both ways, and compare their files."""
    fast_database.execute(PRELUDE)
    compared = []
    with fast_database.connect(autocommit=False) as connection:
        for seed in seeds:
            chance = random.Random(-1 - seed)  # noqa: S311
            table = random_table(seed, fast_database.server.version)
            if chance.random() < 0.3:
                table = in_other_order(table, chance)
            twins = Twins(
                fast_database, f"t{seed}", table.definition, table.columns, table.more, way
            )
            stream = binary_in(connection, table.rows)
            ends = stream if chance.random() < 0.9 else stream.removesuffix(TRAILER)
            copied, fast = twins.load_in(
                connection,
                cut(ends, chance),
                freeze=freeze or (freeze is None and chance.random() < 0.7),
            )
            assert fast == copied, f"seed {seed}"
            if copied.tag is not None:
                compared.append(seed)
    assert len(compared) > len(seeds) // 2
    assert_same_tuples(fast_database, [f"t{seed}" for seed in compared])


def test_every_type_is_among_the_random_ones(fast_database: Database) -> None:
    fast_database.execute(PRELUDE)
    known = {
        kind
        for (kind,) in fast_database.rows(
            "SELECT oid::regtype::oid FROM unnest(ARRAY["
            + ", ".join(f"'{name}'" for name in VALUES)
            + "]::regtype[]) AS oid"
        )
    }
    missing = fast_database.rows(
        "SELECT typname FROM pg_type WHERE typreceive <> 0 AND typtype IN ('b', 'r', 'm')"
        " AND (typcategory <> 'A' OR typname IN ('int2vector', 'oidvector'))"
        " AND typnamespace = 'pg_catalog'::regnamespace"
        f" AND oid NOT IN ({', '.join(str(kind) for kind in known)})"
    )
    assert {name for (name,) in missing} <= UNTRIED
