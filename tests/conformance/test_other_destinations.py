"""Guarantees of DuckDB, SQLite and Parquet files in addition to those of all destinations."""

from __future__ import annotations

import gzip
import importlib.util
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.duckdb_files import opened
from harness.packages import Value, flow, package

COLUMNS: list[Value] = ["id integer", "name text"]
LISTED = ("--columns", "id integer, name text")


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query in a file of DuckDB."""
    with opened(file, read_only=True) as connection:
        return connection.execute(query).fetchall()


def write(inrush: Inrush, name: str, *numbers: int) -> str:
    """Write a file with these numbers, and return its name."""
    lines = [f"{number},n{number}\n" for number in numbers]
    inrush.write(name, "id,name\n" + "".join(lines))
    return name


def test_who_looks_leaves_no_file(inrush: Inrush) -> None:
    write(inrush, "a.csv", 1)
    text = package({"url": "new.duckdb"}, flow("t", "a.csv", columns=COLUMNS))
    inrush("check", inrush.write("p.toml", text)).expect(CLEAN)
    inrush("status", "--to", "new.duckdb").expect(CLEAN, "no stopped runs")
    assert not (inrush.folder / "new.duckdb").exists()


def test_who_looks_takes_no_file_from_a_load(inrush: Inrush) -> None:
    write(inrush, "a.csv", 1, 2)
    words = ("load", "a.csv", "--to", "new.duckdb", "--table", "t", *LISTED)
    with inrush.stopped_by("stop:in_copy", *words) as running:
        inrush("status", "--to", "new.duckdb").expect(FAILED, str(running.process.pid))
        inrush(*words).expect(FAILED, str(running.process.pid))
        running.resume().wait().expect(CLEAN)
    assert rows(inrush.folder / "new.duckdb", "SELECT * FROM t ORDER BY id") == [
        (1, "n1"),
        (2, "n2"),
    ]


@pytest.mark.parametrize(
    ("settings", "run"),
    [({"atomic": False}, {}), ({}, {"staging": False})],
    ids=["atomic", "staging"],
)
def test_direct_writes_are_refused_before_what_they_need(
    inrush: Inrush, settings: dict[str, Value], run: dict[str, Any]
) -> None:
    """The message does not suggest `mode = "append"`, which would be refused in the same way."""
    write(inrush, "a.csv", 1)
    text = package("x.duckdb", flow("t", "a.csv", columns=COLUMNS, **settings), **run)
    outcome = inrush("check", inrush.write("p.toml", text)).expect(USAGE, "this destination cannot")
    assert "mode" not in outcome.said


def test_names_that_postgresql_reserves_are_free_elsewhere(inrush: Inrush) -> None:
    write(inrush, "a.csv", 1)
    one = flow("t", "a.csv", columns=COLUMNS)
    schemas = {"ledger_schema": "pg_ledger", "staging_schema": "pg_staging"}
    path = inrush.write("p.toml", package("x.duckdb", one, **schemas))
    inrush("run", path).expect(CLEAN)
    path = inrush.write("p.toml", package("postgresql://nobody@127.0.0.1:1/x", one, **schemas))
    inrush("check", path).expect(USAGE, "`pg_ledger`", "reserved by PostgreSQL")


def test_a_place_that_cannot_be_made_is_refused_with_the_fix(inrush: Inrush) -> None:
    write(inrush, "a.csv", 1)
    words = ("load", "a.csv", "--table", "t", *LISTED)
    outcome = inrush(*words, "--to", "adbc:sqlite", "--option", "uri=no/such/x.sqlite")
    outcome.expect(USAGE, "the folder no/such does not exist", "hint: make the folder")
    outcome = inrush(*words, "--to", "parquet:/proc/lake")
    outcome.expect(FAILED, "/proc/lake", "hint: check that the path is right")


@pytest.mark.parametrize("url", ["x.duckdb", "adbc:sqlite"])
def test_names_that_differ_in_case_are_one(inrush: Inrush, url: str) -> None:
    options = {} if url == "x.duckdb" else {"options": {"uri": "x.sqlite"}}
    write(inrush, "a.csv", 1)
    write(inrush, "b.csv", 2)
    flows = [flow("t", "a.csv", columns=COLUMNS), flow('"T"', "b.csv", columns=COLUMNS)]
    two = inrush.write("two.toml", package({"url": url, **options}, *flows))
    inrush("run", two).expect(USAGE, "is also the target of flow t")
    for table in ("t", '"T"'):
        one = flow(table, "a.csv", columns=COLUMNS)
        path = inrush.write("one.toml", package({"url": url, **options}, one, name="one"))
        outcome = inrush("run", path).expect(CLEAN)
    assert "already loaded" in outcome.said
    columns: list[Value] = ["a integer", '"A" text']
    odd = flow("odd", "a.csv", columns=columns, format={"header": False})
    path = inrush.write("odd.toml", package({"url": url, **options}, odd, name="odd"))
    inrush("run", path).expect(USAGE, "two spellings")


def test_a_column_without_a_type_is_refused(inrush: Inrush) -> None:
    with sqlite3.connect(inrush.folder / "x.sqlite") as connection:
        connection.execute("CREATE TABLE t (id, name text)")
    connection.close()
    words = ("--to", "adbc:sqlite", "--option=uri=x.sqlite", "--table", "t", *LISTED)
    for mode in ("create", "append"):
        outcome = inrush("load", write(inrush, "a.csv", 1), *words, "--mode", mode)
        outcome.expect(USAGE, 'column `id` of "t" has no type', "another type")


def test_rows_that_others_replaced_are_loaded_again(inrush: Inrush) -> None:
    write(inrush, "a.csv", 1, 2)
    write(inrush, "b.csv", 8, 9)
    for name, file in [("one", "a.csv"), ("two", "b.csv"), ("one", "a.csv")]:
        text = package({"url": "x.duckdb"}, flow("t", file, columns=COLUMNS, mode="replace"))
        path = inrush.write(f"{name}.toml", text.replace('"test"', f'"{name}"'))
        inrush("run", path).expect(CLEAN)
    assert rows(inrush.folder / "x.duckdb", "SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_files_that_were_taken_out_do_not_come_twice(inrush: Inrush) -> None:
    names = [write(inrush, f"{number}.csv", number) for number in range(3)]
    words = ("load", *names, "--to", "parquet:lake", "--table", "t", *LISTED)
    inrush(*words).expect(CLEAN)
    table = inrush.folder / "lake/t"
    sorted(table.glob("*.parquet"))[0].unlink()
    inrush(*words).expect(CLEAN, "already loaded")
    assert pq.read_table(table).num_rows == 2


def test_a_partition_that_is_written_otherwise_is_no_other_one(inrush: Inrush) -> None:
    write(inrush, "a.csv", 1)
    replace: dict[str, Value] = {"scope": "partitions"}
    of = flow("t", "a.csv", columns=COLUMNS, partition_by="id", mode="replace", replace=replace)
    path = inrush.write("p.toml", package({"url": "parquet:lake"}, of))
    inrush("run", path).expect(CLEAN)
    table = inrush.folder / "lake/t"
    (table / "id=1").rename(table / "id=01")
    write(inrush, "a.csv", 1, 2)
    inrush("run", path).expect(FAILED, '"id=01"', '"id=1"')
    assert {folder.name for folder in table.glob("id=*")} == {"id=01"}


def test_rows_that_a_table_puts_in_the_place_of_others_are_told(inrush: Inrush) -> None:
    file = inrush.folder / "x.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY ON CONFLICT REPLACE, name text)")
        connection.execute("INSERT INTO t VALUES (2, 'old')")
    write(inrush, "a.csv", 1, 2)
    words = ("load", "a.csv", "--to", "adbc:sqlite", "--option", "uri=x.sqlite", "--table", "t")
    inrush(*words, "--mode", "append").expect(FAILED, "ON CONFLICT")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT * FROM t").fetchall() == [(2, "old")]


def test_passwords_of_drivers_stay_unseen(inrush: Inrush, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_URI", "postgresql://bob:hun@ter2pw@127.0.0.1:1/db")
    write(inrush, "a.csv", 1)
    words = ("load", "a.csv", "--to", "adbc:postgresql", "--table", "t", *LISTED)
    outcome = inrush(*words, "--option", "uri=${env:SECRET_URI}").expect(USAGE)
    assert "ter2pw" not in outcome.said
    inrush(*words, "--option", "uri=postgresql://bob:pw@h/d").expect(USAGE, "--option uri")
    inrush(*words, "--option", "sas=abc").expect(USAGE, "is a secret")


def test_options_come_with_what_is_saved(inrush: Inrush, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILE_OF_SQLITE", "x.sqlite")
    inrush.write("a.csv", "id,name\n1,a\nx,b\n")
    words = ("load", "a.csv", "--to", "adbc:sqlite", "--table", "t", *LISTED)
    option = ("--option", "uri=${env:FILE_OF_SQLITE}")
    saved = inrush(*words, *option, "--max-rejects", "1", "--save-package", "saved.toml")
    saved.expect(LOADED_WITH_REJECTS)
    assert "${env:FILE_OF_SQLITE}" in (inrush.folder / "saved.toml").read_text()
    [rejects] = inrush.folder.glob("runs/*/rejects/*.rejects")
    rejects.write_text(rejects.read_text().replace("x,b", "2,b"))
    inrush("rejects", "replay", rejects.parents[1].name).expect(CLEAN)
    with sqlite3.connect(inrush.folder / "x.sqlite") as connection:
        found = connection.execute("SELECT * FROM t ORDER BY id").fetchall()
    assert found == [(1, "a"), (2, "b")]
    inrush("status", "--to", "adbc:sqlite", *option).expect(CLEAN, "no stopped runs")


def library_of(module: str) -> Path:
    """Return a file of a Python package: the package's own library, or a driver's library."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


