"""Failures after the switch do not change the exit status."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable

import duckdb
import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush, Running
from harness.duckdb_files import opened
from harness.servers import Database

COLUMNS = ("--columns", "id integer, name text")
GOOD = [(1, "Ann"), (2, "Bob")]
TEXT = "id,name\n1,Ann\n2,Bob\n"

Find = Callable[[], object]


def remove_folder(inrush: Inrush, running: Running) -> None:
    """Remove the run's folder."""
    del running
    (folder,) = inrush.folder.glob("runs/*/")
    shutil.rmtree(folder)


def limit_files(inrush: Inrush, running: Running) -> None:
    """Limit the size of files to a few bytes from now on, like `ulimit -f`."""
    del inrush
    limit = ["prlimit", f"--pid={running.process.pid}", "--fsize=16"]
    subprocess.run(limit, check=True, capture_output=True)


def fill_disk(inrush: Inrush, running: Running) -> None:
    """Fill the disk that the folders of runs are on."""
    del running
    with (inrush.folder / "runs/filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(1 << 16))
        except OSError:
            pass


HARMS = {"removed": remove_folder, "limited": limit_files, "full": fill_disk}


def destination(kind: str, inrush: Inrush, database: Database) -> tuple[str, Find]:
    """Return a URL, and a function that reads the rows there."""
    if kind == "postgresql":
        return database.url, lambda: database.rows("SELECT * FROM people ORDER BY id")

    def find() -> object:
        with opened(inrush.folder / "x.duckdb", read_only=True) as connection:
            return connection.execute("SELECT * FROM people ORDER BY id").fetchall()

    def find_files() -> object:
        files = f"'{inrush.folder}/lake/people/*.parquet'"
        query = f"SELECT id, name FROM {files} ORDER BY id"
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()

    return ("x.duckdb", find) if kind == "duckdb" else ("parquet:lake", find_files)


@pytest.mark.parametrize("kind", ["postgresql", "duckdb", "parquet"])
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("bad", ["", "x,Eve\n"], ids=["clean", "rejects"])
def test_a_report_that_cannot_be_written(
    newest_database: Database, inrush: Inrush, kind: str, harm: str, bad: str
) -> None:
    url, found = destination(kind, inrush, newest_database)
    inrush.write("people.csv", TEXT + bad)
    words = ["load", "people.csv", "--to", url, "--table", "people", *COLUMNS]
    words += ["--max-rejects", "5"]
    status = LOADED_WITH_REJECTS if bad else CLEAN
    runs = inrush.folder / "runs"
    runs.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(runs)]
    is_mounted = harm == "full" and subprocess.run(mount, check=False).returncode == 0
    if harm == "full" and not is_mounted:
        # Only root can mount a disk.
        harm = "limited"
    try:
        with inrush.stopped_by("stop:after_switch_commit", *words) as running:
            HARMS[harm](inrush, running)
            outcome = running.resume().wait()
        assert found() == GOOD
        outcome.expect(status, "the rows are in their targets", "report.json", "already loaded")
        # The same command has nothing to do, and ends with the same status again.
        inrush(*words).expect(status, "already loaded by run")
        assert found() == GOOD
    finally:
        if is_mounted:
            subprocess.run(["umount", str(runs)], check=True)


def test_quiet_it_is_told_on_the_standard_error(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("people.csv", TEXT)
    words = ("load", "people.csv", "--to", newest_database.url, "--table", "people", *COLUMNS)
    with inrush.stopped_by("stop:after_switch_commit", *words, "--quiet") as running:
        remove_folder(inrush, running)
        outcome = running.resume().wait().expect(CLEAN)
    assert outcome.output == ""
    assert "the rows are in their targets" in outcome.errors


def test_before_the_switch_it_says_what_ended_the_load(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("people.csv", TEXT)
    words = ("load", "people.csv", "--to", newest_database.url, "--table", "people", *COLUMNS)
    with inrush.stopped_by("stop_until_asked:before_switch", *words) as running:
        remove_folder(inrush, running)
        running.send(signal.SIGTERM)
        outcome = running.resume().wait().expect(130, "the report is missing")
    assert "report: " not in outcome.said
    inrush(*words).expect(CLEAN)
    assert newest_database.rows("SELECT * FROM people ORDER BY id") == GOOD
