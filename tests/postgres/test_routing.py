"""Rows go to their own partitions, whichever file they are in.

The result must be that of a COPY into the same target, where PostgreSQL itself routes the rows.
"""

from __future__ import annotations

import functools
import gzip
import random
import signal
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.contents import assert_nothing_staged, assert_same_results, contents, state
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.watcher import Watcher
from postgres.shapes import COLUMNS, SHAPES, Shape, lists, make, month

FIELDS = [column.split()[0] for column in COLUMNS.split(", ")]
# Several rows of every partition of every shape in each file.
ROWS = 1_000
FILES = 4
START = datetime(2024, 1, 1)


def row(number: int, chance: random.Random) -> list[str]:
    """Return the fields of a row; `number` is its id."""
    at = START + timedelta(minutes=chance.randrange(91 * 24 * 60))
    return [
        str(number),
        str(chance.randrange(10)) if chance.random() < 0.9 else "",
        at.date().isoformat(),
        at.isoformat(sep=" "),
        chance.choice(["north", "south", '"it\'s, far"', '""', "ö", ""]),
        f"{chance.randrange(100_000) / 100:.2f}",
        chance.choice(["t", "f"]),
        f'"row {number},\nof many"' if number % 7 == 0 else "",
    ]


@functools.cache
def lines(count: int = ROWS, seed: int = 7) -> Sequence[str]:
    """Return rows in an order that is unrelated to any key."""
    chance = random.Random(seed)  # noqa: S311
    rows = [",".join(row(number, chance)) for number in range(1, count + 1)]
    chance.shuffle(rows)
    return tuple(rows)


def write_files(inrush: Inrush, rows: Sequence[str], count: int = FILES) -> str:
    """Write the rows to files with a header, and return their glob."""
    for number in range(count):
        part = rows[number::count]
        inrush.write(f"rows.{number}.csv", "\n".join([",".join(FIELDS), *part]) + "\n")
    return "rows.*.csv"


def copy(database: Database, inrush: Inrush, table: str, rows: Sequence[str]) -> None:
    """Copy rows into a table by psql."""
    plain = inrush.write("plain", "\n".join(rows) + "\n")
    database.psql(f"\\copy {table} FROM '{plain}' (FORMAT csv)")


def assert_same_partitions(database: Database, left: str, right: str) -> None:
    """Fail unless two tables hold the same rows in the same partitions."""

    def query(name: str) -> str:
        part = f"substr(tableoid::regclass::text, {len(name) + 1})"
        return f"SELECT {part} AS part, * FROM {name} ORDER BY part, id"

    assert_same_results(database, query(left), query(right))


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=[name.replace(" ", "-") for name in SHAPES])
def test_rows_go_where_copy_puts_them(
    database: Database, inrush: Inrush, shape: Shape, streams: int
) -> None:
    rows = lines()
    files = write_files(inrush, rows)
    older, newer = rows[:100], rows
    for name in ("loaded", "expected"):
        make(database, name, shape)
        copy(database, inrush, name, older)
    copy(database, inrush, "expected", newer)
    settings: dict[str, Value] = {"mode": "append"}
    if shape.key == "RANGE (day)":
        settings["routing"] = True
    text = package(database.url, flow("loaded", files, **settings), streams=streams)
    written = inrush.write("package.toml", text)
    with Watcher(database, "loaded") as watcher:
        before = watcher.now()
        outcome = inrush("run", written).expect(CLEAN)
        after = watcher.now()
    assert before is not None
    assert watcher.seen <= {before, after}
    assert_same_partitions(database, "loaded", "expected")
    assert_nothing_staged(database)
    assert outcome.report["account"]["rows_loaded"] == ROWS
    assert all(unit["shared"] == (streams > 1) for unit in outcome.report["units"])
    inrush("run", written).expect(CLEAN, "already loaded")
    assert_same_partitions(database, "loaded", "expected")


