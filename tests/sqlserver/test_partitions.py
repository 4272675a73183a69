"""Partitions: of new tables, of tables that exist, and SWITCH. All tests use the double."""

from __future__ import annotations

from typing import Any

import pytest

from harness.command import CLEAN, FAILED, REJECT_LIMIT, USAGE
from harness.packages import Value, flow, package
from sqlserver.loads import COLUMNS, FUNCTION, SCHEME, TABLE, Loads

PLAIN = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)"


# Partitions of new tables: the words of the command, the bounds, and the rows of each partition.
NEW: dict[str, tuple[dict[str, Any], str, dict[object, object]]] = {
    "at_the_first_keys_of_the_files": (
        {"partition_by": "id"},
        "(int) AS RANGE RIGHT FOR VALUES (10, 20)",
        {1: 2, 2: 2, 3: 1},
    ),
    "at_listed_numbers": (
        {"partition_by": "id", "bounds": [0, 15, 30]},
        "(int) AS RANGE RIGHT FOR VALUES (0, 15, 30)",
        {2: 4, 3: 1},
    ),
    "at_listed_dates": (
        {"partition_by": "day", "bounds": ["2024-01-01", "2024-03-01"]},
        "(date) AS RANGE RIGHT FOR VALUES ('2024-01-01', '2024-03-01')",
        {2: 3, 3: 2},
    ),
    "every_month": (
        {"partition_by": "day", "bounds": {"every": "1 month"}},
        "(date) AS RANGE RIGHT FOR VALUES ('2024-01-01', '2024-02-01', '2024-03-01', '2024-04-01')",
        {2: 2, 3: 1, 4: 2},
    ),
}
THREE_FILES = ("1,2024-01-05 2,2024-01-20", "10,2024-02-10 11,2024-03-02", "20,2024-03-07")


@pytest.mark.parametrize("kind", NEW)
def test_a_new_table_gets_its_partitions(loads: Loads, kind: str) -> None:
    words, bounds, counts = NEW[kind]
    loads.files(*THREE_FILES)
    loads("check", **words).expect(CLEAN, f"partitioned by {words['partition_by']}")
    assert not loads.double.database.schemes
    loaded = loads(**words).expect(CLEAN)
    (function,) = loads.ran("CREATE PARTITION FUNCTION")
    assert bounds in function
    (name,) = loads.double.database.functions
    assert loads.partitions(name, str(words["partition_by"])) == counts
    (table,) = loaded.report["tables"]
    assert [one["name"] for one in table["partitions"]] == [str(number) for number in counts]
    (line,) = (line for line in loaded.output.splitlines() if line.split()[:2] == ["dbo.t", "5"])
    assert line.split()[-1] == str(len(counts))
    assert loads.ids() == [1, 2, 10, 11, 20]
    loads(**words).expect(CLEAN, "already loaded")
    loads.nothing_is_left()


def test_the_command_line_makes_partitions(loads: Loads) -> None:
    loads.files(*THREE_FILES)
    words = ("load", "part.*.csv", "--to", loads.double.url, "--table", "t", "--columns")
    columns = "id integer not null, day date not null, note nvarchar(20)"
    loads.inrush(*words, columns, "--partition-by", "id", "--bounds", "every 10").expect(CLEAN)
    (function,) = loads.ran("CREATE PARTITION FUNCTION")
    assert "VALUES (0, 10, 20, 30)" in function
    assert loads.ids() == [1, 2, 10, 11, 20]


def test_partitions_of_a_new_table_are_dealt_to_filegroups(loads: Loads) -> None:
    loads.files(*THREE_FILES)
    loads(options="&filegroups=old,new", partition_by="id").expect(CLEAN)
    (scheme,) = loads.double.database.schemes.values()
    assert scheme.filegroups == ("old", "new", "old")


