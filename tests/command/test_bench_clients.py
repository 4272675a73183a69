"""Many clients: either all of them ran or there is no result, and nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest

from command.bench_clients import (
    CLIENTS,
    METER,
    bench,
    closed_gate,
    folders,
    left,
    results,
    wait_for_clients,
)
from harness import certificates, pauses, servers
from harness.browser import look
from harness.command import CLEAN, FAILED, INTERRUPTED, USAGE, Inrush
from harness.servers import Database, Server

PROTOCOLS = ("simple", "extended", "prepared")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_connection_inserts_its_share(
    database: Database, inrush: Inrush, protocol: str
) -> None:
    """Shares differ by one row at most, and the table has all rows before it is dropped."""
    words = ("inserts", "--connections", "1,3", "--rows", "200", "--protocol", protocol)
    bench(inrush, database, *words).expect(CLEAN, "3 clients")
    found = results(inrush)
    assert found["complete"] and found["workload"] == "inserts"
    runs = {run["clients"]: run for run in found["runs"]}
    assert sorted(runs) == [1, 3]
    assert [client["calls"] for client in runs[3]["all_clients"]["each"]] == [67, 67, 66]
    for run in runs.values():
        everyone = run["all_clients"]
        assert everyone["asked"] == everyone["connected"] == everyone["finished"] == run["clients"]
        assert 0 < everyone["fairness"] <= 1
        assert run["rows"] == run["calls"] == run["commits"] == run["latency"]["count"] == 200
        assert run["latency"]["least_us"] <= run["latency"]["p50_us"] <= run["latency"]["most_us"]
        assert run["wal"]["bytes"] > 0 and run["cost"]["wal_bytes"] > 0
    assert "DEFAULT VALUES" in found["settings"]["statement"]
    assert found["published"][0]["seconds"] == 20842
    assert left(database) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_batches_transactions_and_pipelines(
    database: Database, inrush: Inrush, protocol: str
) -> None:
    words = (
        "inserts",
        "--connections",
        "2",
        "--rows",
        "101",
        "--batch",
        "4",
        "--commit-every",
        "3",
    )
    more = ("--pipeline", "5", "--protocol", protocol, "--key", "sequence", "--unlogged")
    bench(inrush, database, *words, *more).expect(CLEAN)
    (run,) = results(inrush)["runs"]
    # The clients insert 51 and 50 rows by 13 statements each; three statements make a transaction.
    assert (run["rows"], run["calls"], run["commits"]) == (101, 26, 10)


def test_another_table(newest_database: Database, inrush: Inrush) -> None:
    sql = inrush.folder / "table.sql"
    sql.write_text(
        "CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY, note text DEFAULT 'x');"
        "CREATE INDEX ON {table} (note)"
    )
    words = ("inserts", "--connections", "2", "--size", "200kB", "--table-sql", str(sql))
    bench(inrush, newest_database, *words).expect(CLEAN)
    (run,) = results(inrush)["runs"]
    assert run["row_bytes"] == pytest.approx(200_000 / run["rows"], rel=0.01)
    sql.write_text("CREATE TABLE mine (a int)")
    bench(inrush, newest_database, *words).expect(USAGE, "--table-sql", "{table}")
    assert left(newest_database) == []


@pytest.mark.parametrize("call", ["noop", "seek", "insert"])
def test_calls(database: Database, inrush: Inrush, call: str) -> None:
    words = ("calls", call, "--clients", "1-3", "--calls", "300", "--rounds", "2")
    bench(inrush, database, *words).expect(CLEAN)
    found = results(inrush)
    turns = [(run["round"], run["clients"]) for run in found["runs"]]
    assert turns == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert all(run["calls"] == 300 for run in found["runs"])
    assert [point["runs"] for point in found["curve"]] == [2, 2, 2]
    assert [point["is_best"] for point in found["curve"]].count(True) == 1
    assert left(database) == []


def test_threads_stay_on_the_cpus_that_are_named(newest_database: Database, inrush: Inrush) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    words = ("calls", "--clients", "3", "--calls", "300", "--cpus", str(cpus[-1]))
    bench(inrush, newest_database, *words, "--threads", "2").expect(CLEAN)
    settings = results(inrush)["settings"]
    assert settings["cpus"] == cpus[-1:] and settings["threads"] == 2
    none = str(max(cpus) + 1000)
    outcome = bench(inrush, newest_database, "calls", "--clients", "1", "--cpus", none)
    outcome.expect(USAGE, "--cpus", none)
    assert left(newest_database) == []


def test_a_commit_that_does_not_wait(newest_database: Database, inrush: Inrush) -> None:
    """The table refuses rows of clients that run without the setting."""
    name = newest_database.name
    newest_database.execute(f"ALTER DATABASE {name} SET synchronous_commit = on")
    sql = inrush.folder / "table.sql"
    sql.write_text(
        "CREATE TABLE {table} (setting text DEFAULT current_setting('synchronous_commit') CHECK ("
        "setting = 'off' OR current_setting('application_name') NOT LIKE 'inrush bench client%'))"
    )
    words = ("inserts", "--connections", "2", "--rows", "20", "--table-sql", str(sql))
    bench(inrush, newest_database, *words, "--synchronous-commit", "off").expect(CLEAN)
    assert "--synchronous-commit off" in results(inrush)["command"]
    outcome = bench(inrush, newest_database, *words)
    outcome.expect(FAILED, "violates check constraint")
    assert left(newest_database) == []


def test_a_statement_of_ones_own(newest_database: Database, inrush: Inrush) -> None:
    """A user's statement has the schema and settings of the clients; its rows are kept."""
    newest_database.execute("CREATE TABLE mine (a int)")
    (inrush.folder / "mine.sql").write_text("INSERT INTO mine VALUES (1);\n")
    words = ("calls", "--sql", "mine.sql", "--clients", "2", "--calls", "50")
    bench(inrush, newest_database, *words).expect(CLEAN)
    assert newest_database.rows("SELECT count(*), sum(a) FROM mine") == [(50, 50)]
    (inrush.folder / "mine.sql").write_text("INSERT INTO nowhere VALUES (1)")
    outcome = bench(inrush, newest_database, *words)
    outcome.expect(FAILED, 'relation "nowhere" does not exist')
    assert left(newest_database) == []


