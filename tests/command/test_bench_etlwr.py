"""The record workload: the files equal dbgen's, and the tables and results are right."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pytest

from harness.checkout import DOCS
from harness.command import (
    CLEAN,
    FAILED,
    INTERRUPTED,
    REJECT_LIMIT,
    USAGE,
    VERIFICATION,
    Inrush,
    Outcome,
)
from harness.servers import Database

GENERATOR = Path(sys.executable).parent / "tpchgen-cli"
SCHEMA = DOCS / "bench-etlwr.schema.json"

# The smallest scale at which each part of each large table has rows.
SCALE = "0.002"
PARTS = 3
KEYS = {
    "customer": "c_custkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey",
}
SMALL = ("nation", "region")


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all files, made by another generator."""
    folder = tmp_path_factory.mktemp("tpch")
    subprocess.run(
        [GENERATOR, "tbl", "-s", SCALE, "--output-dir", folder], check=True, capture_output=True
    )
    return folder


def generate(inrush: Inrush, *words: str, to: str = "data") -> Outcome:
    scale = ("--scale", SCALE, "--parts", str(PARTS))
    return inrush("bench", "etlwr", "generate", *scale, "--to", to, *words)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all files, made by the command once, because it takes time."""
    folder = tmp_path_factory.mktemp("made")
    generate(Inrush(folder), "--tables", "all").expect(CLEAN)
    return folder / "data"


def copied(inrush: Inrush, made: Path, *tables: str, parts: str = "123", to: str = "data") -> Path:
    """Copy generated files into a folder of this test."""
    folder = inrush.folder / to
    folder.mkdir(parents=True)
    shutil.copy(made / "etlwr.json", folder)
    for table in tables or KEYS:
        for file in made.glob(f"{table}.tbl*"):
            if file.suffix == ".tbl" or file.suffix[1:] in parts:
                shutil.copy2(file, folder)
    return folder


def run(inrush: Inrush, to: str, *words: str, data: str = "data") -> Outcome:
    """Load and measure; a sweep is several loads."""
    return inrush("bench", "etlwr", "run", "--data", data, "--to", to, *words, seconds=300)


def results(outcome: Outcome) -> dict[str, Any]:
    """Return the newest results file, which must match the schema."""
    (*_, path) = sorted(
        outcome.folder.glob("etlwr-results/*/results.json"),
        key=lambda path: path.stat().st_mtime_ns,
    )
    found: dict[str, Any] = json.loads(path.read_text())
    schema = json.loads(SCHEMA.read_text())
    assert list(faults(found, schema, schema, "results")) == []
    return found


TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def faults(value: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    """Return what violates a schema, for the keywords that our schemas use."""
    if schema is True:
        return
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].split("/")[-1]], root, place)
        return
    known = {"$schema", "title", "description", "type", "properties", "required", "items"}
    known |= {"anyOf", "format", "minimum", "maximum", "prefixItems", "minItems", "maxItems"}
    known |= {"additionalProperties", "default", "$defs", "oneOf", "const"}
    assert set(schema) <= known, f"{place}: this check knows nothing of {set(schema) - known}"
    if "anyOf" in schema:
        tried = [list(faults(value, one, root, place)) for one in schema["anyOf"]]
        if all(tried):
            yield from tried[0]
        return
    if "oneOf" in schema:
        tried = [list(faults(value, one, root, place)) for one in schema["oneOf"]]
        if tried.count([]) != 1:
            yield f"{place} is {value!r}, which is not one of those that it may be"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{place} is {value!r}, and not {schema['const']!r}"
        return
    wanted = schema.get("type", list(TYPES))
    wanted = [wanted] if isinstance(wanted, str) else wanted
    fits = [name for name in wanted if isinstance(value, TYPES[name])]
    if not fits or (isinstance(value, bool) and "boolean" not in wanted):
        yield f"{place} is {value!r}, and no {wanted}"
        return
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        yield from (
            f"{place}.{name} is missing" for name in schema.get("required", ()) if name not in value
        )
        for name, own in value.items():
            if name not in properties:
                yield f"{place}.{name} is not in the schema"
            else:
                yield from faults(own, properties[name], root, f"{place}.{name}")
    if isinstance(value, list):
        for index, own in enumerate(value):
            items = schema.get("prefixItems", [])
            one = items[index] if index < len(items) else schema.get("items", True)
            yield from faults(own, one, root, f"{place}[{index}]")


def rows_of(database: Database, table: str) -> list[str]:
    """Return all rows of a table in dbgen's form, in order."""
    columns = database.rows(
        "SELECT attname, atttypid::regtype::text FROM pg_attribute "
        f"WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
    )
    # dbgen leaves out the two digits after the point of this column.
    fields = [
        f"{name}::bigint::text" if name == "l_quantity" else f"{name}::text" for name, _ in columns
    ]
    found = database.rows(f"SELECT concat_ws('|', {', '.join(fields)}) || '|' FROM {table}")
    return sorted(row for (row,) in found)


