"""Several flows in one package: all of their tables are loaded, or none."""

from __future__ import annotations

import signal

import pytest

from conformance.canonical import Row
from conformance.destinations import Place
from harness.command import CLEAN, FAILED, REJECT_LIMIT, Inrush
from harness.packages import Value, flow

TABLES = ("people", "places", "things")
ROWS: list[Row] = [("1", "a"), ("2", None), ("3", "c")]
POINTS = ("before_switch", "in_switch", "before_switch_commit", "switch_commit_sent")


def write(place: Place, inrush: Inrush, **settings: Value) -> tuple[str, str]:
    flows = []
    for table in TABLES:
        inrush.write(f"{table}.csv", "id,note\n1,a\n2,\n3,c\n")
        columns: list[Value] = ["id integer", "note text"]
        flows.append(flow(table, f"{table}.csv", columns=columns, **settings))
    inrush.write("package.toml", place.package(*flows))
    return "run", "package.toml"


def found(place: Place) -> list[list[Row] | None]:
    return [place.rows(table, ["integer", "text"]) for table in TABLES]


@pytest.mark.clause("D-12", "D-14")
def test_all_tables_are_loaded(place: Place, inrush: Inrush) -> None:
    words = write(place, inrush)
    report = inrush(*words).expect(CLEAN).report
    assert found(place) == [ROWS] * 3
    assert [table["account"]["rows_loaded"] for table in report["tables"]] == [3] * 3
    assert place.tables() == set(TABLES)
    inrush(*words).expect(CLEAN, "already loaded")


@pytest.mark.clause("D-12", "D-14", "D-23")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("time", [1, 2])
def test_all_or_none_after_a_kill(place: Place, inrush: Inrush, point: str, time: int) -> None:
    """A destination that publishes table by table reaches the switch's steps once per table."""
    words = write(place, inrush)
    died = inrush(*words, environment={"INRUSH_FAULT": f"{point}:{time}"})
    if died.status == CLEAN:
        # The step is reached once.
        assert time == 2
        assert place.keeps("D-14") or point == "before_switch"
    else:
        assert died.status == -signal.SIGKILL, died.said
        seen = [rows or None for rows in found(place)]
        if place.keeps("D-14"):
            assert seen in ([None] * 3, [ROWS] * 3)
            assert seen == [None] * 3 or point == "switch_commit_sent"
        else:
            assert all(rows in (None, ROWS) for rows in seen)
            assert point != "before_switch" or seen == [None] * 3
    inrush(*words).expect(CLEAN)
    assert found(place) == [ROWS] * 3
    assert place.tables() == set(TABLES)


@pytest.mark.clause("D-14", "D-34")
def test_a_limit_reached_in_one_holds_back_all(place: Place, inrush: Inrush) -> None:
    words = write(place, inrush)
    inrush.write("places.csv", "id,note\n1,a\nx,b\n")
    inrush(*words).expect(REJECT_LIMIT)
    assert [rows or None for rows in found(place)] == [None] * 3
    inrush.write("places.csv", "id,note\n1,a\n2,\n3,c\n")
    inrush(*words).expect(CLEAN)
    assert found(place) == [ROWS] * 3


@pytest.mark.clause("D-14", "D-19")
def test_one_that_cannot_be_published_holds_back_all(place: Place, inrush: Inrush) -> None:
    words = write(place, inrush)
    inrush.write("one.csv", "id,note\n7,x\n")
    columns = "id integer, note text"
    inrush("load", "one.csv", *place.words, "--table", "places", "--columns", columns).expect(CLEAN)
    inrush(*words).expect(FAILED, "places")
    assert [rows or None for rows in found(place)] == [None, [("7", "x")], None]
    place.drop("places")
    inrush(*words).expect(CLEAN)
    assert found(place) == [ROWS] * 3
