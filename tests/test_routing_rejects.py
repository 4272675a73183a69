"""Rows that fit no partition where only the server can tell: it is asked row by row."""

from __future__ import annotations

import pytest

from command import LOADED_WITH_REJECTS, Inrush
from packages import flow, package
from servers import Database
from test_routing import Shape, assert_nothing_left_behind, make, month

PLAIN = ["1", "1", "2024-01-15", "2024-01-15 12:00:00", "north", "1.00", "t", "x"]

# The shape of the target, and for each bad row the fields that make it so.
STRAYS = {
    "two columns": (
        Shape(
            "RANGE (k, day)",
            "CREATE TABLE t_a PARTITION OF t "
            "FOR VALUES FROM (1, '2024-01-01') TO (2, '2024-01-01');",
        ),
        [{1: "0"}, {1: "2"}, {1: ""}],
    ),
    "an expression": (
        Shape(
            "LIST (upper(region))",
            "CREATE TABLE t_n PARTITION OF t FOR VALUES IN ('NORTH');",
        ),
        [{4: "south"}, {4: ""}],
    ),
    "texts by range": (
        Shape("RANGE (region)", "CREATE TABLE t_a PARTITION OF t FOR VALUES FROM ('m') TO ('q');"),
        [{4: "a"}, {4: "q"}],
    ),
    "a level below": (
        Shape(
            "RANGE (day)",
            month("t", 1, "PARTITION BY LIST (k)")
            + "CREATE TABLE t_m1_a PARTITION OF t_m1 FOR VALUES IN (1, 2);",
        ),
        [{1: "3"}, {2: "2024-02-01"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("name", STRAYS)
def test_a_row_that_fits_no_partition_is_a_reject(
    database: Database, inrush: Inrush, name: str, streams: int
) -> None:
    shape, strays = STRAYS[name]
    for part in range(2):
        rows = [",".join(PLAIN)] * 500
        for number, fields in enumerate(strays):
            bad = list(PLAIN)
            for field, value in fields.items():
                bad[field] = value
            rows.insert(100 * (number + 1), ",".join(bad))
        inrush.write(f"rows.{part}.csv", "\n".join(rows) + "\n")
    make(database, "loaded", shape)
    count = 2 * len(strays)
    written = package(
        database.url,
        flow(
            "loaded",
            "rows.*.csv",
            format={"header": False},
            routing=True,
            rejects={"rows_max": count},
        ),
        streams=streams,
    )
    outcome = inrush("run", inrush.write("package.toml", written)).expect(LOADED_WITH_REJECTS)
    assert database.value("SELECT count(*) FROM loaded") == 1000
    rejects = outcome.rejects()
    places = [(reject["file"].rsplit("/")[-1], reject["line"]) for reject in rejects]
    expected = [
        (f"rows.{part}.csv", 100 * (number + 1) + 1)
        for part in range(2)
        for number in range(len(strays))
    ]
    assert sorted(places) == sorted(expected)
    assert {reject["code"] for reject in rejects} == {"outside_partition"}
    assert not any("inrush_staging" in reject["reason"] for reject in rejects)
    assert_nothing_left_behind(database)