def assert_holds(database: Database, whole: Path, tables: tuple[str, ...]) -> None:
    """Fail unless the tables contain the generator's rows, value for value."""
    for table in tables:
        lines = (whole / f"{table}.tbl").read_text().splitlines()
        assert rows_of(database, table) == sorted(lines), table


def test_parts_made_alone_are_parts_of_the_whole(inrush: Inrush, whole: Path, made: Path) -> None:
    """Three machines generate a part each: together, byte for byte, the other generator's files."""
    for number in range(1, PARTS + 1):
        words = ("--tables", "all", "--part", str(number))
        generate(inrush, *words, to=f"machine-{number}").expect(CLEAN, "generated TPC-H")
    for table in KEYS:
        files = [
            inrush.folder / f"machine-{part}/{table}.tbl.{part}" for part in range(1, PARTS + 1)
        ]
        assert (
            b"".join(file.read_bytes() for file in files) == (whole / f"{table}.tbl").read_bytes()
        )
    for table in SMALL:
        # The small tables have one part, which comes with the first.
        alone = list(inrush.folder.glob(f"machine-*/{table}.tbl*"))
        assert alone == [inrush.folder / f"machine-1/{table}.tbl"]
        assert alone[0].read_bytes() == (whole / f"{table}.tbl").read_bytes()
    for file in sorted(made.glob("*.tbl.*")):
        part = inrush.folder / f"machine-{file.suffix[1:]}" / file.name
        assert part.read_bytes() == file.read_bytes(), file.name


