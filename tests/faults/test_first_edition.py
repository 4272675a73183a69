"""Resumes runs that the build of commit e68f33c left: ledgers, run folders, and partial loads.

If another version computed a unit's key differently, the unit cannot be resumed. It is loaded again
from the beginning, and a note says so. `first_edition/` has the fixtures.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.canonical import Row, canonical
from conformance.destinations import DuckDb, Parquet, Place, PostgreSql, in_order
from conftest import SharedServer
from faults.first_edition.left import BAD_RECORD, LEFT, OLD_ROWS, PACKAGE, TYPES, Left
from faults.first_edition.restore import restore
from harness import servers
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, Inrush, Outcome
from harness.contents import assert_nothing_staged
from harness.duckdb_files import opened
from harness.servers import Database
from inrush.report import Report

OLDER = "was loaded by another version of Inrush"
Case = tuple[Left, int | None]
CASES: list[Case] = [
    (left, version)
    for left in LEFT
    for version in (servers.VERSIONS if left.destination == "postgresql" else (None,))
]
STOPPED = [case for case in CASES if not case[0].is_loaded and not case[0].straight_rows]
STRAIGHT = [case for case in CASES if case[0].straight_rows]
LOADED = [case for case in CASES if case[0].is_loaded]
ENDED = [case for case in LOADED if case[0].fault is None]

_numbers = itertools.count(1)


def _named(case: Case) -> str:
    left, version = case
    return left.name if version is None else f"{left.name}-pg{version}"


@dataclass(frozen=True)
class Found:
    """A restored fixture: its place, its folder, and the command."""

    left: Left
    inrush: Inrush
    place: Place
    database: Database | None

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return LOADED_WITH_REJECTS if self.left.rejected_rows else CLEAN

    @property
    def run(self) -> str:
        """The name of the unfinished run."""
        (folder,) = (self.inrush.folder / "runs").iterdir()
        return folder.name

    def rows(self, target: str) -> list[Row] | None:
        """Return the rows that a reader finds in a target."""
        return self.place.rows(target, TYPES)

    def assert_loaded(self) -> None:
        """Fail unless the targets have exactly their rows, and nothing else is left."""
        for target, rows in self.left.full.items():
            assert self.rows(target) == _canonical(rows)
        self.assert_nothing_staged()

    def assert_nothing_staged(self) -> None:
        """Fail if there is a staging table or file."""
        if self.database is not None:
            assert_nothing_staged(self.database)
            return
        assert self.place.tables() <= set(self.left.full)

    def assert_rejects(self, outcome: Outcome) -> None:
        """Fail unless the newest run kept exactly the bad records."""
        folder = outcome.run_folders()[-1] / "rejects"
        kept = "".join(path.read_text() for path in folder.glob("*.rejects"))
        assert kept == BAD_RECORD * self.left.rejected_rows
        assert len(outcome.rejects()) == self.left.rejected_rows

    def stopped_runs(self) -> list[str]:
        """Return the names of the runs that `inrush status` lists."""
        told = self.inrush("status", PACKAGE, "--json").expect(CLEAN)
        return [run["run"] for run in json.loads(told.output)]


def _canonical(rows: list[tuple[int, str]]) -> list[Row]:
    return in_order(
        [(canonical(TYPES[0], str(number)), canonical(TYPES[1], note)) for number, note in rows]
    )


@pytest.fixture
def found(
    request: pytest.FixtureRequest, shared_server: SharedServer, inrush: Inrush
) -> Iterator[Found]:
    """Return a fixture, restored."""
    left, version = request.param
    if version is not None:
        server = shared_server(version)
        database = server.create_database(f"first_edition_{next(_numbers)}")
        restore(left, inrush.folder, database.url, database)
        yield Found(left, inrush, PostgreSql(database, database.url), database)
        server.done_with(database)
        return
    place: Place
    if left.destination == "duckdb":
        place = DuckDb(inrush.folder / "warehouse.duckdb")
    else:
        place = Parquet(inrush.folder / "lake")
    restore(left, inrush.folder, place.url)
    yield Found(left, inrush, place, None)


@pytest.mark.parametrize("found", STOPPED, ids=_named, indirect=True)
def test_the_same_command_says_that_it_begins_anew_and_loads_all(found: Found) -> None:
    inrush, run = found.inrush, found.run
    before = {target: found.rows(target) for target in found.left.full}
    assert found.stopped_runs() == [run]
    count = found.left.units
    told = "1 unit starts again" if count == 1 else f"{count} units start again"
    inrush("check", PACKAGE).expect(CLEAN, OLDER, run, told)
    assert {target: found.rows(target) for target in found.left.full} == before
    loaded = inrush("run", PACKAGE).expect(found.status, OLDER, run, told)
    found.assert_loaded()
    found.assert_rejects(loaded)
    inrush("run", PACKAGE).expect(found.status, "already loaded")
    found.assert_loaded()
    assert found.stopped_runs() == []


@pytest.mark.parametrize("found", STOPPED + STRAIGHT, ids=_named, indirect=True)
def test_it_can_be_given_up(found: Found) -> None:
    before = {target: found.rows(target) for target in found.left.full}
    if found.left.straight_rows:
        left_alone = found.inrush("cleanup", PACKAGE).expect(CLEAN, "left alone", found.run)
        # The command that began the run is refused too, so this message has the hint of the
        # refusal.
        assert "loads the rest" not in left_alone.said
        hint = "resume it with the version that began it; or delete these rows and give the run up"
        assert f"{hint}: inrush cleanup --run {found.run}" in left_alone.said
        found.inrush("run", PACKAGE).expect(FAILED, f"inrush cleanup --run {found.run}")
        status = found.inrush("status", PACKAGE).expect(CLEAN, found.run)
        assert "this version cannot resume it" in status.output
    found.inrush("cleanup", PACKAGE, "--run", found.run).expect(CLEAN, found.run)
    found.assert_nothing_staged()
    assert found.stopped_runs() == []
    assert {target: found.rows(target) for target in found.left.full} == before
    if found.database is not None and found.left.straight_rows:
        (target,) = found.left.full
        found.database.execute(f"DELETE FROM {target} WHERE id >= 0")
    loaded = found.inrush("run", PACKAGE).expect(found.status)
    assert OLDER not in loaded.said
    found.assert_loaded()
    found.assert_rejects(loaded)


@pytest.mark.parametrize("found", STRAIGHT, ids=_named, indirect=True)
def test_rows_that_are_in_a_target_are_not_loaded_twice(found: Found) -> None:
    (target,) = found.left.full
    for words in (("check", PACKAGE), ("run", PACKAGE), ("run", PACKAGE, "--again")):
        refused = found.inrush(*words).expect(FAILED, "Another version of Inrush loaded them")
        assert f"inrush cleanup --run {found.run}" in refused.said
    assert found.rows(target) == _canonical(OLD_ROWS + found.left.straight_rows)


@pytest.mark.parametrize("found", LOADED, ids=_named, indirect=True)
def test_what_it_loaded_is_not_loaded_again(found: Found) -> None:
    found.inrush("check", PACKAGE).expect(CLEAN)
    found.assert_loaded()
    for _ in range(2):
        found.inrush("run", PACKAGE).expect(found.status, "already loaded")
        found.assert_loaded()
    assert found.stopped_runs() == []
    found.inrush("cleanup", PACKAGE).expect(CLEAN)
    found.assert_loaded()


@pytest.mark.parametrize("found", CASES, ids=_named, indirect=True)
def test_its_rejects_are_read(found: Found) -> None:
    """The rejects of a stopped run can be read, up to the place where it stopped."""
    shown = found.inrush("rejects", "show", found.run, "--json").expect(CLEAN)
    told = json.loads(shown.output)
    # The run was stopped after its first unit, so it found one of the rejects.
    assert told["rows"] == (1 if found.left.straight_rows else found.left.rejected_rows)
    assert {cause["column"] for cause in told["causes"]} <= {"id"}


@pytest.mark.parametrize("found", ENDED, ids=_named, indirect=True)
def test_its_report_is_read(found: Found) -> None:
    folder = found.inrush.folder / "runs" / found.run
    found.inrush("report", found.run).expect(CLEAN)
    assert (folder / "report.html").stat().st_size > 0
    path = folder / "report.json"
    report = Report.from_details(json.loads(path.read_text()), path)
    assert report.account.rows_loaded == sum(len(rows) for rows in found.left.full.values())


@pytest.mark.parametrize("found", ENDED, ids=_named, indirect=True)
def test_its_rejects_are_replayed(found: Found) -> None:
    # The corrected keys are within the partitions of the target.
    fixed = itertools.count(4)
    for path in (found.inrush.folder / "runs" / found.run / "rejects").glob("*.rejects"):
        path.write_text(path.read_text().replace("x", str(next(fixed))))
    found.inrush("rejects", "replay", found.run).expect(CLEAN, "2 rows: 2 loaded now")
    rows = found.left.full["events"] + [(4, "no number"), (5, "no number")]
    assert found.rows("events") == _canonical(rows)


@pytest.mark.parametrize("found", ENDED, ids=_named, indirect=True)
def test_it_is_undone(found: Found) -> None:
    words = ("undo", found.run, PACKAGE, "--drop")
    if found.database is None:
        found.inrush(*words).expect(FAILED, "an earlier version of Inrush", "nothing was changed")
        found.assert_loaded()
        return
    found.inrush(*words).expect(CLEAN, found.run)
    for target in found.left.full:
        assert not found.rows(target)
    found.inrush("run", PACKAGE).expect(found.status)
    found.assert_loaded()


def _make_newer(found: Found) -> None:
    """Give the ledger a version that does not exist."""
    if found.database is not None:
        found.database.execute("COMMENT ON SCHEMA inrush IS 'The ledger of Inrush, version 99: x'")
    elif found.left.destination == "duckdb":
        with opened(found.inrush.folder / "warehouse.duckdb") as connection:
            connection.execute("UPDATE inrush.run SET version = 99")
    else:
        for path in (found.inrush.folder / "lake" / "_inrush" / "runs").glob("*.json"):
            path.write_text(path.read_text().replace('"format": 1', '"format": 99'))


@pytest.mark.parametrize("found", CASES, ids=_named, indirect=True)
def test_a_ledger_of_an_unknown_version_is_refused(found: Found) -> None:
    _make_newer(found)
    for words in (("check",), ("run",), ("run", "--again"), ("status",), ("cleanup",)):
        found.inrush(*words, PACKAGE).expect(FAILED, "version", "99")
    if found.database is not None:
        found.inrush("undo", found.run, PACKAGE).expect(FAILED, "version 99")


def test_fixtures_are_small() -> None:
    folder = Path(__file__).parent / "first_edition"
    sizes = Counter({path.name: path.stat().st_size for path in folder.iterdir()})
    assert sizes.total() < 300_000, sizes.most_common(5)
