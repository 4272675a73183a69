"""Replacing a plain table: by a swap, or row by row."""

from __future__ import annotations

import signal

import pytest

from harness.command import CLEAN, FAILED, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.watcher import Watcher

ROWS = [(n, f"new {n}") for n in range(300)]
OLD = [(n, f"old {n}") for n in range(1000, 1100)]


def make_target(database: Database) -> str:
    """Make a table with every property that a new table must get, and a role that may read it."""
    role = f"reader_{database.name}"
    database.execute(
        f"CREATE ROLE {role}; CREATE ROLE owner_{database.name};"
        "CREATE TABLE people (id int NOT NULL, note text DEFAULT 'none', "
        "twice int GENERATED ALWAYS AS (id * 2) STORED, CONSTRAINT people_key PRIMARY KEY (id), "
        "CONSTRAINT positive CHECK (id >= 0)) WITH (fillfactor = 70, autovacuum_enabled = false);"
        'CREATE UNIQUE INDEX "odd index" ON people (lower(note), id);'
        "COMMENT ON TABLE people IS 'all of them'; COMMENT ON COLUMN people.id IS 'a number';"
        "COMMENT ON INDEX people_key IS 'the key'; COMMENT ON CONSTRAINT positive ON people IS 'p';"
        "ALTER TABLE people ALTER note SET STORAGE MAIN;"
        "ALTER TABLE people REPLICA IDENTITY USING INDEX people_key;"
        "ALTER TABLE people ALTER note SET STATISTICS 77, ALTER id SET (n_distinct = -0.5);"
        f"ALTER TABLE people CLUSTER ON people_key; GRANT SELECT ON people TO {role};"
        f"GRANT UPDATE (note) ON people TO {role} WITH GRANT OPTION;"
        "INSERT INTO people SELECT n, 'old ' || n FROM generate_series(1000, 1099) n;"
        f"ALTER TABLE people OWNER TO owner_{database.name}"
    )
    return role


DRESS = """
    SELECT c.relkind::text, c.relpersistence::text, c.reloptions::text, c.relreplident::text,
           pg_get_userbyid(c.relowner)::text, c.relacl::text, obj_description(c.oid, 'pg_class'),
           (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull,
                              attstorage, attacl, attstattarget, attgenerated,
                              (SELECT string_agg(o, ',') FROM unnest(attoptions) o
                               WHERE NOT starts_with(o, 'pg_')),  -- the server's own
                              col_description(c.oid, attnum)), ';' ORDER BY attnum)
            FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
           (SELECT string_agg(conname || pg_get_constraintdef(oid)
                              || coalesce(obj_description(oid, 'pg_constraint'), ''), ';'
                              ORDER BY conname)
            FROM pg_constraint WHERE conrelid = c.oid),
           (SELECT string_agg(concat_ws(' ', pg_get_indexdef(indexrelid), indisclustered,
                              indisreplident, obj_description(indexrelid, 'pg_class')), ';'
                              ORDER BY pg_get_indexdef(indexrelid))
            FROM pg_index WHERE indrelid = c.oid)
    FROM pg_class c WHERE c.oid = 'people'::regclass
"""


def write_package(inrush: Inrush, database: Database, **more: Value) -> None:
    lines = "".join(f"{number}|{note}|\n" for number, note in ROWS)
    inrush.write("rows.tbl", lines)
    settings: dict[str, Value] = {"mode": "replace", "columns": ["id", "note"], **more}
    inrush.write("package.toml", package(database.url, flow("people", "rows.tbl", **settings)))


def run(inrush: Inrush, *words: str) -> Outcome:
    return inrush("run", "package.toml", *words)


def newest_run(inrush: Inrush) -> str:
    folders = (inrush.folder / "runs").iterdir()
    return max(folders, key=lambda path: path.stat().st_mtime_ns).name


def loaded(database: Database) -> list[tuple[int, str]]:
    return database.rows("SELECT id, note FROM people ORDER BY id")


def test_the_new_table_cannot_be_told_from_the_old_one(database: Database, inrush: Inrush) -> None:
    make_target(database)
    # Default privileges that new tables get, and that the old table did not have.
    database.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    before = database.rows(DRESS)
    write_package(inrush, database, replace={"keep": True})
    inrush("check", "package.toml").expect(CLEAN, "replaces the table itself", "kept as")
    run(inrush).expect(CLEAN)
    assert loaded(database) == ROWS
    assert database.rows(DRESS) == before
    run(inrush).expect(CLEAN, "already loaded")
    # Load again while the last table is kept; then undo exactly one load.
    run(inrush, "--again").expect(CLEAN)
    undo = ("undo", newest_run(inrush), "package.toml")
    inrush(*undo).expect(CLEAN, "put back")
    assert loaded(database) == ROWS
    assert database.rows(DRESS) == before


