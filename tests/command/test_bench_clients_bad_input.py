"""Many clients: impossible measurements are refused with a sentence, and leave nothing behind.

Each kind of bad input is tried on PostgreSQL 15 and 18.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic

import pytest

from command.bench_clients import (
    GATED,
    METER,
    SESSIONS,
    bench,
    closed_gate,
    folders,
    left,
    results,
    wait_until_inserting,
)
from harness import pauses
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.ports import free_port
from harness.preloaded import preloaded
from harness.proxy import Proxy
from harness.servers import Database, Server


@pytest.fixture(params=[18, 15], ids=lambda version: f"pg{version}")
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.mark.parametrize("words", [("inserts", "--connections"), ("calls", "--clients")])
def test_no_connections(database: Database, inrush: Inrush, words: tuple[str, ...]) -> None:
    outcome = bench(inrush, database, *words, "0")
    outcome.expect(USAGE, "`0` is not a number of clients")
    assert folders(inrush) == [] and left(database) == []


def test_more_than_the_server_takes(database: Database, inrush: Inrush) -> None:
    """The refusal comes before anything starts, and says how many connections are possible."""
    outcome = bench(inrush, database, "inserts", "--connections", "2,500", "--rows", "1000")
    outcome.expect(USAGE, "500 clients need 500 connections", "max_connections is 60")
    assert folders(inrush) == [] and left(database) == []


def test_a_limit_of_the_role(database: Database, inrush: Inrush) -> None:
    role = f"few_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 4")
    database.execute(f"GRANT CREATE ON DATABASE {database.name} TO {role}")
    url = database.server.url(database.name, role)
    words = ("bench", "calls", "--clients", "4", "--calls", "10", "--to", url)
    inrush(*words).expect(USAGE, "may have 4 connections")
    words = ("bench", "calls", "--clients", "2", "--calls", "10", "--to", url)
    inrush(*words).expect(CLEAN)
    assert left(database) == []


def test_a_role_that_may_not_create(database: Database, inrush: Inrush) -> None:
    role = f"poor_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    url = database.server.url(database.name, role)
    outcome = inrush("bench", "calls", "--clients", "1", "--calls", "10", "--to", url)
    outcome.expect(
        FAILED, "permission denied", f"GRANT CREATE ON DATABASE {database.name} TO {role}"
    )
    assert folders(inrush) == [] and left(database) == []


def test_an_address_where_nobody_listens(
    start_server: Callable[..., Server], inrush: Inrush, version: int
) -> None:
    """The error is reported before anything starts, although half of the clients could connect."""
    server = start_server(version)
    server.move_to_tcp()
    database = server.create_database("bench")
    nobody = f"127.0.0.1:{free_port()}"
    ends = f"127.0.0.1:{server.port},{nobody}"
    words = ("calls", "--clients", "2", "--for", "60s", "--endpoints", ends)
    bench(inrush, database, *words).expect(FAILED, f"cannot connect to {nobody}", "refused")
    assert folders(inrush) == [] and left(database) == []
    server.stop()


def test_a_client_that_is_refused(database: Database, inrush: Inrush) -> None:
    """The role may open enough connections for the sweep's first run, but not for the second."""
    role = f"busy_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 10")
    database.execute(f"GRANT CREATE ON DATABASE {database.name} TO {role}")
    url = database.server.url(database.name, role)
    inrush.write("gated.sql", GATED)
    calls = ("calls", "--sql", "gated.sql", "--clients", "1,4", "--calls", "8")
    with ExitStack() as gate:
        gate.enter_context(closed_gate(database))
        with inrush.start("bench", *calls, "--to", url) as running:
            pauses.wait_until_held(database)
            database.execute(f"ALTER ROLE {role} CONNECTION LIMIT 3")
            gate.close()
            outcome = running.wait()
    outcome.expect(FAILED, "of 4 could not connect, so there is no result", "too many connections")
    found = results(inrush)
    assert not found["complete"]
    assert [run["clients"] for run in found["runs"]] == [1]
    assert [failed["clients"] for failed in found["failed"]] == [4]
    assert left(database) == []


def test_a_client_that_is_cut_off(database: Database, inrush: Inrush) -> None:
    """If a client fails, there is no result of the others alone."""
    words = ("inserts", "--connections", "4", "--for", "60s")
    with inrush.start("bench", *words, "--to", database.url) as running:
        wait_until_inserting(database, 4)
        database.execute(
            f"SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM {SESSIONS} LIMIT 1) AS one"
        )
        outcome = running.wait()
    outcome.expect(FAILED, "of 4 clients did not finish", "terminating connection")
    found = results(inrush)
    assert not found["complete"] and found["runs"] == []
    assert "terminating connection" in found["failed"][0]["reason"]
    assert left(database) == []


