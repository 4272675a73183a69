"""For every type, modifier, width and length, the extension stores the same bytes as COPY.

The random tables of `test_stored_bytes.py` mix these; here none is left out by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from extension.modified_types import modified_types
from extension.random_tables import PRELUDE, STORAGES, VALUES
from extension.stored import assert_same_tuples
from extension.twins import Twins, append, binary_in, ways_of
from harness.servers import Database

# Lengths of values on both sides of those that change the form of a value or a tuple: a header of
# one byte (126), and TOAST (2,032 for a tuple).
MEDIUM = (0, 1, 2, 3, *range(120, 135))
LARGE = (1900, 2040, 8000, 9000, 70_000)
AROUND_TOAST = range(1985, 2050)
# The largest single value that fits on a page without TOAST has 8,132 bytes.
AROUND_A_PAGE = range(8115, 8138)


def literals(texts: Iterable[str]) -> Iterator[str]:
    """Return SQL expressions for the texts of VALUES, in all lengths that a text stands for."""
    for text in texts:
        for length in MEDIUM if "{medium}" in text else (0,):
            plain = text.replace("{medium}", "x" * length).replace("{n}", "7")
            if "{large}" in plain or "{huge}" in plain:
                for size in LARGE:
                    for made in (compressible(size), incompressible(size)):
                        yield f"to_json({made})::text" if plain.startswith('"') else made
            else:
                yield quoted(plain.replace("{{", "{").replace("}}", "}"))


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def compressible(size: int) -> str:
    """Return an expression for a text of this size that compresses well."""
    return f"repeat('a', {size})"


def incompressible(size: int) -> str:
    """Return an expression for a text of this size that hardly compresses."""
    digits = f"SELECT string_agg(md5(i::text), '') FROM generate_series(0, {size // 32}) AS i"
    return f"left(({digits}), {size})"


@pytest.mark.parametrize("is_in_order", [True, False], ids=["in order", "other order"])
def test_every_type(fast_database: Database, *, is_in_order: bool) -> None:
    """All values of a type and NULL are stored between NULLs and between other values."""
    fast_database.execute(PRELUDE)
    ways = ways_of(fast_database.server.version)
    loaded = []
    with fast_database.connect(autocommit=False) as connection:
        for number, type_name in enumerate(VALUES):
            rows = ", ".join(
                f"({before}, ({value})::{type_name}, {behind})"
                for value in [*literals(VALUES[type_name]), "NULL"]
                for before, behind in (("7::int2", "'x'::\"char\""), ("NULL", "NULL"))
            )
            stream = binary_in(connection, f"VALUES {rows}")
            parts = ["before int2", f"value {type_name}", 'behind "char"']
            for way in ways:
                twins = Twins(
                    fast_database,
                    f"t{number}_{way}",
                    f"({', '.join(parts if is_in_order else reversed(parts))})",
                    ("before", "value", "behind"),
                    way=way,
                )
                copied, fast = twins.load_in(connection, [stream])
                assert copied.tag is not None, f"{type_name}: {copied}"
                assert fast == copied, f"{type_name}, way {way}"
                loaded.append(twins.name)
    assert_same_tuples(fast_database, loaded)


def test_every_modifier(fast_database: Database) -> None:
    """Each value is sent as if its type had no modifier; both ways store the same or refuse it."""
    ways = [way for way in ways_of(fast_database.server.version) if way != "pages"]
    refused = stored = 0
    loaded = []
    with fast_database.connect() as connection:
        connection.execute("CREATE SCHEMA a; CREATE SCHEMA b")
        for number, modified in enumerate(modified_types()):
            values = [f"({quoted(text)})::{modified.base}" for text in modified.texts]
            streams = [binary_in(connection, f"SELECT 1::int2, {value}") for value in values]
            for way in ways:
                name = f"t{number}_{way}"
                loaded.append(name)
                for schema in "ab":
                    connection.execute(
                        f"CREATE TABLE {schema}.{name} (a int2, b {modified.name}, c int2)".encode()
                    )
                outcomes = append(connection, name, ("a", "b"), way, streams)
                for value, (copied, fast) in zip(values, outcomes, strict=True):
                    assert fast == copied, f"{modified.name}, {value[:80]}, way {way}"
                    refused += copied.tag is None
                    stored += copied.tag is not None
    assert refused > 100
    assert stored > 500
    assert_same_tuples(fast_database, loaded)


WIDTHS = (1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1599, 1600)
# The dropped columns: none, only the first, only the last, or every third from the second on.
DROPPED = {"none": slice(0), "first": slice(1), "last": slice(-1, None), "some": slice(1, None, 3)}
KINDS = {"int2": "7::int2", '"char"': "'x'::\"char\"", "bool": "true"}
# For each row, the columns that are NULL.
NULLS = (slice(0), slice(None), slice(1), slice(-1, None), slice(0, None, 2), slice(7, None, 8))


@pytest.mark.parametrize("dropped", DROPPED)
def test_every_width(fast_database: Database, dropped: str) -> None:
    """The tuple's bitmap of NULLs grows with every eighth column."""
    kinds = list(KINDS)
    ways = ways_of(fast_database.server.version)
    loaded = []
    with fast_database.connect(autocommit=False) as connection:
        for width in WIDTHS:
            columns = {f"c{place}": kinds[place % 3] for place in range(width)}
            gone = list(columns)[DROPPED[dropped]]
            kept = [name for name in columns if name not in gone]
            if not kept:
                continue
            rows = [
                ", ".join(
                    f"NULL::{columns[name]}" if name in kept[nulls] else KINDS[columns[name]]
                    for name in kept
                )
                for nulls in NULLS
            ]
            stream = binary_in(connection, " UNION ALL ".join(f"SELECT {row}" for row in rows))
            drop = f"ALTER TABLE {{}} {', '.join(f'DROP {name}' for name in gone)}"
            for way in ways:
                twins = Twins(
                    fast_database,
                    f"t{width}_{way}",
                    f"({', '.join(f'{name} {kind}' for name, kind in columns.items())})",
                    tuple(kept),
                    (drop,) if gone else (),
                    way,
                )
                copied, fast = twins.load_in(connection, [stream])
                assert copied.tag == f"COPY {len(NULLS)}", f"{width} columns: {copied}"
                assert fast == copied, f"{width} columns, way {way}"
                loaded.append(twins.name)
    assert_same_tuples(fast_database, loaded)