def test_what_is_there_stays_and_the_rest_is_made(inrush: Inrush, made: Path) -> None:
    folder = copied(inrush, made)
    before = {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.glob("*.tbl*")
    }
    (folder / "orders.tbl.2").unlink()
    # The leftovers of a killed generator.
    (folder / "orders.tbl.2.unfinished").write_text("1|half a ro")
    outcome = generate(inrush, "--json").expect(CLEAN)
    events = [json.loads(line) for line in outcome.output.splitlines()]
    anew = [event["path"] for event in events if event["event"] == "file" and event["made"]]
    assert [Path(path).name for path in anew] == ["orders.tbl.2"]
    assert (events[-1]["files"], events[-1]["files_made"]) == (18, 1)
    after = {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.glob("*.tbl*")
    }
    assert after.keys() == before.keys()
    assert after["orders.tbl.2"][0] == before["orders.tbl.2"][0]
    del after["orders.tbl.2"], before["orders.tbl.2"]
    assert after == before
    generate(inrush).expect(CLEAN, "0 files", "18 files there already")


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_generate_goes_on(inrush: Inrush, which: signal.Signals) -> None:
    """All files are far too large to be generated in this time; complete files are kept."""
    words: tuple[str, ...] = ("bench", "etlwr", "generate", "--scale", "0.5", "--parts", "400")
    words += ("--tables", "lineitem", "--threads", "2")
    folder = inrush.folder / "data"
    with inrush.start(*words, "--to", "data", "--json") as running:
        assert running.process.stdout is not None
        assert json.loads(running.process.stdout.readline())["event"] == "file"
        running.send(which)
        running.wait().expect(INTERRUPTED, "stopped as asked", "the same command resumes")
    there = {file: file.stat().st_mtime_ns for file in folder.glob("lineitem.tbl.*")}
    assert 0 < len(there) < 400
    assert not list(folder.glob("*.unfinished"))
    # Only files that exist and the two after them, because the others would take too long.
    last = max(int(file.suffix[1:]) for file in there)
    some = f"1-{min(last + 2, 400)}"
    inrush(*words, "--to", "data", "--part", some).expect(CLEAN, "there already")
    assert {file: file.stat().st_mtime_ns for file in there} == there
    inrush(*words, "--to", "again", "--part", some).expect(CLEAN)
    for file in (inrush.folder / "again").glob("*.tbl.*"):
        assert (folder / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--part", "4"), ("--part", "no part 4 of 3", "1 to 3")),
        (("--part", "0"), ("no part 0",)),
        (("--part", "2-9"), ("no part 9",)),
        (("--part", "x"), ("1-14",)),
        (("--tables", "lineitems"), ("lineitems", "lineitem")),
        (("--scale", "-1"), ("-1",)),
        (("--scale", "nan"), ("NaN",)),
        (("--parts", "0"), ("--parts",)),
    ],
)
def test_mistakes(inrush: Inrush, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    given = {"--scale": SCALE, "--parts": str(PARTS)} | dict(
        zip(words[::2], words[1::2], strict=True)
    )
    flat = [word for pair in given.items() for word in pair]
    inrush("bench", "etlwr", "generate", "--to", "data", *flat).expect(USAGE, *said)
    assert not (inrush.folder / "data").exists()


def test_two_scales_do_not_mix(inrush: Inrush, newest_database: Database, made: Path) -> None:
    copied(inrush, made)
    other = ("bench", "etlwr", "generate", "--scale", "0.001", "--parts", "3", "--to")
    inrush(*other, "data").expect(USAGE, "scale 0.002", "scale 0.001", "another folder")
    inrush(*other, "other", "--part", "1").expect(CLEAN)
    both = ("--data", "other")
    run(inrush, newest_database.url, *both).expect(USAGE, "scale 0.002", "scale 0.001")
    inrush.write("foreign/part.tbl.1", "1|x|\n")
    inrush(*other, "foreign").expect(USAGE, "part.tbl.1", "its scale is unknown")
    run(inrush, newest_database.url, data="foreign").expect(USAGE, "etlwr.json")


def test_too_little_room_is_refused_with_the_figures(inrush: Inrush) -> None:
    huge = ("--scale", "100000", "--parts", "56")
    refused = inrush("bench", "etlwr", "generate", *huge, "--to", "data").expect(
        FAILED, "not enough space", "for the files", "free", "--no-disk-check"
    )
    assert re.search(r"1\d\d\.\d TB for the files", refused.errors), refused.errors
    done = inrush("bench", "etlwr", *huge, "--data", "data").expect(
        FAILED, "for the files and", "for the database"
    )
    assert not list(done.folder.iterdir())
    # A single part of the smallest table fits.
    few = ("--tables", "supplier", "--part", "7", "--parts", "10000", "--to", "data")
    inrush("bench", "etlwr", "generate", "--scale", "1", *few).expect(CLEAN)


@pytest.mark.parametrize("order", ["sequence", "largest-first"])
def test_every_table_holds_what_the_generator_made(
    database: Database, inrush: Inrush, whole: Path, order: str, made: Path
) -> None:
    copied(inrush, made, *KEYS, *SMALL)
    words = ("--tables", "all", "--order", order, "--streams", "2", "--keep")
    outcome = run(inrush, database.url, *words).expect(CLEAN, "2009", "2016")
    assert_holds(database, whole, (*KEYS, *SMALL))
    for table, key in KEYS.items():
        partitions = database.rows(
            "SELECT relid::regclass::text FROM pg_partition_tree("
            f"'{table}') WHERE isleaf ORDER BY 1"
        )
        assert len(partitions) == PARTS
        # Each part of the files becomes one partition.
        found = [
            [row[0] for row in database.rows(f"SELECT {key}::text FROM {partition} ORDER BY 1")]
            for (partition,) in partitions
        ]
        files = [
            sorted(
                line.split("|", 1)[0]
                for line in (inrush.folder / f"data/{table}.tbl.{part}").read_text().splitlines()
            )
            for part in range(1, PARTS + 1)
        ]
        assert sorted(found) == sorted(files), table
    told = results(outcome)
    (one,) = told["runs"]
    assert one["proof"] == {"rows_are_dbgens": True, "verified": "sums", "differences": []}
    assert told["complete"]
    assert told["settings"]["order"] == order.replace("-", "_")
    assert (
        one["bytes"]
        == told["data"]["bytes"]
        == sum(file.stat().st_size for file in (inrush.folder / "data").glob("*.tbl*"))
    )
    # The tables exist, and the command must not drop tables that it has not created.
    run(inrush, database.url, *words).expect(USAGE, "region", "creates its tables itself")
    assert_holds(database, whole, (*KEYS, *SMALL))


def test_tables_come_in_sequence(newest_database: Database, inrush: Inrush, made: Path) -> None:
    """With one stream the log has the parts in the order in which they were taken."""
    copied(inrush, made)

    def taken(outcome: Outcome) -> list[str]:
        log = (outcome.run_folders()[-1] / "log.jsonl").read_text().splitlines()
        events = [json.loads(line)["what"] for line in log]
        return [event["flow"] for event in events if event["event"] == "unit_committed"]

    words = ("--streams", "1")
    sequence = [table for table in KEYS for _ in range(PARTS)]
    assert taken(run(inrush, newest_database.url, *words).expect(CLEAN)) == sequence
    largest = run(inrush, newest_database.url, *words, "--order", "largest-first").expect(CLEAN)
    assert taken(largest)[:PARTS] == ["lineitem"] * PARTS
    assert taken(largest)[-PARTS:] == ["supplier"] * PARTS


def test_a_sweep_draws_its_curve(newest_database: Database, inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "lineitem")
    words = ("--tables", "lineitem", "--sweep", "1,2,3", "--rounds", "2", "--cores", "48")
    outcome = run(inrush, newest_database.url, *words).expect(CLEAN, "streams  seconds", "###")
    found = results(outcome)
    assert [(one["round"], one["streams"]) for one in found["runs"]] == [
        (round_, streams) for round_ in (1, 2) for streams in (1, 2, 3)
    ]
    assert all(one["proof"]["rows_are_dbgens"] for one in found["runs"])
    assert [(point["streams"], point["runs"]) for point in found["curve"]] == [
        (1, 2),
        (2, 2),
        (3, 2),
    ]
    for point in found["curve"]:
        own = sorted(one["seconds"] for one in found["runs"] if one["streams"] == point["streams"])
        assert (point["seconds_least"], point["seconds_most"]) == (own[0], own[-1])
        assert point["seconds"] == pytest.approx(sum(own) / 2)
        rates = point["rates"]
        mb_per_s = found["data"]["bytes"] / 1e6 / point["seconds"]
        assert rates["mb_per_s"] == pytest.approx(mb_per_s)
        assert rates["tb_per_hour"] == pytest.approx(mb_per_s * 3600 / 1e6)
        assert rates["mb_per_s_per_core"] == pytest.approx(mb_per_s / 48)
    (folder,) = (outcome.folder / "etlwr-results").iterdir()
    assert {file.name for file in folder.iterdir()} == {"results.json", "summary.md", "sweep.svg"}
    assert folder.name == found["runs"][0]["run"]
    summary = (folder / "summary.md").read_text()
    for part in ("1.18 TB", "1,794", "sweep.svg", "48", found["command"]):
        assert part in summary, part
    # Only the ledger remains in the database.
    assert newest_database.rows("SELECT relname FROM pg_class WHERE relname LIKE 'lineitem%'") == []


def test_the_published_figures_are_in_the_results(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    copied(inrush, made, "supplier")
    found = results(run(inrush, newest_database.url, "--tables", "supplier").expect(CLEAN))
    figures = {
        (one["year"], one["bytes"], one["seconds"], one["cores"]) for one in found["published"]
    }
    assert (2009, 1_180_000_000_000, 1794.0, 96) in figures
    assert (2016, 1_000_000_000_000, 1800.0, 48) in figures
    # "1TB data in 67 minutes" and "1.5TB dataset in 100 minutes", on the same two servers.
    columnstore = [one for one in found["published"] if one["columnstore"]]
    assert [(one["bytes"], one["seconds"], one["cores"]) for one in columnstore] == [
        (1_000_000_000_000, 4020.0, 48),
        (1_500_000_000_000, 6000.0, 48),
    ]
    assert all("12 cores" in one["machine"] for one in columnstore)


def test_what_the_record_runs_would_take_here(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    """By the measured costs and the simulation of `inrush preflight --size --within`."""
    copied(inrush, made)
    outcome = run(inrush, newest_database.url, "--sweep", "1,2").expect(
        CLEAN, "the record runs would need", "assumed: "
    )
    found = results(outcome)
    assert [one["year"] for one in found["needs"]] == [2009, 2016, 2016]
    costs = {one["run"]: one["costs"] for one in found["runs"]}
    for one in found["needs"]:
        needs, cost = one["capacity"]["needs"], costs[one["run"]]
        if cost.get("server_cpu_s_per_gb") is None:
            # The load was so short that the server's CPU time grew by less than one tick of its
            # clock.
            assert one.get("cores") is None
            continue
        cpu_s = cost["loader_cpu_s_per_gb"] + cost["server_cpu_s_per_gb"]
        assert one["cores"] == pytest.approx(needs["loader_cores"] + needs["server_cores"])
        # As many gigabytes per second as the published run loaded, each with the cost measured
        # here.
        gigabytes_s = one["capacity"]["size_bytes"] / 1e9 / needs["within_s"]
        switch = cost["after_s"] / needs["within_s"] * 336
        assert gigabytes_s * cpu_s <= one["cores"] <= gigabytes_s * cpu_s / max(1 - switch, 0.01)
        assert any("grow linearly" in line for line in one["capacity"]["assumptions"])
    (first, second) = found["runs"]
    assert costs[first["run"]]["text_bytes"] == first["bytes"] == second["bytes"]
    # The process's time includes its start, which does not grow with the files.
    loading_s = costs[first["run"]]["loader_cpu_s_per_gb"] * first["bytes"] / 1e9
    assert 0 < loading_s <= first["loader_cpu_s"]
    assert {one["stream_run"] for one in found["needs"]} == {first["run"]}
    summary = (outcome.folder / "etlwr-results" / first["run"] / "summary.md").read_text()
    assert "would take on cores like these" in summary and "ES7000" in summary


@pytest.mark.parametrize("place", ["x.duckdb", "parquet:lake"])
def test_a_columnstore_has_the_same_rows(inrush: Inrush, made: Path, place: str) -> None:
    """The same files and checks; the space on the disk is reported, and nothing remains."""
    folder = copied(inrush, made)
    outcome = run(inrush, place, "--sweep", "1,2").expect(
        CLEAN, "on disk: ", "the counts of each part agree with its file"
    )
    found = results(outcome)
    assert found["complete"] and found["columnstore"]
    assert [one["streams"] for one in found["runs"]] == [1, 2]
    rows = {
        table: sum(len(file.read_bytes().splitlines()) for file in folder.glob(f"{table}.tbl.*"))
        for table in KEYS
    }
    for one in found["runs"]:
        assert one["proof"]["rows_are_dbgens"] and one["proof"]["differences"] == []
        assert {table["table"]: table["rows"] for table in one["tables"]} == rows
        assert one["stored_bytes"] > 10_000
    # What the columnstore of 2016 would take, all of it in this process.
    assert [one["capacity"]["size_bytes"] for one in found["needs"]] == [1e12, 1.5e12]
    needs = found["needs"][0]
    assert needs["cores"] == needs["capacity"]["needs"]["loader_cores"] > 0
    path = inrush.folder / place.removeprefix("parquet:")
    assert not path.exists() and not path.with_name(path.name + ".wal").exists()


def plain(text: str) -> str:
    """Return a value without what its type adds: trailing blanks, trailing zeros."""
    text = text.rstrip()
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"-?[0-9]+\.[0-9]+", text) else text


def assert_values(connection: duckdb.DuckDBPyConnection, table: str, folder: Path) -> None:
    """Fail unless a table has the values of its files, each as often as they have it."""
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
    """Something that exists already is not touched, whoever made it."""
    copied(inrush, made, "supplier", "orders")
    words = ("--tables", "supplier,orders")
    found = results(run(inrush, "x.duckdb", "--keep", *words).expect(CLEAN))
    path = inrush.folder / "x.duckdb"
    assert path.stat().st_size == found["runs"][0]["stored_bytes"]
    with duckdb.connect(str(path), read_only=True) as connection:
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


def test_sums_of_a_columnstore_are_refused(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "supplier")
    words = ("--tables", "supplier", "--verify", "sums")
    run(inrush, "x.duckdb", *words).expect(USAGE, "cannot sum up", 'verify = "count"')
    assert not (inrush.folder / "x.duckdb").exists()


def test_an_interrupted_load_into_a_columnstore_says_what_stays(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "part")
    words = ("bench", "etlwr", "run", "--data", "data", "--to", "x.duckdb", "--tables", "part")
    # Early, so that the signal comes long before the switch, which cannot be interrupted.
    with inrush.stopped_by("stop_until_asked:run_entered", *words) as running:
        running.send(signal.SIGINT)
        running.resume().wait().expect(INTERRUPTED, "remove x.duckdb, and run it again")
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
    # The rows stay, so that the user can examine them.
    assert (inrush.folder / "lake" / "orders").is_dir()


def test_all_of_it_on_an_embedded_server(servers_folder: Path) -> None:
    """One command: files, server, load, checks; only results and reports remain."""
    folder = servers_folder / "bench-whole"
    folder.mkdir(mode=0o755)
    inrush = Inrush(folder)
    words = ("bench", "etlwr", "--scale", SCALE, "--parts", "2", "--sweep", "1,2")
    outcome = inrush(*words, seconds=300).expect(CLEAN, "generated TPC-H", "verified in 2 runs")
    found = results(outcome)
    assert found["embedded"]["data_folder"] is None
    assert found["generated"]["files_made"] == 12
    assert found["cores_in_all"] == found["machine"]["cores"]
    assert {path.name for path in folder.iterdir()} == {"runs", "etlwr-results"}


def test_a_tenth_lies_beside_the_whole(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    whole = ("--scale", "0.02", "--parts", "3", "--to", "data", "--tables", "supplier,part")
    inrush("bench", "etlwr", "generate", *whole).expect(CLEAN)
    tenth = inrush("bench", "etlwr", "generate", *whole, "--ten-percent").expect(CLEAN)
    assert "scale 0.002" in tenth.output
    beside = list((inrush.folder / "data/ten-percent").glob("*.tbl*"))
    assert len(beside) == 6
    for file in beside:
        assert (made / file.name).read_bytes() == file.read_bytes()
    words = ("--tables", "supplier,part", "--ten-percent")
    outcome = run(inrush, newest_database.url, *words).expect(CLEAN, "a tenth of scale 0.02")
    found = results(outcome)
    assert found["data"]["files_of"] == {"scale": 0.002, "parts": 3, "ten_percent": True}
    assert sum(table["rows"] for table in found["runs"][0]["tables"]) == 20 + 400


def test_a_tenth_of_a_scale_is_as_it_would_be_written(inrush: Inrush) -> None:
    """0.7 / 10 is 0.06999999999999999, which would give one supplier less."""
    words = ("bench", "etlwr", "generate", "--parts", "2", "--tables", "supplier")
    tenth = inrush(*words, "--scale", "0.7", "--ten-percent", "--to", "whole")
    tenth.expect(CLEAN, "scale 0.07 ", "a tenth of scale 0.7)")
    inrush(*words, "--scale", "0.07", "--to", "small").expect(CLEAN)
    folder = inrush.folder / "whole/ten-percent"
    found = json.loads((folder / "etlwr.json").read_text())
    assert found == {"scale": 0.07, "parts": 2, "ten_percent": True}
    files = [sorted(where.glob("*.tbl.*")) for where in (folder, inrush.folder / "small")]
    texts = [b"".join(file.read_bytes() for file in own) for own in files]
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 700


def test_events_as_json(newest_database: Database, inrush: Inrush, made: Path) -> None:
    copied(inrush, made)
    outcome = run(inrush, newest_database.url, "--json", "--streams", "2").expect(CLEAN)
    events = [json.loads(line) for line in outcome.output.splitlines()]
    names = [event["event"] for event in events]
    assert names[0] == "planned"
    assert names[-2:] == ["measured", "results"]
    assert "switched" in names
    assert events[-1]["results"] == results(outcome)


def test_a_stopped_load_goes_on_and_is_no_measurement(
    newest_database: Database, inrush: Inrush, whole: Path, made: Path
) -> None:
    copied(inrush, made)
    words = ("--streams", "1", "--keep")
    data = ("bench", "etlwr", "run", "--data", "data", "--to", newest_database.url, *words)
    died = inrush(*data, environment={"INRUSH_FAULT": "before_switch_commit"})
    assert died.status == -signal.SIGKILL, died.said
    outcome = inrush(*data).expect(CLEAN, "is not measured")
    assert_holds(newest_database, whole, tuple(KEYS))
    found = results(outcome)
    assert [(one["resumed"], one["rates"]) for one in found["runs"]] == [(True, None)]
    assert found["curve"] == []
    assert found["runs"][0]["proof"]["rows_are_dbgens"]


def test_a_sweep_does_not_go_on_with_a_stopped_load(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    copied(inrush, made, "part")
    words = ("--tables", "part")
    died = inrush(
        *("bench", "etlwr", "run", "--data", "data", "--to", newest_database.url, *words),
        environment={"INRUSH_FAULT": "before_switch_commit"},
    )
    assert died.status == -signal.SIGKILL, died.said
    outcome = run(inrush, newest_database.url, *words, "--sweep", "1,2").expect(CLEAN, "removed")
    found = results(outcome)
    assert [one["resumed"] for one in found["runs"]] == [False, False]
    assert len(found["curve"]) == 2


def test_files_that_are_not_dbgens_are_found_out(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    """A file that was cut between two rows: the load itself cannot notice it."""
    copied(inrush, made, "orders")
    path = inrush.folder / "data/orders.tbl.2"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-10]))
    outcome = run(inrush, newest_database.url, "--tables", "orders").expect(
        VERIFICATION, "orders.tbl.2", f"{len(lines) - 10} rows", f"{len(lines):,}", "summary.md"
    )
    found = results(outcome)
    assert not found["complete"]
    assert not found["runs"][0]["proof"]["rows_are_dbgens"]


def test_a_damaged_file_is_to_be_made_anew(
    newest_database: Database, inrush: Inrush, whole: Path, made: Path
) -> None:
    """No rejects are accepted here; the hint is a command that fixes the file."""
    path = copied(inrush, made, "supplier") / "supplier.tbl.2"
    lines = path.read_text().splitlines(keepends=True)
    fields = lines[3].split("|")
    fields[5] = "x"
    path.write_text("".join([*lines[:3], "|".join(fields), *lines[4:]]))
    words = ("--tables", "supplier", "--keep")
    refused = run(inrush, newest_database.url, *words).expect(
        REJECT_LIMIT,
        "supplier.tbl.2",
        "s_acctbal",
        f"remove {path} and generate it again: inrush bench",
    )
    assert "--max-rejects" not in refused.said
    # The report has the same message.
    assert f"hint: {refused.report['hint']}\n" in refused.errors
    (_, command) = refused.errors.split("generate it again: inrush ")
    path.unlink()
    inrush(*shlex.split(command.splitlines()[0])).expect(CLEAN, "1 file")
    assert path.read_bytes() == (made / path.name).read_bytes()
    run(inrush, newest_database.url, *words).expect(CLEAN)
    assert_holds(newest_database, whole, ("supplier",))


def test_a_set_that_is_not_whole_is_refused(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    copied(inrush, made, parts="12")
    run(inrush, newest_database.url).expect(USAGE, "customer.tbl.3", "generate --scale 0.002")
    copied(inrush, made, parts="23", to="other")
    run(inrush, newest_database.url, "--data", "other").expect(USAGE, "the same part")
    for file in (inrush.folder / "other").glob("*.2"):
        file.unlink()
    outcome = run(inrush, newest_database.url, "--data", "other").expect(CLEAN)
    assert results(outcome)["data"]["parts"] == [1, 2, 3]
    some = run(inrush, newest_database.url, "--data", "other", "--part", "2-3").expect(CLEAN)
    assert results(some)["data"]["parts"] == [2, 3]


def test_a_saved_package_loads_the_same(
    newest_database: Database, inrush: Inrush, whole: Path, made: Path
) -> None:
    """Braces and brackets in the folder's name have no meaning."""
    copied(inrush, made, to="da{t}a [1]")
    words = ("--save-package", "etlwr.toml", "--streams", "2")
    run(inrush, newest_database.url, *words, data="da{t}a [1]").expect(CLEAN)
    assert 'order = "package"' in (inrush.folder / "etlwr.toml").read_text()
    assert newest_database.rows("SELECT 1 FROM pg_class WHERE relname = 'lineitem'") == []
    inrush("run", "etlwr.toml").expect(CLEAN)
    assert_holds(newest_database, whole, tuple(KEYS))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "adbc:sqlite"), ("adbc:sqlite is neither PostgreSQL nor", "FILE.duckdb")),
        (("--to", "postgresql://u:secret@h/d"), ("password",)),
        (("--to", "embedded", "--keep"), ("--keep", "embedded:FOLDER")),
        (("--streams", "2", "--sweep", "1,2"), ("--sweep",)),
        (("--sweep", "1,x"), ("--sweep",)),
        (("--data", "nowhere"), ("nowhere", "etlwr.json")),
    ],
)
def test_mistakes_of_a_run(
    inrush: Inrush, words: tuple[str, ...], said: tuple[str, ...], made: Path
) -> None:
    copied(inrush, made, "supplier")
    outcome = inrush("bench", "etlwr", "run", "--data", "data", *words).expect(USAGE, *said)
    assert "secret" not in outcome.said
    assert not (inrush.folder / "etlwr-results").exists()


