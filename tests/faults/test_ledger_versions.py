"""A PostgreSQL ledger of the previous version is read unchanged, and altered by the next run."""

from __future__ import annotations

import json

import psycopg
import pytest

from harness.command import CLEAN, FAILED, Inrush
from harness.old_ledger import make_version_4
from harness.packages import Value, flow, package
from harness.servers import Database

ROWS = [(number, f"note {number}") for number in range(9)]
COMMENT = "SELECT obj_description('inrush'::regnamespace)"
COLUMNS = (
    "SELECT count(*) FROM pg_attribute WHERE attrelid = 'inrush.shard'::regclass "
    "AND attname IN ('rows_filtered', 'rows_added')"
)


def write(inrush: Inrush, url: str) -> None:
    """Write three files, and the package that loads them."""
    for part in range(3):
        own = ROWS[part * 3 : part * 3 + 3]
        inrush.write(f"rows.tbl.{part}", "".join(f"{number}|{note}|\n" for number, note in own))
    columns: list[Value] = ["id int not null", "note text"]
    of = flow("events", "rows.tbl.*", columns=columns, partition_by="id")
    inrush.write("package.toml", package(url, of, streams=1, lock_timeout_ms=100))


@pytest.fixture
def stopped(database: Database, inrush: Inrush) -> Database:
    """Return a database with a run that has one unit of three, and a ledger of version 4."""
    write(inrush, database.url)
    inrush("run", "package.toml", environment={"INRUSH_FAULT": "after_unit_commit"}).expect(-9)
    make_version_4(database)
    return database


def test_it_is_read_as_it_is_and_altered_by_a_run(stopped: Database, inrush: Inrush) -> None:
    status = json.loads(inrush("status", "package.toml", "--json").expect(CLEAN).output)
    account = status[0]["account"]
    assert account.pop("bytes_read") > 0
    assert account == {
        "rows_read": 3,
        "rows_loaded": 3,
        "rows_rejected": 0,
        "rows_skipped": 0,
        "rows_filtered": 0,
        "rows_added": 0,
    }
    checked = inrush("check", "package.toml").expect(CLEAN, "1 unit kept")
    assert "ADD COLUMN IF NOT EXISTS rows_filtered" in checked.output
    assert stopped.value(COLUMNS) == 0
    assert "version 4" in stopped.value(COMMENT)

    inrush("run", "package.toml").expect(CLEAN)
    assert stopped.rows("SELECT id, note FROM events ORDER BY id") == ROWS
    assert stopped.value(COLUMNS) == 2
    assert "version 5" in stopped.value(COMMENT)
    assert "rows_filtered" not in inrush("check", "package.toml").expect(CLEAN).output
    inrush("run", "package.toml").expect(CLEAN, "already loaded")


def test_a_stopped_run_of_it_can_be_given_up(stopped: Database, inrush: Inrush) -> None:
    inrush("cleanup", "package.toml").expect(CLEAN)
    assert stopped.value(COLUMNS) == 0
    inrush("run", "package.toml").expect(CLEAN)
    assert stopped.rows("SELECT id, note FROM events ORDER BY id") == ROWS


def test_a_run_of_it_can_be_undone(database: Database, inrush: Inrush) -> None:
    write(inrush, database.url)
    run = inrush("run", "package.toml").expect(CLEAN).report["run"]
    make_version_4(database)
    inrush("run", "package.toml").expect(CLEAN, "already loaded")
    assert database.value(COLUMNS) == 0, "a run that loads nothing alters nothing"
    inrush("undo", run, "package.toml", "--drop").expect(CLEAN)
    assert database.value("SELECT to_regclass('events')") is None


def test_a_load_that_holds_it_is_not_waited_for_without_end(
    stopped: Database, inrush: Inrush
) -> None:
    with stopped.connect() as other, other.transaction():
        other.execute("LOCK TABLE inrush.shard IN ROW EXCLUSIVE MODE")
        inrush("run", "package.toml").expect(FAILED, "lock timeout", "run.lock_timeout_ms")
        assert stopped.value(COLUMNS) == 0
        assert "version 4" in stopped.value(COMMENT)
    inrush("run", "package.toml").expect(CLEAN)
    assert stopped.rows("SELECT id, note FROM events ORDER BY id") == ROWS


