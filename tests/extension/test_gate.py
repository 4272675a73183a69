"""Who may send bytes to the decoder, and when it refuses them."""

from __future__ import annotations

import psycopg
import pytest

from extension.test_errors import GOOD
from extension.twins import HEADER, TRAILER, Outcome, send
from harness.servers import Database

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


REFUSALS = {
    "CREATE TABLE r (a int PRIMARY KEY)": 'table "r" has an index, "r_pkey"',
    "CREATE TABLE r (a int, b int GENERATED ALWAYS AS (a + 1) STORED)": 'column "b" is generated',
    "CREATE TABLE r (a int) PARTITION BY LIST (a)": '"r" is a partitioned table',
    "CREATE TABLE p (a int) PARTITION BY LIST (a);"
    "CREATE TABLE r PARTITION OF p DEFAULT": '"r" is a partition',
    "CREATE TABLE o (a int PRIMARY KEY);"
    "CREATE TABLE r (a int, FOREIGN KEY (a) REFERENCES o)": 'table "r" has a trigger or foreign',
    "CREATE VIEW r AS SELECT 1 AS a": '"r" is not a table',
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
