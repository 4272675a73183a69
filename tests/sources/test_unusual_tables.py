"""Unusual tables of a source have the same names, columns, sizes and rows in the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.duckdb_files import opened
from harness.servers import Database, Server

# The largest number of columns that a table of PostgreSQL can have.
COLUMNS_MAX = 1_600


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_unusual")
    yield beside
    server.done_with(beside)


@pytest.fixture
def newest_target(newest_server: Server, newest_database: Database) -> Iterator[Database]:
    """Return an empty database beside the one of the newest server that is read."""
    beside = newest_server.create_database(f"{newest_database.name}_unusual")
    yield beside
    newest_server.done_with(beside)


def copy(source: Database, to: str, *more: str) -> list[str]:
    """Return the command that copies tables."""
    return ["copy", "--from", source.url, "--to", to, *more]


def test_generated_and_dropped_columns(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A new table has the values of generated columns, but no dropped column."""
    database.execute(
        "CREATE TABLE t (gone int, id int NOT NULL,"
        "  tripled int GENERATED ALWAYS AS (id * 3) STORED,"
        "  number int GENERATED ALWAYS AS IDENTITY, also_gone text);"
        "ALTER TABLE t DROP COLUMN gone; ALTER TABLE t DROP COLUMN also_gone;"
        "ALTER TABLE t ADD COLUMN later text DEFAULT 'since then';"
        "INSERT INTO t (id) SELECT n FROM generate_series(1, 500) AS n"
    )
    if database.server.version >= 18:
        database.execute("ALTER TABLE t ADD COLUMN virtual int GENERATED ALWAYS AS (-id) VIRTUAL")
    inrush(*copy(database, target.url, "--table", "t")).expect(CLEAN)
    everything = "SELECT * FROM t ORDER BY id"
    assert target.rows(everything) == database.rows(everything)
    # No column of the new table generates its values.
    makes = (
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass "
        "AND (attidentity <> '' OR attgenerated <> '' OR atthasdef)"
    )
    assert target.value(makes) == 0
    # A table that exists generates these values, so they are not copied into it.
    target.execute(
        "CREATE TABLE u (id int, tripled int GENERATED ALWAYS AS (id * 3) STORED, dropped int);"
        "ALTER TABLE u DROP COLUMN dropped"
    )
    into = ("--table", "t", "--into", "u", "--mode", "append")
    made = inrush(*copy(database, target.url, *into, "--columns", "id, tripled"))
    made.expect(USAGE, "computes column `tripled` itself", "--columns")
    inrush(*copy(database, target.url, *into, "--columns", "id")).expect(CLEAN)
    assert target.rows("SELECT id, tripled FROM u ORDER BY id") == database.rows(
        "SELECT id, tripled FROM t ORDER BY id"
    )


def wide(count: int) -> str:
    """Return statements that make a table with this many columns, and three rows."""
    kinds = ("int", "smallint", "boolean", "date")
    columns = ", ".join(f"c{number} {kinds[number % 4]}" for number in range(count))
    values = {
        "int": "n",
        "smallint": "-n",
        "boolean": "n % 2 = 0",
        "date": "'2024-02-29'::date + n",
    }
    filled = ", ".join(values[kinds[number % 4]] for number in range(count))
    return (
        f"CREATE TABLE wide ({columns});"
        f"INSERT INTO wide SELECT {filled} FROM generate_series(1, 3) AS n;"
        "INSERT INTO wide DEFAULT VALUES"
    )


@pytest.mark.parametrize("way", ["passed", "decoded", "by key"])
def test_a_table_of_1600_columns(
    database: Database, target: Database, inrush: Inrush, way: str
) -> None:
    """The place of a row is read in addition to its columns, and all of them are copied."""
    database.execute(wide(COLUMNS_MAX))
    more = {"passed": (), "decoded": ("--verify", "sums"), "by key": ("--split-by", "c0")}[way]
    nulls = ("--split-nulls",) if way == "by key" else ()
    inrush(*copy(database, target.url, "--table", "wide", *more, *nulls)).expect(CLEAN)
    everything = "SELECT wide::text FROM wide ORDER BY c0"
    assert target.rows(everything) == database.rows(everything)


