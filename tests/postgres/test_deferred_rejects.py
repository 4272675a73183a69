"""Rows that the server would refuse only at COMMIT, in packages with several flows."""

from __future__ import annotations

import random
import signal

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush
from harness.contents import state
from harness.packages import flow, package
from harness.serial import (
    PARENTS_AND_GUARD,
    Files,
    SerialJob,
    text_of,
)
from harness.servers import Database

# The names do not sort in the order of the foreign keys, and two constraints have one name.
TABLES = """
CREATE TABLE {name}heads (
    id int PRIMARY KEY,
    name text,
    CONSTRAINT {name}named UNIQUE (name) {later}
);
CREATE TABLE {name}a_items (
    id int PRIMARY KEY,
    head int CONSTRAINT {name}named REFERENCES {name}heads {later},
    parent int CONSTRAINT "its parent" REFERENCES parents {later},
    note text
);
CREATE CONSTRAINT TRIGGER guard AFTER INSERT ON {name}a_items {later}
    FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TABLE {name}words (word text);
INSERT INTO {name}heads VALUES (1, 'one')
"""
LATER = "DEFERRABLE INITIALLY DEFERRED"
HEADERS = {"heads": "id,name", "a_items": "id,head,parent,note", "words": "word"}
INSERTS = {
    "heads": "INSERT INTO expected_heads VALUES (%s::int, %s)",
    "a_items": "INSERT INTO expected_a_items VALUES (%s::int, %s::int, %s::int, %s)",
    "words": "INSERT INTO expected_words VALUES (%s)",
}
ROWS = 150


class Job(SerialJob):
    """Files of three tables, and the result of a serial load in the order of the keys."""

    tables = tuple((table, f"expected_{table}", "1") for table in HEADERS)

    def __init__(self, database: Database, inrush: Inrush, seed: int) -> None:
        super().__init__(database, inrush)
        chance = random.Random(seed)  # noqa: S311
        database.execute(PARENTS_AND_GUARD)
        database.execute(TABLES.format(name="", later=LATER))
        # In the serial load, a deferred trigger would fire after the savepoints.
        database.execute(TABLES.format(name="expected_", later="DEFERRABLE"))
        self.files: dict[str, Files] = {
            "heads": {
                f"heads.{part}.csv": [
                    [str(2 + 50 * part + n), chance.choice([f"n{part}-{n}"] * 9 + ["one", "two"])]
                    for n in range(50)
                ]
                for part in range(2)
            },
            "words": {"words.csv": [["a"], ["b"]]},
            "a_items": {
                f"items.{part}.csv": [self.item(part * ROWS + n, chance) for n in range(ROWS)]
                for part in range(3)
            },
        }
        for table, files in self.files.items():
            self.insert(HEADERS[table], INSERTS[table], files)
        self.name_as_targets()
        assert {one.code for one in self.expected} == {
            "foreign_key_missing", "duplicate_key", "raised", "syntax",
        }  # fmt: skip

    def item(self, number: int, chance: random.Random) -> list[str]:
        fields = [str(number), str(chance.randrange(1, 102)), "1", "yes"]
        match chance.randrange(60):
            case 0:
                fields[1] = "500"
            case 1:
                fields[2] = "51"
            case 2:
                fields[3] = "no"
            case 3:
                fields[0] = str(chance.randrange(3 * ROWS))
            case 4:
                fields[0] = "x"
        return fields

    def package(self, rows_max: int = 10_000, streams: int = 2) -> None:
        text = package(
            self.database.url,
            *(
                flow(
                    table,
                    f"{files}.*csv",
                    mode="append",
                    verify="rows",
                    rejects={"rows_max": rows_max},
                )
                for table, files in (("a_items", "items"), ("heads", "heads"), ("words", "words"))
            ),
            streams=streams,
        )
        self.inrush.write("package.toml", text)


@pytest.mark.parametrize("streams", [1, 3])
def test_as_a_serial_load(database: Database, inrush: Inrush, streams: int) -> None:
    job = Job(database, inrush, streams)
    job.package(streams=streams)
    outcome = job.run()
    job.assert_done(outcome)
    job.run().expect(outcome.status, "already loaded")


@pytest.mark.parametrize(
    "point",
    ["before_unit_commit:4", "after_unit_commit:5", "before_switch", "in_switch",
     "before_switch_commit", "switch_commit_sent", "after_switch_commit"],
)  # fmt: skip
def test_killed_and_run_again(newest_database: Database, inrush: Inrush, point: str) -> None:
    job = Job(newest_database, inrush, len(point))
    job.package()
    died = job.run(point)
    assert died.status == -signal.SIGKILL, died.said
    outcome = job.run()
    if "already loaded" in outcome.said:
        job.assert_loaded(outcome)
    else:
        job.assert_done(outcome)


def test_the_limit_holds(newest_database: Database, inrush: Inrush) -> None:
    job = Job(newest_database, inrush, 4)
    before = state(newest_database)
    limit = sum(one.file.startswith("items") for one in job.expected)
    job.package(rows_max=limit - 1)
    job.run().expect(REJECT_LIMIT, str(limit - 1))
    assert state(newest_database) == before
    job.package(rows_max=limit)
    job.assert_done(job.run())


