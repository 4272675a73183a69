"""Loading directly into the targets in one transaction (`staging = false`)."""

from __future__ import annotations

import gzip
import json
import os
import signal

import pytest

from harness import pauses, processes
from harness.command import (
    CLEAN,
    FAILED,
    INTERRUPTED,
    REJECT_LIMIT,
    USAGE,
    VERIFICATION,
    Inrush,
    Outcome,
)
from harness.packages import Value, flow, package
from harness.servers import Database

PARTS = 4
ROWS_OF_A_PART = 500
COLUMNS = "id int NOT NULL, k int NOT NULL, note text"
Row = tuple[int, int, str]


def rows_of(part: int) -> list[Row]:
    numbers = range(part * ROWS_OF_A_PART, (part + 1) * ROWS_OF_A_PART)
    return [(number, number % 7, f"note {number}") for number in numbers]


def text_of(rows: list[Row]) -> str:
    return "".join(f"{number}|{key}|{note}|\n" for number, key, note in rows)


def write_rows(inrush: Inrush) -> list[Row]:
    parts = [rows_of(part) for part in range(PARTS)]
    for number, rows in enumerate(parts):
        inrush.write(f"rows.tbl.{number}", text_of(rows))
    return [row for rows in parts for row in rows]


def write_package(inrush: Inrush, url: str, **more: Value) -> None:
    settings: dict[str, Value] = {"mode": "append", **more}
    flows = flow("events", "rows.tbl.*", **settings)
    inrush.write("package.toml", package(url, flows, staging=False, batch_rows=64))


def run(inrush: Inrush, fault: str | None = None) -> Outcome:
    environment = {"INRUSH_FAULT": fault} if fault else None
    return inrush("run", "package.toml", environment=environment)


def loaded(database: Database, table: str = "events") -> list[Row]:
    return database.rows(f"SELECT id, k, note FROM {table} ORDER BY id, note")


TARGETS = {
    "plain": "",
    "list": "PARTITION BY LIST (k); CREATE TABLE one PARTITION OF events FOR VALUES IN (0, 1, 2);"
    "CREATE TABLE rest PARTITION OF events DEFAULT",
    "range": "PARTITION BY RANGE (id);"
    "CREATE TABLE low PARTITION OF events FOR VALUES FROM (MINVALUE) TO (700);"
    "CREATE TABLE high PARTITION OF events FOR VALUES FROM (700) TO (MAXVALUE)",
}


@pytest.mark.parametrize("partitioning", TARGETS.values(), ids=list(TARGETS))
def test_rows_join_those_of_any_target(
    database: Database, inrush: Inrush, partitioning: str
) -> None:
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS}) {partitioning}")
    database.execute("INSERT INTO events VALUES (-1, 3, 'before')")
    write_package(inrush, database.url)
    check = inrush("check", "package.toml")
    check.expect(
        CLEAN, "written directly to it, in one transaction", "by one stream in one transaction"
    )
    report = run(inrush).expect(CLEAN).report
    assert loaded(database) == [(-1, 3, "before"), *rows]
    assert report["account"]["rows_loaded"] == len(rows)
    assert [unit["rows_counted"] for unit in report["units"]] == [len(rows)]
    # Nothing was staged.
    assert database.value(
        "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('inrush_staging')"
    ) == 0  # fmt: skip
    run(inrush).expect(CLEAN, "already loaded")
    inrush("run", "package.toml", "--again").expect(CLEAN)
    assert len(loaded(database)) == 2 * len(rows) + 1


POINTS = [
    "in_copy", "in_copy:3", "before_switch", "in_switch", "before_switch_commit",
    "switch_commit_sent", "after_switch_commit", "before_report",
]  # fmt: skip
COMMITTED = {"switch_commit_sent", "after_switch_commit", "before_report"}


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_run_again_each_row_is_there_once(
    database: Database, inrush: Inrush, point: str
) -> None:
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    died = run(inrush, point)
    assert died.status == -signal.SIGKILL, died.said
    if point not in COMMITTED:
        assert loaded(database) == []
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


