"""Tables of DuckDB and SQLite are copied into PostgreSQL and Parquet: every value, or a reject."""

from __future__ import annotations

import re
import signal
import sqlite3
from pathlib import Path

import duckdb
import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.duckdb_files import opened
from harness.servers import Database

# The name of a column, its types in DuckDB and PostgreSQL, and extreme values.
TYPES = [
    ("b", "BOOLEAN", "boolean", ["true", "false"]),
    ("i1", "TINYINT", "smallint", ["-128"]),
    ("i4", "INTEGER", "integer", ["-2147483648"]),
    ("i8", "BIGINT", "bigint", ["9223372036854775807"]),
    ("u8", "UBIGINT", "numeric(20,0)", ["18446744073709551615"]),
    ("h", "HUGEINT", "numeric(38,0)", ["-99999999999999999999999999999999999999"]),
    ("f4", "FLOAT", "real", ["3.4028235e38", "NaN"]),
    ("f8", "DOUBLE", "double precision", ["5e-324", "-Infinity"]),
    ("n", "DECIMAL(38,10)", "numeric(38,10)", ["-0.0000000001"]),
    ("x", "VARCHAR", "text", ["", 'quote " comma , line\nback\\slash ü']),
    ("y", "BLOB", "bytea", ["\\x00\\xff"]),
    ("d", "DATE", "date", ["2024-02-29", "infinity", "-infinity"]),
    ("t", "TIME", "time without time zone", ["23:59:59.999999", "24:00:00"]),
    ("ts", "TIMESTAMP", "timestamp without time zone", ["2024-02-29 12:34:56.789", "infinity"]),
    ("tz", "TIMESTAMPTZ", "timestamp with time zone", ["2024-02-29 12:00:00+05:45", "-infinity"]),
    ("u", "UUID", "uuid", ["12345678-90ab-cdef-1234-567890abcdef"]),
    ("j", "JSON", "json", ['{"a": 1, "b" : [null]}']),
    ("e", "ENUM('sad', 'happy')", "text", ["happy"]),
]


def package(connection: str, target: str, table: str, words: str, **flow: str) -> str:
    """Return a package with this source."""
    more = "\n".join(f"{name} = {value}" for name, value in flow.items())
    return f"""
name = "copy"
[connections]
lake = {connection}
dw = {{ url = "{target}" }}
[run]
streams = 2
[[flow]]
source = {{ connection = "lake", {words} }}
connection = "dw"
table = "{table}"
{more}
"""


def made_by_duckdb(folder: Path, *statements: str) -> str:
    """Make a file of DuckDB, and return its connection in a package."""
    path = folder / "lake.duckdb"
    with opened(path) as file:
        for statement in statements:
            file.execute(statement)
    return f'{{ url = "duckdb:{path}" }}'


def made_by_sqlite(folder: Path, *statements: str) -> str:
    """Make a file of SQLite, and return its connection in a package."""
    path = folder / "lake.sqlite"
    file = sqlite3.connect(path)
    for statement in statements:
        file.execute(statement)
    file.commit()
    file.close()
    return f'{{ url = "adbc:sqlite", options = {{ uri = "{path}" }} }}'


