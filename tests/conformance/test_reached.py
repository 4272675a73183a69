"""Connecting to a destination: missing abilities are printed, secrets never."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import abilities
from conformance.conftest import MakePlace
from conformance.destinations import AdbcPostgreSql, PostgreSql, PostgreSql18
from conformance.job import Job
from harness.command import CLEAN, FAILED, USAGE, Inrush, Outcome
from harness.packages import flow, package

SECRET = "s3cr3t-0f-the-suite"  # noqa: S105
COLUMNS = "n integer"

# Addresses where nothing exists or can exist; none of them may be created.
NOWHERE: dict[str, list[str]] = {
    "no_server": ["--to", "postgresql://nobody@127.0.0.1:1/nothing"],
    "no_folder": ["--to", "missing/folder/x.duckdb"],
    # A database that would be in memory only, and lost at the end.
    "no_place": ["--to", "adbc:adbc_driver_sqlite"],
    "no_duckdb": ["--to", "notes.duckdb"],
    "no_driver": ["--to", "adbc:nonesuch_driver"],
    "no_sqlite_folder": ["--to", "adbc:adbc_driver_sqlite", "--option", "uri=missing/x.db"],
    "unknown_option": [
        *("--to", "adbc:adbc_driver_sqlite"),
        *("--option", "uri=x.db", "--option", "adbc.no_such_option=1"),
    ],
    "no_adbc_server": [
        *("--to", "adbc:adbc_driver_postgresql"),
        *("--option", "uri=postgresql://nobody@127.0.0.1:1/nothing"),
    ],
    "no_lake": ["--to", "parquet:notes.duckdb"],
    "no_codec": ["--to", "parquet:lake", "--option", "codec=nonesuch"],
    "no_parquet_option": ["--to", "parquet:lake", "--option", "nonesuch=1"],
    "no_sql_server": ["--to", "mssql://nobody@127.0.0.1:1/nothing?encrypt=off"],
    "no_sql_server_user": ["--to", "mssql://127.0.0.1:1/nothing"],
    "no_sql_server_option": ["--to", "mssql://nobody@127.0.0.1:1/nothing", "--option", "codec=x"],
    "nothing": ["--to", "nonsense"],
}


def write_rows(inrush: Inrush) -> None:
    inrush.write("rows.csv", "n\n1\n2\n")


@pytest.mark.clause("D-1")
@pytest.mark.parametrize("words", NOWHERE.values(), ids=NOWHERE)
def test_what_cannot_be_reached_is_said(inrush: Inrush, words: list[str]) -> None:
    write_rows(inrush)
    inrush.write("notes.duckdb", "these are notes, and no database\n" * 100)
    outcome = inrush("load", "rows.csv", *words, "--table", "t", "--columns", COLUMNS)
    assert outcome.status in (FAILED, USAGE), outcome.said
    outcome.expect(outcome.status)
    assert len(outcome.errors.splitlines()) < 20, outcome.said
    assert (inrush.folder / "notes.duckdb").read_text().startswith("these are notes")
    left = {path.name for path in inrush.folder.iterdir()} - {"runs", "rows.csv", "notes.duckdb"}
    # SQLite creates its file when it is opened; the file is empty.
    assert left <= {"x.db"}, left


@pytest.mark.clause("D-1")
def test_a_package_and_the_command_line_mean_the_same(job: Job) -> None:
    """A package that a command saves is the same load: the ledger recognizes it."""
    place, inrush = job.place, job.inrush
    write_rows(inrush)
    words = ("load", "rows.csv", *place.words, "--table", "t", "--columns", COLUMNS)
    inrush(*words, "--save-package", "saved.toml").expect(CLEAN)
    inrush("check", "saved.toml").expect(CLEAN)
    inrush("run", "saved.toml").expect(CLEAN)
    assert place.rows("t", ["integer"]) == [("1",), ("2",)]
    inrush("run", "saved.toml").expect(CLEAN, "already loaded")
    inrush(*words).expect(CLEAN, "already loaded")
    assert place.rows("t", ["integer"]) == [("1",), ("2",)]


@pytest.mark.clause("D-4", "D-5")
def test_a_plan_changes_nothing(job: Job) -> None:
    """The plan also lists the guarantees that the destination declares as missing."""
    job.inrush("check", job.package).expect(CLEAN, "loaded", "Destination")
    assert job.place.tables() == set()
    job.run().expect(CLEAN)
    job.inrush("check", job.package).expect(CLEAN, "already")


@pytest.mark.clause("D-4")
def test_a_mode_that_it_lacks_is_refused(job: Job) -> None:
    place, inrush = job.place, job.inrush
    if "upsert" in abilities.claims()[place.title]:
        # This destination can merge, and test_merge.py tests that.
        job.run().expect(CLEAN)
        return
    write_rows(inrush)
    text = place.package(flow("t", "rows.csv", columns=["n integer"], mode="upsert", key=["n"]))
    outcome = inrush("run", inrush.write("merging.toml", text))
    assert outcome.status in (FAILED, USAGE), outcome.said
    outcome.expect(outcome.status, "upsert")
    assert place.tables() == set()


def texts_below(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


@pytest.mark.clause("D-2")
@pytest.mark.parametrize("by", ["own_protocol", "adbc"])
@pytest.mark.parametrize("ends", ["loaded", "refused"])
def test_a_secret_is_told_to_nobody(
    make_place: MakePlace, inrush: Inrush, tmp_path: Path, by: str, ends: str
) -> None:
    """A password from the environment is printed nowhere; only servers need one."""
    kind = PostgreSql18 if by == "own_protocol" else AdbcPostgreSql
    place = make_place(kind, tmp_path)
    assert isinstance(place, PostgreSql)
    url = place.database.url.replace("@", f":{SECRET}@", 1)
    if ends == "refused":
        url = url.replace(place.database.name, "missing_database")
    columns = ["n integer"]
    rows = flow("t", "rows.csv", columns=columns)
    hidden = "${env:SECRET_URL}"
    if by == "own_protocol":
        text = package(hidden, rows)
    else:
        text = package({"url": "adbc:adbc_driver_postgresql", "options": {"uri": hidden}}, rows)
    write_rows(inrush)
    path = inrush.write("package.toml", text)
    environment = {"SECRET_URL": url}
    outcomes: list[Outcome] = [
        inrush("check", path, environment=environment),
        inrush("run", path, "--json", environment=environment),
        inrush("run", path, environment=environment),
    ]
    statuses = {outcome.status for outcome in outcomes}
    assert statuses <= ({CLEAN} if ends == "loaded" else {FAILED, USAGE}), outcomes
    for outcome in outcomes:
        assert SECRET not in outcome.said
    assert SECRET not in texts_below(inrush.folder)
    if ends == "loaded":
        table = "run" if by == "own_protocol" else "adbc_run"
        ledger = place.database.rows(f"SELECT t::text FROM inrush.{table} AS t")
        assert ledger
        assert SECRET not in str(ledger)


@pytest.mark.clause("D-2")
def test_a_secret_in_an_argument_is_refused(inrush: Inrush) -> None:
    write_rows(inrush)
    url = f"postgresql://nobody:{SECRET}@127.0.0.1:1/nothing"
    for words in (
        ("--to", url),
        ("--to", "adbc:adbc_driver_postgresql", "--option", f"uri={url}"),
        ("--to", "adbc:adbc_driver_postgresql", "--option", f"password={SECRET}"),
    ):
        outcome = inrush("load", "rows.csv", *words, "--table", "t", "--columns", COLUMNS)
        outcome.expect(USAGE, "password")
        assert SECRET not in outcome.said
    assert SECRET not in texts_below(inrush.folder)
