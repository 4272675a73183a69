"""Files of typed rows (Parquet, Arrow IPC): no value changes, and all guarantees for files hold.

The expected tables are filled by INSERT, with the values that pyarrow itself reads.
"""

from __future__ import annotations

import base64
import datetime as dt
import os
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.contents import assert_same_rows
from harness.packages import Value, flow, package
from harness.servers import Database

Write = Callable[..., Path]


def write_parquet(path: Path, table: pa.Table, group_rows: int = 1 << 20, **more: Any) -> Path:
    pq.write_table(table, path, row_group_size=group_rows, **more)
    return path


def write_arrow(path: Path, table: pa.Table, group_rows: int = 1 << 20, **more: Any) -> Path:
    pyarrow.feather.write_feather(
        table,
        path,
        chunksize=group_rows,
        compression={"none": "uncompressed"}.get(more.get("compression", ""), "lz4"),
    )
    return path


@pytest.fixture(params=["parquet", "arrow"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write(kind: str, inrush: Inrush) -> Write:
    writer = {"parquet": write_parquet, "arrow": write_arrow}[kind]
    return lambda name, *args, **more: writer(inrush.folder / f"{name}.{kind}", *args, **more)


def insert(database: Database, name: str, table: pa.Table) -> None:
    """Insert the rows of an Arrow table into a table of the database."""
    columns = ", ".join(f'"{column}"' for column in table.column_names)
    places = ", ".join(["%s"] * table.num_columns)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    with database.connect() as connection:
        connection.cursor().executemany(f"INSERT INTO {name} ({columns}) VALUES ({places})", rows)


def types_of(database: Database, name: str) -> dict[str, str]:
    """Return the columns of a table and their types."""
    return dict(
        database.rows(
            "SELECT attname::text, format_type(atttypid, atttypmod) || "
            "CASE WHEN attnotnull THEN ' not null' ELSE '' END "
            f"FROM pg_attribute WHERE attrelid = '{name}'::regclass AND attnum > 0 ORDER BY attnum"
        )
    )


UTC = dt.timezone.utc
EXTREMES: list[tuple[str, pa.DataType, list[Any], str]] = [
    ("b", pa.bool_(), [True, False, None], "boolean"),
    ("i8", pa.int8(), [-128, 127, None], "smallint"),
    ("u8", pa.uint8(), [0, 255, None], "smallint"),
    ("i16", pa.int16(), [-32768, 32767, None], "smallint"),
    ("u16", pa.uint16(), [0, 65535, None], "integer"),
    ("i32", pa.int32(), [-(2**31), 2**31 - 1, None], "integer"),
    ("u32", pa.uint32(), [0, 2**32 - 1, None], "bigint"),
    ("i64", pa.int64(), [-(2**63), 2**63 - 1, None], "bigint"),
    ("u64", pa.uint64(), [0, 2**64 - 1, None], "numeric(20,0)"),
    ("f32", pa.float32(), [3.4028234663852886e38, 1.401298464324817e-45, None], "real"),
    ("f64", pa.float64(), [1.7976931348623157e308, 5e-324, None], "double precision"),
    ("f64s", pa.float64(), [float("nan"), float("-inf"), -0.0], "double precision"),
    ("d", pa.decimal128(38, 10), [Decimal("9" * 28 + "." + "9" * 10), Decimal("-1E-10"), None],
     "numeric(38,10)"),
    ("dw", pa.decimal256(50, 5), [Decimal("9" * 45 + ".99999"), Decimal("-0.00001"), None],
     "numeric(50,5)"),
    ("t", pa.string(), ["", 'a,"b"\r\nc\\.', None], "text"),
    ("tl", pa.large_string(), ["\\.", "日本語 🦀", None], "text"),
    ("td", pa.dictionary(pa.int8(), pa.string()), ["one", "one", None], "text"),
    ("by", pa.binary(), [b"", bytes(range(256)), None], "bytea"),
    ("fb", pa.binary(3), [b"\x00\xff,", b"abc", None], "bytea"),
    ("day", pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None], "date"),
    ("tod", pa.time64("us"), [dt.time(0), dt.time(23, 59, 59, 999999), None],
     "time without time zone"),
    ("ts", pa.timestamp("us"),
     [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None],
     "timestamp without time zone"),
    ("tz", pa.timestamp("us", tz="Asia/Tokyo"),
     [dt.datetime(1900, 1, 1, tzinfo=UTC), dt.datetime(2262, 4, 11, 12, tzinfo=UTC), None],
     "timestamp with time zone"),
    ("ms", pa.timestamp("ms"),
     [dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(2024, 2, 29), None],
     "timestamp without time zone"),
    ("none", pa.null(), [None, None, None], "text"),
]  # fmt: skip


def extremes() -> pa.Table:
    arrays = [pa.array(values, data_type) for _, data_type, values, _ in EXTREMES]
    arrays.append(pa.array([1, 2, 3], pa.int32()))
    fields = [pa.field(name, data_type) for name, data_type, _, _ in EXTREMES]
    fields.append(pa.field("Key", pa.int32(), nullable=False))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@pytest.mark.parametrize("level", ["count", "rows"])
def test_every_type_comes_as_it_is(
    database: Database, inrush: Inrush, write: Write, level: str
) -> None:
    table = extremes()
    write("t", table)
    outcome = inrush(
        "load", f"{inrush.folder}/t.*", "--to", database.url, "--table", "t", "--verify", level
    )
    outcome.expect(CLEAN)
    expected = {name: sql for name, _, _, sql in EXTREMES}
    assert types_of(database, "t") == {**expected, "key": "integer"}
    database.execute("CREATE TABLE expected (LIKE t)")
    insert(database, "expected", table.rename_columns([*expected, "key"]))
    assert_same_rows(database, "t", "expected", "key")


def test_uuids_and_intervals(database: Database, inrush: Inrush) -> None:
    ids = [uuid.uuid4() for _ in range(3)]
    table = pa.table(
        {
            "id": pa.array([one.bytes for one in ids], pa.uuid()),
            "took": pa.array([dt.timedelta(days=-1, microseconds=1), dt.timedelta(hours=99), None]),
        }
    )
    write_parquet(inrush.folder / "t.parquet", table.select(["id"]))
    write_arrow(inrush.folder / "u.arrow", table)
    for name in ("t.parquet", "u.arrow"):
        inrush("load", name, "--to", database.url, "--table", name[0]).expect(CLEAN)
    database.execute("CREATE TABLE expected (id uuid, took interval)")
    with database.connect() as connection:
        connection.cursor().executemany(
            "INSERT INTO expected VALUES (%s, %s)",
            list(zip(ids, table["took"].to_pylist(), strict=True)),
        )
    database.execute("UPDATE expected SET took = make_interval(secs => extract(epoch from took))")
    assert_same_rows(database, "t", "(SELECT id FROM expected) e", "id")
    assert_same_rows(database, "u", "expected", "id")


def numbered(count: int, first: int = 0, longest: int = 50) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "amount": pa.array([Decimal(n) / 100 for n in numbers], pa.decimal128(12, 2)),
            "note": pa.array(
                [None if n % 7 == 0 else f'note "{n}",\n{"x" * (n % longest)}' for n in numbers]
            ),
        }
    )


