"""Partitioned targets: where partitions begin and end, and how they are attached."""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import dataclass
from datetime import date, timedelta

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.contents import assert_same_rows, state
from harness.packages import Value, flow, package
from harness.servers import Database


def partitions(database: Database, table: str) -> list[str]:
    """Return the bounds of a table's partitions, sorted by their text in the catalog."""
    return [
        bound
        for (bound,) in database.rows(
            "SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i "
            "JOIN pg_class c ON c.oid = i.inhrelid "
            f"WHERE i.inhparent = '{table}'::regclass ORDER BY 1"
        )
    ]


def rows_by_partition(database: Database, table: str) -> list[int]:
    return [
        count
        for (count,) in database.rows(
            f"SELECT count(*) FROM {table} GROUP BY tableoid ORDER BY min(id)"
        )
    ]


def write_parts(inrush: Inrush, name: str, keys: list[list[str]]) -> int:
    """Write a file of `id|key|` rows for each list of keys, and return how many rows they hold."""
    number = 0
    for part, values in enumerate(keys, 1):
        lines = []
        for value in values:
            number += 1
            lines.append(f"{number}|{value}|")
        inrush.write(f"{name}.tbl.{part}", "\n".join(lines) + "\n")
    return number


@dataclass(frozen=True)
class Key:
    """A type of key, and parts whose ranges do not overlap."""

    type_name: str
    parts: tuple[tuple[str, ...], ...]


FIRST_DAY = date(2024, 1, 1)

KEYS = [
    Key("int", (("1", "5", "3"), ("6", "7"), ("100", "50"))),
    Key("int", (("-2147483648", "-1"), ("0", "2147483647"))),
    Key("bigint", (("-9223372036854775808", "0"), ("1", "9223372036854775807"))),
    Key("smallint", (("-32768",), ("32767",))),
    Key("date", (("2023-12-31", "2023-01-01"), ("2024-02-29", "2024-01-01"))),
    Key("timestamp", (("2024-01-01 00:00:00", "2024-01-01 23:59:59.999999"), ("2024-01-02",))),
    # The last microsecond since 1970 that fits 64 bits is between these two, at 04:00:54.
    Key(
        "timestamp",
        (
            ("2024-01-01", "294247-01-10 04:00:54.775807"),
            ("294247-01-10 04:00:54.775808", "294276-12-31 23:59:59.999999"),
        ),
    ),
    Key(
        "timestamptz",
        (
            ("4714-11-24 00:00:00Z BC", "-infinity"),
            ("294247-01-10 05:00:54.775808+01", "2024-01-01T00:00Z", "294276-12-31 23:59:59Z"),
            ("infinity",),
        ),
    ),
    # Each begins where the previous one ends.
    *(
        Key(type_name, tuple((value,) for value in ("-infinity", first, last, "infinity")))
        for type_name, first, last in (
            ("date", "4714-11-24 BC", "5874897-12-31"),
            ("timestamp", "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"),
            ("timestamptz", "4714-11-24 00:00:00Z BC", "294276-12-31 23:59:59.999999Z"),
        )
    ),
    Key("timestamp(0)", (("2024-01-01 00:00:00", "2024-01-01 23:59:59"), ("2024-01-02",))),
    Key("timestamptz(3)", (("2024-01-01 00:00:00Z", "294276-12-31 23:59:59.998Z"), ("infinity",))),
    Key("timestamptz", (("2024-01-01 00:00:00Z", "2024-01-01 23:59:59Z"), ("2024-01-02T00:00Z",))),
    Key("text", (("a", "b"), ("c", "z"), ("ä", "😀"))),
    Key("varchar(10)", (("Ann", "Bob's"), ("Cy", "Dora"))),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.type_name}-{key.parts[0][0]}")