@pytest.mark.parametrize("form", ["one file", "compressed"])
def test_one_large_file_by_several_streams(
    newest_database: Database, inrush: Inrush, form: str
) -> None:
    chance = random.Random(11)  # noqa: S311
    # Three pieces of 8 MiB, or two ranges of 4 MiB; the rows are long, so that there are few.
    wide = [
        f"{one}{chance.randbytes(1800).hex()}" if one.endswith(",") else one
        for one in lines(6_000 if form == "one file" else 1_400)
    ]
    text = "\n".join([",".join(FIELDS), *wide]) + "\n"
    name = "rows.csv" if form == "one file" else "rows.csv.gz"
    inrush.write(name, text if form == "one file" else gzip.compress(text.encode(), 1))
    shape = SHAPES["list, then range"]
    for table in ("loaded", "expected"):
        make(newest_database, table, shape)
    copy(newest_database, inrush, "expected", wide)
    written = package(newest_database.url, flow("loaded", name), streams=3)
    path = inrush.write("package.toml", written)
    # A build without optimisation decompresses a file slowly.
    outcome = inrush("run", path, seconds=150).expect(CLEAN)
    assert [unit["shared"] for unit in outcome.report["units"]] == [True]
    assert_same_partitions(newest_database, "loaded", "expected")
    assert_nothing_staged(newest_database)


