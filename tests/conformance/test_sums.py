"""`verify = "sums"`: a destination computes exact sums of the rows that it stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import matrix
from conformance.abilities import claims
from conformance.conftest import MakePlace
from conformance.destinations import PLACES, AdbcDuckDb, AdbcSqlite, DuckDb, Parquet, Place
from conformance.job import Job
from conformance.measured import Measuring
from conformance.values import TYPES
from harness.checkout import DOCS
from harness.command import CLEAN, VERIFICATION, Inrush
from harness.packages import Value, flow

SUMMING = [kind for kind in PLACES if "verify sums" in claims()[kind.title]]
COUNTED_ONLY = "only the NULLs of these columns are verified"


@pytest.mark.timeout(900)
@pytest.mark.clause("D-42")
@pytest.mark.parametrize("kind", SUMMING, ids=lambda kind: kind.name)
def test_rows_of_any_type_have_their_sums(
    kind: type[Place], make_place: MakePlace, tmp_path: Path
) -> None:
    """The sums of extremes, odd values and NULLs agree.

    Rows and rejects are the same as with `verify = "count"`. One load has all types that the
    destination does not refuse by the page, which test_every_type.py compares with each type's own
    load.
    """
    refused = matrix.refused((DOCS / "types.md").read_text(), kind.title)
    taken = [type_ for type_ in TYPES if type_.name not in refused]
    measuring = {}
    for verify in ("count", "sums"):
        folder = tmp_path / verify
        folder.mkdir()
        measuring[verify] = Measuring(make_place(kind, folder), Inrush(folder), verify)
    counted, summed = measuring.values()
    assert summed.together(taken) == counted.together(taken)
    for type_ in TYPES:
        if type_.name in refused:
            assert summed.of(type_) == counted.of(type_), type_.name
            assert summed.of(type_).refused is not None, type_.name


@pytest.mark.clause("D-42")
@pytest.mark.parametrize("kind", SUMMING, ids=lambda kind: kind.name)
def test_many_rows_have_their_sums(
    kind: type[Place], make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    job = Job(make_place(kind, tmp_path), inrush, verify="sums")
    job.killed_at("after_unit_commit")
    job.run().expect(CLEAN)
    job.assert_done()


CHANGES: dict[str, tuple[str, str]] = {
    "number": ("id = id + 1", "column `id`, sum: "),
    "decimal": ("price = '0.01'", "column `price`, sum: "),
    "text": ("note = note || '.'", "column `note`, octets: "),
    "timestamp": ("\"at\" = '2024-01-01 00:00:00'", "column `at`, sum of seconds since 1970: "),
    "null": ("note = NULL", "column `note`, values: "),
}


@pytest.mark.clause("D-42")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [DuckDb, AdbcDuckDb, AdbcSqlite], ids=lambda kind: kind.name)
def test_a_value_that_others_change_in_staging_is_found(
    kind: type[Place], change: str, make_place: MakePlace, inrush: Inrush, tmp_path: Path
) -> None:
    """A run that was killed has committed the unit: its sums are in the ledger."""
    place = make_place(kind, tmp_path)
    job = Job(place, inrush, verify="sums")
    job.killed_at("after_unit_commit")
    (staging,) = (table for table in place.tables() if table.startswith("inrush_staging_"))
    statement, message = CHANGES[change]
    first = f'SELECT min(id) FROM "{staging}"'
    place.execute(f'UPDATE "{staging}" SET {statement} WHERE id = ({first})')
    job.run().expect(VERIFICATION, message, "nothing was switched")
    job.assert_nothing()
    inrush("cleanup", *place.words).expect(CLEAN)
    job.run().expect(CLEAN)
    job.assert_done()


@pytest.mark.clause("D-42")
def test_units_that_were_only_counted_are_loaded_again(inrush: Inrush, tmp_path: Path) -> None:
    place = DuckDb(tmp_path / "results.duckdb")
    job = Job(place, inrush)
    job.killed_at("after_unit_commit")
    assert "verify" not in job.package.read_text()
    job.package.write_text(job.package.read_text().replace("[run]", '[run]\nverify = "sums"'))
    outcome = job.run().expect(CLEAN)
    job.assert_done()
    assert not any(unit["kept"] for unit in outcome.report["units"])


@pytest.mark.clause("D-42")
def test_the_plan_names_columns_that_are_only_counted(inrush: Inrush, tmp_path: Path) -> None:
    inrush.write("a.csv", "id,v\n1,2\n")
    columns: list[Value] = ["id integer", "v double precision"]
    expected: list[tuple[Place, dict[str, Value], str | None]] = [
        (AdbcSqlite(tmp_path / "x.sqlite"), {}, "v "),
        (DuckDb(tmp_path / "x.duckdb"), {}, None),
        (Parquet(tmp_path / "lake"), {"partition_by": "id"}, "id "),
    ]
    for place, settings, counted in expected:
        text = place.package(flow("t", "a.csv", columns=columns, verify="sums", **settings))
        said = inrush("check", inrush.write("p.toml", text)).expect(CLEAN, "(`sums`)").output
        named = [line for line in said.splitlines() if COUNTED_ONLY in line]
        assert len(named) == (counted is not None), said
        assert counted is None or f": {counted}" in named[0], named