def test_a_server_that_goes_away(
    start_server: Callable[..., Server], inrush: Inrush, version: int
) -> None:
    """The next measurement removes the leftovers, and says so."""
    server = start_server(version)
    database = server.create_database("bench")
    words = ("bench", "inserts", "--connections", "2", "--for", "60s", "--to", database.url)
    with inrush.start(*words) as running:
        wait_until_inserting(database, 2)
        server.stop("immediate")
        outcome = running.wait()
    outcome.expect(FAILED, "clients did not finish", "could not be removed")
    server.start()
    (schema,) = left(database)
    outcome = bench(inrush, database, "calls", "--clients", "1", "--calls", "10")
    outcome.expect(CLEAN, f"schema {schema} of a measurement that was killed is removed")
    assert left(database) == []
    server.stop()


def test_a_slow_client_is_named(database: Database, inrush: Inrush) -> None:
    """A client whose call waits for another session's lock is named as the slowest."""
    database.execute("CREATE TABLE held (a int); CREATE TABLE seen (pid int)")
    database.execute(
        "CREATE FUNCTION once() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "IF pg_try_advisory_xact_lock(1) AND NOT EXISTS (SELECT FROM seen) THEN "
        "INSERT INTO seen VALUES (1); PERFORM pg_sleep(1); END IF; RETURN 1; END $$"
    )
    (inrush.folder / "once.sql").write_text("SELECT once()")
    words = ("calls", "--sql", "once.sql", "--clients", "3", "--calls", "300")
    bench(inrush, database, *words).expect(CLEAN)
    everyone = results(inrush)["runs"][0]["all_clients"]
    slowest = everyone["each"][everyone["slowest"] - 1]
    assert slowest["latency"]["most_us"] > 900_000
    assert everyone["finished"] == 3
    assert left(database) == []


def test_a_rate_that_is_not_held_is_told(database: Database, inrush: Inrush) -> None:
    (inrush.folder / "slow.sql").write_text("SELECT pg_sleep(0.05)")
    words = ("calls", "--sql", "slow.sql", "--clients", "1", "--for", "1s", "--rate", "100")
    bench(inrush, database, *words).expect(CLEAN, "did not hold the rate", "behind")
    (run,) = results(inrush)["runs"]
    assert run["open_loop"]["behind_share"] > 0.5
    assert run["open_loop"]["not_begun"] > 50
    assert run["open_loop"]["late_s"] > 0.3
    # The naive figure does not show this wait.
    assert run["naive_latency"]["p50_us"] < 100_000 < run["latency"]["p50_us"]
    assert left(database) == []


def test_a_clock_that_jumps(database: Database, inrush: Inrush) -> None:
    """Times are measured by another clock, so the results are right, and they say what happened."""
    jumped = inrush.folder / "jumped"
    environment = preloaded(
        inrush.folder,
        "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n"
        "int clock_gettime(clockid_t clock, struct timespec *now) {\n"
        "  long done = syscall(SYS_clock_gettime, clock, now);\n"
        f'  if (clock == CLOCK_REALTIME && access("{jumped}", F_OK) == 0) now->tv_sec += 3600;\n'
        "  return (int)done;\n}\n",
    )
    inrush.write("gated.sql", GATED)
    words = ("bench", "calls", "--sql", "gated.sql", "--clients", "1", "--calls", "8")
    begun = monotonic()
    with ExitStack() as gate:
        gate.enter_context(closed_gate(database))
        with inrush.start(*words, "--to", database.url, environment=environment) as running:
            pauses.wait_until_held(database)
            # The watcher has noted the time by then.
            pauses.wait_for_statements(database, METER, 10, running)
            jumped.touch()
            pauses.wait_for_statements(database, METER, 10, running)
            gate.close()
            running.wait().expect(CLEAN, "the clock of this machine jumped by 3600.0 s")
    (run,) = results(inrush)["runs"]
    assert run["latency"]["most_us"] / 1e6 <= run["seconds"] * 1.001 <= monotonic() - begun
    assert left(database) == []


def test_a_connection_that_is_cut(
    start_server: Callable[..., Server], inrush: Inrush, version: int
) -> None:
    server = start_server(version)
    server.move_to_tcp()
    database = server.create_database("bench")
    with Proxy(server.port) as proxy:
        url = f"postgresql://tester@127.0.0.1:{proxy.port}/bench"
        words = ("bench", "inserts", "--connections", "2", "--for", "60s", "--to", url)
        with inrush.start(*words) as running:
            wait_until_inserting(database, 2)
            # Not any connection: the run goes on without the one that only measures.
            proxy.cut(database.value(f"SELECT min(client_port) FROM {SESSIONS}"))
            outcome = running.wait()
        outcome.expect(FAILED, "of 2 clients did not finish")
    assert left(database) == []
    server.stop()
