"""Tables whose triggers, defaults, partitions or indexes need the executor (PostgreSQL 18)."""

from __future__ import annotations

import pytest

from extension.random_tables import PRELUDE, random_table
from extension.test_errors import GOOD, int4, row
from extension.twins import HEADER, TRAILER, Twins, binary_of
from harness.contents import contents
from harness.servers import Database

pytestmark = pytest.mark.parametrize("fast_server", [18], ids=["pg18"], indirect=True)

TRIGGER = ("CREATE TRIGGER seen BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION public.change()",)
TABLES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "plain": ("(a int, b text)", (), ()),
    "other order": ("(b text, a int)", (), ("a", "b")),
    "index": ("(a int PRIMARY KEY, b text)", (), ()),
    "default": ("(a int, c int DEFAULT 7, b text, d text DEFAULT 'x')", (), ("a", "b")),
    "identity": ("(id int GENERATED ALWAYS AS IDENTITY, a int, b text)", (), ("a", "b")),
    "generated": ("(a int, b text, c int GENERATED ALWAYS AS (a * 2) STORED)", (), ("a", "b")),
    "trigger": ("(a int, b text)", TRIGGER, ()),
    "unique": ("(a int, b text UNIQUE)", (), ()),
    "check": ("(a int CHECK (a < 3), b text)", (), ()),
    "not null": ("(a int, b text NOT NULL)", (), ()),
}
ROWS = {
    "good": HEADER + GOOD + row(int4(2), b"xyz") + row(int4(3), None) + TRAILER,
    "twice": HEADER + GOOD + GOOD + TRAILER,
    "not UTF-8": HEADER + GOOD + row(int4(2), b"\xff"),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", TABLES)
def test_the_executor_does_as_by_copy(fast_database: Database, name: str, rows: str) -> None:
    fast_database.execute(
        "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN NEW.b := NEW.b || '!'; RETURN NEW; END$$"
    )
    definition, more, columns = TABLES[name]
    twins = Twins(fast_database, "t", definition, columns, more, "executor")
    copied, fast = twins.load([ROWS[rows]], freeze=False)
    assert fast == copied
    if copied.tag is not None:
        assert contents(fast_database, "TABLE b.t") == contents(fast_database, "TABLE a.t")


def test_rows_are_routed(fast_database: Database) -> None:
    query = "SELECT n, 'row ' || n FROM generate_series(1, 5000) n"
    stream = binary_of(fast_database, query)
    parts = tuple(
        f"CREATE TABLE {{}}_{part} PARTITION OF {{}} FOR VALUES WITH (MODULUS 3, REMAINDER {part})"
        for part in range(3)
    )
    twins = Twins(
        fast_database, "t", "(a int, b text) PARTITION BY HASH (a)", more=parts, way="auto"
    )
    copied, fast = twins.load(
        [stream[place : place + 700] for place in range(0, len(stream), 700)], freeze=False
    )
    assert fast == copied
    assert copied.tag == "COPY 5000"
    for part in range(3):
        assert contents(fast_database, f"TABLE b.t_{part}") == contents(
            fast_database, f"TABLE a.t_{part}"
        )


@pytest.mark.parametrize("seed", range(1_000_000, 1_000_020))
def test_random_tables_hold_what_copy_stores(fast_database: Database, seed: int) -> None:
    fast_database.execute(PRELUDE)
    table = random_table(seed, fast_database.server.version)
    twins = Twins(fast_database, "t", table.definition, table.columns, table.more, "executor")
    stream = binary_of(fast_database, table.rows)
    copied, fast = twins.load([stream[place : place + 999] for place in range(0, len(stream), 999)])
    assert fast == copied
    if copied.tag is not None:
        assert contents(fast_database, "TABLE b.t") == contents(fast_database, "TABLE a.t")
