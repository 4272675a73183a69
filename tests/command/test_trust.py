"""Packages from other people: code needs trust, and values in their SQL stay values."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

import inrush as inrush_module
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database

# A library that is not a driver, and that records that it was loaded.
WITNESS = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) {
    FILE *file = fopen(getenv("WITNESS"), "w");
    if (file) fclose(file);
}
"""


@pytest.fixture
def witness(inrush: Inrush, monkeypatch: pytest.MonkeyPatch) -> Path:
    return witness_in(inrush, monkeypatch)


def witness_in(inrush: Inrush, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a library beside the packages, and return the file that it writes when it is loaded."""
    compiler = shutil.which("cc")
    assert compiler is not None
    source = inrush.write("x.c", WITNESS)
    library = inrush.folder / "x.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    file = inrush.folder / "witness"
    monkeypatch.setenv("WITNESS", str(file))
    return file


def brought(inrush: Inrush, connection: dict[str, Value]) -> Path:
    inrush.write("rows.csv", "id,name\n1,a\n")
    columns = ["id int", "name text"]
    return inrush.write("p.toml", package(connection, flow("t", "rows.csv", columns=columns)))


CONNECTIONS: dict[str, dict[str, Value]] = {
    "url": {"url": "adbc:./x.so", "options": {"uri": "x"}},
    "option": {"url": "x.duckdb", "options": {"driver": "./x.so"}},
}


@pytest.mark.parametrize("way", CONNECTIONS)
@pytest.mark.parametrize("command", ["check", "run", "preflight", "status", "cleanup"])
def test_no_command_loads_code_that_a_package_brings(
    inrush: Inrush, witness: Path, command: str, way: str
) -> None:
    path = brought(inrush, CONNECTIONS[way])
    inrush(command, path).expect(USAGE, "p.toml:", "loads code", "--trust")
    assert not witness.exists()
    inrush(command, path, "--trust")
    assert witness.exists()


def test_a_program_says_trust_too(inrush: Inrush, witness: Path) -> None:
    path = brought(inrush, CONNECTIONS["url"])
    with pytest.raises(inrush_module.InrushError) as error:
        inrush_module.run(path, runs_folder=inrush.folder / "runs")
    assert error.value.exit_status == USAGE
    assert "trust=True" in str(error.value)
    assert not witness.exists()
    with pytest.raises(inrush_module.InrushError):
        inrush_module.run(path, runs_folder=inrush.folder / "runs", trust=True)
    assert witness.exists()


def test_rejects_of_a_foreign_run_load_no_code(inrush: Inrush, witness: Path) -> None:
    brought(inrush, CONNECTIONS["url"])
    text = package(CONNECTIONS["url"], flow("t", "rows.csv", name="t", columns=["id int"]))
    inrush.write("runs/foreign/package.toml", text)
    inrush.write("runs/foreign/rejects/t.0123456789abcdef.rejects", "id\n1\n")
    inrush.write("runs/foreign/rejects/t.0123456789abcdef.jsonl", "")
    inrush("rejects", "replay", "foreign").expect(USAGE, "--trust")
    assert not witness.exists()


@pytest.mark.parametrize("file", ["postgresql.conf", "postgresql.auto.conf"])
@pytest.mark.parametrize(
    "setting",
    ["shared_preload_libraries", "session_preload_libraries", "restore_command"],
)
def test_the_configuration_of_a_data_folder_loads_no_code(
    servers_folder: Path, monkeypatch: pytest.MonkeyPatch, setting: str, file: str
) -> None:
    """A data folder that came with the package starts without loading code from its own files."""
    # The server's user must be able to enter the folder and to write the evidence.
    folder = servers_folder / f"trust-{setting}-{file}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    inrush = Inrush(folder)
    witness = witness_in(inrush, monkeypatch)
    path = brought(inrush, {"url": "embedded:data"})
    inrush("run", path).expect(CLEAN)
    value = inrush.folder / "x.so"
    line = f"{setting} = 'touch {witness}'" if "command" in setting else f"{setting} = '{value}'"
    with (inrush.folder / "data" / file).open("a") as configuration:
        configuration.write(f"\n{line}\n")
    inrush("check", path).expect(CLEAN)
    inrush("run", path).expect(CLEAN)
    assert not witness.exists()


def test_what_the_command_names_needs_no_trust(inrush: Inrush) -> None:
    """Neither an installed driver nor one that an argument names by its path needs trust."""
    spec = importlib.util.find_spec("adbc_driver_sqlite")
    assert spec is not None
    assert spec.origin is not None
    library = Path(spec.origin).with_name("libadbc_driver_sqlite.so")
    path = brought(inrush, {"url": "adbc:sqlite", "options": {"uri": "x.sqlite"}})
    inrush("check", path).expect(CLEAN)
    inrush("check", path, "--connection", f"target=adbc:{library}").expect(CLEAN)
    option = ("--option", "uri=y.sqlite", "--table", "t", "--columns", "id int, name text")
    inrush("load", "rows.csv", "--to", f"adbc:{library}", *option).expect(CLEAN)


COLUMNS = ["id int", "day text"]
ATTACKS = [
    "x'; DELETE FROM kept; --",
    "x' OR 'a' = 'a",
    "x\\'; DELETE FROM kept; --",
    '"; DELETE FROM kept; --',
    "1 OR true",
    "$$; DELETE FROM kept; --",
]


def with_day(inrush: Inrush, database: Database, statement: str) -> Path:
    inrush.write("rows.csv", "id,day\n1,a\n")
    database.execute(
        "CREATE TABLE t (id int, day text); CREATE TABLE kept (day text);"
        "INSERT INTO kept VALUES ('a'), ('b')"
    )
    text = package(
        database.url,
        flow("t", "rows.csv", columns=COLUMNS, mode="append", pre_sql=statement),
    )
    text = text.replace("[connections", '[parameters]\nday = "a"\n\n[connections', 1)
    return inrush.write("p.toml", text)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("bare", ["'{day}'", "{day}"])
def test_a_value_is_no_sql(
    newest_database: Database, inrush: Inrush, attack: str, bare: str
) -> None:
    path = with_day(inrush, newest_database, f"DELETE FROM kept WHERE day = {bare}")
    if bare == "'{day}'" and not set(attack) & {"'", "\\"}:
        # In quotes, a value without a quote is still a text.
        inrush("run", path, "--set", f"day={attack}").expect(CLEAN)
    else:
        outcome = inrush("run", path, "--set", f"day={attack}")
        outcome.expect(USAGE, "--set day", "{day:literal}", "{day:identifier}")
    assert newest_database.rows("SELECT day FROM kept ORDER BY day") == [("a",), ("b",)]


# Statements with misleading quotes and comments, and values that exploited them.
HIDDEN = [
    ("DELETE FROM kept WHERE day = '{day:literal}'", " OR day=day -- "),
    ("/* don't keep */ DELETE FROM kept WHERE length(day) = {day}", "1 OR true"),
    ("DELETE FROM kept WHERE day <> E'it\\\\'s' AND length(day) = {day}", "1 OR true"),
    ("DELETE FROM kept WHERE length(day) = 3-{day} AND day = 'none'", "-1"),
    ("DELETE FROM kept WHERE length(day) = {day}", "length(day)"),
    ("DELETE FROM kept WHERE day = {day}", "day"),
    ("DELETE FROM kept WHERE day <> $$it's$$ AND length(day) = {day}", "1 OR true"),
    ('DELETE FROM kept AS \\"O\'x\\" WHERE day = {day}', "day"),
    ("DELETE FROM kept AS \\\"{day}\\\" WHERE day = 'none'", 'x" WHERE true --'),
    ("DELETE FROM kept WHERE day = $${day}$$", "$$ OR true OR day = $$"),
    ("/* {day} */ SELECT 1", "*/ DELETE FROM kept /*"),
    ("-- {day}\\nSELECT 1", "x\nDELETE FROM kept; --"),
    ("DELETE FROM kept WHERE day = 'none'{day:literal}", " OR true --"),
]


@pytest.mark.parametrize(("statement", "attack"), HIDDEN)
def test_a_value_is_no_sql_wherever_it_stands(
    newest_database: Database, inrush: Inrush, statement: str, attack: str
) -> None:
    path = with_day(inrush, newest_database, "SELECT 1")
    text = path.read_text()
    assert text.count('"SELECT 1"') == 1
    path.write_text(text.replace('"SELECT 1"', f'"{statement}"'))
    for command in ("check", "run"):
        outcome = inrush(command, path, "--set", f"day={attack}")
        outcome.expect(USAGE, "{day:literal}")
    assert newest_database.rows("SELECT day FROM kept ORDER BY day") == [("a",), ("b",)]


@pytest.mark.parametrize(
    "value", ["2024/01/02", "a/b", "a@b.c", "50%", "", 'say "x" -- /* $$; größe 日本', "{who}"]
)
def test_in_plain_quotes_a_value_is_a_text(
    newest_database: Database, inrush: Inrush, value: str
) -> None:
    path = with_day(inrush, newest_database, "INSERT INTO kept VALUES ('<{day}>')")
    inrush("run", path, "--set", f"day={value}").expect(CLEAN)
    assert newest_database.rows("TABLE kept") == [("a",), ("b",), (f"<{value}>",)]


@pytest.mark.parametrize("value", ["1", "-1", "1.5"])
def test_a_number_needs_no_quotes(newest_database: Database, inrush: Inrush, value: str) -> None:
    path = with_day(inrush, newest_database, "INSERT INTO kept VALUES (0 + {day})")
    inrush("run", path, "--set", f"day={value}").expect(CLEAN)
    assert newest_database.rows("TABLE kept") == [("a",), ("b",), (value,)]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_literal_is_the_value(newest_database: Database, inrush: Inrush, attack: str) -> None:
    path = with_day(inrush, newest_database, "INSERT INTO kept VALUES ({day:literal})")
    inrush("check", path, "--set", f"day={attack}").expect(CLEAN)
    inrush("run", path, "--set", f"day={attack}").expect(CLEAN)
    assert newest_database.rows("TABLE kept") == [("a",), ("b",), (attack,)]


def test_an_identifier_is_the_name(newest_database: Database, inrush: Inrush) -> None:
    odd = 'odd "; DELETE FROM kept; --'
    path = with_day(inrush, newest_database, "DELETE FROM {day:identifier}")
    quoted = odd.replace('"', '""')
    newest_database.execute(f'CREATE TABLE "{quoted}" (id int); INSERT INTO "{quoted}" VALUES (1)')
    inrush("run", path, "--set", f"day={odd}").expect(CLEAN)
    assert newest_database.rows(f'TABLE "{quoted}"') == []
    assert newest_database.rows("TABLE kept") == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT {day:text}", "no form `text`"),
        ("SELECT {dey:literal}", "unknown parameter"),
        ("SELECT {day:identifier}", "is empty"),
    ],
)
def test_forms_that_are_not_there(
    newest_database: Database, inrush: Inrush, statement: str, said: str
) -> None:
    path = with_day(inrush, newest_database, statement)
    inrush("check", path, "--set", "day=").expect(USAGE, said)


def test_the_packages_own_values_may_be_any_sql(newest_database: Database, inrush: Inrush) -> None:
    """The author of the value is also the author of the statement."""
    path = with_day(inrush, newest_database, "DELETE FROM kept WHERE {day}")
    path.write_text(path.read_text().replace('day = "a"', "day = \"day = 'a' OR 'x' = 'y'\""))
    inrush("run", path).expect(CLEAN)
    assert newest_database.rows("TABLE kept") == [("b",)]


ELSEWHERE = [
    (("--to", "parquet:s3://key:secret9@bucket/x"), "`s3:`"),
    (("--to", "parquet:gs:bucket"), "`gs:`"),
    (("--to", "duckdb:md:db"), "`md:`"),
    (("--to", "md:db.duckdb"), "`md:`"),
    (("--to", "adbc:postgresql://u:secret9@h/d"), "`postgresql:`"),
    (("--to", "embedded:s3://key:secret9@bucket"), "`s3:`"),
    (("--to", "mysql://u:secret9@h/d"), "mysql"),
    (("--to", "embedded", "--runs-folder", "s3://key:secret9@bucket"), "`s3:`"),
    (("--to", "embedded", "--save-package", "gs://bucket/p.toml"), "`gs:`"),
]


@pytest.mark.parametrize(("words", "said"), ELSEWHERE)
def test_another_place_is_no_path(inrush: Inrush, words: tuple[str, ...], said: str) -> None:
    inrush.write("rows.csv", "id\n1\n")
    before = sorted(inrush.folder.rglob("*"))
    outcome = inrush("load", "rows.csv", "--table", "t", "--columns", "id int", *words)
    outcome.expect(USAGE)
    assert "secret9" not in outcome.said
    if "secret9" not in words[1] or words[0] != "--to":
        assert said in outcome.said
    assert sorted(inrush.folder.rglob("*")) == before
    # The URL is in a package, and may contain a password.
    if len(words) == 2:
        path = inrush.write("p.toml", package(words[1], flow("t", "rows.csv", columns=["id int"])))
        outcome = inrush("run", path).expect(USAGE, said)
        assert "secret9" not in outcome.said
        path.unlink()
        assert sorted(inrush.folder.rglob("*")) == before


@pytest.mark.parametrize(
    "file", ["s3://key:secret9@bucket/x.csv", "https://u:secret9@h/x.csv", "hdfs:/x", "file:///x"]
)
def test_files_of_another_place_are_told(inrush: Inrush, file: str) -> None:
    scheme = file.split(":")[0]
    outcomes = [
        inrush("load", file, "--to", "x.duckdb", "--table", "t").expect(USAGE, f"`{scheme}:`"),
        inrush("init", file, "--to", "x.duckdb", "--table", "t").expect(USAGE, f"`{scheme}:`"),
        inrush("verify", "--split", file).expect(USAGE, f"`{scheme}:`"),
        inrush("check", file).expect(USAGE, f"`{scheme}:`"),
    ]
    for outcome in outcomes:
        assert "secret9" not in outcome.said


def test_a_folder_with_such_a_name_is_written_so(inrush: Inrush) -> None:
    inrush.write("s3:/rows.csv", "id\n1\n")
    words = ("--table", "t", "--columns", "id int")
    inrush("load", "./s3:/rows.csv", "--to", "parquet:./gs:/lake", *words).expect(CLEAN)
    assert list((inrush.folder / "gs:/lake/t").rglob("*.parquet"))
    # A file whose name only begins like a URL's scheme needs no `./`.
    inrush.write("log:1.csv", "id\n1\n")
    inrush("load", "log:1.csv", "--to", "x.duckdb", *words).expect(CLEAN)
    inrush("load", "missing.csv", "--to", "x.duckdb", *words).expect(FAILED, "missing.csv")


def test_duckdb_in_memory_is_refused(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id\n1\n")
    words = ("--table", "t", "--columns", "id int")
    outcome = inrush("load", "rows.csv", "--to", "duckdb::memory:", *words)
    outcome.expect(USAGE, "in memory", "duckdb:sales.duckdb")
    assert not (inrush.folder / ":memory:").exists()


def test_a_name_with_a_colon_that_is_there_already_is_a_path(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id\n1\n")
    words = ("--table", "t", "--columns", "id int")
    for new in ("parquet:lake:2024", "x:y.duckdb", "duckdb:x:z"):
        inrush("load", "rows.csv", "--to", new, *words).expect(USAGE, "./")
    (inrush.folder / "lake:2024").mkdir()
    inrush("load", "rows.csv", "--to", "parquet:lake:2024", *words).expect(CLEAN)
    assert list((inrush.folder / "lake:2024/t").rglob("*.parquet"))
    inrush("load", "rows.csv", "--to", "./x:y.duckdb", *words).expect(CLEAN)
    inrush("load", "rows.csv", "--to", "x:y.duckdb", *words).expect(CLEAN, "already loaded")
    # A folder with this name is not a bucket.
    (inrush.folder / "s3:" / "bucket").mkdir(parents=True)
    inrush("load", "rows.csv", "--to", "parquet:s3://bucket", *words).expect(USAGE, "`s3:`")
