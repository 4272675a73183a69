"""Files without a row: the table is created, and the account is zero."""

from __future__ import annotations

import pytest

from conformance.destinations import Place
from harness.command import CLEAN, Inrush

COLUMNS = ("id integer not null", "note text", "at timestamp")
TYPES = ("integer", "text", "timestamp")


@pytest.mark.clause("D-15", "D-32")
@pytest.mark.parametrize(
    "text", ["id,note,at\n", "id,note,at", ""], ids=["header", "header_without_end", "nothing"]
)
def test_a_file_without_rows_makes_an_empty_table(place: Place, inrush: Inrush, text: str) -> None:
    inrush.write("rows.csv", text)
    words = ("--table", "t", "--columns", ", ".join(COLUMNS))
    report = inrush("load", "rows.csv", *place.words, *words).expect(CLEAN).report
    assert place.rows("t", TYPES) == []
    assert list(place.column_types("t")) == ["id", "note", "at"]
    account = report["account"]
    assert (account["rows_read"], account["rows_loaded"]) == (0, 0)
    inrush("load", "rows.csv", *place.words, *words).expect(CLEAN, "already loaded")
    assert place.tables() == {"t"}


@pytest.mark.clause("D-15", "D-16")
def test_an_empty_file_among_others(place: Place, inrush: Inrush) -> None:
    for name, rows in (("a", "1,x,\n"), ("b", ""), ("c", "2,,2024-01-01 00:00:00\n")):
        inrush.write(f"{name}.csv", "id,note,at\n" + rows)
    words = ("--table", "t", "--columns", ", ".join(COLUMNS))
    inrush("load", "?.csv", *place.words, *words).expect(CLEAN)
    assert place.rows("t", TYPES) == [("1", "x", None), ("2", None, "2024-01-01 00:00:00")]
