"""The formats of files: presets, quotes, line ends, compression, headers."""

from __future__ import annotations

import gzip
import random
from decimal import Decimal
from pathlib import Path

import pytest
import zstandard

from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush, Outcome
from harness.contents import assert_same_rows
from harness.packages import Value, flow, package
from harness.servers import Database

TABLE = "CREATE TABLE people (id int NOT NULL, name text, balance numeric(10,2))"

PEOPLE = [
    (1, "Ann", Decimal("1.50")),
    (2, None, Decimal("-0.01")),
    (3, "", None),
]


def gzipped(text: str) -> bytes:
    """Return a `.gz` without a time, so that parallel test processes agree on names of tests."""
    return gzip.compress(text.encode(), mtime=0)


CSV = 'id,name,balance\n1,Ann,1.50\n2,,-0.01\n3,"",\n'
TSV = "1\tAnn\t1.50\n2\t\\N\t-0.01\n3\t\t\\N\n"
# Two frames and two members, as in files that were joined with `cat`.
GZIP_MEMBERS = gzipped(CSV[:20]) + gzipped(CSV[20:])
ZSTD_FRAMES = zstandard.compress(CSV[:20].encode()) + zstandard.compress(CSV[20:].encode())


def people(database: Database) -> list[tuple[object, ...]]:
    return database.rows("SELECT * FROM people ORDER BY id")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.csv", CSV),
        ("people.tsv", TSV),
        ("no_last_newline.csv", CSV.removesuffix("\n")),
        ("no_last_newline.tsv", TSV.removesuffix("\n")),
        ("carriage_returns.csv", CSV.replace("\n", "\r\n")),
        ("carriage_returns.tsv", TSV.replace("\n", "\r\n")),
        ("carriage_returns_no_last.csv", CSV.replace("\n", "\r\n").removesuffix("\r\n")),
        ("byte_order_mark.csv", "\ufeff" + CSV),
        ("byte_order_mark.tsv", "\ufeff" + TSV),
        ("blank_lines.csv", CSV.replace("\n", "\n\n")),
        ("all_quoted.csv", '"id","name","balance"\n"1","Ann","1.50"\n2,,"-0.01"\n"3","",\n'),
        ("reordered.csv", 'balance,id,name\n1.50,1,Ann\n-0.01,2,\n,3,""\n'),
        ("people.csv.gz", gzipped(CSV)),
        ("members.csv.gz", GZIP_MEMBERS),
        ("people.csv.zst", zstandard.compress(CSV.encode())),
        ("frames.csv.zst", ZSTD_FRAMES),
        ("people.tsv.gz", gzipped(TSV)),
    ],
)
def test_spellings_of_the_same_rows(
    newest_database: Database, inrush: Inrush, name: str, content: str | bytes
) -> None:
    newest_database.execute(TABLE)
    file = inrush.write(name, content)
    inrush("load", file, "--to", newest_database.url, "--table", "people").expect(CLEAN)
    assert people(newest_database) == PEOPLE


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.tbl", "1|Ann|1.50|\n2||-0.01|\n"),
        ("people.tbl.1", "1|Ann|1.50|\n2||-0.01|\n"),
        ("people.tbl.gz", gzipped("1|Ann|1.50|\n2||-0.01|\n")),
        ("no_last_newline.tbl", "1|Ann|1.50|\n2||-0.01|"),
        ("carriage_returns.tbl", "1|Ann|1.50|\r\n2||-0.01|\r\n"),
    ],
)
def test_the_form_of_dbgen(
    newest_database: Database, inrush: Inrush, name: str, content: str | bytes
) -> None:
    newest_database.execute(TABLE)
    file = inrush.write(name, content)
    inrush("load", file, "--to", newest_database.url, "--table", "people").expect(CLEAN)
    assert people(newest_database) == PEOPLE[:2]


