"""The double locks, waits and undoes as the documentation of SQL Server says."""

from __future__ import annotations

import threading

from sqlserver.double import Database, Session, SqlError
from sqlserver.statements import TABLE, OpenSession, fails


def test_tablockx_keeps_others_away(open_session: OpenSession) -> None:
    one, other = open_session(), open_session()
    one.execute(TABLE)
    one.execute("BEGIN TRANSACTION; SELECT COUNT_BIG(*) FROM t WITH (TABLOCKX)")
    fails(other, 1222, "SELECT id FROM t")
    one.execute("COMMIT")
    assert other.rows("SELECT id FROM t") == []


def test_all_of_a_transaction_is_undone(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute(TABLE)
    session.execute("INSERT INTO t VALUES (1, N'a'), (2, N'b')")
    session.execute(
        "BEGIN TRANSACTION; UPDATE t SET note = N'x' WHERE id = 1; DELETE FROM t WHERE id = 2; "
        "INSERT INTO t VALUES (3, NULL); CREATE TABLE u (n int); EXEC sp_rename N't', N'v'; "
        "CREATE SCHEMA s"
    )
    assert session.rows("SELECT id, note FROM v") == [[1, "x"], [3, None]]
    session.execute("ROLLBACK")
    assert session.rows("SELECT id, note FROM t") == [[1, "a"], [2, "b"]]
    assert session.rows("SELECT name FROM sys.tables") == [["t"]]
    assert session.rows("SELECT COUNT_BIG(*) FROM sys.schemas") == [[1]]
    # TRUNCATE is part of a transaction as well.
    session.execute("BEGIN TRANSACTION; TRUNCATE TABLE t; ROLLBACK")
    assert session.rows("SELECT COUNT_BIG(*) FROM t") == [[2]]


def test_with_xact_abort_an_error_undoes_the_transaction(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE k (n int PRIMARY KEY)")
    session.execute("BEGIN TRANSACTION; INSERT INTO k VALUES (1)")
    fails(session, 2627, "INSERT INTO k VALUES (2), (1)")
    assert session.rows("SELECT n, @@TRANCOUNT FROM k") == [[1, 1]]
    session.execute("SET XACT_ABORT ON")
    fails(session, 2627, "INSERT INTO k VALUES (1)")
    assert session.transaction_count == 0
    assert session.rows("SELECT COUNT_BIG(*) FROM k") == [[0]]


def test_readers_wait_for_writers(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute("CREATE TABLE r (n int PRIMARY KEY, v int)")
    one.execute("INSERT INTO r VALUES (1, 1), (2, 2)")
    one.execute("BEGIN TRANSACTION; UPDATE r SET v = 9 WHERE n = 1")
    fails(other, 1222, "SELECT * FROM r")
    # A reader of another key does not wait, and neither does a reader with one of these hints.
    assert other.rows("SELECT v FROM r WHERE n = 2") == [[2]]
    assert other.rows("SELECT v FROM r WITH (READCOMMITTEDLOCK, READPAST)") == [[2]]
    assert other.rows("SELECT v FROM r WITH (NOLOCK) ORDER BY n") == [[9], [2]]
    one.close()
    assert other.rows("SELECT v FROM r ORDER BY n") == [[1], [2]]


def test_who_changes_a_row_waits_for_those_who_keep_it(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute("CREATE TABLE r (n int PRIMARY KEY, v int); INSERT INTO r VALUES (1, 1), (2, 2)")
    for session in (one, other):
        session.execute("BEGIN TRANSACTION")
        session.rows("SELECT v FROM r WITH (REPEATABLEREAD) WHERE n = 1")
    other.execute("UPDATE r SET v = 3 WHERE n = 2")
    fails(other, 1222, "UPDATE r SET v = 3 WHERE n = 1")
    one.execute("COMMIT")
    other.execute("UPDATE r SET v = 3 WHERE n = 1")


def test_a_reader_waits_behind_a_writer_that_waits(empty_database: Database) -> None:
    """Locks are granted in the order of the requests, so that readers never starve a writer."""
    one, other, third = (Session(empty_database) for _ in range(3))
    third.lock_timeout = 0
    kept = "SELECT v FROM r WITH (REPEATABLEREAD) WHERE n = 1"
    one.execute("CREATE TABLE r (n int PRIMARY KEY, v int); INSERT INTO r VALUES (1, 1), (2, 2)")
    one.execute("BEGIN TRANSACTION")
    one.rows(kept)
    writer = threading.Thread(target=other.execute, args=("UPDATE r SET v = 3 WHERE n = 1",))
    with empty_database.locks.changed:
        writer.start()
        assert empty_database.locks.changed.wait_for(lambda: other.wait is not None, 60)
    third.execute("BEGIN TRANSACTION")
    fails(third, 1222, kept)
    assert third.rows("SELECT v FROM r WITH (REPEATABLEREAD) WHERE n = 2") == [[2]]
    # A session that already has the lock does not wait for itself.
    assert one.rows(kept) == [[1]]
    one.execute("COMMIT")
    writer.join(60)
    assert third.rows(kept) == [[3]]
    for session in (one, other, third):
        session.close()


def test_definitions_lock_their_names(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute(TABLE)
    one.execute("BEGIN TRANSACTION; EXEC sp_rename N't', N'u'")
    for statement in ("SELECT * FROM t", "SELECT OBJECT_ID(N'u')", "SELECT name FROM sys.objects"):
        fails(other, 1222, statement)


def test_a_deadlock_ends_one_of_its_sessions(empty_database: Database) -> None:
    one, other = Session(empty_database), Session(empty_database)
    one.execute("CREATE TABLE a (n int); CREATE TABLE b (n int)")
    one.execute("BEGIN TRANSACTION; INSERT INTO a WITH (TABLOCK) VALUES (1)")
    other.execute("BEGIN TRANSACTION; INSERT INTO b WITH (TABLOCK) VALUES (1)")
    errors: list[int] = []

    def take(session: Session, table: str) -> None:
        try:
            session.execute(f"INSERT INTO {table} WITH (TABLOCK) VALUES (2)")
        except SqlError as error:
            errors.append(error.number)
            session.close()

    threads = [threading.Thread(target=take, args=pair) for pair in ((one, "b"), (other, "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert errors == [1205]
    one.close()
    other.close()


APPLICATION_LOCK = (
    "EXEC sp_getapplock @Resource = N'r', @LockMode = N'Exclusive', @LockOwner = N'Session', "
    "@LockTimeout = 0"
)


def status(session: Session) -> int | None:
    return next(result.status for result in session.run(APPLICATION_LOCK))


def test_an_application_lock_dies_with_its_session(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    assert status(one) == 0
    # The lock belongs to the session, not to its transaction.
    one.execute("BEGIN TRANSACTION; ROLLBACK")
    assert status(other) == -1
    question = "SELECT APPLOCK_TEST(N'public', N'r', N'Exclusive', N'Session')"
    assert [session.rows(question) for session in (one, other)] == [[[1]], [[0]]]
    one.close()
    assert other.rows(question) == [[1]]
    assert status(other) == 0


def test_requests_show_who_waits_for_whom(empty_database: Database) -> None:
    """Without VIEW SERVER STATE a session sees only itself, and no service (error 300)."""
    one, other, asks = Session(empty_database), Session(empty_database), Session(empty_database)
    one.execute(f"{TABLE}; BEGIN TRANSACTION; INSERT INTO t VALUES (1, NULL)")
    waits = threading.Thread(target=other.execute, args=("SELECT id FROM t",))
    waits.start()
    with empty_database.locks.changed:
        assert empty_database.locks.changed.wait_for(lambda: other.wait is not None, 10)
    seen = "SELECT session_id, status, wait_type, blocking_session_id FROM sys.dm_exec_requests"
    blocked = [other.number, "suspended", "LCK_M_S", one.number]
    running = [asks.number, "running", None, 0]
    assert asks.rows(seen) == [blocked, running]
    empty_database.shows_server_state = False
    assert asks.rows(seen) == [running]
    assert asks.rows("SELECT session_id FROM sys.dm_exec_sessions") == [[asks.number]]
    fails(asks, 300, "SELECT servicename FROM sys.dm_server_services")
    one.execute("ROLLBACK")
    waits.join(10)
    for session in (one, other, asks):
        session.close()


def test_a_table_that_is_locked_whole(open_session: OpenSession) -> None:
    """TABLOCKX with HOLDLOCK: until its transaction ends, nobody else reads or writes it."""
    first, second = open_session(), open_session()
    first.execute(f"{TABLE}; BEGIN TRANSACTION; SELECT TOP (1) 1 FROM t WITH (TABLOCKX, HOLDLOCK)")
    for statement in ("SELECT id FROM t", "INSERT INTO t VALUES (1, 'a')"):
        fails(second, 1222, statement)
    first.execute("COMMIT TRANSACTION")
    second.execute("INSERT INTO t VALUES (1, 'a')")