def test_only_its_owner_alters_it(stopped: Database, inrush: Inrush) -> None:
    database = stopped
    owner = database.value("SELECT current_user")
    loader = f"loader_{database.name}"
    database.execute(
        f"CREATE ROLE {loader} LOGIN; "
        f"GRANT USAGE, CREATE ON SCHEMA public, inrush, inrush_staging TO {loader}; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA inrush TO {loader}"
    )
    write(inrush, database.server.url(database.name, loader))
    grant = f'GRANT "{owner}" TO "{loader}";'
    inrush("check", "package.toml").expect(FAILED, grant, "older version of Inrush")
    inrush("run", "package.toml").expect(FAILED, grant)
    assert database.value(COLUMNS) == 0
    database.execute(f"ALTER TABLE inrush.shard OWNER TO {loader}")
    inrush("check", "package.toml").expect(FAILED, grant)
    database.execute(f"ALTER SCHEMA inrush OWNER TO {loader}")
    inrush("check", "package.toml").expect(CLEAN)


def test_a_role_that_may_not_create_the_table_of_lineage_loads_without(
    database: Database, inrush: Inrush
) -> None:
    """The ledger has an earlier version, because its owner has not run this version yet."""
    write(inrush, database.url)
    inrush("run", "package.toml").expect(CLEAN)
    loader = f"loader_{database.name}"
    database.execute(
        f"DROP TABLE inrush.lineage; CREATE TABLE more (id int, note text); "
        f"CREATE ROLE {loader} LOGIN; "
        f"GRANT USAGE ON SCHEMA public, inrush TO {loader}; GRANT INSERT ON more TO {loader}; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA inrush TO {loader}"
    )
    inrush.write("more.tbl", "10|ten|\n")
    of = flow("more", "more.tbl", columns=["id", "note"], mode="append", atomic=False)
    url = database.server.url(database.name, loader)
    inrush.write("more.toml", package(url, of, name="more"))
    inrush("run", "more.toml").expect(CLEAN)
    assert database.rows("SELECT id, note FROM more") == [(10, "ten")]
    assert database.value("SELECT to_regclass('inrush.lineage')") is None
    said = inrush("lineage", "more.id", "more.toml").expect(CLEAN, "has no lineage of these runs")
    assert "more loaded" in " ".join(said.output.split())
    # The owner's next run creates the table; the role may not write into it.
    database.execute("DROP TABLE events")
    inrush("run", "package.toml").expect(CLEAN)
    assert database.value("SELECT count(*) FROM inrush.lineage") == 1
    inrush("run", "more.toml", "--again").expect(CLEAN)
    assert database.value("SELECT count(*) FROM inrush.lineage") == 1


@pytest.mark.parametrize(
    ("harm", "is_refused"),
    [
        ("rows_read = rows_read + 1", True),
        ("rows_loaded = rows_loaded - 1", True),
        ("rows_rejected = rows_rejected + 1", True),
        ("rows_skipped = rows_skipped + 1", True),
        ("rows_filtered = rows_filtered + 1", True),
        ("rows_added = rows_added + 1", True),
        ("rows_read = rows_read + 1, rows_filtered = rows_filtered + 1", False),
        ("rows_added = rows_added + 2, rows_loaded = rows_loaded + 2", False),
    ],
)
@pytest.mark.parametrize("was_altered", [False, True], ids=["made", "altered"])
def test_the_ledger_refuses_an_account_that_does_not_add_up(
    database: Database, inrush: Inrush, was_altered: bool, harm: str, is_refused: bool
) -> None:
    write(inrush, database.url)
    inrush("run", "package.toml").expect(CLEAN)
    if was_altered:
        make_version_4(database)
        database.execute("DROP TABLE events")
        inrush("run", "package.toml").expect(CLEAN)
    update = f"UPDATE inrush.shard SET {harm}"
    if not is_refused:
        database.execute(update)
        return
    with pytest.raises(psycopg.errors.CheckViolation, match="shard_account"):
        database.execute(update)
