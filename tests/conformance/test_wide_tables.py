"""Very wide tables are loaded completely, or refused with the limit; nothing crashes."""

from __future__ import annotations

import pytest

from conformance.destinations import Place
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.packages import Value, flow


@pytest.mark.clause("D-10")
@pytest.mark.parametrize("count", [300, 1_600, 1_601, 5_000])
def test_a_wide_table_is_loaded_or_refused(place: Place, inrush: Inrush, count: int) -> None:
    names = [f"c{number}" for number in range(count)]
    rows = [[str(row * count + number) for number in range(count)] for row in range(3)]
    # Every other column is NULL in the last row.
    rows[-1] = [value if number % 2 else "" for number, value in enumerate(rows[-1])]
    lines = [names, *rows]
    inrush.write("rows.csv", "".join(",".join(line) + "\n" for line in lines))
    columns: list[Value] = [f"{name} integer" for name in names]
    text = place.package(flow("t", "rows.csv", columns=columns))
    outcome = inrush("run", inrush.write("package.toml", text))
    if outcome.status != CLEAN:
        assert outcome.status in (FAILED, USAGE), outcome.said
        outcome.expect(outcome.status, "columns")
        # No destination refuses a usual width.
        assert count > 300
        assert place.tables() == set()
        return
    found = place.rows("t", ["integer"] * count)
    assert found is not None
    assert {tuple(value or "" for value in row) for row in found} == {tuple(row) for row in rows}
    assert len(found) == len(rows)
