"""The Python module runs packages like the command, has types and releases the GIL."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import inrush
from harness import pauses
from harness.command import Inrush
from harness.packages import flow, package
from harness.servers import Database


@pytest.fixture
def folder(newest_database: Database, tmp_path: Path) -> Path:
    newest_database.execute("CREATE TABLE people (id int, name text)")
    (tmp_path / "day-1").mkdir()
    (tmp_path / "day-1" / "rows.csv").write_text("id,name\n1,Ann\n2,Bob\n")
    text = package(newest_database.url, flow("people", "{day}/rows.csv"))
    text = text.replace("[connections", '[parameters]\nday = "."\n[connections')
    (tmp_path / "package.toml").write_text(text)
    return tmp_path


def run(folder: Path, **more: object) -> inrush.Report:
    return inrush.run(
        folder / "package.toml",
        parameters={"day": "day-1"},
        runs_folder=folder / "runs",
        **more,  # type: ignore[arg-type]
    )


def test_a_run(newest_database: Database, folder: Path) -> None:
    report = run(folder)
    assert report.outcome == "loaded"
    assert report.account == inrush.Account(
        rows_read=2, rows_loaded=2, rows_rejected=0, rows_skipped=0, bytes_read=20
    )
    assert report.tables[0].target == '"public"."people"'
    assert report.path == folder / "runs" / report.run / "report.json"
    assert report.path.exists()
    assert report.details["inrush_version"]
    assert newest_database.rows("SELECT * FROM people ORDER BY id") == [(1, "Ann"), (2, "Bob")]


def test_a_run_that_was_done(newest_database: Database, folder: Path) -> None:
    first = run(folder)
    report = run(folder)
    assert (report.outcome, report.run) == ("already_loaded", first.run)
    assert newest_database.value("SELECT count(*) FROM people") == 2


def test_a_connection_is_replaced(newest_database: Database, folder: Path) -> None:
    path = folder / "package.toml"
    path.write_text(path.read_text().replace(newest_database.url, "postgresql://nobody@/none"))
    run(folder, connections={"target": newest_database.url}, streams=1)
    assert newest_database.value("SELECT count(*) FROM people") == 2


def test_rejects_within_the_limit(folder: Path) -> None:
    (folder / "day-1" / "rows.csv").write_text("id,name\nx,Ann\n2,Bob\n")
    path = folder / "package.toml"
    path.write_text(path.read_text() + "rejects = { rows_max = 1 }\n")
    report = run(folder)
    assert report.exit_status == 3
    (reject,) = report.rejects
    assert (reject.line, reject.column, reject.value, reject.code) == (2, "id", "x", "syntax")


def test_a_run_that_fails(newest_database: Database, folder: Path) -> None:
    (folder / "day-1" / "rows.csv").write_text("id,name\nx,Ann\n")
    with pytest.raises(inrush.InrushError, match=r"rows\.csv:2") as caught:
        run(folder)
    assert caught.value.exit_status == 4
    assert caught.value.report is not None
    assert caught.value.report.outcome == "failed"
    assert newest_database.value("SELECT count(*) FROM people") == 0


def test_a_package_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(inrush.InrushError, match=r"none\.toml") as caught:
        inrush.run(tmp_path / "none.toml")
    assert caught.value.exit_status == 2
    assert caught.value.report is None


def held_package(database: Database, folder: Path) -> None:
    database.execute(pauses.HELD_DOMAIN + "ALTER TABLE people ALTER id TYPE held USING id::held")
    (folder / "day-1" / "rows.csv").write_text("id,name\n1,Ann\n-1,Bob\n")


def test_other_threads_run_meanwhile(newest_database: Database, folder: Path) -> None:
    held_package(newest_database, folder)
    with pauses.closed_gate(newest_database):
        thread = threading.Thread(target=run, args=(folder,))
        thread.start()
        # This thread runs Python while the other waits in Rust.
        pauses.wait_until_held(newest_database)
    thread.join()
    assert newest_database.value("SELECT count(*) FROM people") == 2


def test_control_c_stops_it_cleanly(
    newest_database: Database, folder: Path, inrush: Inrush
) -> None:
    held_package(newest_database, folder)
    script = (
        "import inrush\n"
        "try:\n"
        "    inrush.run('package.toml', parameters={'day': 'day-1'})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    with pauses.closed_gate(newest_database):
        process = subprocess.Popen(
            [sys.executable, "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        pauses.wait_until_held(newest_database)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert output == "interrupted\n"
        pauses.wait_until(newest_database, pauses.sessions_of_inrush(newest_database))
    assert newest_database.value("SELECT count(*) FROM people") == 0
    inrush("run", "package.toml", "--set", "day=day-1").expect(0)
    assert newest_database.value("SELECT count(*) FROM people") == 2
