"""Sessions that are lent again and again behave as new ones."""

from __future__ import annotations

import psycopg
import pytest

from harness.servers import Database


def process_of(database: Database) -> int:
    return int(database.value("SELECT pg_backend_pid()"))


def test_nothing_of_an_earlier_use_is_left(newest_database: Database) -> None:
    process = process_of(newest_database)
    newest_database.execute("SET work_mem = '77MB'; CREATE TEMP TABLE t (i int)")
    newest_database.execute("SELECT pg_advisory_lock(1); BEGIN; CREATE TABLE u (i int)")
    assert process_of(newest_database) == process
    left = newest_database.rows(
        "SELECT current_setting('work_mem') = '77MB', to_regclass('t') IS NOT NULL, "
        "to_regclass('u') IS NOT NULL, EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory')"
    )
    assert left == [(False, False, False, False)]


def test_a_session_with_an_error_is_not_lent_again(newest_database: Database) -> None:
    process = process_of(newest_database)
    with pytest.raises(psycopg.errors.DivisionByZero):
        newest_database.execute("BEGIN; SELECT 1 / 0")
    assert process_of(newest_database) != process


def test_two_callers_at_a_time_have_two_sessions(newest_database: Database) -> None:
    with newest_database.lend() as first:
        assert process_of(newest_database) != first.info.backend_pid


def test_a_session_that_the_server_has_ended_is_replaced(newest_database: Database) -> None:
    process = process_of(newest_database)
    with newest_database.connect() as other:
        ended = other.execute("SELECT pg_terminate_backend(%s, 60000)", [process]).fetchone()
    assert ended == (True,)
    assert process_of(newest_database) != process


@pytest.mark.parametrize("is_in_use", [False, True])
def test_settings_of_new_sessions_apply_at_once(newest_database: Database, is_in_use: bool) -> None:
    settings = f"ALTER DATABASE \"{newest_database.name}\" SET work_mem = '77MB'"
    if is_in_use:
        with newest_database.lend():
            newest_database.execute(settings)
    else:
        assert process_of(newest_database)
        newest_database.execute(settings)
    assert newest_database.value("SHOW work_mem") == "77MB"
