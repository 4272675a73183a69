"""Statistics of the targets, which a package asks for with `analyze = true`.

`abilities.py` shows that they are updated; `test_plan_is_run.py` shows the statements.
"""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path

import pytest

from conformance.abilities import OLD, Asked, Scene, claims
from conformance.conftest import MakePlace
from conformance.destinations import AdbcPostgreSql, AdbcSqlite, Place
from harness.command import CLEAN, Inrush

ANALYZED = Asked({}, {"analyze": True})


@pytest.mark.clause("D-48")
def test_an_error_leaves_the_rows_published(
    make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    """Another program locks the file of SQLite between the publish and the statistics."""
    place = make_place(AdbcSqlite, tmp_path)
    assert isinstance(place, AdbcSqlite)
    scene = Scene(place, inrush)
    path = scene.package("new", ANALYZED, OLD)
    with inrush.stopped_by("stop:after_switch_commit", "run", path) as running:
        other = sqlite3.connect(place.file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        outcome = running.resume().wait().expect(CLEAN, "was not analyzed", "locked")
        other.close()
    assert any("was not analyzed" in note for note in outcome.report["notes"])
    assert scene.rows == OLD
    assert place.rows_analyzed("t") is None


@pytest.mark.clause("D-48")
def test_they_do_not_wait_for_a_lock_without_limit(
    make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    place = make_place(AdbcPostgreSql, tmp_path)
    assert isinstance(place, AdbcPostgreSql)
    scene = Scene(place, inrush)
    path = scene.package("new", ANALYZED, OLD)
    with (
        inrush.stopped_by("stop:after_switch_commit", "run", path) as running,
        place.database.connect(autocommit=False) as holder,
    ):
        holder.execute(b"LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE")
        running.resume().wait().expect(CLEAN, "was not analyzed", "lock timeout")
        holder.rollback()
    assert scene.rows == OLD


@pytest.mark.clause("D-48")
def test_a_run_that_is_killed_before_them_is_complete(place: Place, inrush: Inrush) -> None:
    scene = Scene(place, inrush)
    asked = ANALYZED if "analyze" in claims()[place.title] else Asked()
    path = scene.package("new", asked, OLD)
    died = inrush("run", path, environment={"INRUSH_FAULT": "after_switch_commit"})
    assert died.status == -signal.SIGKILL, died.said
    inrush("run", path).expect(CLEAN, "already loaded")
    assert scene.rows == OLD