def literal(value: str) -> str:
    """Return a text literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def test_every_type_of_duckdb_is_equal_at_the_other_end(
    database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """A new target has the types of the source, and every value."""
    columns = ", ".join(f"{name} {kind}" for name, kind, _, _ in TYPES)
    rows = [(name, value) for name, _, _, values in TYPES for value in values]
    inserts = [
        f"INSERT INTO ends (id, {name}) VALUES ({number}, {literal(value)})"
        for number, (name, value) in enumerate(rows)
    ]
    lake = made_by_duckdb(tmp_path, f"CREATE TABLE ends (id INTEGER NOT NULL, {columns})", *inserts)
    inrush.write("copy.toml", package(lake, database.url, "ends", 'table = "ends"'))
    inrush("run", "copy.toml").expect(CLEAN)
    kinds = database.rows(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'ends'::regclass AND attnum > 1 ORDER BY attnum"
    )
    assert kinds == [(name, kind) for name, _, kind, _ in TYPES]
    expected = ", ".join(f"{name} {kind}" for name, _, kind, _ in TYPES)
    database.execute(f"CREATE TABLE expected (id int NOT NULL, {expected})")
    for number, (name, value) in enumerate(rows):
        written = "\\x00ff" if name == "y" else value
        database.execute(f"INSERT INTO expected (id, {name}) VALUES ({number}, {literal(written)})")
    read = "SELECT t::text FROM {} AS t ORDER BY id"
    assert database.rows(read.format("ends")) == database.rows(read.format("expected"))


def test_the_largest_integers_of_duckdb(database: Database, inrush: Inrush, tmp_path: Path) -> None:
    """A HUGEINT of 39 digits is loaded exactly if the target can hold it, and rejected if not."""
    ends = ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"]
    values = ", ".join(f"({number}, {end})" for number, end in enumerate([*ends, "7"]))
    lake = made_by_duckdb(
        tmp_path, "CREATE TABLE t (id INTEGER, h HUGEINT)", f"INSERT INTO t VALUES {values}"
    )
    inrush.write("copy.toml", package(lake, database.url, "fresh", 'table = "t"'))
    inrush("run", "copy.toml").expect(REJECT_LIMIT, ends[0], "numeric(38,0)")
    for kind in ("numeric", "numeric(39,0)"):
        database.execute(f"CREATE TABLE exact (id int, h {kind})")
        inrush.write("copy.toml", package(lake, database.url, "exact", 'table = "t"'))
        inrush("run", "copy.toml", "--again").expect(CLEAN)
        found = database.rows("SELECT h::text FROM exact ORDER BY id")
        assert [value for (value,) in found] == [*ends, "7"]
        database.execute("DROP TABLE exact")


def test_a_table_of_duckdb_is_read_by_all_streams(
    database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """The table is cut by its row numbers, also where rows are deleted; a reject names the row."""
    lake = made_by_duckdb(
        tmp_path,
        "CREATE TABLE orders AS SELECT range AS id, 'note ' || range AS note FROM range(500000)",
        "DELETE FROM orders WHERE id % 10 = 3",
        "UPDATE orders SET note = 'odd' WHERE id = 499999",
    )
    words = 'table = "orders", where = "id % 10 <> 4"'
    inrush.write("copy.toml", package(lake, database.url, "orders", words))
    plan = inrush("check", "copy.toml").expect(CLEAN)
    assert "in ranges of its rowid" in plan.said
    inrush("run", "copy.toml").expect(CLEAN)
    sums = "SELECT count(*), sum(id), count(DISTINCT note) FROM orders"
    numbers = [number for number in range(500000) if number % 10 not in (3, 4)]
    assert database.rows(sums) == [(len(numbers), sum(numbers), len(numbers))]
    words = 'table = "orders", where = "id < 5 OR note = \'odd\'"'
    flow = {
        "columns": '["id bigint", "note varchar(6)"]',
        "rejects": "{ rows_max = 10 }",
    }
    inrush.write("copy.toml", package(lake, database.url, "short", words, **flow))
    inrush("run", "copy.toml").expect(CLEAN)
    flow["columns"] = '["id smallint", "note text"]'
    inrush.write("copy.toml", package(lake, database.url, "small", words, **flow))
    outcome = inrush("run", "copy.toml").expect(LOADED_WITH_REJECTS)
    assert [reject["key"] for reject in outcome.rejects()] == ["rowid 499999"]
    assert database.value("SELECT count(*) FROM small") == 4


def test_a_file_of_sqlite_goes_into_parquet(inrush: Inrush, tmp_path: Path) -> None:
    """Values have the declared types; a row with another value is a reject with its number."""
    lake = made_by_sqlite(
        tmp_path,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, price DECIMAL(10,2), day DATE, paid BOOLEAN,"
        " weight REAL, note TEXT, photo BLOB)",
        "INSERT INTO t VALUES (1, 1.5, '2024-02-29', 1, 0.1, 'ü', x'00ff')",
        "INSERT INTO t VALUES (2, '12345678.25', NULL, 0, 3, '', x'')",
        "INSERT INTO t VALUES (3, 1, '2024-01-01', 1, 'heavy', 'a', NULL)",
    )
    flow = {"rejects": "{ rows_max = 10 }"}
    inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", "t", 'table = "t"', **flow))
    outcome = inrush("run", "copy.toml").expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert (reject["file"], reject["line"]) == ("t", 3)
    assert "`weight` is not a number" in reject["reason"]
    found = duckdb.connect().execute(f"SELECT * FROM '{tmp_path}/out/**/*.parquet' ORDER BY id")
    assert [str(column[1]) for column in found.description or []] == [
        *("BIGINT", "DECIMAL(10,2)", "DATE", "BOOLEAN", "DOUBLE", "VARCHAR", "BLOB"),
    ]
    shown = [tuple(map(str, row)) for row in found.fetchall()]
    assert shown == [
        ("1", "1.50", "2024-02-29", "True", "0.1", "ü", "b'\\x00\\xff'"),
        ("2", "12345678.25", "None", "False", "3.0", "", "b''"),
    ]


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_the_hint_for_distinct_rows_is_a_query_of_the_database(
    inrush: Inrush, tmp_path: Path, kind: str
) -> None:
    made = made_by_duckdb if kind == "duckdb" else made_by_sqlite
    lake = made(
        tmp_path,
        "CREATE TABLE t (id INTEGER, k INTEGER, note TEXT)",
        "INSERT INTO t VALUES (3, 6, 'a'), (1, 5, 'a'), (2, 5, 'a'), (4, 5, 'b')",
    )
    said = 'query = "SELECT * FROM t"' if kind == "duckdb" else 'table = "t"'
    text = package(lake, f"parquet:{tmp_path}/out", "t", said)
    steps = '[[flow.step]]\ndistinct_on = ["k", "note"]\n'
    refused = inrush("check", inrush.write("copy.toml", text + steps)).expect(USAGE).said
    assert ("read a table" in refused) == (kind == "duckdb")
    said_window = re.search(r"row_number\(\) OVER \([^)]*\)", refused)
    assert said_window
    window = said_window[0].replace("ORDER BY ...", "ORDER BY id")
    query = f"SELECT * FROM (SELECT *, {window} AS n FROM t) AS t WHERE n = 1"
    text = package(lake, f"parquet:{tmp_path}/out", "t", f'query = "{query}"')
    inrush("run", inrush.write("copy.toml", text)).expect(CLEAN)
    found = duckdb.connect().execute(f"SELECT id FROM '{tmp_path}/out/**/*.parquet' ORDER BY id")
    assert found.fetchall() == [(1,), (3,), (4,)]


@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "other"])
def test_a_query_is_cut_by_a_key(
    database: Database, inrush: Inrush, tmp_path: Path, kind: str
) -> None:
    """Streams read ranges of the table; rejects name keys; a stopped copy is resumed."""
    rows = "SELECT n AS id, n % 7 AS v, 'note ' || n AS note FROM "
    series = "generate_series(1, 60000) AS g (n)"
    no_value = "UPDATE t SET v = NULL WHERE id = 5"
    if kind == "duckdb":
        lake = made_by_duckdb(tmp_path, f"CREATE TABLE t AS {rows}{series}", no_value)
    elif kind == "sqlite":
        numbers = "WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 60000)"
        lake = made_by_sqlite(
            tmp_path,
            "CREATE TABLE t (id INTEGER, v INTEGER, note TEXT)",
            f"INSERT INTO t {numbers} {rows} g",
            no_value,
        )
    else:
        database.execute(f"CREATE TABLE t AS {rows}{series}; {no_value}")
        lake = f'{{ url = "adbc:postgresql", options = {{ uri = "{database.url}" }} }}'
    words = 'query = "SELECT id, v, note FROM t", split_by = "id", max_connections = 3'
    inrush.write("copy.toml", package(lake, database.url, "copied", words))
    plan = inrush("check", "copy.toml").expect(CLEAN, "in ranges of `id`", "is cut into 5")
    is_told = "at its own moment: let nobody write" in plan.said
    assert is_told == (kind == "other")
    with inrush.stopped_by("stop:before_switch", "run", "copy.toml") as running:
        running.send(signal.SIGKILL)
        running.wait()
    inrush("run", "copy.toml").expect(CLEAN)
    sums = "SELECT count(*), count(DISTINCT id), sum(id), sum(v), count(DISTINCT note) FROM copied"
    values = sum(n % 7 for n in range(1, 60001) if n != 5)
    assert database.rows(sums) == [(60000, 60000, 1800030000, values, 60000)]
    flow = {"columns": '["id int", "v int not null", "note text"]', "rejects": "{ rows_max = 1 }"}
    inrush.write("copy.toml", package(lake, database.url, "strict", words, **flow))
    outcome = inrush("run", "copy.toml").expect(LOADED_WITH_REJECTS)
    assert [reject["key"] for reject in outcome.rejects()] == ["id = 5"]


@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "other"])
def test_a_condition_must_be_whole(
    newest_database: Database, inrush: Inrush, tmp_path: Path, kind: str
) -> None:
    """A condition that closes our parenthesis would change the conditions combined with it."""
    made = ("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1), (2), (3)")
    match kind:
        case "duckdb":
            lake = made_by_duckdb(tmp_path, *made)
        case "sqlite":
            lake = made_by_sqlite(tmp_path, *made)
        case _:
            newest_database.execute(";".join(made))
            uri = newest_database.url
            lake = f'{{ url = "adbc:postgresql", options = {{ uri = "{uri}" }} }}'
    for condition, is_whole in (("id < 2) OR (id > 2", False), ("(id < 2) OR id > 2 -- )", True)):
        words = f'table = "t", where = "{condition}"'
        inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", "t", words))
        outcome = inrush("run", "copy.toml")
        if is_whole:
            outcome.expect(CLEAN, "2")
        else:
            assert outcome.status != CLEAN, outcome.said
            assert "syntax error" in outcome.said, outcome.said


def test_times_of_sqlite_get_a_type_of_the_target(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """DATETIME is the usual declaration; PostgreSQL has no type of this name."""
    lake = made_by_sqlite(
        tmp_path,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME, note STRING)",
        "INSERT INTO t VALUES (1, '2024-02-29 12:34:56', 'a')",
    )
    inrush.write("copy.toml", package(lake, newest_database.url, "copied", 'table = "t"'))
    inrush("run", "copy.toml").expect(CLEAN)
    query = "SELECT id, at::text, pg_typeof(at)::text, note FROM copied"
    expected = (1, "2024-02-29 12:34:56", "timestamp without time zone", "a")
    assert newest_database.rows(query) == [expected]


def test_any_driver_is_read_by_one_stream(
    database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """Only standard SQL is used; a transaction of PostgreSQL reads at one moment."""
    database.execute(
        "CREATE TABLE t (id int, note text, at timestamptz, tags text[]);"
        "INSERT INTO t SELECT n, 'note ' || n, '2024-02-29 12:00+02', '{a,b}' "
        "FROM generate_series(1, 3000) AS n"
    )
    lake = f'{{ url = "adbc:postgresql", options = {{ uri = "{database.url}" }} }}'
    inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", "t", 'table = "t"'))
    inrush("run", "copy.toml").expect(USAGE, "tags", "List", "tags::text")
    words = 'table = "t", columns = ["id", "note", "at", "tags::text"], where = "id > 10 -- these"'
    inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", "t", words))
    plan = inrush("check", "copy.toml").expect(CLEAN)
    assert "does not know whether a transaction" not in plan.said
    inrush("run", "copy.toml").expect(CLEAN)
    read = f"SELECT count(*), sum(id), max(note), max(tags) FROM '{tmp_path}/out/**/*.parquet'"
    assert duckdb.execute(read).fetchall() == [(2990, 4501445, "note 999", "{a,b}")]


def test_a_killed_copy_keeps_what_an_unchanged_file_has_given(
    database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """The same command loads each row once; if the file was written to, it is read again."""
    lake = made_by_duckdb(
        tmp_path, "CREATE TABLE t AS SELECT range AS id, range % 7 AS v FROM range(30000)"
    )
    inrush.write("copy.toml", package(lake, database.url, "t", 'table = "t"'))
    with inrush.stopped_by("stop:before_switch", "run", "copy.toml") as running:
        running.send(signal.SIGKILL)
        running.wait()
    with opened(tmp_path / "lake.duckdb") as file:
        file.execute("UPDATE t SET v = 100 WHERE id = 17")
    told = "1 table of the stopped run changed since, and is loaded again: t"
    inrush("run", "copy.toml").expect(CLEAN, told)
    assert database.rows("SELECT count(*), sum(id) FROM t") == [(30000, 449985000)]
    assert database.value("SELECT v FROM t WHERE id = 17") == 100


UNSEEN = {
    "view": 'table = "behind"',
    "query": "query = \"SELECT * FROM read_csv('{file}')\"",
    "table macro": 'query = "SELECT * FROM of_file()"',
    "count": 'query = "SELECT count(*) AS a FROM behind"',
}


@pytest.mark.parametrize("words", UNSEEN.values(), ids=UNSEEN)
def test_rows_of_other_files_are_always_read_again(
    database: Database, inrush: Inrush, tmp_path: Path, words: str
) -> None:
    """The DuckDB file is unchanged, but the file that its view reads has changed."""
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")
    lake = made_by_duckdb(
        tmp_path,
        f"CREATE VIEW behind AS SELECT * FROM read_csv('{file}')",
        f"CREATE MACRO of_file() AS TABLE SELECT * FROM read_csv('{file}')",
    )
    words = words.replace("{file}", str(file))
    inrush.write("copy.toml", package(lake, database.url, "t", words, mode='"replace"'))
    inrush("run", "copy.toml").expect(CLEAN, "always read again")
    assert database.rows("SELECT a FROM t") == [(1,)]
    file.write_text("a\n2\n3\n")
    inrush("run", "copy.toml").expect(CLEAN)
    expected = [(2,)] if "count" in words else [(2,), (3,)]
    assert database.rows("SELECT a FROM t ORDER BY a") == expected


TIMES = {
    "where": 'table = "t", where = "seen < now()"',
    "keyword": 'table = "t", where = "seen < current_date"',
    "view": 'table = "dated"',
    "macro": 'query = "SELECT id, day() AS at FROM t"',
}


@pytest.mark.parametrize("words", TIMES.values(), ids=TIMES)
def test_rows_that_depend_on_the_time_are_always_read_again(
    database: Database, inrush: Inrush, tmp_path: Path, words: str
) -> None:
    """The rows are loaded again although nothing was written; rows of a plain view are not."""
    lake = made_by_duckdb(
        tmp_path,
        "CREATE TABLE t AS SELECT 1 AS id, TIMESTAMP '2024-01-01' AS seen",
        "CREATE MACRO day() AS current_date",
        "CREATE VIEW dated AS SELECT id, current_date AS at FROM t",
        "CREATE VIEW plain AS SELECT id, count(*) AS n, year(min(seen)) AS y FROM t GROUP BY id",
    )
    inrush.write("copy.toml", package(lake, database.url, "t", words, mode='"replace"'))
    inrush("run", "copy.toml").expect(CLEAN, "always read again")
    again = inrush("run", "copy.toml").expect(CLEAN)
    assert again.report["account"]["rows_loaded"] == 1
    plain = package(lake, database.url, "p", 'table = "plain"', mode='"replace"')
    inrush.write("plain.toml", plain.replace('"copy"', '"plain"'))
    assert "always read again" not in inrush("run", "plain.toml").expect(CLEAN).said
    inrush("run", "plain.toml").expect(CLEAN, "already")


BAD = [
    ('table = "nowhere"', ["nowhere", "name a table or view that exists"]),
    ('table = "t", columns = ["tags"]', ["INTEGER[]", "tags::text"]),
    ('table = "t", where = "nope = 1"', ["nope", "name a column"]),
    ('query = "SELECT 1 AS a; SELECT 2 AS b"', ["the query", "one SELECT"]),
    ('query = "DELETE FROM t"', ["the query", "one SELECT"]),
    ('table = "t", columns = ["id"], split_by = "ids"', ['no column "ids"', 'columns are "id"']),
    ('query = "SELECT id FROM t LIMIT 1", split_by = "id"', ["a LIMIT", "leave `split_by` out"]),
    ('query = "SELECT NULL::INT AS id FROM t", split_by = "id"', ["NULL", "split_nulls = true"]),
]


@pytest.mark.parametrize(("words", "parts"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_a_sentence(
    inrush: Inrush, tmp_path: Path, words: str, parts: list[str]
) -> None:
    """The message has place and fix, and nothing is changed."""
    lake = made_by_duckdb(
        tmp_path, "CREATE TABLE t (id INTEGER, tags INTEGER[])", "INSERT INTO t VALUES (1, [1])"
    )
    inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", "copied", words))
    outcome = inrush("run", "copy.toml")
    assert outcome.status != CLEAN, outcome.said
    for part in parts:
        assert part in outcome.said, outcome.said
    with opened(tmp_path / "lake.duckdb") as file:
        assert file.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_tables_of_a_file_are_copied_without_a_package(
    database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    made_by_duckdb(
        tmp_path, "CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM range(5000) x(i)"
    )
    words = ("copy", "--from", "lake.duckdb", "--to", database.url)
    inrush(*words, "--table", "t", "--into-schema", "public").expect(CLEAN, "5,000")
    rows = database.rows("SELECT id, v FROM t ORDER BY id")
    assert rows == [(number, f"v{number}") for number in range(5000)]
    inrush(*words, "--table", "*").expect(USAGE, "PostgreSQL")


def test_options_of_the_database_that_is_read(
    database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """`--from-option` sets the options; the message about a URL with parameters names it."""
    made_by_sqlite(tmp_path, "CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (7)")
    words = ("--table", "t", "--to", database.url, "--into-schema", "public")
    file = f"uri={tmp_path}/lake.sqlite"
    inrush("copy", "--from", "adbc:sqlite", "--from-option", file, *words).expect(CLEAN)
    assert database.rows("SELECT id FROM t") == [(7,)]
    for url in (f"adbc:sqlite?{file}&key=secret", "adbc:sqlite"):
        refused = inrush("copy", "--from", url, *words).expect(USAGE, "--from-option uri=FILE")
        assert "secret" not in refused.said
    secret = ("--from-option", "password=hush")
    refused = inrush("copy", "--from", "adbc:sqlite", *secret, *words)
    refused.expect(USAGE, "--from-option password: the value is a secret")
    assert "hush" not in refused.said
    target = ("--to", f"adbc:sqlite?{file}")
    loaded = inrush("copy", "--from", database.url, "--table", "t", *target)
    loaded.expect(USAGE, "write adbc:sqlite", "--option uri=FILE")


def test_places_that_cannot_be_read(inrush: Inrush, tmp_path: Path) -> None:
    """A missing file, the target itself and a folder of Parquet files are refused as sources."""
    target = f"parquet:{tmp_path}/out"
    missing = tmp_path / "missing.duckdb"
    inrush.write("a.toml", package(f'{{ url = "duckdb:{missing}" }}', target, "t", 'table = "t"'))
    inrush("run", "a.toml").expect(FAILED, "missing.duckdb", "never created")
    assert not missing.exists()
    lake = made_by_duckdb(tmp_path, "CREATE TABLE t (id INTEGER)")
    own = f"duckdb:{tmp_path}/lake.duckdb"
    inrush.write("b.toml", package(lake, own, "u", 'table = "t"'))
    inrush("run", "b.toml").expect(USAGE, "its source and its target", "load into another file")
    lake = made_by_sqlite(tmp_path, "CREATE TABLE t (id INTEGER)")
    text = package(lake, "adbc:sqlite", "u", 'table = "t"')
    uri = f'options = {{ uri = "file:{tmp_path}/./lake.sqlite?mode=rwc" }}'
    text = text.replace('dw = { url = "adbc:sqlite"', f'dw = {{ url = "adbc:sqlite", {uri}')
    inrush.write("d.toml", text)
    inrush("run", "d.toml").expect(USAGE, "its source and its target")
    inrush.write("c.toml", package(f'{{ url = "parquet:{tmp_path}" }}', target, "t", 'table = "t"'))
    inrush("check", "c.toml").expect(USAGE, "no tables are read from there", "`files`")
