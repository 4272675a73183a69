"""Rows that pass from PostgreSQL to PostgreSQL in binary form: the flows, and the values."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest

from conftest import SharedServer
from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.packages import step
from harness.servers import Database, Server
from sources.test_postgres_tables import TYPES, package, read

PASSES = "rows are sent on in the source's binary form, without decoding"

# User-defined types have other OIDs in the target, so their rows are converted. For two other types
# a new target has text.
KINDS = [
    kind
    for kind in TYPES
    if not kind[1].startswith(("mood", "pair")) and kind[1] not in ("name", '"char"')
]

_numbers = itertools.count(1)


@pytest.fixture
def target(server: Server) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    database = server.create_database(f"passed_{next(_numbers)}")
    yield database
    server.done_with(database)


def fill(database: Database) -> None:
    """Make a table of all types, with their smallest and largest values, and NULLs."""
    has_xml = database.value("SELECT bool_or(setting LIKE '%with-libxml%') FROM pg_config")
    kinds = [kind for kind in KINDS if has_xml or kind[1] != "xml"]
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in kinds)
    database.execute(f"CREATE TABLE ends (id int NOT NULL, {columns})")
    number = itertools.count()
    for name, _, values in kinds:
        for value in [*values, "NULL"]:
            database.execute(f"INSERT INTO ends (id, {name}) VALUES ({next(number)}, {value})")


WAYS = {
    "pages": 'table = "ends"',
    "key": 'table = "ends", split_by = "id"',
    "query": 'query = "SELECT * FROM ends WHERE id >= 0"',
    "condition": 'table = "ends", where = "id % 2 = 0"',
    "no rows": 'table = "ends", where = "id < 0"',
}


@pytest.mark.parametrize("words", WAYS.values(), ids=WAYS)
def test_every_value_passes(
    database: Database, target: Database, inrush: Inrush, words: str
) -> None:
    """Values of each type pass in every form of the table, even dates that no batch can hold."""
    fill(database)
    inrush.write("copy.toml", package(database, target, "ends", words))
    assert PASSES in inrush("check", "copy.toml").expect(CLEAN).said
    inrush("run", "copy.toml").expect(CLEAN)
    chosen = {WAYS["condition"]: "id % 2 = 0", WAYS["no rows"]: "false"}.get(words, "true")
    wanted = database.rows(f"SELECT t::text FROM ends AS t WHERE {chosen} ORDER BY 1")
    assert read(target, "ends") == wanted


# Settings of the flow, and columns of the target, for which rows are converted.
CONVERTED = {
    "another type": ("", "id bigint, v varchar(9), n numeric(8,2)"),
    "a smaller limit": ("", "id int, v varchar(8), n numeric(8,2)"),
    "sums": ('verify = "sums"', "id int, v varchar(9), n numeric(8,2)"),
}


def test_where_they_are_converted(database: Database, target: Database, inrush: Inrush) -> None:
    """Values that would change, or that the load has to check, are converted."""
    database.execute(
        "CREATE TABLE t (id int, v varchar(9), n numeric(8,2));"
        "INSERT INTO t SELECT n, 'v' || n, n / 7.0 FROM generate_series(1, 1000) AS n"
    )
    shown = "SELECT id, v, n FROM t ORDER BY id"
    for said, (setting, columns) in CONVERTED.items():
        target.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t ({columns})")
        name, _, value = setting.partition(" = ")
        flow = {name: value} if setting else {}
        inrush.write("copy.toml", package(database, target, "t", 'table = "t"', **flow))
        assert PASSES not in inrush("check", "copy.toml").expect(CLEAN).said, said
        inrush("run", "copy.toml").expect(CLEAN)
        assert target.rows(shown) == database.rows(shown), said
    # The columns have no limit, and another order.
    target.execute("DROP TABLE t; CREATE TABLE t (n numeric, id int, v varchar)")
    inrush.write("copy.toml", package(database, target, "t", 'table = "t"'))
    assert PASSES in inrush("check", "copy.toml").expect(CLEAN).said
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows(shown) == database.rows(shown)


# A step, and the rows that it keeps. The steps change no column.
STEPS = {
    "a condition": (step(where_="id % 2 = 0"), "id % 2 = 0"),
    "a check": (step(check="id > 0", else_="warn"), "true"),
    "a column of steps alone": (
        step(derive={"half": "id / 2"}, load=False) + step(where_="half > 100"),
        "id > 200",
    ),
}


@pytest.mark.parametrize(("steps", "chosen"), STEPS.values(), ids=STEPS)
def test_rows_of_a_flow_with_steps_do_not_pass(
    database: Database, target: Database, inrush: Inrush, steps: str, chosen: str
) -> None:
    """Source and target have the same columns, but each row must go through the steps."""
    database.execute(
        "CREATE TABLE t (id int, v text);"
        "INSERT INTO t SELECT n, 'v' || n FROM generate_series(1, 500) AS n"
    )
    without = package(database, target, "t", 'table = "t"')
    inrush.write("copy.toml", without)
    assert PASSES in inrush("check", "copy.toml").expect(CLEAN).said
    inrush.write("copy.toml", without + steps)
    assert PASSES not in inrush("check", "copy.toml").expect(CLEAN).said
    inrush("run", "copy.toml").expect(CLEAN)
    wanted = database.rows(f"SELECT id, v FROM t WHERE {chosen} ORDER BY id")
    assert target.rows("SELECT id, v FROM t ORDER BY id") == wanted


def test_rows_that_the_target_refuses_are_rejects(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The server refuses a whole unit; the careful load finds the rows, with place and reason."""
    database.execute(
        "CREATE TABLE t (id int, v text);"
        "INSERT INTO t SELECT n, nullif('v' || n, 'v70') FROM generate_series(1, 500) AS n"
    )
    target.execute("CREATE TABLE t (id int CHECK (id <> 320), v text NOT NULL)")
    text = package(database, target, "t", 'table = "t"', rejects="{ rows_max = 2 }")
    inrush.write("copy.toml", text)
    assert PASSES in inrush("check", "copy.toml").expect(CLEAN).said
    inrush("run", "copy.toml").expect(LOADED_WITH_REJECTS, "498 loaded + 2 rejected")
    rows = "SELECT id, v FROM t WHERE id NOT IN (70, 320) ORDER BY id"
    assert target.rows("SELECT id, v FROM t ORDER BY id") == database.rows(rows)
    rejects = "".join(path.read_text() for path in inrush.folder.glob("runs/*/rejects/*"))
    assert "ctid (0,70)" in rejects, rejects
    assert "320" in rejects, rejects