def test_readers_and_writers_are_in_nobodys_way(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    with inrush.stopped_by("stop:before_switch_commit", "run", "package.toml") as running:
        assert loaded(database) == []
        database.execute("SET lock_timeout = '10s'; INSERT INTO events VALUES (-1, 3, 'beside')")
        assert loaded(database) == [(-1, 3, "beside")]
        inrush("run", "package.toml").expect(FAILED, "in progress")
        running.resume().wait().expect(CLEAN)
    assert loaded(database) == [(-1, 3, "beside"), *rows]


@pytest.mark.parametrize("point", ["in_copy:2", "before_switch", "in_switch"])
def test_a_signal_undoes_all_of_it(newest_database: Database, inrush: Inrush, point: str) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    with inrush.stopped_by(f"stop_until_asked:{point}", "run", "package.toml") as running:
        running.send(signal.SIGINT)
        stopped = running.resume().wait().expect(INTERRUPTED, "nothing is in the targets")
    assert "stays" not in stopped.said
    assert "kept" not in stopped.said
    assert stopped.report["account"]["rows_loaded"] == 0
    pauses.wait_until(database, pauses.sessions_of_inrush(database))
    assert loaded(database) == []
    inrush("status", "--to", database.url).expect(CLEAN)
    # The file may have changed, because none of its rows are in the target.
    more = (9999, 1, "more")
    inrush.write(f"rows.tbl.{PARTS}", text_of([more]))
    inrush.write("rows.tbl.0", text_of(rows_of(0)).replace("note", "NOTE"))
    run(inrush).expect(CLEAN)
    changed = [(number, key, note.replace("note", "NOTE")) for number, key, note in rows_of(0)]
    assert loaded(database) == [*changed, *rows[ROWS_OF_A_PART:], more]


def test_a_signal_ends_a_copy_whose_server_reads_no_more(
    newest_database: Database, inrush: Inrush
) -> None:
    """Half of a block was sent: the session stays usable, and can still read the ledger."""
    database = newest_database
    database.execute(f"{pauses.HELD_DOMAIN} CREATE TABLE events (id held, k int, note text)")
    rows = [(-1, 0, "first"), *((number, 0, "n" * 1000) for number in range(20_000))]
    inrush.write("rows.tbl.0", text_of(rows))
    write_package(inrush, database.url)
    with pauses.closed_gate(database), inrush.start("run", "package.toml") as running:
        pauses.wait_until_held(database)
        # The command sends until the socket is full.
        processes.wait_until_asleep(running.process.pid)
        running.send(signal.SIGINT)
        stopped = running.wait().expect(INTERRUPTED, "nothing is in the targets")
    assert "the ledger could not be read" not in "".join(stopped.report["notes"])
    assert stopped.report["account"]["rows_loaded"] == 0
    assert loaded(database) == []
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


def test_a_second_signal_says_what_is_not_known(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    with inrush.stopped_by("stop:in_copy:2", "run", "package.toml") as running:
        # The server does not answer, so the load does not stop soon after the first signal.
        of_inrush = "datname = current_database() AND application_name LIKE 'inrush%'"
        found = database.rows(f"SELECT pid FROM pg_stat_activity WHERE {of_inrush}")
        backends = [pid for (pid,) in found]
        try:
            for backend in backends:
                os.kill(backend, signal.SIGSTOP)
            running.send(signal.SIGINT)
            running.resume()
            assert running.process.stderr is not None
            assert "a second signal stops at once" in running.process.stderr.readline()
            running.send(signal.SIGINT)
            stopped = running.wait().expect(INTERRUPTED, "none of its rows are in the targets")
        finally:
            for backend in backends:
                os.kill(backend, signal.SIGCONT)
    assert "resumes" not in stopped.said
    pauses.wait_until(database, pauses.sessions_of_inrush(database))
    assert loaded(database) == []
    name = stopped.run_folders()[-1].name
    status = inrush("status", "--to", database.url).expect(CLEAN, name, "keeps the finished units")
    assert "resumes" not in status.said
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


def test_a_bad_row_among_the_last_undoes_all_of_it(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    write_rows(inrush)
    path = inrush.folder / "rows.tbl.3"
    path.write_text(path.read_text() + "x|1|bad|\n")
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    failed = run(inrush).expect(REJECT_LIMIT, f"rows.tbl.3:{ROWS_OF_A_PART + 1}")
    assert "stays" not in failed.said
    assert failed.report["account"]["rows_loaded"] == 0
    assert loaded(database) == []
    write_package(inrush, database.url, rejects={"rows_max": 1})
    rejected = run(inrush).expect(3)
    assert [(one["line"], one["file"]) for one in rejected.rejects()] == [
        (ROWS_OF_A_PART + 1, "rows.tbl.3")
    ]
    assert len(loaded(database)) == PARTS * ROWS_OF_A_PART


REFUSALS = {
    "check": "CONSTRAINT odd CHECK (k <> 99)",
    "unique": "CONSTRAINT odd UNIQUE (id)",
    "unique_at_commit": "CONSTRAINT odd UNIQUE (id) DEFERRABLE INITIALLY DEFERRED",
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=list(REFUSALS))
def test_rows_that_the_server_refuses_are_rejects(
    database: Database, inrush: Inrush, refusal: str, compressed: bool
) -> None:
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS}, {refusal})")
    database.execute("INSERT INTO events VALUES (1700, 1, 'before')")
    bad = [(3, 99, "refused"), (1700, 99, "refused")]
    if "UNIQUE" in refusal:
        # One key is already in the target and one occurs twice; the table has one row for each.
        expected = [row for row in rows if row[0] != 1700]
        refused = 3
    else:
        expected = rows
        refused = 2
    text = text_of(rows_of(2)) + text_of(bad)
    if compressed:
        (inrush.folder / "rows.tbl.2").unlink()
        path = inrush.folder / "rows.tbl.2.gz"
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        inrush.write("rows.tbl.2", text)
    write_package(inrush, database.url, rejects={"rows_max": 10})
    outcome = run(inrush).expect(3)
    assert loaded(database) == sorted([*expected, (1700, 1, "before")])
    assert len(outcome.rejects()) == refused
    assert outcome.report["account"]["rows_rejected"] == refused
    # With a lower limit of rejects the target stays unchanged.
    database.execute("DELETE FROM events WHERE id <> 1700 OR note <> 'before'")
    write_package(inrush, database.url, rejects={"rows_max": 1})
    inrush("run", "package.toml", "--again").expect(
        REJECT_LIMIT, "rows.tbl.2", "nothing was switched"
    )
    assert loaded(database) == [(1700, 1, "before")]


def two_tables(database: Database, *, deferred: str = "") -> None:
    database.execute(
        "CREATE TABLE z_parent (id int PRIMARY KEY);"
        f"CREATE TABLE a_child (id int, parent int REFERENCES z_parent {deferred})"
    )


def write_two(inrush: Inrush, url: str, **more: Value) -> None:
    inrush.write("z_parent.tbl", "1|\n2|\n3|\n")
    inrush.write("a_child.tbl", "10|1|\n11|2|\n12|3|\n")
    settings: dict[str, Value] = {"mode": "append", **more}
    flows = [flow(table, f"{table}.tbl", **settings) for table in ("a_child", "z_parent")]
    inrush.write("package.toml", package(url, *flows, staging=False))


DEFERRED = ["", "DEFERRABLE INITIALLY DEFERRED"]


@pytest.mark.parametrize("deferred", DEFERRED, ids=["at_once", "at_commit"])
def test_tables_that_refer_to_each_other_come_in_one_transaction(
    database: Database, inrush: Inrush, deferred: str
) -> None:
    two_tables(database, deferred=deferred)
    write_two(inrush, database.url, rejects={"rows_max": 1})
    died = run(inrush, "before_switch_commit")
    assert died.status == -signal.SIGKILL, died.said
    assert database.value("SELECT count(*) FROM z_parent") == 0
    run(inrush).expect(CLEAN)
    assert database.rows("SELECT * FROM a_child ORDER BY 1") == [(10, 1), (11, 2), (12, 3)]
    # A child without a parent is a reject, and the parents stay loaded once.
    inrush.write("z_parent.tbl", "4|\n")
    inrush.write("a_child.tbl", "13|4|\n14|5|\n")
    outcome = run(inrush).expect(3)
    assert [one["code"] for one in outcome.rejects()] == ["foreign_key_missing"]
    assert database.rows("SELECT * FROM a_child WHERE id > 12") == [(13, 4)]
    assert database.rows("SELECT id FROM z_parent ORDER BY 1") == [(1,), (2,), (3,), (4,)]


def test_a_circle_of_tables(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    two_tables(database, deferred="DEFERRABLE INITIALLY DEFERRED")
    database.execute(
        "ALTER TABLE a_child ADD PRIMARY KEY (id);"
        "ALTER TABLE z_parent ADD COLUMN child int REFERENCES a_child DEFERRABLE INITIALLY DEFERRED"
    )
    write_two(inrush, database.url)
    inrush.write("z_parent.tbl", "1|10|\n2|11|\n3|12|\n")
    run(inrush).expect(CLEAN)
    assert database.value("SELECT count(*) FROM z_parent JOIN a_child ON child = a_child.id") == 3
    # An error that no retry can fix rolls back everything.
    inrush.write("z_parent.tbl", "4|99|\n")
    inrush.write("a_child.tbl", "13|4|\n")
    run(inrush).expect(REJECT_LIMIT, "z_parent.tbl:1", "99")
    assert database.value("SELECT count(*) FROM z_parent") == 3
    assert database.value("SELECT count(*) FROM a_child") == 3


def test_triggers_fire_and_one_that_drops_rows_is_found(database: Database, inrush: Inrush) -> None:
    rows = write_rows(inrush)
    database.execute(
        f"CREATE TABLE events ({COLUMNS}); CREATE TABLE log (id int);"
        "CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO log VALUES (new.id); IF new.note = 'drop' THEN RETURN NULL; END IF; "
        "RETURN new; END $$;"
        "CREATE TRIGGER one BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION log_it()"
    )
    write_package(inrush, database.url)
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows
    assert database.value("SELECT count(*) FROM log") == len(rows)
    inrush.write("rows.tbl.1", "7001|1|stay|\n7002|1|drop|\n")
    inrush("run", "package.toml", "--again").expect(
        VERIFICATION, "the server counts 1 row, but 2 were sent"
    )
    assert loaded(database) == rows
    assert database.value("SELECT count(*) FROM log") == len(rows)


def test_a_published_target_statements_after_the_rows_and_undo(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(
        f"CREATE TABLE events ({COLUMNS}); CREATE TABLE counted (n bigint);"
        "CREATE PUBLICATION p FOR TABLE events"
    )
    counting = "INSERT INTO counted SELECT count(*) FROM events"
    write_package(inrush, database.url, post_sql=counting)
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows
    assert database.rows("SELECT n FROM counted") == [(len(rows),)]
    (folder,) = (inrush.folder / "runs").iterdir()
    inrush("undo", folder.name, "package.toml").expect(FAILED, "added its rows to those of")
    # A statement that fails also rolls back the rows.
    write_package(inrush, database.url, post_sql=[counting, "SELECT 1 / 0"])
    inrush("run", "package.toml", "--again").expect(FAILED, "division by zero", "post_sql")
    assert loaded(database) == rows
    assert database.rows("SELECT n FROM counted") == [(len(rows),)]


def test_a_pipe(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = rows_of(0)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    os.mkfifo(inrush.folder / "rows.tbl.0")
    write_package(inrush, database.url)
    with inrush.start("run", "package.toml") as running:
        (inrush.folder / "rows.tbl.0").write_text(text_of(rows))
        running.wait().expect(CLEAN)
    assert loaded(database) == rows


def test_a_role_that_may_only_insert(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = write_rows(inrush)
    role = f"writer_{database.name}"
    database.execute(
        f"CREATE TABLE events ({COLUMNS}); CREATE TABLE other (id int);"
        f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA public TO {role}"
    )
    inrush.write("one.csv", "id\n1\n")
    inrush("load", "one.csv", "--to", database.url, "--table", "other", "--mode", "append")
    columns = ["id", "k", "note"]
    write_package(inrush, database.url.replace("tester@", f"{role}@"), columns=columns)
    check = inrush("check", "package.toml").expect(FAILED, 'INSERT on "public"."events"')
    (grants,) = [line for line in check.errors.splitlines() if "let the owner run:" in line]
    database.execute(grants.split("let the owner run:")[1])
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


CONFLICTS = {
    "sums": ({"verify": "sums"}, "staging = false", "sums and hashes"),
    "routing": ({"routing": True}, "routing = true", "staging = false"),
}


@pytest.mark.parametrize("asked", CONFLICTS.values(), ids=list(CONFLICTS))
def test_what_needs_staging_is_refused(
    newest_database: Database, inrush: Inrush, asked: tuple[dict[str, Value], str, str]
) -> None:
    settings, *parts = asked
    write_rows(inrush)
    newest_database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, newest_database.url, **settings)
    inrush("check", "package.toml").expect(USAGE, *parts)


def test_a_target_that_does_not_exist_is_refused(newest_database: Database, inrush: Inrush) -> None:
    write_rows(inrush)
    write_package(inrush, newest_database.url, columns=["id int", "k int", "note text"])
    run(inrush).expect(FAILED, "does not exist", "staging = false")


def test_other_destinations_refuse_it(inrush: Inrush) -> None:
    write_rows(inrush)
    write_package(inrush, "x.duckdb", columns=["id int", "k int", "note text"])
    said = "this destination cannot load without staging tables, in one transaction"
    run(inrush).expect(USAGE, said, "`staging = false`")


def test_after_rows_that_are_in_a_target_split_by_split(
    newest_database: Database, inrush: Inrush
) -> None:
    """Rows of a run with `atomic = false` are neither forgotten nor loaded twice."""
    database = newest_database
    inrush.write("rows.tbl.0", text_of(rows_of(0)))
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    settings: dict[str, Value] = {"mode": "append", "atomic": False}
    splits = package(database.url, flow("events", "rows.tbl.*", **settings))
    inrush.write("package.toml", splits)
    died = run(inrush, "after_unit_commit")
    assert died.status == -signal.SIGKILL, died.said
    write_package(inrush, database.url)
    run(inrush).expect(FAILED, "the stopped run", "are not removed")
    inrush.write("package.toml", splits)
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows_of(0)


def test_preflight_predicts_it_with_one_stream(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    inrush.write("rows.tbl.0", text_of([(number, 1, "x" * 60) for number in range(50_000)]))
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    report = json.loads(inrush("preflight", "package.toml", "--json").expect(CLEAN).output)
    assert report["prediction"]["predicted_s"] > 0
    assert loaded(database) == []


def test_what_is_said_of_a_load_that_failed_is_true(
    newest_database: Database, inrush: Inrush
) -> None:
    """Whatever the ledger said before, the message truly says that no row is in the target."""
    database = newest_database
    rows = write_rows(inrush)
    database.execute(
        f"CREATE TABLE events ({COLUMNS}); CREATE TABLE locked (id int); "
        "INSERT INTO locked VALUES (1)"
    )
    nothing = "nothing is in the targets (staging = false)"
    update = "UPDATE locked SET id = 2"
    write_package(inrush, database.url, post_sql=update)
    text = (inrush.folder / "package.toml").read_text()
    inrush.write("package.toml", text.replace("[run]", "[run]\nlock_timeout_ms = 100"))
    with database.connect(autocommit=False) as connection:
        connection.execute(b"UPDATE locked SET id = 3")
        failed = run(inrush).expect(FAILED, nothing)
        assert "kept" not in failed.said
        connection.rollback()
    with database.connect(autocommit=False) as connection:
        connection.execute(b"LOCK TABLE events IN SHARE MODE")
        run(inrush).expect(FAILED, nothing)
        connection.rollback()
    # The load's session ends while a statement of the switch runs, so the rows are not committed
    # yet.
    write_package(inrush, database.url, post_sql="SELECT pg_sleep(1000)")
    of_run = "datname = current_database() AND application_name LIKE 'inrush% control'"
    asleep = f"SELECT count(*) = 1 FROM pg_stat_activity WHERE {of_run} AND query LIKE '%pg_sleep%'"
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {of_run}"
    with inrush.start("run", "package.toml") as running:
        pauses.wait_until(database, asleep)
        database.execute(end)
        failed = running.wait().expect(FAILED, nothing)
    assert "stays" not in failed.said
    assert failed.report["account"]["rows_loaded"] == 0
    write_package(inrush, database.url)
    with inrush.stopped_by("stop:in_copy:2", "run", "package.toml") as running:
        database.execute(end)
        failed = running.resume().wait().expect(FAILED, nothing)
    assert failed.report["account"]["rows_loaded"] == 0
    assert loaded(database) == []
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


def test_a_row_that_is_found_at_the_end_of_all_flows(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    two_tables(database, deferred="DEFERRABLE INITIALLY DEFERRED")
    database.execute(
        "ALTER TABLE a_child ADD PRIMARY KEY (id);"
        "ALTER TABLE z_parent ADD COLUMN child int REFERENCES a_child DEFERRABLE INITIALLY DEFERRED"
    )
    write_two(inrush, database.url, rejects={"rows_max": 5})
    inrush.write("z_parent.tbl", "1|10|\n2|11|\n3|12|\n")
    inrush.write("a_child.tbl", "10|1|\n11|2|\n12|99|\n")
    run(inrush).expect(FAILED, "only after the rows of all flows were loaded", "99")
    assert database.value("SELECT count(*) FROM a_child") == 0
    assert database.value("SELECT count(*) FROM z_parent") == 0