def test_each_file_is_a_partition(database: Database, inrush: Inrush, key: Key) -> None:
    """The target is new, or has no partition yet."""
    count = write_parts(inrush, "rows", [list(part) for part in key.parts])
    database.execute(f"CREATE TABLE expected (id int NOT NULL, k {key.type_name} NOT NULL)")
    database.execute("CREATE TABLE existing (LIKE expected) PARTITION BY RANGE (k)")
    copies = []
    for part in range(1, len(key.parts) + 1):
        text = (inrush.folder / f"rows.tbl.{part}").read_text().replace("|\n", "\n")
        plain = inrush.write(f"plain.{part}", text)
        copies.append(f"\\copy expected FROM '{plain}' (DELIMITER '|')")
    database.psql(*copies)
    columns: dict[str, Value] = {"columns": ["id int not null", f"k {key.type_name} not null"]}
    text = package(
        database.url,
        flow("new", "rows.tbl.*", partition_by="k", **columns),
        flow("existing", "rows.tbl.*", partition_by="k"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    for loaded in ("new", "existing"):
        assert_same_rows(database, loaded, "expected", "id")
        in_partitions = rows_by_partition(database, loaded)
        assert in_partitions == [len(part) for part in key.parts]
        assert sum(in_partitions) == count
        # Later rows must be routed as in any partitioned table.
        kind = f"SELECT relkind FROM pg_class WHERE oid = '{loaded}'::regclass"
        assert database.value(kind) == "p"


MIB = 1 << 20


@pytest.mark.parametrize(
    ("mebibytes", "shared"),
    [((16, 17, 16, 17), 0), ((16, 18, 18, 17), 0), ((16, 16, 32), 1), ((17, 17, 17, 17, 17), 1)],
    ids=["nearly-even", "a-tenth-apart", "one-has-half", "one-more-than-streams"],
)
def test_streams_share_files_only_where_one_would_end_long_after_the_others(
    newest_database: Database, inrush: Inrush, mebibytes: tuple[int, ...], shared: int
) -> None:
    for part, size in enumerate(mebibytes):
        rows = (f"{part * 1000 + row}|{'x' * MIB}" for row in range(size))
        inrush.write(f"rows.{part}", "\n".join(rows) + "\n")
    settings: dict[str, Value] = {
        "format": {"delimiter": "|", "header": False},
        "columns": ["id int not null", "t text"],
        "partition_by": "id",
    }
    text = package(newest_database.url, flow("loaded", "rows.*", **settings), streams=4)
    outcome = inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert sum(unit["shared"] for unit in outcome.report["units"]) == shared
    assert rows_by_partition(newest_database, "loaded") == list(mebibytes)


ROWS = 5_000

# Keys of a file whose first and last key are not its smallest and largest; `id` is the line.
UNEVEN = {
    "in order": list(range(ROWS)),
    "a larger key far in": [*range(4_000), ROWS * 2, *range(4_001, ROWS)],
    "a smaller key far in": [*range(4_000), -7, *range(4_001, ROWS)],
    "a larger key at once": [0, ROWS * 2, *range(2, ROWS)],
    "downwards": list(range(ROWS, 0, -1)),
    "all the same": [3] * ROWS,
    "a first row that is rejected": ["x", *range(1, ROWS)],
    "a last row that is rejected": [*range(ROWS - 1), ""],
}


@pytest.mark.parametrize("keys", UNEVEN.values(), ids=[key.replace(" ", "-") for key in UNEVEN])
@pytest.mark.parametrize("key_type", ["bigint", "date"])
def test_bounds_are_those_of_the_rows_in_whatever_order_they_come(
    newest_database: Database, inrush: Inrush, keys: list[int | str], key_type: str
) -> None:
    def key(value: int | str) -> str:
        is_date = key_type == "date" and isinstance(value, int)
        return (FIRST_DAY + timedelta(days=int(value))).isoformat() if is_date else str(value)

    lines = [f"{number}|{key(value)}|" for number, value in enumerate(keys, 1)]
    inrush.write("rows.tbl", "\n".join(lines) + "\n")
    columns = ["id int not null", f"k {key_type} not null"]
    settings: dict[str, Value] = {"columns": columns, "partition_by": "k"}
    settings["rejects"] = {"rows_max": 1}
    text = package(newest_database.url, flow("loaded", "rows.tbl", **settings))
    good = [(number, value) for number, value in enumerate(keys, 1) if isinstance(value, int)]
    status = CLEAN if len(good) == len(keys) else LOADED_WITH_REJECTS
    inrush("run", inrush.write("package.toml", text)).expect(status)
    found = newest_database.rows("SELECT id, k::text FROM loaded ORDER BY id")
    assert found == [(number, key(value)) for number, value in good]
    values = [value for _, value in good]
    (bound,) = partitions(newest_database, "loaded")
    ends = re.findall(r"\((?:')?([^')]+)(?:')?\)", bound)
    assert ends == [key(min(values)), key(max(values) + 1)]
    checks = "SELECT conname FROM pg_constraint WHERE conrelid = 'loaded_p1'::regclass"
    assert newest_database.rows(f"{checks} AND contype = 'c'") == []


def declared(bounds: Value, key_type: str = "int") -> dict[str, Value]:
    """Return the settings of a flow into a new table with these bounds."""
    columns = ["id int not null", f"k {key_type} not null"]
    return {"columns": columns, "partition_by": "k", "bounds": bounds}


def test_bounds_as_a_list(newest_database: Database, inrush: Inrush) -> None:
    # Two files may go to one partition, and a partition may get no file.
    write_parts(inrush, "rows", [["1", "9"], ["19", "10"], ["0", "5"]])
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", **declared([0, 10, 20, 30])))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert partitions(newest_database, "loaded") == [
        "FOR VALUES FROM (0) TO (10)",
        "FOR VALUES FROM (10) TO (20)",
        "FOR VALUES FROM (20) TO (30)",
    ]
    assert newest_database.rows("SELECT id, k FROM loaded ORDER BY id") == [
        (1, 1), (2, 9), (3, 19), (4, 10), (5, 0), (6, 5),
    ]  # fmt: skip
    newest_database.execute("INSERT INTO loaded VALUES (7, 29)")


@pytest.mark.parametrize("routing", [False, True], ids=["files", "rows"])
def test_bounds_of_timestamps_past_64_bits(
    newest_database: Database, inrush: Inrush, routing: bool
) -> None:
    """Such bounds sort after all others, although their microseconds since 1970 wrap around."""
    inside = [
        "2024-01-01 00:00:00",
        "294247-01-10 04:00:54.775807",
        "294247-01-10 04:00:54.775808",
        "294270-06-30 23:59:59.999999",
    ]
    outside = [
        "294270-07-01 00:00:00",
        "294276-12-31 23:59:59.999999",
        "infinity",
        "2023-12-31 23:59:59.999999",
        "4714-11-24 00:00:00 BC",
        "-infinity",
    ]
    write_parts(inrush, "rows", [inside + outside])
    settings = declared(["2024-01-01", "294270-07-01"], "timestamp")
    settings |= {"rejects": {"rows_max": len(outside)}, "routing": routing}
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", **settings))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    assert newest_database.rows("SELECT k::text FROM loaded ORDER BY id") == [
        (value,) for value in inside
    ]
    rejects = outcome.rejects()
    first = len(inside) + 1
    assert [reject["line"] for reject in rejects] == list(range(first, first + len(outside)))
    assert {reject["code"] for reject in rejects} == {"outside_partition"}