NUMBERED = "id bigint, amount numeric(12,2), note text"


# Few rows, because they are long: the file has seven ranges of 2 MiB.
LARGE_ROWS, LARGE_GROUP, LONGEST_NOTE = 100_000, 5_000, 300


@cache
def large(first: int = 0) -> pa.Table:
    """Return a table of which each file has several ranges."""
    return numbered(LARGE_ROWS, first, LONGEST_NOTE)


def expect_large(database: Database) -> None:
    """Make the table `expected` with the rows of `large`."""
    database.execute(f"CREATE TABLE expected ({NUMBERED})")
    database.execute(
        "INSERT INTO expected SELECT n, n / 100.0, CASE WHEN n % 7 <> 0 THEN "
        f"'note \"' || n || E'\",\\n' || repeat('x', n % {LONGEST_NOTE}) END "
        f"FROM generate_series(0, {LARGE_ROWS - 1}) n"
    )


def test_row_groups_go_to_several_streams(database: Database, inrush: Inrush, write: Write) -> None:
    write("t", large(), LARGE_GROUP, compression="none")
    text = package(database.url, flow("t", f"{inrush.folder}/t.*"), streams=4, verify="sums")
    outcome = inrush("run", inrush.write("p.toml", text))
    outcome.expect(CLEAN)
    report = outcome.report
    assert len(report["streams"]) > 1
    assert report["units"][0]["shared"]
    expect_large(database)
    assert_same_rows(database, "t", "expected", "id")


