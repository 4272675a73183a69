"""All streams read a result that an ADBC driver offers in partitions, each row once."""

from __future__ import annotations

import signal

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, Inrush
from harness.servers import Database
from sources.flight_sql import FlightSql

ROWS = "SELECT range::INTEGER AS id, 'note ' || range AS note FROM range(40000)"
# Partitions of different sizes, one of them empty.
CUTS = (1_500, 1_500, 30_000)


@pytest.fixture
def lake() -> FlightSql:
    """Return a server with a table `t`."""
    return FlightSql(ROWS, CUTS)


def package(lake: FlightSql, database: Database, source: str = "", **flow: str) -> str:
    """Return a package that copies the table."""
    more = "\n".join(f"{name} = {value}" for name, value in flow.items())
    return f"""
name = "copy"
[connections]
lake = {{ url = "adbc:flightsql", options = {{ uri = "grpc://127.0.0.1:{lake.port}" }} }}
dw = {{ url = "{database.url}" }}
[run]
streams = 2
[[flow]]
source = {{ connection = "lake", table = "t"{source} }}
connection = "dw"
table = "t"
{more}
"""


EXPECTED = [(number, f"note {number}") for number in range(40_000)]
FOUND = "SELECT id, note FROM t ORDER BY id"


def test_all_streams_read_the_partitions(
    lake: FlightSql, database: Database, inrush: Inrush
) -> None:
    with lake:
        inrush.write("copy.toml", package(lake, database))
        inrush("check", "copy.toml").expect(CLEAN, "t is read in 4 partitions")
        lake.read.clear()
        inrush("run", "copy.toml").expect(CLEAN)
        assert database.rows(FOUND) == EXPECTED
        # Each partition of the plan's result is read once.
        assert sorted(at for at, _ in lake.read) == [0, 1, 2, 3]
        # No program has written since.
        inrush("run", "copy.toml").expect(CLEAN, "already loaded")
        assert database.rows(FOUND) == EXPECTED


def test_a_stable_table_is_read_as_a_whole(
    lake: FlightSql, database: Database, inrush: Inrush
) -> None:
    with lake:
        inrush.write("copy.toml", package(lake, database, ", stable = true"))
        outcome = inrush("check", "copy.toml").expect(CLEAN)
        assert "into which the driver divides" not in outcome.said
        inrush("run", "copy.toml").expect(CLEAN)
        assert database.rows(FOUND) == EXPECTED


def test_a_reject_names_the_row_and_its_partition(
    lake: FlightSql, database: Database, inrush: Inrush
) -> None:
    flow = {"columns": '["id integer", "note varchar(9)"]', "rejects": "{ rows_max = 40000 }"}
    with lake:
        inrush.write("copy.toml", package(lake, database, ', where = "id <> 0"', **flow))
        outcome = inrush("run", "copy.toml").expect(LOADED_WITH_REJECTS)
    keys = {reject["key"] for reject in outcome.rejects()}
    # "note 10000" is too long. The row with id 0 is not read, so each row's number is its id.
    expected = {f"row {number - 1_500} of partition 3" for number in range(10_000, 30_001)}
    expected |= {f"row {number - 30_000} of partition 4" for number in range(30_001, 40_000)}
    assert keys == expected
    assert database.rows(FOUND) == EXPECTED[1:10_000]


def test_a_partition_that_breaks_off(lake: FlightSql, database: Database, inrush: Inrush) -> None:
    with lake:
        inrush.write("copy.toml", package(lake, database))
        lake.fails_in = 2
        inrush("run", "copy.toml").expect(FAILED, "the partition broke off")
        assert database.value("SELECT to_regclass('t')") is None
        lake.fails_in = None
        inrush("run", "copy.toml").expect(CLEAN)
        assert database.rows(FOUND) == EXPECTED


@pytest.mark.parametrize("point", ["in_copy", "after_unit_commit", "before_report"])
def test_a_killed_copy_is_run_again(
    lake: FlightSql, database: Database, inrush: Inrush, point: str
) -> None:
    """The rows that were loaded are read again and compared, and the rest is loaded."""
    with lake:
        inrush.write("copy.toml", package(lake, database))
        died = inrush("run", "copy.toml", environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL
        inrush("run", "copy.toml").expect(CLEAN)
        assert database.rows(FOUND) == EXPECTED
        inrush("run", "copy.toml").expect(CLEAN, "already loaded")


def test_a_killed_copy_whose_result_is_cut_elsewhere(
    lake: FlightSql, database: Database, inrush: Inrush
) -> None:
    """The loaded rows cannot be compared, so all of them are loaded again."""
    with lake:
        inrush.write("copy.toml", package(lake, database))
        environment = {"INRUSH_FAULT": "after_unit_commit"}
        died = inrush("run", "copy.toml", environment=environment)
        assert died.status == -signal.SIGKILL
        lake.cuts = (20_000,)
        inrush("run", "copy.toml").expect(CLEAN, "changed since, and is loaded again: t")
        assert database.rows(FOUND) == EXPECTED