def test_the_format_is_named(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    file = inrush.write("people.txt", TSV)
    words = ("load", file, "--to", newest_database.url, "--table", "people", "--format", "tsv")
    inrush(*words).expect(CLEAN)
    assert people(newest_database) == PEOPLE


def test_quoted_fields_hold_anything(database: Database, inrush: Inrush) -> None:
    text = (
        "id,value\n"
        '1,"two\nlines"\n'
        '2,"a ""quote"" and a comma, here"\n'
        '3,"\r\n"\n'
        '4,""""\n'
        '5,"\n\n\n"\n'
        "6, blanks stay \n"
        "7,\\N\n"
        "8,NULL\n"
        '9,"äöü€😀"\n'
    )
    database.execute(
        "CREATE TABLE expected (id int, value text); CREATE TABLE loaded (LIKE expected)"
    )
    file = inrush.write("rows.csv", text)
    database.psql(f"\\copy expected FROM '{file}' (FORMAT csv, HEADER)")
    inrush("load", file, "--to", database.url, "--table", "loaded").expect(CLEAN)
    assert_same_rows(database, "loaded", "expected", "id")
    assert database.value("SELECT value FROM loaded WHERE id = 5") == "\n\n\n"


def random_csv(rows: int, seed: int) -> str:
    """Return rows whose fields are quoted or unquoted, and long or short, at random."""
    numbers = random.Random(seed)  # noqa: S311
    alphabet = ["a", "é", "😀", " ", ",", '"', "\n", "\r\n", "\\", "|", "\t", "x" * 50]
    lines = ["id,first,second"]
    for row in range(rows):
        fields = [str(row)]
        for _ in range(2):
            length = numbers.choice((0, 1, 3, 30, 400))
            value = "".join(numbers.choices(alphabet, k=length))
            if any(special in value for special in ',"\n') or numbers.random() < 0.3:
                value = '"' + value.replace('"', '""') + '"'
            fields.append(value)
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def compressed(text: str, suffix: str) -> bytes:
    """Return a text in the form of files with this suffix."""
    if suffix == ".gz":
        return gzipped(text)
    if suffix == ".zst":
        return zstandard.compress(text.encode())
    return text.encode()


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_records_across_chunks(
    newest_database: Database, inrush: Inrush, streams: int, suffix: str
) -> None:
    database = newest_database
    database.execute(
        "CREATE TABLE expected (id int, first text, second text);"
        "CREATE TABLE loaded (LIKE expected)"
    )
    for part in range(2):
        text = random_csv(3000, seed=part)
        plain = inrush.write(f"plain/{part}.csv", text)
        database.psql(f"\\copy expected FROM '{plain}' (FORMAT csv, HEADER)")
        inrush.write(f"parts/{part}.csv{suffix}", compressed(text, suffix))
    # This is the smallest allowed chunk, so many records extend over two chunks.
    text = package(
        database.url,
        flow("loaded", f"parts/*.csv{suffix}"),
        streams=streams,
        chunk_bytes=65536,
        batch_rows=64,
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert_same_rows(database, "loaded", "expected", "id, first, second")


@pytest.mark.parametrize(
    ("settings", "content"),
    [
        ({"preset": "csv", "delimiter": ";"}, 'id;name;balance\n1;"A;B";1\n'),
        ({"preset": "csv", "quote": "'"}, "id,name,balance\n1,'A;B',1\n"),
        ({"preset": "csv", "escape": "\\"}, 'id,name,balance\n1,"A\\;B",1\n'),
        ({"preset": "csv", "header": False}, "1,A;B,1\n"),
        ({"preset": "csv", "null": "-"}, "id,name,balance\n1,A;B,1\n2,-,-\n"),
        ({"preset": "tbl", "trailing_delimiter": False}, "1|A;B|1\n"),
        ({"preset": "tbl", "header": True}, "id|name|balance|\n1|A;B|1|\n"),
        ({"preset": "tsv", "delimiter": "\u0001"}, "1\u0001A;B\u00011\n"),
        ({"preset": "tsv", "null": ""}, "1\tA;B\t1\n2\t\t\n"),
    ],
)
def test_settings_of_a_format(
    newest_database: Database,
    inrush: Inrush,
    settings: dict[str, str | int | bool],
    content: str,
) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.txt", content)
    text = package(newest_database.url, flow("people", "rows.txt", format=settings))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    expected = [(1, "A;B", Decimal("1.00"))]
    if content.count("2"):
        expected.append((2, None, None))  # type: ignore[arg-type]
    assert people(newest_database) == expected


def test_an_empty_text_is_not_null_where_nothing_stands_for_null(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute("CREATE TABLE people (id int, name text)")
    inrush.write("rows.txt", "id,name\n1,\n2,x\n")
    settings: dict[str, str | int | bool] = {"preset": "csv", "null": False}
    text = package(newest_database.url, flow("people", "rows.txt", format=settings))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert people(newest_database) == [(1, ""), (2, "x")]


def test_formats_of_dates_and_zones_are_declared(database: Database, inrush: Inrush) -> None:
    database.execute("CREATE TABLE events (day date, at timestamp, since timestamptz)")
    inrush.write(
        "rows.csv",
        "day,at,since\n31/12/2023,29.02.2024 23:59:58,2024-07-01 12:00:00\n,,2024-01-01 12:00:00\n",
    )
    flow_text = (
        '\n[[flow]]\ntable = "events"\nfiles = "rows.csv"\ncolumns = [\n'
        '  { name = "day", format = "%d/%m/%Y" },\n'
        '  { name = "at", format = "%d.%m.%Y %H:%M:%S" },\n'
        '  { name = "since", zone = "Europe/Vienna" },\n]\n'
    )
    inrush("run", inrush.write("package.toml", package(database.url, flow_text))).expect(CLEAN)
    assert database.rows(
        "SELECT day::text, at::text, (since AT TIME ZONE 'UTC')::text FROM events ORDER BY since"
    ) == [
        (None, None, "2024-01-01 11:00:00"),
        ("2023-12-31", "2024-02-29 23:59:58", "2024-07-01 10:00:00"),
    ]


def test_a_new_table_takes_its_columns_from_the_command(
    newest_database: Database, inrush: Inrush
) -> None:
    file = inrush.write("people.csv", CSV)
    columns = "id int not null, name text, balance numeric(10,2)"
    words = ("load", file, "--to", newest_database.url, "--table", "people", "--columns", columns)
    inrush(*words).expect(CLEAN)
    assert people(newest_database) == PEOPLE
    assert newest_database.rows(
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = 'people'::regclass AND attnum > 0 ORDER BY attnum"
    ) == [
        ("id", "integer", True),
        ("name", "text", False),
        ("balance", "numeric(10,2)", False),
    ]


def test_a_new_table_has_the_types_that_were_declared(database: Database, inrush: Inrush) -> None:
    database.execute(
        "CREATE SCHEMA own; CREATE DOMAIN own.positive AS int CHECK (VALUE > 0);"
        "CREATE TYPE mood AS ENUM ('sad', 'happy')"
    )
    types = [
        "own.positive", "mood", "numeric(38,5)", "numeric", "character varying(7)",
        "character(3)", "timestamp(3) without time zone", "timestamp with time zone",
        "interval day to second(2)", "integer[]", "inet", "double precision",
    ]  # fmt: skip
    columns = ", ".join(f"c{n} {type_name}" for n, type_name in enumerate(types))
    row = "1\thappy\t1.5\t1\tx\ty\t\\N\t\\N\t\\N\t{1}\t::1\t0.5\n"
    file = inrush.write("rows.tsv", row)
    words = ("load", file, "--to", database.url, "--table", "made", "--columns", columns)
    inrush(*words).expect(CLEAN)
    made = database.rows(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'made'::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert [name for (name,) in made] == types


def test_a_name_with_odd_characters_stays_a_name(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    newest_database.execute('CREATE SCHEMA "Od.d"; CREATE TABLE "Od.d"."ta""b;le" ("Sel ect" int)')
    file = inrush.write("rows.csv", "Sel ect\n1\n")
    assert file.parent == tmp_path
    words = ("load", file, "--to", newest_database.url, "--table", '"Od.d"."ta""b;le"')
    inrush(*words).expect(CLEAN)
    assert newest_database.rows('SELECT "Sel ect" FROM "Od.d"."ta""b;le"') == [(1,)]


def test_a_position_inside_a_character_is_a_reject(
    newest_database: Database, inrush: Inrush
) -> None:
    file = inrush.write("f.dat", "Ann Mueller DE\nJose GonzaléDE\nBob Ross    AT\n")
    form: dict[str, Value] = {
        "fixed": [[1, 12], [13, 2]],
        "header": False,
        "extra_fields": "ignore",
    }
    columns: Value = ["name text", "country text"]
    limit: Value = {"rows_max": 1}

    def load(form: Value, table: str) -> Outcome:
        written = flow(table, file, format=form, columns=columns, rejects=limit)
        return inrush("run", inrush.write("p.toml", package(newest_database.url, written)))

    outcome = load(form, "bytes").expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert (reject["line"], reject["column"], reject["code"]) == (2, "name", "invalid_utf8")
    assert "field 1 ends inside the character 'é'" in reject["reason"]
    assert "bytes 12 to 13 of the record" in reject["reason"]
    assert 'fixed_unit = "characters"' in reject["reason"]
    assert newest_database.rows("SELECT * FROM bytes ORDER BY name") == [
        ("Ann Mueller", "DE"),
        ("Bob Ross", "AT"),
    ]
    load({**form, "fixed_unit": "characters"}, "characters").expect(CLEAN)
    assert newest_database.rows("SELECT * FROM characters ORDER BY name") == [
        ("Ann Mueller", "DE"),
        ("Bob Ross", "AT"),
        ("Jose Gonzalé", "DE"),
    ]
