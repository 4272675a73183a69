"""Preflight of loads from a database: the database is sampled, and its hazards are reported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conftest import StartServer
from harness import polling, servers
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.contents import contents
from harness.pooler import pooler
from harness.servers import Database, Server
from harness.standby import follow

PREFLIGHT_FAILED = 6
ROWS = 200_000
# These rows are 20 MB on the disk: enough for two ranges of 16 MiB, and so for two streams.
ROWS_OF_TWO = 100_000
# The rows are so few, and the rate so low, that any machine is faster.
FEW_ROWS = 20_000
FEW_BYTES_MAX = 1_000_000


def filled(rows: int) -> str:
    """Return the statements that make a table: 200,000 rows are about 40 MB on the disk."""
    return (
        "CREATE TABLE t (id int NOT NULL, note text);"
        f"INSERT INTO t SELECT n, repeat(md5(n::text), 5) FROM generate_series(1, {rows}) AS n;"
        "ANALYZE t"
    )


FILLED = filled(ROWS)
# This computes for some milliseconds per row on any machine.
BURN = """
    CREATE FUNCTION burn(id int, ms float8) RETURNS int LANGUAGE plpgsql AS $$
    DECLARE ends timestamptz := clock_timestamp() + ms * interval '1 millisecond';
    BEGIN
        WHILE clock_timestamp() < ends LOOP END LOOP;
        RETURN id;
    END $$
"""


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_copy")
    yield beside
    server.done_with(beside)


@pytest.fixture
def newest_target(newest_server: Server, newest_database: Database) -> Iterator[Database]:
    """Return an empty database beside the one of the newest server that is read."""
    beside = newest_server.create_database(f"{newest_database.name}_copy")
    yield beside
    newest_server.done_with(beside)


def package(url: str, target: str, source: str) -> str:
    """Return a package that copies a source into the table `copied`."""
    return (
        f'name = "copy"\n[connections]\ncrm.url = "{url}"\ndw.url = "{target}"\n'
        f'[[flow]]\nconnection = "dw"\ntable = "copied"\n'
        f'source = {{ connection = "crm", {source} }}\n'
    )


def report_of(inrush: Inrush, text: str, status: int = CLEAN, *more: str) -> dict[str, Any]:
    """Return the JSON report of a preflight."""
    inrush.write("copy.toml", text)
    outcome = inrush("preflight", "copy.toml", "--json", *more).expect(status)
    report: dict[str, Any] = json.loads(outcome.output)
    return report


def of_weight(report: dict[str, Any], weight: str) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["weight"] == weight]


def step(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [step for step in report["steps"] if step["step"] == name]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("into", ["postgresql", "parquet"])
def test_a_source_is_sampled(
    database: Database, target: Database, inrush: Inrush, tmp_path: Path, into: str
) -> None:
    """Reading alone has its own line, and the prediction counts the rows of the table."""
    database.execute(FILLED)
    there = target.url if into == "postgresql" else f"parquet:{tmp_path}/lake"
    text = package(database.url, there, 'table = "t"')
    report = report_of(inrush, text, CLEAN, "--streams", "2")
    steps = [step["step"] for step in report["steps"]]
    assert "read_source" in steps
    # No file is read.
    assert "read_disk" not in steps
    assert "read_cache" not in steps
    read = step(report, "read_source")
    assert read["one_bytes_s"] > 1e6
    assert read["all_bytes_s"] > 1e6
    assert read["rows_s"] > 1e3
    files = report["files"]
    assert (files["count"], files["table_count"]) == (0, 1)
    assert files["rows"] == pytest.approx(ROWS, rel=0.1)
    # A row has values of 4 and 160 bytes, and the bytes that COPY adds.
    assert files["text_bytes"] == pytest.approx(ROWS * 185, rel=0.15)
    prediction = report["prediction"]
    assert prediction["predicted_s"] > 0
    assert prediction["because"]
    assert step(report, "together")["all_bytes_s"] > 0
    assert of_weight(report, "stops") == []
    shown = inrush("preflight", "copy.toml").expect(CLEAN)
    assert "Source       1 table or query, " in shown.output
    assert "read, from the database" in shown.output
    # Nothing was loaded, and the run has its prediction.
    assert target.value("SELECT to_regclass('copied') IS NULL")
    loaded = inrush("run", "copy.toml", "--streams", "2").expect(CLEAN)
    assert loaded.report["prediction"]["stored_bytes"] == files["stored_bytes"]


@pytest.mark.parametrize("words", ["", ", indexes = true"], ids=["key", "indexes"])
def test_trial_tables_have_keys_and_indexes_of_their_own(
    database: Database, target: Database, inrush: Inrush, words: str
) -> None:
    """Two streams each fill a table with the source's key and, if asked for, its indexes."""
    database.execute(filled(ROWS_OF_TWO))
    database.execute("ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX ON t (note)")
    text = package(database.url, target.url, f'table = "t"{words}')
    # Once the staging schema exists, which takes one row, all trial tables are created in it.
    first = package(database.url, target.url, 'query = "SELECT 1 AS id"')
    inrush.write("first.toml", first.replace('table = "copied"', 'table = "first"'))
    inrush("run", "first.toml").expect(CLEAN)
    report = report_of(inrush, text, CLEAN, "--streams", "2")
    assert report["streams"] == 2
    assert of_weight(report, "stops") == []
    assert report["prediction"]["predicted_s"] > 0
    assert step(report, "together")["all_bytes_s"] > 0
    relations = (
        "SELECT string_agg(relname, ' ') FROM pg_class WHERE relname LIKE 'inrush_preflight%'"
    )
    assert target.value(relations) is None


