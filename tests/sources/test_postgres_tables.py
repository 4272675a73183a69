"""Tables of PostgreSQL are copied as of one moment, with every value, or are refused."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SharedServer
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.servers import Database, Server

# The name of a column, its type, and extreme values.
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
    # Values of these types pass in the server's own binary form.
    ("n1000", "numeric(1000,500)[]", ["ARRAY[repeat('9', 500)::numeric, 'NaN', NULL]"]),
    ("tt", "timetz(3)", ["'00:00+15:59'", "'24:00:00-15:59'", "'12:00:00.001+05:45'"]),
    ("iv", "interval", ["'-178000000 years'", "'1 mon -1 day 00:00:00.000001'"]),
    ("ivf", "interval year to month", ["'3 years 2 months'"]),
    ("m", "money", ["'-92233720368547758.08'", "'92233720368547758.07'"]),
    ("ch", '"char"', ["'a'", "''"]),
    ("o", "oid", ["4294967295", "0"]),
    ("na", "name", ["repeat('n', 63)"]),
    ("bt", "bit(9)", ["B'101010101'"]),
    ("vb", "bit varying", ["B''", "B'1'", "repeat('10', 5000)::varbit"]),
    ("ip", "inet", ["'10.1.2.3/8'", "'::ffff:1.2.3.4/128'"]),
    ("ci", "cidr", ["'10.0.0.0/8'", "'::/0'"]),
    ("ma", "macaddr", ["'08:00:2b:01:02:03'"]),
    ("m8", "macaddr8", ["'08:00:2b:01:02:03:04:05'"]),
    ("ir", "int4range", ["'empty'", "'(,)'", "'[1,2147483647)'"]),
    ("dr", "daterange", ["'[-infinity,infinity]'"]),
    ("mr", "tstzmultirange", ["'{}'", "'{[2024-01-01,2024-02-01), [2025-01-01,)}'"]),
    ("ia", "integer[]", ["'{}'", "'[2:3][-1:0]={{1,NULL},{3,4}}'"]),
    ("ta", "text[]", ["ARRAY['', 'NULL', NULL, E'\"\\\\,{}', 'ü']"]),
    ("mo", "mood[]", ["'{sad,NULL,ok}'", "'{}'"]),
    ("pa", "pair", ["ROW(1, 'a', '{ok,sad}', 4)", "ROW(NULL, NULL, NULL, NULL)"]),
    ("pp", "pair[]", ["ARRAY[ROW(1, 'a', '{ok}', 4)::pair, NULL]"]),
    ("po", "point", ["'(1e300,-0)'"]),
    ("xm", "xml", ["'<a b=\"ü\">&lt;</a>'"]),
    ("tv", "tsvector", ["'a:1A fat:2'"]),
    ("ls", "pg_lsn", ["'FFFFFFFF/FFFFFFFF'"]),
    ("jp", "jsonpath", ["'$.a[*] ? (@ > 1)'"]),
    ("ni", "numeric(1000,0)", ["repeat('9', 1000)::numeric", "-1"]),
    ("nl", "numeric", ["('1e131071')::numeric", "('-1e-16383')::numeric", "'-Infinity'"]),
    ("xi", "xid", ["'4294967295'", "'0'"]),
    ("x8", "xid8", ["'18446744073709551615'"]),
    ("ps", "pg_snapshot", ["'10:20:10,14,15'"]),
    ("tq", "tsquery", ["'fat & (rat | !cat) <-> dog:*A'"]),
    ("bx", "box", ["'(1e308,-1e-308),(-0,0)'"]),
    ("li", "line", ["'{1,-2,3}'"]),
    ("sg", "lseg", ["'[(0,0),(1e300,1)]'"]),
    ("pt", "path", ["'((0,0),(1,1),(2,0))'", "'[(0,0)]'"]),
    ("pg", "polygon", ["'((0,0),(1,1),(2,0))'"]),
    ("cr", "circle", ["'<(1,2),3e100>'"]),
    ("i8r", "int8range", ["'[-9223372036854775808,9223372036854775807)'", "'empty'"]),
    ("nr", "numrange", ["'(-1e100,1e-100]'", "'[NaN,NaN]'"]),
    ("tr", "tsrange", ["'[-infinity,infinity)'"]),
    ("tzr", "tstzrange", ["'[2024-01-01 00:00+00,)'"]),
    ("i4m", "int4multirange", ["'{}'", "'{(,1),[5,7),[9,)}'"]),
    ("ba", "bytea[]", ["ARRAY['\\x'::bytea, '\\x00ff', NULL]"]),
    ("tza", "timestamptz[]", ["ARRAY['infinity'::timestamptz, '-infinity', NULL]"]),
    ("ja", "jsonb[]", ["ARRAY['null'::jsonb, '[]', NULL]"]),
    ("da", "date[]", ["ARRAY['infinity'::date, '4713-01-01 BC']"]),
]

# Definitions of the types that are not built in.
OWN_TYPES = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);"
    "CREATE TYPE pair AS (i integer, t varchar(3), m mood[], e even)"
)


_numbers = itertools.count(1)


@pytest.fixture
def target(server: Server) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    database = server.create_database(f"target_{next(_numbers)}")
    yield database
    server.done_with(database)


def package(source: Database, target: Database, table: str, words: str, **flow: str) -> str:
    """Return a package with this source."""
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
    database.execute(OWN_TYPES)
    # The types of the target have other OIDs.
    target.execute("CREATE TYPE first AS ENUM (); " + OWN_TYPES)
    database.execute(f"CREATE TABLE ends (id int NOT NULL, {columns})")
    number = 0
    has_xml = database.value("SELECT bool_or(setting LIKE '%with-libxml%') FROM pg_config")
    for name, kind, values in TYPES:
        if kind == "xml" and not has_xml:
            continue
        for value in [*values, "NULL"]:
            database.execute(f"INSERT INTO ends (id, {name}) VALUES ({number}, {value})")
            number += 1
    inrush.write("copy.toml", package(database, target, "ends", 'table = "ends"'))
    inrush("run", "copy.toml").expect(CLEAN)
    assert read(target, "ends") == read(database, "ends")
    kinds = (
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = 'ends'::regclass AND attnum > 0 AND attname NOT IN ('ch', 'na') "
        "ORDER BY attnum"
    )
    assert target.rows(kinds) == database.rows(kinds)


# A type of the source, one of the target, and whether values pass unchanged.
PAIRS = [
    ("bit(3)", "bit(3)", True),
    ("varbit(3)", "varbit", True),
    ("varbit(3)", "varbit(2)", False),
    ("numeric(5,2)[]", "numeric(5,1)[]", False),
    ("timetz", "timetz(0)", False),
    ("int4range", "int8range", False),
    ("int4range", "text", False),
    ("inet", "bytea", False),
    ("mood[]", "mood[]", True),
    ("even", "even", True),
    ("place", "place", True),
    ("varbit(3)", "bits", True),
    ("varbit(4)", "bits", False),
    ("even[]", "even[]", True),
    ("mood[]", "even[]", False),
    ("moods", "moods", True),
    ("regclass", "regclass", False),
]


def test_only_equal_types_pass_unchanged(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """With other types, the server would cut, round or misread values."""
    for each in (database, target):
        each.execute(
            f"{OWN_TYPES}; CREATE TYPE moods AS RANGE (SUBTYPE = mood);"
            "CREATE DOMAIN place AS inet NOT NULL; CREATE DOMAIN bits AS varbit(3)"
        )
    for source_type, target_type, passes in PAIRS:
        database.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id int, v {source_type})")
        target.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id int, v {target_type})")
        inrush.write("copy.toml", package(database, target, "t", 'table = "t"'))
        outcome = inrush("check", "copy.toml")
        assert (outcome.status == CLEAN) == passes, (source_type, target_type, outcome.said)
        assert passes or "v::text" in outcome.said, outcome.said


def test_values_pass_between_versions(shared_server: SharedServer, inrush: Inrush) -> None:
    """Only infinite intervals differ in form: an older server would read one as a number."""
    old, new = (
        shared_server(version).create_database(f"between_{version}") for version in (15, 18)
    )
    for each in (old, new):
        each.execute(
            "CREATE TABLE t (i interval, r numrange, a text[], j jsonpath);"
            "INSERT INTO t VALUES ('1 mon -2 days', '(0.5,)', '{a,NULL}', '$.a')"
        )
    inrush.write("copy.toml", package(old, new, "copied", 'table = "t"'))
    inrush("run", "copy.toml").expect(CLEAN)
    assert read(new, "copied") == read(old, "t")
    inrush.write("copy.toml", package(new, old, "copied", 'table = "t"'))
    inrush("run", "copy.toml").expect(USAGE, "interval", "i::text")
    words = 'table = "t", columns = ["r", "a", "j"]'
    inrush.write("copy.toml", package(new, old, "copied", words))
    inrush("run", "copy.toml").expect(CLEAN)
    assert old.rows("SELECT r::text, a, j::text FROM copied") == [("(0.5,)", ["a", None], '$."a"')]


def test_a_native_value_that_the_server_refuses_is_a_reject(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The careful load finds the row, and the reject names its place."""
    database.execute(
        "CREATE TABLE t (id int, v int4range);"
        "INSERT INTO t SELECT n, int4range(n, n + 10) FROM generate_series(1, 500) AS n"
    )
    target.execute("CREATE TABLE t (id int, v int4range CHECK (NOT v @> 321 OR lower(v) <> 320))")
    text = package(database, target, "t", 'table = "t"', rejects="{ rows_max = 1 }")
    inrush.write("copy.toml", text)
    plan = inrush("check", "copy.toml").expect(CLEAN)
    assert "unchanged, in the binary form of source and target: v" in plan.said
    inrush("run", "copy.toml")
    assert target.value("SELECT count(*) FROM t") == 499
    assert target.value("SELECT count(*) FROM t WHERE id = 320") == 0


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


