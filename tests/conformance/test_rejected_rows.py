"""Rejects up to the limit are kept with place and reason, and can be replayed; beyond it, none."""

from __future__ import annotations

import json

import pytest

from conformance.conftest import MakeJob
from conformance.destinations import Place, in_order
from conformance.job import HEADER, TABLE, TYPES, filled, record, row
from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush
from harness.packages import Value, flow

BAD = {
    3: ("x,bad number,1,2024-01-01 00:00:00", "id"),
    5: ("11,too many digits,1.005,2024-01-01 00:00:00", "price"),
    6: ("12,no day,1,2024-02-30 00:00:00", "at"),
    8: ("13,a field too few,1", None),
}
GOOD = {2: record(1), 4: record(2), 7: record(3), 9: record(4)}


def text_of_rows() -> str:
    lines = {number: line for number, (line, _) in BAD.items()}
    for number, values in GOOD.items():
        lines[number] = ",".join(f'"{value}"' for value in values)
    return HEADER + "".join(lines[number] + "\n" for number in sorted(lines))


def settings(rows_max: int, mode: str = "create") -> dict[str, Value]:
    columns: list[Value] = ["id integer", "note text", "price numeric(15,2)", "at timestamp"]
    return {"columns": columns, "rejects": {"rows_max": rows_max}, "mode": mode}


@pytest.mark.clause("D-34")
def test_up_to_the_limit_they_are_kept_and_mended(place: Place, inrush: Inrush) -> None:
    inrush.write("rows.csv", text_of_rows())
    text = place.package(flow(TABLE, "rows.csv", **settings(len(BAD))))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    good = [row(values) for values in GOOD.values()]
    assert place.rows(TABLE, TYPES) == in_order(good)
    told = outcome.rejects()
    assert [one["line"] for one in told] == sorted(BAD)
    for one in told:
        line, column = BAD[one["line"]]
        assert one["reason"], one
        assert one["file"].endswith("rows.csv"), one
        assert column is None or one["column"] == column, (line, one)

    folder = outcome.run_folders()[-1]
    shown = json.loads(inrush("rejects", "show", folder.name, "--json").expect(CLEAN).output)
    assert shown["rows"] == len(BAD)
    mended = [
        ("10", "bad number", "1", "2024-01-01 00:00:00"),
        ("11", "too many digits", "1.01", "2024-01-01 00:00:00"),
        ("12", "no day", "1", "2024-02-29 00:00:00"),
    ]
    (file,) = (folder / "rejects").glob("*.rejects")
    file.write_text(HEADER + "".join(",".join(values) + "\n" for values in mended))
    for _ in range(2):
        # The file is loaded once.
        inrush("rejects", "replay", folder.name).expect(CLEAN)
        assert place.rows(TABLE, TYPES) == in_order([*good, *map(row, mended)])


@pytest.mark.clause("D-34")
@pytest.mark.parametrize("filled_before", [False, True], ids=["new", "filled"])
def test_past_the_limit_nothing_is_changed(
    place: Place, inrush: Inrush, filled_before: bool
) -> None:
    before = filled(place, inrush, [record(10_000)]) if filled_before else None
    inrush.write("rows.csv", text_of_rows())
    mode = "append" if filled_before else "create"
    text = place.package(flow(TABLE, "rows.csv", **settings(len(BAD) - 1, mode)))
    package = inrush.write("package.toml", text)
    for _ in range(2):
        outcome = inrush("run", package).expect(REJECT_LIMIT)
        assert (place.rows(TABLE, TYPES) or []) == (before or [])
        assert len(outcome.rejects()) >= len(BAD) - 1
    # Once the file is fixed, the same command succeeds.
    lines = text_of_rows().splitlines(keepends=True)
    kept = [line for number, line in enumerate(lines, 1) if number not in BAD]
    inrush.write("rows.csv", "".join(kept))
    inrush("run", package).expect(CLEAN)
    good = [row(values) for values in GOOD.values()]
    assert place.rows(TABLE, TYPES) == in_order([*(before or []), *good])


@pytest.mark.clause("D-9", "D-24", "D-34")
def test_rejects_of_kept_units_are_not_lost(make_job: MakeJob) -> None:
    """A run that is killed after units with rejects is resumed, and finally has all rejects."""
    job = make_job(rejects={"rows_max": 10})
    for part in range(job.parts):
        path = job.inrush.folder / f"package.{part}.csv"
        path.write_text(path.read_text() + f"x{part},bad,,\n")
    job.killed_at("before_switch")
    job.assert_nothing()
    outcome = job.run().expect(LOADED_WITH_REJECTS)
    job.assert_done()
    account = outcome.report["account"]
    assert account["rows_rejected"] == job.parts
    assert account["rows_read"] == account["rows_loaded"] + job.parts
    assert sorted(one["value"] for one in outcome.rejects()) == ["x0", "x1", "x2"]
