"""Tables of PostgreSQL, copied into another database: every value, at one moment, or refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.command import CLEAN, USAGE, Inrush
from harness.servers import Database, Server

# The name of a column, its type, and values of its ends.
TYPES = [
    ("b", "boolean", ["true", "false"]),
    ("i2", "smallint", ["-32768", "32767"]),
    ("i4", "integer", ["-2147483648", "2147483647"]),
    ("i8", "bigint", ["-9223372036854775808", "9223372036854775807"]),
    ("f4", "real", ["'3.4028235e38'", "'NaN'", "'-Infinity'", "'1e-45'"]),
    ("f8", "double precision", ["'1.7976931348623157e308'", "'NaN'", "'5e-324'", "'-0'"]),
    ("n", "numeric", ["'NaN'", "'-1e-30'", "123456789012345678901234567890.5", "'Infinity'"]),
    ("n12", "numeric(12,2)", ["9999999999.99", "-0.01"]),
    ("n38", "numeric(38,38)", ["0.99999999999999999999999999999999999999"]),
    ("n60", "numeric(60,3)", ["-1234567890123456789012345678901234567890.125"]),
    ("d", "date", ["'4713-01-01 BC'", "'infinity'", "'-infinity'", "'5874897-12-31'"]),
    ("t", "time", ["'00:00'", "'24:00:00'", "'23:59:59.999999'"]),
    ("ts", "timestamp", ["'4713-01-01 BC'", "'infinity'", "'294276-12-31 23:59:59.999999'"]),
    ("tz", "timestamptz", ["'-infinity'", "'2024-02-29 12:00:00.000001+05:45'"]),
    ("x", "text", ["''", "E'quote \" comma , line\\nback\\\\slash'", "repeat('long ü', 100000)"]),
    ("v", "varchar(10)", ["'ten chars!'", "'  '"]),
    ("c", "char(5)", ["'ab'", "''"]),
    ("y", "bytea", ["'\\x'", "'\\x00ff5c22'"]),
    ("u", "uuid", ["'00000000-0000-0000-0000-000000000000'"]),
    ("j", "json", ['\'{"a": 1, "b" : [null]}\'']),
    ("jb", "jsonb", ["'{\"a\": 1e400}'"]),
]


_numbers = itertools.count(1)


@pytest.fixture
def target(server: Server) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    database = server.create_database(f"target_{next(_numbers)}")
    yield database
    server.done_with(database)


def package(source: Database, target: Database, table: str, words: str, **flow: str) -> str:
    """Return a package that reads what the words say."""
    more = "\n".join(f"{name} = {value}" for name, value in flow.items())
    return f"""
name = "copy"
[connections]
crm = {{ url = "{source.url}" }}
dw = {{ url = "{target.url}" }}
[run]
streams = 2
[[flow]]
source = {{ connection = "crm", {words} }}
table = "{table}"
{more}
"""


def read(database: Database, table: str) -> list[tuple[str, ...]]:
    """Return the rows of a table as the server's own text."""
    return database.rows(f"SELECT t::text FROM {table} AS t ORDER BY 1")


