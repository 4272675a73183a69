"""Values that would silently change are rejects."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush, Outcome
from harness.duckdb_files import opened
from harness.packages import Value, flow, package
from harness.servers import Database


class Declared(NamedTuple):
    """A format, values that it reads, and values that lost a zero."""

    column: str
    format: str
    read: dict[str, str]
    rejected: list[str]
    pivot: int | None = None


FORMATS = [
    Declared("time", "%H%M%S", {"012345": "01:23:45"}, ["12345", "1 2345", "12 345", "1234"]),
    Declared("time", "%H%M", {"0100": "01:00:00", "1203": "12:03:00"}, ["100", "123", "1 00"]),
    Declared("time", "%H%M%S%3f", {"010203004": "01:02:03.004"}, ["10203004", "01020304"]),
    Declared("date", "%y%m%d", {"040102": "2004-01-02"}, ["40102", "4 0102"], 1970),
    Declared("date", "%d%m%y", {"011024": "2024-10-01"}, ["11024", "1 1024"], 1970),
    Declared(
        "date",
        "%Y%m%d",
        {"20240102": "2024-01-02"},
        ["0240102", "2024112", "2024 102", "2024 1 2", "2024 0102"],
    ),
    Declared("date", "%Y%j", {"2024001": "2024-01-01"}, ["20241", "202401"]),
    Declared("date", "%G-W%V-%u", {"2024-W05-1": "2024-01-29"}, ["24-W05-1"]),
    Declared("date", "%Y-%m-%d (%b, %j)", {"2024-02-01 (Feb, 32)": "2024-02-01"},
             ["2024-02-01 (Mar, 32)", "2024-02-01 (Feb, 33)"]),
    Declared("date", "%d.%m.%y", {"1.1.5": "2005-01-01", "01.01.05": "2005-01-01"}, ["1.15"], 1970),
    Declared(
        "timestamp",
        "%Y%m%d%H%M%S",
        {"20240102030405": "2024-01-02 03:04:05"},
        ["2024010212345", "2024112030405", "20240102 12345"],
    ),
    Declared(
        "timestamp",
        "%d%m%Y %H%M",
        {"01022024 0930": "2024-02-01 09:30:00", "010220240930": "2024-02-01 09:30:00"},
        ["1022024 0930", "01022024 130", "01022024 1 30", "01 22024 0930"],
    ),
    Declared(
        "timestamp",
        "%d.%m.%Y %H:%M",
        {"1.2.2024 9:30": "2024-02-01 09:30:00"},
        ["1.2.20249:30"],
    ),
    Declared("timestamptz", "%Y%m%d%H%M%z", {"202401020304+0000": "2024-01-02 03:04:00+00"},
             ["20240102130+0000"]),
]  # fmt: skip


@pytest.mark.parametrize("declared", FORMATS, ids=lambda declared: declared.format)
def test_digits_that_touch_are_all_there(
    newest_database: Database, inrush: Inrush, declared: Declared
) -> None:
    written = [*declared.read, *declared.rejected]
    inrush.write("rows.csv", "v\n" + "".join(f"{value}\n" for value in written))
    column: dict[str, Value] = {"name": "v", "type": declared.column, "format": declared.format}
    if declared.pivot:
        column["year_pivot"] = declared.pivot
    # The commas belong to the values.
    form: dict[str, Value] = {"delimiter": "|"}
    text = package(
        newest_database.url,
        flow("t", "rows.csv", format=form, columns=[column], rejects={"rows_max": len(written)}),
    )
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    newest_database.execute("SET timezone = 'UTC'")
    found = [value for (value,) in newest_database.rows("SELECT v::text FROM t")]
    assert sorted(found) == sorted(declared.read.values())
    told = {reject["value"]: reject for reject in outcome.rejects()}
    assert set(told) == set(declared.rejected)
    for reject in told.values():
        assert reject["code"] == "syntax"
        assert declared.format in reject["reason"]


def test_the_reject_says_what_was_lost(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.csv", "v\n12345\n")
    column: dict[str, Value] = {"name": "v", "type": "time", "format": ["%H:%M", "%H%M%S"]}
    text = package(
        newest_database.url, flow("t", "rows.csv", columns=[column], rejects={"rows_max": 1})
    )
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    for part in ('"%H%M%S"', "takes 6 digits in a row", "has 5", "leading zero was lost"):
        assert part in reject["reason"]


@pytest.mark.parametrize(
    ("format_", "said"),
    [
        ("%Y%-m%d", "%Y%-m"),
        ("%Y%m%-d", "%m%-d"),
        ("%H%M%S%f", "%3f are milliseconds"),
        ("%S%M%.f%H", "%.f%H"),
    ],
)
def test_a_format_that_no_value_could_fill_is_refused(
    newest_database: Database, inrush: Inrush, format_: str, said: str
) -> None:
    inrush.write("rows.csv", "v\n12345\n")
    column: dict[str, Value] = {"name": "v", "type": "timestamp", "format": format_}
    text = package(newest_database.url, flow("t", "rows.csv", columns=[column]))
    outcome = inrush("check", inrush.write("package.toml", text))
    assert outcome.status != CLEAN
    assert said in outcome.said


# The written text, and its value for each width: None if the row is a reject.
FLOATS: dict[str, tuple[float | None, float | None]] = {
    "16777216": (16777216.0, 16777216.0),
    "16777217": (None, 16777217.0),
    "250000000000": (250000000000.0, 250000000000.0),
    "9007199254740992": (9007199254740992.0, 9007199254740992.0),
    "9007199254740993": (None, None),
    "-9007199254740993.0": (None, None),
    "12345678901234567": (None, None),
    "36028797018963970": (None, None),
    "123456789012345": (None, 123456789012345.0),
    "0.1": (0.1, 0.1),
    "0.30000000000000004": (None, 0.30000000000000004),
    "0.10000000000000001": (None, 0.1),
    "0.1234567890123456789": (None, None),
    "1.2345678901234568e+25": (None, 1.2345678901234568e25),
    "NaN": (float("nan"), float("nan")),
    "-Infinity": (float("-inf"), float("-inf")),
}


def expect_floats(database: Database, outcome: Outcome, type_: str) -> None:
    """Expect the numbers that a float of this width holds, and the others as rejects."""
    width = ("real", "double precision").index(type_)
    kept = {text for text, values in FLOATS.items() if values[width] is not None}
    assert {reject["value"] for reject in outcome.rejects()} == set(FLOATS) - kept
    assert {reject["code"] for reject in outcome.rejects()} == {"form_lost"}
    for reject in outcome.rejects():
        assert "lossless = false" in reject["reason"]
    rows = database.rows("SELECT k, v::double precision FROM t")
    assert {key for key, _ in rows} == kept
    for key, found in rows:
        expected = FLOATS[str(key)][width]
        assert expected is not None
        if type_ == "real":
            (expected,) = struct.unpack("f", struct.pack("f", expected))
        assert struct.pack("d", found) == struct.pack("d", expected), key


@pytest.mark.parametrize("type_", ["real", "double precision"])
def test_a_float_column_changes_no_number(
    newest_database: Database, inrush: Inrush, type_: str
) -> None:
    inrush.write("rows.csv", "k,v\n" + "".join(f"{text},{text}\n" for text in FLOATS))
    columns: list[Value] = ["k text", f"v {type_}"]
    limit = {"rows_max": len(FLOATS)}
    text = package(newest_database.url, flow("t", "rows.csv", columns=columns, rejects=limit))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    expect_floats(newest_database, outcome, type_)
    # A column can declare that it takes the nearest number, and the plan shows it.
    nearest: list[Value] = ["k text", {"name": "v", "type": type_, "lossless": False}]
    text = package(newest_database.url, flow("near", "rows.csv", columns=nearest), name="near")
    inrush("check", inrush.write("near.toml", text)).expect(CLEAN, "NEAREST")
    inrush("run", "near.toml").expect(CLEAN)
    of_server = f"SELECT k FROM near WHERE v IS DISTINCT FROM k::{type_}"
    assert newest_database.rows(of_server) == []
    assert newest_database.value("SELECT count(*) FROM near") == len(FLOATS)
    words = ("--columns", f"k text, v {type_}", "--format", "csv,no_lossless")
    inrush("load", "rows.csv", "--to", newest_database.url, "--table", "all", *words).expect(CLEAN)
    assert newest_database.value('SELECT count(*) FROM "all"') == len(FLOATS)


def test_a_guessed_float_column_changes_no_number(
    newest_database: Database, inrush: Inrush
) -> None:
    pad = "x" * 990
    lines = [f"{number},{number}.5e0,{pad}\n" for number in range(40_000)]
    # This line is between the last two places from which samples are taken.
    lines[39_600] = f"39600,9007199254740993,{pad}\n"
    file = inrush.write("floats.csv", "id,v,note\n" + "".join(lines))
    to = ("--to", newest_database.url, "--table", "floats", "--max-rejects", "1")
    outcome = inrush("load", file, *to).expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert (reject["value"], reject["code"]) == ("9007199254740993", "form_lost")
    assert "9007199254740992" in reject["reason"]


@pytest.mark.parametrize(
    ("value", "data_type", "column", "code"),
    [
        (2**53, pa.int64(), "double precision", None),
        (2**53 + 1, pa.int64(), "double precision", "form_lost"),
        (36028797018963970, pa.int64(), "double precision", "form_lost"),
        (2**24 + 1, pa.int32(), "real", "form_lost"),
        (2**64 - 1, pa.uint64(), "double precision", "form_lost"),
        (Decimal("9007199254740993"), pa.decimal128(38, 0), "double precision", "form_lost"),
        (Decimal("0.1234567890123456789"), pa.decimal128(38, 19), "double precision", "form_lost"),
        (Decimal("0.1"), pa.decimal128(38, 19), "double precision", None),
        (0.1, pa.float64(), "real", None),
        (1.00000001, pa.float64(), "real", "form_lost"),
        (0.1, pa.float32(), "double precision", None),
        ("9007199254740993", pa.string(), "double precision", "form_lost"),
    ],
)
def test_typed_numbers_are_not_changed(
    newest_database: Database,
    inrush: Inrush,
    value: Any,
    data_type: pa.DataType,
    column: str,
    code: str | None,
) -> None:
    pq.write_table(pa.table({"v": pa.array([value], data_type)}), inrush.folder / "t.parquet")
    newest_database.execute(f"CREATE TABLE t (v {column})")
    load = flow("t", "t.parquet", mode="append", rejects={"rows_max": 1})
    outcome = inrush("run", inrush.write("p.toml", package(newest_database.url, load)))
    outcome.expect(LOADED_WITH_REJECTS if code else CLEAN)
    assert [reject["code"] for reject in outcome.rejects()] == ([code] if code else [])


@pytest.mark.parametrize("setting", ["value", "default"])
def test_a_number_of_the_package_is_not_changed(
    newest_database: Database, inrush: Inrush, setting: str
) -> None:
    inrush.write("rows.csv", "k\n1\n" if setting == "value" else "k,v\n1,\n")
    column: dict[str, Value] = {"name": "v", "type": "double precision"}
    column |= {setting: "9007199254740993"}
    column |= {"source": "constant"} if setting == "value" else {"default_for": "null"}
    text = package(newest_database.url, flow("t", "rows.csv", columns=["k integer", column]))
    outcome = inrush("check", inrush.write("p.toml", text))
    assert outcome.status != CLEAN
    assert "9007199254740992" in outcome.said


# Valid JSON, with the databases that refuse it.
DOCUMENTS = {
    '"\\ud800"': {"duckdb", "jsonb"},
    '"\\udc00"': {"duckdb", "jsonb"},
    '{"\\ud800": 1}': {"duckdb", "jsonb"},
    '"\\ud800\\ud800"': {"duckdb", "jsonb"},
    '"\\ud800x"': {"duckdb", "jsonb"},
    '"\\udc00\\ud800"': {"duckdb", "jsonb"},
    '"\\u0000"': {"jsonb"},
    '{"a\\u0000": 1}': {"jsonb"},
    "1e999999": {"jsonb"},
    '"\\ud83d\\ude00"': set(),
    '"\\\\ud800"': set(),
    "1e999": set(),
    "123456789012345678901234567890": set(),
    '{"a": 1, "a": 2}': {"jsonb"},
    '{"a": 1, "\\u0061": 2}': {"jsonb"},
    "-0.0": set(),
    "[" * 1000 + "]" * 1000: set(),
    "[" * 100_000 + "]" * 100_000: {"json", "jsonb"},
}


def write_documents(inrush: Inrush) -> None:
    fields = ('"' + text.replace('"', '""') + '"' for text in DOCUMENTS)
    rows = (f"{number},{field}\n" for number, field in enumerate(fields))
    inrush.write("rows.csv", "id,doc\n" + "".join(rows))


def expect_documents(name: str, found: list[tuple[int, str]]) -> None:
    """Expect the values that the database stores unchanged, and the others as rejects."""
    documents = list(DOCUMENTS)
    good = [document for document in documents if name not in DOCUMENTS[document]]
    assert [documents[number] for number, _ in found] == good
    if name == "jsonb":
        return
    assert [text for _, text in found] == good


def test_json_that_duckdb_refuses_is_a_reject(inrush: Inrush) -> None:
    write_documents(inrush)
    load = flow(
        "t", "rows.csv", columns=["id integer", "doc json"], rejects={"rows_max": len(DOCUMENTS)}
    )
    outcome = inrush("run", inrush.write("p.toml", package({"url": "x.duckdb"}, load)))
    outcome.expect(LOADED_WITH_REJECTS)
    with opened(inrush.folder / "x.duckdb", read_only=True) as connection:
        found = connection.execute("SELECT id, doc::varchar FROM t ORDER BY id").fetchall()
    expect_documents("duckdb", found)
    told = outcome.rejects()
    assert [reject["line"] for reject in told] == [2, 3, 4, 5, 6, 7]
    assert {reject["column"] for reject in told} == {"doc"}
    assert "\\ud800" in told[0]["reason"] and "\\ufffd" in told[0]["reason"]
    # Readers of Parquet files parse their JSON.
    lake = flow(
        "t", "rows.csv", columns=["id integer", "doc json"], rejects={"rows_max": len(DOCUMENTS)}
    )
    text = package({"url": "parquet:lake"}, lake, name="lake")
    outcome = inrush("run", inrush.write("lake.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    assert [reject["line"] for reject in outcome.rejects()] == [2, 3, 4, 5, 6, 7]
    lake_files = f"'{inrush.folder}/lake/t/**/*.parquet'"
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT id, doc::varchar FROM {lake_files} ORDER BY id")
        found = rows.fetchall()
    expect_documents("duckdb", found)
    # None may be a reject: the load ends with a message that names the place.
    none = flow("none", "rows.csv", columns=["id integer", "doc json"])
    text = package({"url": "x.duckdb"}, none, name="none")
    outcome = inrush("run", inrush.write("none.toml", text))
    assert outcome.status not in (CLEAN, USAGE)
    assert "rows.csv" in outcome.said and "\\ud800" in outcome.said


@pytest.mark.parametrize("type_", ["json", "jsonb"])
def test_json_that_postgresql_refuses_is_a_reject(
    database: Database, inrush: Inrush, type_: str
) -> None:
    write_documents(inrush)
    columns: list[Value] = ["id integer", f"doc {type_}"]
    load = flow("t", "rows.csv", columns=columns, rejects={"rows_max": len(DOCUMENTS)})
    outcome = inrush("run", inrush.write("p.toml", package(database.url, load)))
    outcome.expect(LOADED_WITH_REJECTS)
    found = database.rows("SELECT id, doc::text FROM t ORDER BY id")
    expect_documents(type_, [(number, text) for number, text in found])
    told = outcome.rejects()
    assert len(told) == sum(type_ in refused for refused in DOCUMENTS.values())
    assert {reject["code"] for reject in told[:-1]} <= {"value_refused", "form_lost"}
    assert sum(reject["code"] == "form_lost" for reject in told) == (2 if type_ == "jsonb" else 0)
    assert told[-1]["code"] == "too_large"
    assert "nested deeper" in told[-1]["reason"]
