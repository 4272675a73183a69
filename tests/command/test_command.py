"""The command itself: its output, its leftovers, and that a plan changes nothing."""

from __future__ import annotations

import json

import pytest

from harness.command import CLEAN, USAGE, Inrush
from harness.contents import state
from harness.packages import flow, package
from harness.servers import Database

ROWS = "id,name\n1,Ann\n2,Bob\n"
COLUMNS = "id int not null, name text"


@pytest.fixture(autouse=True)
def rows(inrush: Inrush) -> None:
    inrush.write("rows.csv", ROWS)


def words(database: Database, *more: str) -> tuple[str, ...]:
    to = ("--to", database.url, "--table", "people", "--columns", COLUMNS)
    return ("load", "rows.csv", *to, *more)


def people(database: Database) -> list[tuple[object, ...]]:
    return database.rows("SELECT * FROM people ORDER BY id")


def schemas(database: Database) -> list[tuple[object, ...]]:
    return database.rows("SELECT nspname FROM pg_namespace ORDER BY 1")


def test_check_prints_the_plan_and_changes_nothing(
    newest_database: Database, inrush: Inrush
) -> None:
    before = schemas(newest_database)
    text = package(newest_database.url, flow("people", "rows.csv", columns=COLUMNS.split(", ")))
    outcome = inrush("check", inrush.write("package.toml", text)).expect(CLEAN)
    for part in ("people", "CREATE", "COPY", "rows.csv", "rivileges", "emory", "witch"):
        assert part in outcome.output, part
    assert schemas(newest_database) == before
    assert state(newest_database) == []
    assert not (inrush.folder / "runs").exists()


def test_the_plan_names_every_statement_that_runs(
    newest_database: Database, inrush: Inrush
) -> None:
    """The server's own log of a run contains no change that the plan did not print."""
    database = newest_database
    database.execute(f"ALTER DATABASE {database.name} SET log_statement = 'ddl'")
    text = package(database.url, flow("people", "rows.csv", columns=COLUMNS.split(", ")))
    path = inrush.write("package.toml", text)
    plan = " ".join(inrush("check", path).expect(CLEAN).output.split())
    inrush("run", path).expect(CLEAN)
    done = [
        line.split("LOG:")[1]
        for line in database.server.log.read_text().splitlines()
        if line.startswith(f"{database.name} inrush") and "LOG:" in line
    ]
    statements = [line.split(":", 1)[1].strip() for line in done if ":" in line]
    creating = [statement for statement in statements if statement.startswith(("CREATE", "ALTER"))]
    assert creating
    for statement in creating:
        assert " ".join(statement.split()).rstrip(";") in plan, statement


def test_quiet_in_a_pipe(newest_database: Database, inrush: Inrush) -> None:
    outcome = inrush(*words(newest_database)).expect(CLEAN)
    assert "\r" not in outcome.said
    assert "\x1b" not in outcome.said
    assert len(outcome.said.splitlines()) < 20


def test_events_as_json(newest_database: Database, inrush: Inrush) -> None:
    outcome = inrush(*words(newest_database, "--json")).expect(CLEAN)
    events = [json.loads(line) for line in outcome.output.splitlines()]
    names = [event["event"] for event in events]
    assert names[0] == "planned"
    assert names[-1] == "finished"
    assert "unit_committed" in names
    assert events[-1]["account"]["rows_loaded"] == 2


def test_what_a_run_leaves(newest_database: Database, inrush: Inrush) -> None:
    outcome = inrush(*words(newest_database)).expect(CLEAN)
    (folder,) = outcome.run_folders()
    assert json.loads((folder / "report.json").read_text())
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [entry for entry in log if entry["what"]["event"] == "switched"]


def test_a_saved_package_does_the_same(newest_database: Database, inrush: Inrush) -> None:
    more = ("--save-package", "saved.toml", "--partition-by", "id", "--streams", "2")
    inrush(*words(newest_database, *more)).expect(CLEAN)
    assert 'partition_by = "id"' in (inrush.folder / "saved.toml").read_text()
    if newest_database.value("SELECT to_regclass('people') IS NOT NULL"):
        assert people(newest_database) == [(1, "Ann"), (2, "Bob")]
        newest_database.execute("DROP TABLE people")
        inrush("run", "saved.toml", "--again").expect(CLEAN)
    else:
        inrush("run", "saved.toml").expect(CLEAN)
    assert people(newest_database) == [(1, "Ann"), (2, "Bob")]


