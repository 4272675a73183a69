"""Queries and functions of the double."""

from __future__ import annotations

from sqlserver.double import Session
from sqlserver.statements import OpenSession, fails


def test_double_quotes_enclose_a_text_without_quoted_identifiers(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.quoted_identifiers = False
    fails(session, 102, 'CREATE TABLE "q" (n int)')
    session.execute("SET QUOTED_IDENTIFIER ON")
    session.execute('CREATE TABLE "q" (n int)')
    assert session.rows("SELECT n FROM q") == []


def test_a_code_page_replaces_characters_that_it_lacks(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE c (v varchar(9) NULL)")
    session.execute("INSERT INTO c VALUES (N'é漢')")
    assert session.rows("SELECT v FROM c") == [["é?"]]


def test_windows_count_the_rows_that_share_a_key(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE w (n int, k nvarchar(4) NULL)")
    session.execute("INSERT INTO w VALUES (1, N'a'), (2, NULL), (3, N'A '), (4, N'b'), (5, NULL)")
    query = (
        "SELECT n, first FROM (SELECT n, MIN(n) OVER (PARTITION BY k) AS first, COUNT_BIG(*) OVER "
        "(PARTITION BY k) AS sharing FROM w) AS keyed WHERE sharing > 1 ORDER BY n"
    )
    # NULL is equal to NULL here, as in a unique index.
    assert session.rows(query) == [[1, 1], [2, 2], [3, 1], [5, 2]]


def test_a_subquery_sees_the_row_around_it(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE a (n int); CREATE TABLE b (n int, m int)")
    session.execute("INSERT INTO a VALUES (1), (2), (3); INSERT INTO b VALUES (2, 1), (3, 2)")
    query = (
        "SELECT own.n FROM a AS own WHERE EXISTS (SELECT 1 FROM b AS other WHERE other.n = own.n "
        "AND m > 1)"
    )
    assert session.rows(query) == [[3]]


def test_functions_of_values(open_session: OpenSession) -> None:
    session: Session = open_session()
    for expression, value in {
        "DATEDIFF(day, '1970-01-01', '1969-12-30')": -2,
        "DATEDIFF_BIG(second, '1970-01-01T00:00:00', '1969-12-31 23:59:59.500000')": -1,
        "DATEPART(microsecond, '1969-12-31 23:59:59.500000')": 500_000,
        "DATEDIFF(second, '00:00:00', '01:00:01')": 3_601,
        "DATALENGTH(CAST(N'aä😀' COLLATE Latin1_General_100_BIN2_UTF8 AS varchar(max)))": 7,
        "CONVERT(bigint, CONVERT(varbinary(8), SUBSTRING('ffffffffffffffff', 1, 16), 2))": -1,
        "CAST(COALESCE(CAST('0' AS decimal(38,8)), 0) AS nvarchar(100))": "0.00000000",
    }.items():
        assert session.rows(f"SELECT {expression}") == [[value]], expression


def test_joins_and_groups(open_session: OpenSession) -> None:
    """LEFT JOIN, HAVING, and an UPDATE of the rows that have a partner."""
    session = open_session()
    session.execute(
        "CREATE TABLE a (id int, n nvarchar(4)); CREATE TABLE b (id int, m nvarchar(4))"
    )
    session.execute("INSERT INTO a VALUES (1, 'x'), (2, 'y'), (2, 'z'), (NULL, 'n')")
    session.execute("INSERT INTO b VALUES (2, 'p'), (3, 'q')")
    joined = "SELECT a.n, b.m FROM a LEFT JOIN b ON b.id = a.id"
    both = [["x", None], ["y", "p"], ["z", "p"], ["n", None]]
    assert session.rows(joined) == both
    assert session.rows(f"{joined} WHERE b.id IS NULL") == [both[0], both[3]]
    grouped = "SELECT TOP (1) id, COUNT_BIG(*) FROM a GROUP BY id HAVING COUNT_BIG(*) > "
    assert session.rows(grouped + "1") == [[2, 2]]
    assert session.rows(grouped + "2") == []
    changed = "UPDATE t SET n = s.m FROM a AS t JOIN b AS s ON s.id = t.id"
    assert [one.count for one in session.run(changed)] == [2]
    assert session.rows("SELECT n FROM a ORDER BY n") == [["n"], ["p"], ["p"], ["x"]]


def test_texts_and_their_bytes(open_session: OpenSession) -> None:
    """`=` ignores case and trailing blanks of texts, and trailing zeros of bytes."""
    session = open_session()
    session.execute("CREATE TABLE t (a nvarchar(9), b nvarchar(9), c varbinary(9), d varbinary(9))")
    session.execute("INSERT INTO t VALUES ('Ab', 'aB ', NULL, NULL)")
    equal = "SELECT COUNT_BIG(*) FROM t WHERE "
    assert session.rows(equal + "a = b") == [[1]]
    in_bytes = "CAST(a AS varbinary(max)) = CAST(b AS varbinary(max))"
    assert session.rows(equal + in_bytes) == [[0]]
    session.insert("t", [[None, None, b"a", b"a\0"]])
    assert session.rows(equal + "c = d") == [[1]]
    assert session.rows(equal + "DATALENGTH(c) = DATALENGTH(d)") == [[0]]


def test_select_into_makes_a_table(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE t (id int NOT NULL IDENTITY(1, 1) PRIMARY KEY, note nvarchar(4))")
    session.execute("INSERT INTO t VALUES (N'a'), (N'b')")
    session.execute("BEGIN TRANSACTION; SELECT id, note INTO s FROM t WHERE id > 1; ROLLBACK")
    fails(session, 208, "SELECT id FROM s")
    session.execute("SELECT id, note INTO s FROM t WHERE id > 1")
    assert session.rows("SELECT id, note FROM s") == [[2, "b"]]
    names = "name, is_nullable, is_identity"
    found = session.rows(f"SELECT {names} FROM sys.columns WHERE object_id = OBJECT_ID(N's')")
    assert found == [["id", 0, 1], ["note", 1, 0]]
    # SELECT ... INTO copies no indexes.
    found = session.rows("SELECT type FROM sys.indexes WHERE object_id = OBJECT_ID(N's')")
    assert found == [[0]]


def test_numbers_are_rounded_or_cut_as_documented(open_session: OpenSession) -> None:
    """Half is rounded away from zero; a decimal is cut to a whole number, and money is not."""
    session: Session = open_session()
    for expression, expected in (
        ("CAST(0.125 AS decimal(4,2))", "0.13"),
        ("CAST(0 - 0.125 AS decimal(4,2))", "-0.13"),
        ("CAST(0.135 AS decimal(4,2))", "0.14"),
        ("CAST(1.00005 AS money)", "1.0001"),
        ("CAST(0 - 922337203685477.5808 AS money)", "-922337203685477.5808"),
        ("CAST(CAST(0.5 AS money) AS int)", "1"),
        ("CAST(CAST(0.5 AS decimal(2,1)) AS int)", "0"),
        ("CAST(0 - 1.9 AS int)", "-1"),
    ):
        assert [str(value) for value in session.rows(f"SELECT {expression}")[0]] == [expected]


def test_identity_columns_count(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE i (id int IDENTITY(10, -5), n int)")
    session.execute("INSERT INTO i (n) VALUES (1), (2)")
    # The numbers of rows that are undone are not given again.
    session.execute("BEGIN TRANSACTION; INSERT INTO i (n) VALUES (3); ROLLBACK")
    session.execute("INSERT INTO i (n) VALUES (4)")
    session.execute("SET IDENTITY_INSERT i ON; INSERT INTO i (id, n) VALUES (-100, 5), (7, 6)")
    session.execute("SET IDENTITY_INSERT i OFF; INSERT INTO i (n) VALUES (7)")
    session.execute("DELETE FROM i WHERE n = 7; INSERT INTO i (n) VALUES (8)")
    rows = session.rows("SELECT id, n FROM i ORDER BY n")
    assert rows == [[10, 1], [5, 2], [-5, 4], [-100, 5], [7, 6], [-110, 8]]
    session.execute("TRUNCATE TABLE i; INSERT INTO i (n) VALUES (1)")
    assert session.rows("SELECT id, n FROM i") == [[10, 1]]
    session.execute("BEGIN TRANSACTION; TRUNCATE TABLE i; ROLLBACK; INSERT INTO i (n) VALUES (2)")
    assert session.rows("SELECT id, n FROM i ORDER BY n") == [[10, 1], [5, 2]]