def test_files_become_partitions(database: Database, inrush: Inrush, write: Write) -> None:
    for part in range(3):
        write(f"t{part}", numbered(1000, part * 1000), 300)
    text = package(
        database.url,
        flow("t", f"{inrush.folder}/t*", partition_by="id", columns=NUMBERED.split(", ")),
    )
    inrush("run", inrush.write("p.toml", text)).expect(CLEAN)
    assert database.value("SELECT count(*) FROM pg_inherits") == 3
    database.execute(f"CREATE TABLE expected ({NUMBERED})")
    insert(database, "expected", numbered(3000))
    assert_same_rows(database, "t", "expected", "id")


def test_rejects_have_the_values_of_the_file(
    database: Database, inrush: Inrush, write: Write
) -> None:
    documents = ['{"a":1,"a":2}', '{"b,c": 1}', 'say "no"', None]
    path = write("t", pa.table({"doc": pa.array(documents)}), 4)
    database.execute("CREATE TABLE t (doc jsonb NOT NULL)")
    load = flow("t", str(path), mode="append", rejects={"rows_max": 3})
    outcome = inrush("run", inrush.write("p.toml", package(database.url, load)))
    outcome.expect(LOADED_WITH_REJECTS)
    told = [(reject["value"], reject["code"]) for reject in outcome.rejects()]
    assert told == [
        ('{"a":1,"a":2}', "form_lost"),
        ('say "no"', "syntax"),
        ("", "null_not_allowed"),
    ]
    *_, of_null = outcome.rejects()
    assert of_null["reason"] == (
        "the value is NULL, but the column is not nullable; fix the row, or make the column "
        "nullable"
    )
    assert database.rows("SELECT doc::text FROM t") == [('{"b,c": 1}',)]


