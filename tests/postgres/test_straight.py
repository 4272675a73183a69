"""Loading directly into the target (`atomic = false`): each row appears early and exactly once."""

from __future__ import annotations

import os
import signal

import pytest

from harness.command import CLEAN, FAILED, REJECT_LIMIT, VERIFICATION, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database

PARTS = 4
ROWS_OF_A_PART = 500
COLUMNS = "id int NOT NULL, k int NOT NULL, note text"


def write_rows(inrush: Inrush) -> list[tuple[int, int, str]]:
    rows = []
    for part in range(PARTS):
        numbers = range(part * ROWS_OF_A_PART, (part + 1) * ROWS_OF_A_PART)
        own = [(number, number % 7, f"note {number}") for number in numbers]
        lines = "".join(f"{number}|{key}|{note}|\n" for number, key, note in own)
        inrush.write(f"rows.tbl.{part}", lines)
        rows += own
    return rows


def write_package(inrush: Inrush, url: str, **more: Value) -> None:
    settings: dict[str, Value] = {"mode": "append", "atomic": False, **more}
    inrush.write("package.toml", package(url, flow("events", "rows.tbl.*", **settings)))


def run(inrush: Inrush, fault: str | None = None) -> Outcome:
    environment = {"INRUSH_FAULT": fault} if fault else None
    return inrush("run", "package.toml", environment=environment)


def loaded(database: Database) -> list[tuple[int, int, str]]:
    return database.rows("SELECT id, k, note FROM events ORDER BY id, note")


TARGETS = {
    "plain": "",
    "list": "PARTITION BY LIST (k); CREATE TABLE one PARTITION OF events FOR VALUES IN (0, 1, 2);"
    "CREATE TABLE rest PARTITION OF events DEFAULT",
    "hash": "PARTITION BY HASH (id);"
    "CREATE TABLE h0 PARTITION OF events FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
    "CREATE TABLE h1 PARTITION OF events FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
}


@pytest.mark.parametrize("partitioning", TARGETS.values(), ids=list(TARGETS))
def test_rows_join_those_of_any_target(
    database: Database, inrush: Inrush, partitioning: str
) -> None:
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS}) {partitioning}")
    database.execute("INSERT INTO events VALUES (-1, 3, 'before')")
    write_package(inrush, database.url)
    inrush("check", "package.toml").expect(CLEAN, "directly to it", "rows are written directly to")
    run(inrush).expect(CLEAN)
    assert loaded(database) == [(-1, 3, "before"), *rows]
    run(inrush).expect(CLEAN, "already loaded")
    assert len(loaded(database)) == len(rows) + 1
    inrush("run", "package.toml", "--again").expect(CLEAN)
    assert len(loaded(database)) == 2 * len(rows) + 1


POINTS = [
    "in_copy", "in_copy:3", "before_unit_commit", "before_unit_commit:3", "unit_commit_sent",
    "unit_commit_sent:4", "after_unit_commit", "after_unit_commit:3", "before_switch",
    "in_switch", "before_switch_commit", "switch_commit_sent", "after_switch_commit",
    "before_report",
]  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_run_again_each_row_is_there_once(
    database: Database, inrush: Inrush, point: str
) -> None:
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    died = run(inrush, point)
    assert died.status == -signal.SIGKILL, died.said
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


