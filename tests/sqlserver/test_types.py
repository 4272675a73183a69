"""Types of SQL Server that a package names for the columns of a new table.

All tests use the double.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE
from sqlserver.loads import Loads

COLUMNS = ["id int", "m money", "s smallmoney", "v varchar(max)", "n nvarchar( MAX )"]
COLUMNS += ["b varbinary(max)", '"of any" varchar ( max ) not null']
LONG = "x" * 9_000
ROWS = f"""\
1,922337203685477.5807,-214748.3648,{LONG},{LONG},\\x00ff,a
2,-922337203685477.5808,214748.3647,ä,😀,\\x,b
3,,,,,,c
4,922337203685477.5808,1,,,,d
5,1,214748.3648,,,,e
6,1.23456,1,,,,f
"""


@pytest.mark.parametrize("way", ["columns", "package"])
def test_money_and_values_of_any_length(loads: Loads, way: str) -> None:
    file = loads.inrush.write("part.0.csv", "id,m,s,v,n,b,of any\n" + ROWS)
    if way == "package":
        outcome = loads(columns=COLUMNS, rejects={"rows_max": 3})
    else:
        columns = ("--columns", ", ".join(COLUMNS), "--max-rejects", "3")
        outcome = loads.inrush(
            "load", file.name, "--to", loads.double.url, "--table", "t", *columns
        )
    outcome.expect(LOADED_WITH_REJECTS)
    declared = [[one.name, one.kind.name, one.kind.length] for one in loads.table.columns]
    assert declared == [
        ["id", "int", 0],
        ["m", "money", 0],
        ["s", "smallmoney", 0],
        ["v", "varchar", -1],
        ["n", "nvarchar", -1],
        ["b", "varbinary", -1],
        ["of any", "varchar", -1],
    ]
    limits = Decimal("922337203685477.5807"), Decimal("-214748.3648")
    others = Decimal("-922337203685477.5808"), Decimal("214748.3647")
    assert loads.rows("SELECT * FROM t ORDER BY id") == [
        [1, *limits, LONG, LONG, b"\x00\xff", "a"],
        [2, *others, "ä", "😀", b"", "b"],
        [3, None, None, None, None, None, "c"],
    ]
    assert [(one["line"], one["column"]) for one in outcome.rejects()] == [
        (5, "m"),
        (6, "s"),
        (7, "m"),
    ]


@pytest.mark.parametrize("wrong", ["char(max)", "money(3)", "decimal(max)"])
def test_a_type_that_is_none_is_refused(loads: Loads, wrong: str) -> None:
    loads.files("1,2024-01-01")
    outcome = loads("check", columns=[f"id {wrong}", "* skip"])
    outcome.expect(USAGE, "flow `t`: column `id`: ", wrong, "hint: ")
    assert not loads.rows("SELECT name FROM sys.tables")
    loads("check", columns=["id varchar(max)", "* skip"]).expect(CLEAN)