def test_results_that_cannot_be_written_are_told_first(inrush: Inrush, made: Path) -> None:
    copied(inrush, made, "supplier")
    inrush.write("etlwr-results", "a file")
    # There is no such server, and nothing has connected to it yet.
    run(inrush, "postgresql://nobody@/x?host=/nowhere", "--tables", "supplier").expect(
        FAILED, "etlwr-results"
    )


def test_what_cannot_be_measured_is_told_before_files_are_made(
    newest_database: Database, inrush: Inrush
) -> None:
    words: tuple[str, ...] = ("bench", "etlwr", "--scale", SCALE, "--parts", "2")
    words += ("--tables", "supplier", "--data", "data")
    there = ("--to", newest_database.url)
    inrush.write("in-the-way", "a file")
    for folder in ("--results", "--runs-folder"):
        inrush(*words, *there, folder, "in-the-way").expect(FAILED, "cannot write", "in-the-way")
    nowhere = ("--to", "postgresql://nobody@/x?host=/nowhere")
    inrush(*words, *nowhere).expect(FAILED, "/nowhere")
    newest_database.execute("CREATE TABLE supplier ()")
    inrush(*words, *there).expect(USAGE, "supplier", "creates its tables itself")
    inrush(
        *words, "--to", "${env:BENCH_URL}", environment={"BENCH_URL": newest_database.url}
    ).expect(USAGE, "creates its tables itself")
    assert not (inrush.folder / "data").exists()


