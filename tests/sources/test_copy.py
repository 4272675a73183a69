"""`inrush copy`: tables, patterns and queries of PostgreSQL into another destination."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from conftest import SharedServer, StartServer
from harness import servers
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.pooler import pooler
from harness.servers import Database, Server
from harness.standby import follow


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_copy")
    yield beside
    server.done_with(beside)


SALES = (
    "CREATE SCHEMA sales;"
    "CREATE TABLE sales.orders (id int NOT NULL, note text);"
    "CREATE TABLE sales.lines (id int, day date) PARTITION BY RANGE (id);"
    "CREATE TABLE sales.first PARTITION OF sales.lines FOR VALUES FROM (0) TO (1000);"
    'CREATE TABLE sales."Odd one" (n int); CREATE VIEW sales.seen AS TABLE sales.orders;'
    # A pattern leaves this table out, because it has no column to copy.
    "CREATE TABLE sales.bare ();"
    "INSERT INTO sales.orders SELECT n, 'note ' || n FROM generate_series(1, 500) AS n;"
    "INSERT INTO sales.lines SELECT n, '2024-01-01'::date + n FROM generate_series(1, 300) AS n"
)


def test_a_schema_is_copied_by_a_pattern(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The pattern copies tables, partitioned ones too, but no views; the package is saved."""
    database.execute(SALES)
    target.execute("CREATE SCHEMA sales")
    words = ("copy", "--from", database.url, "--to", target.url, "--table", "Sales.*")
    inrush(*words, "--save-package", "copy.toml").expect(CLEAN)
    names = "SELECT relname FROM pg_class WHERE relnamespace = 'sales'::regnamespace ORDER BY 1"
    assert target.rows(names) == [("Odd one",), ("lines",), ("orders",)]
    for table in ("orders", "lines"):
        query = f"SELECT t::text FROM sales.{table} AS t ORDER BY 1"
        assert target.rows(query) == database.rows(query)
    inrush("run", "copy.toml").expect(CLEAN, "already loaded")
    inrush(*words[:-1], "sales.x*").expect(FAILED, "sales.x*", "no table", "sales.orders")


def test_a_hint_names_what_to_write(database: Database, target: Database, inrush: Inrush) -> None:
    """The message names all columns without a counterpart, and the option that copies them."""
    database.execute(
        "CREATE TABLE shifts (id int, worked interval, tags text[]);"
        "INSERT INTO shifts VALUES (1, '1 day 2 hours', '{a,b}'), (2, NULL, NULL)"
    )
    words = ["copy", "--from", database.url, "--table", "shifts", "--to"]
    inrush(*words, target.url).expect(CLEAN)
    read = "SELECT t::text FROM shifts AS t ORDER BY id"
    assert (
        target.rows(read) == database.rows(read) == [('(1,"1 day 02:00:00","{a,b}")',), ("(2,,)",)]
    )
    folder = inrush.folder
    for to, found in (
        ("x.duckdb", None),
        ("parquet:lake", f"SELECT * FROM '{folder}/lake/**/*.parquet' ORDER BY id"),
    ):
        refused = inrush(*words, to).expect(USAGE)
        assert (
            "these columns of the table have types without a counterpart in this destination: "
            "`worked` (interval), `tags` (text[])"
        ) in refused.said
        hint = re.search(
            r"hint: .*: (--columns '.*'), or in a package source = .*(columns = \[.*\])",
            refused.said,
        )
        assert hint is not None, refused.said
        assert hint[2] == 'columns = ["id", "worked::text", "tags::text"]'
        inrush(*words, to, *shlex.split(hint[1])).expect(CLEAN)
        with duckdb.connect(":memory:" if found else str(folder / to), read_only=not found) as file:
            rows = file.execute(found or "SELECT * FROM shifts ORDER BY id").fetchall()
        assert rows == [(1, "1 day 02:00:00", "{a,b}"), (2, None, None)]


def test_hints_name_the_options(database: Database, target: Database, inrush: Inrush) -> None:
    """For a command the message names the option, and for a package it names the setting."""
    database.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1), (NULL)")
    words = ["copy", "--from", database.url, "--table", "t", "--to", target.url]
    inrush(*words, "--split-by", "id").expect(FAILED, "`split_nulls = true` (--split-nulls)")
    inrush(*words, "--mode", "append").expect(FAILED, 'mode = "create" (--mode create)')
    inrush(*words).expect(CLEAN)
    database.execute("INSERT INTO t VALUES (2)")
    hints = ("(--mode replace)", "`since` in a package", "--again", "(--mode append)")
    inrush(*words).expect(FAILED, "that an earlier run loaded from", *hints)
    inrush(*words, "--mode", "replace").expect(CLEAN)
    read = "SELECT id FROM t ORDER BY id"
    assert target.rows(read) == database.rows(read) == [(1,), (2,), (None,)]


