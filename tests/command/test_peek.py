"""`inrush peek` shows rows as they leave a step, and loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.packages import flow, package, step
from harness.servers import Database

ROWS = "id,word\n1,one\n2,\n3,three\n4,four\n5,five\n"
LIMIT: dict[str, Any] = {"rejects": {"rows_max": 5}}
STEPS = (
    step(where="word IS NOT NULL")
    + step(derive={"size": "length(word)", "half": "12 // (id - 4)"})
    + step(check="size > 3", name="not too short")
)


@pytest.fixture
def path(inrush: Inrush) -> Path:
    """Return a package whose target does not exist yet."""
    inrush.write("rows.csv", ROWS)
    rows = flow("loaded", "rows.csv", columns=["id integer", "word text"], **LIMIT) + STEPS
    return inrush.write("package.toml", package("results.duckdb", rows))


def shown(inrush: Inrush, path: Path, *words: str) -> list[list[str]]:
    """Return the cells of the rows that are shown, without the rows' positions."""
    output = inrush("peek", path, *words).expect(CLEAN).output
    _, table, *_ = output.split("\n\n")
    lines = [line.split() for line in table.splitlines()]
    # The rows are below the names and the types of the columns.
    return [line[3:] for line in lines[2:]]


def test_each_step_shows_what_leaves_it(inrush: Inrush, path: Path) -> None:
    assert shown(inrush, path, "--step", "0") == [
        ["1", "one"],
        ["2", "NULL"],
        ["3", "three"],
        ["4", "four"],
        ["5", "five"],
    ]
    assert [row[0] for row in shown(inrush, path, "--step", "1")] == ["1", "3", "4", "5"]
    derived = [
        ["1", "one", "-4", "3"],
        ["3", "three", "-12", "5"],
        ["5", "five", "12", "4"],
    ]
    assert shown(inrush, path, "--step", "2") == derived
    assert shown(inrush, path) == derived[1:]
    assert shown(inrush, path, "--rows", "1") == derived[1:2]
    assert not inrush.folder.joinpath("runs").exists()


def test_it_tells_why_rows_are_not_there(inrush: Inrush, path: Path) -> None:
    said = inrush("peek", path).expect(CLEAN).output
    assert "rows.csv:5" in said
    assert "Division by zero" in said
    assert "the check `not too short` (step 3) is not met" in said
    assert "step 1: where word IS NOT NULL: 5 in, 1 filtered" in said
    # Rows after the last one that is shown have no effect.
    assert "Division by zero" not in inrush("peek", path, "--rows", "1").expect(CLEAN).output


def test_a_target_with_rows_is_no_obstacle(
    inrush: Inrush, path: Path, newest_database: Database
) -> None:
    """Rows that the target already has do not stop `peek`, whoever loaded them."""
    before = shown(inrush, path)
    inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert shown(inrush, path) == before
    newest_database.execute("CREATE TABLE loaded (id int, word text, size bigint, half bigint)")
    newest_database.execute("INSERT INTO loaded VALUES (1, 'x', 4, 1)")
    text = path.read_text().replace("results.duckdb", newest_database.url)
    other = inrush.write("other.toml", text)
    inrush("check", other).expect(FAILED, "has rows already")
    assert shown(inrush, other) == before
    # If there is nothing to show, the message says why.
    inrush.write("wrong.toml", text.replace("rows.csv", "nope.csv"))
    inrush("peek", "wrong.toml").expect(FAILED, "nope.csv")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--step", "4"), "flow `loaded` has 3 steps"),
        (("--flow", "orders"), "its flows are `loaded`"),
        (("--rows", "0"), "0 is not in 1..=10000"),
    ],
)
def test_what_is_not_there_is_refused(
    inrush: Inrush, path: Path, words: tuple[str, ...], said: str
) -> None:
    inrush("peek", path, *words).expect(USAGE, said)
