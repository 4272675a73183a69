"""The embedded server: it needs no setup, and leaves nothing behind however the run ends."""

from __future__ import annotations

import itertools
import shutil
import signal
from pathlib import Path

import pytest

import inrush as inrush_package
from harness import extension
from harness.command import CLEAN, INTERRUPTED, Inrush
from harness.processes import wait_for_no_process

numbers = itertools.count(1)
COLUMNS = ("--columns", "id int, name text")


@pytest.fixture
def inrush(servers_folder: Path) -> Inrush:
    """Return the command, run in a folder that the server's user can enter (see servers.py)."""
    folder = servers_folder / f"embedded-{next(numbers)}"
    folder.mkdir(mode=0o755)
    return Inrush(folder)


@pytest.fixture
def words(inrush: Inrush) -> tuple[str, ...]:
    inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")
    where = f"embedded:{inrush.folder}/kept"
    return ("load", "rows.csv", "--to", where, "--table", "people", *COLUMNS)


def test_the_data_is_kept(inrush: Inrush, words: tuple[str, ...]) -> None:
    inrush(*words).expect(CLEAN)
    wait_for_no_process(inrush.folder)
    # The same command finds its ledger in the kept data.
    inrush(*words).expect(CLEAN, "already loaded")
    wait_for_no_process(inrush.folder)


def test_without_a_folder_nothing_is_kept(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")
    before = set(inrush.folder.iterdir())
    inrush("load", "rows.csv", "--to", "embedded", "--table", "people", *COLUMNS).expect(CLEAN)
    assert set(inrush.folder.iterdir()) - before == {inrush.folder / "runs"}


@pytest.mark.parametrize("point", ["before_unit_commit", "before_switch_commit"])
def test_killed_it_leaves_no_process(inrush: Inrush, words: tuple[str, ...], point: str) -> None:
    died = inrush(*words, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    wait_for_no_process(inrush.folder)
    inrush(*words).expect(CLEAN)
    wait_for_no_process(inrush.folder)


def test_killed_again_and_again_the_next_command_waits_for_what_is_left(
    inrush: Inrush, words: tuple[str, ...]
) -> None:
    points = ["before_unit_commit", "before_switch_commit", "in_switch", "before_switch"]
    for point in points:
        # The server of the previous command may be stopping, recovering or starting.
        died = inrush(*words, environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
    inrush(*words).expect(CLEAN)
    wait_for_no_process(inrush.folder)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_leaves_no_process(
    inrush: Inrush, words: tuple[str, ...], which: signal.Signals
) -> None:
    with inrush.stopped_by("stop_until_asked:before_unit_commit", *words) as running:
        running.send(which)
        running.resume().wait().expect(INTERRUPTED)
    wait_for_no_process(inrush.folder)
    inrush(*words).expect(CLEAN)


def test_two_runs_at_once_do_not_collide(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")
    words = ("load", "rows.csv", "--to", "embedded", "--table", "people", *COLUMNS)
    with inrush.start(*words) as one, inrush.start(*words) as other:
        one.wait().expect(CLEAN)
        other.wait().expect(CLEAN)


def test_a_folder_that_is_in_use_is_refused(inrush: Inrush, words: tuple[str, ...]) -> None:
    with inrush.stopped_by("stop:before_unit_commit", *words) as running:
        inrush(*words).expect(1, "kept")
        running.resume().wait().expect(CLEAN)


def test_a_folder_with_something_else_in_it_is_left_alone(
    inrush: Inrush, words: tuple[str, ...]
) -> None:
    mine = inrush.write("kept/mine.txt", "mine")
    inrush(*words).expect(1, "kept")
    assert mine.read_text() == "mine"
    assert list(mine.parent.iterdir()) == [mine]


def test_the_report_says_how_it_was_set(inrush: Inrush, words: tuple[str, ...]) -> None:
    report = inrush(*words).expect(CLEAN).report
    settings = {setting["name"]: setting for setting in report["embedded"]["settings"]}
    assert settings["wal_level"]["value"] == "minimal"
    assert all(setting["why"] for setting in settings.values())
    assert report["embedded"]["data_folder"] == str(inrush.folder / "kept")


@pytest.fixture
def own_extension(servers_folder: Path) -> None:
    """Give the package its extension, as `make build` does."""
    own = Path(inrush_package.__file__).parent / "server" / "18"
    if not own.exists():
        built = extension.built(18, servers_folder)
        for part in ("extension", "lib"):
            shutil.copytree(built / part, own / part)


@pytest.mark.usefixtures("own_extension")
def test_rows_go_by_the_extension_that_the_package_brings(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")
    for where in ("embedded", f"embedded:{inrush.folder}/kept"):
        words = ("load", "rows.csv", "--to", where, "--table", "people", *COLUMNS)
        # The kept folder is used a second time, and already has the extension.
        for again in ((), ("--again", "--mode", "append")):
            outcome = inrush(*words, *again, "--server-copy", "require").expect(CLEAN)
            (unit,) = outcome.report["units"]
            assert unit["server_copy"] == {"way": "tuples"}
            if where == "embedded":
                break
    wait_for_no_process(inrush.folder)


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("own_extension")
def test_the_demo(inrush: Inrush) -> None:
    outcome = inrush("demo", "--scale", "0.01", "--parts", "2", "--streams", "2", seconds=170)
    outcome.expect(CLEAN, "lineitem", "report")
    units = outcome.report["units"]
    assert {unit["server_copy"]["way"] for unit in units} == {"tuples"}
    wait_for_no_process(inrush.folder)