def test_all_tables_are_of_one_moment(database: Database, target: Database, inrush: Inrush) -> None:
    """Rows that are written after the plan began are in no copy."""
    database.execute("CREATE TABLE a (n int); CREATE TABLE b (n int); INSERT INTO a VALUES (1)")
    words = ("copy", "--from", database.url, "--to", target.url, "--table", "a", "--table", "b")
    with inrush.stopped_by("stop:before_switch", *words, "--streams", "2") as running:
        database.execute("INSERT INTO a VALUES (2); INSERT INTO b VALUES (2)")
        held = database.value(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'inrush source'"
            " AND state = 'idle in transaction'"
        )
        running.resume().wait().expect(CLEAN)
    # One session keeps the snapshot for both tables, and at most two sessions read.
    assert held <= 3
    assert target.rows("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)") == [(1, 0)]


def test_a_view_is_read_in_ranges_of_a_key(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Each row is read once, by both streams; rows with a NULL key are read only if asked for."""
    database.execute(
        "CREATE TABLE t (id int, pad text);"
        "INSERT INTO t SELECT nullif(n, 7), repeat('x', 400) FROM generate_series(1, 60000) AS n;"
        "CREATE VIEW v AS SELECT id, pad FROM t; ANALYZE t"
    )
    words = ("copy", "--from", database.url, "--to", target.url, "--table", "v", "--streams", "2")
    by_id = (*words, "--split-by", "id", "--save-package", "v.toml")
    inrush(*by_id).expect(FAILED, "public.v", '"id"', "NULL", "split_nulls")
    saved = (inrush.folder / "v.toml").read_text()
    with_nulls = saved.replace('split_by = "id"', 'split_by = "id", split_nulls = true')
    assert with_nulls != saved
    inrush.write("v.toml", with_nulls)
    without = saved.replace(', split_by = "id"', "")
    plan = inrush("check", inrush.write("whole.toml", without)).expect(CLEAN)
    assert "by one stream, at one snapshot" in plan.said
    plan = inrush("check", "v.toml").expect(CLEAN)
    assert "in ranges of `id`" in plan.said
    assert "rows without it are read with the first range" in plan.said
    inrush("run", "v.toml").expect(CLEAN)
    sums = "SELECT count(*), count(id), count(DISTINCT id), sum(id) FROM v"
    assert target.rows(sums) == database.rows(sums)
    query = ("--query", "SELECT id, random() AS r FROM t", "--into", "drawn", "--split-by", "r")
    drawn = inrush(*words[:5], *query)
    drawn.expect(USAGE, "random, which is volatile", "leave `split_by` out")


KEYS = "SELECT CASE WHEN n % 10 > 0 THEN n END AS id FROM generate_series(1, 5000) AS n"

# Tables with rows that violate NOT NULL, and a version that can have such tables.
NOT_ENFORCED = {
    "not_valid": (
        18,
        f"CREATE TABLE t AS {KEYS}; ALTER TABLE t ADD CONSTRAINT nn NOT NULL id NOT VALID",
    ),
    "no_inherit": (
        18,
        "CREATE TABLE t (id int); ALTER TABLE t ADD CONSTRAINT nn NOT NULL id NO INHERIT;"
        f"CREATE TABLE c () INHERITS (t); INSERT INTO c {KEYS}",
    ),
    "of_the_parent_only": (
        15,
        "CREATE TABLE t (id int); CREATE TABLE c () INHERITS (t);"
        f"INSERT INTO c {KEYS}; ALTER TABLE ONLY t ALTER id SET NOT NULL",
    ),
    "foreign": (
        15,
        "CREATE EXTENSION file_fdw; CREATE SERVER far FOREIGN DATA WRAPPER file_fdw;"
        "CREATE FOREIGN TABLE t (id int NOT NULL, n int) SERVER far"
        " OPTIONS (filename '[file]', format 'csv')",
    ),
}


@pytest.mark.parametrize("kind", NOT_ENFORCED)
def test_not_null_is_believed_where_the_server_enforces_it(
    shared_server: SharedServer, inrush: Inrush, kind: str
) -> None:
    """Elsewhere, Inrush searches for rows without a key, and reads them with `split_nulls`."""
    version, made = NOT_ENFORCED[kind]
    server = shared_server(version)
    database = server.create_database(f"not_null_{kind}")
    file = server.folder / f"{database.name}.csv"
    file.write_text("".join(f"{n if n % 10 else ''},{n}\n" for n in range(1, 5001)))
    database.execute(made.replace("[file]", str(file)))
    words = ("copy", "--from", database.url, "--to", "x.duckdb", "--table", "t")
    # Only a foreign table whose rows do not change may be cut.
    by_id = (*words, "--stable", "--split-by", "id", "--save-package", "t.toml")
    inrush(*by_id).expect(FAILED, '"id"', "NULL", "split_nulls")
    text = (inrush.folder / "t.toml").read_text()
    inrush.write("t.toml", text.replace('split_by = "id"', 'split_by = "id", split_nulls = true'))
    inrush("run", "t.toml").expect(CLEAN, "5,000")
    file.unlink()
    server.done_with(database)


# Queries whose rows or values depend on the order in which the server reads rows.
BY_ORDER = {
    "DISTINCT ON": "SELECT DISTINCT ON (id % 10) id, pad FROM t",
    "a window function": "SELECT row_number() OVER () AS id, pad FROM t",
    "LIMIT": "SELECT id, (SELECT u.id FROM t AS u LIMIT 1) AS m FROM t",
}
# Other queries whose plans look similar.
STEADY = (
    "SELECT DISTINCT id, pad FROM t",
    "SELECT id, pad FROM t UNION SELECT id, pad FROM t",
    "SELECT id, (SELECT min(u.id) FROM t AS u) AS least FROM t",
    "SELECT id, count(*) AS n FROM t GROUP BY id",
    "SELECT id, pad FROM t WHERE id IN (SELECT u.id FROM t AS u)",
)


def test_a_query_that_depends_on_the_order_is_not_cut(database: Database, inrush: Inrush) -> None:
    """Each range would run the query again and find other rows. Similar safe queries are cut."""
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, pad text);"
        "INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 5000) AS n; ANALYZE t"
    )
    words = ("copy", "--from", database.url, "--to", "x.duckdb", "--split-by", "id")
    for part, query in BY_ORDER.items():
        database.execute(f"CREATE VIEW by_order AS {query}")
        inrush(*words, "--table", "by_order").expect(
            USAGE, f"it has {part}", "leave `split_by` out"
        )
        database.execute("DROP VIEW by_order")
    for number, query in enumerate(STEADY):
        inrush(*words, "--query", query, "--into", f"t{number}").expect(CLEAN, "5,000")


def test_a_query_into_other_destinations(database: Database, inrush: Inrush) -> None:
    """Parquet and DuckDB get the same rows; settings for one table are refused for several."""
    database.execute(SALES)
    words = ("copy", "--from", database.url, "--query", "SELECT id FROM sales.orders")
    inrush(*words, "--into", "ids", "--to", "x.duckdb").expect(CLEAN, "500")
    inrush(*words, "--into", "ids", "--to", "parquet:lake", "--split-by", "id").expect(CLEAN, "500")
    tables = ("--table", "sales.orders", "--table", "sales.lines", "--to", "y.duckdb")
    inrush(*words[:3], *tables, "--into-schema", "main").expect(CLEAN, "800")
    both = inrush(*words[:3], *tables, "--columns", "id")
    both.expect(USAGE, "--columns", "sales.orders, sales.lines")


def test_one_table_under_two_names(database: Database, target: Database, inrush: Inrush) -> None:
    """Two flows cannot create the same target, however they spell its name."""
    database.execute("CREATE TABLE t (id int)")
    words = ("copy", "--from", database.url, "--to", target.url)
    twice = inrush(*words, "--table", "t", "--table", "public.t")
    twice.expect(USAGE, 'its target "public"."t" is also the target of flow t')
    assert target.value("SELECT to_regclass('t') IS NULL")


def addresses(database: Database) -> list[str]:
    """Return the addresses by which a server is reached."""
    server = database.server
    ports = [f"postgresql://{server.user}@{host}:{server.port}/{database.name}"
             for host in ("127.0.0.1", "localhost")]  # fmt: skip
    return [database.url, *ports]


def test_a_source_that_is_its_own_target_is_refused(
    start_server: StartServer, inrush: Inrush, servers_folder: Path
) -> None:
    """Another address, view, query, partition, pooler or standby may lead to the same table."""
    server = start_server(18, servers.REPLICATING)
    server.move_to_tcp()
    database = server.create_database("own")
    database.execute(
        "CREATE TABLE t (id int NOT NULL) PARTITION BY RANGE (id); CREATE TABLE u (id int);"
        "CREATE TABLE first PARTITION OF t FOR VALUES FROM (0) TO (100); INSERT INTO t VALUES (1);"
        "CREATE VIEW v AS SELECT t.id FROM t JOIN u USING (id)"
    )

    def refused(url: str, into: str, *what: str) -> None:
        both = ("copy", "--from", url, "--to", database.url, "--mode", "append")
        outcome = inrush(*both, *what, "--into", into)
        outcome.expect(USAGE, "is read by its own flow", "name another target")

    for url in addresses(database):
        refused(url, "t", "--table", "t")
    refused(database.url, "t", "--table", "first")
    refused(database.url, "first", "--table", "t")
    refused(database.url, "t", "--table", "v")
    refused(database.url, "u", "--query", "SELECT id FROM v")
    with pooler(server, servers_folder / "pooler-own", "session") as folder:
        refused(f"postgresql://{server.user}@/own?host={folder}&port=6432", "t", "--table", "t")
    with follow(server, servers_folder / "standby-own") as standby:
        refused(standby.url("own"), "t", "--table", "t")
    copied = ("copy", "--from", database.url, "--to", database.url, "--table", "t")
    inrush(*copied, "--into", "u", "--mode", "append").expect(CLEAN)
    assert database.rows("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)") == [(1, 1)]


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_that_gives_other_backends_is_refused(
    database: Database, inrush: Inrush, servers_folder: Path, mode: str
) -> None:
    """A snapshot needs a session that keeps its backend."""
    database.execute("CREATE TABLE t (id int)")
    server = database.server
    with pooler(server, servers_folder / f"pooler-{mode}-{database.name}", mode) as folder:
        url = f"postgresql://{server.user}@/{database.name}?host={folder}&port=6432"
        outcome = inrush("copy", "--from", url, "--to", "x.duckdb", "--table", "t")
        outcome.expect(FAILED, "a pooler", "connect to the server itself")


def test_names_that_are_nearly_right(database: Database, inrush: Inrush) -> None:
    """The message names the table that was probably meant."""
    database.execute(SALES)
    words = ("copy", "--from", database.url, "--to", "x.duckdb", "--into", "t")
    for table in ("sales.order", "orders"):
        outcome = inrush(*words, "--table", table)
        outcome.expect(FAILED, "no table or view", "is sales.orders meant?")


def test_a_new_target_has_the_primary_key(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A new index has the columns in their order, and a free name."""
    database.execute(
        "CREATE TABLE t (a int, b text, v int, PRIMARY KEY (b, a));"
        "INSERT INTO t SELECT n, 'b' || n % 7, n FROM generate_series(1, 300) AS n"
    )
    target.execute("CREATE SEQUENCE t_pkey")
    words = ("copy", "--from", database.url, "--table", "t")
    inrush(*words, "--to", target.url).expect(CLEAN)
    keys = (
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid = 't'::regclass AND contype = 'p'"
    )
    assert target.rows(keys) == [("t_pkey1", "PRIMARY KEY (b, a)")]
    assert target.rows("SELECT count(*), sum(v) FROM t") == [(300, 45150)]
    database.execute("CREATE TABLE c () INHERITS (t); INSERT INTO c SELECT * FROM ONLY t LIMIT 9")
    plan = inrush(*words, "--into", "all", "--to", target.url).expect(CLEAN)
    assert "the primary key of public.t does not cover the rows of its child tables" in plan.said
    assert target.rows(keys.replace("'t'", "'\"all\"'")) == []
    database.execute("DROP TABLE c")
    # The key is not copied if one of its columns is left out.
    inrush(*words, "--columns", "a, v", "--into", "u", "--to", target.url).expect(CLEAN)
    assert target.rows(keys.replace("'t'", "'u'")) == []
    plan = inrush(*words, "--to", "x.duckdb").expect(CLEAN)
    assert "does not get the primary key of the source (b, a)" in plan.said


def test_what_cannot_be_read_is_no_source(database: Database, inrush: Inrush) -> None:
    """A URL that only a destination can have is refused; the hint lists the URLs of sources."""
    into = ("--table", "t", "--to", database.url)
    outcome = inrush("copy", "--from", "embedded", *into)
    outcome.expect(USAGE, "rows cannot be read from embedded", "FILE.duckdb or adbc:DRIVER")