def test_rejects_name_rows_and_can_be_mended(
    database: Database, inrush: Inrush, write: Write
) -> None:
    table = pa.table(
        {
            "n": pa.array([1, 40_000, 3, None, 5], pa.int64()),
            "x": pa.array([0.5, 0.5, 0.1, 0.5, 0.5], pa.float64()),
            "note": ["a", 'b,"c"\n', "d", "e", ""],
        }
    )
    path = write("t", table, 2)
    database.execute("CREATE TABLE t (n smallint NOT NULL, x real, note text)")
    text = package(
        database.url, flow("t", str(path), mode="append", rejects={"rows_max": 10}), streams=1
    )
    outcome = inrush("run", inrush.write("p.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    told = [
        (reject["line"], reject["byte_offset"], reject["column"], reject["value"], reject["code"])
        for reject in outcome.rejects()
    ]
    assert told == [
        (2, 1, "n", "40000", "out_of_range"),
        (4, 3, "n", "", "null_not_allowed"),
    ]
    [rows] = list(outcome.run_folders()[0].glob("rejects/*.rejects"))
    assert rows.read_text() == '"n","x","note"\n40000,0.5,"b,""c""\n"\n,0.5,e\n'
    rows.write_text('n,x,note\n4000,0.5,"b,""c""\n"\n4,0.5,e\n')
    inrush("rejects", "replay", outcome.run_folders()[0].name).expect(CLEAN)
    database.execute("CREATE TABLE expected (n smallint, x real, note text)")
    insert(database, "expected", table.set_column(0, "n", pa.array([1, 4000, 3, 4, 5])))
    assert_same_rows(database, "t", "expected", "n")


@pytest.mark.parametrize(
    ("value", "data_type", "column", "code"),
    [
        (0.123456789012, pa.float64(), "real", "form_lost"),
        (2**53, pa.int64(), "double precision", None),
        (2**60, pa.int64(), "double precision", None),
        (1e18, pa.float64(), "bigint", None),
        (2e-45, pa.float64(), "real", "form_lost"),
        (1, pa.int64(), "money", "refused"),
        (2**53 + 1, pa.int64(), "double precision", "form_lost"),
        (1.5, pa.float64(), "integer", "syntax"),
        (1.0, pa.float64(), "integer", None),
        (1e300, pa.float64(), "real", "out_of_range"),
        (Decimal("1.25"), pa.decimal128(5, 2), "numeric(5,1)", "fraction_lost"),
        (dt.datetime(2024, 1, 1, 12), pa.timestamp("us"), "date", "fraction_lost"),
        (1, pa.timestamp("ns"), "timestamp", "fraction_lost"),
        (1, pa.timestamp("us", tz="UTC"), "timestamp", "syntax"),
        (1, pa.timestamp("us"), "timestamptz", "zone_missing"),
        ("nul \0 byte", pa.string(), "text", "nul_byte"),
        ("too long", pa.string(), "varchar(3)", "too_long"),
    ],
)
def test_nothing_is_changed_on_the_way(
    newest_database: Database,
    inrush: Inrush,
    value: Any,
    data_type: pa.DataType,
    column: str,
    code: str | None,
) -> None:
    write_parquet(inrush.folder / "t.parquet", pa.table({"v": pa.array([value], data_type)}))
    newest_database.execute(f"CREATE TABLE t (v {column})")
    text = package(newest_database.url, flow("t", "t.parquet", mode="append"))
    outcome = inrush("run", inrush.write("p.toml", text))
    if code == "refused":
        outcome.expect(USAGE, "cannot take")
    elif code is None:
        outcome.expect(CLEAN)
        assert newest_database.value("SELECT v FROM t") == value
    else:
        outcome.expect(REJECT_LIMIT, "t.parquet")
        assert [reject["code"] for reject in outcome.rejects()] == [code]
        assert newest_database.rows("TABLE t") == []


def test_a_killed_load_goes_on(database: Database, inrush: Inrush, write: Write) -> None:
    path = write("t", large(), LARGE_GROUP, compression="none")
    text = package(database.url, flow("t", str(path)), streams=2)
    p = inrush.write("p.toml", text)
    inrush("run", p, environment={"INRUSH_FAULT": "after_unit_commit:3"}).expect(-9)
    # The time of the file has changed, but its rows are the same.
    os.utime(path)
    outcome = inrush("run", p)
    outcome.expect(CLEAN)
    report = outcome.report
    assert report["resumed"]
    expect_large(database)
    assert_same_rows(database, "t", "expected", "id")


def test_a_file_that_was_written_again_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    path = inrush.folder / "t.parquet"
    write_parquet(path, large(), LARGE_GROUP, compression="none")
    p = inrush.write("p.toml", package(newest_database.url, flow("t", str(path)), streams=2))
    inrush("run", p, environment={"INRUSH_FAULT": "after_unit_commit:3"}).expect(-9)
    write_parquet(path, large(1), LARGE_GROUP, compression="none")
    inrush("run", p).expect(FAILED, "t.parquet", "--again")
    assert newest_database.value("SELECT to_regclass('t') IS NULL")


def test_nested_columns_are_told(newest_database: Database, inrush: Inrush, write: Write) -> None:
    table = pa.table({"id": [1, 2], "tags": [["a"], ["b", "c"]], "name": ["x", "y"]})
    path = write("t", table)
    url = newest_database.url
    inrush("load", path, "--to", url, "--table", "t").expect(CLEAN, "tags is left out", "List")
    assert newest_database.rows("SELECT * FROM t ORDER BY id") == [(1, "x"), (2, "y")]
    outcome = inrush(
        "load", path, "--to", url, "--table", "u", "--columns", "id bigint, tags text, name text"
    )
    outcome.expect(USAGE, "`tags`", "without a text form", "skip")


@pytest.mark.parametrize(
    ("values", "column", "says"),
    [
        ([b"ab"], "text", "make the column bytea"),
        ([b"ab"], "integer", "make the column bytea"),
        ([True], "text", "make the column boolean"),
        ([1.5], "date", "make the column a number"),
    ],
)
def test_pairs_of_types_that_make_no_sense_are_refused(
    newest_database: Database, inrush: Inrush, values: list[Any], column: str, says: str
) -> None:
    write_parquet(inrush.folder / "t.parquet", pa.table({"v": values}))
    outcome = inrush(
        "load", "t.parquet", "--to", newest_database.url, "--table", "t", "--columns", f"v {column}"
    )
    outcome.expect(USAGE, "`v`", "cannot take", says)


def test_what_does_not_go_together_is_refused(newest_database: Database, inrush: Inrush) -> None:
    load = ("--to", newest_database.url, "--table", "t")
    write_parquet(inrush.folder / "a.parquet", pa.table({"v": [1]}))
    write_parquet(inrush.folder / "b.parquet", pa.table({"v": ["x"]}))
    write_parquet(inrush.folder / "c.parquet", pa.table({"v": [1], "w": [2]}))
    inrush.write("d.csv", "v\n1\n")
    for files, says in [
        (("a.parquet", "b.parquet"), ("b.parquet", "`v` (Utf8)", "`v` (Int64)")),
        (("a.parquet", "c.parquet"), ("c.parquet", "2 columns", "has 1")),
        (("a.parquet", "d.csv"), ("d.csv", "text", "a.parquet is Parquet")),
        (("d.csv", "a.parquet"), ("a.parquet", "a Parquet file", "d.csv is text")),
    ]:
        outcome = inrush("load", *files, *load)
        assert outcome.status in (FAILED, USAGE), outcome.said
        assert all(part in outcome.said for part in says), outcome.said
        assert "separate flows" in outcome.said
    outcome = inrush("load", "a.parquet", *load, "--format", "csv,delimiter=;")
    assert outcome.status in (FAILED, USAGE), outcome.said
    assert "remove `format`" in outcome.said
    assert newest_database.value("SELECT to_regclass('t') IS NULL")


def test_damaged_files_are_told(newest_database: Database, inrush: Inrush, write: Write) -> None:
    path = write("t", numbered(10_000), 1000)
    whole = path.read_bytes()
    load = ("--to", newest_database.url, "--table", "t")
    path.write_bytes(whole[:-100])
    inrush("load", path, *load).expect(FAILED, path.name, "last bytes", "make it again")
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(2000) + whole[middle + 2000 :])
    outcome = inrush("load", path, *load)
    outcome.expect(FAILED, path.name, "make it again")
    assert "panicked" not in outcome.said
    path.write_text("id,amount,note\n1,2,x\n")
    inrush("load", path, *load).expect(FAILED, path.name, "first bytes")
    assert newest_database.value("SELECT to_regclass('t') IS NULL")


