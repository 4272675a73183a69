"""The record workload: impossible measurements are refused before anything is made."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from command.etlwr import SCALE, copied, results, run
from harness.command import CLEAN, FAILED, USAGE, Inrush, Outcome
from harness.servers import Database

# A measurement may take 300 seconds (etlwr.py), and a test makes up to three measurements.
pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "adbc:sqlite"), ("adbc:sqlite is neither PostgreSQL nor", "FILE.duckdb")),
        (("--to", "postgresql://u:secret@h/d"), ("password",)),
        (("--to", "embedded", "--keep"), ("--keep", "embedded:FOLDER")),
        (("--streams", "2", "--sweep", "1,2"), ("--sweep",)),
        (("--sweep", "1,x"), ("--sweep",)),
        (("--data", "nowhere"), ("nowhere", "etlwr.json")),
    ],
)
def test_mistakes_of_a_run(
    inrush: Inrush, words: tuple[str, ...], said: tuple[str, ...], made: Path
) -> None:
    copied(inrush, made, "supplier")
    outcome = inrush("bench", "etlwr", "run", "--data", "data", *words).expect(USAGE, *said)
    assert "secret" not in outcome.said
    assert not (inrush.folder / "etlwr-results").exists()


def test_results_that_cannot_be_written_are_told_first(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "supplier")
    inrush.write("etlwr-results", "a file")
    # The server does not exist, but the folder is refused first, before any connection.
    run(inrush, "postgresql://nobody@/x?host=/nowhere", "--tables", "supplier").expect(
        FAILED, "etlwr-results"
    )


def test_what_cannot_be_measured_is_told_before_files_are_made(
    newest_database: Database, inrush: Inrush
) -> None:
    words: tuple[str, ...] = ("bench", "etlwr", "--scale", SCALE, "--parts", "2")
    words += ("--tables", "supplier", "--data", "data")
    there = ("--to", newest_database.url)
    inrush.write("in-the-way", "a file")
    for folder in ("--results", "--runs-folder"):
        inrush(*words, *there, folder, "in-the-way").expect(FAILED, "cannot write", "in-the-way")
    nowhere = ("--to", "postgresql://nobody@/x?host=/nowhere")
    inrush(*words, *nowhere).expect(FAILED, "/nowhere")
    newest_database.execute("CREATE TABLE supplier ()")
    inrush(*words, *there).expect(USAGE, "supplier", "creates its tables itself")
    inrush(
        *words, "--to", "${env:BENCH_URL}", environment={"BENCH_URL": newest_database.url}
    ).expect(USAGE, "creates its tables itself")
    assert not (inrush.folder / "data").exists()


def test_what_the_load_would_be_refused_for_is_told_before_files_are_made(
    newest_database: Database, inrush: Inrush
) -> None:
    """The load is planned with files of the same names and sizes, which are removed again."""
    database = newest_database
    temporary = inrush.folder / "temporary"
    temporary.mkdir()

    def whole(*words: str, parts: str = "2", tables: str = "supplier") -> Outcome:
        scale = ("--scale", SCALE, "--parts", parts, "--tables", tables, "--data", "data")
        environment = {"TMPDIR": str(temporary)}
        outcome = inrush("bench", "etlwr", *scale, *words, environment=environment)
        assert list(temporary.iterdir()) == []
        return outcome

    role = f"reader_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    whole("--to", database.server.url(database.name, role)).expect(
        FAILED, f"role {role} lacks what the plan needs", "let the owner run: GRANT"
    )
    there = ("--to", database.url)
    whole(*there, parts="5000").expect(FAILED, "locks in one transaction")
    inrush.write("other.toml", "another")
    whole(*there, "--save-package", "other.toml").expect(USAGE, "--save-package: other.toml")
    whole(*there, "--save-package", "nowhere/p.toml").expect(FAILED, "cannot write nowhere/p.toml")
    whole(*there, "--part", "2", tables="nation").expect(USAGE, "have no files")
    assert not (inrush.folder / "data").exists()
    # The package that the command would save exists already.
    for _ in range(2):
        whole(*there, "--save-package", "p.toml").expect(CLEAN)


@pytest.mark.skipif(os.geteuid() != 0, reason="the server runs as oneself, who may enter")
def test_an_embedded_server_that_would_not_start_is_told_before_files_are_made(
    inrush: Inrush,
) -> None:
    temporary = inrush.folder / "temporary"
    temporary.mkdir(mode=0o700)
    words = ("bench", "etlwr", "--scale", SCALE, "--parts", "2", "--data", "data")
    inrush(*words, environment={"TMPDIR": str(temporary)}).expect(FAILED, "cannot enter")
    assert not (inrush.folder / "data").exists()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_command_left_goes_with_the_next(
    newest_database: Database, inrush: Inrush
) -> None:
    """The command is killed while it makes its files, and the next one removes them."""
    temporary = inrush.folder / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}
    words: tuple[str, ...] = ("bench", "etlwr", "--scale", "0.5", "--parts", "400", "--json")
    words += ("--tables", "lineitem", "--to", newest_database.url)
    inrush.write("in-the-way", "a file")
    next_one = (*words, "--results", "in-the-way")
    with inrush.start(*words, environment=environment) as running:
        assert running.process.stdout is not None
        assert json.loads(running.process.stdout.readline())["event"] == "file"
        (folder,) = temporary.iterdir()
        # A command in progress is left alone.
        outcome = inrush(*next_one, environment=environment).expect(FAILED, "in-the-way")
        assert "removed" not in outcome.said
        assert list(temporary.iterdir()) == [folder]
        assert (folder / "etlwr.json").exists()
        running.send(signal.SIGKILL)
        running.wait()
    assert list(temporary.iterdir()) == [folder]
    inrush(*next_one, environment=environment).expect(FAILED, f"removed {folder}, files of")
    assert list(temporary.iterdir()) == []


def test_a_set_that_is_not_whole_is_refused(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    copied(inrush, made, parts="12")
    run(inrush, newest_database.url).expect(USAGE, "customer.tbl.3", "generate --scale 0.002")
    copied(inrush, made, parts="23", to="other")
    run(inrush, newest_database.url, "--data", "other").expect(USAGE, "the same part")
    for file in (inrush.folder / "other").glob("*.2"):
        file.unlink()
    outcome = run(inrush, newest_database.url, "--data", "other").expect(CLEAN)
    assert results(outcome)["data"]["parts"] == [1, 2, 3]
    some = run(inrush, newest_database.url, "--data", "other", "--part", "2-3").expect(CLEAN)
    assert results(some)["data"]["parts"] == [2, 3]


@pytest.mark.parametrize("command", [(), ("generate",), ("run",)])
def test_help_reads_like_a_manual(inrush: Inrush, command: tuple[str, ...]) -> None:
    outcome = inrush("bench", "etlwr", *command, "--help").expect(CLEAN)
    for part in ("Examples:", "Exit status", "inrush bench etlwr"):
        assert part in outcome.output
