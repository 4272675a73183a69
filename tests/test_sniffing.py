"""Guessing what files hold: `inrush init`, and `inrush load` into a table that does not exist."""

from __future__ import annotations

import datetime

from command import CLEAN, REJECT_LIMIT, USAGE, Inrush
from servers import Database

SEMICOLONS = "id;name;born\n1;Ann;31.01.2024\n2;Bob;\n3;Cy;01.02.2024\n"
ROWS = [
    (1, "Ann", datetime.date(2024, 1, 31)),
    (2, "Bob", None),
    (3, "Cy", datetime.date(2024, 2, 1)),
]


def types(database: Database, table: str) -> list[str]:
    return [
        str(name)
        for (name,) in database.rows(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        )
    ]


def test_a_new_table_has_the_guessed_columns(newest_database: Database, inrush: Inrush) -> None:
    file = inrush.write("people.csv", SEMICOLONS)
    words = ("load", file, "--to", newest_database.url, "--table", "people")
    inrush(*words).expect(CLEAN, "the columns were guessed")
    assert types(newest_database, "people") == ["integer", "text", "date"]
    assert newest_database.rows("SELECT * FROM people ORDER BY id") == ROWS
    # Files and target tell the same the second time, though the name says commas.
    inrush(*words).expect(CLEAN, "already loaded by run")


def test_init_writes_a_package_that_runs(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("people.csv", SEMICOLONS)
    words = ("init", "people.csv", "--to", newest_database.url)
    inrush(*words).expect(CLEAN, "`;` stands between fields", "date (%d.%m.%Y)")
    inrush(*words).expect(USAGE, "people.toml is there already", "--force")
    inrush("check", "people.toml").expect(CLEAN)
    inrush("run", "people.toml").expect(CLEAN)
    assert newest_database.rows("SELECT * FROM people ORDER BY id") == ROWS


def test_a_reject_says_that_its_type_was_guessed(newest_database: Database, inrush: Inrush) -> None:
    text = "".join(f"{number},{number % 7}\n" for number in range(4_000_000))
    # Between the last two places that are looked at.
    end = text.index("\n", len(text) - 400_000)
    file = inrush.write("numbers.csv", text[: end - 1] + "x" + text[end:])
    to = ("--to", newest_database.url, "--table", "numbers")
    inrush("load", file, *to).expect(REJECT_LIMIT, "the types were guessed from")
