"""Every wait ends, even if the server is silent, takes no bytes, or sends invalid answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.command import CLEAN, FAILED, Inrush
from harness.proxy import Proxy, Trouble
from sqlserver.double import Double
from sqlserver.double.server import ROWS as GARBLED_ROWS
from sqlserver.reaching import loaded

ROWS = 2_000
# The session is checked after a second without a byte.
SOON = "encrypt=off&silence_seconds=1&login_timeout_seconds=1"
CHECK = "SELECT session_id FROM sys.dm_exec_sessions WHERE session_id = "


def write_rows(inrush: Inrush, count: int = ROWS, note: str = "a note") -> None:
    rows = "".join(f"{number},{note}\n" for number in range(count))
    inrush.write("rows.csv", "id,note\n" + rows)


def words_for(port: int, query: str = SOON) -> list[str]:
    url = f"mssql://tester@localhost:{port}/test?{query}"
    columns = "id integer not null, note nvarchar(1000)"
    return ["load", "rows.csv", "--to", url, "--table", "t", "--columns", columns]


def checks(double: Double) -> int:
    return sum(batch.startswith(CHECK) for batch in double.batches)


def logins(double: Double) -> int:
    return len(double.granted)


@pytest.mark.parametrize(
    ("is_shown", "looks"),
    [(True, checks), (False, logins)],
    ids=["that_the_server_has", "whose_state_may_not_be_seen"],
)
def test_a_silent_session_is_waited_for(
    inrush: Inrush, is_shown: bool, looks: Callable[[Double], int]
) -> None:
    write_rows(inrush)
    with Double() as double, Proxy(double.port) as proxy:
        double.database.shows_server_state = is_shown
        with inrush.stopped_by("stop:in_copy", *words_for(proxy.port)) as running:
            before = looks(double)
            stall = Trouble("stall")
            proxy.strike(stall)
            running.resume()
            double.wait_until(lambda: looks(double) >= before + 12)
            stall.healed.set()
            running.wait().expect(CLEAN)
        assert loaded(double) == ROWS


def test_a_session_that_the_server_has_ended_is_given_up(inrush: Inrush) -> None:
    write_rows(inrush)
    with Double() as double, Proxy(double.port) as proxy:
        words = words_for(proxy.port)
        with inrush.stopped_by("stop:in_copy", *words) as running:
            proxy.strike(Trouble("client_gone"))
            outcome = running.resume().wait()
            outcome.expect_one_message(
                FAILED, "the server has ended the session", "resumes the load"
            )
        assert checks(double) >= 1
        inrush(*words_for(double.port)).expect(CLEAN)
        assert loaded(double) == ROWS


def test_a_server_that_answers_nowhere_is_given_up(inrush: Inrush) -> None:
    write_rows(inrush)
    with Double() as double:
        with (
            Proxy(double.port) as proxy,
            inrush.stopped_by("stop:in_copy", *words_for(proxy.port)) as running,
        ):
            proxy.strike(Trouble("stall"))
            proxy.refuse()
            outcome = running.resume().wait()
            said = "it is silent, and the server does not answer on other connections either"
            outcome.expect_one_message(FAILED, said, "resumes the load")
        # The end of the proxy ends the session at the server, and with it the lock of the run.
        inrush(*words_for(double.port)).expect(CLEAN)
        assert loaded(double) == ROWS


# More bytes than the buffers of sockets take.
MUCH = {"count": 20_000, "note": "n" * 900}


def test_a_server_that_takes_no_more_rows_is_given_up(inrush: Inrush) -> None:
    """It stops reading, so the client cannot write."""
    write_rows(inrush, **MUCH)  # type: ignore[arg-type]
    with Double() as double, Proxy(double.port) as proxy:
        words = words_for(proxy.port, SOON + "&commit_megabytes=64")
        proxy.begin(Trouble("stall", after_bytes=1 << 20))
        with inrush.start(*words) as running:
            trouble = proxy.trouble
            assert trouble is not None
            assert trouble.struck.wait(60)
            proxy.refuse()
            running.wait().expect_one_message(FAILED, "does not answer on other connections either")


def test_a_refusal_is_read_although_no_more_rows_are_taken(inrush: Inrush) -> None:
    write_rows(inrush, **MUCH)  # type: ignore[arg-type]
    with Double(refuses_early=True, rows_max=100, stops_reading=True) as double:
        words = words_for(double.port, "encrypt=off&commit_megabytes=64")
        inrush(*words).expect_one_message(FAILED, "1105", "make room on the server")


# The batch, or the rows, whose answer is garbage.
GARBLED = {
    "begin": "INSERT BULK",
    "rows": GARBLED_ROWS,
    "unit": 'INSERT INTO "inrush"."unit"',
    "switch": "sp_rename",
}


@pytest.mark.parametrize("step", GARBLED)
def test_garbage_in_a_run_ends_it(inrush: Inrush, step: str) -> None:
    write_rows(inrush)
    with Double(garbage_to=GARBLED[step]) as double:
        words = words_for(double.port, "encrypt=off")
        outcome = inrush(*words)
        outcome.expect_one_message(FAILED, "no answer of TDS begins with", "check host and port")
        assert double.garbage_to is None
        inrush(*words).expect(CLEAN)
        assert loaded(double) == ROWS