def test_a_filegroup_that_is_not_there(loads: Loads) -> None:
    loads.files(*THREE_FILES)
    outcome = loads(options="&filegroups=elsewhere", partition_by="id")
    outcome.expect(FAILED, "elsewhere")
    assert not loads.double.database.functions
    loads(partition_by="id").expect(CLEAN)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "texts_without_bounds": ({"partition_by": "note"}, "list the bounds"),
    "descending": ({"partition_by": "id", "bounds": [3, 2]}, "not greater"),
    "of_another_type": ({"partition_by": "day", "bounds": [1, 2]}, "is not a value of day"),
    "step_of_another_type": (
        {"partition_by": "id", "bounds": {"every": "1 month"}},
        "a whole number for integer keys",
    ),
    "parts": ({"partition_by": "id", "bounds": {"parts": 8}}, "list the bounds"),
    "too_many": ({"partition_by": "day", "bounds": {"every": "1 day"}}, "more than 10000"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bounds_that_cannot_be(loads: Loads, kind: str) -> None:
    words, said = REFUSED[kind]
    loads.files("1,1990-01-01", "2,2024-01-01")
    loads(**words).expect(USAGE, said)
    assert not loads.double.database.objects


def test_a_stopped_load_of_partitions_is_resumed_or_removed(loads: Loads) -> None:
    loads.files(*THREE_FILES)
    loads("check", partition_by="id").expect(CLEAN)
    words = ("run", loads.inrush.folder / "package.toml")
    for step in ("before_switch", "before_switch_commit"):
        died = loads.inrush(*words, environment={"INRUSH_FAULT": step})
        assert died.status < 0, died.said
    assert len(loads.double.database.functions) == 1
    loads.inrush("cleanup", words[1]).expect(CLEAN)
    assert not loads.double.database.functions and not loads.double.database.schemes
    died = loads.inrush(*words, environment={"INRUSH_FAULT": "before_switch"})
    assert died.status < 0, died.said
    before = len(loads.ran("INSERT BULK"))
    loads.inrush(*words).expect(CLEAN)
    assert len(loads.ran("INSERT BULK")) == before
    assert loads.ids() == [1, 2, 10, 11, 20]
    loads.nothing_is_left()


INDEXED = (
    "CREATE CLUSTERED INDEX ordered ON t (day DESC, id) ON by_month(day)",
    "CREATE UNIQUE INDEX numbers ON t (id, day) INCLUDE (note) WHERE id > 0 ON by_month(day)",
    "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY NONCLUSTERED (day, id) ON by_month(day)",
    "ALTER TABLE t WITH CHECK ADD CONSTRAINT positive CHECK (id > 0 AND note <> N'it''s')",
)


@pytest.mark.parametrize("side", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("indexed", [False, True], ids=["heap", "indexed"])
def test_rows_are_switched_into_empty_partitions(loads: Loads, side: str, indexed: bool) -> None:
    loads.months(side=side)
    if indexed:
        loads.make(*INDEXED)
    loads.files("1,2024-01-30 2,2024-01-31 3,2024-02-01", "4,2024-03-31 5,2024-04-01 6,2023-01-01")
    loads("check", mode="append").expect(
        CLEAN, f"partitioned by day (function months, RANGE {side}, 4 partitions)", "switched"
    )
    outcome = loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2, 3, 4, 5, 6]
    left = {1: 3, 2: 1, 3: 1, 4: 1}
    right = {1: 2, 2: 2, 4: 2}
    counts = left if side == "LEFT" else right
    assert loads.partitions() == counts
    assert [one.split()[1] for one in loads.switches] == [str(number) for number in counts]
    assert not loads.copies
    assert "INSERT ... SELECT" not in str(outcome.report["notes"][1:])
    loads.nothing_is_left()
    loads(mode="append").expect(CLEAN, "already loaded")


def test_columns_may_have_another_order_than_the_table(loads: Loads) -> None:
    loads.months()
    loads.inrush.write("part.0.csv", "note,day,id\nx,2024-01-01,7\n")
    columns: Value = ["note nvarchar(20)", "day date not null", "id integer not null"]
    loads(mode="append", columns=columns).expect(CLEAN)
    assert loads.rows("SELECT id, day, note FROM t") == [[7, "2024-01-01", "x"]]
    assert len(loads.switches) == 1


def test_rows_are_copied_into_partitions_that_have_some(loads: Loads) -> None:
    loads.months()
    loads.make("INSERT INTO t VALUES (100, '2024-02-01', NULL)")
    loads.files("1,2024-01-01 2,2024-02-02 3,2024-02-03 4,2024-03-03")
    outcome = loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2, 3, 4, 100]
    assert [one.split()[1] for one in loads.switches] == ["1", "3"]
    assert len(loads.copies) == 1
    assert "1 partition had rows, and got 2 rows by INSERT ... SELECT: 2" in str(outcome.report)
    # All partitions have rows now: nothing is to be switched, and no index is made.
    loads.files("5,2024-01-01 6,2024-02-02")
    loads(mode="append").expect(CLEAN)
    assert len(loads.switches) == 2 and len(loads.copies) == 2
    assert loads.ids() == [1, 2, 3, 4, 5, 6, 100]