def test_a_run_for_some_time_is_told_second_by_second(database: Database, inrush: Inrush) -> None:
    bench(inrush, database, "inserts", "--connections", "2", "--for", "3s").expect(CLEAN)
    (run,) = results(inrush)["runs"]
    # The last call begins before the end, and the histogram keeps three digits.
    assert 0 <= run["seconds"] - 3 <= run["latency"]["most_us"] / 1e6 * 1.001
    assert sum(second["calls"] for second in run["per_second"]) == run["calls"]
    assert [second["second"] for second in run["per_second"]][:3] == [0, 1, 2]
    assert run["looks"] > 10
    assert sum(state["share"] for state in run["states"]) == pytest.approx(1)
    assert sum(second["wal_bytes"] for second in run["per_second"]) > 0
    # The server is on this machine.
    assert run["cpu"]["server"] > 0 and run["cost"]["server_us"] > 0
    assert run["round_trip"]["server_us"] <= run["round_trip"]["call_us"]
    assert run["verdict"]["limit"] and run["verdict"]["change"]


def test_an_open_loop_counts_from_the_intended_start(database: Database, inrush: Inrush) -> None:
    words = ("calls", "--clients", "2", "--for", "2s", "--rate", "200")
    bench(inrush, database, *words).expect(CLEAN)
    found = results(inrush)
    (run,) = found["runs"]
    assert run["open_loop"]["rate_asked"] == 200
    # The intended starts are random, but the same in each run: about 400, with a deviation of 20.
    assert 340 < run["calls"] + run["open_loop"]["not_begun"] < 460
    assert run["naive_latency"]["count"] == run["latency"]["count"]
    assert run["latency"]["most_us"] >= run["naive_latency"]["most_us"]


