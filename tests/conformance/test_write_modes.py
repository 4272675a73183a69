"""Append and replace: the effect on the existing rows."""

from __future__ import annotations

import signal

import pytest

from conformance.canonical import Row
from conformance.conftest import MakeJob
from conformance.destinations import Place, in_order
from conformance.job import TABLE, filled, record
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.packages import Value, flow

COLUMNS = "id integer, note text"
TYPES = ("integer", "text")


def load(place: Place, inrush: Inrush, text: str, *words: str, file: str = "rows.csv") -> None:
    inrush.write(file, text)
    inrush("load", file, *place.words, "--table", "t", *words).expect(CLEAN)


@pytest.mark.clause("D-16")
def test_append_keeps_what_is_there(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    before = filled(job.place, job.inrush, [record(10_000), record(10_001)])
    job.run().expect(CLEAN)
    job.assert_done(before)
    second = make_job(mode="append", first=50_000, name="second")
    second.run().expect(CLEAN)
    second.assert_done([*before, *job.rows])


@pytest.mark.clause("D-16")
def test_append_refuses_a_table_that_is_not_there(make_job: MakeJob) -> None:
    job = make_job(mode="append")
    job.run().expect(FAILED, TABLE, "create")
    assert job.place.tables() == set()


@pytest.mark.clause("D-16")
def test_replace_lets_all_rows_give_way(make_job: MakeJob) -> None:
    job = make_job(mode="replace")
    job.run().expect(CLEAN)
    job.assert_done()
    second = make_job(mode="replace", first=50_000, name="second", parts=2)
    second.run().expect(CLEAN)
    second.assert_done()


@pytest.mark.clause("D-16")
def test_replace_by_nothing(place: Place, inrush: Inrush) -> None:
    load(place, inrush, "id,note\n1,a\n", "--columns", COLUMNS)
    load(place, inrush, "id,note\n", "--mode", "replace", file="none.csv")
    assert place.rows("t", TYPES) == []


@pytest.mark.clause("D-11", "D-16")
def test_columns_are_matched_by_name(place: Place, inrush: Inrush) -> None:
    load(place, inrush, "id,note\n1,a\n", "--columns", COLUMNS)
    load(place, inrush, "note,id\nb,2\n", "--mode", "append", file="turned.csv")
    assert place.rows("t", TYPES) == [("1", "a"), ("2", "b")]


@pytest.mark.clause("D-8", "D-11")
def test_columns_that_no_file_has_are_null(place: Place, inrush: Inrush) -> None:
    load(place, inrush, "id,note\n1,a\n", "--columns", COLUMNS)
    load(place, inrush, "id\n2\n", "--mode", "append", "--columns", "id", file="narrow.csv")
    assert place.rows("t", TYPES) == [("1", "a"), ("2", None)]


@pytest.mark.clause("D-11")
def test_a_column_that_the_table_lacks_is_refused(place: Place, inrush: Inrush) -> None:
    load(place, inrush, "id,note\n1,a\n", "--columns", COLUMNS)
    inrush.write("more.csv", "id,note,extra\n2,b,c\n")
    outcome = inrush("load", "more.csv", *place.words, "--table", "t", "--mode", "append")
    assert outcome.status in (FAILED, USAGE), outcome.said
    outcome.expect(outcome.status, "extra")
    assert place.rows("t", TYPES) == [("1", "a")]


PARTITIONED = ("id integer", "region integer", "day date")


def partitioned_flow(place: Place, files: str, mode: str, **more: Value) -> str:
    """Return a package with a flow in which each partition and each file has one `region`."""
    if place.bounds:
        more |= {"bounds": [1, 2, 3, 4, 5]}
    columns: list[Value] = list(PARTITIONED)
    return place.package(
        flow("t", f"{files}.*.csv", mode=mode, columns=columns, partition_by="region", **more),
        name=files,
    )


def rows_by_name(place: Place) -> list[Row]:
    """Return the rows with the same order of columns for all destinations."""
    types = {"id": "integer", "region": "integer", "day": "date"}
    order = list(place.column_types("t"))
    rows = place.rows("t", [types[name] for name in order])
    assert rows is not None
    return in_order([tuple(row[order.index(name)] for name in types) for row in rows])


@pytest.mark.clause("D-4", "D-17")
def test_partitions_are_replaced_where_new_rows_fall(place: Place, inrush: Inrush) -> None:
    for n in (1, 2, 3):
        inrush.write(f"first.{n}.csv", f"id,region,day\n{n},{n},2024-01-0{n}\n")
    package = inrush.write("first.toml", partitioned_flow(place, "first", "create"))
    outcome = inrush("run", package)
    if not place.partitions:
        assert outcome.status in (FAILED, USAGE), outcome.said
        outcome.expect(outcome.status, "partition")
        assert place.tables() == set()
        return
    outcome.expect(CLEAN)
    first = [("1", "1", "2024-01-01"), ("2", "2", "2024-01-02"), ("3", "3", "2024-01-03")]
    assert rows_by_name(place) == first
    inrush.write("new.2.csv", "id,region,day\n4,2,2024-02-01\n6,2,2024-02-03\n")
    inrush.write("new.4.csv", "id,region,day\n5,4,2024-02-02\n")
    replace: Value = {"scope": "partitions"}
    text = partitioned_flow(place, "new", "replace", replace=replace)
    package = inrush.write("second.toml", text)
    died = inrush("run", package, environment={"INRUSH_FAULT": "before_switch_commit"})
    assert died.status == -signal.SIGKILL, died.said
    assert rows_by_name(place) == first
    inrush("run", package).expect(CLEAN)
    new = [("4", "2", "2024-02-01"), ("5", "4", "2024-02-02"), ("6", "2", "2024-02-03")]
    assert rows_by_name(place) == in_order([first[0], first[2], *new])
    inrush("run", package).expect(CLEAN, "already loaded")
