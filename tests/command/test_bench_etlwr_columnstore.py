"""The record workload in a columnstore: the same rows, and the space that they take."""

from __future__ import annotations

import re
import signal
from collections import Counter
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command.etlwr import KEYS, copied, results, run
from harness.command import CLEAN, INTERRUPTED, USAGE, VERIFICATION, Inrush
from harness.duckdb_files import opened

# A measurement may take 300 seconds (etlwr.py), and a test makes up to three measurements.
pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("place", ["x.duckdb", "parquet:lake"])
def test_a_columnstore_has_the_same_rows(inrush: Inrush, made: Path, place: str) -> None:
    """Files and checks are as for tables; the space on disk is reported, and nothing is left."""
    folder = copied(inrush, made)
    outcome = run(inrush, place, "--sweep", "1,2").expect(
        CLEAN, "on disk: ", "the sums of all columns agree with the files"
    )
    found = results(outcome)
    assert found["complete"] and found["columnstore"]
    assert [one["streams"] for one in found["runs"]] == [1, 2]
    rows = {
        table: sum(len(file.read_bytes().splitlines()) for file in folder.glob(f"{table}.tbl.*"))
        for table in KEYS
    }
    for one in found["runs"]:
        assert one["proof"] == {"rows_are_dbgens": True, "verified": "sums", "differences": []}
        assert {table["table"]: table["rows"] for table in one["tables"]} == rows
        assert one["stored_bytes"] > 10_000
    # The needs of the columnstore loads of 2016, if this process does all the work.
    assert [one["capacity"]["size_bytes"] for one in found["needs"]] == [1e12, 1.5e12]
    needs = found["needs"][0]
    assert needs["cores"] == needs["capacity"]["needs"]["loader_cores"] > 0
    path = inrush.folder / place.removeprefix("parquet:")
    assert not path.exists() and not path.with_name(path.name + ".wal").exists()


def plain(text: str) -> str:
    """Return a value without the trailing blanks or zeros that its type adds."""
    text = text.rstrip()
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"-?[0-9]+\.[0-9]+", text) else text


def assert_values(connection: duckdb.DuckDBPyConnection, table: str, folder: Path) -> None:
    """Fail unless a table has the values of its files, each the same number of times."""
    loaded = Counter(
        tuple(map(plain, row))
        for row in connection.sql(f"SELECT COLUMNS(*)::varchar FROM {table}").fetchall()
    )
    lines = [
        line for file in folder.glob(f"{table}.tbl.*") for line in file.read_text().splitlines()
    ]
    written = Counter(tuple(map(plain, line.split("|")[:-1])) for line in lines)
    assert written
    assert [*islice(written - loaded, 3)] == [] == [*islice(loaded - written, 3)]


def test_a_kept_columnstore_is_not_loaded_again(inrush: Inrush, made: Path) -> None:
    """Existing files and tables are not touched."""
    copied(inrush, made, "supplier", "orders")
    words = ("--tables", "supplier,orders")
    found = results(run(inrush, "x.duckdb", "--keep", *words).expect(CLEAN))
    path = inrush.folder / "x.duckdb"
    assert path.stat().st_size == found["runs"][0]["stored_bytes"]
    with opened(path, read_only=True) as connection:
        for table in found["runs"][0]["tables"]:
            assert_values(connection, table["table"], inrush.folder / "data")
    before = path.read_bytes()
    run(inrush, "x.duckdb", *words).expect(USAGE, "x.duckdb exists already", "name another place")
    assert path.read_bytes() == before


def test_a_kept_folder_of_parquet_files_has_the_values_of_the_files(
    inrush: Inrush, made: Path
) -> None:
    copied(inrush, made)
    run(inrush, "parquet:lake", "--keep", "--order", "largest-first").expect(CLEAN)
    with duckdb.connect() as connection:
        for table in KEYS:
            files = inrush.folder / "lake" / table / "*.parquet"
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}')")
            assert_values(connection, table, inrush.folder / "data")


def test_a_value_that_changes_in_a_columnstore_is_found(inrush: Inrush, made: Path) -> None:
    """When all parts are loaded, a staged file gets other values in the same number of rows."""
    copied(inrush, made, "supplier")
    words = ("bench", "etlwr", "run", "--data", "data", "--to", "parquet:lake")
    with inrush.stopped_by("stop:before_switch", *words, "--tables", "supplier") as running:
        staged = (inrush.folder / "lake").rglob("*.staged")
        file, rows = next((file, rows) for file in staged if (rows := pq.ParquetFile(file).read()))
        for name, add in (("s_nationkey", 1), ("s_comment", "x")):
            values = rows[name].to_pylist()
            changed = pa.array([values[0] + add, *values[1:]], rows.schema.field(name).type)
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, rows.schema.field(name), changed)
        pq.write_table(rows, file)
        outcome = running.resume().wait()
    outcome.expect(
        VERIFICATION,
        "column `s_nationkey`, sum: ",
        "column `s_comment`, octets: ",
        "nothing was switched",
        "remove lake, and run the same command again",
    )
    assert "s_name" not in outcome.output
    assert not (inrush.folder / "lake" / "supplier").exists()


def test_a_columnstore_that_is_only_counted(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "supplier")
    words = ("--tables", "supplier", "--verify", "count")
    outcome = run(inrush, "x.duckdb", *words).expect(
        CLEAN, "the counts of each part agree with its file"
    )
    assert results(outcome)["runs"][0]["proof"]["verified"] == "count"


def test_rows_of_a_columnstore_are_not_compared(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "supplier")
    words = ("--tables", "supplier", "--verify", "rows")
    run(inrush, "x.duckdb", *words).expect(USAGE, 'verify = "count"')
    assert not (inrush.folder / "x.duckdb").exists()


def test_an_interrupted_load_into_a_columnstore_says_what_stays(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "part")
    words = ("bench", "etlwr", "run", "--data", "data", "--to", "x.duckdb", "--tables", "part")
    # The signal comes early, long before the switch, which nothing interrupts.
    with inrush.stopped_by("stop_until_asked:run_entered", *words) as running:
        running.send(signal.SIGINT)
        stopped = running.resume().wait()
        stopped.expect(INTERRUPTED, "remove x.duckdb, and run the same command again")
    inrush(*words).expect(USAGE, "x.duckdb exists already")
    (inrush.folder / "x.duckdb").unlink()
    inrush(*words).expect(CLEAN)


def test_files_that_are_not_dbgens_are_found_in_a_columnstore(inrush: Inrush, made: Path) -> None:
    folder = copied(inrush, made, "orders")
    file = folder / "orders.tbl.2"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    outcome = run(inrush, "parquet:lake", "--tables", "orders").expect(VERIFICATION, "orders.tbl.2")
    assert not results(outcome)["runs"][0]["proof"]["rows_are_dbgens"]
    # The rows stay, so that they can be inspected.
    assert (inrush.folder / "lake" / "orders").is_dir()