def test_again_loads_anew(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE people (id int NOT NULL, name text)")
    inrush(*words(newest_database, "--mode", "append")).expect(CLEAN)
    inrush(*words(newest_database, "--mode", "append")).expect(CLEAN, "already loaded")
    assert len(people(newest_database)) == 2
    inrush(*words(newest_database, "--mode", "append", "--again")).expect(CLEAN)
    assert len(people(newest_database)) == 4


def test_parameters_and_connections_are_replaced(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("day-2/rows.csv", "id,name\n3,Cy\n")
    text = package("postgresql://nobody@/nothing", flow("people", "{day}/rows.csv"))
    text = text.replace("[connections", '[parameters]\nday = "."\n[connections')
    inrush.write("package.toml", text)
    newest_database.execute("CREATE TABLE people (id int, name text)")
    connection = f"target={newest_database.url}"
    run = ("run", "package.toml", "--connection", connection)
    inrush(*run, "--set", "day=day-2").expect(CLEAN)
    assert people(newest_database) == [(3, "Cy")]
    inrush(*run, "--set", "dya=day-2").expect(USAGE, "dya", "day")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('tabel = "people"', ("tabel", "table")),
        ("streems = 2", ("streems",)),
        ('mode = "creat"', ("creat", "create")),
        ('mode = "append', ("12:", "TOML")),
    ],
)
def test_a_package_with_a_mistake(inrush: Inrush, line: str, said: tuple[str, ...]) -> None:
    text = package("embedded", flow("people", "rows.csv"))
    number = len(text.splitlines()) + 1
    path = inrush.write("package.toml", text + line + "\n")
    inrush("check", path).expect(USAGE, "package.toml", str(number), *said)


@pytest.mark.parametrize(
    "command", [(), ("load",), ("run",), ("check",), ("status",), ("cleanup",), ("demo",)]
)
def test_help_reads_like_a_manual(inrush: Inrush, command: tuple[str, ...]) -> None:
    outcome = inrush(*command, "--help").expect(CLEAN)
    assert "inrush" in outcome.output
    assert "Examples" in outcome.output or "EXAMPLES" in outcome.output


def test_the_version(inrush: Inrush) -> None:
    assert inrush("--version").expect(CLEAN).output.startswith("inrush ")


def test_a_reader_that_goes_away_is_no_fault(newest_database: Database, inrush: Inrush) -> None:
    with inrush.start(*words(newest_database, "--json")) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        running.process.stdout = None
        outcome = running.wait()
    assert "panicked" not in outcome.errors
    assert people(newest_database) == [(1, "Ann"), (2, "Bob")]


def test_an_argument_that_is_not_utf8_is_named(inrush: Inrush) -> None:
    # Python shows an argument in Latin-1 in this form: `\udce9` is the byte E9.
    odd = "caf\udce9.csv"
    for words, place, fix in (
        (("init", odd), 2, "rename it"),
        (("load", "a.csv", odd, "--to", "embedded", "--table", "t"), 3, "rename it"),
        (("load", "a.csv", "--to", "embedded", "--table", odd), 6, "text in UTF-8"),
    ):
        said = f"argument {place} ($'caf\\xe9.csv') is not UTF-8 at its byte 4 (0xe9)"
        inrush(*words).expect(USAGE, said, "hint: ", fix)


@pytest.mark.parametrize("words", [("check",), ("run",), ("load", "rows.csv")])
def test_a_path_that_is_no_small_file_is_not_read_whole(
    inrush: Inrush, words: tuple[str, ...]
) -> None:
    big = inrush.folder / "big.csv"
    with big.open("wb") as file:
        file.truncate(1_500_000_000)
    if words[0] == "load":
        to = ("--to", "x.duckdb", "--table", "t", "--columns", COLUMNS)
        outcome = inrush(*words, *to, "--save-package", "/dev/zero")
        outcome.expect(USAGE, "/dev/zero exists with other content")
        return
    inrush(*words, big).expect(USAGE, "it has 1500000000 bytes, and a package (TOML text) is a")
    inrush(*words, "/dev/zero").expect(USAGE, "it is a device, and a package (TOML text) is a")


def test_a_run_that_is_not_there_is_not_cleaned_up(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush(*words(newest_database)).expect(CLEAN)
    inrush("cleanup", "--to", newest_database.url).expect(CLEAN, "nothing to remove")
    outcome = inrush("cleanup", "--to", newest_database.url, "--run", "nosuch")
    outcome.expect(USAGE, "no stopped run `nosuch`", "inrush status")


def test_a_tilde_is_not_taken_for_a_folder(inrush: Inrush) -> None:
    columns = ("--table", "t", "--columns", COLUMNS)
    for to in ("parquet:~/lake", "~/x.duckdb", "embedded:~/pg", "parquet:", "parquet: s3://b/x"):
        inrush("load", "rows.csv", "--to", to, *columns).expect(USAGE, "connections.")
    runs = ("--to", "x.duckdb", *columns, "--runs-folder", "~/runs")
    inrush("load", "rows.csv", *runs).expect(USAGE, "`~` is the home folder only to a shell")
    assert [path.name for path in inrush.folder.iterdir()] == ["rows.csv"]