def test_undo_of_a_swap(database: Database, inrush: Inrush) -> None:
    make_target(database)
    before = database.rows(DRESS)
    write_package(inrush, database, replace={"keep": "people_before"})
    watcher = Watcher(database, "people")
    old = watcher.now()
    with watcher:
        run(inrush).expect(CLEAN)
        new = watcher.now()
        inrush("undo", newest_run(inrush), "package.toml", "--drop").expect(CLEAN)
    assert watcher.seen <= {old, new}, watcher.seen
    assert loaded(database) == OLD
    assert database.rows(DRESS) == before


POINTS = ["in_switch", "before_switch_commit", "switch_commit_sent", "after_switch_commit"]


@pytest.mark.parametrize("by", ["swap", "rows"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_around_the_switch_readers_see_old_or_new(
    database: Database, inrush: Inrush, point: str, by: str
) -> None:
    make_target(database)
    write_package(inrush, database, replace={"by": by})
    watcher = Watcher(database, "people")
    old = watcher.now()
    with watcher:
        died = inrush("run", "package.toml", environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
        run(inrush).expect(CLEAN)
    assert loaded(database) == ROWS
    assert watcher.seen <= {old, watcher.now()}, watcher.seen


OBSTACLES = {
    "view": ("CREATE VIEW reading AS SELECT * FROM people", "view public.reading"),
    "foreign key to it": (
        "CREATE TABLE items (id int REFERENCES people)", "items_id_fkey of public.items"),
    "foreign key from it": (
        "CREATE TABLE kinds (id int PRIMARY KEY); "
        "ALTER TABLE people ADD kind int REFERENCES kinds", "foreign key people_kind_fkey"),
    "trigger": (
        "CREATE TRIGGER look BEFORE UPDATE ON people FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()", "trigger look"),
    "identity": (
        "ALTER TABLE people ADD nr int GENERATED BY DEFAULT AS IDENTITY", "people_nr_seq"),
    "child": ("CREATE TABLE child () INHERITS (people)", "public.child"),
    "function": (
        "CREATE FUNCTION names(people) RETURNS text LANGUAGE sql AS 'SELECT 1::text'", "names"),
    "rule": ("CREATE RULE quiet AS ON DELETE TO people DO ALSO NOTHING", "rule quiet"),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "said"), OBSTACLES.values(), ids=list(OBSTACLES))
def test_what_a_swap_would_lose_is_named_and_rows_can_be_replaced(
    newest_database: Database, inrush: Inrush, statement: str, said: str
) -> None:
    database = newest_database
    make_target(database)
    database.execute(statement)
    write_package(inrush, database)
    run(inrush).expect(FAILED, "cannot be replaced by a new table", said, 'by = "rows"')
    assert loaded(database)[-100:] == OLD
    write_package(inrush, database, replace={"by": "rows"})
    run(inrush).expect(CLEAN)
    assert loaded(database) == ROWS
    run(inrush).expect(CLEAN, "already loaded")
    inrush("undo", newest_run(inrush), "package.toml").expect(FAILED, "cannot be undone")


def test_rows_of_other_tables_do_not_go_with_them(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    make_target(database)
    database.execute("CREATE TABLE items (id int REFERENCES people ON DELETE CASCADE)")
    write_package(inrush, database, replace={"by": "rows"})
    run(inrush).expect(FAILED, "rows of other tables", "items_id_fkey")
    assert loaded(database) == OLD


def test_a_reader_with_an_older_snapshot_goes_on(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    make_target(database)
    write_package(inrush, database, replace={"by": "rows"})
    with database.connect() as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM people")
        run(inrush).expect(CLEAN)
        assert reader.execute("SELECT id, note FROM people ORDER BY id").fetchall() == OLD
        reader.execute("ROLLBACK")
    assert loaded(database) == ROWS


def test_a_trigger_that_keeps_rows_is_found(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    make_target(database)
    database.execute(
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF old.id = 1007 THEN RETURN NULL; END IF; RETURN old; END $$;"
        "CREATE TRIGGER keep BEFORE DELETE ON people FOR EACH ROW EXECUTE FUNCTION keep()"
    )
    write_package(inrush, database, replace={"by": "rows"})
    run(inrush).expect(FAILED, "still has rows")
    assert loaded(database) == OLD