def test_ctrl_c_leaves_nothing_and_the_same_command_goes_on(
    database: Database, inrush: Inrush
) -> None:
    # The run of two clients takes 30 seconds, until the table is empty.
    database.execute("CREATE TABLE slow (clients int); INSERT INTO slow VALUES (2)")
    inrush.write("slow.sql", f"SELECT pg_sleep(0.02) FROM slow WHERE clients = ({CLIENTS})")
    calls = ("--sql", "slow.sql", "--clients", "1,2", "--calls", "3000")
    words = ("bench", "calls", *calls, "--to", database.url)
    with inrush.start(*words) as running:
        wait_for_clients(database, 2)
        running.send(signal.SIGINT)
        running.wait().expect(INTERRUPTED, "the same command measures the others")
    assert left(database) == []
    # The server ends a session a moment after its client.
    wait_for_clients(database, 0)
    database.execute("TRUNCATE slow")
    first = results(inrush)
    assert [run["clients"] for run in first["runs"]] == [1] and not first["complete"]
    inrush(*words).expect(CLEAN, "resumed", "1 run")
    whole = results(inrush)
    assert len(folders(inrush)) == 1
    assert [run["clients"] for run in whole["runs"]] == [1, 2] and whole["complete"]
    assert whole["runs"][0] == first["runs"][0]
    # A complete measurement is not resumed: the same command makes new results.
    inrush(*words).expect(CLEAN)
    assert len(folders(inrush)) == 2


def test_what_a_killed_one_left_goes_with_the_next(database: Database, inrush: Inrush) -> None:
    """The tables of a running measurement are kept, and so are other people's tables."""
    words = ("bench", "inserts", "--connections", "2", "--for", "60s", "--to", database.url)
    with inrush.start(*words) as killed, inrush.start(*words, "--batch", "2") as living:
        wait_for_clients(database, 4)
        killed.send(signal.SIGKILL)
        killed.process.wait()
        wait_for_clients(database, 2)
        both = left(database)
        outcome = bench(inrush, database, "calls", "--clients", "1", "--calls", "10")
        outcome.expect(CLEAN, "of a measurement that was killed is removed")
        (kept,) = left(database)
        assert kept in both
        database.execute(f"CREATE TABLE {kept}.mine (a int)")
        living.send(signal.SIGTERM)
        living.wait().expect(INTERRUPTED, f"schema {kept} could not be removed")
    assert database.value(f"SELECT count(*) FROM {kept}.mine") == 0
    query = f"SELECT relname FROM pg_class WHERE relnamespace = '{kept}'::regnamespace"
    assert database.rows(query) == [("mine",)]


def test_a_table_that_others_write_to_is_no_result(database: Database, inrush: Inrush) -> None:
    inrush.write(
        "table.sql",
        "CREATE TABLE {table} (id int DEFAULT 1 CHECK (public.pass_gate(CASE WHEN "
        "current_setting('application_name') LIKE 'inrush bench client%' THEN -1 ELSE 0 END)))",
    )
    inserts = ("inserts", "--connections", "1", "--rows", "20", "--table-sql", "table.sql")
    with ExitStack() as gate:
        gate.enter_context(closed_gate(database))
        with inrush.start("bench", *inserts, "--to", database.url) as running:
            pauses.wait_until_held(database)
            (schema,) = left(database)
            database.execute(f"INSERT INTO {schema}.rows DEFAULT VALUES")
            gate.close()
            outcome = running.wait()
    outcome.expect(5, "but the server confirmed")
    assert left(database) == []


def test_endpoints_are_dealt_over_tcp(start_server: Callable[..., Server], inrush: Inrush) -> None:
    server = start_server(18)
    server.move_to_tcp()
    database = server.create_database("bench")
    ends = f"127.0.0.1:{server.port},localhost:{server.port},{server.folder}:{server.port}"
    words = ("calls", "--clients", "3", "--calls", "300", "--endpoints", ends)
    bench(inrush, database, *words).expect(CLEAN)
    found = results(inrush)
    (run,) = found["runs"]
    assert found["server"]["way"] == "TCP"
    assert run["cost"]["packets"] > 0 and run["round_trip"]["tcp_us"] > 0
    words = ("calls", "--clients", "1", "--calls", "10", "--endpoints", "127.0.0.1:0")
    bench(inrush, database, *words).expect(FAILED, "--endpoints", "is not a port")
    assert left(database) == []
    server.stop()