@pytest.mark.parametrize("form", ["package", "library", "manifest", "name of a manifest"])
def test_a_driver_by_its_name_its_library_and_its_manifest(inrush: Inrush, form: str) -> None:
    library = library_of("adbc_driver_sqlite").with_name("libadbc_driver_sqlite.so")
    manifest = (
        'manifest_version = 1\nname = "SQLite"\nversion = "1"\n\n[ADBC]\nversion = "1.1.0"\n\n'
        f'[Driver]\nshared = "{library}"\n'
    )
    inrush.write("drivers/some_database.toml", manifest)
    driver = {
        "package": "sqlite",
        "library": str(library),
        "manifest": "drivers/some_database.toml",
        "name of a manifest": "some_database",
    }[form]
    write(inrush, "a.csv", 1, 2)
    words = ("load", "a.csv", "--to", f"adbc:{driver}", "--option", "uri=x.sqlite", "--table", "t")
    # The folder in which manifests are searched by name.
    environment = {"ADBC_DRIVER_PATH": str(inrush.folder / "drivers")}
    inrush(*words, *LISTED, environment=environment).expect(CLEAN)
    with sqlite3.connect(inrush.folder / "x.sqlite") as connection:
        found = connection.execute("SELECT * FROM t ORDER BY id").fetchall()
    assert found == [(1, "n1"), (2, "n2")]


