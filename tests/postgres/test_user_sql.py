"""Statements of the package that run in the switch's transaction."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database

COLUMNS = ["id int", "day date"]


def write_package(inrush: Inrush, database: Database, **more: Value) -> None:
    # The file is written only once, because a stopped run resumes with the unchanged file.
    if not (inrush.folder / "rows.tbl").exists():
        inrush.write("rows.tbl", "1|2024-01-01|\n2|2024-01-01|\n")
    settings: dict[str, Value] = {"mode": "append", "columns": COLUMNS, **more}
    text = package(database.url, flow("facts", "rows.tbl", **settings))
    text = text.replace("[connections", '[parameters]\nday = "2024-01-01"\n\n[connections', 1)
    inrush.write("package.toml", text)


def run(inrush: Inrush, *words: str) -> Outcome:
    return inrush("run", "package.toml", *words)


def make_target(database: Database) -> None:
    database.execute(
        "CREATE TABLE facts (id int, day date); CREATE TABLE log (said text);"
        "INSERT INTO facts VALUES (7, '2024-01-01'), (8, '2024-01-02')"
    )


def test_a_day_is_loaded_in_place_of_what_it_had(database: Database, inrush: Inrush) -> None:
    make_target(database)
    write_package(
        inrush,
        database,
        pre_sql="DELETE FROM facts WHERE day = '{day}';",
        post_sql=["INSERT INTO log SELECT count(*) FROM facts", "INSERT INTO log VALUES ('done')"],
    )
    said = inrush("check", "package.toml").expect(CLEAN, "day = '2024-01-01'").output
    assert said.index("DELETE FROM facts") < said.index("OVERRIDING") < said.index("INTO log")
    run(inrush).expect(CLEAN)
    assert database.rows("SELECT id FROM facts ORDER BY id") == [(1,), (2,), (8,)]
    assert database.rows("SELECT said FROM log ORDER BY said") == [("3",), ("done",)]
    run(inrush).expect(CLEAN, "already loaded")
    run(inrush, "--again").expect(CLEAN)
    assert database.rows("SELECT id FROM facts ORDER BY id") == [(1,), (2,), (8,)]


@pytest.mark.parametrize(
    ("setting", "statements", "said"),
    [
        ("pre_sql", ["INSERT INTO log VALUES ('x')", "DELETE FROM nowhere"], "statement 2 of 2"),
        ("post_sql", "SELECT 1 / 0", "division by zero"),
        ("post_sql", "SELECT 1; SELECT 2", "one statement for each"),
        ("post_sql", "DO $$ BEGIN COMMIT; END $$", "invalid transaction termination"),
    ],
)
def test_a_statement_that_fails_takes_all_back(
    database: Database, inrush: Inrush, setting: str, statements: str | list[str], said: str
) -> None:
    make_target(database)
    more: dict[str, Value] = {setting: statements}
    write_package(inrush, database, **more)
    run(inrush).expect(FAILED, setting, said, "the switch was rolled back")
    assert database.rows("SELECT id FROM facts ORDER BY id") == [(7,), (8,)]
    assert database.rows("TABLE log") == []
    # Once the statement is fixed, the loaded units are used.
    write_package(inrush, database)
    run(inrush).expect(CLEAN)
    assert database.rows("SELECT id FROM facts ORDER BY id") == [(1,), (2,), (7,), (8,)]


@pytest.mark.parametrize(
    "statement",
    [
        "COMMIT",
        " -- so\n/* it */ end;",
        "rollback to x",
        ";",
        "COPY facts TO STDOUT",
        "copy facts from stdin",
    ],
)
def test_statements_that_cannot_run_in_the_switch_are_refused(
    newest_database: Database, inrush: Inrush, statement: str
) -> None:
    make_target(newest_database)
    write_package(inrush, newest_database, pre_sql=[statement])
    run(inrush).expect(USAGE, "pre_sql")


def test_post_sql_of_what_goes_straight_in(newest_database: Database, inrush: Inrush) -> None:
    make_target(newest_database)
    write_package(inrush, newest_database, atomic=False, post_sql="INSERT INTO log VALUES ('end')")
    run(inrush).expect(CLEAN)
    assert newest_database.rows("SELECT id FROM facts ORDER BY id") == [(1,), (2,), (7,), (8,)]
    assert newest_database.rows("TABLE log") == [("end",)]
