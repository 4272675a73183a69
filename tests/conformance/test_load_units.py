"""Load units do not depend on the number of streams; several small files may be one unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row
from conformance.conftest import MakeJob, MakePlace
from conformance.destinations import Parquet, Place, in_order
from conformance.job import COLUMNS, HEADER, TABLE, TYPES, Job, filled, line, record, row
from harness.command import CLEAN, LOADED_WITH_REJECTS, VERIFICATION, Inrush, Outcome
from harness.packages import Value, flow


def files_of_units(report: dict[str, Any]) -> list[list[str]]:
    """Return the names of the files of each unit."""
    return [[Path(file).name for file in unit["files"]] for unit in report["units"]]


def with_streams(job: Job, streams: int) -> None:
    """Write the package again, with this number of streams."""
    text = job.place.package(job.flow, name="package", batch_rows=100, streams=streams)
    job.package = job.inrush.write("package.toml", text)


@pytest.mark.clause("D-24", "D-39")
@pytest.mark.parametrize(("streams", "then"), [(1, 3), (3, 1), (2, 4)])
def test_another_number_of_streams_keeps_all_units(
    make_job: MakeJob, streams: int, then: int
) -> None:
    job = make_job(parts=5)
    with_streams(job, streams)
    job.killed_at("before_switch")
    with_streams(job, then)
    report = job.run().expect(CLEAN).report
    assert report["resumed"]
    assert all(unit["kept"] and unit["finished"] for unit in report["units"])
    assert sum(stream["meter"]["rows"] for stream in report["streams"]) == 0
    files = [file for files in files_of_units(report) for file in files]
    assert sorted(files) == [f"package.{part}.csv" for part in range(5)]
    job.assert_done()


# The number of rows of each file. The load puts small files together; the fourth is too large.
FILES = (30, 0, 70, 2_000, 1, 40)
MERGE_BYTES = 20_000
# The files of each unit.
UNITS = [["part.0.csv", "part.1.csv", "part.2.csv"], ["part.3.csv"], ["part.4.csv", "part.5.csv"]]
# For each file, the lines that have a text in place of the number.
BAD = {"part.0.csv": (4, 9), "part.2.csv": (70,), "part.5.csv": (2,)}


class Merged:
    """A load of small files that become few load units, and few files."""

    def __init__(
        self,
        place: Place,
        inrush: Inrush,
        bad: dict[str, tuple[int, ...]],
        **settings: Value,
    ) -> None:
        self.settings = settings
        place.options = {"merge_bytes": str(MERGE_BYTES)}
        self.place = place
        self.inrush = inrush
        self.bad = bad
        rows: list[Row] = []
        first = 0
        for number, count in enumerate(FILES):
            name = f"part.{number}.csv"
            lines = [HEADER]
            for at in range(count):
                values = record(first + at)
                is_bad = at + 2 in bad.get(name, ())
                lines.append(line(("x", *values[1:]) if is_bad else values))
                if not is_bad:
                    rows.append(row(values))
            first += count
            inrush.write(name, "".join(lines))
        self.rows = in_order(rows)

    def package(self, streams: int) -> Path:
        """Write the package."""
        rejects: Value = {"rows_max": 10}
        target = flow(TABLE, "part.*.csv", columns=list(COLUMNS), rejects=rejects, **self.settings)
        text = self.place.package(target, streams=streams, batch_rows=64)
        return self.inrush.write("package.toml", text)

    def run(self, streams: int, *words: str) -> Outcome:
        """Run it."""
        return self.inrush("run", self.package(streams), *words)

    def killed_at(self, point: str, streams: int, before: Sequence[Row] = ()) -> None:
        """Run it until SIGKILL ends it at a fault point, and check that nothing new is visible."""
        self.place.killed_at(point, self.inrush, "run", self.package(streams))
        assert (self.place.rows(TABLE, TYPES) or []) == list(before)

    def assert_done(self, outcome: Outcome) -> None:
        """Fail unless the table has the rows, in one Parquet file for each unit."""
        outcome.expect(LOADED_WITH_REJECTS if self.bad else CLEAN)
        assert self.place.rows(TABLE, TYPES) == self.rows
        assert self.place.tables() == {TABLE}
        assert isinstance(self.place, Parquet)
        assert len(list(self.place.path(TABLE).rglob("*.parquet"))) == len(UNITS)
        assert files_of_units(outcome.report) == UNITS
        assert all(unit["finished"] for unit in outcome.report["units"])
        found = [(Path(reject["file"]).name, reject["line"]) for reject in outcome.rejects()]
        bad = [(file, at) for file, lines in self.bad.items() for at in lines]
        assert sorted(found) == sorted(bad)


@pytest.fixture(params=[{}, BAD], ids=["clean", "rejects"])
def merged(
    request: pytest.FixtureRequest, make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> Merged:
    """Return a load of small files, with and without rejected rows."""
    return Merged(make_place(Parquet, tmp_path), inrush, request.param)


@pytest.mark.clause("D-32", "D-34", "D-39")
@pytest.mark.parametrize("streams", [1, 3])
def test_small_files_become_one(merged: Merged, streams: int) -> None:
    said = merged.inrush("check", merged.package(streams)).expect(CLEAN).output
    assert "3 units" in said
    lines = [text for text in said.splitlines() if text.startswith("  unit 1 (")]
    assert len(lines) == 1
    assert lines[0].endswith("), loaded by one stream, in one transaction")
    folder = merged.inrush.folder
    first = "\n".join(f"    from {folder / name}" for name in UNITS[0])
    assert f"{lines[0]}\n{first}\n" in said
    merged.assert_done(merged.run(streams))
    merged.run(streams).expect(LOADED_WITH_REJECTS if merged.bad else CLEAN, "already loaded")


@pytest.mark.clause("D-22", "D-23", "D-24", "D-39")
@pytest.mark.parametrize(
    ("point", "streams", "then"),
    [
        ("in_copy:3", 1, 3),
        ("before_unit_commit:2", 3, 1),
        ("unit_commit_sent", 2, 3),
        ("after_unit_commit:2", 1, 3),
        ("before_switch", 3, 1),
        ("in_switch", 1, 2),
    ],
)
def test_killed_and_run_by_another_number_of_streams(
    merged: Merged, point: str, streams: int, then: int
) -> None:
    merged.killed_at(point, streams)
    outcome = merged.run(then)
    merged.assert_done(outcome)
    assert outcome.report["resumed"]
    if point in ("after_unit_commit:2", "before_switch", "in_switch"):
        kept = sum(unit["kept"] for unit in outcome.report["units"])
        assert kept == (2 if point.startswith("after") else len(UNITS))


@pytest.mark.clause("D-16", "D-23", "D-24", "D-39")
@pytest.mark.parametrize("point", ["after_unit_commit:2", "before_switch", "in_switch"])
def test_killed_while_it_replaces(
    make_place: MakePlace, inrush: Inrush, tmp_path: Path, point: str
) -> None:
    place = make_place(Parquet, tmp_path)
    before = filled(place, inrush, [record(90_000), record(90_001)])
    merged = Merged(place, inrush, BAD, mode="replace")
    # With a second stream, another unit may commit before the process dies.
    merged.killed_at(point, 1, before)
    outcome = merged.run(3)
    merged.assert_done(outcome)
    kept = sum(unit["kept"] for unit in outcome.report["units"])
    assert kept == (2 if point.startswith("after") else len(UNITS))


@pytest.mark.clause("D-39")
def test_units_that_another_file_changes_are_told(merged: Merged) -> None:
    """A new file that comes first changes the first unit; its rows are loaded again."""
    merged.killed_at("before_switch", 2)
    values = record(80_000)
    merged.inrush.write("part.+.csv", HEADER + line(values))
    outcome = merged.run(2).expect(LOADED_WITH_REJECTS if merged.bad else CLEAN)
    units = outcome.report["units"]
    assert [unit["kept"] for unit in units] == [False, True, True]
    assert files_of_units(outcome.report) == [["part.+.csv", *UNITS[0]], *UNITS[1:]]
    told = [
        note for note in outcome.report["notes"] if "1 committed unit of the stopped run" in note
    ]
    assert len(told) == 1
    assert "are in other units now, so they are loaded again: files came or went" in told[0]
    assert merged.place.rows(TABLE, TYPES) == in_order([*merged.rows, row(values)])


@pytest.mark.clause("D-39")
def test_units_whose_files_are_gone_are_told(merged: Merged) -> None:
    merged.killed_at("before_switch", 2)
    (merged.inrush.folder / "part.3.csv").unlink()
    outcome = merged.run(2).expect(LOADED_WITH_REJECTS if merged.bad else CLEAN)
    told = [note for note in outcome.report["notes"] if "committed unit" in note]
    assert any(
        "files of 1 committed unit of the stopped run" in note and "rows are dropped" in note
        for note in told
    ), told


@pytest.mark.clause("D-22", "D-39")
def test_a_file_that_changed_since_is_found_within_its_unit(merged: Merged) -> None:
    merged.killed_at("before_switch", 2)
    path = merged.inrush.folder / "part.4.csv"
    text = path.read_text()
    # The changed file keeps its size and its number of rows.
    path.write_text(text.replace("note ", "Note "))
    refused = merged.run(2)
    assert refused.status not in (CLEAN, LOADED_WITH_REJECTS), refused.said
    assert "part.4.csv" in refused.said
    assert "changed since" in refused.said
    again = merged.run(2, "--again").expect(LOADED_WITH_REJECTS if merged.bad else CLEAN)
    # The units of the other files are kept.
    assert [unit["kept"] for unit in again.report["units"]] == [True, True, False]
    found = merged.place.rows(TABLE, TYPES)
    assert found is not None
    assert len(found) == len(merged.rows)
    assert found != merged.rows


@pytest.mark.clause("D-32", "D-39")
def test_each_file_of_a_unit_is_held_to_its_trailer(
    make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    place = make_place(Parquet, tmp_path)
    place.options = {"merge_bytes": str(MERGE_BYTES)}
    for promised in (4, 3):
        inrush.write("one.csv", "1,a\n2,b\nTRL,2\n")
        inrush.write("two.csv", f"3,c\n4,d\n5,e\nTRL,{promised}\n")
        target = flow(
            TABLE,
            "*.csv",
            columns=["id integer not null", "note text"],
            format={"header": False},
            trailer={"starts_with": "TRL", "rows_field": 2},
        )
        path = inrush.write("package.toml", place.package(target))
        outcome = inrush("run", path)
        if promised == 3:
            outcome.expect(CLEAN)
            assert files_of_units(outcome.report) == [["one.csv", "two.csv"]]
        else:
            outcome.expect(VERIFICATION, "two.csv", "rows = 4")
            assert not place.rows(TABLE, ("integer", "text"))
            inrush("cleanup", *place.words).expect(CLEAN)
    expected = [(str(number), note) for number, note in enumerate("abcde", 1)]
    assert place.rows(TABLE, ("integer", "text")) == in_order(expected)