@pytest.mark.parametrize("type_name", ["text", "bytea", "jsonb"])
@pytest.mark.parametrize("storage", STORAGES)
def test_every_length(fast_database: Database, storage: str, type_name: str) -> None:
    """Lengths are around 127 bytes, 2 KB and 8 KB; a value too large for a page is refused."""
    as_type = {"text": "{}", "bytea": "convert_to({}, 'UTF8')", "jsonb": "to_jsonb({})"}[type_name]
    definition = f"(a int2, b {type_name}, c text)"
    more = (f"ALTER TABLE {{}} ALTER b SET STORAGE {storage}",)
    # jsonb stores eight bytes more than its text, so its lengths begin earlier.
    lengths = [*range(160), *AROUND_TOAST, 4000]
    if storage != "plain":
        lengths += [*AROUND_A_PAGE, 9000, 70_000]
    rows = [
        f"({size} % 1000, {as_type.format(made(size))}, {behind})"
        for size in lengths
        for made in (compressible, incompressible)
        for behind in ("NULL", "'x'")
    ]
    query = f"SELECT a::int2, b, c FROM (VALUES {', '.join(rows)}) AS r (a, b, c)"
    refusing = AROUND_A_PAGE if storage == "plain" else ()
    ways = ways_of(fast_database.server.version)
    with fast_database.connect(autocommit=False) as connection:
        stream = binary_in(connection, query)
        single = {
            size: binary_in(
                connection,
                f"SELECT 1::int2, {as_type.format(compressible(size))}, NULL::text",
            )
            for size in refusing
        }
        for way in ways:
            twins = Twins(fast_database, f"t_{way}", definition, (), more, way)
            copied, fast = twins.load_in(connection, [stream])
            assert copied.tag == f"COPY {len(rows)}", copied
            assert fast == copied, f"way {way}"
            refused = set()
            for size, one in single.items():
                twins = Twins(fast_database, f"t{size}_{way}", definition, (), more, way)
                copied, fast = twins.load_in(connection, [one])
                assert fast == copied, f"{size} bytes, way {way}"
                refused.add(copied.sqlstate)
            assert refused == ({None, "54000"} if storage == "plain" else set())
    assert_same_tuples(fast_database, [f"t_{way}" for way in ways])