@pytest.mark.parametrize("indexed", [False, True], ids=["aligned", "beside_an_index"])
def test_partitions_are_replaced(loads: Loads, indexed: bool) -> None:
    loads.months()
    loads.make("INSERT INTO t VALUES (1, '2024-01-01', NULL), (2, '2024-02-01', NULL)")
    if indexed:
        loads.make("CREATE INDEX i ON t (id) ON [PRIMARY]")
    loads.files("3,2024-02-02 4,2024-03-03")
    words: dict[str, Any] = {"mode": "replace", "replace": {"scope": "partitions"}}
    outcome = loads(**words).expect(CLEAN)
    assert loads.ids() == [1, 3, 4]
    assert bool(loads.copies) == indexed
    assert bool(loads.ran("TRUNCATE")) == (not indexed)
    assert bool(loads.ran('DELETE FROM "dbo"."t"')) == indexed
    assert ("index i is not partitioned as the table is" in str(outcome.report)) == indexed
    loads.nothing_is_left()


@pytest.mark.parametrize("table", ["partitioned", "plain"])
def test_a_whole_table_is_replaced_by_a_switch(loads: Loads, table: str) -> None:
    if table == "plain":
        loads.make(PLAIN, "CREATE UNIQUE CLUSTERED INDEX i ON t (id)")
    else:
        loads.months()
    loads.make("INSERT INTO t VALUES (1, '2024-01-01', NULL), (2, '2024-02-01', NULL)")
    loads.files("3,2024-02-02 4,2024-03-03")
    loads(mode="replace").expect(CLEAN)
    assert loads.ids() == [3, 4]
    assert loads.switches and not loads.copies
    assert len(loads.rows("SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID(N't')")) == 1


COPIED: dict[str, tuple[list[str], str]] = {
    "a_column_is_not_filled": (
        [TABLE.format(more=", more int NULL")],
        "the load does not fill column more",
    ),
    "identity": ([TABLE.format(more=", n int IDENTITY(1,1)")], "column n is an identity column"),
    "index_elsewhere": (
        [TABLE.format(more=""), "CREATE INDEX i ON t (id) ON [PRIMARY]"],
        "index i is not partitioned as the table is",
    ),
}


@pytest.mark.parametrize("kind", COPIED)
def test_rows_are_copied_where_switch_cannot_be(loads: Loads, kind: str) -> None:
    tables, said = COPIED[kind]
    loads.make(FUNCTION.format(side="LEFT"), SCHEME, *tables)
    loads.files("1,2024-01-01 2,2024-02-02")
    planned = loads("check", mode="append").expect(CLEAN, f"and not by SWITCH, because {said}")
    assert "switched into" not in planned.output
    outcome = loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert not loads.switches and len(loads.copies) == 1
    assert f"and not by SWITCH, because {said}" in str(outcome.report)
    loads.nothing_is_left()


PLAIN_COPIED = {
    "a_column_is_not_filled": ("more int DEFAULT 7", "the load does not fill column more"),
    "identity": ("n int IDENTITY(1,1)", "column n is an identity column"),
}


@pytest.mark.parametrize("kind", PLAIN_COPIED)
def test_the_plan_says_why_a_plain_table_is_not_switched(loads: Loads, kind: str) -> None:
    column, said = PLAIN_COPIED[kind]
    loads.make(f"CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20), {column})")
    loads.files("1,2024-01-01 2,2024-02-02")
    loads("check", mode="append").expect(
        CLEAN, f"gets its rows by INSERT ... SELECT and not by SWITCH, because {said}"
    )
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert not loads.switches and len(loads.copies) == 1