def test_a_pipe_is_no_parquet_file(newest_database: Database, inrush: Inrush) -> None:
    path = write_parquet(inrush.folder / "t.parquet", pa.table({"v": [1]}))
    os.mkfifo(inrush.folder / "pipe")
    words = ("--to", newest_database.url, "--table", "t", "--columns", "v int")
    with inrush.start("load", "pipe", *words) as running:
        (inrush.folder / "pipe").write_bytes(path.read_bytes())
        running.wait().expect(FAILED, "Parquet", "write it to a file first")


def test_a_package_is_written_from_a_schema(inrush: Inrush, write: Write) -> None:
    path = write("sales", numbered(10))
    outcome = inrush("init", path, "--to", "postgresql://etl@dw/x", "--save", "-")
    outcome.expect(CLEAN, '"id bigint"', '"amount numeric(12,2)"', '"note text"', "10 rows")
    assert "[flow.format]" not in outcome.said
    assert "guessed" not in outcome.said.lower() or "Guessed from" in outcome.said


def test_reports_count_rows(newest_database: Database, inrush: Inrush, write: Write) -> None:
    path = write("t", numbered(5000), 1000)
    words = ("load", path, "--to", newest_database.url, "--table", "t", "--verify", "rows")
    outcome = inrush(*words)
    outcome.expect(CLEAN)
    report = outcome.report
    assert report["account"]["rows_loaded"] == 5000
    assert report["tables"][0]["stored_bytes"] == path.stat().st_size
    inrush("load", path, "--to", newest_database.url, "--table", "t", "--verify", "rows").expect(
        CLEAN, "already"
    )


