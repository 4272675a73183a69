"""If the source has changed, only the changed units of a stopped run are removed from staging.

The source is a table of PostgreSQL whose ranges are compared by count and sum. Single
inputs can be loaded again only with such a source.
"""

from __future__ import annotations

import signal

import pytest

from conformance.destinations import AdbcPostgreSql, Place, PostgreSql, in_order
from harness.command import CLEAN, Inrush
from harness.packages import Value, settings
from harness.ranged_table import ROWS_OF_A_RANGE, add_rows, filled, keys_since, now
from harness.servers import Database

RANGES = 5
ROWS = RANGES * ROWS_OF_A_RANGE
TYPES = ("bigint", "integer", "text")


@pytest.mark.clause("D-24", "D-51")
def test_only_the_changed_range_is_loaded_again(
    place: Place, newest_database: Database, inrush: Inrush
) -> None:
    """A row of the first of two loaded ranges changes, and rows are added to the last range.

    Into PostgreSQL, all ranges are loaded as one unit, which several streams fill.
    """
    of_server = isinstance(place, PostgreSql) and not isinstance(place, AdbcPostgreSql)
    streams, commits, changed = (2, RANGES, "2 ranges") if of_server else (1, 2, "1 range")
    source = filled(newest_database, RANGES)
    read: Value = {
        "connection": "crm",
        "table": "orders",
        "split_by": "id",
        "unchanged_by": "sums",
    }
    flow = {"connection": "target", "table": "orders", "source": read}
    text = place.package("\n[[flow]]\n" + settings(flow), streams=streams)
    text += "\n[connections.crm]\n" + settings({"url": source.url})
    package = inrush.write("copy.toml", text)
    environment = {"INRUSH_FAULT": f"after_unit_commit:{commits}"}
    died = inrush("run", package, environment=environment)
    assert died.status == -signal.SIGKILL, died.said
    source.execute("UPDATE orders SET v = v + 1 WHERE id = 17")
    add_rows(source, ROWS + 1, ROWS + 10)
    before = now(place.database) if isinstance(place, PostgreSql) else 0
    inrush("check", package).expect(CLEAN, f"{changed} of the stopped run changed since")
    report = inrush("run", package).expect(CLEAN).report
    expected = source.rows("SELECT id::text, v::text, pad FROM orders")
    assert place.rows("orders", TYPES) == in_order(expected)
    assert place.tables() == {"orders"}
    assert report["account"]["rows_loaded"] == ROWS + 10
    told = "\n".join(report["notes"])
    together = "1 unit of the stopped run that had not changed must be loaded again, too"
    assert (together in told) != place.removes_units_alone, told
    if of_server:
        # The rows of the other ranges are those of the stopped run.
        assert isinstance(place, PostgreSql)
        smallest, largest, count = keys_since(place.database, before)
        assert (smallest, largest) == (1, ROWS + 10)
        assert count < 0.75 * ROWS
    else:
        kept = [unit["kept"] for unit in report["units"]]
        assert kept == [False, place.removes_units_alone, False, False, False]