def test_what_the_load_would_be_refused_for_is_told_before_files_are_made(
    newest_database: Database, inrush: Inrush
) -> None:
    """The load is planned with empty files of the same names and sizes, which are removed again."""
    database = newest_database
    temporary = inrush.folder / "temporary"
    temporary.mkdir()

    def whole(*words: str, parts: str = "2", tables: str = "supplier") -> Outcome:
        scale = ("--scale", SCALE, "--parts", parts, "--tables", tables, "--data", "data")
        environment = {"TMPDIR": str(temporary)}
        outcome = inrush("bench", "etlwr", *scale, *words, environment=environment)
        assert list(temporary.iterdir()) == []
        return outcome

    role = f"reader_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    whole("--to", database.server.url(database.name, role)).expect(
        FAILED, f"role {role} lacks what the plan needs", "let the owner run: GRANT"
    )
    there = ("--to", database.url)
    whole(*there, parts="5000").expect(FAILED, "locks in one transaction")
    inrush.write("other.toml", "another")
    whole(*there, "--save-package", "other.toml").expect(USAGE, "--save-package: other.toml")
    whole(*there, "--save-package", "nowhere/p.toml").expect(FAILED, "cannot write nowhere/p.toml")
    whole(*there, "--part", "2", tables="nation").expect(USAGE, "have no files")
    assert not (inrush.folder / "data").exists()
    # The package that would be saved exists already.
    for _ in range(2):
        whole(*there, "--save-package", "p.toml").expect(CLEAN)