POINTS = [
    "in_copy",
    "before_unit_commit:2",
    "unit_commit_sent:2",
    "after_unit_commit:3",
    "before_switch",
    "in_switch",
    "switch_commit_sent",
    "after_switch_commit",
]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("shape", ["list, then range", "hash"])
def test_killed_and_run_again(database: Database, inrush: Inrush, shape: str, point: str) -> None:
    rows = lines()
    files = write_files(inrush, rows)
    for name in ("loaded", "expected"):
        make(database, name, SHAPES[shape])
    copy(database, inrush, "expected", rows)
    written = inrush.write("package.toml", package(database.url, flow("loaded", files)))
    full = Watcher(database, "expected").now()
    assert full is not None
    with Watcher(database, "loaded") as watcher:
        died = inrush("run", written, environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, died.said
        inrush("run", written).expect(CLEAN)
    assert_same_partitions(database, "loaded", "expected")
    assert_nothing_staged(database)
    watcher.assert_all_or_nothing(full)


def test_status_and_cleanup_know_the_partitions_of_staging(
    newest_database: Database, inrush: Inrush
) -> None:
    files = write_files(inrush, lines())
    make(newest_database, "loaded", SHAPES["range, then hash"])
    before = state(newest_database)
    written = package(newest_database.url, flow("loaded", files), streams=2)
    inrush(
        "run", inrush.write("package.toml", written), environment={"INRUSH_FAULT": "before_switch"}
    )
    said = inrush("status", "--to", newest_database.url).expect(CLEAN).said
    assert "0 B" not in said
    inrush("cleanup", "--to", newest_database.url).expect(CLEAN)
    assert_nothing_staged(newest_database)
    assert state(newest_database) == before


def test_a_target_that_got_a_partition_meanwhile_is_loaded_anew(
    newest_database: Database, inrush: Inrush
) -> None:
    rows = lines()
    files = write_files(inrush, rows)
    make(newest_database, "loaded", SHAPES["list, a default"])
    make(newest_database, "expected", SHAPES["list, a default"])
    written = inrush.write("package.toml", package(newest_database.url, flow("loaded", files)))
    inrush("run", written, environment={"INRUSH_FAULT": "before_switch"})
    for name in ("loaded", "expected"):
        newest_database.execute(
            f"CREATE TABLE {name}_s PARTITION OF {name} FOR VALUES IN ('south')"
        )
    copy(newest_database, inrush, "expected", rows)
    inrush("run", written).expect(CLEAN)
    assert_same_partitions(newest_database, "loaded", "expected")
    assert_nothing_staged(newest_database)


# Keys without a partition that are found before sending: the target, and the fields of bad rows.
STRAYS = {
    "range": (SHAPES["range"], {2: ["2023-12-31", "2024-04-01", "infinity", ""]}),
    "list": (
        Shape("LIST (region)", lists("t", {"north": "'north'", "far": "'it''s, far'"})),
        {4: ["North", '""', "", "north "]},
    ),
    "list of numbers": (Shape("LIST (k)", lists("t", {"a": "1, -5"})), {1: ["2", "", "0"]}),
    "timestamps": (
        Shape(
            "RANGE (at)",
            "CREATE TABLE t_a PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('infinity');",
        ),
        {3: ["2023-12-31 23:59:59.999999", "infinity"]},
    ),
    # Microseconds since 1970 end at 294247-01-10 04:00:54.775807.
    "late timestamps": (
        Shape(
            "RANGE (at)",
            "CREATE TABLE t_a PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('294260-01-01');",
        ),
        {3: ["294260-01-01 00:00:00", "294276-12-31 23:59:59.999999", "infinity", "-infinity"]},
    ),
    "a list of timestamps": (
        Shape("LIST (at)", lists("t", {"a": "'2024-02-29 12:00:00', '294260-01-01', 'infinity'"})),
        {3: ["-infinity", "294260-01-01 00:00:00.000001", "294276-12-31 23:59:59.999999"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRAYS)
def test_a_row_that_fits_no_partition_is_a_reject(
    database: Database, inrush: Inrush, name: str
) -> None:
    shape, strays = STRAYS[name]
    good = {"k": "1", "day": "2024-02-29", "at": "2024-02-29 12:00:00", "region": "north"}
    plain = ["1", good["k"], good["day"], good["at"], good["region"], "1.00", "t", "x"]
    rows = [",".join(plain)]
    for field, values in strays.items():
        for value in values:
            bad = list(plain)
            bad[field] = value
            rows.append(",".join(bad))
    rows.append(",".join(plain))
    inrush.write("rows.csv", "\n".join(rows) + "\n")
    make(database, "loaded", shape)
    bad_count = len(rows) - 2
    settings: dict[str, Value] = {"format": {"header": False}, "routing": True}
    settings["rejects"] = {"rows_max": bad_count}
    written = package(database.url, flow("loaded", "rows.csv", **settings))
    outcome = inrush("run", inrush.write("package.toml", written)).expect(LOADED_WITH_REJECTS)
    assert database.value("SELECT count(*) FROM loaded") == 2
    rejects = outcome.rejects()
    assert [reject["line"] for reject in rejects] == list(range(2, bad_count + 2))
    assert {reject["code"] for reject in rejects} == {"outside_partition"}
    assert all('"public"."loaded"' in reject["reason"] for reject in rejects)
    settings["rejects"] = {"rows_max": bad_count - 1}
    database.execute("TRUNCATE loaded")
    written = package(database.url, flow("loaded", "rows.csv", **settings), name="again")
    inrush("run", inrush.write("package.toml", written)).expect(REJECT_LIMIT, "rows.csv:")
    assert database.value("SELECT count(*) FROM loaded") == 0


@pytest.mark.parametrize("key", ["RANGE (at)", "LIST (at)"])
def test_timestamps_past_64_bits_find_their_partition(
    database: Database, inrush: Inrush, key: str
) -> None:
    """Counted from 1970 such timestamps wrap around; the server sorts them last."""
    values = [
        "-infinity",
        "4714-11-24 00:00:00 BC",
        "2024-01-01 00:00:00",
        "294247-01-10 04:00:54.775807",
        "294247-01-10 04:00:54.775808",
        "294276-12-31 23:59:59.999999",
        "infinity",
    ]
    if key == "LIST (at)":
        partitions = lists("t", {f"p{n}": f"'{value}'" for n, value in enumerate(values)})
    else:
        ends = [f"('{value}')" for value in values[1:]] + ["(MAXVALUE)"]
        starts = ["(MINVALUE)", *ends]
        partitions = "".join(
            f"CREATE TABLE t_p{n} PARTITION OF t FOR VALUES FROM {start} TO {end}; "
            for n, (start, end) in enumerate(zip(starts, ends, strict=False))
        )
    rows = [f"{n},1,2024-01-01,{value},north,1.00,t,x" for n, value in enumerate(values[::-1])]
    files = write_files(inrush, rows, 1)
    for name in ("loaded", "expected"):
        make(database, name, Shape(key, partitions))
    copy(database, inrush, "expected", rows)
    written = package(database.url, flow("loaded", files, routing=True, verify="rows"))
    inrush("run", inrush.write("package.toml", written)).expect(CLEAN)
    assert_same_partitions(database, "loaded", "expected")


def test_rows_without_a_partition_go_to_the_default_one(
    newest_database: Database, inrush: Inrush
) -> None:
    rows = lines()
    files = write_files(inrush, rows)
    shape = Shape("RANGE (day)", month("t", 2) + "CREATE TABLE t_rest PARTITION OF t DEFAULT;")
    for name in ("loaded", "expected"):
        make(newest_database, name, shape)
    copy(newest_database, inrush, "expected", rows)
    written = package(newest_database.url, flow("loaded", files, routing=True))
    inrush("run", inrush.write("package.toml", written)).expect(CLEAN)
    assert_same_partitions(newest_database, "loaded", "expected")


def new_columns(key: str) -> list[str]:
    """Return the columns of a new table."""
    made = [column.strip() for column in COLUMNS.replace("(10,2)", "").split(", ")]
    made = [column.removesuffix(" not null") for column in made]
    return [f"{column} not null" if column.split()[0] == key else column for column in made]


BOUNDS: dict[str, tuple[str, Value, int]] = {
    "months": ("day", {"every": "1 month"}, 3),
    "weeks of timestamps": ("at", {"every": "1 week"}, 13),
    "numbers": ("id", {"every": 300}, 4),
    "a list of days": ("day", ["2024-01-01", "2024-01-15", "2024-06-01", "2025-01-01"], 3),
    "a list of numbers": ("id", [0, 10, ROWS + 1], 2),
    "a list of texts": ("note", ["", "row 2", "s"], 2),
}


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("name", BOUNDS)
def test_new_targets_from_files_in_any_order(
    database: Database, inrush: Inrush, name: str, streams: int
) -> None:
    key, bounds, count = BOUNDS[name]
    rows = [f"{one}row x" if one.endswith(",") else one for one in lines()]
    files = write_files(inrush, rows)
    settings: dict[str, Value] = {"partition_by": key, "bounds": bounds, "routing": True}
    settings["columns"] = new_columns(key)
    written = package(database.url, flow("loaded", files, **settings), streams=streams)
    path = inrush.write("package.toml", written)
    outcome = inrush("run", path).expect(CLEAN)
    database.execute(f"CREATE TABLE expected ({COLUMNS.replace('(10,2)', '')})")
    copy(database, inrush, "expected", rows)
    assert contents(database, "SELECT * FROM loaded ORDER BY id") == contents(
        database, "SELECT * FROM expected ORDER BY id"
    )
    parts = database.rows(
        "SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i "
        "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'loaded'::regclass "
        "AND relnamespace = 'public'::regnamespace ORDER BY 1"
    )
    assert len(parts) == count
    assert {part for part, _ in parts} == {f"loaded_p{number}" for number in range(1, count + 1)}
    assert database.value(
        "SELECT count(*) FROM pg_constraint WHERE contype = 'c' "
        "AND conrelid::regclass::text LIKE 'loaded%'"
    ) == 0  # fmt: skip
    assert_nothing_staged(database)
    (table,) = outcome.report["tables"]
    assert len(table["partitions"]) == count
    inrush("run", path).expect(CLEAN, "already loaded")


def test_rows_outside_of_a_list_of_bounds_are_rejects(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.csv", "id,k\n1,5\n2,10\n3,-1\n4,0\n5,x\n")
    settings: dict[str, Value] = {"partition_by": "k", "bounds": [0, 10], "routing": True}
    settings |= {"columns": ["id int", "k int not null"], "rejects": {"rows_max": 3}}
    written = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    outcome = inrush("run", inrush.write("package.toml", written)).expect(LOADED_WITH_REJECTS)
    assert [reject["line"] for reject in outcome.rejects()] == [3, 4, 6]
    assert newest_database.rows("SELECT id, k FROM loaded ORDER BY 1") == [(1, 5), (4, 0)]


def test_bounds_add_the_partitions_that_a_target_lacks(database: Database, inrush: Inrush) -> None:
    rows = lines()
    files = write_files(inrush, rows)
    columns = COLUMNS.replace("day date", "day date not null")
    for name, months in (("loaded", (2,)), ("expected", (1, 2, 3))):
        shape = Shape("RANGE (day)", "".join(month("t", number) for number in months))
        make(database, name, shape, f"{columns}, CHECK (id > 0)")
        database.execute(f"CREATE UNIQUE INDEX ON {name} (id, day)")
        database.execute(f"INSERT INTO {name} (id, day) VALUES (1000000, '2024-02-02')")
    copy(database, inrush, "expected", rows)
    settings: dict[str, Value] = {"mode": "append", "bounds": {"every": "1 month"}}
    settings["partition_by"] = "day"
    written = package(database.url, flow("loaded", files, routing=True, **settings))
    outcome = inrush("run", inrush.write("package.toml", written)).expect(CLEAN)
    assert contents(database, "SELECT * FROM loaded ORDER BY id") == contents(
        database, "SELECT * FROM expected ORDER BY id"
    )
    parts = outcome.report["tables"][0]["partitions"]
    assert len(parts) == 2
    assert database.value(
        "SELECT count(*) FROM pg_index WHERE indisunique AND indisvalid AND indrelid IN "
        "(SELECT inhrelid FROM pg_inherits WHERE inhparent = 'loaded'::regclass)"
    ) == 3  # fmt: skip
    assert database.value(
        "SELECT count(*) FROM pg_constraint WHERE conname = 'inrush_bounds'"
    ) == 0  # fmt: skip
    assert_nothing_staged(database)


def test_what_the_target_fills_itself_it_fills(database: Database, inrush: Inrush) -> None:
    database.execute(
        "CREATE TABLE loaded (id int GENERATED ALWAYS AS IDENTITY, region text NOT NULL, "
        "twice int GENERATED ALWAYS AS (k * 2) STORED, k int, at timestamptz DEFAULT now(), "
        "told text) PARTITION BY LIST (region)"
    )
    database.execute("CREATE TABLE loaded_a PARTITION OF loaded FOR VALUES IN ('a')")
    # A partition with another order of columns and its own constraint.
    database.execute(
        "CREATE TABLE loaded_b (k int CHECK (k < 100), told text, at timestamptz DEFAULT now(), "
        "id int NOT NULL, region text NOT NULL, twice int GENERATED ALWAYS AS (k * 2) STORED)"
    )
    database.execute("ALTER TABLE loaded ATTACH PARTITION loaded_b FOR VALUES IN ('b', 'c')")
    database.execute(
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.told := 'by ' || TG_TABLE_NAME; RETURN NEW; END $$"
    )
    database.execute(
        "CREATE TRIGGER tells BEFORE INSERT ON loaded FOR EACH ROW EXECUTE FUNCTION tell()"
    )
    inrush.write("rows.csv", "region,k\nb,1\na,2\nc,3\na,4\n")
    written = package(database.url, flow("loaded", "rows.csv"))
    inrush("run", inrush.write("package.toml", written)).expect(CLEAN)
    found = database.rows(
        "SELECT region, k, twice, told, at IS NOT NULL, id IS NOT NULL FROM loaded ORDER BY k"
    )
    assert found == [
        ("b", 1, 2, "by loaded_b", True, True),
        ("a", 2, 4, "by loaded_a", True, True),
        ("c", 3, 6, "by loaded_b", True, True),
        ("a", 4, 8, "by loaded_a", True, True),
    ]
    assert database.value("SELECT count(DISTINCT id) FROM loaded") == 4


REFUSALS: dict[str, tuple[str, dict[str, Value], str]] = {
    "a plain target": (
        "CREATE TABLE loaded (id int, k int)", {"routing": True}, "is not partitioned",
    ),
    "no partition": (
        "CREATE TABLE loaded (id int, k int) PARTITION BY LIST (k)", {}, "has no partition",
    ),
    "another key": (
        "CREATE TABLE loaded (id int, k int) PARTITION BY LIST (k); "
        "CREATE TABLE a PARTITION OF loaded DEFAULT",
        {"partition_by": "id"},
        'partitioned by LIST (k)',
    ),
    "bounds of a list": (
        "CREATE TABLE loaded (id int, k int) PARTITION BY LIST (k); "
        "CREATE TABLE a PARTITION OF loaded DEFAULT",
        {"partition_by": "k", "bounds": [1, 2]},
        "adds partitions by range",
    ),
    "bounds that cut a partition": (
        "CREATE TABLE loaded (id int, k int not null) PARTITION BY RANGE (k); "
        "CREATE TABLE a PARTITION OF loaded FOR VALUES FROM (5) TO (15)",
        {"partition_by": "k", "bounds": [0, 10], "routing": True},
        "only in part",
    ),
    "an unlogged partition": (
        "CREATE TABLE loaded (id int, k int) PARTITION BY LIST (k); "
        "CREATE UNLOGGED TABLE a PARTITION OF loaded DEFAULT",
        {},
        "UNLOGGED",
    ),
    "routing that is not wanted": (
        "CREATE TABLE loaded (id int, k int) PARTITION BY LIST (k); "
        "CREATE TABLE a PARTITION OF loaded DEFAULT",
        {"routing": False},
        "is partitioned by list",
    ),
    "no bounds": (
        "",
        {"partition_by": "k", "routing": True, "columns": ["id int", "k int"]},
        "`bounds` does not declare",
    ),
    "no key": (
        "", {"routing": True, "columns": ["id int", "k int"]}, "its partitions are not declared",
    ),
    "a width of another kind": (
        "",
        {"partition_by": "k", "bounds": {"every": "1 month"}, "routing": True,
         "columns": ["id int", "k int"]},
        "do not fit the key",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_routed_is_refused(
    newest_database: Database, inrush: Inrush, name: str
) -> None:
    statements, settings, said = REFUSALS[name]
    if statements:
        newest_database.execute(statements)
    before = state(newest_database)
    inrush.write("rows.csv", "id,k\n1,1\n")
    written = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    outcome = inrush("run", inrush.write("package.toml", written))
    assert outcome.status in (FAILED, USAGE), outcome.said
    outcome.expect(outcome.status, said)
    assert state(newest_database) == before


def test_the_plan_tells_how_rows_are_routed(newest_database: Database, inrush: Inrush) -> None:
    files = write_files(inrush, lines(10))
    make(newest_database, "loaded", SHAPES["range, then hash"])
    written = inrush.write("package.toml", package(newest_database.url, flow("loaded", files)))
    said = inrush("check", written).expect(CLEAN).said
    for part in (
        "each row goes to its own partition, by RANGE (day)",
        "6 partitions of the target",
        "PARTITION BY RANGE (day)",
        "FOR VALUES WITH (modulus 3, remainder 2)",
        'INSERT INTO "public"."loaded"',
        "writes each row twice",
    ):
        assert part in said, said
    settings: dict[str, Value] = {"partition_by": "day", "bounds": {"every": "1 month"}}
    settings["columns"] = new_columns("day")
    text = package(newest_database.url, flow("made", files, routing=True, **settings))
    said = inrush("check", inrush.write("other.toml", text)).expect(CLEAN).said
    assert "all files were read once" in said
    assert 'RENAME TO "made"' in said


def test_a_switch_that_needs_more_locks_than_there_are_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    room = newest_database.value(
        "SELECT current_setting('max_locks_per_transaction')::int "
        "* (current_setting('max_connections')::int + 20)"
    )
    inrush.write("rows.csv", f"id,k\n1,1\n2,{room}\n")
    settings: dict[str, Value] = {"partition_by": "k", "columns": ["id int", "k int not null"]}
    settings |= {"bounds": list(range(room // 4 + 2)), "routing": True}
    written = package(newest_database.url, flow("loaded", "rows.csv", **settings))
    outcome = inrush("run", inrush.write("package.toml", written))
    outcome.expect(outcome.status, "max_locks_per_transaction")
    assert outcome.status in (FAILED, USAGE)
    assert state(newest_database) == []