def test_int96_timestamps_of_all_years(database: Database, inrush: Inrush) -> None:
    moments = [
        dt.datetime(1500, 1, 1),
        dt.datetime(2024, 2, 29, 1, 2, 3, 4),
        dt.datetime(9999, 12, 31),
    ]
    table = pa.table({"id": [1, 2, 3], "t": pa.array(moments, pa.timestamp("us"))})
    for name, store in (("a", True), ("b", False)):
        path = inrush.folder / f"{name}.parquet"
        pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=store)
        inrush("load", path, "--to", database.url, "--table", name).expect(CLEAN)
        assert database.rows(f"SELECT t FROM {name} ORDER BY id") == [(one,) for one in moments]


def test_a_damaged_page_is_found_by_its_checksum(newest_database: Database, inrush: Inrush) -> None:
    path = inrush.folder / "t.parquet"
    table = pa.table({"v": [f"value {n}" for n in range(5000)]})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"value 2500", b"Value 2500"))
    outcome = inrush("load", path, "--to", newest_database.url, "--table", "t")
    outcome.expect(FAILED, "t.parquet", "CRC")


def varint(number: int) -> bytes:
    """Return a number in Thrift's compact form."""
    number *= 2
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def test_a_row_group_past_the_end_of_the_file_is_refused(
    newest_database: Database, inrush: Inrush
) -> None:
    path = inrush.folder / "t.parquet"
    pq.write_table(
        pa.table({"id": pa.array(range(30), pa.int64())}), path, row_group_size=10,
        use_dictionary=False, compression="none", store_schema=False, write_statistics=False,
    )  # fmt: skip
    offset = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    moved = data[footer:].replace(varint(offset), varint(8000))
    assert len(moved) == len(data) - footer
    path.write_bytes(data[:footer] + moved)
    outcome = inrush("load", path, "--to", newest_database.url, "--table", "t")
    outcome.expect(FAILED, "past the end of the file")
    assert newest_database.value("SELECT to_regclass('t') IS NULL")


def test_a_length_that_no_memory_has_is_refused(newest_database: Database, inrush: Inrush) -> None:
    path = inrush.folder / "t.arrow"
    write_arrow(path, pa.table({"id": pa.array(range(30_000), pa.int64())}))
    data = bytearray(path.read_bytes())
    at = data.find((240_000).to_bytes(8, "little"))
    data[at + 6] = 0x10
    path.write_bytes(data)
    outcome = inrush("load", path, "--to", newest_database.url, "--table", "t")
    outcome.expect(FAILED, "t.arrow", "a buffer says that it has")


def test_values_that_stand_in_a_dictionary_are_not_copied(
    newest_database: Database, inrush: Inrush
) -> None:
    path = inrush.folder / "t.parquet"
    table = pa.table({"id": range(600), "v": ["x" * 500_000] * 600})
    pq.write_table(table, path)
    assert path.stat().st_size < 100_000
    outcome = inrush("load", path, "--to", newest_database.url, "--table", "t", "--streams", "1")
    outcome.expect(CLEAN)
    assert newest_database.rows("SELECT count(*), sum(length(v)) FROM t") == [(600, 300_000_000)]
    # 600 copies would be 300 MB.
    assert outcome.report["machine"]["loader_memory_peak_bytes"] < 150 << 20


def test_long_values_are_taken_where_the_format_says_so(
    newest_database: Database, inrush: Inrush
) -> None:
    path = write_parquet(inrush.folder / "t.parquet", pa.table({"v": ["x" * 20_000_000]}))
    words = ("load", path, "--to", newest_database.url, "--table", "t")
    inrush(*words).expect(FAILED, "record_bytes_max")
    inrush(*words, "--format", "record_bytes_max=64000000").expect(CLEAN)
    assert newest_database.value("SELECT length(v) FROM t") == 20_000_000


