"""The double keeps the rules of identity columns and of the statements that add members."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlserver.double import Database, Session

REFERENCE = (
    "CREATE TABLE d (number int IDENTITY(1, 1) PRIMARY KEY, code nvarchar(9) COLLATE "
    "Latin1_General_BIN2)"
)


@pytest.fixture
def session() -> Iterator[Session]:
    """Return a session with a table whose rows are numbered."""
    made = Session(Database("test"))
    made.execute(REFERENCE)
    made.execute("INSERT INTO d (code) VALUES (N'a')")
    yield made
    made.close()


def test_numbers_that_were_rolled_back_are_not_given_again(session: Session) -> None:
    taken = (
        "BEGIN TRANSACTION; INSERT INTO d (code) VALUES (N'b'), (N'c'); SELECT (SELECT number FROM "
        "d WHERE code = N'b'), (SELECT number FROM d WHERE code = N'none'); ROLLBACK TRANSACTION"
    )
    assert session.rows(taken) == [[2, None]]
    assert session.rows("SELECT * FROM d") == [[1, "a"]]
    session.execute("INSERT INTO d (code) VALUES (N'd')")
    assert session.rows("SELECT number, code FROM d ORDER BY 1 DESC") == [[4, "d"], [1, "a"]]


def test_a_number_that_is_inserted_raises_those_of_later_rows(session: Session) -> None:
    session.execute("SET IDENTITY_INSERT d ON; INSERT INTO d (number, code) VALUES (7, N'g')")
    session.execute("INSERT INTO d (number, code) VALUES (5, N'e'); SET IDENTITY_INSERT d OFF")
    session.execute("INSERT INTO d (code) VALUES (N'h')")
    found = session.rows("SELECT number, code FROM d ORDER BY 2")
    assert found == [[1, "a"], [5, "e"], [7, "g"], [8, "h"]]


def test_a_key_is_compared_with_a_cast_and_with_a_collation(session: Session) -> None:
    session.execute("CREATE TABLE m (text nvarchar(9), number bigint)")
    session.execute("INSERT INTO m VALUES (N'a', 1), (N'A', 1), (N'x', 9)")
    is_there = "EXISTS (SELECT 1 FROM d AS d WHERE d.code = m.text COLLATE Latin1_General_BIN2)"
    assert session.rows(f"SELECT m.text FROM m AS m WHERE {is_there}") == [["a"]]
    is_there = "EXISTS (SELECT 1 FROM d AS d WHERE d.number = CAST(m.number AS int))"
    assert session.rows(f"SELECT m.text FROM m AS m WHERE NOT {is_there}") == [["x"]]


def test_rows_are_updated_from_a_query(session: Session) -> None:
    session.execute("CREATE TABLE t (id int, number int)")
    session.execute("INSERT INTO t VALUES (1, -1), (2, -2)")
    session.execute(
        "UPDATE s SET number = o.new FROM t AS s JOIN (SELECT DISTINCT d.number AS new, d.number - "
        "2 AS old FROM d AS d) AS o ON s.number = o.old"
    )
    assert session.rows("SELECT id, number FROM t") == [[1, 1], [2, -2]]


def test_the_right_to_alter_a_table(session: Session) -> None:
    right = "SELECT HAS_PERMS_BY_NAME(N'{}', N'OBJECT', N'ALTER')"
    assert session.rows(right.format('"dbo"."d"')) == [[1]]
    assert session.rows(right.format('"dbo"."none"')) == [[None]]
    session.database.not_altered.add(session.database.objects["dbo", "d"].object_id)
    assert session.rows(right.format('"dbo"."d"')) == [[0]]