def test_a_table_of_1600_columns_into_duckdb(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(wide(COLUMNS_MAX))
    there = newest_database.rows("SELECT * FROM wide ORDER BY c0")
    words = ("--table", "wide", "--into-schema", "main")
    inrush(*copy(newest_database, "wide.duckdb", *words)).expect(CLEAN)
    with opened(inrush.folder / "wide.duckdb") as file:
        assert file.execute("FROM main.wide ORDER BY c0").fetchall() == there


# Each name has a character with a meaning in SQL or in a URL, or an unusual letter.
ODD_NAMES = [
    "select",
    "Upper Case",
    'a "quoted" name',
    "it's",
    "dots.in.it",
    "größe ÷ €",
    "back\\slash",
    "comma, semicolon; -- no comment",
    "/* neither */",
    "$1",
    "%s {} :name",
    " blanks ",
    "tab\tand\nline",
    "ctid2",
    "::text",
    "n" * 63,
]


def quoted(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def test_odd_names(database: Database, target: Database, inrush: Inrush) -> None:
    """Names of schemas, tables and columns stay as they are."""
    columns = ", ".join(f"{quoted(name)} int" for name in ODD_NAMES)
    names = ", ".join(quoted(name) for name in ODD_NAMES)
    for each in (database, target):
        each.execute(f"CREATE SCHEMA {quoted(ODD_NAMES[2])}")
    table = f"{quoted(ODD_NAMES[2])}.{quoted(ODD_NAMES[7])}"
    database.execute(
        f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({quoted(ODD_NAMES[2])}));"
        f"INSERT INTO {table} SELECT {', '.join(f'n + {at}' for at in range(len(ODD_NAMES)))}"
        " FROM generate_series(1, 300) AS n"
    )
    rows = f"SELECT {names} FROM {table} ORDER BY 1"
    inrush(*copy(database, target.url, "--table", table, "--with-indexes")).expect(CLEAN)
    assert target.rows(rows) == database.rows(rows)
    target.execute(f"DROP TABLE {table}")
    by = ("--split-by", ODD_NAMES[2], "--where", f"{quoted(ODD_NAMES[7])} > 100")
    inrush(*copy(database, target.url, "--table", table, *by)).expect(CLEAN)
    assert target.rows(rows) == database.rows(
        f"SELECT * FROM ({rows}) AS t WHERE {quoted(ODD_NAMES[7])} > 100"
    )


# A table of each kind that has no row.
EMPTY = {
    "a table": "CREATE TABLE t (id int NOT NULL, v text[])",
    "emptied": "CREATE TABLE t (id int NOT NULL, v text[]); INSERT INTO t VALUES (1);DELETE FROM t",
    "partitions": "CREATE TABLE t (id int NOT NULL, v text[]) PARTITION BY LIST (id);"
    "CREATE TABLE one PARTITION OF t FOR VALUES IN (1)",
    "no partitions": "CREATE TABLE t (id int NOT NULL, v text[]) PARTITION BY LIST (id)",
    "a view": "CREATE VIEW t AS SELECT 1 AS id, NULL::text[] AS v WHERE false",
}


@pytest.mark.parametrize("made", EMPTY.values(), ids=EMPTY)
def test_zero_rows(database: Database, target: Database, inrush: Inrush, made: str) -> None:
    """The target is created empty; the same command finds it loaded."""
    database.execute(made)
    words = copy(database, target.url, "--table", "t")
    inrush(*words).expect(CLEAN, "0 rows")
    assert target.value("SELECT count(*) FROM t") == 0
    columns = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert target.rows(columns) == database.rows(columns)
    inrush(*words).expect(CLEAN, "already loaded")
    by_key = copy(database, "parquet:lake", "--table", "t", "--columns", "id", "--split-by", "id")
    inrush(*by_key).expect(CLEAN)


LONG = 100_000_000


@pytest.mark.parametrize("way", ["passed", "decoded"])
def test_values_of_100_megabytes(
    newest_database: Database, newest_target: Database, inrush: Inrush, way: str
) -> None:
    """TOASTed texts and bytes are copied; the plan names the memory that a very long row takes."""
    newest_database.execute(
        "CREATE TABLE t (id int, x text, y bytea);"
        f"INSERT INTO t VALUES (1, repeat('0123456789', {LONG // 10}), NULL),"
        f" (2, 'short', decode(repeat('00ff', {LONG // 2}), 'hex')), (3, NULL, '')"
    )
    more = ("--verify", "sums") if way == "decoded" else ()
    inrush(*copy(newest_database, newest_target.url, "--table", "t", *more)).expect(CLEAN)
    sums = "SELECT id, length(x), md5(x), length(y), md5(y) FROM t ORDER BY id"
    found = newest_target.rows(sums)
    assert found == newest_database.rows(sums)
    assert [row[1] for row in found] == [LONG, 5, None]


def test_a_row_past_the_limit_is_told(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """Six values of 100 MB make a row of 600 MB, although PostgreSQL itself could send it."""
    newest_database.execute(
        f"CREATE TABLE t (id int, {', '.join(f'x{n} text' for n in range(6))});"
        f"INSERT INTO t SELECT 1, {', '.join(['x'] * 6)} "
        f"FROM (SELECT repeat('x', {LONG}) AS x) AS long"
    )
    outcome = inrush(*copy(newest_database, newest_target.url, "--table", "t"))
    outcome.expect(FAILED, "public.t", "in one row", "536870912", "leave its longest column out")
    assert newest_target.value("SELECT to_regclass('t') IS NULL")
    less = ("--columns", "id, x0, x1")
    inrush(*copy(newest_database, newest_target.url, "--table", "t", *less)).expect(CLEAN)
    assert newest_target.value("SELECT length(x0) + length(x1) FROM t") == 2 * LONG


def test_values_of_100_megabytes_into_files(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    newest_database.execute(
        f"CREATE TABLE t (id int, x text); INSERT INTO t VALUES (1, repeat('x', {LONG})), (2, 'y')"
    )
    inrush(*copy(newest_database, f"parquet:{tmp_path}/lake", "--table", "t")).expect(CLEAN)
    (file,) = (tmp_path / "lake").rglob("*.parquet")
    lengths = [len(text) for text in parquet.read_table(file)["x"].to_pylist()]
    assert sorted(lengths) == [1, LONG]