@pytest.mark.parametrize("point", ["in_copy:30", "before_unit_commit:2", "after_unit_commit:2"])
def test_a_large_file_goes_on_with_the_ranges_that_lack(
    newest_database: Database, inrush: Inrush, point: str
) -> None:
    # Three ranges of 8 MiB, of few rows that are long.
    count = 38_000
    filler = "x" * 600
    lines = (f"{number}|{number % 7}|{filler} {number}|\n" for number in range(count))
    inrush.write("rows.tbl.0", "".join(lines))
    newest_database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, newest_database.url)
    died = run(inrush, point)
    assert died.status == -signal.SIGKILL, died.said
    report = run(inrush).expect(CLEAN).report
    assert report["account"]["rows_loaded"] == count
    assert newest_database.rows(
        "SELECT count(*), count(DISTINCT id), sum(id), "
        f"count(*) FILTER (WHERE k <> id % 7 OR note <> '{filler} ' || id) FROM events"
    ) == [(count, count, count * (count - 1) // 2, 0)]


def test_a_role_that_may_only_insert(database: Database, inrush: Inrush) -> None:
    rows = write_rows(inrush)
    role = f"writer_{database.name}"
    database.execute(
        f"CREATE TABLE events ({COLUMNS}, seen timestamptz DEFAULT now());"
        f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA public TO {role}"
    )
    url = database.url.replace("tester@", f"{role}@")
    assert role in url
    columns = ["id", "k", "note"]
    # The owner creates the ledger by loading something first.
    write_package(inrush, database.url, columns=columns)
    inrush.write("rows.tbl.9", "")
    text = (inrush.folder / "package.toml").read_text().replace("rows.tbl.*", "rows.tbl.9")
    inrush.write("set_up.toml", text.replace('"test"', '"set_up"'))
    inrush("run", "set_up.toml").expect(CLEAN)
    (inrush.folder / "rows.tbl.9").unlink()

    write_package(inrush, url, columns=columns)
    check = inrush("check", "package.toml").expect(
        FAILED, 'INSERT on "public"."events"', 'schema "inrush"', "GRANT"
    )
    (grants,) = [line for line in check.errors.splitlines() if "let the owner run:" in line]
    database.execute(grants.split("let the owner run:")[1])
    inrush("check", "package.toml").expect(CLEAN)
    died = run(inrush, "after_unit_commit:2")
    assert died.status == -signal.SIGKILL, died.said
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows
    run(inrush).expect(CLEAN, "already loaded")
    assert database.value(
        f"SELECT has_table_privilege('{role}', 'events', 'SELECT')"
    ) is False  # fmt: skip


def test_a_file_that_changed_after_a_stop_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url, columns=["id", "k", "note"])
    text = (inrush.folder / "package.toml").read_text()
    inrush.write("package.toml", text.replace("streams = 2", "streams = 1"))
    run(inrush, "after_unit_commit:2")
    (count,) = database.rows("SELECT count(*) FROM events")
    begun = int(database.value("SELECT min(id) FROM events")) // ROWS_OF_A_PART
    changed = inrush.folder / f"rows.tbl.{begun}"
    status, text = changed.stat(), changed.read_text()
    # First a different file of the same length, then one that also has the same time.
    changed.write_text(text.replace("note", "NOTE"))
    run(inrush).expect(FAILED, changed.name, "are not removed", "inrush cleanup --run")
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns))
    run(inrush).expect(FAILED, changed.name, "are not removed", "inrush cleanup --run")
    words = ("--to", database.url)
    inrush("status", *words).expect(CLEAN, "in the targets already")
    outcome = inrush("cleanup", *words).expect(CLEAN, "left alone")
    name = outcome.said.split("left alone: run ")[1].split()[0]
    run(inrush).expect(FAILED, changed.name)
    # With the old file the rest can be loaded, or the user can abandon the run by name.
    changed.write_text(text)
    inrush("check", "package.toml").expect(CLEAN, "units kept")
    inrush("cleanup", *words, "--run", name).expect(CLEAN, "stay there")
    assert database.rows("SELECT count(*) FROM events") == [count]
    assert database.value("SELECT count(*) FROM inrush.run WHERE state = 'loading'") == 0