@pytest.mark.parametrize("form", ["as a driver", "library", "another entry point"])
def test_duckdb_as_any_driver_and_by_its_library(inrush: Inrush, form: str) -> None:
    library = library_of("_duckdb")
    to: tuple[str, ...] = {
        "as a driver": ("adbc:duckdb", "--option", "path=x.duckdb"),
        "library": ("x.duckdb", "--option", f"driver={library}"),
        "another entry point": (
            f"adbc:{library}",
            *("--option", "path=x.duckdb", "--option", "entrypoint=duckdb_adbc_init"),
        ),
    }[form]
    write(inrush, "a.csv", 1, 2)
    inrush("load", "a.csv", "--to", *to, "--table", "t", *LISTED).expect(CLEAN)
    assert rows(inrush.folder / "x.duckdb", "SELECT * FROM t ORDER BY id") == [
        (1, "n1"),
        (2, "n2"),
    ]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("threads=many", "setting threads"),
        ("nosuch=1", "nosuch"),
        ("driver=nowhere.so", "nowhere.so"),
        # A library, but not DuckDB's.
        (
            f"driver={library_of('adbc_driver_sqlite').with_name('libadbc_driver_sqlite.so')}",
            "undefined symbol: duckdb_",
        ),
    ],
)
def test_options_that_duckdb_does_not_take_are_named(
    inrush: Inrush, option: str, said: str
) -> None:
    write(inrush, "a.csv", 1)
    words = ("load", "a.csv", "--to", "x.duckdb", "--table", "t", *LISTED, "--option", option)
    inrush(*words).expect(USAGE, said, "hint: ")
    assert not (inrush.folder / "x.duckdb").exists()