@pytest.mark.skipif(os.geteuid() != 0, reason="the server runs as oneself, who may enter")
def test_an_embedded_server_that_would_not_start_is_told_before_files_are_made(
    inrush: Inrush,
) -> None:
    temporary = inrush.folder / "temporary"
    temporary.mkdir(mode=0o700)
    words = ("bench", "etlwr", "--scale", SCALE, "--parts", "2", "--data", "data")
    inrush(*words, environment={"TMPDIR": str(temporary)}).expect(FAILED, "cannot enter")
    assert not (inrush.folder / "data").exists()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_command_left_goes_with_the_next(
    newest_database: Database, inrush: Inrush
) -> None:
    """The whole set is far too large to be generated in the meantime."""
    temporary = inrush.folder / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}
    words: tuple[str, ...] = ("bench", "etlwr", "--scale", "0.5", "--parts", "400", "--json")
    words += ("--tables", "lineitem", "--to", newest_database.url)
    inrush.write("in-the-way", "a file")
    next_one = (*words, "--results", "in-the-way")
    with inrush.start(*words, environment=environment) as running:
        assert running.process.stdout is not None
        assert json.loads(running.process.stdout.readline())["event"] == "file"
        (folder,) = temporary.iterdir()
        # A command in progress is left alone.
        outcome = inrush(*next_one, environment=environment).expect(FAILED, "in-the-way")
        assert "removed" not in outcome.said
        assert list(temporary.iterdir()) == [folder]
        assert (folder / "etlwr.json").exists()
        running.send(signal.SIGKILL)
        running.wait()
    assert list(temporary.iterdir()) == [folder]
    inrush(*next_one, environment=environment).expect(FAILED, f"removed {folder}, files of")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("command", [(), ("generate",), ("run",)])