def test_a_file_that_was_not_begun_may_change(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    text = (inrush.folder / "package.toml").read_text()
    inrush.write("package.toml", text.replace("streams = 2", "streams = 1"))
    run(inrush, "after_unit_commit:1")
    done = database.value("SELECT min(id) FROM events")
    left = (int(done) // ROWS_OF_A_PART + 1) % PARTS
    path = inrush.folder / f"rows.tbl.{left}"
    path.write_text(path.read_text() + "9999|1|more|\n")
    run(inrush).expect(CLEAN)
    assert loaded(database) == [*rows, (9999, 1, "more")]


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
    inrush.write("rows.tbl.9", "7001|1|stay|\n7002|1|drop|\n")
    text = (inrush.folder / "package.toml").read_text().replace("rows.tbl.*", "rows.tbl.9")
    inrush.write("package.toml", text)
    run(inrush).expect(VERIFICATION, "the server counts 1 row, but 2 were sent")
    assert loaded(database) == rows


def test_too_many_rejects_say_what_stays(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = write_rows(inrush)
    (inrush.folder / "rows.tbl.3").write_text("x|1|bad|\n")
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    text = (inrush.folder / "package.toml").read_text()
    inrush.write("package.toml", text.replace("streams = 2", "streams = 1"))
    # The smallest file is the last one.
    run(inrush).expect(REJECT_LIMIT, "rows.tbl.3:1", "stays: 1,500 rows were written directly to")
    inrush.write("package.toml", text.replace("atomic", "rejects = { rows_max = 1 }\natomic"))
    run(inrush).expect(3)
    assert loaded(database) == rows[:1500]


def test_a_published_target_and_undo(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS}); CREATE PUBLICATION p FOR TABLE events")
    write_package(inrush, database.url)
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows
    (folder,) = (inrush.folder / "runs").iterdir()
    inrush("undo", folder.name, "package.toml").expect(FAILED, "added its rows to those of")


def test_a_target_that_does_not_exist_is_refused(newest_database: Database, inrush: Inrush) -> None:
    write_rows(inrush)
    write_package(inrush, newest_database.url, columns=["id int", "k int", "note text"])
    run(inrush).expect(FAILED, "does not exist", "atomic = false")


OTHER_TABLES = {
    "dropped": "DROP TABLE events",
    "renamed": "ALTER TABLE events RENAME TO events_of_before",
}


@pytest.mark.parametrize("away", OTHER_TABLES.values(), ids=list(OTHER_TABLES))
def test_a_target_that_is_another_table_after_a_stop_is_refused(
    database: Database, inrush: Inrush, away: str
) -> None:
    """The table that now has this name lacks the rows of the first attempt."""
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    died = run(inrush, "after_unit_commit:2")
    assert died.status == -signal.SIGKILL, died.said
    database.execute(f"{away}; CREATE TABLE events ({COLUMNS})")
    outcome = run(inrush).expect(FAILED, "events", "is not the table", "inrush cleanup --run")
    assert database.value("SELECT count(*) FROM events") == 0
    if "RENAME" in away:
        database.execute("DROP TABLE events; ALTER TABLE events_of_before RENAME TO events")
        run(inrush).expect(CLEAN)
    else:
        name = outcome.said.split("inrush cleanup --run ")[1].split()[0]
        inrush("cleanup", "--to", database.url, "--run", name).expect(CLEAN)
        run(inrush).expect(CLEAN)
    assert loaded(database) == rows


def test_a_target_that_is_renamed_between_two_splits(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    # The load has one stream, because a second stream could be stopped before its COMMIT and would
    # then hold a lock on the table.
    settings: dict[str, Value] = {"mode": "append", "atomic": False}
    one_stream = package(database.url, flow("events", "rows.tbl.*", **settings), streams=1)
    inrush.write("package.toml", one_stream)
    with inrush.stopped_by("stop:after_unit_commit:2", "run", "package.toml") as running:
        database.execute(
            "SET lock_timeout = '10s'; ALTER TABLE events RENAME TO events_of_before;"
            f"CREATE TABLE events ({COLUMNS})"
        )
        running.resume().wait().expect(
            FAILED, "this is not the table that this run wrote rows to", "cleanup --run"
        )
    assert database.value("SELECT count(*) FROM events") == 0
    database.execute("DROP TABLE events; ALTER TABLE events_of_before RENAME TO events")
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows


def test_rows_that_somebody_took_out_after_a_stop_are_told_of(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    rows = write_rows(inrush)
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write_package(inrush, database.url)
    run(inrush, "after_unit_commit:2")
    database.execute("TRUNCATE events")
    run(inrush).expect(CLEAN, "is empty, but the stopped run", "deleted them")
    assert 0 < len(loaded(database)) < len(rows)
