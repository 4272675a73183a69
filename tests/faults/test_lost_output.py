"""If the disk is full while a command prints, the command reports this at its end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.command import CLEAN, COMMAND, FAILED, LOADED_WITH_REJECTS, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database


def printed_to(file: str, inrush: Inrush, *words: str) -> tuple[int, str]:
    """Run the command with its standard output in a file, and return status and errors."""
    with Path(file).open("w") as output:
        done = subprocess.run(
            [COMMAND, *words],
            cwd=inrush.folder,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    return done.returncode, done.stderr


@pytest.fixture
def loaded(newest_database: Database, inrush: Inrush) -> Inrush:
    inrush.write("rows.csv", "id,name\n1,a\nx,b\n")
    newest_database.execute("CREATE TABLE t (id int, name text)")
    columns: list[Value] = ["id int", "name text"]
    settings = flow("t", "rows.csv", columns=columns, mode="append", rejects={"rows_max": 1})
    inrush.write("p.toml", package(newest_database.url, settings))
    inrush("run", "p.toml").expect(LOADED_WITH_REJECTS)
    return inrush


LOOKS = [
    ("--help",),
    ("load", "--help"),
    ("--version",),
    ("check", "p.toml"),
    ("rejects", "show"),
    ("rejects", "show", "--json"),
    ("status", "p.toml", "--json"),
]


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_a_look_whose_output_is_lost_has_failed(loaded: Inrush, words: tuple[str, ...]) -> None:
    loaded(*words).expect(CLEAN)
    status, errors = printed_to("/dev/full", loaded, *words)
    assert status == FAILED, errors
    assert "error: cannot write to standard output: No space left" in errors


def test_a_load_keeps_its_status(loaded: Inrush) -> None:
    status, errors = printed_to("/dev/full", loaded, "run", "p.toml", "--again")
    assert status == LOADED_WITH_REJECTS, errors
    assert "note: cannot write to standard output: No space left" in errors


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_a_reader_that_went_away_is_no_fault(loaded: Inrush, words: tuple[str, ...]) -> None:
    with loaded.start(*words) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        assert running.process.stderr is not None
        errors = running.process.stderr.read()
        assert running.process.wait(60) == CLEAN, errors
        assert "standard output" not in errors