def test_places_are_the_numbers_of_rows_in_columns_too(
    newest_database: Database, inrush: Inrush, write: Write
) -> None:
    path = write("t", numbered(100_000), 5_000, compression="none")
    columns: list[Any] = ["id bigint", "amount skip", "note skip"]
    columns += [{"name": "row", "type": "bigint", "source": "line"}]
    columns += [{"name": "before", "type": "bigint", "source": "byte_offset"}]
    text = package(newest_database.url, flow("t", str(path), columns=columns), streams=4)
    inrush("run", inrush.write("p.toml", text)).expect(CLEAN)
    query = "SELECT count(*), count(*) FILTER (WHERE row = id + 1 AND before = id) FROM t"
    assert newest_database.rows(query) == [(100_000, 100_000)]


def test_row_groups_are_read_as_in_one_go(inrush: Inrush, write: Write) -> None:
    path = write("t", numbered(5000), 700)
    inrush("verify", "--split", path).expect(
        CLEAN, "5,000 records", "8 pieces", "row groups", "same"
    )


@pytest.mark.parametrize(
    ("values", "column", "setting"),
    [
        (pa.array([Decimal("1.500")]), 'type = "numeric", decimal_separator = ","',
         "decimal_separator"),
        (pa.array([dt.date(2024, 1, 2)]), 'type = "date", format = "%Y-%d-%m"', "format"),
        (pa.array([7]), 'type = "bigint", null = "7"', "null"),
        (pa.array([True]), 'type = "boolean", true_words = ["f"], false_words = ["t"]', "words"),
    ],
)  # fmt: skip
def test_settings_of_text_are_refused_for_what_is_none(
    newest_database: Database, inrush: Inrush, values: pa.Array, column: str, setting: str
) -> None:
    write_parquet(inrush.folder / "t.parquet", pa.table({"v": values}))
    text = package(newest_database.url, flow("t", "t.parquet"))
    text += f'columns = [{{ name = "v", {column} }}]\n'
    outcome = inrush("run", inrush.write("p.toml", text))
    outcome.expect(USAGE, setting, "works only for text", "remove")


@pytest.mark.parametrize(
    ("name", "first", "says"),
    [
        ("t.parquet", b"PARE", "encrypted"),
        ("t.feather", b"FEA1", "version 2"),
        ("t.arrow", b"\xff\xff\xff\xff", "stream format"),
    ],
)
def test_kinds_that_are_not_read_are_named(
    inrush: Inrush, name: str, first: bytes, says: str
) -> None:
    inrush.write(name, first + bytes(100))
    inrush("init", name, "--to", "postgresql://etl@dw/x", "--save", "-").expect(FAILED, says)


class NoKeys(pe.KmsClient):  # type: ignore[misc]
    """Wraps keys without any secret."""

    def __init__(self, _config: object) -> None:
        """Ignore the configuration."""
        super().__init__()

    def wrap_key(self, key: bytes, _master: str) -> bytes:
        """Return the key as text."""
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, _master: str) -> bytes:
        """Return the key that the text stands for."""
        return base64.b64decode(wrapped)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_columns_are_told(
    newest_database: Database, inrush: Inrush, plaintext_footer: bool
) -> None:
    table = pa.table({"id": [1, 2], "secret": ["x", "y"]})
    config = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["secret"]}, plaintext_footer=plaintext_footer
    )
    properties = pe.CryptoFactory(NoKeys).file_encryption_properties(
        pe.KmsConnectionConfig(), config
    )
    path = inrush.folder / "t.parquet"
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    outcome = inrush("load", path, "--to", newest_database.url, "--table", "t")
    outcome.expect(FAILED, "t.parquet", "encrypted", "no key", "without encryption")
    assert "not written or copied completely" not in outcome.said


