"""Rows that a Python program passes as an Arrow stream."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inrush
from harness.duckdb_files import opened
from harness.servers import Database


def table(rows: int) -> Any:
    """Return a table of known rows, with a dictionary and views."""
    numbers = range(rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "word": pa.array([f"w{n % 7}" for n in numbers]).dictionary_encode(),
            "note": pa.array(
                [None if n % 5 == 0 else f"note {n}" for n in numbers], pa.string_view()
            ),
            "large": pa.array([f"l{n}" for n in numbers], pa.large_string()),
            "price": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(12, 2)),
            "day": pa.array([datetime.date(2024, 1, 1 + n % 28) for n in numbers]),
        }
    )


SUMS = (
    "SELECT count(*), sum(id), count(DISTINCT word), count(note), max(large), sum(price), max(day) "
    "FROM t"
)


def expected(rows: int) -> tuple[object, ...]:
    """Return the sums of the known rows."""
    numbers = range(rows)
    return (
        rows,
        sum(numbers),
        min(rows, 7),
        rows - len(range(0, rows, 5)),
        max(f"l{n}" for n in numbers),
        sum(Decimal(n) / 4 for n in numbers),
        datetime.date(2024, 1, min(rows, 28)),
    )


def test_a_table_is_loaded_by_all_streams(database: Database, tmp_path: Path) -> None:
    """All values arrive; rows of one huge batch are shared among the streams."""
    report = inrush.load(
        table(200_000), to=database.url, table="t", streams=2, runs_folder=tmp_path
    )
    assert (report.outcome, report.account.rows_loaded) == ("loaded", 200_000)
    assert database.rows(SUMS) == [expected(200_000)]
    assert any("can be read only once" in note for note in report.notes)


def test_rows_come_as_a_program_makes_them(tmp_path: Path) -> None:
    """A generator is read batch by batch, while other threads of Python run."""
    whole = table(30)
    turns = threading.Event()
    other = threading.Thread(target=turns.set)

    def batches() -> Iterator[Any]:
        yield from whole.slice(0, 10).to_batches()
        # This continues only if another thread gets the GIL.
        other.start()
        assert turns.wait(30)
        yield from whole.slice(10).to_batches()

    reader = pa.RecordBatchReader.from_batches(whole.schema, batches())
    report = inrush.load(
        reader, to=f"{tmp_path}/x.duckdb", table="t", verify="sums", runs_folder=tmp_path
    )
    other.join()
    assert report.account.rows_loaded == 30
    with opened(tmp_path / "x.duckdb") as file:
        assert file.execute(SUMS).fetchall() == [expected(30)]


def test_a_relation_of_duckdb_and_no_rows(tmp_path: Path) -> None:
    """A relation of DuckDB is read as a stream; a stream without rows makes an empty table."""
    relation: Any = duckdb.sql("SELECT range AS id, 'x' || range AS note FROM range(5000)")
    folder = f"parquet:{tmp_path}/out"
    assert (
        inrush.load(relation, to=folder, table="a", runs_folder=tmp_path).account.rows_loaded
        == 5000
    )
    empty = pa.table({"id": pa.array([], pa.int32())})
    assert inrush.load(empty, to=folder, table="b", runs_folder=tmp_path).account.rows_loaded == 0
    found = duckdb.execute(f"SELECT count(*), sum(id) FROM '{tmp_path}/out/a/**/*.parquet'")
    assert found.fetchall() == [(5000, sum(range(5000)))]


class Exported:
    """An object that has only the capsule, like a data frame of another library."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of the rows."""
        return self.rows.__arrow_c_stream__(requested_schema)


def frame(numbers: list[int], words: Any, moments: Any) -> Any:
    """Return rows with values in the types that a library gives them."""
    return pa.table({"id": pa.array(numbers, pa.uint32()), "word": words, "at": moments})


def test_frames_of_polars_and_pandas(database: Database, tmp_path: Path) -> None:
    """Frames are loaded unchanged: chunks, categories, nulls, and the index of pandas."""
    numbers = [*range(1_000)]
    words = [None if n % 10 == 0 else f"w{n % 7}" for n in numbers]
    moments = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=n) for n in numbers]
    prices = [Decimal(n) / 4 for n in numbers]
    of_polars = pl.DataFrame(
        {
            "id": pl.Series(numbers, dtype=pl.UInt32),
            "word": pl.Series(words, dtype=pl.Enum([f"w{n}" for n in range(7)])),
            "at": pl.Series(moments, dtype=pl.Datetime("ms")),
            "price": pl.Series(prices, dtype=pl.Decimal(12, 2)),
        }
    )
    of_polars = pl.concat([of_polars[:333], of_polars[333:]], rechunk=False)
    assert of_polars.n_chunks() == 2
    of_pandas = pd.DataFrame(
        {"word": pd.Categorical(words), "at": moments, "price": prices},
        index=pd.Index(numbers, name="id"),
    )
    expected = list(zip(numbers, words, moments, prices, strict=True))
    for name, frame_of in (("polars", of_polars), ("pandas", of_pandas)):
        report = inrush.load(frame_of, to=database.url, table=name, runs_folder=tmp_path, streams=2)
        assert report.account.rows_loaded == 1_000
        read = f"SELECT id::bigint, word, at, price FROM {name} ORDER BY id"
        assert database.rows(read) == expected, name


