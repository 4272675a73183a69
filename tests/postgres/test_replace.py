"""Replacing the rows of a partitioned target, and undoing it."""

from __future__ import annotations

import signal

import pytest

from harness.command import CLEAN, FAILED, Inrush, Outcome
from harness.contents import staging_tables, state
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.watcher import Watcher

COLUMNS = ["id int not null", "k int not null", "note text"]

OLD = {
    "sales_old_a": (0, 100),
    "sales_old_b": (100, 200),
    "sales_old_c": (200, 300),
}


def make_target(database: Database, *, key: str = "PRIMARY KEY (id, k)") -> None:
    """Make a table of three partitions with a hundred rows each."""
    database.execute(
        f"CREATE TABLE sales (id int NOT NULL, k int NOT NULL, note text, {key}) "
        "PARTITION BY RANGE (k); CREATE INDEX ON sales (note)"
    )
    for name, (lower, upper) in OLD.items():
        database.execute(
            f"CREATE TABLE {name} PARTITION OF sales FOR VALUES FROM ({lower}) TO ({upper});"
            f"INSERT INTO {name} SELECT n, n, 'old ' || n "
            f"FROM generate_series({lower}, {upper - 1}) n"
        )


def write_rows(inrush: Inrush, ranges: list[tuple[int, int]], word: str = "new") -> None:
    for path in inrush.folder.glob("rows.tbl.*"):
        path.unlink()
    for number, (lower, upper) in enumerate(ranges, 1):
        lines = "".join(f"{n}|{n}|{word} {n}|\n" for n in range(lower, upper))
        inrush.write(f"rows.tbl.{number}", lines)


def rows(*parts: tuple[int, int, str]) -> list[tuple[int, int, str]]:
    return [(n, n, f"{word} {n}") for lower, upper, word in parts for n in range(lower, upper)]


def loaded(database: Database, table: str = "sales") -> list[tuple[int, int, str]]:
    return database.rows(f"SELECT id, k, note FROM {table} ORDER BY id")


def write_package(
    inrush: Inrush,
    database: Database,
    replace: dict[str, str | int | bool] | None = None,
    **more: Value,
) -> None:
    settings: dict[str, Value] = {"mode": "replace", "partition_by": "k", "columns": COLUMNS}
    if replace is not None:
        settings["replace"] = replace
    settings |= more
    text = package(database.url, flow("sales", "rows.tbl.*", **settings))
    inrush.write("package.toml", text)


def run(inrush: Inrush, *words: str) -> Outcome:
    return inrush("run", "package.toml", *words)


def newest_run(inrush: Inrush) -> str:
    folders = (inrush.folder / "runs").iterdir()
    return max(folders, key=lambda path: path.stat().st_mtime_ns).name


def undo(inrush: Inrush, name: str, *words: str) -> Outcome:
    return inrush("undo", name, "package.toml", *words)


def tidy_state(database: Database) -> list[tuple[str, ...]]:
    return [entry for entry in state(database) if "inrush" not in entry[0]]


@pytest.mark.parametrize("keep", [False, True])
def test_a_whole_table_is_replaced(database: Database, inrush: Inrush, keep: bool) -> None:
    make_target(database)
    write_rows(inrush, [(50, 150), (500, 600)])
    write_package(inrush, database, {"keep": keep})
    inrush("check", "package.toml").expect(CLEAN, "sales_old_a", "kept as" if keep else "dropped")
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((50, 150, "new"), (500, 600, "new"))
    # The names of the indexes were free again, and all indexes exist.
    assert database.value(
        "SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = 'sales'::regclass"
    )
    assert len(staging_tables(database)) == (3 if keep else 0)
    run(inrush).expect(CLEAN, "already loaded")


def test_undo_puts_back_exactly_what_was_there(database: Database, inrush: Inrush) -> None:
    make_target(database)
    database.execute("CREATE TABLE sales_rest PARTITION OF sales DEFAULT")
    database.execute("INSERT INTO sales VALUES (9000, 9000, 'rest')")
    write_rows(inrush, [(50, 150), (500, 600)])
    before = tidy_state(database)
    write_package(inrush, database, {"keep": True})
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((50, 150, "new"), (500, 600, "new"))
    # An empty default partition takes the place of the old one.
    database.execute(
        "INSERT INTO sales VALUES (9001, 9001, 'later'); DELETE FROM sales WHERE id = 9001"
    )
    name = newest_run(inrush)
    undo(inrush, name).expect(CLEAN, "put back", "DROP TABLE")
    assert tidy_state(database) == before
    assert loaded(database, "sales_old_a") == rows((0, 100, "old"))
    undo(inrush, name).expect(CLEAN, "undone before")
    # The same files are loaded again, and this load is undone completely.
    run(inrush).expect(CLEAN, "loaded")
    assert loaded(database) == rows((50, 150, "new"), (500, 600, "new"))
    undo(inrush, newest_run(inrush), "--drop").expect(CLEAN, "dropped")
    assert tidy_state(database) == before
    assert [name for name in staging_tables(database) if "kept" in name] == []


