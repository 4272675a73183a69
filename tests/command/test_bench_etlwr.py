"""The record workload: the tables hold dbgen's rows, and the results say so."""

from __future__ import annotations

import json
import shlex
import signal
from pathlib import Path

import pytest

from command.etlwr import KEYS, PARTS, SCALE, SMALL, assert_holds, copied, results, run
from harness.command import CLEAN, INTERRUPTED, REJECT_LIMIT, USAGE, VERIFICATION, Inrush, Outcome
from harness.servers import Database

# A measurement may take 300 seconds (etlwr.py), and a test makes up to three measurements.
pytestmark = pytest.mark.timeout(900)


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
    """The need follows from measured costs, by the simulation of `inrush preflight --size`."""
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
        # The gigabytes per second of the published run. Each gigabyte has the cost measured here.
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


def test_all_of_it_on_an_embedded_server(servers_folder: Path) -> None:
    """One command makes files, starts a server, loads and checks; results and reports remain."""
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
    """A file that was cut between two rows is detected; the load alone could not notice that."""
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
        stopped = running.resume().wait().expect(INTERRUPTED, "stopped on request")
    assert f"hint: {stopped.report['hint']}\n" in stopped.errors
    assert ("measures everything again" in stopped.report["hint"]) == bool(series)
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
            running.resume()
            .wait()
            .expect(INTERRUPTED, "stopped on request", "measures everything again")
        )
    (folder,) = inrush.folder.glob("etlwr-results/*")
    assert str(folder.relative_to(inrush.folder)) in stopped.errors
    written = json.loads((folder / "results.json").read_text())
    assert (len(written["runs"]), written["complete"]) == (1, False)
    assert newest_database.value("SELECT to_regclass('part')") is None
