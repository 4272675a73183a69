"""If the ledger is lost, appended files are not silently appended again."""

from __future__ import annotations

import re
import resource
import signal
import time

import pytest

from harness.command import CLEAN, FAILED, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database

COLUMNS = "id int NOT NULL, note text"
ROWS = [(number, f"note {number}") for number in range(9)]
LOSE = "DROP SCHEMA inrush CASCADE"

WAYS: dict[str, dict[str, Value]] = {
    "straight": {"atomic": False},
    "one_transaction": {},
    "switched": {},
}


def write(
    inrush: Inrush, url: str, way: str = "straight", *, streams: int = 2, **more: Value
) -> None:
    """Write three files, and the package that appends them."""
    for part in range(3):
        own = ROWS[part * 3 : part * 3 + 3]
        inrush.write(f"rows.tbl.{part}", "".join(f"{number}|{note}|\n" for number, note in own))
    settings: dict[str, Value] = {"mode": "append", **WAYS[way], **more}
    of = flow("events", "rows.tbl.*", **settings)
    text = package(url, of, staging=way != "one_transaction", streams=streams)
    inrush.write("package.toml", text)


def found(database: Database) -> list[tuple[int, str]]:
    return database.rows("SELECT id, note FROM events ORDER BY id")


@pytest.mark.parametrize("way", WAYS)
def test_the_same_command_is_refused(database: Database, inrush: Inrush, way: str) -> None:
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url, way)
    inrush("run", "package.toml").expect(CLEAN)
    (run,) = database.rows("SELECT name FROM inrush.run")
    database.execute(LOSE)
    for command in ("check", "run"):
        refused = inrush(command, "package.toml")
        refused.expect(FAILED, "events", "rows.tbl.", run[0], "schema inrush", "--again")
    assert found(database) == ROWS
    # `--again` loads them twice; from then on only the ledger counts.
    inrush("run", "package.toml", "--again").expect(CLEAN)
    assert found(database) == sorted(ROWS * 2)
    inrush("run", "package.toml").expect(CLEAN, "already loaded")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "lost", ["DELETE FROM events", f"DROP TABLE events; CREATE TABLE events ({COLUMNS})"]
)
def test_rows_that_were_deleted_come_again_and_a_note_says_so(
    database: Database, inrush: Inrush, way: str, lost: str
) -> None:
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url, way)
    said = "no longer has the rows that an earlier run loaded"
    assert said not in inrush("run", "package.toml").expect(CLEAN).said
    inrush("run", "package.toml").expect(CLEAN, "already loaded")
    database.execute(lost)
    for command in ("check", "run"):
        inrush(command, "package.toml").expect(CLEAN, said)
    assert found(database) == ROWS
    inrush("run", "package.toml").expect(CLEAN, "already loaded")


def test_a_stopped_run_is_refused_too(database: Database, inrush: Inrush) -> None:
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    # With a second stream, another unit may be committed while the process dies.
    write(inrush, database.url, streams=1)
    died = inrush("run", "package.toml", environment={"INRUSH_FAULT": "after_unit_commit:2"})
    assert died.status == -signal.SIGKILL, died.said
    partly = found(database)
    assert partly
    database.execute(LOSE)
    inrush("run", "package.toml").expect(FAILED, "does not know")
    assert found(database) == partly


def test_a_role_that_may_only_insert(database: Database, inrush: Inrush) -> None:
    role = f"writer_{database.name}"
    database.execute(
        f"CREATE TABLE events ({COLUMNS}); CREATE ROLE {role} LOGIN;"
        f"GRANT USAGE ON SCHEMA public TO {role}; GRANT INSERT ON events TO {role};"
        f"GRANT CREATE ON DATABASE {database.name} TO {role}"
    )
    url = database.url.replace("tester@", f"{role}@")
    write(inrush, url, columns=["id", "note"])
    inrush("run", "package.toml").expect(CLEAN)
    database.execute(LOSE)
    inrush("run", "package.toml").expect(FAILED, "does not know")
    assert found(database) == ROWS


def test_other_files_and_other_tables_are_loaded(database: Database, inrush: Inrush) -> None:
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url)
    inrush("run", "package.toml").expect(CLEAN)
    database.execute(LOSE)
    # Other files come, as in the next night.
    for path in inrush.folder.glob("rows.tbl.*"):
        path.unlink()
    inrush.write("rows.tbl.9", "9|note 9|\n")
    inrush("run", "package.toml").expect(CLEAN)
    assert found(database) == [*ROWS, (9, "note 9")]
    # An empty table cannot get rows twice, and neither can a new one.
    write(inrush, database.url)
    for statement in ("TRUNCATE events", f"DROP TABLE events; CREATE TABLE events ({COLUMNS})"):
        database.execute(f"{LOSE}; {statement}; INSERT INTO events SELECT -1, 'x' WHERE false")
        inrush("run", "package.toml").expect(CLEAN)
        assert found(database) == [*ROWS, (9, "note 9")]


