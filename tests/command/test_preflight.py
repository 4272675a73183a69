"""Preflight: each step is measured, all obstacles are printed at once, and nothing is left."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard

from conftest import StartServer
from harness import pauses
from harness.command import CLEAN, INTERRUPTED, LOADED_WITH_REJECTS, USAGE, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.preloaded import preloaded
from harness.processes import wait_for_no_process
from harness.servers import Database, Server

PREFLIGHT_FAILED = 6

Settings = dict[str, Value]

COLUMNS: list[Value] = ["id integer not null", "name text"]
ROWS = "".join(f"{number}|name {number}|\n" for number in range(60_000))
STEPS = ["read_disk", "read_cache", "scan", "convert", "encode", "client"]
AT_THE_SERVER = ["network", "destination", "log", "together"]


def write(
    inrush: Inrush,
    url: str,
    *,
    files: int = 2,
    key: str | None = "id",
    more: Settings | None = None,
) -> Path:
    """Write files and a package that loads them; with a key, each file is a partition."""
    rows = ROWS.splitlines(keepends=True)
    part = len(rows) // files
    for number in range(files):
        inrush.write(f"t.{number}.tbl", "".join(rows[number * part : (number + 1) * part]))
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    if key is not None:
        settings["partition_by"] = key
    flows = flow("t", "t.*.tbl", **settings, **(more or {}))
    return inrush.write("p.toml", package({"url": url}, flows))


def found(outcome: Outcome) -> dict[str, Any]:
    """Return what `--json` printed."""
    report: dict[str, Any] = json.loads(outcome.output)
    return report


def of_weight(report: dict[str, Any], weight: str) -> list[str]:
    return [finding["what"] for finding in report["findings"] if finding["weight"] == weight]


def catalog(database: Database) -> list[tuple[Any, ...]]:
    """Return all names in a database, and the values of its sequences."""
    names = database.rows(
        "SELECT 'relation', relnamespace::regnamespace::text, relname, relkind::text FROM pg_class "
        "UNION ALL SELECT 'schema', nspname, '', '' FROM pg_namespace "
        "UNION ALL SELECT 'type', typnamespace::regnamespace::text, typname, '' FROM pg_type "
        "UNION ALL SELECT 'constraint', connamespace::regnamespace::text, conname, '' "
        "FROM pg_constraint ORDER BY 1, 2, 3, 4"
    )
    # The first temporary table of a session creates a schema that later sessions use.
    names = [row for row in names if not row[1].startswith(("pg_temp_", "pg_toast_temp_"))]
    return names + database.rows("SELECT schemaname, sequencename, last_value FROM pg_sequences")


def test_all_steps_are_printed_and_nothing_is_left(database: Database, inrush: Inrush) -> None:
    path = write(inrush, database.url)
    before = catalog(database)
    temporary = inrush.folder / "temporary"
    temporary.mkdir()
    said = inrush("preflight", path, environment={"TMPDIR": str(temporary)})
    said.expect(CLEAN, "Predicted", "Limited by", "nothing was loaded")
    for line in ("read, from the page cache", "scan", "convert", "encode", "destination"):
        assert line in said.output
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    assert [step["step"] for step in report["steps"]] == STEPS + AT_THE_SERVER
    measured = {
        step["step"]: step.get("one_bytes_s", step.get("all_bytes_s", 0))
        for step in report["steps"]
    }
    # Data that was just written is in the page cache.
    assert [step for step, speed in measured.items() if speed <= 0] == ["read_disk"]
    assert report["files"]["rows"] == 60_000
    assert report["files"]["cached_share"] == 1.0
    assert report["streams"] == 2
    assert of_weight(report, "stops") == []
    assert catalog(database) == before
    temporary.rmdir()
    assert sorted(path.name for path in inrush.folder.iterdir()) == [
        "p.toml",
        "runs",
        "t.0.tbl",
        "t.1.tbl",
    ]


def test_the_run_finds_its_prediction(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    predicted = found(inrush("preflight", path, "--json").expect(CLEAN))["prediction"]
    (left,) = (inrush.folder / "runs").iterdir()
    assert left.stat().st_mode & 0o777 == 0o600
    assert json.loads(left.read_text()) == predicted
    loaded = inrush("run", path).expect(CLEAN, "predicted")
    assert loaded.report["prediction"] == predicted
    assert predicted["streams"] == 2
    assert newest_database.value("SELECT count(*) FROM t") == 60_000
    # Files that are loaded already are named, and nothing is predicted.
    again = inrush("preflight", path, "--json").expect(CLEAN)
    assert "has loaded these rows already" in again.output
    assert found(again)["prediction"] is None


def test_a_prediction_for_other_streams_or_files_is_none(
    newest_database: Database, inrush: Inrush
) -> None:
    path = write(inrush, newest_database.url)
    inrush("preflight", path, "--streams", "1").expect(CLEAN)
    assert "prediction" not in inrush("run", path, "--streams", "2").expect(CLEAN).report


def test_all_reasons_are_told_at_once(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(
        "CREATE TABLE a (id integer, name text); CREATE PUBLICATION p FOR TABLE a; "
        "CREATE TABLE b (id integer, name text); INSERT INTO b VALUES (1, 'x')"
    )
    inrush.write("t.0.tbl", "1|x|\n")
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    text = package(
        {"url": database.url},
        flow("a", "t.*.tbl", name="published", **settings),
        flow("b", "t.*.tbl", name="filled", **settings),
        flow("c", "missing.*.tbl", name="missing", **settings),
        flow("d", "t.*.tbl", name="append", mode="append", **settings),
    )
    report = found(
        inrush("preflight", inrush.write("p.toml", text), "--json").expect(PREFLIGHT_FAILED)
    )
    told = "\n".join(of_weight(report, "stops"))
    for part in ("is published by", "has rows already", "missing.*.tbl", "does not exist"):
        assert part in told
    assert not (inrush.folder / "runs").exists()


def test_missing_privileges_are_told(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    role = f"reader_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN; CREATE TABLE t (id integer, name text)")
    path = write(inrush, database.server.url(database.name, role), key=None)
    before = catalog(database)
    report = found(inrush("preflight", path, "--json").expect(PREFLIGHT_FAILED))
    told = "\n".join(of_weight(report, "stops"))
    for part in (role, "CREATE on database", "membership in", "cannot be read by this role"):
        assert part in told
    # The role may create only temporary tables, so these are measured.
    assert any("only temporary tables" in what for what in of_weight(report, "tells"))
    assert [step["step"] for step in report["steps"]] == STEPS + AT_THE_SERVER
    assert catalog(database) == before


def test_a_role_that_may_make_nothing_is_measured_without_the_server(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    role = f"nobody_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    database.execute(f'REVOKE TEMPORARY ON DATABASE "{database.name}" FROM PUBLIC')
    path = write(inrush, database.server.url(database.name, role))
    report = found(inrush("preflight", path, "--json").expect(PREFLIGHT_FAILED))
    notes = {step["step"]: step.get("note") for step in report["steps"]}
    assert notes["destination"] == "the role may not create tables, not even temporary ones"
    assert report["prediction"] is None


def test_too_few_connections_are_told(start_server: StartServer, inrush: Inrush) -> None:
    server: Server = start_server(18)
    database = server.create_database("few")
    database.execute(
        "CREATE ROLE few LOGIN CONNECTION LIMIT 2; GRANT CREATE ON DATABASE few TO few"
    )
    path = write(inrush, server.url("few", "few"), files=4)
    database.execute("GRANT CREATE ON SCHEMA public TO few")
    words = ("preflight", path, "--json", "--streams")
    report = found(inrush(*words, "4").expect(PREFLIGHT_FAILED))
    (stops,) = of_weight(report, "stops")
    assert "the role few may have 2 connections" in stops
    assert "needs 5" in stops
    assert of_weight(found(inrush(*words, "1").expect(CLEAN)), "stops") == []
    report = found(inrush("preflight", path, "--json", "--streams", "64").expect(PREFLIGHT_FAILED))
    assert report["streams"] <= 64


def test_max_connections_is_told(start_server: StartServer, inrush: Inrush) -> None:
    server: Server = start_server(18, {"max_connections": "6", "max_wal_senders": "0"})
    database = server.create_database("few")
    path = write(inrush, database.url, files=8)
    report = found(inrush("preflight", path, "--json", "--streams", "8").expect(PREFLIGHT_FAILED))
    assert any("as many connections" in what for what in of_weight(report, "stops"))


def test_a_full_disk_is_told(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    # The file is sparse, and so large that twice its text would not fit on any disk here.
    with (inrush.folder / "t.9.tbl").open("wb") as file:
        file.truncate(1 << 43)
    report = found(inrush("preflight", path, "--json", "--streams", "1").expect(PREFLIGHT_FAILED))
    assert any("disk has" in what for what in of_weight(report, "stops"))


def test_rows_that_would_be_rejected_are_told(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    with (inrush.folder / "t.1.tbl").open("a") as file:
        file.write("no number|x|\n")
    report = found(inrush("preflight", path, "--json").expect(PREFLIGHT_FAILED))
    (stops,) = of_weight(report, "stops")
    assert "1 of 60001 rows of the sample would be rejected" in stops
    assert 't.1.tbl:30001 (byte 540000), column `id`, value "no number"' in stops
    path = write(inrush, newest_database.url, more={"rejects": {"rows_max": 5}})
    with (inrush.folder / "t.1.tbl").open("a") as file:
        file.write("no number|x|\n")
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    assert of_weight(report, "stops") == []
    assert len(of_weight(report, "hurts")) == 1
    inrush("run", path).expect(LOADED_WITH_REJECTS)


def test_a_pipe_is_not_touched(newest_database: Database, inrush: Inrush) -> None:
    os.mkfifo(inrush.folder / "pipe")
    for name in ("/dev/stdin", "pipe"):
        settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
        text = package({"url": newest_database.url}, flow("t", name, **settings))
        path = inrush.write("p.toml", text)
        # Opening the pipe would wait for a writer.
        with inrush.start("preflight", path, stdin=subprocess.PIPE) as running:
            running.wait().expect(USAGE, "is a pipe", "cannot be read twice")


def test_a_pipe_among_files_is_not_touched(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    os.mkfifo(inrush.folder / "t.2.tbl")
    inrush("preflight", path).expect(USAGE, "is a pipe", "cannot be read twice")


def test_a_file_with_nothing_but_a_header(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("empty.csv", "id,name\n")
    inrush.write("rows.csv", "id,name\n" + "".join(f"{n},name {n}\n" for n in range(50_000)))
    alone = package({"url": newest_database.url}, flow("t", "empty.csv", columns=COLUMNS))
    path = inrush.write("alone.toml", alone)
    assert found(inrush("preflight", path, "--json").expect(CLEAN))["prediction"] is None
    both = package(
        {"url": newest_database.url},
        flow("t", "empty.csv", columns=COLUMNS),
        flow("u", "rows.csv", columns=COLUMNS),
    )
    path = inrush.write("both.toml", both)
    said = inrush("preflight", path, "--streams", "2").expect(CLEAN, "Predicted")
    assert "NaN" not in said.output
    predicted = found(inrush("preflight", path, "--json", "--streams", "2").expect(CLEAN))
    assert 0 < predicted["prediction"]["predicted_s"] < 60


def test_a_compressed_file_is_read_to_its_end(newest_database: Database, inrush: Inrush) -> None:
    whole = gzip.compress(ROWS.encode())
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    text = package({"url": newest_database.url}, flow("t", "t.tbl.gz", **settings))
    path = inrush.write("p.toml", text)
    inrush.write("t.tbl.gz", whole)
    files = found(inrush("preflight", path, "--json").expect(CLEAN))["files"]
    assert files["rows"] == 60_000
    assert files["text_bytes"] == len(ROWS)
    inrush.write("t.tbl.gz", whole[: len(whole) // 2])
    inrush("preflight", path).expect(PREFLIGHT_FAILED, "ends too early")


@pytest.mark.parametrize("more", [{}, {"atomic": False}])
def test_what_a_stopped_run_has_left_is_predicted(
    newest_database: Database, inrush: Inrush, more: Settings
) -> None:
    newest_database.execute("CREATE TABLE t (id integer not null, name text)")
    # The streams share one large file, and some of its splits are committed.
    inrush.write("t.0.tbl", ROWS * 20)
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS, "mode": "append"}
    text = package({"url": newest_database.url}, flow("t", "t.*.tbl", **settings, **more))
    path = inrush.write("p.toml", text)
    died = inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit:1"})
    assert died.status == -signal.SIGKILL, died.said
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    assert any("1 of them in part" in what for what in of_weight(report, "tells"))
    assert report["prediction"]["predicted_s"] > 0
    inrush("run", path).expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM t") == 20 * 60_000


def test_a_run_that_is_at_work_stops_another(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    with inrush.stopped_by("stop:before_switch", "run", path) as running:
        said = inrush("preflight", path).expect(PREFLIGHT_FAILED, "in progress")
        assert "stopped;" not in said.output
        running.resume().wait().expect(CLEAN)


def test_a_load_that_is_done_is_not_stopped_by_a_run_at_work(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute("CREATE TABLE t (id integer not null, name text)")
    path = write(inrush, newest_database.url, key=None, more={"mode": "append"})
    inrush("run", path).expect(CLEAN)
    with inrush.stopped_by("stop:before_switch", "run", path, "--again") as running:
        said = inrush("preflight", path).expect(CLEAN, "has loaded these rows already")
        assert "in progress" not in said.output
        running.resume().wait().expect(CLEAN)


def test_a_folder_of_runs_that_cannot_be_written(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    inrush.write("file", "")
    said = inrush("preflight", path, "--runs-folder", "file/runs")
    said.expect(CLEAN, "Predicted", "will not have this prediction")


def test_what_one_stream_took_is_counted_once(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    report = found(inrush("preflight", path, "--json", "--streams", "1").expect(CLEAN))
    assert sum(step["took_s"] for step in report["steps"]) < report["took_s"]


@pytest.mark.parametrize("url", ["x.duckdb", "parquet:lake"])
def test_a_rate_is_counted_in_elsewhere(inrush: Inrush, url: str) -> None:
    path = write(inrush, url, key=None)
    path.write_text(path.read_text().replace("[run]", "[run]\nrate_bytes_max = 20_000"))
    prediction = found(inrush("preflight", path, "--json").expect(CLEAN))["prediction"]
    assert prediction["limiting"] == "pace", prediction
    # The values of a row take between a quarter and four times the bytes of its text.
    assert len(ROWS) / 80_000 < prediction["predicted_s"] < len(ROWS) / 5_000


def test_a_run_that_failed_has_no_prediction(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    inrush("preflight", path).expect(CLEAN)
    newest_database.execute("CREATE VIEW t AS SELECT 1")
    failed = inrush("run", path)
    assert failed.status != CLEAN
    assert "predicted" not in failed.said


def test_an_interrupted_preflight_leaves_no_database_file(inrush: Inrush) -> None:
    path = write(inrush, "x.duckdb", key=None)
    # The command stops as soon as it has made its folder.
    environment = preloaded(
        inrush.folder,
        "#include <fcntl.h>\n#include <signal.h>\n#include <string.h>\n"
        "#include <sys/stat.h>\n"
        "int mkdir(const char *path, mode_t mode) {\n"
        "  static int stopped;\n"
        "  int done = mkdirat(AT_FDCWD, path, mode);\n"
        '  if (strstr(path, "/.inrush-preflight-") && !stopped++) raise(SIGSTOP);\n'
        "  return done;\n}\n",
    )
    before = sorted(path.name for path in inrush.folder.iterdir())
    with inrush.start("preflight", path, environment=environment) as running:
        running.wait_until_stopped()
        assert list(inrush.folder.glob(".inrush-preflight-*"))
        running.send(signal.SIGINT)
        running.resume().wait().expect(INTERRUPTED, "nothing is left behind")
    assert sorted(path.name for path in inrush.folder.iterdir()) == before


@pytest.mark.parametrize("streams", [1, 2])
def test_compressed_files(newest_database: Database, inrush: Inrush, streams: int) -> None:
    # The file is large enough to be fed to several streams.
    inrush.write("t.tbl.gz", gzip.compress((ROWS * 10).encode(), 1))
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    text = package({"url": newest_database.url}, flow("t", "t.tbl.gz", **settings))
    path = inrush.write("p.toml", text)
    before = catalog(newest_database)
    words = ("preflight", path, "--json", "--streams", str(streams))
    report = found(inrush(*words).expect(CLEAN))
    steps = {step["step"]: step for step in report["steps"]}
    assert list(steps) == [*STEPS[:2], "decompress", *STEPS[2:], *AT_THE_SERVER]
    assert steps["decompress"]["one_bytes_s"] > 0
    # The number of rows depends on the text, not on the stored bytes.
    assert report["files"]["text_bytes"] > 2 * report["files"]["stored_bytes"]
    assert catalog(newest_database) == before


@pytest.mark.parametrize("url", ["x.duckdb", "parquet:lake"])
def test_a_compressed_file_into_other_destinations(inrush: Inrush, url: str) -> None:
    # The file is large enough to be fed to several streams.
    inrush.write("t.tbl.gz", gzip.compress((ROWS * 15).encode(), 1))
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    text = package({"url": url}, flow("t", "t.tbl.gz", **settings), streams=2)
    path = inrush.write("p.toml", text)
    assert "shared by all streams through one reader" in inrush("check", path).expect(CLEAN).output
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    assert report["streams"] == 2
    steps = {step["step"]: step for step in report["steps"]}
    assert steps["decompress"]["one_bytes_s"] > 0
    loaded = inrush("run", path).expect(CLEAN, "predicted")
    assert loaded.report["prediction"] == report["prediction"]


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_part_of_a_compressed_file_tells_how_much_text_all_of_it_has(
    newest_database: Database, inrush: Inrush, suffix: str
) -> None:
    """The file has few stored bytes, but more text than can be read in a second."""
    block = "".join(f"{number}|{'x' * 1000}|\n" for number in range(8000)).encode()
    member = gzip.compress(block, 1) if suffix == "gz" else zstandard.compress(block)
    count = 300
    (inrush.folder / f"t.tbl.{suffix}").write_bytes(member * count)
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    flows = flow("t", f"t.tbl.{suffix}", **settings)
    path = inrush.write("p.toml", package({"url": newest_database.url}, flows))
    report = found(inrush("preflight", path, "--json", "--streams", "1").expect(CLEAN))
    files = report["files"]
    assert files["text_bytes"] == pytest.approx(count * len(block), rel=0.01)
    assert files["rows"] == pytest.approx(count * 8000, rel=0.01)


def test_quoted_files_and_typed_rows(newest_database: Database, inrush: Inrush) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    inrush.write("t.csv", "id,name\n" + "".join(f'{n},"a ""b"" {n}"\n' for n in range(50_000)))
    numbers = pyarrow.array(range(50_000), pyarrow.int32())
    table = pyarrow.table({"id": numbers, "name": numbers.cast(pyarrow.string())})
    parquet.write_table(table, inrush.folder / "t.parquet", row_group_size=5_000)
    for name in ("t.csv", "t.parquet"):
        text = package({"url": newest_database.url}, flow("t", name, columns=COLUMNS))
        path = inrush.write("p.toml", text)
        report = found(inrush("preflight", path, "--json", "--streams", "2").expect(CLEAN))
        assert report["prediction"]["predicted_s"] > 0
        assert report["files"]["text_bytes"] > 0
        assert {step["step"]: step for step in report["steps"]}["together"]["all_bytes_s"] > 0
        assert of_weight(report, "hurts") == []


@pytest.mark.parametrize(
    ("before", "more"),
    [
        ("", {"mode": "append"}),
        ("ALTER TABLE t ADD PRIMARY KEY (id)", {"mode": "upsert", "key": "id"}),
        ("", {"mode": "replace"}),
        ("", {"mode": "append", "atomic": False}),
        ("ALTER TABLE t ADD number serial", {"mode": "append"}),
        ("ALTER TABLE t ADD number integer GENERATED ALWAYS AS IDENTITY", {"mode": "append"}),
        ("ALTER TABLE t ADD COLUMN number bigserial UNIQUE", {"mode": "append", "atomic": False}),
    ],
)
def test_targets_that_exist(
    newest_database: Database, inrush: Inrush, before: str, more: Settings
) -> None:
    database = newest_database
    database.execute(f"CREATE TABLE t (id integer not null, name text); {before}")
    path = write(inrush, database.url, key=None, more=more)
    names = catalog(database)
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    assert report["prediction"]["predicted_s"] > 0
    notes = {step["step"]: step.get("note") or "" for step in report["steps"]}
    assert "the server says" not in notes["together"] + notes["destination"]
    assert catalog(database) == names
    assert database.rows("SELECT * FROM t") == []
    inrush("run", path).expect(CLEAN, "predicted")
    assert database.value("SELECT count(*) FROM t") == 60_000
    # Preflight takes no numbers from the target's sequences.
    if "number" in before:
        assert database.value("SELECT min(number) FROM t") == 1


def test_rows_that_are_routed(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute(
        "CREATE TABLE t (id integer not null, name text) PARTITION BY HASH (id); "
        "CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0); "
        "CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    )
    path = write(inrush, database.url, key=None, more={"mode": "append"})
    names = catalog(database)
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    assert report["prediction"]["switch_s"] > 0
    assert catalog(database) == names


def test_a_lock_on_the_target_hurts(newest_database: Database, inrush: Inrush) -> None:
    database = newest_database
    database.execute("CREATE TABLE t (id integer not null, name text) PARTITION BY RANGE (id)")
    path = write(inrush, database.url, more={"mode": "append"})
    with database.connect(autocommit=False) as holder:
        holder.execute("SET application_name = 'a reader'; SELECT * FROM t")
        with database.connect(autocommit=False) as other:
            other.execute("SET application_name = 'a report'; LOCK TABLE t IN SHARE MODE")
            report = found(inrush("preflight", path, "--json").expect(CLEAN))
            other.rollback()
        # The table is loaded while another session reads it, as the preflight's report says.
        inrush("run", path).expect(CLEAN)
        holder.rollback()
    hurts = "\n".join(of_weight(report, "hurts"))
    assert "a report" in hurts
    assert "ShareLock on public.t" in hurts
    assert "a reader" not in hurts


def test_no_files_and_no_server(newest_database: Database, inrush: Inrush) -> None:
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    text = package(
        {"url": "postgresql://nobody@/nothing?host=/nowhere"}, flow("t", "gone.tbl", **settings)
    )
    outcome = inrush("preflight", inrush.write("p.toml", text)).expect(PREFLIGHT_FAILED)
    assert "cannot connect" in outcome.output
    assert "gone.tbl" in outcome.output
    inrush.write("empty.tbl", "")
    text = package({"url": newest_database.url}, flow("t", "empty.tbl", **settings))
    outcome = inrush("preflight", inrush.write("p.toml", text)).expect(CLEAN, "it has no rows")
    inrush("preflight", "no such package.toml").expect(USAGE)


@pytest.mark.parametrize("url", ["x.duckdb", "parquet:lake"])
def test_other_destinations(inrush: Inrush, url: str) -> None:
    path = write(inrush, url, key=None)
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    steps = {step["step"]: step for step in report["steps"]}
    elsewhere = [step for step in AT_THE_SERVER if step != "log"]
    assert list(steps) == [step for step in STEPS if step != "encode"] + elsewhere
    assert steps["destination"]["one_bytes_s"] > 0
    assert steps["together"]["all_bytes_s"] > 0
    names = sorted(path.name for path in inrush.folder.iterdir())
    assert names == ["p.toml", "runs", "t.0.tbl", "t.1.tbl"]
    loaded = inrush("run", path).expect(CLEAN, "predicted")
    assert loaded.report["prediction"] == report["prediction"]


def test_the_sample_is_loaded_by_the_library_that_the_package_names(inrush: Inrush) -> None:
    library = importlib.util.find_spec("_duckdb")
    assert library is not None
    assert library.origin is not None
    (inrush.folder / "own.so").symlink_to(library.origin)
    rows = inrush.write("t.0.tbl", ROWS)
    connection: Settings = {"url": "x.duckdb", "options": {"driver": "own.so"}}
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    path = inrush.write("p.toml", package(connection, flow("t", rows, **settings)))
    report = found(inrush("preflight", path, "--json", "--trust").expect(CLEAN))
    steps = {step["step"]: step for step in report["steps"]}
    assert steps["destination"].get("note") is None
    assert steps["destination"]["one_bytes_s"] > 0


def test_a_driver_s_destination_is_not_measured(inrush: Inrush) -> None:
    rows = inrush.write("t.0.tbl", ROWS)
    connection: Settings = {"url": "adbc:sqlite", "options": {"uri": "x.sqlite"}}
    settings: Settings = {"format": {"preset": "tbl"}, "columns": COLUMNS}
    path = inrush.write("p.toml", package(connection, flow("t", rows, **settings)))
    report = found(inrush("preflight", path, "--json").expect(CLEAN))
    steps = {step["step"]: step for step in report["steps"]}
    assert "the destination has no other place for a trial load" in steps["destination"]["note"]
    assert steps["convert"]["one_bytes_s"] > 0
    assert report["prediction"] is None


def test_cold_reads_come_from_the_disk(newest_database: Database, inrush: Inrush) -> None:
    path = write(inrush, newest_database.url)
    report = found(inrush("preflight", path, "--json", "--cold").expect(CLEAN))
    notes = [step.get("note") or "" for step in report["steps"]]
    assert any("--cold" in note for note in notes)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once(
    newest_database: Database, inrush: Inrush, which: signal.Signals
) -> None:
    database = newest_database
    database.execute(
        pauses.HELD_DOMAIN + "CREATE TABLE t (id integer CHECK (pass_gate(-1)), name text)"
    )
    path = write(inrush, database.url, key=None, more={"mode": "append"})
    before = catalog(database)
    with pauses.closed_gate(database), inrush.start("preflight", path) as running:
        pauses.wait_until_held(database)
        running.send(which)
        running.wait().expect(INTERRUPTED)
    # The backends roll back as soon as they notice that the client is gone.
    pauses.wait_until(database, pauses.sessions_of_inrush(database))
    assert catalog(database) == before
    assert not (inrush.folder / "runs").exists()


def test_a_server_that_refuses_a_row_of_the_sample_is_told(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    database.execute("CREATE TABLE t (id integer CHECK (id < 5), name text)")
    path = write(inrush, database.url, key=None, more={"mode": "append"})
    before = catalog(database)
    outcome = inrush("preflight", path).expect(PREFLIGHT_FAILED, "the server refuses a row")
    assert catalog(database) == before
    inrush("run", path).expect(4)
    assert "t_id_check" in outcome.output


def test_the_embedded_server_goes_again(servers_folder: Path) -> None:
    # A folder that the server's user can enter (see servers.py).
    folder = servers_folder / "preflight-embedded"
    folder.mkdir(mode=0o755)
    inrush = Inrush(folder)
    path = write(inrush, "embedded:data/kept")
    before = sorted(path.name for path in folder.iterdir())
    inrush("preflight", path).expect(CLEAN, "Predicted")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "runs"])
    inrush("run", path).expect(CLEAN, "predicted")
    wait_for_no_process(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="the server runs as oneself, who may enter")
def test_a_folder_that_the_embedded_server_cannot_enter_is_told(inrush: Inrush) -> None:
    path = write(inrush, "embedded:data")
    inrush.folder.chmod(0o700)
    inrush("preflight", path).expect(PREFLIGHT_FAILED, "cannot enter")
    assert sorted(path.name for path in inrush.folder.iterdir()) == [
        "p.toml",
        "t.0.tbl",
        "t.1.tbl",
    ]


def test_the_help_says_what_the_exit_statuses_mean(inrush: Inrush) -> None:
    inrush("preflight", "--help").expect(CLEAN, "6 the run cannot succeed")
    inrush("--help").expect(CLEAN, "preflight: the run cannot succeed")
    inrush("preflight").expect(USAGE)