def test_a_row_outside_its_partition_is_told_what_helps(
    newest_database: Database, inrush: Inrush
) -> None:
    """The message suggests wider bounds, because a larger limit of rejects would lose the row."""
    write_parts(inrush, "rows", [["1", "50"]])
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", **declared([0, 10])))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(REJECT_LIMIT)
    hint = outcome.report["hint"]
    assert "declare wider `bounds`" in hint
    assert "rows_max" not in hint
    assert f"hint: {hint}\n" in outcome.errors


@pytest.mark.parametrize("key_type", ["date", "timestamp", "timestamptz"])
def test_bounds_at_every_month(newest_database: Database, inrush: Inrush, key_type: str) -> None:
    days = [(FIRST_DAY + timedelta(days=n)).isoformat() for n in range(91)]
    suffix = {"date": "", "timestamp": " 00:00:00", "timestamptz": " 00:00:00Z"}[key_type]
    months = [[day + suffix for day in days if day[:7] == f"2024-0{n}"] for n in (1, 2, 3)]
    write_parts(inrush, "rows", months)
    settings = declared({"every": "1 month"}, key_type)
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", **settings))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    found = re.findall(r"2024-\d\d-\d\d", " ".join(partitions(newest_database, "loaded")))
    assert found == [
        "2024-01-01", "2024-02-01", "2024-02-01", "2024-03-01", "2024-03-01", "2024-04-01",
    ]  # fmt: skip
    loaded = newest_database.rows("SELECT k::date::text FROM loaded ORDER BY k")
    assert [day for (day,) in loaded] == days