def test_partitions_that_the_new_ones_cover_are_replaced(
    database: Database, inrush: Inrush
) -> None:
    make_target(database)
    write_rows(inrush, [(100, 150), (150, 200), (500, 600)])
    write_package(
        inrush,
        database,
        {"scope": "partitions", "keep": True},
        bounds=[100, 150, 200, 500, 600],
    )
    inrush("check", "package.toml").expect(CLEAN, "sales_old_b")
    run(inrush).expect(CLEAN)
    new = rows((0, 100, "old"), (100, 200, "new"), (200, 300, "old"), (500, 600, "new"))
    assert loaded(database) == new
    undo(inrush, newest_run(inrush)).expect(CLEAN)
    assert loaded(database) == rows((0, 300, "old"))


@pytest.mark.parametrize("bounds", ["declared", "data"])
def test_a_partition_that_is_covered_in_part_is_refused(
    database: Database, inrush: Inrush, bounds: str
) -> None:
    make_target(database)
    write_rows(inrush, [(120, 200)])
    more: dict[str, Value] = {"bounds": [120, 200]} if bounds == "declared" else {}
    write_package(inrush, database, {"scope": "partitions"}, **more)
    before = tidy_state(database)
    outcome = run(inrush).expect(FAILED, '"public"."sales_old_b"', "only in part", "bounds")
    assert "sales_old_c" not in outcome.said
    assert tidy_state(database) == before
    # Instead, the whole table can be replaced, with the units that are staged already.
    write_package(inrush, database, {"scope": "table"}, **more)
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((120, 200, "new"))


POINTS = ["before_switch", "in_switch", "before_switch_commit", "switch_commit_sent",
          "after_switch_commit"]  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("keep", [False, True])