def test_text_that_is_not_utf8_is_refused(server: Server, target: Database, inrush: Inrush) -> None:
    """Only the target's server checks the texts."""
    name = f"bytes_{next(_numbers)}"
    settings = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    target.execute(f"CREATE DATABASE {name} {settings}")
    source = Database(server, name)
    source.execute(
        "CREATE TABLE t (id int, v text);"
        r"INSERT INTO t VALUES (1, 'good'), (2, convert_from('\xff', 'SQL_ASCII')), (3, 'too')"
    )
    text = package(source, target, "t", 'table = "t"', rejects="{ rows_max = 1 }")
    inrush.write("copy.toml", text)
    inrush("run", "copy.toml").expect(LOADED_WITH_REJECTS, "2 loaded + 1 rejected")
    assert target.rows("SELECT id, v FROM t ORDER BY id") == [(1, "good"), (3, "too")]
    source.server.drop(source)


@pytest.mark.parametrize(("old", "new"), [(15, 18), (18, 15)])
def test_rows_pass_between_versions(
    shared_server: SharedServer, inrush: Inrush, old: int, new: int
) -> None:
    """The forms of types are the same in all versions, except intervals of newer servers."""
    number = next(_numbers)
    source, target = (
        shared_server(version).create_database(f"versions_{number}_{version}")
        for version in (old, new)
    )
    fill(source)
    names = "SELECT string_agg(format('%I', attname), ',' ORDER BY attnum) FROM pg_attribute"
    names += " WHERE attrelid = 'ends'::regclass AND attnum > 0"
    # Not every server reads XML.
    others = ["xml", "interval"] if old > new else ["xml"]
    names += f" AND format_type(atttypid, NULL) <> ALL (ARRAY{others})"
    columns = str(source.value(names))
    words = f'table = "ends", columns = {json.dumps(columns.split(","))}'
    inrush.write("copy.toml", package(source, target, "ends", words))
    assert PASSES in inrush("check", "copy.toml").expect(CLEAN).said
    inrush("run", "copy.toml").expect(CLEAN)
    rows = f"SELECT ROW({columns})::text FROM ends ORDER BY 1"
    assert target.rows(rows) == source.rows(rows)
