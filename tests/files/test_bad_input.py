"""Bad input: one clear message with the place, the right exit status, and an unchanged target."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.contents import state
from harness.packages import flow, package
from harness.servers import Database

TABLE = "CREATE TABLE people (id int NOT NULL, name varchar(5), born date)"
GOOD = "id,name,born\n1,Ann,2000-01-01\n2,Bob,2000-01-02\n"
CUT_GZIP = gzip.compress(GOOD.encode())[:-12]


def zipped(name: str, text: str) -> bytes:
    """Return an archive of one member."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr(name, text)
    return archive.getvalue()


def tarred(name: str, text: str, mode: str) -> bytes:
    """Return a tar archive of one member, compressed as the mode says."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as writer:  # type: ignore[call-overload]
        member = tarfile.TarInfo(name)
        member.size = len(text)
        writer.addfile(member, io.BytesIO(text.encode()))
    return archive.getvalue()


JOINED_ZIPS = zipped("a.csv", GOOD) + zipped("b.csv", GOOD.replace("1,", "3,"))
TAR_SAID = ("a tar archive", "tar -xf")
URL_THAT_TELLS = "postgresql://u:secret@x/y"


@dataclass(frozen=True)
class Fault:
    """A file with a fault, and its message."""

    name: str
    content: str | bytes
    status: int
    said: tuple[str, ...]
    file: str = "rows.csv"


FAULTS = [
    # Rows that do not fit are rejects, and the limit of rejects is 0.
    Fault("fewer_fields", GOOD + "3,Cy\n", REJECT_LIMIT, ("rows.csv:4", "2", "3")),
    Fault("more_fields", GOOD + "3,Cy,2000-01-01,x\n", REJECT_LIMIT, ("rows.csv:4", "4", "3")),
    Fault("not_a_number", GOOD + "x3,Cy,\n", REJECT_LIMIT, ("rows.csv:4", "id", "x3")),
    Fault("past_its_type", GOOD + "2147483648,Cy,\n", REJECT_LIMIT, ("rows.csv:4", "2147483648")),
    Fault("too_long", GOOD + "3,Cecilia,\n", REJECT_LIMIT, ("rows.csv:4", "name", "Cecilia")),
    Fault("no_such_day", GOOD + "3,Cy,2001-02-29\n", REJECT_LIMIT, ("rows.csv:4", "2001-02-29")),
    Fault("null_in_not_null", GOOD + ",Cy,\n", REJECT_LIMIT, ("rows.csv:4", "id")),
    Fault("not_utf8", GOOD.encode() + b"3,C\xff,\n", REJECT_LIMIT, ("rows.csv:4", "UTF-8")),
    Fault("nul_byte", GOOD + "3,C\0,\n", REJECT_LIMIT, ("rows.csv:4", "name")),
    Fault("stray_quote", GOOD + '3,C"y,\n', REJECT_LIMIT, ("rows.csv:4", "quote")),
    Fault("text_after_quote", GOOD + '3,"C"y,\n', REJECT_LIMIT, ("rows.csv:4", "quote")),
    Fault("unclosed_quote", GOOD + '3,"Cy,\n4,D,\n', REJECT_LIMIT, ("rows.csv:4", "quote")),
    Fault(
        "after_a_quoted_newline",
        'id,name,born\n1,"A\n\nn",\nx,Bob,\n',
        REJECT_LIMIT,
        ("rows.csv:5", "byte 23"),
    ),
    Fault(
        "trailing_delimiter_missing",
        "1|Ann|2000-01-01|\n2|Bob|2000-01-02\n",
        REJECT_LIMIT,
        ("rows.tbl:2", "|"),
        file="rows.tbl",
    ),
    # Faults of a whole file.
    Fault("empty_file", "", CLEAN, ("rows.csv", "empty")),
    Fault("truncated_gzip", CUT_GZIP, FAILED, ("rows.csv.gz",), "rows.csv.gz"),
    Fault("not_gzip", GOOD, FAILED, ("rows.csv.gz",), "rows.csv.gz"),
    Fault("joined_zips", JOINED_ZIPS, FAILED, ("`a.csv`", "joined", "one by one"), "rows.zip"),
    Fault("behind_a_zip", zipped("a", GOOD) + b"9,Z,\n", FAILED, ("5 bytes follow",), "a.zip"),
    Fault("tar", tarred("a.csv", GOOD, "w"), FAILED, TAR_SAID, "rows.tar"),
    Fault("tar_gz", tarred("a.csv", GOOD, "w:gz"), FAILED, TAR_SAID, "rows.tar.gz"),
    Fault("tgz", tarred("a.csv", GOOD, "w:gz"), FAILED, TAR_SAID, "rows.tgz"),
    Fault("tar_xz", tarred("a.csv", GOOD, "w:xz"), FAILED, TAR_SAID, "rows.tar.xz"),
    Fault("sqlite", b"SQLite format 3\0" + bytes(84), FAILED, ("an SQLite database",)),
    Fault("not_zstandard", GOOD, FAILED, ("rows.csv.zst",), "rows.csv.zst"),
    Fault("unknown_header", GOOD.replace("born", "birth"), USAGE, ("rows.csv: ", "birth")),
    Fault("header_twice", GOOD.replace("born", "name"), USAGE, ("name",)),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_faulty_file_changes_nothing(
    newest_database: Database, inrush: Inrush, fault: Fault
) -> None:
    newest_database.execute(TABLE)
    before = state(newest_database)
    file = inrush.write(fault.file, fault.content)
    words = ("load", file, "--to", newest_database.url, "--table", "people")
    inrush(*words).expect(fault.status, *fault.said)
    assert state(newest_database) == before


def test_the_same_command_loads_the_mended_file(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "people")
    inrush.write("rows.csv", GOOD + "x,Cy,\n")
    inrush(*words).expect(REJECT_LIMIT)
    inrush.write("rows.csv", GOOD + "3,Cy,\n")
    inrush(*words).expect(CLEAN)
    assert newest_database.value("SELECT array_agg(id ORDER BY id) FROM people") == [1, 2, 3]


def test_a_record_past_its_limit_stops_the_flow(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE notes (id int, note text)")
    before = state(newest_database)
    inrush.write("rows.csv", "id,note\n1,short\n2," + "x" * 200_000 + "\n3,short\n")
    text = package(
        newest_database.url,
        flow("notes", "rows.csv", format={"record_bytes_max": 100_000}),
    )
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(FAILED, "rows.csv:3", "record_bytes_max")
    assert state(newest_database) == before


def test_one_unclosed_quote_is_not_a_whole_file(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE notes (id int, note text)")
    rows = "".join(f"{n},note\n" for n in range(100_000))
    inrush.write("rows.csv", f'id,note\n1,"not closed\n{rows}')
    text = package(
        newest_database.url, flow("notes", "rows.csv", format={"record_bytes_max": 100_000})
    )
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(FAILED, "rows.csv:2", "quote")
    assert newest_database.value("SELECT count(*) FROM notes") == 0


def test_a_file_that_is_missing(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    before = state(newest_database)
    inrush("load", "no/such.csv", "--to", newest_database.url, "--table", "people").expect(
        FAILED, "no/such.csv"
    )
    assert state(newest_database) == before


def test_a_pattern_that_matches_nothing(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush("load", "none.*.csv", "--to", newest_database.url, "--table", "people").expect(
        FAILED, "none.*.csv"
    )


def test_a_folder_is_no_file(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    (inrush.folder / "rows.csv").mkdir()
    inrush("load", "rows.csv", "--to", newest_database.url, "--table", "people").expect(
        FAILED, "rows.csv", "folder"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_must_not_be_read(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", GOOD).chmod(0)
    inrush("load", "rows.csv", "--to", newest_database.url, "--table", "people").expect(
        FAILED, "rows.csv", "ermission"
    )


def test_a_target_without_the_column(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    before = state(newest_database)
    inrush.write("rows.csv", GOOD)
    columns = "id int, nmae text, born date"
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "people")
    inrush(*words, "--columns", columns).expect(USAGE, "nmae", "name")
    assert state(newest_database) == before


def test_a_target_that_is_not_there(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.csv", GOOD)
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "peple")
    inrush(*words, "--mode", "append").expect(FAILED, "peple", "create")
    assert state(newest_database) == []


def test_a_target_that_has_rows(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    newest_database.execute("INSERT INTO people VALUES (7, 'Old')")
    before = state(newest_database)
    inrush.write("rows.csv", GOOD)
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "people")
    inrush(*words).expect(FAILED, "people", "append")
    assert state(newest_database) == before
    inrush(*words, "--mode", "append").expect(CLEAN)
    assert newest_database.value("SELECT array_agg(id ORDER BY id) FROM people") == [1, 2, 7]


def test_a_value_that_the_server_refuses(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(
        "CREATE DOMAIN small AS int CHECK (VALUE < 10); CREATE TABLE numbers (id small)"
    )
    before = state(newest_database)
    inrush.write("rows.csv", "id\n1\n99\n")
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "numbers")
    inrush(*words).expect(REJECT_LIMIT, "rows.csv:3", "small_check")
    assert state(newest_database) == before


def test_a_row_that_breaks_a_key(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE numbers (id int PRIMARY KEY)")
    before = state(newest_database)
    inrush.write("rows.csv", "id\n1\n2\n1\n")
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "numbers")
    inrush(*words).expect(REJECT_LIMIT, "rows.csv:4", "(id)=(1)")
    assert state(newest_database) == before


MIXED = (
    "id,name,born\n"
    "1,Ann,2000-01-01\n"
    "x,Bob,2000-01-02\n"
    '3,"C\ny",2000-01-03\n'
    "4,Dorothea,\n"
    "5,Eve\n"
    "6,Flo,2000-13-01\n"
)


def mixed_package(database: Database, rows_max: int) -> str:
    return package(database.url, flow("people", "rows.csv", rejects={"rows_max": rows_max}))


def test_rejects_are_kept_with_their_places(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", MIXED)
    path = inrush.write("package.toml", mixed_package(newest_database, 4))
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert newest_database.rows("SELECT id, name FROM people ORDER BY id") == [
        (1, "Ann"),
        (3, "C\ny"),
    ]

    def place(line: str) -> int:
        return MIXED.encode().index(line.encode())

    keys = ("line", "byte_offset", "column", "value", "code")
    kept = outcome.rejects()
    assert [tuple(reject[key] for key in keys) for reject in kept] == [
        (3, place("x,Bob"), "id", "x", "syntax"),
        (6, place("4,Dor"), "name", "Dorothea", "too_long"),
        (7, place("5,Eve"), None, None, "field_count"),
        (8, place("6,Flo"), "born", "2000-13-01", "out_of_range"),
    ]
    for reject in kept:
        assert Path(reject["file"]).name == "rows.csv"
        assert reject["reason"]


def test_the_account_holds(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", MIXED)
    path = inrush.write("package.toml", mixed_package(newest_database, 4))
    report: dict[str, Any] = inrush("run", path).expect(LOADED_WITH_REJECTS).report
    account = report["account"]
    assert account == report["tables"][0]["account"]
    parts = [account[f"rows_{part}"] for part in ("loaded", "rejected", "skipped")]
    assert account["rows_read"] == sum(parts)
    assert parts == [2, 4, 0]


def test_a_header_without_the_column_is_told_with_its_file(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("empty.csv", "")
    inrush.write("rows.csv", GOOD)
    columns = ["id int", "name text", "birth date", "* skip"]
    files = ["empty.csv", "rows.csv"]
    path = inrush.write(
        "package.toml", package(newest_database.url, flow("people", files, columns=columns))
    )
    inrush("run", path).expect(USAGE, 'rows.csv: the header has no field "birth"')


@pytest.mark.parametrize(
    ("rows_max", "said"),
    [(0, "1 row was rejected; the limit is 0"), (1, "more than 1 row was rejected")],
)
def test_the_limit_is_told_without_a_count_of_chance(
    newest_database: Database, inrush: Inrush, rows_max: int, said: str
) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", "id,name,born\n" + "x,Bob,2000-01-02\n" * 900)
    inrush.write("package.toml", mixed_package(newest_database, rows_max))
    outcome = inrush("run", "package.toml").expect(REJECT_LIMIT, said)
    assert "900" not in outcome.errors


def test_past_the_limit_nothing_is_switched(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    before = state(newest_database)
    inrush.write("rows.csv", MIXED)
    path = inrush.write("package.toml", mixed_package(newest_database, 3))
    inrush("run", path).expect(REJECT_LIMIT)
    assert state(newest_database) == before


def test_mended_rejects_can_be_loaded(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", MIXED)
    path = inrush.write("package.toml", mixed_package(newest_database, 4))
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    (kept,) = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
    text = kept.read_text()
    for wrong, right in (
        ("x,Bob", "2,Bob"),
        ("Dorothea", "Dora"),
        ("5,Eve", "5,Eve,"),
        ("2000-13-01", "2000-12-01"),
    ):
        assert wrong in text
        text = text.replace(wrong, right)
    shutil.rmtree(inrush.folder / "runs")
    file = inrush.write("mended.csv", text)
    words = ("load", file, "--to", newest_database.url, "--table", "people", "--mode", "append")
    inrush(*words).expect(CLEAN)
    assert newest_database.value("SELECT array_agg(id ORDER BY id) FROM people") == [
        1, 2, 3, 4, 5, 6,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("load",), ("--to",)),
        (("load", "rows.csv"), ("--to",)),
        (("lode",), ("load",)),
        (("load", "rows.csv", "--to", "postgresql://x", "--tabel", "t"), ("--table",)),
        (("load", "rows.csv", "--to", "mysql://x/y", "--table", "t"), ("mysql",)),
        (("load", "rows.csv", "--to", URL_THAT_TELLS, "--table", "t"), ("PGPASSWORD",)),
        (("run", "none.toml"), ("none.toml",)),
    ],
)  # fmt: skip
def test_usage(inrush: Inrush, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    outcome = inrush(*words).expect(USAGE, *said)
    assert "secret" not in outcome.said


def test_another_header_is_seen_before_anything_is_loaded(
    newest_database: Database, inrush: Inrush
) -> None:
    """Otherwise rows that are written directly to the target would stay there."""
    newest_database.execute("CREATE TABLE people (id int, name text)")
    inrush.write("rows.1.csv", "id,name\n1,Ann\n")
    inrush.write("rows.2.csv", "")
    inrush.write("rows.3.csv", "name,id\nBob,2\n")
    text = package(
        newest_database.url, flow("people", "rows.*.csv", mode="append", atomic=False), streams=1
    )
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(USAGE, "rows.3.csv: its header has name, id", "rows.1.csv has id, name")
    assert newest_database.value("SELECT count(*) FROM people") == 0