def test_another_library_of_duckdb_is_used_through_its_adbc_driver(inrush: Inrush) -> None:
    other = shutil.copy(library_of("_duckdb"), inrush.folder / "other.so")
    write(inrush, "a.csv", 1, 2)
    loads = flow("t", "a.csv", columns=COLUMNS)
    first = inrush.write("first.toml", package({"url": "first.duckdb"}, loads))
    connection: dict[str, Value] = {"url": "second.duckdb", "options": {"driver": str(other)}}
    second = inrush.write("second.toml", package(connection, loads))
    script = "import sys, inrush\nfor path in sys.argv[1:]:\n    inrush.run(path, trust=True)\n"
    words = (sys.executable, "-c", script, first, second)
    subprocess.run(words, cwd=inrush.folder, check=True)
    for name in ("first.duckdb", "second.duckdb"):
        found = rows(inrush.folder / name, "SELECT * FROM t ORDER BY id")
        assert found == [(1, "n1"), (2, "n2")], name


# DuckDB flushes row groups within a transaction once it has five of them, of 122,880 rows each.
ROWS_OF_A_UNIT = 700_000


@pytest.mark.parametrize("point", ["in_copy:18", "before_unit_commit", "unit_commit_sent:2"])
def test_a_kill_after_row_groups_of_duckdb_were_flushed(inrush: Inrush, point: str) -> None:
    for part in range(2):
        numbers = range(part * ROWS_OF_A_UNIT, (part + 1) * ROWS_OF_A_UNIT)
        inrush.write(f"{part}.csv", "".join(f"{number},n{number}\n" for number in numbers))
    columns: list[Value] = ["id integer", "name text"]
    load = flow("t", "*.csv", columns=columns, format={"header": False})
    path = inrush.write("p.toml", package({"url": "x.duckdb"}, load))
    died = inrush("run", path, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, f"{point} was not reached: {died.said}"
    inrush("run", path).expect(CLEAN)
    wanted = f"SELECT i::integer, 'n' || i FROM range({2 * ROWS_OF_A_UNIT}) r(i)"
    for one, other in [(wanted, "SELECT * FROM t"), ("SELECT * FROM t", wanted)]:
        difference = f"SELECT count(*) FROM (({one}) EXCEPT ALL ({other}))"
        assert rows(inrush.folder / "x.duckdb", difference) == [(0,)]


@pytest.mark.parametrize("url", ["x.duckdb", "parquet:lake"])
def test_a_plan_of_what_is_loaded_does_not_call_its_target_empty(inrush: Inrush, url: str) -> None:
    write(inrush, "a.csv", 1, 2)
    path = inrush.write("p.toml", package({"url": url}, flow("t", "a.csv", columns=COLUMNS)))
    inrush("run", path).expect(CLEAN)
    checked = inrush("check", path).expect(CLEAN, "loaded already by run")
    assert "empty" not in checked.said
    assert "the target already has these rows; nothing is changed" in checked.said


def test_an_append_whose_ledger_was_lost_is_refused(inrush: Inrush) -> None:
    """A Parquet table itself records which files of a package it has."""
    write(inrush, "a.csv", 1, 2)
    text = package(
        {"url": "parquet:lake"}, flow("t", "*.csv", columns=COLUMNS, mode="append"), streams=1
    )
    path = inrush.write("p.toml", text)
    first = text.replace('mode = "append"', 'mode = "create"').replace("*.csv", "z.csv")
    write(inrush, "z.csv", 0)
    inrush("run", inrush.write("first.toml", first.replace('"test"', '"first"'))).expect(CLEAN)
    (inrush.folder / "z.csv").unlink()
    inrush("run", path).expect(CLEAN)
    shutil.rmtree(inrush.folder / "lake/_inrush")
    inrush("run", path).expect(FAILED, "the ledger does not know", "--again")

    def numbers() -> list[int]:
        query = f"SELECT id FROM '{inrush.folder}/lake/t/*.parquet' ORDER BY id"
        with duckdb.connect() as connection:
            return [number for (number,) in connection.execute(query).fetchall()]

    assert numbers() == [0, 1, 2]
    # Other files of the package are not a repetition.
    (inrush.folder / "a.csv").unlink()
    write(inrush, "b.csv", 3)
    inrush("run", path).expect(CLEAN)
    assert numbers() == [0, 1, 2, 3]


def test_an_append_of_a_fed_file_whose_ledger_was_lost_is_refused(inrush: Inrush) -> None:
    """If one file was fed to all streams, the table's records name the file's ranges and unit."""
    numbers = random.Random("lost")  # noqa: S311
    lines = [f"{number},{numbers.randbytes(1_000).hex()}\n" for number in range(5_000)]
    inrush.write("large.csv.gz", gzip.compress(("id,name\n" + "".join(lines)).encode(), 1))
    made = flow("t", write(inrush, "z.csv", 0), columns=COLUMNS)
    inrush("run", inrush.write("z.toml", package({"url": "parquet:lake"}, made, name="z"))).expect(
        CLEAN
    )
    appended = flow("t", "large.csv.gz", columns=COLUMNS, mode="append")
    path = inrush.write("p.toml", package({"url": "parquet:lake"}, appended, streams=2))
    outcome = inrush("run", path).expect(CLEAN)
    assert outcome.report["units"][0]["shared"]
    shutil.rmtree(inrush.folder / "lake/_inrush")
    for streams in ("2", "1"):
        refused = inrush("run", path, "--streams", streams)
        refused.expect(FAILED, "the ledger does not know", "--again")


@pytest.mark.parametrize("option", [(), ("path=",), ("path=:memory:",)])
def test_a_database_in_memory_is_refused(inrush: Inrush, option: tuple[str, ...]) -> None:
    inrush.write("a.csv", "id,name\n1,a\n")
    words = ("load", "a.csv", "--to", "adbc:duckdb", "--table", "t", *LISTED)
    options = [word for value in option for word in ("--option", value)]
    inrush(*words, *options).expect(USAGE, "DuckDB would keep the rows in memory", "duckdb:FILE")


def test_the_file_of_a_driver_is_local(inrush: Inrush) -> None:
    inrush.write("a.csv", "id,name\n1,a\n")
    for driver, option in (
        ("sqlite", "uri=md:db"),
        ("sqlite", "uri=s3:x.db"),
        ("duckdb", "path=s3://b/x"),
        ("duckdb", "path=md:db"),
        ("duckdb", "path=~/x.duckdb"),
    ):
        words = ("load", "a.csv", "--to", f"adbc:{driver}", "--table", "t", *LISTED)
        inrush(*words, "--option", option).expect(USAGE, option.partition("=")[0])
    assert [path.name for path in inrush.folder.iterdir()] == ["a.csv"]