def test_capsules_as_other_libraries_make_them(database: Database, tmp_path: Path) -> None:
    """Categories have small keys and views, times have other units, rows are structs or slices."""
    numbers = [*range(1_000)]
    words = pa.array([f"w{n % 7}" for n in numbers])
    moments = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=n) for n in numbers]
    # Views, an Enum with keys of one byte, a Datetime in milliseconds.
    views = pa.DictionaryArray.from_arrays(
        pa.array([n % 7 for n in numbers], pa.uint8()),
        pa.array([f"w{n}" for n in range(7)], pa.string_view()),
    )
    with_views = frame(numbers, views, pa.array(moments, pa.timestamp("ms")))
    # Large texts, times in nanoseconds, an index, batches that are slices of others.
    large = words.cast(pa.large_string())
    of_slices = frame(numbers, large, pa.array(moments, pa.timestamp("ns")))
    of_slices = of_slices.append_column("__index_level_0__", pa.array(numbers, pa.int64()))
    of_slices = pa.concat_tables([of_slices.slice(0, 333), of_slices.slice(333)])
    # A column of structs is a stream of rows, too.
    batches = frame(numbers, words, pa.array(moments, pa.timestamp("us"))).to_batches()
    structs = pa.chunked_array([batch.to_struct_array() for batch in batches])
    expected = [(n, f"w{n % 7}", moments[n]) for n in numbers]
    for number, rows in enumerate([with_views, of_slices, structs]):
        report = inrush.load(
            Exported(rows), to=database.url, table=f"t{number}", runs_folder=tmp_path, streams=2
        )
        assert report.account.rows_loaded == 1_000
        read = f"SELECT id::bigint, word, at FROM t{number} ORDER BY id"
        assert database.rows(read) == expected, number
    assert database.value('SELECT bool_and(id = "__index_level_0__") FROM t1')
    with pytest.raises(ValueError, match="a table or a data frame, whose stream has rows"):
        numbers_only = Exported(pa.chunked_array([numbers]))
        inrush.load(numbers_only, to=database.url, table="plain", runs_folder=tmp_path)


def test_a_reject_names_the_number_of_its_row(database: Database, tmp_path: Path) -> None:
    """Rows are numbered from 1 in the order of the stream, whichever thread takes them."""
    values = [str(number) for number in range(3_000)]
    values[2_500] = "no number"
    rows = pa.table({"id": values})
    with pytest.raises(inrush.InrushError) as raised:
        inrush.load(rows, to=database.url, table="t", columns="id int", runs_folder=tmp_path)
    assert raised.value.exit_status == 4
    assert "the Arrow stream, row 2501" in str(raised.value)
    report = inrush.load(
        rows, to=database.url, table="t", columns="id int", max_rejects=1, runs_folder=tmp_path
    )
    assert [(reject.file, reject.line, reject.value) for reject in report.rejects] == [
        ("the Arrow stream", 2501, "no number")
    ]
    assert database.value("SELECT count(*) FROM t") == 2_999


def test_bad_input_is_a_sentence(tmp_path: Path) -> None:
    """Rows that cannot be loaded are refused with a fix; an error of the program is shown."""
    folder = f"parquet:{tmp_path}/out"
    with pytest.raises(TypeError, match="a list has no __arrow_c_stream__"):
        inrush.load([1, 2], to=folder, table="t")  # type: ignore[arg-type]

    def refused(rows: Any, *parts: str, **settings: Any) -> None:
        with pytest.raises(inrush.InrushError) as raised:
            inrush.load(rows, **{"to": folder, "table": "t", "runs_folder": tmp_path, **settings})
        for part in parts:
            assert part in str(raised.value), raised.value

    refused(pa.table({"a": [[1, 2]]}), "column `a`", "List", "cast it to text")
    refused(pa.table([[1], [2]], ["a", "a"]), "two of its columns", "`a`")
    refused(pa.table({"a": [1]}), "'replaced'", "help(inrush.load)", mode="replaced")

    def failing() -> Iterator[Any]:
        yield from pa.table({"a": [1, 2]}).to_batches()
        raise ValueError("the disk of the program is full")

    schema = pa.schema({"a": pa.int64()})
    reader = pa.RecordBatchReader.from_batches(schema, failing())
    refused(reader, "after 2 rows", "the disk of the program is full")
    assert not list(tmp_path.glob("out/**/*.parquet"))