def test_killed_around_the_switch_readers_see_old_or_new(
    database: Database, inrush: Inrush, point: str, keep: bool
) -> None:
    make_target(database)
    watcher = Watcher(database, "sales")
    old = watcher.now()
    write_rows(inrush, [(0, 150), (150, 400)])
    write_package(inrush, database, {"keep": keep})
    with watcher:
        died = inrush("run", "package.toml", environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
        run(inrush).expect(CLEAN)
    assert loaded(database) == rows((0, 400, "new"))
    assert watcher.seen <= {old, watcher.now()}, watcher.seen
    assert len(staging_tables(database)) == (3 if keep else 0)


@pytest.mark.parametrize("point", ["in_switch", "before_switch_commit", "after_switch_commit"])
def test_an_undo_that_is_killed_is_given_again(
    database: Database, inrush: Inrush, point: str
) -> None:
    make_target(database)
    write_rows(inrush, [(0, 150), (150, 400)])
    write_package(inrush, database, {"keep": True})
    watcher = Watcher(database, "sales")
    old = watcher.now()
    run(inrush).expect(CLEAN)
    new = watcher.now()
    name = newest_run(inrush)
    with watcher:
        died = inrush("undo", name, "package.toml", environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
        assert watcher.now() == (old if point == "after_switch_commit" else new)
        undo(inrush, name).expect(CLEAN)
    assert watcher.seen <= {old, new}, watcher.seen
    assert loaded(database) == rows((0, 300, "old"))


def test_one_generation_is_kept_and_named_ones_stay(database: Database, inrush: Inrush) -> None:
    make_target(database)
    runs = []
    for night in range(3):
        write_rows(inrush, [(0, 150), (150, 400 + night)], f"night{night}")
        write_package(inrush, database, {"keep": True})
        run(inrush).expect(CLEAN)
        runs.append(newest_run(inrush))
    assert len(staging_tables(database)) == 2
    # Only the last load can be undone: the tables that earlier loads kept are gone.
    undo(inrush, runs[0]).expect(FAILED, "cannot be undone")
    undo(inrush, runs[2]).expect(CLEAN)
    assert loaded(database) == rows((0, 401, "night1"))
    write_package(inrush, database, {"keep": "before"})
    run(inrush).expect(CLEAN)
    assert [name for name in staging_tables(database) if name.startswith("before_")] != []
    run(inrush, "--again").expect(FAILED, "that name is taken", "DROP TABLE")


def test_other_files_replace_and_the_first_ones_replace_again(
    database: Database, inrush: Inrush
) -> None:
    write_rows(inrush, [(0, 10), (10, 20)], "one")
    write_package(inrush, database)
    run(inrush).expect(CLEAN)
    inrush.write("rows.tbl.3", "".join(f"{n}|{n}|one {n}|\n" for n in range(20, 30)))
    # Two of the three files are already loaded; now all three replace the rows.
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((0, 30, "one"))
    (inrush.folder / "rows.tbl.3").unlink()
    # All of these files and one more are loaded, so this is not the same load.
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((0, 20, "one"))
    run(inrush).expect(CLEAN, "already loaded")


def test_what_replaced_rows_had_loaded_can_be_loaded_again(
    database: Database, inrush: Inrush
) -> None:
    make_target(database)
    write_rows(inrush, [(300, 400)], "appended")
    write_package(inrush, database, mode="append")
    run(inrush).expect(CLEAN)
    run(inrush).expect(CLEAN, "already loaded")
    inrush.write("all/rows.tbl.1", "1|1|replaced|\n")
    text = (inrush.folder / "package.toml").read_text()
    text = text.replace('"append"', '"replace"').replace('"rows.tbl.*"', '"all/rows.tbl.*"')
    inrush.write("replace.toml", text)
    inrush("run", "replace.toml").expect(CLEAN)
    assert loaded(database) == [(1, 1, "replaced")]
    # The run's rows are gone, so its files no longer count as loaded.
    run(inrush).expect(CLEAN)
    assert loaded(database) == [(1, 1, "replaced"), *rows((300, 400, "appended"))]


def test_undo_of_an_append_takes_out_what_came_and_nothing_else(
    database: Database, inrush: Inrush
) -> None:
    make_target(database)
    write_rows(inrush, [(300, 400), (400, 500)])
    write_package(inrush, database, mode="append")
    before = tidy_state(database)
    run(inrush).expect(CLEAN)
    first = newest_run(inrush)
    database.execute("CREATE TABLE later PARTITION OF sales FOR VALUES FROM (900) TO (901)")
    undo(inrush, first).expect(CLEAN, "removed", "kept as")
    assert loaded(database) == rows((0, 300, "old"))
    assert [entry for entry in tidy_state(database) if "later" not in entry[0]] == before
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((0, 300, "old"), (300, 500, "new"))


def test_undo_of_a_new_table(database: Database, inrush: Inrush) -> None:
    write_rows(inrush, [(300, 400), (400, 500)])
    write_package(inrush, database, mode="create")
    run(inrush).expect(CLEAN)
    undo(inrush, newest_run(inrush)).expect(CLEAN, "sales_undone_")
    assert tidy_state(database) == []
    run(inrush).expect(CLEAN)
    undo(inrush, newest_run(inrush), "--drop").expect(CLEAN)
    assert tidy_state(database) == []


CHANGES = {
    "the target is made anew": (
        "ALTER TABLE sales RENAME TO gone; CREATE TABLE sales (id int)", "dropped, renamed"),
    "a new partition was taken out": ("ALTER TABLE sales DETACH PARTITION sales_p1", "sales_p1"),
    "what was kept is gone": ("DROP TABLE {kept}", "is gone"),
    "another partition is in the way": (
        "ALTER TABLE sales DETACH PARTITION sales_p2; DROP TABLE sales_p2", "sales_p2"),
    "the old name is taken": ("CREATE TABLE sales_old_b (id int)", "that name"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=list(CHANGES))
def test_undo_is_refused_where_the_target_changed(
    newest_database: Database, inrush: Inrush, change: str, said: str
) -> None:
    database = newest_database
    make_target(database)
    write_rows(inrush, [(0, 150), (150, 400)])
    write_package(inrush, database, {"keep": True})
    run(inrush).expect(CLEAN)
    (name, *_) = staging_tables(database)
    database.execute(change.format(kept=f'inrush_staging."{name}"'))
    before = tidy_state(database)
    undo(inrush, newest_run(inrush)).expect(FAILED, "cannot be undone", said)
    assert tidy_state(database) == before


def test_undo_finds_a_partition_that_came_since_in_the_way(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    make_target(database)
    write_rows(inrush, [(0, 150)])
    write_package(inrush, database, {"keep": True})
    run(inrush).expect(CLEAN)
    database.execute("CREATE TABLE later PARTITION OF sales FOR VALUES FROM (250) TO (260)")
    before = tidy_state(database)
    undo(inrush, newest_run(inrush)).expect(FAILED, "overlap", "later")
    assert tidy_state(database) == before


def test_undo_of_what_cannot_be_told_apart_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    make_target(database)
    write_rows(inrush, [(0, 150)])
    write_package(inrush, database)
    run(inrush).expect(CLEAN)
    undo(inrush, newest_run(inrush)).expect(FAILED, "it dropped", "keep = true")
    undo(inrush, "no-such-run").expect(FAILED, "has no run no-such-run")
    database.execute("CREATE TABLE plain (id int, k int, note text)")
    text = package(database.url, flow("plain", "rows.tbl.*", mode="append"), name="plain")
    inrush.write("package.toml", text)
    run(inrush).expect(CLEAN)
    undo(inrush, newest_run(inrush)).expect(FAILED, "added its rows to those of", "plain")


def test_a_reader_holds_the_switch_up_and_is_not_disturbed(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    make_target(database)
    write_rows(inrush, [(0, 150)])
    write_package(inrush, database)
    text = (inrush.folder / "package.toml").read_text()
    inrush.write("package.toml", text.replace("streams = 2", "streams = 2\nlock_timeout_ms = 100"))
    with database.connect() as reader:
        reader.execute("BEGIN; SELECT count(*) FROM sales")
        run(inrush).expect(FAILED, "lock")
        assert reader.execute("SELECT count(*) FROM sales").fetchone() == (300,)
        reader.execute("ROLLBACK")
    run(inrush).expect(CLEAN)
    assert loaded(database) == rows((0, 150, "new"))


def test_what_cannot_be_replaced_is_refused_before_anything_is_loaded(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    make_target(database)
    write_rows(inrush, [(0, 150)])
    write_package(inrush, database)
    database.execute("CREATE VIEW reading AS SELECT * FROM sales_old_b")
    run(inrush).expect(FAILED, "view public.reading", "keep = true")
    database.execute("DROP VIEW reading")
    database.execute(
        "CREATE TABLE items (id int, k int, FOREIGN KEY (id, k) REFERENCES sales (id, k))"
    )
    run(inrush).expect(FAILED, "foreign keys", "items")
    database.execute("DROP TABLE items")
    run(inrush).expect(CLEAN)


def test_keys_of_a_text_with_a_collation(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(
        'CREATE TABLE sales (id int, k text COLLATE "C" NOT NULL) PARTITION BY RANGE (k);'
        "CREATE TABLE low PARTITION OF sales FOR VALUES FROM (MINVALUE) TO ('M');"
        "CREATE TABLE high PARTITION OF sales FOR VALUES FROM ('M') TO (MAXVALUE);"
        "INSERT INTO sales VALUES (1, 'A'), (2, 'it''s'), (3, 'Z')"
    )
    inrush.write("rows.tbl.1", "7|B|\n8|C|\n")
    write_package(
        inrush,
        database,
        {"scope": "partitions", "keep": True},
        bounds=["A", "M"],
        columns=["id", "k"],
    )
    # The new partition covers only the part of `low` from A on.
    run(inrush).expect(FAILED, '"public"."low"', "only in part")
    database.execute(
        "ALTER TABLE sales DETACH PARTITION low;"
        "ALTER TABLE sales ATTACH PARTITION low FOR VALUES FROM ('A') TO ('M')"
    )
    run(inrush).expect(CLEAN)
    assert database.rows("SELECT * FROM sales ORDER BY id") == [
        (2, "it's"), (3, "Z"), (7, "B"), (8, "C"),
    ]  # fmt: skip
    undo(inrush, newest_run(inrush)).expect(CLEAN)
    assert database.rows("SELECT * FROM sales ORDER BY id") == [(1, "A"), (2, "it's"), (3, "Z")]


def test_odd_names_and_owners(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(
        'CREATE SCHEMA "größe; --"; CREATE TABLE "größe; --"."it""s" (id int, k int NOT NULL) '
        "PARTITION BY RANGE (k);"
        'CREATE TABLE "größe; --"."select ""one""" PARTITION OF "größe; --"."it""s" '
        "FOR VALUES FROM (0) TO (10);"
        'INSERT INTO "größe; --"."it""s" VALUES (1, 1)'
    )
    inrush.write("rows.tbl", "7|7|\n")
    settings: dict[str, Value] = {"mode": "replace", "replace": {"keep": 'k"ept'}}
    table = '"größe; --"."it""s"'
    inrush.write("package.toml", package(database.url, flow(table, "rows.tbl", **settings)))
    run(inrush).expect(CLEAN)
    assert database.rows(f"TABLE {table}") == [(7, 7)]
    assert staging_tables(database) == ['k"ept_select "one"']
    undo(inrush, newest_run(inrush)).expect(CLEAN)
    assert database.rows(f"TABLE {table}") == [(1, 1)]
