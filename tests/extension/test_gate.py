"""Who may send bytes to the decoder, and when it refuses them."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from extension.raw_session import RawSession, message, statement
from extension.test_errors import GOOD, int4, row
from extension.twins import HEADER, TRAILER, Outcome, send, ways_of
from harness import extension, servers
from harness.servers import Database, Server

STREAM = [HEADER + GOOD + TRAILER]
COPY = b"COPY public.t FROM STDIN (FORMAT inrush)"


@pytest.fixture
def table(fast_database: Database) -> Database:
    """Return the database with a table `t`."""
    fast_database.execute("CREATE TABLE t (a int, b text)")
    return fast_database


def role(database: Database, name: str, *, may_open: bool) -> str:
    """Create a role that may insert into `t`, and return its name, unique on the server."""
    name = f"{name}_{database.name}"
    database.execute(f"CREATE ROLE {name}; GRANT INSERT ON t TO {name}")
    database.execute(f"GRANT USAGE ON SCHEMA inrush_fastcopy TO {name}")
    if may_open:
        database.execute(f"GRANT EXECUTE ON FUNCTION inrush_fastcopy.open() TO {name}")
    return name


def test_the_format_is_unknown_before_open(table: Database) -> None:
    with table.connect() as connection:
        assert send(connection, COPY, STREAM).sqlstate == "22023"
        connection.execute("SELECT inrush_fastcopy.open()")
        assert send(connection, COPY, STREAM) == Outcome("COPY 1")


def test_other_functions_do_not_open_the_gate(table: Database) -> None:
    with table.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.refusal('t'), inrush_fastcopy.last_load()")
        assert send(connection, COPY, STREAM).sqlstate == "22023"


def test_nobody_may_open_unless_granted(table: Database) -> None:
    stranger = role(table, "stranger", may_open=False)
    with table.connect() as connection:
        connection.execute(f"SET ROLE {stranger}".encode())
        for call in ("open()", "last_load()", "refusal('public.t')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT inrush_fastcopy.{call}".encode())


def test_a_granted_role_loads(table: Database) -> None:
    loader = role(table, "loader", may_open=True)
    with table.connect() as connection:
        connection.execute(f"SET ROLE {loader}".encode())
        connection.execute("SELECT inrush_fastcopy.open()")
        assert send(connection, COPY, STREAM) == Outcome("COPY 1")
        connection.execute("RESET ROLE")
        connection.execute(f"REVOKE INSERT ON t FROM {loader}".encode())
        connection.execute(f"SET ROLE {loader}".encode())
        assert send(connection, COPY, STREAM).sqlstate == "42501"


def test_insert_on_the_columns_is_enough(table: Database) -> None:
    loader = role(table, "loader", may_open=True)
    table.execute(f"REVOKE INSERT ON t FROM {loader}; GRANT INSERT (a) ON t TO {loader}")
    stream = [HEADER + row(int4(1)) + TRAILER]
    with table.connect() as connection:
        connection.execute(f"SET ROLE {loader}".encode())
        connection.execute("SELECT inrush_fastcopy.open()")
        one = b"COPY public.t (a) FROM STDIN (FORMAT %s)"
        assert send(connection, one % b"inrush", stream) == Outcome("COPY 1")
        for statement in (COPY, b"COPY public.t (a, b) FROM STDIN (FORMAT inrush)"):
            fast = send(connection, statement, STREAM)
            assert fast == send(connection, statement.replace(b"inrush", b"binary"), STREAM)
            assert fast.sqlstate == "42501"


def test_the_gate_is_shut_for_a_role_that_could_not_open_it(table: Database) -> None:
    stranger = role(table, "stranger", may_open=False)
    with table.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        connection.execute(f"SET ROLE {stranger}".encode())
        assert send(connection, COPY, STREAM).sqlstate == "22023"


def test_the_gate_is_shut_without_the_extension(table: Database) -> None:
    with table.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        if table.server.version >= 18:
            connection.execute("DROP EXTENSION inrush_fastcopy")
        else:
            connection.execute("DROP SCHEMA inrush_fastcopy CASCADE")
        assert send(connection, COPY, STREAM).sqlstate == "22023"


@pytest.mark.parametrize(
    ("before", "statement", "sqlstate"),
    [
        ("SET default_transaction_read_only = on", COPY, "25006"),
        ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", COPY, None),
        ("SET client_encoding = 'LATIN1'", COPY, "0A000"),
        ("", b"COPY public.t FROM STDIN (FORMAT inrush, FREEZE true)", "55000"),
        ("", b"COPY public.t FROM STDIN (FORMAT inrush) WHERE a > 1", "0A000"),
        ("", b"COPY public.t FROM STDIN (FORMAT inrush, DELIMITER 'x')", "0A000"),
        ("", b"COPY public.t FROM STDIN (FORMAT inrush, KEY 'b')", "0A000"),
        ("", b"COPY public.t FROM STDIN (FORMAT inrush, KEY 'c')", "42703"),
        ("", b"COPY public.t FROM STDIN (FORMAT inrush, WAY 'other')", "22023"),
        (
            "ALTER TABLE t ADD c int DEFAULT 7",
            b"COPY public.t (a, b) FROM STDIN (FORMAT inrush, WAY 'tuples')",
            "0A000",
        ),
        ("", b"COPY public.t (a, c) FROM STDIN (FORMAT inrush)", "42703"),
        ("", b"COPY public.u FROM STDIN (FORMAT inrush)", "42P01"),
        ("CREATE VIEW v AS TABLE t", b"COPY v FROM STDIN (FORMAT inrush)", "0A000"),
    ],
)
def test_what_is_refused(
    table: Database, before: str, statement: bytes, sqlstate: str | None
) -> None:
    with table.connect() as connection:
        if before:
            connection.execute(before.encode())
        connection.execute("SELECT inrush_fastcopy.open()")
        outcome = send(connection, statement, STREAM)
        assert outcome.sqlstate == sqlstate, outcome
        assert (outcome.tag is None) == (sqlstate is not None)
        # The session is still usable.
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_row_security_refuses_as_copy_does(table: Database) -> None:
    loader = role(table, "loader", may_open=True)
    table.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    with table.connect() as connection:
        connection.execute(f"SET ROLE {loader}".encode())
        connection.execute("SELECT inrush_fastcopy.open()")
        fast = send(connection, COPY, STREAM)
        assert fast == send(connection, b"COPY public.t FROM STDIN (FORMAT binary)", STREAM)
        assert fast.sqlstate == "0A000"


@pytest.mark.parametrize(
    "statement",
    [
        b"COPY t TO STDOUT (FORMAT inrush)",
        b"COPY t FROM '/etc/passwd' (FORMAT inrush)",
        b"COPY (SELECT 1) TO STDOUT (FORMAT inrush)",
    ],
)
def test_only_copy_from_stdin(table: Database, statement: bytes) -> None:
    with table.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute(statement)


@pytest.mark.parametrize("call", ["COPY t FROM STDIN ({})", "EXECUTE 'COPY t FROM STDIN ({})'"])
def test_no_function_copies(table: Database, call: str) -> None:
    with table.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        for form in ("FORMAT binary", "FORMAT inrush"):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot COPY to/from"):
                connection.execute(f"DO $$BEGIN {call.format(form)}; END$$".encode())
        assert send(connection, COPY, STREAM) == Outcome("COPY 1")


@pytest.mark.parametrize(
    "text", ["SELECT 1; {}; SELECT count(*) FROM t", "{0}; {0}; SELECT 1/0", "TRUNCATE t; {}"]
)
def test_one_of_several_statements(table: Database, text: str) -> None:
    """The statements of one string are one transaction, as with COPY BINARY."""
    told, stored = [], []
    for form in ("binary", "inrush"):
        table.execute("TRUNCATE t")
        with RawSession(table) as session:
            session.run("SELECT inrush_fastcopy.open()")
            session.send(statement(text.format(f"COPY t FROM STDIN (FORMAT {form})")))
            replies = session.until_ready("G")
            while replies[-1].kind == "G":
                session.send(message(b"d", STREAM[0]) + message(b"c"))
                replies += session.until_ready("G")
        told.append(replies)
        stored.append(table.rows("SELECT a, b FROM t"))
    assert told[1] == told[0]
    assert stored[1] == stored[0] == ([] if "1/0" in text else [(1, "abc")])


def test_freeze_is_for_tables_that_nobody_can_see(table: Database) -> None:
    """The conditions of COPY FREEZE apply, and their messages are those of COPY."""
    freezing = "COPY public.t FROM STDIN (FORMAT {}, FREEZE true)"
    before: dict[str, tuple[str, str | None]] = {
        "in another transaction": ("SELECT 1", "55000"),
        "truncated here": ("TRUNCATE t", None),
        "truncated in a subtransaction": ("TRUNCATE t; SAVEPOINT s", "55000"),
        "with an open cursor": (
            "TRUNCATE t; DECLARE c CURSOR FOR SELECT 1 FROM generate_series(1, 9)",
            "25000",
        ),
    }
    for name, (statements, sqlstate) in before.items():
        outcomes = []
        for form in ("binary", "inrush"):
            with table.connect(autocommit=False) as connection:
                connection.execute("SELECT inrush_fastcopy.open()")
                for statement in statements.split("; "):
                    connection.execute(statement.encode())
                outcomes.append(send(connection, freezing.format(form).encode(), STREAM))
                connection.rollback()
        assert outcomes[1] == outcomes[0], name
        assert outcomes[0].sqlstate == sqlstate, name


def test_other_copies_are_the_servers(table: Database) -> None:
    with table.connect() as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        assert send(connection, b"COPY t FROM STDIN", [b"1\tabc\n"]) == Outcome("COPY 1")
        assert send(connection, b"COPY t FROM STDIN (FORMAT csv)", [b"2,abc\n"]).tag == "COPY 1"
    assert table.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_last_load_tells_what_was_loaded(table: Database) -> None:
    with table.connect() as connection:
        query = "SELECT * FROM inrush_fastcopy.last_load()"
        connection.execute("SELECT inrush_fastcopy.open()")
        statement = b"COPY t FROM STDIN (FORMAT inrush, KEY 'a')"
        stream = [HEADER, GOOD * 3, GOOD.replace(b"\0\0\0\1", b"\xff\xff\xff\xfb", 1), TRAILER]
        assert send(connection, statement, stream) == Outcome("COPY 4")
        length = sum(map(len, stream))
        assert connection.execute(query).fetchone() == (
            "t", 4, length, "tuples", "a", "-5", "1",
        )  # fmt: skip
        assert send(connection, b"COPY t FROM STDIN (FORMAT inrush)", [HEADER]).tag == "COPY 0"
        assert connection.execute(query).fetchone() == (
            "t", 0, 19, "tuples", None, None, None,
        )  # fmt: skip


def test_last_load_tells_of_a_load_that_was_rolled_back(table: Database) -> None:
    """After a failed load, `last_load` still describes the load before it."""
    query = "SELECT rows FROM inrush_fastcopy.last_load()"
    with table.connect(autocommit=False) as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        assert connection.execute(query).fetchone() == (None,)
        assert send(connection, COPY, STREAM) == Outcome("COPY 1")
        connection.rollback()
        assert connection.execute(query).fetchone() == (1,)
        assert send(connection, COPY, [HEADER + GOOD * 2 + b"\0\2\0\0"]).tag is None
        connection.rollback()
        assert connection.execute(query).fetchone() == (1,)
    assert table.value("SELECT count(*) FROM t") == 0


def test_open_tells_what_this_server_can(fast_database: Database) -> None:
    version = fast_database.server.version
    found = fast_database.rows("SELECT abi, version, ways FROM inrush_fastcopy.open()")
    assert found == [(1, "0.1.0", list(ways_of(version)))]
    for way in ("tuples", "executor", "pages"):
        call = f"SELECT inrush_fastcopy.refusal('pg_type', NULL, '{way}')"
        if way in ways_of(version):
            assert fast_database.value(call) == '"pg_type" is a table of the system'
            continue
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=f'the way "{way}" on this'):
            fast_database.value(call)


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ("NULL", None),
        ("'r', NULL, NULL", None),
        ("'r', '{a,NULL}'", "22004"),
        ("'r', '{z}'", "42703"),
        ("'r', '{a,a}'", "42701"),
        ("'r', '{ctid}'", "42703"),
        ("'r', NULL, 'fastest'", "22023"),
        ("0", None),
    ],
)
def test_arguments_of_refusal(
    fast_database: Database, arguments: str, sqlstate: str | None
) -> None:
    fast_database.execute("CREATE TABLE r (a int)")
    call = f"SELECT inrush_fastcopy.refusal({arguments})"
    if sqlstate is None and arguments != "0":
        assert fast_database.value(call) is None
        return
    with pytest.raises(psycopg.Error) as raised:
        fast_database.value(call)
    # For a table that does not exist, this is an internal error, as in the server's own functions.
    assert raised.value.sqlstate == (sqlstate or "XX000")


REFUSALS = {
    "CREATE TABLE r (a int PRIMARY KEY)": 'table "r" has an index, "r_pkey"',
    "CREATE TABLE r (a int, b int GENERATED ALWAYS AS (a + 1) STORED)": 'column "b" is generated',
    "CREATE TABLE r (a int) PARTITION BY LIST (a)": '"r" is a partitioned table',
    "CREATE TABLE p (a int) PARTITION BY LIST (a);"
    "CREATE TABLE r PARTITION OF p DEFAULT": '"r" is a partition',
    "CREATE TABLE o (a int PRIMARY KEY);"
    "CREATE TABLE r (a int, FOREIGN KEY (a) REFERENCES o)": 'table "r" has a trigger or foreign',
    "CREATE VIEW r AS SELECT 1 AS a": '"r" is not a table',
    "CREATE TABLE r (a int, b aclitem)": 'the type of column "b" has no receive function',
    "CREATE UNLOGGED TABLE r (a int)": None,
    "CREATE TABLE r (a int)": None,
    "CREATE TEMP TABLE r (a int, CHECK (a > 1))": None,
}


@pytest.mark.parametrize("statements", REFUSALS)
def test_refusals_say_why(fast_database: Database, statements: str) -> None:
    expected = REFUSALS[statements]
    with fast_database.connect() as connection:
        connection.execute(statements.encode())
        (found,) = connection.execute(
            "SELECT inrush_fastcopy.refusal('r', NULL, 'tuples')"
        ).fetchone() or (None,)
    assert (found is None) == (expected is None), found
    assert expected is None or str(found).startswith(expected)


def test_a_default_of_a_column_that_is_left_out(fast_database: Database) -> None:
    fast_database.execute("CREATE TABLE r (a int, b int DEFAULT 1, c int)")
    call = "SELECT inrush_fastcopy.refusal('r', '{{{}}}', 'tuples')"
    assert fast_database.value(call.format("a,b")) is None
    assert fast_database.value(call.format("a,c")) == 'column "b" has a default, and is left out'


# For each way that only PostgreSQL 18 has, and each table: the message of the refusal, or None if
# the way can load the table.
NEWER_REFUSALS = {
    ("pages", "CREATE UNLOGGED TABLE r (a int)"): 'table "r" is temporary or unlogged',
    ("pages", "CREATE TEMP TABLE r (a int)"): 'table "r" is temporary or unlogged',
    ("pages", "CREATE TABLE r (a int PRIMARY KEY)"): 'table "r" has an index, "r_pkey"',
    ("executor", "CREATE VIEW r AS SELECT 1 AS a"): '"r" is not a table',
    ("executor", "CREATE TABLE r (a aclitem)"): 'the type of column "a" has no receive function',
    ("executor", "CREATE TABLE r (a int PRIMARY KEY)"): None,
    ("executor", "CREATE TABLE r (a int) PARTITION BY LIST (a)"): None,
    ("auto", "CREATE TABLE r (a int PRIMARY KEY)"): None,
    ("pages", "CREATE TABLE r (a int)"): None,
}


@pytest.mark.parametrize("fast_server", [18], ids=["pg18"], indirect=True)
@pytest.mark.parametrize(("way", "statement"), NEWER_REFUSALS)
def test_refusals_of_the_newer_ways(fast_database: Database, way: str, statement: str) -> None:
    with fast_database.connect() as connection:
        connection.execute(statement.encode())
        found = connection.execute(f"SELECT inrush_fastcopy.refusal('r', NULL, '{way}')".encode())
        assert found.fetchone() == (NEWER_REFUSALS[way, statement],)


@pytest.mark.parametrize("fast_server", [18], ids=["pg18"], indirect=True)
def test_pages_are_for_new_and_empty_tables(table: Database) -> None:
    by_pages = b"COPY public.t FROM STDIN (FORMAT inrush, WAY 'pages', FREEZE %s)"
    with table.connect(autocommit=False) as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        # An earlier transaction made the table.
        assert send(connection, by_pages % b"true", STREAM).sqlstate == "55000"
        connection.rollback()
        connection.execute("TRUNCATE t")
        refused = send(connection, by_pages % b"false", STREAM)
        assert (refused.sqlstate, refused.message) == (
            "0A000",
            "COPY (FORMAT inrush, WAY pages) needs FREEZE",
        )
        connection.rollback()
        connection.execute("TRUNCATE t")
        assert send(connection, by_pages % b"true", STREAM) == Outcome("COPY 1")
        assert send(connection, by_pages % b"true", STREAM).sqlstate == "55000"
    assert table.value("SELECT count(*) FROM t") == 0


def test_pages_are_not_for_tables_that_are_decoded(
    fast_server_of: Callable[[int], Server], start_server: Callable[..., Server]
) -> None:
    """Logical replication reads rows from the WAL, where pages are only images."""
    finding = fast_server_of(18).settings
    server = start_server(
        18,
        servers.REPLICATING
        | {name: finding[name] for name in ("extension_control_path", "dynamic_library_path")},
    )
    database = server.create_database("decoded")
    database.execute(extension.WITHOUT_IT)
    database.execute("CREATE EXTENSION inrush_fastcopy; CREATE TABLE t (a int, b text)")
    call = "SELECT inrush_fastcopy.refusal('t', NULL, '{}')"
    assert database.value(call.format("pages")) == 'table "t" takes part in logical replication'
    assert database.value(call.format("tuples")) is None
    server.stop("immediate")
