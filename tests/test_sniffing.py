"""Guessing what files hold: `inrush init`, and `inrush load` into a table that does not exist."""

from __future__ import annotations

import datetime

import pytest

from command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
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


def test_a_code_that_no_sample_shows_is_a_reject(newest_database: Database, inrush: Inrush) -> None:
    pad = "x" * 990
    lines = [f"{number},{10_000 + number},{pad}\n" for number in range(40_000)]
    # Between the last two places that are looked at.
    lines[39_600:39_602] = [f"39600,00010,{pad}\n", f"39601,+4312345,{pad}\n"]
    file = inrush.write("places.csv", "id,zip,note\n" + "".join(lines))
    url = newest_database.url
    load = ("load", file, "--to", url, "--table", "places")
    inrush(*load).expect(REJECT_LIMIT, '"00010": it begins with a zero', "the types were guessed")
    # The package that says the same guess does the same.
    inrush("init", file, "--to", url, "--table", "places").expect(CLEAN)
    assert "lossless = true" in (inrush.folder / "places.toml").read_text()
    inrush("run", "places.toml").expect(REJECT_LIMIT, '"00010": it begins with a zero')
    # Declared columns take the number.
    declared = ("--columns", "id integer, zip integer, note text")
    inrush(*load, *declared).expect(CLEAN)
    assert newest_database.rows("SELECT zip FROM places WHERE id = 39600") == [(10,)]
    strictly = (*declared, "--format", "csv,lossless")
    to = ("--to", url, "--table", "strict", "--max-rejects", "2")
    inrush("load", file, *to, *strictly).expect(LOADED_WITH_REJECTS)


@pytest.mark.parametrize(
    ("name", "text", "rows", "skipped"),
    [
        ("excel.csv", "sep=;\r\nid;n\r\n1;5\r\n2;6\r\n", [(1, 5), (2, 6)], 1),
        ("report.csv", 'Sales "2024\n\nid,n\n1,5\n2,6\n', [(1, 5), (2, 6)], 2),
        ("padded.csv", "Sales,\n,\nid,n\n1,5\n2,6\n", [(1, 5), (2, 6)], 2),
    ],
)
def test_titles_are_passed_over(
    newest_database: Database,
    inrush: Inrush,
    name: str,
    text: str,
    rows: list[object],
    skipped: int,
) -> None:
    file = inrush.write(name, text)
    url = newest_database.url
    read = f"{len(rows) + skipped} read = {len(rows)} loaded + 0 rejected + {skipped} skipped"
    inrush("load", file, "--to", url, "--table", "direct").expect(CLEAN, read)
    inrush("init", file, "--to", url, "--table", "packed").expect(CLEAN)
    inrush("run", "packed.toml").expect(CLEAN, read)
    for table in ("direct", "packed"):
        assert newest_database.rows(f"SELECT id, n FROM {table} ORDER BY id") == rows
    # The table's own columns are found in them just as well.
    newest_database.execute("CREATE TABLE known (id int, n int)")
    inrush("load", file, "--to", url, "--table", "known").expect(CLEAN, read)
    assert newest_database.rows("SELECT id, n FROM known ORDER BY id") == rows


def test_rejects_below_skipped_lines_can_be_loaded(
    newest_database: Database, inrush: Inrush
) -> None:
    file = inrush.write("a.csv", 'a "title\nof two lines\nid,n\n1,5\nx,6\n')
    words = ("--format", "csv,skip_lines=2", "--columns", "id int, n int", "--max-rejects", "1")
    to = ("--to", newest_database.url, "--table", "t", *words)
    inrush("load", file, *to).expect(
        LOADED_WITH_REJECTS, "4 read = 1 loaded + 1 rejected + 2 skipped"
    )
    (rejects,) = inrush.folder.glob("runs/*/rejects/*.rejects")
    assert '"line":5' in rejects.with_name(f"{rejects.name}.jsonl").read_text()
    mended = inrush.write("mended.csv", rejects.read_text().replace("x,6", "2,6"))
    inrush("load", mended, *to, "--mode", "append").expect(CLEAN)
    assert newest_database.rows("SELECT id, n FROM t ORDER BY id") == [(1, 5), (2, 6)]


def test_a_tsv_whose_first_row_is_the_names_has_a_header(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute("CREATE TABLE t (id text, note text)")
    to = ("--to", newest_database.url, "--table", "t", "--mode", "append")
    named = inrush.write("named.tsv", "Note\tID\nx\t1\n")
    inrush("load", named, *to).expect(CLEAN, "was taken for the header")
    nearly = inrush.write("nearly.tsv", "id\tnoet\n2\ty\n")
    inrush("load", nearly, *to).expect(USAGE, "looks like a header", "tsv,no_header")
    assert newest_database.rows("SELECT id, note FROM t") == [("1", "x")]
    inrush("load", nearly, *to, "--format", "tsv,no_header").expect(CLEAN, "is loaded as a row")
    assert len(newest_database.rows("SELECT id FROM t")) == 3


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1^Smith, John\n2^Doe, Jane\n3^Roe, Max\n", [("1", "Smith, John"), ("2", "Doe, Jane")]),
        (
            '"n"~"amount"\n"1"~"4,911,967.95"\n"2"~"5,911,967.95"\n"3"~"6,911,967.95"\n',
            [("1", "4,911,967.95"), ("2", "5,911,967.95")],
        ),
    ],
)
def test_commas_inside_of_values_part_nothing(
    newest_database: Database, inrush: Inrush, text: str, rows: list[object]
) -> None:
    file = inrush.write("a.csv", text)
    inrush("load", file, "--to", newest_database.url, "--table", "t").expect(CLEAN)
    names = "n::text, amount" if '"n"' in text else "column_1::text, column_2"
    assert newest_database.rows(f"SELECT {names} FROM t ORDER BY 1")[:2] == rows


def test_a_word_that_no_sample_shows_is_no_boolean(
    newest_database: Database, inrush: Inrush
) -> None:
    pad = "x" * 990
    lines = [f"{number},true,{pad}\n" for number in range(40_000)]
    # Between the last two places that are looked at.
    lines[39_600] = f"39600,1,{pad}\n"
    file = inrush.write("flags.csv", "id,ok,note\n" + "".join(lines))
    url = newest_database.url
    load = ("load", file, "--to", url, "--table", "flags")
    said = inrush(*load).expect(REJECT_LIMIT, "the types were guessed from")
    said.expect(REJECT_LIMIT, "not one of the column's words")
    # The package that says the same guess does the same.
    inrush("init", file, "--to", url, "--table", "flags").expect(CLEAN)
    written = (inrush.folder / "flags.toml").read_text()
    assert 'true_words = ["true"], false_words = ["false"]' in written
    inrush("run", "flags.toml").expect(REJECT_LIMIT, "not one of the column's words")
    # Declared columns take PostgreSQL's words.
    inrush(*load, "--columns", "id integer, ok boolean, note text").expect(CLEAN)
    assert newest_database.rows("SELECT ok FROM flags WHERE id = 39600") == [(True,)]


def test_a_header_with_names_of_the_server(newest_database: Database, inrush: Inrush) -> None:
    file = inrush.write("a.csv", "ctid,xmin,id\n1,2,3\n4,5,6\n7,8,9\n")
    outcome = inrush("load", file, "--to", newest_database.url, "--table", "t").expect(CLEAN)
    outcome.expect(CLEAN, "gives every table: field 1 is called ctid_2")
    assert newest_database.rows("SELECT ctid_2, xmin_2, id FROM t ORDER BY id") == [
        (1, 2, 3),
        (4, 5, 6),
        (7, 8, 9),
    ]