def test_a_source_that_computes_is_the_limit(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """The prediction of a query uses the planner's number of rows, and names the limit."""
    database, target = newest_database, newest_target
    database.execute(BURN)
    rows, each_ms = 2_000, 2.0
    burnt = f"burn(n, {each_ms}) AS id, repeat('x', 1000) AS note"
    query = f"SELECT {burnt} FROM generate_series(1, {rows}) AS n"
    report = report_of(inrush, package(database.url, target.url, f'query = "{query}"'))
    assert report["files"]["rows"] == rows
    prediction = report["prediction"]
    assert prediction["limiting"] == "source_database_cpu", prediction
    assert "the source's backends computed in" in prediction["because"]
    assert prediction["load_s"] > 0.9 * rows * each_ms / 1e3


def test_a_first_row_that_comes_late(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """An Arrow stream can be read only once, so nothing is predicted."""
    database, target = newest_database, newest_target
    query = "SELECT n AS id FROM generate_series(1, 10) AS n, pg_sleep(3.5)"
    report = report_of(inrush, package(database.url, target.url, f'query = "{query}"'))
    assert report["prediction"] is None
    (late,) = [one["what"] for one in of_weight(report, "tells") if "first row" in one["what"]]
    said = re.search(r"flow `copied`: its first row came after ([0-9.]+) s", late)
    assert said is not None and float(said[1]) >= 3.5, late


def test_rows_that_nobody_counts_are_named(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """SQLite does not say how many rows a query has, so a prediction cannot include them."""
    database = newest_database
    inrush.write("rows.csv", "id\n1\n2\n")
    words = ("load", "rows.csv", "--to", "adbc:sqlite", "--option", f"uri={tmp_path}/lake.sqlite")
    inrush(*words, "--table", "t", "--columns", "id bigint").expect(CLEAN)
    lake = f'{{ url = "adbc:sqlite", options = {{ uri = "{tmp_path}/lake.sqlite" }} }}'
    text = package(database.url, database.url, 'query = "SELECT id FROM t"')
    text = text.replace(f'crm.url = "{database.url}"', f"crm = {lake}")
    report = report_of(inrush, text)
    assert report["prediction"] is None
    (named,) = [
        one["what"] for one in of_weight(report, "tells") if "is not predicted" in one["what"]
    ]
    assert "the query" in named


def test_a_rate_limits_reading(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """Prediction, plan, verdict and report name the rate, and the load keeps to it."""
    database, target = newest_database, newest_target
    database.execute(filled(FEW_ROWS))
    words = f'table = "t", rate_bytes_max = {FEW_BYTES_MAX}'
    text = package(database.url, target.url, words)
    report = report_of(inrush, text, CLEAN, "--streams", "2")
    prediction = report["prediction"]
    assert prediction["limiting"] == "pace", prediction
    least_s = 0.9 * report["files"]["text_bytes"] / FEW_BYTES_MAX
    assert prediction["load_s"] > least_s
    said = inrush("check", "copy.toml").expect(CLEAN)
    assert "at most 1.0 MB a second are read" in said.said
    loaded = inrush("run", "copy.toml", "--streams", "2").expect(CLEAN)
    assert "`rate_bytes_max` of the source asks" in " ".join(loaded.report["notes"])
    assert loaded.report["phases"]["load_s"] > least_s
    verdict = loaded.report["verdict"]
    assert verdict["causes"][0]["cause"] == "pace", verdict
    assert "or of the source" in verdict["advice"]["change"]
    assert target.value("SELECT count(*) FROM copied") == FEW_ROWS


def test_a_rate_is_an_option_of_a_copy(
    newest_database: Database, newest_target: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """Two tables share the rate."""
    database, target = newest_database, newest_target
    database.execute(filled(FEW_ROWS) + "; CREATE TABLE u AS TABLE t")
    words = ("copy", "--from", database.url, "--table", "t", "--table", "u", "--to", target.url)
    saved = tmp_path / "saved.toml"
    limited = (*words, "--source-max-rate", "3MB", "--save-package", str(saved))
    loaded = inrush(*limited).expect(CLEAN)
    # Both tables together have twice 3.7 MB.
    assert loaded.report["phases"]["load_s"] > 0.9 * 7.4 / 3
    assert saved.read_text().count("rate_bytes_max = 3000000") == 2
    assert target.value("SELECT count(*) FROM t JOIN u USING (id, note)") == FEW_ROWS
    inrush(*words, "--source-max-rate", "1kB").expect(USAGE, "--source-max-rate", "1 KiB")


def test_a_rate_is_an_option_of_a_package(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """The option replaces the setting of the package in a run, its plan and its preflight."""
    database, target = newest_database, newest_target
    database.execute(filled(FEW_ROWS))
    text = package(database.url, target.url, 'table = "t", rate_bytes_max = 900_000_000')
    limit = ("--source-max-rate", "1MB")
    report = report_of(inrush, text, CLEAN, "--streams", "2", *limit)
    assert report["prediction"]["limiting"] == "pace", report["prediction"]
    plan = inrush("check", "copy.toml", *limit).expect(CLEAN)
    assert "at most 1.0 MB a second are read" in plan.said
    loaded = inrush("run", "copy.toml", "--streams", "2", *limit).expect(CLEAN)
    assert loaded.report["phases"]["load_s"] > 0.9 * report["files"]["text_bytes"] / FEW_BYTES_MAX
    assert target.value("SELECT count(*) FROM copied") == FEW_ROWS
    inrush.write("rows.csv", "id\n1\n")
    inrush.write(
        "files.toml",
        f'name = "files"\nconnections.dw.url = "{target.url}"\n'
        '[[flow]]\nfiles = "rows.csv"\ntable = "files"\ncolumns = ["id int"]\n',
    )
    refused = inrush("run", "files.toml", *limit)
    refused.expect(USAGE, "no flow of the package reads a database", "--max-rate")


def test_timeouts_of_a_role_do_not_end_a_source(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """Every session of a load sets its own timeouts, so those of the role are no hazards."""
    database, target = newest_database, newest_target
    database.execute(filled(ROWS_OF_TWO))
    database.execute("DROP ROLE IF EXISTS hurried; CREATE ROLE hurried LOGIN")
    database.execute("GRANT SELECT ON t TO hurried")
    for timeout in (
        "statement_timeout",
        "idle_in_transaction_session_timeout",
        "idle_session_timeout",
        "lock_timeout",
    ):
        database.execute(f"ALTER ROLE hurried SET {timeout} = '1s'")
    try:
        url = database.server.url(database.name, "hurried")
        # At this rate the table is read in 3.7 seconds, longer than the timeouts.
        text = package(url, target.url, 'table = "t", rate_bytes_max = 5_000_000')
        assert of_weight(report_of(inrush, text), "hurts") == []
        loaded = inrush("run", "copy.toml").expect(CLEAN)
        assert loaded.report["phases"]["load_s"] > 2
    finally:
        database.execute("DROP OWNED BY hurried; DROP ROLE hurried")
    assert target.value("SELECT count(*) FROM copied") == ROWS_OF_TWO


@contextmanager
def user_of_two_connections(database: Database) -> Iterator[str]:
    """Make the user `few`, who may read `t`; return its URL."""
    database.execute("DROP ROLE IF EXISTS few")
    database.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 2; GRANT SELECT ON t TO few")
    try:
        yield database.server.url(database.name, "few")
    finally:
        database.execute("DROP OWNED BY few; DROP ROLE few")


def test_too_few_connections_stop_the_run(
    database: Database, target: Database, inrush: Inrush
) -> None:
    database.execute(FILLED)
    with user_of_two_connections(database) as url:
        text = package(url, target.url, 'table = "t"')
        report = report_of(inrush, text, PREFLIGHT_FAILED, "--streams", "2")
        (stops,) = of_weight(report, "stops")
        assert "the role few may have 2 connections" in stops["what"]
        assert "the run needs 3" in stops["what"]
        assert "CONNECTION LIMIT 3" in stops["hint"]
        assert "`max_connections` of the source" in stops["hint"]
        # The test follows the hint.
        limited = package(url, target.url, 'table = "t", max_connections = 2')
        assert of_weight(report_of(inrush, limited, CLEAN, "--streams", "2"), "stops") == []
        inrush.write("copy.toml", text)
        fewer = ("--source-connections", "2")
        inrush("run", "copy.toml", "--streams", "2", *fewer).expect(CLEAN)
    assert target.value("SELECT count(*) FROM copied") == ROWS


def test_a_session_that_is_ending_is_waited_for(
    database: Database, target: Database, inrush: Inrush
) -> None:
    """Until the server has ended a session, it counts among the connections of its role."""
    database.execute(filled(FEW_ROWS))
    log = database.server.log
    # The log of all tests before is long.
    before = log.stat().st_size

    def is_refused() -> bool:
        with log.open("rb") as said:
            said.seek(before)
            return b'too many connections for role "few"' in said.read()

    with user_of_two_connections(database) as url:
        inrush.write("copy.toml", package(url, target.url, 'table = "t", max_connections = 2'))
        with psycopg.connect(url) as other, inrush.start("run", "copy.toml") as running:
            # The session that keeps the snapshot has the second connection, and the one that
            # reads is refused.
            polling.until(is_refused, running=running)
            other.close()
            running.wait().expect(CLEAN)
    rows = contents(database, "SELECT * FROM t")
    assert contents(target, "SELECT * FROM copied") == rows


def test_a_session_that_does_not_end_is_told(
    newest_database: Database, newest_target: Database, inrush: Inrush
) -> None:
    """The wait for a connection has a limit."""
    newest_database.execute(filled(FEW_ROWS))
    words = 'table = "t", max_connections = 2'
    with user_of_two_connections(newest_database) as url:
        inrush.write("copy.toml", package(url, newest_target.url, words))
        with psycopg.connect(url):
            said = inrush("run", "copy.toml").expect(
                FAILED, 'too many connections for role "few" (tried for 5 s)', "CONNECTION LIMIT"
            )
            assert "lower `streams`" not in said.errors
        assert newest_target.value("SELECT to_regclass('copied') IS NULL")
        inrush("run", "copy.toml").expect(CLEAN)


def test_row_security_stops_the_run(database: Database, target: Database, inrush: Inrush) -> None:
    """The policy is reported before anything is read."""
    database.execute(filled(FEW_ROWS) + "; ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    database.execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN")
    database.execute("GRANT SELECT ON t TO reader")
    try:
        url = database.server.url(database.name, "reader")
        text = package(url, target.url, 'table = "t"')
        (stops,) = of_weight(report_of(inrush, text, PREFLIGHT_FAILED), "stops")
        assert "row-level security applies to public.t" in stops["what"]
        assert "BYPASSRLS" in stops["what"]
        # Policies do not apply to the owner.
        report_of(inrush, package(database.url, target.url, 'table = "t"'))
    finally:
        database.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_a_pooler_that_keeps_sessions_is_told(
    newest_database: Database, newest_target: Database, inrush: Inrush, servers_folder: Path
) -> None:
    database, target = newest_database, newest_target
    database.execute(filled(ROWS_OF_TWO))
    server = database.server
    with pooler(server, servers_folder / f"pooler-hazard-{database.name}", "session") as folder:
        url = f"postgresql://{server.user}@/{database.name}?host={folder}&port=6432"
        text = package(url, target.url, 'table = "t"')
        (hurts,) = of_weight(report_of(inrush, text, CLEAN, "--streams", "2"), "hurts")
        assert "a pooler (such as PgBouncer)" in hurts["what"]
        assert "the run opens 3 of them" in hurts["what"]
        assert "connect to the server itself" in hurts["hint"]
        inrush("run", "copy.toml").expect(CLEAN)


def test_a_standby_that_cancels_is_told(
    start_server: StartServer, inrush: Inrush, servers_folder: Path
) -> None:
    """Preflight reports a standby that would cancel the query before the run ends."""
    server = start_server(18, servers.REPLICATING)
    database = server.create_database("crm")
    database.execute(filled(FEW_ROWS))
    with follow(server, servers_folder / "standby-hazard") as standby:
        text = package(standby.url("crm"), server.create_database("dw").url, 'table = "t"')

        def hurts(delay: str, feedback: str) -> list[dict[str, Any]]:
            there = Database(standby, "crm")
            there.execute(f"ALTER SYSTEM SET max_standby_streaming_delay = '{delay}'")
            there.execute(f"ALTER SYSTEM SET hot_standby_feedback = {feedback}")
            there.execute("SELECT pg_reload_conf()")
            return of_weight(report_of(inrush, text), "hurts")

        (told,) = hurts("1ms", "off")
        assert "is a standby: it cancels a reading transaction" in told["what"]
        assert "for 0.001 s (max_standby_streaming_delay)" in told["what"]
        assert "the run is predicted to take" in told["what"]
        assert "hot_standby_feedback = on" in told["hint"]
        assert hurts("1ms", "on") == []
        assert hurts("1h", "off") == []
        assert hurts("-1", "off") == []


def test_rows_that_are_removed_early_are_told(start_server: StartServer, inrush: Inrush) -> None:
    """PostgreSQL 14 to 16 can forget what a snapshot sees."""
    server = start_server(15, dict(servers.FAST) | {"old_snapshot_threshold": "2"})
    database = server.create_database("crm")
    database.execute(FILLED)
    # At this rate the 37 MB of the table are read in 90 seconds.
    words = 'table = "t", rate_bytes_max = 400_000'
    text = package(database.url, server.create_database("dw").url, words)
    (told,) = of_weight(report_of(inrush, text, PREFLIGHT_FAILED), "stops")
    assert "older than 2 min see (old_snapshot_threshold)" in told["what"]
    assert "may be read for 60 s" in told["what"]
    assert "old_snapshot_threshold = -1" in told["hint"]


def test_a_server_that_removes_rows_at_once_is_refused(
    start_server: StartServer, inrush: Inrush
) -> None:
    """PostgreSQL does not warn sessions with a shared snapshot about rows removed early."""
    server = start_server(15, dict(servers.FAST) | {"old_snapshot_threshold": "1"})
    database, target = server.create_database("crm"), server.create_database("dw")
    database.execute(filled(FEW_ROWS))
    inrush.write("copy.toml", package(database.url, target.url, 'table = "t"'))
    for command in ("check", "preflight", "run"):
        outcome = inrush(command, "copy.toml")
        assert outcome.status != CLEAN, outcome.said
        assert "older than 1 min see (old_snapshot_threshold)" in outcome.said
        assert "read from a standby" in outcome.said
    assert target.value("SELECT to_regclass('copied') IS NULL")
