"""`verify = "sums"` finds values that others change in staging, by the server's own sums."""

from __future__ import annotations

import signal

import pytest

from harness.command import CLEAN, VERIFICATION
from harness.packages import Value, flow, package
from sqlserver.loads import Loads

COLUMNS: list[Value] = [
    "id integer not null",
    "day date",
    "price decimal(15,2)",
    "code char(3)",
    "note nvarchar(20)",
    "at timestamp",
    "key uuid",
]
ROWS = """id,day,price,code,note,at,key
1,2024-01-05,1.10,a,aä😀,2024-01-05 10:11:12.000001,00000000-0000-0001-8000-000000000000
2,1969-12-30,-2.25,bc,,1960-01-05 23:59:59.999999,ffffffff-ffff-ffff-ffff-ffffffffffff
"""
CHANGES: dict[str, tuple[str, str]] = {
    "number": ("id = id + 1", "column `id`, sum: "),
    "day": ("day = '1969-12-31'", "column `day`, sum of days since 1970: "),
    "decimal": ("price = '0.01'", "column `price`, sum: "),
    "padded": ("code = 'xy'", "column `code`, octets: "),
    "text": ("note = N'aa😀'", "column `note`, octets: "),
    "moment": ("\"at\" = '2024-01-05 10:11:12.000002'", "column `at`, sum of seconds since 1970: "),
    "uuid": (
        "\"key\" = '00000000-0000-0001-8000-000000000001'",
        "column `key`, sum of second halves: ",
    ),
    "null": ("note = NULL", "column `note`, values: "),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_value_that_others_change_in_staging_is_found(loads: Loads, change: str) -> None:
    """The killed run has committed the unit, so the sums of the unit are in the ledger."""
    loads.inrush.write("part.0.csv", ROWS)
    text = package(loads.double.url, flow("t", "part.*.csv", columns=COLUMNS, verify="sums"))
    path = loads.inrush.write("package.toml", text)
    died = loads.inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    names = [str(name) for (name,) in loads.rows("SELECT name FROM sys.tables")]
    (staging,) = (name for name in names if name.startswith("inrush_staging_"))
    assignment, message = CHANGES[change]
    loads.make(f"UPDATE {staging} SET {assignment} WHERE id = 1")
    loads.inrush("run", path).expect(VERIFICATION, message, "nothing was switched")
    assert "t" not in [str(name) for (name,) in loads.rows("SELECT name FROM sys.tables")]


def test_the_plan_names_columns_that_are_only_counted(loads: Loads) -> None:
    columns: list[Value] = [
        "id integer",
        "a float",
        "b real",
        "c decimal(21,2)",
        "d datetime",
        "e xml",
        "f text",
    ]
    loads.inrush.write("part.0.csv", "id,a,b,c,d,e,f\n1,1,1,1,2024-01-01 00:00:00,<a/>,x\n")
    said = loads("check", columns=columns, verify="sums").expect(CLEAN).output
    assert (
        "has no exact sum of them: a float, b real, c decimal(21,2), d datetime, e xml\n" in said
    ), said
