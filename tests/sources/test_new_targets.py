"""New targets get the indexes and partitions of the table that is read."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from conftest import SharedServer
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.servers import Database, Server


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_new")
    yield beside
    server.done_with(beside)


# All indexes of the tables of a schema, without the schema.
INDEXES = (
    "SELECT tablename, indexname, replace(indexdef, 'public.', '') FROM pg_indexes "
    "WHERE schemaname = 'public' AND {} ORDER BY 1, 2"
)
CONSTRAINTS = (
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'x') AND {} "
    "ORDER BY 1, 2"
)
PARTITIONS = (
    "SELECT relid::regclass::text, level, pg_get_partkeydef(relid), "
    "pg_get_expr(relpartbound, relid) FROM pg_partition_tree('{}') "
    "JOIN pg_class ON pg_class.oid = relid ORDER BY 1"
)


def words(source: Database, target: Database, *more: str) -> list[str]:
    """Return the command that copies tables from one database to the other."""
    return ["copy", "--from", source.url, "--to", target.url, *more]


def rows(database: Database, table: str) -> list[tuple[str, ...]]:
    """Return the rows of a table, each with its partition."""
    return database.rows(f"SELECT tableoid::regclass::text, t::text FROM {table} AS t ORDER BY 2")


def test_a_new_table_has_the_indexes(database: Database, target: Database, inrush: Inrush) -> None:
    """Indexes of every form are the same in the target, and are built before the switch."""
    database.execute(
        'CREATE TABLE t (id int PRIMARY KEY, a int, "odd ""; name" text, day date,'
        "  UNIQUE (a, day) DEFERRABLE, CONSTRAINT covering UNIQUE (day, id) INCLUDE (a));"
        'CREATE INDEX lowered ON t (lower("odd ""; name") text_pattern_ops, a DESC NULLS LAST);'
        "CREATE UNIQUE INDEX few ON t (a) WITH (fillfactor = 70)"
        " WHERE \"odd \"\"; name\" <> '; -- '' (';"
        "CREATE INDEX hashed ON t USING hash (a); CREATE INDEX ranges ON t USING brin (day);"
        'CREATE INDEX in_c ON t ("odd ""; name" COLLATE "C");'
        "INSERT INTO t SELECT n, n, 'x' || n, '2024-01-01'::date + n FROM generate_series(1, 500) n"
    )
    copy = words(database, target, "--table", "t", "--with-indexes")
    inrush(*copy, "--save-package", "copy.toml").expect(CLEAN)
    for query in (INDEXES, CONSTRAINTS):
        assert target.rows(query.format(True)) == database.rows(query.format(True))
    assert target.value("SELECT bool_and(indisvalid) FROM pg_index")
    assert rows(target, "t") == rows(database, "t")
    # The indexes are built in the steps of the unit; the switch only renames them.
    target.execute("DROP TABLE t")
    plan = inrush("check", "copy.toml", "--again").expect(CLEAN).said
    build, switch = plan.index("USING brin (day)"), plan.rindex("BEGIN;")
    assert build < switch < plan.index('RENAME TO "ranges"'), plan
    # A target that exists keeps its indexes and partitions.
    target.execute('CREATE TABLE t (id int, a int, "odd ""; name" text, day date)')
    inrush("run", "copy.toml", "--again").expect(CLEAN, "keeps its own indexes and partitions")
    assert target.rows(INDEXES.format(True)) == []


COLLATIONS = (
    "SELECT attname, attcollation::regcollation::text FROM pg_attribute "
    "WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum"
)


def test_a_new_table_has_the_collations(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Keys, indexes and partitions have the source's collations; an unknown one is named."""
    own = "CREATE SCHEMA app; CREATE COLLATION app.\"Own one\" (provider = libc, locale = 'C')"
    database.execute(
        f'{own}; CREATE TABLE t (a text COLLATE "C" NOT NULL, b varchar(9) COLLATE app."Own one",'
        '  c text, d char(3) COLLATE "POSIX", n int, PRIMARY KEY (a)) PARTITION BY RANGE (a);'
        "CREATE TABLE upper PARTITION OF t FOR VALUES FROM ('A') TO ('Z');"
        "CREATE TABLE lower PARTITION OF t FOR VALUES FROM ('Z') TO ('zz');"
        "CREATE INDEX by_b ON t (b, c);"
        "INSERT INTO t SELECT chr(65 + n) || n, 'b', 'c', 'd', n FROM generate_series(0, 24) AS n;"
        "INSERT INTO t SELECT chr(97 + n) || n, 'b', 'c', 'd', n FROM generate_series(0, 24) AS n"
    )
    structure = ("--table", "t", "--with-indexes", "--with-partitions")
    plain = inrush(*words(database, target, "--table", "t")).expect(CLEAN)
    assert 'does not get the collation "app"."Own one" of "b"' in plain.said
    assert [row[1] for row in target.rows(COLLATIONS)] == [
        '"C"',
        '"default"',
        '"default"',
        '"POSIX"',
        "-",
    ]
    target.execute(f"DROP TABLE t; {own}")
    inrush(*words(database, target, *structure)).expect(CLEAN)
    assert target.rows(COLLATIONS) == database.rows(COLLATIONS)
    indexes = INDEXES.format("tablename = 't'")
    assert target.rows(indexes) == database.rows(indexes)
    assert target.rows(PARTITIONS.format("t")) == database.rows(PARTITIONS.format("t"))
    assert rows(target, "t") == rows(database, "t")
    # The column of `partition_by` keeps its collation; a column that is cast to text has none.
    target.execute("DROP TABLE t")
    by = ("--partition-by", "a", "--bounds", "A, Z, zz", "--routing")
    inrush(*words(database, target, "--table", "t", *by)).expect(CLEAN)
    assert target.rows(COLLATIONS) == database.rows(COLLATIONS)
    as_text = ("--table", "t", "--columns", "a::text, n", "--into", "u")
    inrush(*words(database, target, *as_text)).expect(CLEAN)
    assert target.value("SELECT count(*) FROM u") == 50


