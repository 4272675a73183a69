"""Guessing formats and types: `inrush init`, and `inrush load` into a table that does not exist."""

from __future__ import annotations

import datetime

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.servers import Database

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
    # The second time, files and target give the same format, although the name implies commas.
    inrush(*words).expect(CLEAN, "already loaded by run")


def test_init_writes_a_package_that_runs(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("people.csv", SEMICOLONS)
    words = ("init", "people.csv", "--to", newest_database.url)
    inrush(*words).expect(CLEAN, "`;` separates fields", "date (%d.%m.%Y)")
    inrush(*words).expect(USAGE, "people.toml exists already", "--force")
    inrush("check", "people.toml").expect(CLEAN)
    inrush("run", "people.toml").expect(CLEAN)
    assert newest_database.rows("SELECT * FROM people ORDER BY id") == ROWS


def test_a_reject_says_that_its_type_was_guessed(newest_database: Database, inrush: Inrush) -> None:
    text = "".join(f"{number},{number % 7}\n" for number in range(4_000_000))
    # The sample has no row of this place: it is between the last two sampled places.
    end = text.index("\n", len(text) - 400_000)
    file = inrush.write("numbers.csv", text[: end - 1] + "x" + text[end:])
    to = ("--to", newest_database.url, "--table", "numbers")
    inrush("load", file, *to).expect(REJECT_LIMIT, "the types were guessed from")


def test_a_code_that_no_sample_shows_is_a_reject(newest_database: Database, inrush: Inrush) -> None:
    pad = "x" * 990
    lines = [f"{number},{10_000 + number},{pad}\n" for number in range(40_000)]
    # The sample has no row of this place: it is between the last two sampled places.
    lines[39_600:39_602] = [f"39600,00010,{pad}\n", f"39601,+4312345,{pad}\n"]
    file = inrush.write("places.csv", "id,zip,note\n" + "".join(lines))
    url = newest_database.url
    load = ("load", file, "--to", url, "--table", "places")
    inrush(*load).expect(REJECT_LIMIT, '"00010": it begins with a zero', "the types were guessed")
    # A package with the same guess gives the same result.
    inrush("init", file, "--to", url, "--table", "places").expect(CLEAN)
    assert "lossless = true" in (inrush.folder / "places.toml").read_text()
    inrush("run", "places.toml").expect(REJECT_LIMIT, '"00010": it begins with a zero')
    # Declared columns accept the number.
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
    # The table's own columns are also recognized in the files.
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
    inrush("load", named, *to).expect(CLEAN, "was taken as the header")
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
    # The sample has no row of this place: it is between the last two sampled places.
    lines[39_600] = f"39600,1,{pad}\n"
    file = inrush.write("flags.csv", "id,ok,note\n" + "".join(lines))
    url = newest_database.url
    load = ("load", file, "--to", url, "--table", "flags")
    said = inrush(*load).expect(REJECT_LIMIT, "the types were guessed from")
    said.expect(REJECT_LIMIT, "not one of the column's words")
    # A package with the same guess gives the same result.
    inrush("init", file, "--to", url, "--table", "flags").expect(CLEAN)
    written = (inrush.folder / "flags.toml").read_text()
    assert 'true_words = ["true"], false_words = ["false"]' in written
    inrush("run", "flags.toml").expect(REJECT_LIMIT, "not one of the column's words")
    # Declared columns accept PostgreSQL's words.
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


UNCLEAR = [
    ("amount", ["1.500", "12.750", "999.000"], "every dot is before exactly three digits"),
    ("code", ["12E45", "12345", "3E1"], "may be a code with an E in it"),
    ("word", ["101", "INF", "102"], "NaN or an infinity is among whole numbers"),
    ("grouped", ["1 500", "2 750", "7"], "separators between their digits"),
]


@pytest.mark.parametrize(("name", "values", "said"), UNCLEAR, ids=lambda value: str(value)[:12])
def test_numbers_that_read_in_two_ways_are_text_and_told(
    newest_database: Database, inrush: Inrush, name: str, values: list[str], said: str
) -> None:
    file = inrush.write("a.csv", "".join([f"id,{name}\n"] + [f"1,{value}\n" for value in values]))
    url = newest_database.url
    inrush("load", file, "--to", url, "--table", "direct").expect(CLEAN, said)
    inrush("init", file, "--to", url, "--table", "packed").expect(CLEAN, said)
    assert said in (inrush.folder / "packed.toml").read_text()
    inrush("check", "packed.toml").expect(CLEAN)
    inrush("run", "packed.toml").expect(CLEAN)
    for table in ("direct", "packed"):
        assert types(newest_database, table) == ["integer", "text"]
        rows = newest_database.rows(f"SELECT {name} FROM {table} ORDER BY 1")
        assert sorted(str(value) for (value,) in rows) == sorted(values)


def test_a_dot_that_no_sample_shows_is_a_reject(newest_database: Database, inrush: Inrush) -> None:
    pad = "x" * 990
    lines = [f"{number},{number % 900},{pad}\n" for number in range(40_000)]
    # The sample has no row of this place: it is between the last two sampled places.
    lines[39_600:39_602] = [f"39600,1.500,{pad}\n", f"39601,12E4,{pad}\n"]
    file = inrush.write("amounts.csv", "id,amount,note\n" + "".join(lines))
    load = ("load", file, "--to", newest_database.url, "--table", "t", "--max-rejects", "2")
    rejects = inrush(*load).expect(LOADED_WITH_REJECTS).rejects()
    assert [reject["value"] for reject in rejects] == ["1.500", "12E4"]


def test_a_header_with_empty_names_at_its_end(newest_database: Database, inrush: Inrush) -> None:
    text = "Minister,Date,Name,Purpose,,,,,\nAnn,Jan,Bob,Lunch,,,,,\nCy,Feb,Di,Tea,,,,,\n"
    file = inrush.write("meetings.csv", text)
    url = newest_database.url
    said = "was taken as the header only by its look"
    inrush("load", file, "--to", url, "--table", "direct").expect(CLEAN, said, "2 loaded")
    inrush("init", file, "--to", url, "--table", "packed").expect(CLEAN, said)
    inrush("run", "packed.toml").expect(CLEAN, "2 loaded")
    for table in ("direct", "packed"):
        rows = newest_database.rows(f"SELECT minister, date, name, purpose FROM {table} ORDER BY 1")
        assert rows == [("Ann", "Jan", "Bob", "Lunch"), ("Cy", "Feb", "Di", "Tea")]


R_TABLE = (
    '"mpg"{0}"cyl"{0}"name"\n"1"{0}21{0}6{0}"a b"\n"2"{0}22.8{0}4{0}"c"\n"3"{0}21.4{0}6{0}"d"\n'
)


@pytest.mark.parametrize("delimiter", [",", "\t", " ", ";"])
def test_row_names_of_r_are_a_column(
    newest_database: Database, inrush: Inrush, delimiter: str
) -> None:
    file = inrush.write("cars.txt", R_TABLE.format(delimiter))
    url = newest_database.url
    read = "4 read = 3 loaded + 0 rejected + 1 skipped"
    inrush("load", file, "--to", url, "--table", "direct").expect(CLEAN, "R's write.table", read)
    inrush("init", file, "--to", url, "--table", "packed").expect(CLEAN, "R's write.table")
    inrush("run", "packed.toml").expect(CLEAN, read)
    for table in ("direct", "packed"):
        rows = newest_database.rows(
            f"SELECT row_name, mpg::text, cyl, name FROM {table} ORDER BY 1"
        )
        assert rows == [(1, "21.0", 6, "a b"), (2, "22.8", 4, "c"), (3, "21.4", 6, "d")]
    # The same command finds nothing left to do.
    inrush("load", file, "--to", url, "--table", "direct").expect(CLEAN, "already loaded by run")
    # A table with other columns, or in another order, is not filled by position.
    for number, columns in enumerate(
        ("mpg numeric, cyl int, name text", "a int, b int, c int, d text")
    ):
        newest_database.execute(f"CREATE TABLE known{number} ({columns})")
        load = ("load", file, "--to", url, "--table", f"known{number}")
        inrush(*load).expect(USAGE, "the header has 3 names and the rows have 4 fields")
        assert newest_database.rows(f"SELECT * FROM known{number}") == []


UNNAMED = [
    "name,amount\nSmith,1,00\nJones,2,50\nBrown,3,75\n",
    "date,price\n2024-01-01,1,50\n2024-01-02,2,50\n",
    "city,state\nN1,S1,1\nN2,S2,2\n",
    '"name","amount"\n"Smith",1,00\n"Jones",2,50\n',
    "name,amount\nSmith,1,00\n",
    'id,amount\n"1",2,50\n"2",3,75\n',
    '"x","y"\n"1",2,50\n"2",3,75\n',
]


@pytest.mark.parametrize("text", UNNAMED, ids=range(len(UNNAMED)))
def test_a_header_that_lacks_some_name_is_refused(
    newest_database: Database, inrush: Inrush, text: str
) -> None:
    file = inrush.write("a.csv", text)
    load = ("load", file, "--to", newest_database.url, "--table", "t")
    said = "the header has 2 names and the rows have 3 fields: either"
    readings = ("row names", "the name of the last column is missing", "decimal comma")
    inrush(*load).expect(FAILED, said, *readings)
    inrush(*load, "--max-rejects", "100").expect(FAILED, said)
    inrush("init", *load[1:]).expect(CLEAN, said, *readings)
    assert newest_database.rows("SELECT to_regclass('t')::text") == [(None,)]
    # The fix in the message works.
    form = ("--format", "csv,skip_lines=1,no_header", "--columns", "a text, b text, c text")
    inrush(*load, *form).expect(CLEAN, f"{text.count(chr(10)) - 1} loaded")


def test_numbered_rows_of_r_without_quotes(newest_database: Database, inrush: Inrush) -> None:
    rows = [(row, row * 2, f"{row}.5") for row in range(1, 21)]
    lines = ["x y", *(" ".join(map(str, row)) for row in rows)]
    file = inrush.write("a.txt", "\n".join(lines) + "\n")
    to = ("--to", newest_database.url, "--table", "t")
    inrush("load", file, *to).expect(CLEAN, "R's write.table", "20 loaded")
    assert newest_database.rows("SELECT row_name, x, y::text FROM t ORDER BY 1") == rows


def test_a_declared_header_without_a_name_for_row_names_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    file = inrush.write("cars.csv", R_TABLE.format(","))
    newest_database.execute("CREATE TABLE known (mpg numeric, cyl int, name text)")
    to = ("--to", newest_database.url, "--format", "csv,header", "--max-rejects", "100")
    said = "the header has 3 names and the rows have 4 fields, as R's write.table writes them"
    inrush("load", file, *to, "--table", "t").expect(FAILED, said, "skip_lines=1")
    inrush("load", file, *to, "--table", "known").expect(USAGE, said, "skip_lines=1")
    columns = ("--columns", "mpg numeric, cyl int, name text")
    inrush("load", file, *to, "--table", "t", *columns).expect(USAGE, said, "skip_lines=1")
    assert newest_database.rows("SELECT * FROM known") == []
    # The fix in the hint works.
    form = ("--format", "csv,skip_lines=1,no_header", "--to", newest_database.url, "--table", "t")
    columns = ("--columns", "row_name text, mpg numeric, cyl int, name text")
    inrush("load", file, *form, *columns).expect(CLEAN, "3 loaded")
    # One row with an extra field is a reject, as before.
    file = inrush.write("ragged.csv", "mpg,cyl,name\n1,2,a\n3,4,b,c\n")
    inrush("load", file, *to, "--table", "known").expect(LOADED_WITH_REJECTS)


ENCODED = [
    ("windows-1252", "id,Größe\n1,5\n2,6\n3,7\n"),
    ("windows-1252", "Größe,Straße\nÄpfel,Öl\nBücher,Fußball\nTür,Käse\n"),
    ("Shift_JIS", "番号,名前\n1,山田太郎\n2,鈴木花子\n3,田中一\n"),
    ("GBK", "编号,姓名\n1,王小明\n2,李雷\n3,韩梅梅\n"),
    ("UTF-16LE", "番号,名前\n1,山田太郎\n2,鈴木花子\n"),
    ("UTF-16BE", "番号,名前\n1,山田太郎\n2,鈴木花子\n"),
]


@pytest.mark.parametrize(("encoding", "text"), ENCODED, ids=lambda value: str(value)[:12])
def test_text_that_is_not_utf8_is_told_with_its_encoding(
    newest_database: Database, inrush: Inrush, encoding: str, text: str
) -> None:
    file = inrush.write("a.csv", text.encode(encoding))
    load = ("load", file, "--to", newest_database.url, "--table", "t")
    said = ("a.csv", f"likely {encoding}", f"--format encoding={encoding}")
    inrush("init", file).expect(FAILED, *said)
    inrush(*load).expect(FAILED, *said)
    if not encoding.startswith("UTF-16"):
        inrush("init", file).expect(FAILED, "a.csv:1 (byte ", f"`{text.splitlines()[0]}`")
        # A declared header is reported with the same words.
        inrush(*load, "--format", "csv,header", "--columns", "a text, b text").expect(FAILED, *said)
    # The proposal in the message works.
    inrush(*load, "--format", f"encoding={encoding}").expect(CLEAN)
    expected = sorted(tuple(line.split(",")) for line in text.splitlines()[1:])
    rows = newest_database.rows("SELECT * FROM t")
    assert sorted(tuple(str(value) for value in row) for row in rows) == expected


def test_utf8_that_is_declared_as_another_encoding_is_told(
    newest_database: Database, inrush: Inrush
) -> None:
    file = inrush.write("a.csv", "id,name\n1,Ann\n2,Zoë\n")
    to = ("--columns", "id int, name text", "--to", newest_database.url)
    load = ("load", file, *to, "--format", "csv,header,encoding=windows-1252", "--table")
    said = ("a.csv is declared to be windows-1252, but is likely UTF-8", "`2,Zoë`", "`2,ZoÃ«`")
    inrush(*load, "t", "--save-package", "p.toml").expect(CLEAN, *said)
    inrush("check", "p.toml").expect(CLEAN, *said)
    # A file that has its declared format gets no note.
    inrush.write("a.csv", "id,name\n1,Ann\n2,Zoë\n".encode("windows-1252"))
    outcome = inrush(*load, "u").expect(CLEAN)
    assert "likely UTF-8" not in outcome.output + outcome.errors
    assert newest_database.rows("SELECT name FROM u ORDER BY id") == [("Ann",), ("Zoë",)]


@pytest.mark.parametrize("order", ["utf-16-be", "utf-16-le"])
def test_utf16_without_a_mark_shows_its_byte_order(
    newest_database: Database, inrush: Inrush, order: str
) -> None:
    file = inrush.write("a.csv", "id,name\n1,Ann\n2,Bob\n".encode(order))
    columns = ("--columns", "id int, name text", "--table", "t", "--to", newest_database.url)
    load = ("load", file, *columns, "--format")
    name = order.upper().replace("16-", "16")
    inrush(*load, "csv,header,encoding=utf-16").expect(CLEAN, f"is read as {name}", "2 loaded")
    assert newest_database.rows("SELECT id, name FROM t ORDER BY id") == [(1, "Ann"), (2, "Bob")]
    other = {"UTF-16BE": "utf-16le", "UTF-16LE": "utf-16be"}[name]
    inrush(*load, f"csv,header,encoding={other}").expect(FAILED, f"set it to {name}")
    file = inrush.write("b.csv", "番号".encode(order))
    short = ("load", file, *columns, "--format", "csv,no_header,encoding=utf-16")
    inrush(*short).expect(FAILED, "no byte order mark", '"UTF-16LE" or "UTF-16BE"')