def test_bounds_at_every_thousand(newest_database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "rows", [["-1", "-1000"], ["0", "999"], ["2000", "2500"]])
    text = package(
        newest_database.url, flow("loaded", "rows.tbl.*", **declared({"every": 1000}, "bigint"))
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert sorted(newest_database.rows("SELECT k FROM loaded")) == [
        (-1000,), (-1,), (0,), (999,), (2000,), (2500,),
    ]  # fmt: skip
    assert "FOR VALUES FROM ('0') TO ('1000')" in partitions(newest_database, "loaded")


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ([0, 10, 5], "5"),
        ([0, 10, 10], "10"),
        ([0], "bounds"),
        ({"every": "1 fortnight"}, "fortnight"),
        ({"every": 0}, "0"),
    ],
)
def test_bounds_that_make_no_sense(
    newest_database: Database,
    inrush: Inrush,
    bounds: list[int] | dict[str, str | int | bool],
    said: str,
) -> None:
    write_parts(inrush, "rows", [["1"]])
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", **declared(bounds)))
    outcome = inrush("run", inrush.write("package.toml", text))
    assert outcome.status in (1, 2), outcome.said
    outcome.expect(outcome.status, said)
    assert state(newest_database) == []


def test_parts_that_overlap_are_refused(database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "rows", [["1", "10"], ["11", "20"], ["15", "30"]])
    columns = ["id int not null", "k int not null"]
    text = package(database.url, flow("loaded", "rows.tbl.*", columns=columns, partition_by="k"))
    inrush("run", inrush.write("package.toml", text)).expect(FAILED, "rows.tbl.2", "rows.tbl.3")
    assert state(database) == []


def test_a_key_outside_all_bounds_is_a_reject(newest_database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "rows", [["1", "99"]])
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", **declared([0, 10])))
    inrush("run", inrush.write("package.toml", text)).expect(4, "rows.tbl.1:2", "99")
    assert state(newest_database) == []


PART_COLUMNS = ["id int not null", "k int not null", "note text"]