def test_both_streams_read_one_huge_partition(newest_database: Database, inrush: Inrush) -> None:
    """A partition with nearly all rows is cut into ranges of pages, which both streams take."""
    database = newest_database
    database.execute(
        "CREATE TABLE orders (id bigint NOT NULL, note text) PARTITION BY RANGE (id);"
        "CREATE TABLE small PARTITION OF orders FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE huge PARTITION OF orders FOR VALUES FROM (10) TO (100000);"
        "INSERT INTO orders SELECT n, repeat(md5(n::text), 12) FROM generate_series(0, 99999) AS n;"
        "CREATE SCHEMA dw"
    )
    # At this rate the load takes 5 seconds, so the other stream begins before everything is read.
    words = 'table = "orders", rate_bytes_max = 8_000_000'
    inrush.write("copy.toml", package(database, database, "dw.copied", words))
    report = inrush("run", "copy.toml").expect(CLEAN).report
    # One of the pieces is the small partition.
    pieces = [stream["pieces"] for stream in report["streams"]]
    assert len(pieces) == 2 and min(pieces) >= 2, pieces
    query = "SELECT count(*), sum(id), sum(hashtextextended(note, 0)) FROM"
    assert database.rows(f"{query} dw.copied") == database.rows(f"{query} orders")


def test_a_copy_under_writers_is_the_snapshot(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The copy has the old values of rows that change between the plan and the switch."""
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


def kill_before_the_switch(database: Database, inrush: Inrush, package: str) -> None:
    """Make a table, and kill its copy when all rows are staged."""
    database.execute(
        "CREATE TABLE t (id int NOT NULL, v int);"
        "INSERT INTO t SELECT n, n FROM generate_series(1, 30000) AS n"
    )
    inrush.write("copy.toml", package)
    with inrush.stopped_by("stop:before_switch", "run", "copy.toml") as running:
        running.send(signal.SIGKILL)
        running.wait()


SUMS = "SELECT count(*), count(DISTINCT id), sum(v) FROM t"


@pytest.mark.parametrize("stable", ["false", "true"])
def test_a_killed_copy_is_resumed(
    database: Database, target: Database, inrush: Inrush, stable: str
) -> None:
    """The same command loads each row once, if nobody has written to the table."""
    text = package(database, target, "t", f'table = "t", stable = {stable}')
    kill_before_the_switch(database, inrush, text)
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows(SUMS) == database.rows(SUMS)


def test_rows_of_two_snapshots_are_not_mixed(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """If the table was written to, the same command reads all of it again."""
    text = package(database, target, "t", 'table = "t"')
    kill_before_the_switch(database, inrush, text)
    database.execute("UPDATE t SET v = 0 WHERE id = 7")
    told = "1 table of the stopped run changed since, and is loaded again: public.t"
    outcome = inrush("run", "copy.toml").expect(CLEAN, told)
    assert not any(unit["kept"] for unit in outcome.report["units"])
    assert target.rows(SUMS) == database.rows(SUMS)


@pytest.mark.parametrize("mode", ["create", "append"])
def test_a_copy_that_was_killed_after_its_switch_is_not_repeated(
    database: Database, target: Database, inrush: Inrush, mode: str
) -> None:
    """The same command says that the rows are loaded, although the table has grown since."""
    made = "CREATE TABLE t (id int NOT NULL, v int)"
    database.execute(f"{made}; INSERT INTO t SELECT n, n FROM generate_series(1, 3000) AS n")
    if mode == "append":
        target.execute(made)
    inrush.write("copy.toml", package(database, target, "t", 'table = "t"', mode=f'"{mode}"'))
    killed = inrush("run", "copy.toml", environment={"INRUSH_FAULT": "after_switch_commit"})
    assert killed.status == -signal.SIGKILL, killed.said
    loaded = target.rows(SUMS)
    database.execute("INSERT INTO t SELECT n, n FROM generate_series(3001, 9000) AS n")
    inrush("run", "copy.toml").expect(CLEAN, "already loaded")
    assert target.rows(SUMS) == loaded == [(3000, 3000, 4501500)]


def test_a_table_is_loaded_if_its_rows_are(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A table counts as loaded if it has the same rows, or was not written to."""
    made = "CREATE TABLE t (id int NOT NULL, v int)"
    database.execute(f"{made}; INSERT INTO t SELECT n, n FROM generate_series(1, 3000) AS n")
    target.execute(made)
    text = package(database, target, "t", 'table = "t"', mode='"append"')
    inrush.write("copy.toml", text)
    inrush("run", "copy.toml").expect(CLEAN)
    # The target's own rows were written on the same server, so the rows are read and compared.
    inrush("run", "copy.toml").expect(CLEAN, "already loaded")
    # The table has the same size, but another value.
    database.execute("UPDATE t SET v = -1 WHERE id = 3000")
    database.execute("VACUUM FULL t")
    refused = inrush("run", "copy.toml").expect(FAILED, "has other rows now", "replace")
    assert "--again" in refused.said
    database.execute("INSERT INTO t SELECT n, n FROM generate_series(3001, 9000) AS n")
    inrush("run", "copy.toml").expect(FAILED, "has other rows now")
    assert target.rows(SUMS) == [(3000, 3000, 4501500)]
    # Because of a key or the mode, a second load is harmless.
    target.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    inrush.write("copy.toml", text.replace('"append"', '"upsert"\nkey = "id"'))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows(SUMS) == database.rows(SUMS)
    database.execute("UPDATE t SET v = 7 WHERE id = 1")
    inrush.write("copy.toml", text.replace('"append"', '"replace"'))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows(SUMS) == database.rows(SUMS)
    target.execute("ALTER TABLE t DROP CONSTRAINT t_pkey")
    inrush.write("copy.toml", text)
    inrush("run", "copy.toml", "--again").expect(CLEAN)
    assert target.rows(SUMS)[0][:2] == (18000, 9000)


def test_a_query_and_the_text_of_other_types(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A query may name any columns, and a type without a counterpart is read as text when asked."""
    database.execute(
        "CREATE TABLE t (id int, tags text[]); INSERT INTO t VALUES (1, '{a,b}'), (2, NULL)"
    )
    text = package(database, target, "t", 'table = "t"')
    inrush.write("copy.toml", text.replace(target.url, "duckdb:t.duckdb"))
    inrush("run", "copy.toml").expect(USAGE, "tags", "text[]", "tags::text")
    words = 'table = "t", columns = ["id", "tags::text"]'
    inrush.write("copy.toml", package(database, target, "t", words))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT id, tags FROM t ORDER BY id") == [(1, "{a,b}"), (2, None)]
    words = 'query = "SELECT id * 10 AS id, cardinality(tags) AS size FROM t ORDER BY id"'
    inrush.write("copy.toml", package(database, target, "sizes", words))
    inrush("run", "copy.toml").expect(CLEAN)
    assert target.rows("SELECT id, size FROM sizes ORDER BY id") == [(10, 2), (20, None)]


def test_a_uuid_as_text_keeps_its_dashes(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The text is the one that the server writes."""
    database.execute("CREATE TABLE t (v uuid); INSERT INTO t VALUES (gen_random_uuid()), (NULL)")
    target.execute("CREATE TABLE t (v text)")
    text = package(database, target, "t", 'table = "t"', mode='"append"')
    inrush.write("copy.toml", text)
    inrush("run", "copy.toml").expect(CLEAN)
    query = "SELECT v::text FROM t ORDER BY v NULLS LAST"
    assert target.rows(query) == database.rows(query)


BAD = [
    ('table = "nowhere"', FAILED, ["nowhere", "no table or view", "with its schema"]),
    ('table = "t", columns = ["nope"]', USAGE, ['no column "nope"', '"id"']),
    ('table = "t", where = "nope = 1"', USAGE, ["nope", "name a column"]),
    ('table = "t", where = "id"', USAGE, ["boolean", "true or false for each row"]),
    ('table = "t", where = " "', USAGE, ["`source.where`", "it is empty", "leave it out"]),
    (
        'table = "t", rate_bytes_max = "20MB"',
        USAGE,
        ["the number of bytes, without a unit: 20000000"],
    ),
    ('table = "t", where = "id < 1) OR (id > 5"', USAGE, ["`where`", "syntax error"]),
    ('table = "t", where = "id < 1 LIMIT 5"', USAGE, ["`where`", "syntax error"]),
    ('query = "SELECT 1 AS a; SELECT 2"', USAGE, ["one SELECT"]),
    ('query = "DELETE FROM t RETURNING id"', USAGE, ["the query"]),
    (
        'query = "WITH gone AS (DELETE FROM t RETURNING id) SELECT id FROM gone"',
        USAGE,
        ["the query", "data-modifying", "changes nothing"],
    ),
    ('query = "SELECT id INTO copied FROM t"', USAGE, ["the query", "one SELECT"]),
    ('query = "SELECT 1 AS a) AS q; DELETE FROM t; SELECT * FROM (TABLE t"', USAGE, ["one SELECT"]),
    ('query = "SELECT id, id FROM t"', USAGE, ['two of its columns are called "id"', "(AS)"]),
    ('table = "t", split_by = "nope"', USAGE, ['no column "nope"', '"id"']),
    ("query = \"SELECT nextval('s') AS id\"", USAGE, ["read-only", "changes nothing"]),
    ('table = "secret"', FAILED, ["permission denied", "SELECT"]),
    ('table = "hidden"', FAILED, ["row-level security", "hidden", "BYPASSRLS"]),
    ('table = "empty"', USAGE, ["it has no columns"]),
]


@pytest.mark.parametrize(("words", "status", "parts"), BAD, ids=[words for words, _, _ in BAD])
def test_bad_input_is_a_sentence(
    database: Database, target: Database, inrush: Inrush, words: str, status: int, parts: list[str]
) -> None:
    """The message has place and fix, nothing changes, and a bad package gives status 2."""
    database.execute(
        "CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE SEQUENCE s;"
        "CREATE TABLE secret (id int); DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN;"
        "CREATE TABLE hidden (id int); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;"
        "CREATE TABLE empty ();"
        "GRANT SELECT ON t, hidden, empty TO reader; GRANT USAGE ON s TO reader"
    )
    text = package(database, target, "copied", words)
    text = text.replace(f"{database.server.user}@", "reader@", 1)
    inrush.write("copy.toml", text)
    if "nextval" not in words:
        # A function is refused when it is called; all other faults are reported before anything is
        # read.
        inrush("check", "copy.toml").expect(status, *parts)
    inrush("run", "copy.toml").expect(status, *parts)
    assert target.value("SELECT to_regclass('copied') IS NULL")
    assert database.value("SELECT count(*) FROM t") == 1
    database.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_a_package_that_says_too_much(database: Database, target: Database, inrush: Inrush) -> None:
    """A flow may not have files and a source; a source must have a table or a query, not both."""
    text = package(database, target, "t", 'table = "t"', files='"x.csv"')
    path: Path = inrush.write("copy.toml", text)
    inrush("check", path).expect(USAGE, "from `files` or from a `source`")
    inrush.write("copy.toml", package(database, target, "t", 'table = "t", query = "SELECT 1"'))
    inrush("check", path).expect(USAGE, "a `table` or a `query`, not both")
    inrush.write("copy.toml", package(database, target, "t", "stable = true"))
    inrush("check", path).expect(USAGE, "needs a `table` or a `query`")
