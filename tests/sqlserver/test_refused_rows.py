"""Rows that a constraint refuses become rejects, and all other rows are loaded.

All tests use the double.
"""

from __future__ import annotations

from typing import Any

from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT
from harness.packages import Value, flow, package
from sqlserver.loads import COLUMNS, Loads

LIMIT: Value = {"rows_max": 9}


def rejected(loads: Loads, **settings: Any) -> list[tuple[int, str, str | None]]:
    """Load the files; return line, code and column of each reject."""
    outcome = loads(mode="append", rejects=LIMIT, **settings).expect(LOADED_WITH_REJECTS)
    return [(one["line"], one["code"], one["column"]) for one in outcome.rejects()]


def test_rows_that_are_accepted_are_switched(loads: Loads) -> None:
    """After a careful load the staging table has only the target's indexes."""
    loads.months()
    loads.make(
        "CREATE UNIQUE INDEX u ON t (id, day) ON by_month(day)",
        "ALTER TABLE t WITH CHECK ADD CONSTRAINT small CHECK (id < 100)",
    )
    loads.files("1,2024-01-01 1,2024-01-01 100,2024-01-02 2,2024-02-02")
    assert rejected(loads) == [(3, "duplicate_key", None), (4, "check_violated", "id")]
    assert loads.ids() == [1, 2]
    assert [one.split()[1] for one in loads.switches] == ["1", "2"]
    assert not loads.copies
    indexes = loads.rows("SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID(N't')")
    assert indexes == [[None], ["u"]]
    loads.nothing_is_left()
    loads(mode="append", rejects=LIMIT).expect(LOADED_WITH_REJECTS, "already loaded")


def test_null_is_a_value_of_a_key_and_a_filter_leaves_rows_out(loads: Loads) -> None:
    loads.make(
        "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)",
        "CREATE UNIQUE INDEX notes ON t (note) WHERE id > 0",
        "INSERT INTO t VALUES (1, '2024-01-01', N'Taken'), (-1, '2024-01-01', N'free')",
    )
    rows = ["id,day,note", "2,2024-01-01,", "3,2024-01-01,", "4,2024-01-01,taken"]
    rows += ["-5,2024-01-01,taken", "6,2024-01-01,free", "7,2024-01-01,FREE "]
    loads.inrush.write("part.0.csv", "\n".join(rows) + "\n")
    # The collation ignores case, and blanks at the end do not count.
    assert rejected(loads) == [(line, "duplicate_key", "note") for line in (3, 4, 7)]
    assert loads.ids() == [-5, -1, 1, 2, 6]


def test_a_check_of_a_column_that_is_not_filled_is_left_to_the_target(loads: Loads) -> None:
    loads.make(
        "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL, more int NULL "
        "DEFAULT 5, CHECK ([more] > 0), CHECK (id > 0))"
    )
    loads.files("1,2024-01-01 -2,2024-01-01")
    assert rejected(loads) == [(3, "check_violated", "id")]
    assert loads.rows("SELECT id, more FROM t") == [[1, 5]]


def test_past_the_limit_nothing_is_changed(loads: Loads) -> None:
    loads.months(", CHECK (id > 0)")
    loads.files("1,2024-01-01 -2,2024-01-01")
    loads(mode="append").expect(REJECT_LIMIT)
    assert loads.ids() == []
    loads(mode="append", rejects=LIMIT).expect(LOADED_WITH_REJECTS)
    assert loads.ids() == [1]


def test_a_row_that_only_a_trigger_or_a_foreign_key_refuses_fails_the_load(loads: Loads) -> None:
    """The careful load finds no row, so the refusal of the target ends the run."""
    # The double has no foreign keys. Here a CHECK that `pre_sql` adds has the same effect: the
    # careful load does not know it.
    loads.months()
    change = "ALTER TABLE t WITH CHECK ADD CONSTRAINT late CHECK (id > 1)"
    loads.files("1,2024-01-01 2,2024-01-01")
    outcome = loads(mode="append", rejects=LIMIT, pre_sql=change, columns=COLUMNS)
    assert outcome.status not in (CLEAN, LOADED_WITH_REJECTS), outcome.said
    outcome.expect(outcome.status, "late")
    assert loads.ids() == []


def test_identity_insert_is_off_when_the_switch_is_repeated(loads: Loads) -> None:
    """A refused INSERT leaves it ON for its table, so the next table would get error 8107."""
    numbered = (
        "CREATE TABLE {} (id int IDENTITY(1, 1) NOT NULL, day date NOT NULL, note nvarchar(20))"
    )
    for name in ("a", "t"):
        loads.make(
            numbered.format(name),
            f"SET IDENTITY_INSERT {name} ON; INSERT INTO {name} (id, day) VALUES (9, '2024-01-01')",
        )
    loads.make("CREATE UNIQUE INDEX u ON t (id)")
    loads.files("1,2024-01-01 9,2024-01-01 2,2024-01-01")
    flows = [
        flow(name, "part.*.csv", columns=COLUMNS, mode="append", rejects=LIMIT)
        for name in ("a", "t")
    ]
    text = package(loads.double.url, *flows)
    outcome = loads.inrush("run", loads.inrush.write("package.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    assert [(one["line"], one["code"]) for one in outcome.rejects()] == [(3, "duplicate_key")]
    assert loads.ids() == [1, 2, 9]
    assert loads.rows("SELECT id FROM a ORDER BY id") == [[1], [2], [9], [9]]
    off = loads.ran('SET IDENTITY_INSERT "dbo"."t" OFF')
    assert len(off) == 2, off