def test_help_reads_like_a_manual(inrush: Inrush, command: tuple[str, ...]) -> None:
    outcome = inrush("bench", "etlwr", *command, "--help").expect(CLEAN)
    for part in ("Examples:", "Exit status", "inrush bench etlwr"):
        assert part in outcome.output


@pytest.mark.parametrize("series", [(), ("--sweep", "1,2")])
def test_an_interrupted_run_ends_with_130(
    newest_database: Database, inrush: Inrush, whole: Path, series: tuple[str, ...], made: Path
) -> None:
    copied(inrush, made, "part")
    words: tuple[str, ...] = ("bench", "etlwr", "run", "--data", "data")
    words += ("--to", newest_database.url)
    words += ("--tables", "part")
    with inrush.stopped_by("stop_until_asked:before_switch", *words, *series) as running:
        running.send(signal.SIGINT)
        stopped = running.resume().wait().expect(INTERRUPTED, "stopped as asked")
    assert f"hint: {stopped.report['hint']}\n" in stopped.errors
    assert ("measures all anew" in stopped.report["hint"]) == bool(series)
    assert not list(inrush.folder.glob("etlwr-results/*"))
    outcome = inrush(*words, *series, seconds=300).expect(CLEAN)
    assert [one["resumed"] for one in results(outcome)["runs"]] == (
        [False] * 2 if series else [True]
    )
    inrush(*words, "--keep").expect(CLEAN)
    assert_holds(newest_database, whole, ("part",))


def test_a_signal_that_comes_too_late_for_a_run_ends_the_series(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    copied(inrush, made, "part")
    words: tuple[str, ...] = ("bench", "etlwr", "run", "--data", "data")
    words += ("--to", newest_database.url, "--tables", "part", "--sweep", "1,2")
    with inrush.stopped_by("stop_until_asked:before_report", *words) as running:
        running.send(signal.SIGINT)
        stopped = (
            running.resume().wait().expect(INTERRUPTED, "stopped as asked", "measures all anew")
        )
    (folder,) = inrush.folder.glob("etlwr-results/*")
    assert str(folder.relative_to(inrush.folder)) in stopped.errors
    written = json.loads((folder / "results.json").read_text())
    assert (len(written["runs"]), written["complete"]) == (1, False)
    assert newest_database.value("SELECT to_regclass('part')") is None