def test_the_mark_that_is_named_can_be_removed(database: Database, inrush: Inrush) -> None:
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url, "switched")
    inrush("run", "package.toml").expect(CLEAN)
    database.execute(f"{LOSE}; DELETE FROM events WHERE id > 3")
    refused = inrush("run", "package.toml").expect(FAILED)
    (statement,) = re.findall(r"SELECT lo_unlink\(\d+\)", refused.errors)
    database.execute(f"{statement}; DELETE FROM events")
    inrush("run", "package.toml").expect(CLEAN)
    assert found(database) == ROWS


def test_undone_rows_may_come_again(database: Database, inrush: Inrush) -> None:
    database.execute(
        f"CREATE TABLE events ({COLUMNS}) PARTITION BY RANGE (id);"
        "CREATE TABLE before PARTITION OF events FOR VALUES FROM (-9) TO (0);"
        "INSERT INTO events VALUES (-1, 'before')"
    )
    write(inrush, database.url, "switched")
    inrush("run", "package.toml").expect(CLEAN)
    (run,) = database.rows("SELECT name FROM inrush.run")
    inrush("undo", run[0], "package.toml", "--drop").expect(CLEAN)
    database.execute(LOSE)
    inrush("run", "package.toml").expect(CLEAN)
    assert found(database) == [(-1, "before"), *ROWS]


def test_marks_do_not_pile_up_with_attempts(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url)
    for point in ("after_unit_commit:1", "after_unit_commit:1", "before_switch"):
        died = inrush("run", "package.toml", environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
    inrush("run", "package.toml").expect(CLEAN)
    assert database.value("SELECT count(*) FROM pg_largeobject_metadata") == 1
    # A role that dumps the database may read the table, whose text explains itself.
    assert database.value("SELECT length(lo_get(oid)) FROM pg_largeobject_metadata") == 0
    comment = "SELECT obj_description(oid, 'pg_largeobject') FROM pg_largeobject_metadata"
    assert "Inrush run" in str(database.value(comment))


def test_marks_of_many_files_stay_small(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url)
    inrush("run", "package.toml").expect(CLEAN)
    # Records of 490 earlier runs with 10,000 files each.
    database.execute(
        """
        DO $$
        DECLARE
          head text[]; keys text; made oid;
        BEGIN
          SELECT string_to_array(obj_description(oid, 'pg_largeobject'), ' ') INTO head
          FROM pg_largeobject_metadata;
          SELECT string_agg(substr(md5(n::text), 1, 16), ',') INTO keys
          FROM generate_series(1, 10000) n;
          FOR run IN 1..490 LOOP
            made := lo_create(0);
            EXECUTE format('COMMENT ON LARGE OBJECT %s IS %L', made, concat_ws(
              ' ', 'inrush mark', head[3], head[4], lpad(run::text, 16, '0'), 'old' || run, keys));
          END LOOP;
        END $$
        """
    )
    marks = "FROM pg_description WHERE classoid = 'pg_largeobject'::regclass"
    assert database.value(f"SELECT sum(octet_length(description)) > 80000000 {marks}") is True
    for path in inrush.folder.glob("rows.tbl.*"):
        path.unlink()
    inrush.write("rows.tbl.9", "9|note 9|\n")
    began = time.monotonic()
    inrush("run", "package.toml").expect(CLEAN)
    took_s = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"a row loaded beside 490 marks of 10,000 files in {took_s:.2f} s, {peak} MiB at most")
    assert database.value(f"SELECT sum(octet_length(description)) <= 1048576 {marks}") is True
    # The records of the newest runs are kept.
    database.execute(LOSE)
    inrush("run", "package.toml").expect(FAILED, "does not know")


def test_a_mark_of_many_files_tells_of_the_same_ones(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    database.execute(f"CREATE TABLE events ({COLUMNS})")
    write(inrush, database.url)
    for number in range(9, 1_109):
        inrush.write(f"rows.tbl.{number}", f"{number}|more|\n")
    inrush("run", "package.toml").expect(CLEAN)
    length = "SELECT octet_length(obj_description(oid, 'pg_largeobject')) "
    assert int(str(database.value(length + "FROM pg_largeobject_metadata"))) < 17_700
    database.execute(LOSE)
    for path in list(inrush.folder.glob("rows.tbl.*"))[::2]:
        path.unlink()
    inrush("run", "package.toml").expect(FAILED, "does not know")
