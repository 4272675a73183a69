"""The load respects each property of the target, or refuses the target with the reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database, own_by_server


def write_parts(inrush: Inrush, name: str, parts: list[list[str]]) -> None:
    """Write files of these rows, `name.tbl.1` and so on."""
    for number, rows in enumerate(parts, 1):
        inrush.write(f"{name}.tbl.{number}", "".join(f"{row}|\n" for row in rows))


def load(
    database: Database, inrush: Inrush, *, columns: list[str], mode: str = "append", **more: Value
) -> str:
    text = package(database.url, flow("loaded", "rows.tbl.*", columns=columns, mode=mode, **more))
    return str(inrush.write("package.toml", text))


def test_the_sequence_of_a_partitioned_target_numbers_rows(
    database: Database, inrush: Inrush
) -> None:
    database.execute(
        "CREATE TABLE loaded (id bigint GENERATED ALWAYS AS IDENTITY (START 100), "
        "k int NOT NULL) PARTITION BY RANGE (k)"
        if database.server.version >= 17
        else "CREATE TABLE loaded (id bigserial, k int NOT NULL) PARTITION BY RANGE (k);"
        "ALTER SEQUENCE loaded_id_seq RESTART 100"
    )
    write_parts(inrush, "rows", [["1", "2"], ["3"]])
    inrush("run", load(database, inrush, columns=["k"])).expect(CLEAN)
    rows = database.rows("SELECT id, k FROM loaded")
    assert sorted(id for id, _ in rows) == [100, 101, 102]
    assert sorted(k for _, k in rows) == [1, 2, 3]
    # Later rows continue the sequence, and no partition has its own.
    database.execute("INSERT INTO loaded (k) VALUES (1)")
    assert database.value("SELECT max(id) FROM loaded") == 103


def test_partitions_are_stored_where_their_parent_says(
    newest_database: Database, inrush: Inrush, servers_folder: Path
) -> None:
    place = servers_folder / f"space-{newest_database.name}"
    place.mkdir()
    own_by_server(place)
    newest_database.execute(f"CREATE TABLESPACE space_{newest_database.name} LOCATION '{place}'")
    space = f"space_{newest_database.name}"
    try:
        newest_database.execute(
            f"CREATE TABLE loaded (k int NOT NULL) PARTITION BY RANGE (k) TABLESPACE {space}"
        )
        newest_database.execute(f"CREATE INDEX by_k ON loaded (k) TABLESPACE {space}")
        write_parts(inrush, "rows", [["1", "2"], ["3"]])
        inrush("run", load(newest_database, inrush, columns=["k"])).expect(CLEAN)
        assert newest_database.rows(
            "SELECT DISTINCT c.relkind, t.spcname::text FROM pg_class c "
            "JOIN pg_tablespace t ON t.oid = c.reltablespace "
            "WHERE c.oid IN (SELECT inhrelid FROM pg_inherits) ORDER BY 1"
        ) == [("i", space), ("r", space)]
    finally:
        newest_database.execute("DROP TABLE IF EXISTS loaded")
        newest_database.execute(f"DROP TABLESPACE {space}")
        shutil.rmtree(place)


@pytest.mark.parametrize("partitioned", [True, False])
def test_default_privileges_of_the_schema_are_granted(
    newest_database: Database, inrush: Inrush, partitioned: bool
) -> None:
    role = f"reader_{newest_database.name}"
    newest_database.execute(f'CREATE ROLE "{role}"')
    newest_database.execute(
        f'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO "{role}"'
    )
    try:
        write_parts(inrush, "rows", [["1", "2"], ["3"]])
        partition: dict[str, Value] = {"partition_by": "k"} if partitioned else {}
        path = load(
            newest_database,
            inrush,
            columns=["k int"],
            mode="create",
            **partition,
        )
        inrush("run", path).expect(CLEAN)
        assert newest_database.rows(
            f"SELECT DISTINCT has_table_privilege('{role}', oid, 'SELECT'), "
            f"has_table_privilege('{role}', oid, 'INSERT') FROM pg_class "
            "WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
        ) == [(True, False)]
    finally:
        newest_database.execute(f'DROP OWNED BY "{role}"')
        newest_database.execute(f'DROP ROLE "{role}"')


def test_a_full_replica_identity_is_that_of_new_partitions(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(
        "CREATE TABLE loaded (k int NOT NULL) PARTITION BY RANGE (k);"
        "ALTER TABLE loaded REPLICA IDENTITY FULL"
    )
    write_parts(inrush, "rows", [["1", "2"]])
    inrush("run", load(newest_database, inrush, columns=["k"])).expect(CLEAN)
    assert newest_database.rows(
        "SELECT DISTINCT relreplident FROM pg_class WHERE relispartition"
    ) == [("f",)]


UPPER = (
    "CREATE FUNCTION upper_note() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN NEW.note := upper(NEW.note); RETURN NEW; END$$;"
)
TRIGGER = (
    "CREATE TRIGGER upper_note BEFORE INSERT ON loaded FOR EACH ROW EXECUTE FUNCTION upper_note()"
)


def test_triggers_of_a_partitioned_target_are_not_left_out_silently(
    database: Database, inrush: Inrush
) -> None:
    database.execute(
        "CREATE TABLE loaded (k int NOT NULL, note text) PARTITION BY RANGE (k);" + UPPER + TRIGGER
    )
    write_parts(inrush, "rows", [["1|a", "2|b"]])
    columns = ["k", "note"]
    inrush("run", load(database, inrush, columns=columns)).expect(
        FAILED, "has INSERT triggers (upper_note)", 'triggers = "skip"'
    )
    inrush("run", load(database, inrush, columns=columns, triggers="skip")).expect(CLEAN)
    assert database.rows("SELECT k, note FROM loaded ORDER BY k") == [(1, "a"), (2, "b")]


def test_triggers_of_a_plain_target_fire(database: Database, inrush: Inrush) -> None:
    database.execute("CREATE TABLE loaded (k int NOT NULL, note text);" + UPPER + TRIGGER)
    write_parts(inrush, "rows", [["1|a", "2|b"]])
    columns = ["k", "note"]
    inrush("run", load(database, inrush, columns=columns, triggers="skip")).expect(
        FAILED, "where INSERT triggers fire (upper_note)", "DISABLE TRIGGER"
    )
    inrush("run", load(database, inrush, columns=columns)).expect(CLEAN)
    assert database.rows("SELECT k, note FROM loaded ORDER BY k") == [(1, "A"), (2, "B")]


def test_a_trigger_that_is_disabled_is_none(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(
        "CREATE TABLE loaded (k int NOT NULL, note text) PARTITION BY RANGE (k);"
        + UPPER
        + TRIGGER
        + ";ALTER TABLE loaded DISABLE TRIGGER upper_note"
    )
    write_parts(inrush, "rows", [["1|a"]])
    inrush("run", load(newest_database, inrush, columns=["k", "note"])).expect(CLEAN)


def test_a_rule_on_insert_is_refused(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(
        "CREATE TABLE loaded (k int NOT NULL);"
        "CREATE RULE nothing AS ON INSERT TO loaded DO INSTEAD NOTHING"
    )
    write_parts(inrush, "rows", [["1"]])
    path = load(newest_database, inrush, columns=["k"])
    inrush("run", path).expect(FAILED, 'has the rule "nothing" on INSERT', "DISABLE RULE")
    newest_database.execute("ALTER TABLE loaded DISABLE RULE nothing")
    inrush("run", path).expect(CLEAN)
    assert newest_database.rows("SELECT k FROM loaded") == [(1,)]


def test_indexes_are_dropped_and_built_again(database: Database, inrush: Inrush) -> None:
    database.execute(
        "CREATE TABLE loaded (k int PRIMARY KEY, note text);"
        'CREATE INDEX "by ""note""" ON loaded (note) WHERE k > 1;'
        "CREATE INDEX by_half ON loaded ((k / 2)) WITH (fillfactor = 70);"
        "CREATE UNIQUE INDEX alone ON loaded (note, k);"
        "INSERT INTO loaded VALUES (1, 'old')"
    )
    definitions = (
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid "
        "FROM pg_index WHERE indrelid = 'loaded'::regclass ORDER BY 1"
    )
    before = database.rows(definitions)
    nodes = database.rows(
        "SELECT relname::text, relfilenode FROM pg_class "
        "WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'loaded'::regclass)"
    )
    write_parts(inrush, "rows", [["2|a", "3|b"]])
    path = load(database, inrush, columns=["k", "note"], indexes="rebuild")
    outcome = inrush("check", path).expect(CLEAN)
    assert 'DROP INDEX "public"."by ""note"""' in outcome.output
    inrush("run", path).expect(CLEAN, "the table cannot be read meanwhile")
    assert database.rows(definitions) == before
    assert database.rows("SELECT * FROM loaded ORDER BY k") == [(1, "old"), (2, "a"), (3, "b")]
    after = dict(
        database.rows(
            "SELECT relname::text, relfilenode FROM pg_class WHERE oid IN "
            "(SELECT indexrelid FROM pg_index WHERE indrelid = 'loaded'::regclass)"
        )
    )
    built_anew = {name for name, node in nodes if after[name] != node}
    assert built_anew == {'by "note"', "by_half"}


def test_indexes_of_partitions_need_no_rebuild(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE loaded (k int NOT NULL) PARTITION BY RANGE (k)")
    write_parts(inrush, "rows", [["1"]])
    inrush("run", load(newest_database, inrush, columns=["k"], indexes="rebuild")).expect(
        FAILED, 'the flow has indexes = "rebuild"'
    )


def test_a_policy_that_is_none(newest_database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "rows", [["1"]])
    inrush("run", load(newest_database, inrush, columns=["k int"], triggers="never")).expect(
        USAGE, "triggers"
    )