def test_one_row_too_many_is_named(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(PARENTS_AND_GUARD)
    newest_database.execute(TABLES.format(name="", later=LATER))
    before = state(newest_database)
    inrush.write("heads.csv", "id,name\n2,two\n")
    inrush.write("items.csv", "id,head,parent,note\n1,1,1,a\n2,2,1,b\n3,3,1,c\n")
    text = package(
        newest_database.url,
        flow("a_items", "items.csv", mode="append"),
        flow("heads", "heads.csv", mode="append"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(
        REJECT_LIMIT, "items.csv:4", "(head)=(3)", "heads"
    )
    assert state(newest_database) == before


CIRCLE = f"""
CREATE TABLE hens (id int PRIMARY KEY, egg int);
CREATE TABLE eggs (id int PRIMARY KEY, hen int REFERENCES hens {LATER});
ALTER TABLE hens ADD FOREIGN KEY (egg) REFERENCES eggs {LATER}
"""


@pytest.mark.parametrize("bad", ["", "hens", "eggs"])
def test_tables_that_refer_to_each_other(database: Database, inrush: Inrush, bad: str) -> None:
    database.execute(CIRCLE)
    rows = [[str(n), str(100 - n)] for n in range(1, 100)]
    for table, column in (("hens", "egg"), ("eggs", "hen")):
        more = [["500", "500"]] if table == bad else []
        inrush.write(f"{table}.csv", text_of(f"id,{column}", [*rows[:50], *more, *rows[50:]]))
    text = package(
        database.url,
        *(
            flow(table, f"{table}.csv", mode="append", rejects={"rows_max": 1})
            for table in ("hens", "eggs")
        ),
    )
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(LOADED_WITH_REJECTS if bad else CLEAN)
    expected = [(int(one), int(other)) for one, other in rows]
    assert database.rows("SELECT * FROM hens ORDER BY id") == expected
    assert database.rows("SELECT * FROM eggs ORDER BY id") == expected
    if bad:
        (reject,) = outcome.rejects()
        assert reject["file"].endswith(f"{bad}.csv") and reject["line"] == 52
        assert reject["code"] == "foreign_key_missing"


def test_what_needs_the_rows_of_later_tables_fails_whole(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(
        """
        CREATE TABLE heads (id int PRIMARY KEY);
        CREATE TABLE items (id int PRIMARY KEY, head int REFERENCES heads);
        CREATE FUNCTION has_items() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NOT EXISTS (SELECT FROM items WHERE head = NEW.id) THEN
                RAISE EXCEPTION 'head % has no items', NEW.id;
            END IF;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER has_items AFTER INSERT ON heads
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION has_items()
        """
    )
    before = state(newest_database)
    inrush.write("heads.csv", "id\n1\n2\n")
    inrush.write("items.csv", "id,head\n1,1\n")
    text = package(
        newest_database.url,
        flow("heads", "heads.csv", mode="append", rejects={"rows_max": 5}),
        flow("items", "items.csv", mode="append", rejects={"rows_max": 5}),
    )
    inrush("run", inrush.write("package.toml", text)).expect(FAILED, "head 2 has no items")
    assert state(newest_database) == before
    # All rows are loaded and kept.
    newest_database.execute("DROP TRIGGER has_items ON heads")
    inrush("run", "package.toml").expect(CLEAN)
    assert newest_database.rows("SELECT id FROM heads ORDER BY id") == [(1,), (2,)]


def test_constraints_of_one_name(database: Database, inrush: Inrush) -> None:
    # SQL distinguishes the two constraints only by name. The trigger on `a_list` looks for items,
    # so it must not run before they are loaded, although a key of `heads` has its name.
    database.execute(
        f"""
        CREATE TABLE heads (
            id int PRIMARY KEY, CHECK (id > 0), CONSTRAINT link UNIQUE (id) {LATER}
        );
        CREATE TABLE items (id int PRIMARY KEY, head int REFERENCES heads);
        CREATE TABLE a_list (item int);
        CREATE FUNCTION is_listed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NOT EXISTS (SELECT FROM items WHERE id = NEW.item) THEN
                RAISE EXCEPTION 'no item %', NEW.item;
            END IF;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER link AFTER INSERT ON a_list {LATER}
            FOR EACH ROW EXECUTE FUNCTION is_listed();
        INSERT INTO heads VALUES (7)
        """
    )
    inrush.write("heads.csv", "id\n1\n7\n2\n")
    inrush.write("items.csv", "id,head\n1,1\n2,2\n3,7\n")
    inrush.write("list.csv", "item\n1\n3\n")
    text = package(
        database.url,
        *(
            flow(table, f"{file}.csv", mode="append", rejects={"rows_max": 5})
            for table, file in (("a_list", "list"), ("heads", "heads"), ("items", "items"))
        ),
    )
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert (reject["line"], reject["code"]) == (3, "duplicate_key")
    assert database.rows("SELECT id FROM heads ORDER BY id") == [(1,), (2,), (7,)]
    assert database.rows("SELECT * FROM items ORDER BY id") == [(1, 1), (2, 2), (3, 7)]
    assert database.rows("SELECT item FROM a_list ORDER BY item") == [(1,), (3,)]