def test_a_dictionary_at_byte_0_is_none(newest_database: Database, inrush: Inrush) -> None:
    path = write_parquet(inrush.folder / "t.parquet", pa.table({"id": [1, 2, 3, 1]}))
    column = pq.read_metadata(path).row_group(0).column(0)
    assert (column.dictionary_page_offset, column.data_page_offset) == (4, 41)
    # Thrift's fields 9 and 11 of the column, numbers of one byte. Some writers state the offset of
    # the first page and offset 0 for the dictionary; pyarrow begins with the first page.
    fields = bytes([0x26, 2 * 41, 0x26, 2 * 4])
    content = path.read_bytes()
    assert content.count(fields) == 1
    path.write_bytes(content.replace(fields, bytes([0x26, 2 * 4, 0x26, 0])))
    expected = pq.read_table(path).to_pydict()["id"]
    inrush("load", path, "--to", newest_database.url, "--table", "t").expect(CLEAN)
    assert newest_database.rows("SELECT id FROM t ORDER BY id") == [(n,) for n in sorted(expected)]


def test_row_groups_without_rows_are_passed_over(newest_database: Database, inrush: Inrush) -> None:
    table = pa.table({"id": [1, 2], "note": ["x", "y"]})
    path = inrush.folder / "t.parquet"
    with pq.ParquetWriter(path, table.schema) as writer:
        for part in (table.slice(0, 0), table, table.slice(0, 0), table, table.slice(0, 0)):
            writer.write_table(part)
    inrush("load", path, "--to", newest_database.url, "--table", "t").expect(CLEAN)
    expected = [(1, "x"), (1, "x"), (2, "y"), (2, "y")]
    assert newest_database.rows("SELECT id, note FROM t ORDER BY id") == expected


def test_a_string_that_is_none_is_told(newest_database: Database, inrush: Inrush) -> None:
    path = write_parquet(inrush.folder / "t.parquet", pa.table({"v": ["good", "abcdefgh"]}))
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"abc\xffefgh"))
    outcome = inrush("load", path, "--to", newest_database.url, "--table", "t")
    outcome.expect(FAILED, "t.parquet", "not valid UTF-8")


def test_columns_that_go_by_their_text_are_told(
    newest_database: Database, inrush: Inrush, write: Write
) -> None:
    table = pa.table({"id": [1, 2], "day": ["2024-01-02", "2024-01-03"], "note": ["x", " y"]})
    note: Value = {"name": "note", "type": "text", "trim": "both"}
    columns: list[Value] = ["id integer", "day date", note]
    path = write("t", table)
    text = package(newest_database.url, flow("t", str(path), columns=columns))
    p = inrush.write("p.toml", text)
    inrush("check", p).expect(CLEAN, "converted by way of text", "day, note")
    inrush("run", p).expect(CLEAN)
    assert newest_database.rows("SELECT id, day::text, note FROM t ORDER BY id") == [
        (1, "2024-01-02", "x"),
        (2, "2024-01-03", "y"),
    ]


def test_rows_that_the_server_refuses_are_found_again(
    newest_database: Database, inrush: Inrush, write: Write
) -> None:
    ids: list[int | None] = list(range(5000))
    ids[10], ids[4000], ids[4999] = None, 7, 3000
    table = pa.table({"id": ids, "note": [f"note {n}" for n in range(5000)]})
    path = write("t", table, 1000, compression="none")
    newest_database.execute("CREATE TABLE t (id integer PRIMARY KEY, note text)")
    text = package(
        newest_database.url, flow("t", str(path), mode="append", rejects={"rows_max": 10})
    )
    outcome = inrush("run", inrush.write("p.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    assert sorted((reject["line"], reject["column"]) for reject in outcome.rejects()) == [
        (11, "id"),
        (4001, None),
        (5000, None),
    ]
    kept = outcome.run_folders()[0].glob("rejects/*.rejects")
    rows = sorted(line for file in kept for line in file.read_text().splitlines()[1:])
    assert rows == [",note 10", "3000,note 4999", "7,note 4000"]
    expected = [(n, f"note {n}") for n in range(5000) if n not in (10, 4000, 4999)]
    assert newest_database.rows("SELECT id, note FROM t ORDER BY id") == expected