@pytest.mark.parametrize("quoted", [False, True], ids=["lines", "quoted"])
def test_one_file_is_cut_into_parts_where_the_key_changes(
    newest_database: Database, inrush: Inrush, quoted: bool
) -> None:
    # Runs of 37 rows with one key, which no cut may split.
    rows = [(number, number // 37, f"note {number}") for number in range(20_000)]
    if quoted:
        rows = [(number, key, f'{note},\n"5"\n') for number, key, note in rows]
        quote = [note.replace('"', '""') for _, _, note in rows]
        lines = [f'{row[0]},{row[1]},"{note}"' for row, note in zip(rows, quote, strict=True)]
    else:
        lines = [f"{number},{key},{note}" for number, key, note in rows]
    inrush.write("rows.csv", "\n".join(lines) + "\n")
    settings: dict[str, Value] = {"columns": PART_COLUMNS, "partition_by": "k"}
    settings |= {"format": {"header": False}, "bounds": {"parts": 5}}
    text = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert newest_database.rows("SELECT id, k, note FROM loaded ORDER BY id") == rows
    counts = rows_by_partition(newest_database, "loaded")
    assert len(counts) == 5
    assert max(counts) - min(counts) < 1_000
    keys = "SELECT count(*) FROM (SELECT k FROM loaded GROUP BY k HAVING count(*) <> 37) AS odd"
    assert newest_database.value(keys) == 1  # the last one
    assert newest_database.value(
        "SELECT count(*) FROM (SELECT k FROM loaded GROUP BY k "
        "HAVING count(DISTINCT tableoid) > 1) AS parted"
    ) == 0  # fmt: skip
    # Each is loaded by one stream, with FREEZE.
    assert not any(unit["shared"] for unit in outcome.report["units"])
    inrush("run", "package.toml").expect(CLEAN, "already loaded")


@pytest.mark.parametrize("parts", [3, 8, 50])
def test_no_cut_falls_into_a_record(newest_database: Database, inrush: Inrush, parts: int) -> None:
    inner = "100,inner100\n" * 60
    rows = [(1, "x"), (2, inner), *((key, f"t{key}") for key in range(1000, 1010))]
    text = "".join(f'{key},"{note}"\n' if key == 2 else f"{key},{note}\n" for key, note in rows)
    inrush.write("rows.csv", "id,note\n" + text)
    settings: dict[str, Value] = {"columns": ["id int not null", "note text"]}
    settings |= {"partition_by": "id", "bounds": {"parts": parts}}
    written = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    inrush("run", inrush.write("package.toml", written)).expect(CLEAN)
    assert newest_database.rows("SELECT id, note FROM loaded ORDER BY id") == rows


def test_a_file_that_cannot_be_cut_is_told_when_it_is_planned(
    newest_database: Database, inrush: Inrush
) -> None:
    text = "".join(f"{number},{number},x\n" for number in range(1000))
    inrush.write("rows.csv", text)
    inrush.write("rows.csv.gz", gzip.compress(text.encode()))
    inrush.write("wide.csv", text.encode("utf-16"))
    os.mkfifo(inrush.folder / "pipe.csv")
    for name, why in (
        ("rows.csv.gz", "it is compressed"),
        ("wide.csv", "it is not in UTF-8"),
        ("pipe.csv", "it is a pipe"),
        ("rows.csv", None),
    ):
        settings: dict[str, Value] = {"columns": PART_COLUMNS, "partition_by": "k"}
        settings |= {"format": {"header": False}, "bounds": {"parts": 4}}
        written = package(newest_database.url, flow("loaded", name, **settings))
        outcome = inrush("check", inrush.write("package.toml", written)).expect(CLEAN)
        if why is None:
            assert "is one partition" not in outcome.said
        else:
            outcome.expect(CLEAN, f"{name} is one partition", "asks for 4 parts", why)


@pytest.mark.timeout(360)
def test_more_partitions_than_the_server_has_locks_for_are_refused_by_the_plan(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.csv", "".join(f"{number},{number},x\n" for number in range(20_000)))
    settings: dict[str, Value] = {"columns": PART_COLUMNS, "partition_by": "k"}
    settings |= {"format": {"header": False}, "bounds": {"parts": 1000}}
    written = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    before = state(newest_database)
    for command in ("check", "run"):
        outcome = inrush(command, inrush.write("package.toml", written), seconds=170)
        outcome.expect(FAILED, "max_locks_per_transaction", "locks in one transaction")
    assert state(newest_database) == before


def test_rows_that_are_not_in_the_order_of_their_parts_are_rejects(
    newest_database: Database, inrush: Inrush
) -> None:
    keys = [*range(10_000), 3, *range(10_000, 20_000)]
    lines = [f"{number},{key},x" for number, key in enumerate(keys, 1)]
    inrush.write("rows.csv", "\n".join(lines) + "\n")
    settings: dict[str, Value] = {"columns": PART_COLUMNS, "partition_by": "k"}
    settings |= {"format": {"header": False}, "bounds": {"parts": 4}}
    text = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(REJECT_LIMIT, "rows.csv:10001", "must be sorted by the key")
    assert state(newest_database) == []
    inrush.write("rows.csv", "\n".join(reversed(lines)) + "\n")
    inrush("run", "package.toml").expect(USAGE, "is not sorted by its key")
    assert state(newest_database) == []


def test_flows_are_switched_in_together(database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "one", [["1"], ["2"]])
    write_parts(inrush, "two", [["1"], ["2"], ["3"]])
    inrush.write("three.tbl", "1|x|\n")
    columns = ["id int not null", "k int not null"]
    text = package(
        database.url,
        flow("one", "one.tbl.*", columns=columns, partition_by="k"),
        flow("two", "two.tbl.*", columns=columns, partition_by="k"),
        flow("three", "three.tbl", columns=["id int", "k text"]),
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert len(partitions(database, "one")) == 2
    assert len(partitions(database, "two")) == 3
    assert database.rows("TABLE three") == [(1, "x")]
    # One transaction wrote the catalog rows of all attached partitions.
    assert database.value(
        "SELECT count(DISTINCT xmin::text) FROM pg_inherits "
        "WHERE inhparent IN ('one'::regclass, 'two'::regclass)"
    ) == 1  # fmt: skip


def test_one_bad_flow_switches_none(newest_database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "good", [["1"], ["2"]])
    write_parts(inrush, "bad", [["1"], ["x"]])
    columns = ["id int not null", "k int not null"]
    text = package(
        newest_database.url,
        flow("good", "good.tbl.*", columns=columns, partition_by="k"),
        flow("bad", "bad.tbl.*", columns=columns, partition_by="k"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(4, "bad.tbl.2:1")
    assert state(newest_database) == []


@pytest.mark.parametrize("key_type", ["int", "date", "text"])
def test_the_switch_scans_nothing(database: Database, inrush: Inrush, key_type: str) -> None:
    keys = {
        "int": [["1", "2"], ["3"], ["4"]],
        "date": [["2024-01-01"], ["2024-01-02"], ["2024-01-03"]],
        "text": [["a"], ["b"], ["c"]],
    }[key_type]
    write_parts(inrush, "rows", keys)
    database.execute(f"ALTER DATABASE {database.name} SET log_min_messages = debug1")
    columns = ["id int not null", f"k {key_type} not null"]
    text = package(database.url, flow("loaded", "rows.tbl.*", columns=columns, partition_by="k"))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    log = [
        line
        for line in database.server.log.read_text().splitlines()
        if line.startswith(f"{database.name} ")
    ]
    implied = [line for line in log if "is implied by existing constraints" in line]
    assert len(implied) == len(keys)
    # The session that attached the partitions did not read any table to check it.
    (switcher,) = {line.split(" DEBUG:")[0] for line in implied}
    assert not [
        line for line in log if line.startswith(switcher) and re.search(r"verifying table", line)
    ]
    # The bound now belongs to the partition, so no CHECK tests it again at every insert.
    assert partitions(database, "loaded")


def test_statistics_are_there_after_it(newest_database: Database, inrush: Inrush) -> None:
    write_parts(inrush, "rows", [["1", "2"], ["3"]])
    columns = ["id int not null", "k int not null"]
    text = package(
        newest_database.url,
        flow("loaded", "rows.tbl.*", columns=columns, partition_by="k"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert newest_database.value(
        "SELECT count(*) FROM pg_stats WHERE tablename = 'loaded' AND inherited"
    ) == 2  # fmt: skip


def test_partitions_have_what_the_parent_asks_for(database: Database, inrush: Inrush) -> None:
    database.execute(
        "CREATE TABLE loaded (id int NOT NULL, k int NOT NULL, "
        "twice int GENERATED ALWAYS AS (id * 2) STORED, "
        "note text DEFAULT 'none', CHECK (id > 0), PRIMARY KEY (id, k)) PARTITION BY RANGE (k);"
        "CREATE INDEX ON loaded (note)"
    )
    write_parts(inrush, "rows", [["1", "2"], ["3"]])
    text = package(
        database.url,
        flow("loaded", "rows.tbl.*", columns=["id", "k"], partition_by="k"),
    )
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert database.rows("SELECT id, k, twice, note FROM loaded ORDER BY id") == [
        (1, 1, 2, "none"), (2, 2, 4, "none"), (3, 3, 6, "none"),
    ]  # fmt: skip
    with pytest.raises(Exception, match="violates check"):
        database.execute("INSERT INTO loaded (id, k) VALUES (-1, 1)")
    with pytest.raises(Exception, match="duplicate key"):
        database.execute("INSERT INTO loaded (id, k) VALUES (1, 1)")
    # Every index of the parent is valid, so all partitions have their part of it.
    assert database.value(
        "SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = 'loaded'::regclass"
    )