def test_every_type_is_equal_at_the_other_end(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A new target has the types of the source, and every value."""
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in TYPES)
    database.execute(f"CREATE TABLE ends (id int NOT NULL, {columns})")
    number = 0
    for name, _, values in TYPES:
        for value in [*values, "NULL"]:
            database.execute(f"INSERT INTO ends (id, {name}) VALUES ({number}, {value})")
            number += 1
    inrush.write("copy.toml", package(database, target, "ends", 'table = "ends"'))
    inrush("run", "copy.toml").expect(CLEAN)
    assert read(target, "ends") == read(database, "ends")
    kinds = (
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = 'ends'::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert target.rows(kinds) == database.rows(kinds)


def test_a_partitioned_table_is_read_by_all_streams(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Each partition is cut into ranges of pages; the plan says so, and no row is lost."""
    database.execute(
        "CREATE TABLE orders (id bigint NOT NULL, note text) PARTITION BY RANGE (id);"
        "CREATE TABLE first PARTITION OF orders FOR VALUES FROM (0) TO (70000);"
        "CREATE TABLE second PARTITION OF orders FOR VALUES FROM (70000) TO (100000);"
        "INSERT INTO orders SELECT n, 'note ' || n FROM generate_series(0, 99999) AS n"
    )
    words = 'table = "orders", where = "id % 10 <> 3"'
    inrush.write("copy.toml", package(database, target, "orders", words))
    plan = inrush("check", "copy.toml").expect(CLEAN)
    assert "2 tables in ranges of pages, at one snapshot" in plan.said
    inrush("run", "copy.toml").expect(CLEAN)
    query = "SELECT count(*), sum(id), count(DISTINCT note) FROM orders WHERE id % 10 <> 3"
    assert target.rows(query) == database.rows(query)
    assert target.value("SELECT count(*) FROM orders") == 90_000


def test_a_copy_under_writers_is_the_snapshot(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Rows that change between the plan and the switch are those of the moment before."""
    database.execute(
        "CREATE TABLE accounts (id int NOT NULL, amount int);"
        "INSERT INTO accounts SELECT n, 100 FROM generate_series(1, 20000) AS n"
    )
    inrush.write("copy.toml", package(database, target, "accounts", 'table = "accounts"'))
    with inrush.stopped_by("stop:before_switch", "run", "copy.toml") as running:
        database.execute(
            "UPDATE accounts SET amount = amount + id; DELETE FROM accounts WHERE id % 2 = 0"
        )
        running.resume().wait().expect(CLEAN)
    assert target.rows("SELECT count(*), sum(amount) FROM accounts") == [(20_000, 2_000_000)]


def test_a_query_and_the_text_of_other_types(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A query may name any columns, and a type without a counterpart is read as text when asked."""
    database.execute(
        "CREATE TABLE t (id int, tags text[]); INSERT INTO t VALUES (1, '{a,b}'), (2, NULL)"
    )
    inrush.write("copy.toml", package(database, target, "t", 'table = "t"'))
    inrush("run", "copy.toml").expect(2, "tags", "text[]", "tags::text")
    words = 'table = "t", columns = ["id", "tags::text"]'
    inrush.write("copy.toml", package(database, target, "t", words))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT id, tags FROM t ORDER BY id") == [(1, "{a,b}"), (2, None)]
    words = 'query = "SELECT id * 10 AS id, cardinality(tags) AS size FROM t ORDER BY id"'
    inrush.write("copy.toml", package(database, target, "sizes", words))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT id, size FROM sizes ORDER BY id") == [(10, 2), (20, None)]


BAD = [
    ('table = "nowhere"', ["nowhere", "no table or view", "with its schema"]),
    ('table = "t", columns = ["nope"]', ['no column "nope"', '"id"']),
    ('table = "t", where = "nope = 1"', ["nope", "name a column"]),
    ('query = "SELECT 1 AS a; SELECT 2"', ["one SELECT"]),
    ('query = "DELETE FROM t RETURNING id"', ["the query"]),
    ("query = \"SELECT nextval('s') AS id\"", ["read-only", "changes nothing"]),
    ('table = "secret"', ["permission denied", "SELECT"]),
]


@pytest.mark.parametrize(("words", "parts"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_a_sentence(
    database: Database, target: Database, inrush: Inrush, words: str, parts: list[str]
) -> None:
    """The sentence has place and fix, and nothing is changed."""
    database.execute(
        "CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE SEQUENCE s;"
        "CREATE TABLE secret (id int); DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN;"
        "GRANT SELECT ON t TO reader; GRANT USAGE ON s TO reader"
    )
    text = package(database, target, "copied", words)
    text = text.replace(f"{database.server.user}@", "reader@", 1)
    inrush.write("copy.toml", text)
    outcome = inrush("run", "copy.toml")
    assert outcome.status != CLEAN, outcome.said
    for part in parts:
        assert part in outcome.said, outcome.said
    assert target.value("SELECT to_regclass('copied') IS NULL")
    assert database.value("SELECT count(*) FROM t") == 1
    database.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_a_package_that_says_too_much(database: Database, target: Database, inrush: Inrush) -> None:
    """Files and a source, or words for files, are refused with their line."""
    text = package(database, target, "t", 'table = "t"', files='"x.csv"')
    path: Path = inrush.write("copy.toml", text)
    inrush("check", path).expect(USAGE, "from `files` or from a `source`")
    inrush.write("copy.toml", package(database, target, "t", 'table = "t", query = "SELECT 1"'))
    inrush("check", path).expect(USAGE, "a `table` or a `query`, not both")
    inrush.write("copy.toml", package(database, target, "t", "stable = true"))
    inrush("check", path).expect(USAGE, "needs a `table` or a `query`")