def test_calls_over_tls(
    start_server: Callable[..., Server], inrush: Inrush, tmp_path: Path
) -> None:
    """Answers that TLS has already read wake no thread: a pipeline could wait for them forever."""
    # The wheel's PostgreSQL is built without TLS.
    server = start_server(15)
    server.stop()
    for file in certificates.self_signed(tmp_path, "server", "/CN=localhost").parent.glob(
        "server.*"
    ):
        copy = server.data / file.name
        shutil.copy(file, copy)
        servers.own_by_server(copy)
        copy.chmod(0o600)
    server.move_to_tcp({**servers.FAST, "ssl": "on"})
    database = server.create_database("bench")
    url = f"postgresql://tester@127.0.0.1:{server.port}/bench?sslmode=require"
    words = ("bench", "calls", "--clients", "2", "--calls", "2000", "--pipeline", "40", "--to", url)
    inrush(*words).expect(CLEAN)
    found = results(inrush)
    assert found["server"]["way"] == "TLS" and found["runs"][0]["calls"] == 2000
    assert left(database) == []
    server.stop()


def test_the_log_of_latencies_is_that_of_hdrhistogram(
    newest_database: Database, inrush: Inrush
) -> None:
    bench(inrush, newest_database, "calls", "--clients", "2", "--for", "2s").expect(CLEAN)
    found = results(inrush)
    (run,) = found["runs"]
    whole, each = (folders(inrush)[-1] / name for name in run["logs"])
    lines = [line for line in whole.read_text().splitlines() if not line.startswith("#")]
    number = r"[0-9]+(\.[0-9]+)?"
    seconds = [line for line in lines if re.match(rf"{number},{number},{number},HISTF", line)]
    assert len(seconds) == len(run["per_second"])
    tags = re.findall(r"^Tag=client-(\d+),", each.read_text(), re.M)
    assert tags == ["1", "2"]


def test_the_page_shows_what_was_measured(newest_database: Database, inrush: Inrush) -> None:
    words = ("inserts", "--connections", "1,2", "--for", "2s")
    bench(inrush, newest_database, *words).expect(CLEAN)
    found = results(inrush)
    page = folders(inrush)[-1] / "report.html"
    seen = look(page)
    text = json.dumps(seen)
    assert "What limits" in text and "All clients ran" in text
    assert found["verdict"]["line"][:20] in text
    summary = (folders(inrush)[-1] / "summary.md").read_text()
    assert found["verdict"]["line"] in summary


def test_with_nothing_to_set_up(servers_folder: Path) -> None:
    folder = servers_folder / "bench-clients"
    folder.mkdir()
    inrush = Inrush(folder)
    words = ("bench", "inserts", "--connections", "1,70", "--rows", "700", "--quiet")
    outcome = inrush(*words)
    outcome.expect(CLEAN)
    assert outcome.output == ""
    assert [run["rows"] for run in results(inrush)["runs"]] == [700, 700]


def test_events_as_json(newest_database: Database, inrush: Inrush) -> None:
    words = ("calls", "--clients", "1,2", "--calls", "20", "--json")
    lines = bench(inrush, newest_database, *words).expect(CLEAN).output.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["measured", "measured", "results"]
    assert events[-1]["results"] == results(inrush)


@contextmanager
def locked(database: Database, statement: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with database.connect(autocommit=False) as connection:
        connection.execute(statement.encode())
        yield connection
        connection.rollback()


def test_a_lock_of_another_session_is_the_verdict(database: Database, inrush: Inrush) -> None:
    """Wait events show the waits of the clients."""
    # Each row of a client also inserts a row into a locked table.
    database.execute(
        "CREATE TABLE noted (id int); "
        "CREATE FUNCTION note_row() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_setting('application_name') LIKE 'inrush bench client%' THEN "
        "INSERT INTO public.noted VALUES (1); END IF; RETURN 1; END $$"
    )
    inrush.write("table.sql", "CREATE TABLE {table} (id int DEFAULT public.note_row())")
    inserts = ("inserts", "--connections", "2", "--rows", "20", "--table-sql", "table.sql")
    with ExitStack() as lock:
        lock.enter_context(locked(database, "LOCK TABLE noted IN SHARE MODE"))
        with inrush.start("bench", *inserts, "--to", database.url) as running:
            pauses.wait_until_held(database, sessions=2)
            held_since = monotonic()
            pauses.wait_for_statements(database, METER, 30, running)
            held_us = (monotonic() - held_since) * 1e6
            lock.close()
            running.wait().expect(CLEAN)
    (run,) = results(inrush)["runs"]
    assert run["verdict"]["limit"].startswith("locks of other sessions (Lock:relation)")
    assert run["latency"]["most_us"] > held_us