def test_what_a_target_cannot_have_is_named(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A note names each index that needs an object or a column that the target does not have."""
    database.execute(
        "CREATE SCHEMA app; CREATE FUNCTION app.norm(text) RETURNS text IMMUTABLE LANGUAGE sql"
        " AS 'SELECT upper($1)';"
        "CREATE OPERATOR CLASS app.numbers FOR TYPE int USING btree AS OPERATOR 1 <,"
        " OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);"
        "CREATE TYPE mood AS ENUM ('sad', 'ok');"
        "CREATE TABLE t (id int, note text, during int4range, left_out int PRIMARY KEY, m mood,"
        "  tags text[], CONSTRAINT apart EXCLUDE USING gist (during WITH &&));"
        "CREATE INDEX normed ON t (app.norm(note)); CREATE INDEX back ON t (id app.numbers);"
        "CREATE INDEX gone ON t (id, left_out); CREATE INDEX sad_ones ON t (id) WHERE m = 'sad';"
        "CREATE INDEX moods ON t (m); CREATE INDEX texts ON t (tags); CREATE INDEX kept ON t (id);"
        "INSERT INTO t SELECT n, 'n', int4range(n, n + 1), n, 'ok' FROM generate_series(1, 90) AS n"
    )
    copy = words(database, target, "--table", "t", "--with-indexes")
    copy += ["--columns", "id, note, during, m, tags::text"]
    said = inrush(*copy).expect(CLEAN).said
    for part in (
        "index normed: it uses the function app.norm(pg_catalog.text) of the source",
        "index back: the target lacks the operator class app.numbers USING btree",
        "index apart: it is an exclusion constraint",
        "index gone: its column left_out is not copied",
        "index sad_ones: its column m is an enum",
        "index texts: its column tags is copied as text",
        "the primary key (left_out): not all of its columns are copied as they are",
        "these columns of the new table get another type, because the source's has no "
        "counterpart: m text instead of public.mood; to choose the types, create the table first, "
        "or list the `columns` of the flow in a package",
    ):
        assert part in said, said
    assert said.count('"public"."t" does not get ') == 1
    assert [row[1] for row in target.rows(INDEXES.format(True))] == ["kept", "moods"]
    assert target.value("SELECT count(*) FROM t") == 90


def test_an_operator_class_of_an_extension(shared_server: SharedServer, inrush: Inrush) -> None:
    """An index that needs an extension is copied if the target has the extension."""
    server = shared_server(15)
    source, there, without = (server.create_database(name) for name in ("trgm", "trgm2", "trgm3"))
    try:
        for database in (source, there):
            database.execute("CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin")
        source.execute(
            "CREATE TABLE t (id int, note text); INSERT INTO t VALUES (1, 'one');"
            "CREATE INDEX by_note ON t USING gin (note gin_trgm_ops);"
            "CREATE INDEX by_id ON t USING gin (id)"
        )
        inrush(*words(source, there, "--table", "t", "--with-indexes")).expect(CLEAN)
        assert there.rows(INDEXES.format(True)) == source.rows(INDEXES.format(True))
        said = inrush(*words(source, without, "--table", "t", "--with-indexes")).expect(CLEAN).said
        assert "index by_note: the target lacks the operator class public.gin_trgm_ops" in said
        assert "(extension pg_trgm)" in said
        assert "index by_id: the target lacks" in said
        assert without.rows(INDEXES.format(True)) == []
    finally:
        for database in (source, there, without):
            server.done_with(database)


TREE = (
    "CREATE TABLE t (id int, region text, day date, v int, PRIMARY KEY (id, region, day))"
    " PARTITION BY RANGE (day);"
    "CREATE TABLE \"First half\" PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('2024-07-01')"
    " PARTITION BY LIST (region);"
    "CREATE TABLE t_n PARTITION OF \"First half\" FOR VALUES IN ('north', 'it''s', NULL);"
    'CREATE TABLE t_s PARTITION OF "First half" DEFAULT;'
    "CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-07-01') TO (MAXVALUE)"
    " PARTITION BY HASH (id);"
    "CREATE TABLE t_2a PARTITION OF t_2 FOR VALUES WITH (modulus 2, remainder 0);"
    "CREATE TABLE t_2b PARTITION OF t_2 FOR VALUES WITH (modulus 2, remainder 1);"
    "CREATE INDEX of_all ON t (v); CREATE INDEX of_one ON t_s (v DESC);"
    "CREATE UNIQUE INDEX of_branch ON t_2 (id, v);"
    "INSERT INTO t SELECT n, (ARRAY['north', 'south', 'it''s'])[n % 3 + 1],"
    " '2024-01-01'::date + n, n FROM generate_series(1, 365) AS n"
)


def test_a_new_table_has_the_partitions(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """All levels have the same bounds and names, and each row is in the same partition."""
    database.execute(TREE)
    copy = words(database, target, "--table", "t", "--with-partitions", "--streams", "2")
    plan = inrush(*copy, "--with-indexes", "--save-package", "copy.toml").expect(CLEAN)
    assert target.rows(PARTITIONS.format("t")) == database.rows(PARTITIONS.format("t"))
    assert rows(target, "t") == rows(database, "t")
    # The indexes of the partitions also keep the names that the server had chosen.
    for query in (INDEXES, CONSTRAINTS):
        assert target.rows(query.format(True)) == database.rows(query.format(True))
    assert target.value("SELECT bool_and(indisvalid) FROM pg_index")
    # The same command finds them loaded.
    inrush("run", "copy.toml").expect(CLEAN, "already loaded")
    # Without `--with-partitions` the new table is plain. The output names an index that only a
    # partition has.
    target.execute("DROP TABLE t")
    plain = inrush(*words(database, target, "--table", "t", "--with-indexes", "--into", "u"))
    plain.expect(CLEAN, "index of_one: only a partition has it")
    assert target.value("SELECT relkind::text FROM pg_class WHERE relname = 'u'") == "r"
    names = [row[1] for row in target.rows(INDEXES.format("tablename = 'u'"))]
    assert names == ["of_all", "u_pkey"]
    assert plan.report["account"]["rows_loaded"] == 365


def test_indexes_of_partitions_have_the_names_that_the_server_chooses(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Long and taken names of indexes are cut and numbered as the server does it."""
    partition, column = "größe_" + "p" * 40, "ä" * 25
    database.execute(
        f'CREATE TABLE t (id int, "{column}" text, v int, "w w" int, PRIMARY KEY (id),'
        '  UNIQUE (id, v) INCLUDE ("w w")) PARTITION BY RANGE (id);'
        f'CREATE TABLE "{partition}" PARTITION OF t FOR VALUES FROM (0) TO (50);'
        "CREATE TABLE p PARTITION OF t FOR VALUES FROM (50) TO (MAXVALUE);"
        "CREATE TABLE p_v_idx (a int);"
        f'CREATE INDEX long ON t (lower("{column}"), "{column}", upper("{column}"), (v + 1));'
        f'CREATE INDEX of_text ON t ("{column}");'
        'CREATE INDEX twice ON t (v); CREATE INDEX again ON t (v); CREATE INDEX odd ON t ("w w");'
        "INSERT INTO t SELECT n, 'x' || n, n, n FROM generate_series(1, 99) AS n"
    )
    target.execute("CREATE TABLE p_v_idx (a int)")
    inrush(*words(database, target, "--table", "t", "--with-partitions", "--with-indexes")).expect(
        CLEAN
    )
    for query in (INDEXES, CONSTRAINTS):
        assert target.rows(query.format(True)) == database.rows(query.format(True))
    names = [row[1] for row in target.rows(INDEXES.format("tablename = 'p'"))]
    assert {"p_v_idx1", "p_v_idx2", "p_pkey", "p_id_v_w w_key"} <= set(names)
    assert rows(target, "t") == rows(database, "t")


def test_partitions_by_the_flow_get_the_indexes(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Attached units have their indexes already; unique indexes need the partition column."""
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, day date, UNIQUE (day, id));"
        "CREATE INDEX by_day ON t (day);"
        "INSERT INTO t SELECT n, '2024-01-01'::date + n FROM generate_series(1, 300) AS n"
    )
    by_day = ["--partition-by", "day", "--bounds", "every 3 month", "--with-indexes"]
    for more in (["--routing"], []):
        copy = words(database, target, "--table", "t", *by_day, *more)
        if not more:
            copy[copy.index("every 3 month")] = "data"
        said = inrush(*copy).expect(CLEAN).said
        assert "index t_pkey: it is unique, but lacks the column day" in said
        assert "does not get the primary key of the source (id)" in said
        own = "tablename = 't'"
        names = [row[1] for row in target.rows(INDEXES.format(own))]
        assert names == ["by_day", "t_day_id_key"]
        partitions = target.rows(
            "SELECT relid::regclass::text FROM pg_partition_tree('t') WHERE isleaf"
        )
        assert partitions
        of_partitions = {row[1] for row in target.rows(INDEXES.format("tablename <> 't'"))}
        assert of_partitions == {
            f"{name}_{rest}" for (name,) in partitions for rest in ("day_id_key", "day_idx")
        }
        assert target.value("SELECT bool_and(indisvalid) FROM pg_index")
        assert target.value("SELECT count(*) FROM t") == 300
        target.execute("DROP TABLE t")


def test_a_row_that_an_index_refuses_is_a_reject(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """A row of a child table may repeat a key of its parent; the index of the target rejects it."""
    database.execute(
        "CREATE TABLE base (id int, note text); CREATE UNIQUE INDEX once ON base (note);"
        "CREATE TABLE child () INHERITS (base);"
        "INSERT INTO base VALUES (1, 'a'), (2, 'b'); INSERT INTO child VALUES (3, 'b')"
    )
    copy = words(database, target, "--table", "base", "--with-indexes", "--max-rejects", "1")
    outcome = inrush(*copy).expect(LOADED_WITH_REJECTS)
    assert len(outcome.rejects()) == 1
    assert target.value("SELECT count(*) FROM base") == 2
    assert [row[1] for row in target.rows(INDEXES.format(True))] == ["once"]


def test_a_killed_copy_is_resumed_with_its_indexes(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """The loaded rows are kept, and the switch of the resumed run gives the indexes their names."""
    database.execute(TREE)
    copy = words(database, target, "--table", "t", "--with-partitions", "--with-indexes")
    killed = inrush(*copy, environment={"INRUSH_FAULT": "before_switch"})
    assert killed.status == -signal.SIGKILL, killed.said
    assert target.value("SELECT to_regclass('t') IS NULL")
    outcome = inrush(*copy).expect(CLEAN)
    assert all(unit["kept"] for unit in outcome.report["units"]), outcome.report["units"]
    assert target.rows(PARTITIONS.format("t")) == database.rows(PARTITIONS.format("t"))
    assert rows(target, "t") == rows(database, "t")


BAD = [
    (
        ["--table", "by_code", "--with-partitions"],
        FAILED,
        ["app.bucket(integer)", "create the target"],
    ),
    (["--table", "t", "--columns", "id, v", "--with-partitions"], FAILED, ["its key column"]),
    (["--query", "SELECT 1 AS a", "--into", "x", "--with-indexes"], USAGE, ["--with-indexes"]),
    (["--table", "t", "--with-partitions", "--partition-by", "day"], USAGE, ["--partition-by"]),
    (["--table", "t", "--with-partitions", "--mode", "replace"], USAGE, ["mode"]),
]


@pytest.mark.parametrize(("more", "status", "parts"), BAD, ids=[" ".join(it[0]) for it in BAD])
def test_what_cannot_be_had_is_refused(
    database: Database,
    target: Database,
    inrush: Inrush,
    more: list[str],
    status: int,
    parts: list[str],
) -> None:
    """The message gives the reason, and no table is created."""
    database.execute(
        TREE + ";CREATE SCHEMA app; CREATE FUNCTION app.bucket(int) RETURNS int IMMUTABLE"
        " LANGUAGE sql AS 'SELECT $1 % 7';"
        "CREATE TABLE by_code (id int) PARTITION BY LIST (app.bucket(id));"
        "CREATE TABLE by_code_all PARTITION OF by_code DEFAULT"
    )
    inrush(*words(database, target, *more)).expect(status, *parts)
    assert target.value("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_other_databases_have_none(database: Database, inrush: Inrush) -> None:
    """The option is refused if the source or the target is DuckDB."""
    database.execute("CREATE TABLE t (id int); CREATE INDEX ON t (id); INSERT INTO t VALUES (1)")
    for option, setting in (("--with-indexes", "indexes"), ("--with-partitions", "partitions")):
        copy = ["copy", "--from", database.url, "--to", "x.duckdb", "--table", "t", option]
        inrush(*copy).expect(
            USAGE,
            f"this destination cannot give a new table the {setting} of its source",
            f"remove {option}, or `{setting}` of the source in a package",
        )
    inrush("copy", "--from", database.url, "--to", "x.duckdb", "--table", "t").expect(CLEAN)
    back = ["copy", "--from", "x.duckdb", "--to", database.url, "--table", "t", "--into", "u"]
    inrush(*back, "--with-indexes").expect(
        USAGE, "`indexes` (--with-indexes) needs a source in PostgreSQL"
    )
