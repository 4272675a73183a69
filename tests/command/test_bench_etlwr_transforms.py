"""The record workload with steps that the record of 2009 left out: checks, lookups, lineage."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from command.etlwr import KEYS, PARTS, SCALE, copied, results, run
from harness.command import CLEAN, USAGE, Inrush
from harness.duckdb_files import opened
from harness.servers import Database

# A measurement may take 300 seconds (etlwr.py), and a test makes up to three measurements.
pytestmark = pytest.mark.timeout(900)


def lines(folder: Path, table: str) -> list[list[str]]:
    """Return the fields of all rows of a table, as dbgen writes them."""
    files = sorted(folder.glob(f"{table}.tbl*"))
    return [line.split("|") for file in files for line in file.read_text().splitlines()]


def test_each_load_is_measured_without_and_with_steps(
    newest_database: Database, inrush: Inrush, whole: Path, made: Path
) -> None:
    folder = copied(inrush, made)
    words = ("--transforms", "--streams", "2", "--rounds", "2", "--keep")
    outcome = run(inrush, newest_database.url, *words).expect(
        CLEAN, "streams, with steps", "this with steps, 2 streams"
    )
    found = results(outcome)
    assert "--transforms" in found["command"]
    ways = [(one["round"], one["transforms"]) for one in found["runs"]]
    assert ways == [(1, False), (1, True), (2, False), (2, True)]
    assert all(one["proof"]["rows_are_dbgens"] for one in found["runs"])
    assert all((one["steps_s"] > 0) == one["transforms"] for one in found["runs"])
    transforms = found["transforms"]
    (plain,), (stepped,) = found["curve"], transforms["curve"]
    (cost,) = transforms["beside_plain"]
    assert cost["seconds_ratio"] == pytest.approx(stepped["seconds"] / plain["seconds"])
    assert cost["loader_cpu_ratio"] == pytest.approx(
        stepped["loader_cpu_s"] / plain["loader_cpu_s"]
    )
    assert {one["table"] for one in transforms["tables"]} == set(KEYS)
    plain_runs = {one["run"] for one in found["runs"] if not one["transforms"]}
    assert {one["run"] for one in found["needs"]} <= plain_runs
    (made_folder,) = (outcome.folder / "etlwr-results").iterdir()
    summary = (made_folder / "summary.md").read_text()
    assert "With what 2009 left out" in summary and "revenue = " in summary

    # The tables of the last load stay, with the results of the steps.
    nations = {row[0]: row[1] for row in lines(whole, "nation")}
    suppliers = {row[0]: row[3] for row in lines(whole, "supplier")}
    loaded = newest_database.rows(
        "SELECT l_orderkey, l_linenumber, revenue, ship_month::text, supplier_nation, "
        "split_part(source_file, '/', -1), source_line, loaded_by_run FROM lineitem"
    )
    expected = set()
    for part in range(1, PARTS + 1):
        name = f"lineitem.tbl.{part}"
        rows = (folder / name).read_text().splitlines()
        for number, row in enumerate((line.split("|") for line in rows), start=1):
            revenue = Decimal(row[5]) * (1 - Decimal(row[6]))
            month = f"{row[10][:7]}-01"
            nation = int(suppliers[row[2]])
            expected.add((int(row[0]), int(row[3]), revenue, month, nation, name, number))
    assert {row[:-1] for row in loaded} == expected
    assert len(loaded) == len(expected) and len({row[-1] for row in loaded}) == 1
    customers = newest_database.rows("SELECT c_custkey, trim(nation), country_code FROM customer")
    assert sorted(customers) == sorted(
        (int(row[0]), nations[row[3]], int(row[4][:2])) for row in lines(whole, "customer")
    )


def test_all_of_it_into_a_columnstore(inrush: Inrush) -> None:
    data = ("--scale", SCALE, "--parts", "2", "--data", "data", "--to", "x.duckdb", "--keep")
    words = ("--transforms", "--save-package", "etlwr.toml")
    outcome = inrush("bench", "etlwr", *data, *words, seconds=300).expect(CLEAN)
    assert [one["transforms"] for one in results(outcome)["runs"]] == [False, True]
    fields = lines(inrush.folder / "data", "lineitem")
    revenue = sum(Decimal(row[5]) * (1 - Decimal(row[6])) for row in fields)

    def loaded() -> list[tuple[Decimal]]:
        with opened(inrush.folder / "x.duckdb", read_only=True) as connection:
            return connection.sql("SELECT sum(revenue) FROM lineitem").fetchall()

    assert loaded() == [(revenue,)]
    # The saved package describes the load with steps.
    (inrush.folder / "x.duckdb").unlink()
    inrush("run", "etlwr.toml").expect(CLEAN)
    assert loaded() == [(revenue,)]


def test_references_of_another_scale_are_refused(inrush: Inrush, made: Path) -> None:
    folder = copied(inrush, made, "supplier")
    (folder / "references").mkdir()
    (folder / "references" / "etlwr.json").write_text('{"scale": 1, "parts": 1}')
    run(inrush, "x.duckdb", "--transforms", "--tables", "supplier").expect(
        USAGE, "references", "scale 1 in 1 part"
    )