def test_switch_may_be_turned_off(loads: Loads) -> None:
    loads.months()
    loads.files("1,2024-01-01 2,2024-02-02")
    loads(options="&switch=no", mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert not loads.switches and len(loads.copies) == 1
    loads(options="&switch=maybe").expect(USAGE, "switch", "maybe", "yes or no")


def test_one_compressed_partition(loads: Loads) -> None:
    """The other partitions of the staging table are not compressed either."""
    loads.make(FUNCTION.format(side="LEFT"), SCHEME)
    compressed = TABLE.format(more="") + " WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1))"
    loads.make(compressed)
    loads.files("1,2024-01-01 2,2024-02-02")
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert len(loads.switches) == 2 and not loads.copies
    (made,) = loads.ran('CREATE TABLE "dbo"."inrush_staging')
    assert made.endswith("WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1))")


def test_a_new_table_of_range_left(loads: Loads) -> None:
    """A package's bounds are first values, so the function has the last values before them."""
    loads.files("1,2024-01-31 2,2024-02-01", "3,2024-02-29 4,2024-03-01")
    words: dict[str, Any] = {"partition_by": "day", "bounds": {"every": "1 month"}}
    loads("run", "&range=left", **words).expect(CLEAN)
    assert loads.ids() == [1, 2, 3, 4]
    ((function, is_right),) = loads.rows(
        "SELECT name, boundary_value_on_right FROM sys.partition_functions"
    )
    assert not is_right
    assert sorted(map(str, loads.partitions(str(function)).values())) == ["1", "1", "2"]
    wrong = loads("check", "&range=middle", **words)
    wrong.expect(USAGE, "option range", "middle", "left or right")


def test_filegroups_are_those_of_the_database(loads: Loads) -> None:
    loads.files("1,2024-01-31")
    words: dict[str, Any] = {"partition_by": "day", "bounds": {"every": "1 month"}}
    refused = loads("check", "&filegroups=old,missing", **words)
    refused.expect(FAILED, "the database has no filegroup missing", "sys.filegroups")
    loads("run", "&filegroups=OLD", **words).expect(CLEAN)


def test_a_target_that_is_changed_meanwhile(loads: Loads) -> None:
    """The staging table lacks the target's new index, so the rows are copied."""
    loads.months()
    loads.files("1,2024-01-01 2,2024-02-02")
    change = "CREATE INDEX late ON t (id) ON by_month(day)"
    outcome = loads(mode="append", pre_sql=change).expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert not loads.switches
    assert "because it was changed while the rows were prepared" in str(outcome.report)


def test_rows_that_the_target_refuses_change_nothing(loads: Loads) -> None:
    loads.months()
    loads.make("CREATE UNIQUE INDEX u ON t (id, day) ON by_month(day)")
    loads.files("1,2024-01-01 1,2024-01-01 2,2024-02-02")
    loads(mode="append").expect(REJECT_LIMIT, "an earlier row of the files has the same key")
    assert loads.ids() == []
    loads.make("DROP INDEX u ON t")
    loads(mode="append").expect(CLEAN)
    assert loads.ids() == [1, 1, 2]
    loads.nothing_is_left()


def test_partitions_that_a_table_does_not_have(loads: Loads) -> None:
    loads.make(PLAIN)
    loads.files("1,2024-01-01")
    loads(mode="append", partition_by="day").expect(
        FAILED, "partitioned by nothing", "leave partition_by out"
    )
    words: dict[str, Any] = {"mode": "replace", "replace": {"scope": "partitions"}}
    loads(**words).expect(FAILED, "no partitions to replace")
    loads.make("DROP TABLE t")
    loads(**words).expect(FAILED, "partition_by")
    loads.months()
    loads(mode="append", partition_by="id").expect(USAGE, "partitioned by day")
    loads.nothing_is_left()


def of_notes(loads: Loads, side: str) -> None:
    """Make a table whose partitions depend on its texts."""
    loads.make(
        f"CREATE PARTITION FUNCTION notes (nvarchar(20)) AS RANGE {side} FOR VALUES (N'd', N'm')",
        "CREATE PARTITION SCHEME by_note AS PARTITION notes TO (old, old, new)",
        TABLE.format(more="").replace("by_month(day)", "by_note(note)"),
    )


def test_bounds_of_a_table_that_exists_are_its_own(loads: Loads) -> None:
    """No bounds of texts can be added to RANGE LEFT, as no text is the last before another."""
    of_notes(loads, "LEFT")
    loads.files("1,2024-01-01")
    for command, said in (("check", "`bounds` is for a new table"), ("run", "")):
        outcome = loads(command, mode="append", partition_by="note", bounds=["s", "x"])
        outcome.expect(CLEAN, said)
    assert loads.partitions("notes", "note") == {3: 1}


def test_bounds_of_texts_are_added(loads: Loads) -> None:
    """The server knows the order: its collation ignores case."""
    of_notes(loads, "RIGHT")
    words: dict[str, Any] = {
        "mode": "append",
        "partition_by": "note",
        "bounds": ["D", "g", "M", "N2", "n4"],
    }
    loads.files("1,2024-01-01 2,2024-01-01 3,2024-01-01", "4,2024-01-01")
    plan = loads("check", **words).expect(CLEAN).output
    found = [one for one in ("D", "g", "M", "N2", "n4") if f"SPLIT RANGE (N'{one}')" in plan]
    assert found == ["N2", "n4"]
    loads(**words).expect(CLEAN)
    assert loads.double.database.functions["notes"].bounds == ("d", "m", "n2", "n4")
    assert loads.partitions("notes", "note") == {3: 1, 4: 2, 5: 1}
    assert len(loads.switches) == 3 and loads.copies == []
    loads.nothing_is_left()


def test_bounds_of_range_left_are_the_last_values(loads: Loads) -> None:
    """The same bounds of a package make the same partitions with RANGE LEFT."""
    loads.months(side="LEFT")
    loads.files("1,2024-03-31 2,2024-04-01 3,2024-04-30", "4,2024-05-01", "5,2024-06-01")
    words: dict[str, Any] = {"mode": "append", "partition_by": "day", "bounds": BEYOND}
    plan = loads("check", **words).expect(CLEAN).output
    added = ["2024-04-30", "2024-05-31", "2024-06-30"]
    assert [f"SPLIT RANGE ('{bound}')" in plan for bound in added] == [True] * 3
    loads(**words).expect(CLEAN)
    assert bounds_of(loads) == ["2024-01-31", "2024-02-29", "2024-03-31", *added]
    assert loads.partitions() == {3: 1, 4: 2, 5: 1, 6: 1}
    assert loads.copies == []
    loads(**words).expect(CLEAN, "already loaded")
    loads.nothing_is_left()


def test_two_targets_with_one_function_are_split_once(loads: Loads) -> None:
    """Each scheme of the function gets a filegroup for the new partition (error 7707)."""
    loads.months(side="RIGHT")
    loads.make(
        SCHEME.replace("by_month", "elsewhere").replace("old, old, new, new", "new, new, old, old"),
        TABLE.format(more="").replace("TABLE t", "TABLE u").replace("by_month", "elsewhere"),
    )
    loads.files("1,2024-05-02", "2,2024-06-02")
    of_flow: dict[str, Any] = {"columns": COLUMNS, "mode": "append", "partition_by": "day"}
    bounds = {"t": ["2024-05-01", "2024-06-01"], "u": ["2024-06-01", "2024-07-01"]}
    flows = [flow(name, "part.*.csv", bounds=own, **of_flow) for name, own in bounds.items()]
    loads.inrush.write("package.toml", package(loads.double.url, *flows))
    before = bounds_of(loads)
    plan = loads.inrush("check", "package.toml").expect(CLEAN).output
    loads.inrush("run", "package.toml").expect(CLEAN)
    added = ["2024-05-01", "2024-06-01", "2024-07-01"]
    assert [plan.count(f"SPLIT RANGE ('{bound}')") for bound in added] == [1, 1, 1]
    assert bounds_of(loads) == before + added
    assert len(loads.ran(SPLIT)) == 3
    schemes = loads.double.database.schemes
    assert schemes["by_month"].filegroups[-3:] == ("new", "new", "new")
    assert schemes["elsewhere"].filegroups[-3:] == ("old", "old", "old")
    number = '$PARTITION."months"(day)'
    for table in ("t", "u"):
        counted = f"SELECT {number}, COUNT_BIG(*) FROM {table} GROUP BY {number}"
        assert sorted(loads.rows(counted)) == [[5, 1], [6, 1]]
    loads.nothing_is_left()


BEYOND: Value = {"every": "1 month"}
SPLIT = "ALTER PARTITION FUNCTION"


def bounds_of(loads: Loads) -> list[str]:
    return [str(bound) for bound in loads.double.database.functions["months"].bounds]


def test_bounds_beyond_the_last_one_are_added(loads: Loads) -> None:
    """Rows beyond the last bound get new partitions, which are switched in."""
    loads.months(side="RIGHT")
    loads.make("INSERT INTO t (id, day, note) VALUES (99, '2024-02-02', NULL)")
    before = bounds_of(loads)
    loads.files("1,2024-03-01", "2,2024-05-02 3,2024-05-31", "4,2024-06-01")
    words: dict[str, Any] = {"mode": "append", "partition_by": "day", "bounds": BEYOND}
    added = ["2024-04-01", "2024-05-01", "2024-06-01", "2024-07-01"]
    plan = loads("check", **words).expect(CLEAN).output
    assert "`bounds` is for a new table" not in plan
    assert [f"SPLIT RANGE ('{bound}')" in plan for bound in added] == [True] * 4
    script = loads("check", "", "--sql", **words).expect(CLEAN).output
    assert 'ALTER PARTITION SCHEME "by_month" NEXT USED "new";' in script
    assert bounds_of(loads) == before
    loads(**words).expect(CLEAN)
    assert bounds_of(loads) == before + added
    assert loads.partitions() == {2: 1, 3: 1, 6: 2, 7: 1}
    assert loads.ids() == [1, 2, 3, 4, 99]
    assert {int(one.split()[1]) for one in loads.switches} == {3, 6, 7}
    assert len(loads.ran(SPLIT)) == 4
    loads.nothing_is_left()
    # A later load adds the missing bounds, and none twice.
    loads.files("5,2024-06-02", "6,2024-08-05")
    loads(**words).expect(CLEAN)
    assert bounds_of(loads) == [*before, *added, "2024-08-01", "2024-09-01"]
    assert loads.ids() == [1, 2, 3, 4, 5, 6, 99]
    assert loads.partitions() == {2: 1, 3: 1, 6: 2, 7: 2, 9: 1}


def test_new_partitions_are_dealt_to_filegroups(loads: Loads) -> None:
    loads.months(side="RIGHT")
    loads.files("1,2024-05-02")
    bounds: Value = ["2024-05-01", "2024-06-01", "2024-07-01"]
    words: dict[str, Any] = {"mode": "append", "partition_by": "day", "bounds": bounds}
    loads("run", "&filegroups=old,new", **words).expect(CLEAN)
    scheme = loads.double.database.schemes["by_month"]
    assert scheme.filegroups == ("old", "old", "new", "new", "old", "new", "old")
    assert loads.ids() == [1]


def test_a_last_partition_with_rows_is_not_split(loads: Loads) -> None:
    """The partition of another table with the same function is left alone, too."""
    loads.months(side="RIGHT")
    bounds: Value = ["2024-05-01", "2024-06-01"]
    words: dict[str, Any] = {"mode": "append", "partition_by": "day", "bounds": bounds}
    loads.files("1,2024-05-02")
    loads.make(
        TABLE.format(more="").replace("TABLE t", "TABLE other"),
        "INSERT INTO other (id, day, note) VALUES (1, '2024-04-01', NULL)",
    )
    before = bounds_of(loads)
    for command in ("check", "run"):
        loads(command, **words).expect(FAILED, 'has rows in "dbo"."other"', "leave `bounds` out")
    loads.make("DELETE FROM other", "INSERT INTO t (id, day, note) VALUES (9, '2024-04-01', NULL)")
    loads("run", **words).expect(FAILED, "its last partition has rows; a split")
    assert bounds_of(loads) == before
    assert loads.ids() == [9]
    loads(mode="append", partition_by="day").expect(CLEAN)
    assert loads.ids() == [1, 9]


@pytest.mark.parametrize("point", ["run_entered", "after_unit_commit", "before_switch"])
def test_new_partitions_of_a_run_that_is_killed(loads: Loads, point: str) -> None:
    loads.months(side="RIGHT")
    loads.files("1,2024-03-01", "2,2024-05-02")
    words: dict[str, Any] = {"mode": "append", "partition_by": "day", "bounds": BEYOND}
    loads("check", **words).expect(CLEAN)
    fault = {"INRUSH_FAULT": point}
    assert loads.inrush("run", "package.toml", environment=fault).status < 0
    loads(**words).expect(CLEAN)
    assert loads.ids() == [1, 2]
    assert bounds_of(loads)[3:] == ["2024-04-01", "2024-05-01", "2024-06-01"]
    assert len(loads.ran(SPLIT)) == 3
    loads.nothing_is_left()


def test_a_split_waits_for_readers(loads: Loads) -> None:
    loads.months(side="RIGHT")
    loads.files("1,2024-05-02")
    bounds: Value = ["2024-05-01", "2024-06-01"]
    words: dict[str, Any] = {"mode": "append", "partition_by": "day", "bounds": bounds}
    reader = loads.double.session()
    reader.execute("BEGIN TRANSACTION")
    reader.rows("SELECT COUNT_BIG(*) FROM t WITH (TABLOCK, HOLDLOCK)")
    loads("check", **words).expect(CLEAN)
    with loads.inrush.start("run", "package.toml") as running:
        loads.double.wait_for_batch(SPLIT)
        reader.close()
        running.wait().expect(CLEAN)
    assert loads.ids() == [1]
