"""Values that a type of SQL Server cannot hold become rejects, and the other rows are loaded.

The limits are those of the pages on `datetime`, `smalldatetime`, `decimal` and `nvarchar` in
https://learn.microsoft.com/sql/t-sql/data-types/data-types-transact-sql: the length of `nvarchar`
counts byte-pairs, so an emoji takes two. All tests use the double.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from harness.command import LOADED_WITH_REJECTS, REJECT_LIMIT
from sqlserver.loads import Loads

COLUMNS = [
    *("id int not null", "dt datetime", "sd smalldatetime", "price decimal(5,2)"),
    *("one nvarchar(1)", "two nvarchar(2)"),
]
NAMES = [column.split()[0] for column in COLUMNS]
# The first and the last value of each type, and NULL.
HELD: dict[str, list[object]] = {
    "1,1753-01-01 00:00:00,1900-01-01 00:00:00,999.99,a,😀": [
        *(1, "1753-01-01 00:00:00.000", "1900-01-01 00:00:00", Decimal("999.99"), "a", "😀")
    ],
    "2,9999-12-31 23:59:59.997,2079-06-06 23:59:00,-999.99,é,éß": [
        *(2, "9999-12-31 23:59:59.997", "2079-06-06 23:59:00", Decimal("-999.99"), "é", "éß")
    ],
    "3,,,,,": [3, None, None, None, None, None],
}
OF_SERVER = "does not fit into its column of SQL Server: "
DATETIME = (
    "is outside the range of datetime (1753-01-01 to 9999-12-31 23:59:59.997); use datetime2(6)"
)
SMALLDATETIME = (
    "is outside the range of smalldatetime (1900-01-01 to 2079-06-06 23:59); use datetime2(6)"
)
STEPS = "datetime holds steps of 1/300 s, shown as .000, .003 and .007; use datetime2(6)"
MINUTES = "smalldatetime holds whole minutes; use datetime2(6)"
DIGITS = "the number has 4 digits before the point, but numeric(5,2) holds 3"
FRACTION = (
    "the number has 3 digits after the point, but numeric(5,2) keeps 2; round the value (`round` "
    "of the column, or round(...) in a step), or declare a larger scale"
)
UNITS = "the value has {} units of UTF-16, nvarchar({}) holds {}: shorten it or widen the column"
CHARACTERS = (
    "3 characters, but the column holds 2; shorten the value, make the column wider, or declare "
    'on_truncate = "truncate"'
)
# The column, its value, and the code and the reason of the reject.
REFUSED = [
    (
        "dt",
        "1752-12-31 23:59:59.997",
        "out_of_range",
        f"{OF_SERVER}1752-12-31 23:59:59.997 {DATETIME}",
    ),
    ("dt", "1752-01-01 00:00:00", "out_of_range", f"{OF_SERVER}1752-01-01 00:00:00 {DATETIME}"),
    (
        "dt",
        "9999-12-31 23:59:59.998",
        "out_of_range",
        f"{OF_SERVER}9999-12-31 23:59:59.998 {DATETIME}",
    ),
    (
        *("dt", "2024-01-01 00:00:00.001", "out_of_range"),
        f"{OF_SERVER}2024-01-01 00:00:00.001 would be rounded: {STEPS}",
    ),
    (
        "sd",
        "1899-12-31 23:59:00",
        "out_of_range",
        f"{OF_SERVER}1899-12-31 23:59:00 {SMALLDATETIME}",
    ),
    (
        "sd",
        "2079-06-07 00:00:00",
        "out_of_range",
        f"{OF_SERVER}2079-06-07 00:00:00 {SMALLDATETIME}",
    ),
    (
        *("sd", "2024-01-01 00:00:30", "out_of_range"),
        f"{OF_SERVER}2024-01-01 00:00:30 would be rounded: {MINUTES}",
    ),
    ("price", "1000.00", "out_of_range", DIGITS),
    ("price", "-1000.00", "out_of_range", DIGITS),
    ("price", "999.995", "fraction_lost", FRACTION),
    ("one", "😀", "out_of_range", OF_SERVER + UNITS.format(2, 1, 1)),
    ("two", "a😀", "out_of_range", OF_SERVER + UNITS.format(3, 2, 2)),
    ("two", "abc", "too_long", CHARACTERS),
]


def _lines() -> list[str]:
    """Return the header and all rows; rows that fit come before and after the others."""
    first, *others = HELD
    refused = [
        ",".join([str(number), *(value if name == column else "" for name in NAMES[1:])])
        for number, (column, value, *_) in enumerate(REFUSED, start=100)
    ]
    return [",".join(NAMES), first, *refused, *others]


@pytest.mark.parametrize("target", ["new", "empty", "with_a_row"])
def test_every_value_is_held_or_rejected(loads: Loads, target: str) -> None:
    """The rows are switched into an empty table, and copied into one that has a row."""
    there: list[list[object]] = []
    if target != "new":
        loads.make(f"CREATE TABLE t ({', '.join(COLUMNS)})")
    if target == "with_a_row":
        loads.make("INSERT INTO t (id) VALUES (0)")
        there = [[0, None, None, None, None, None]]
    lines = [f"{line}\n".encode() for line in _lines()]
    file = loads.inrush.write("part.0.csv", b"".join(lines))
    mode = "create" if target == "new" else "append"
    loads(mode=mode, columns=COLUMNS, rejects={"rows_max": len(REFUSED) - 1}).expect(REJECT_LIMIT)
    assert (("dbo", "t") in loads.double.database.objects) == (target != "new")
    assert target == "new" or loads.rows("SELECT * FROM t") == there

    outcome = loads(mode=mode, columns=COLUMNS, rejects={"rows_max": len(REFUSED)})
    outcome.expect(LOADED_WITH_REJECTS)
    declared = [[one.name, one.kind.name, one.kind.length] for one in loads.table.columns]
    assert declared == [
        *(["id", "int", 0], ["dt", "datetime", 0], ["sd", "smalldatetime", 0]),
        *(["price", "decimal", 0], ["one", "nvarchar", 2], ["two", "nvarchar", 4]),
    ]
    assert loads.rows("SELECT * FROM t ORDER BY id") == [*there, *HELD.values()]
    assert bool(loads.copies) == (target == "with_a_row")
    assert outcome.rejects() == [
        {
            "file": str(file),
            "line": line,
            "byte_offset": sum(map(len, lines[: line - 1])),
            "column": column,
            "value": value,
            "code": code,
            "reason": reason,
        }
        # The header and one row come before.
        for line, (column, value, code, reason) in enumerate(REFUSED, start=3)
    ]
    loads.nothing_is_left()
