"""The benchmark suite itself: its data and pages are right, and all sides load the same rows."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import findings
import ground
import groups
import kernels
import one_load
import readme
import results
import same_rows
import suite
import targets
import workloads
from ground import Measure
from harness.checkout import MEASURED
from harness.servers import Database, Server
from peers import configured
from peers.inrush import Inrush
from peers.peer import Peer, Surroundings
from peers.pgloader import Pgloader
from peers.psql import Psql
from peers.server_alone import ServerAlone
from workload import Job, Table
from workloads import rejects

SCALE = 0.0005
PARTS = 2

# Digests of all files of a workload at this scale, joined one after the other.
BYTES = {
    "lineitem": "856cf2d6545407df204178e8168cb1ef3988136bb2ee8494eb15afe676efaac7",
    "quoted": "9799c7c88a4997fb1c3a44a51168e1dec236393b127e1d622b286c48ec93a700",
    "wide": "8807a79d7be57157a73688cd20d31af092db0bee71b722866ca7fcac69b43753",
    "narrow": "95a0a7612b6d1d64ee1c181173d17fb74bd3cd33d4c2caf5dce8357b7b06cd2d",
    "rejects": "16a5cbfd1804b8dd8394a66f980db7133487c5f29f48f33a094dac62e1cec5b5",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the workloads' files, which several tests read."""
    return tmp_path_factory.mktemp("data")


@pytest.mark.parametrize("name", BYTES)
def test_the_same_bytes_on_every_machine(name: str, data: Path) -> None:
    job = workloads.ALL[name].make(SCALE, PARTS, data)
    whole = sha256()
    for table in job.tables:
        for file in table.files:
            whole.update(file.read_bytes())
    assert whole.hexdigest() == BYTES[name]


def test_files_are_made_once(data: Path) -> None:
    first, second = (workloads.ALL["narrow"].make(SCALE, PARTS, data) for _ in range(2))
    assert first == second
    # A folder without a list of digests is incomplete, and its files are made again.
    (file, *_) = first.tables[0].files
    before = file.read_bytes()
    file.write_bytes(b"half")
    (file.parent / "manifest.json").unlink()
    workloads.ALL["narrow"].make(SCALE, PARTS, data)
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", workloads.ALL)
def test_every_side_ends_with_what_copy_makes(
    name: str, data: Path, tmp_path: Path, newest_server: Server
) -> None:
    """The sides are Inrush, psql and the server alone: the tests install no other peers."""
    tmp_path.chmod(0o755)
    job = workloads.ALL[name].make(SCALE, PARTS, data)
    must_be = same_rows.expected(newest_server, job, SCALE, PARTS, data)
    if name == "rejects":
        rows = round(rejects.ROWS * SCALE)
        assert must_be["payments"].count == rows - job.bad_rows
        assert job.bad_rows == rows // rejects.EVERY
    surroundings = Surroundings(
        Path("no-python"), newest_server.programs, prepared_folder(newest_server, name)
    )
    for kind in (Inrush, Psql, ServerAlone):
        side: Peer = kind(surroundings)
        if side.cannot(job, newest_server.version) is None:
            load(side, job, newest_server, tmp_path, must_be)
        else:
            assert name == "lineitem-parquet"


def prepared_folder(server: Server, name: str) -> Path:
    """Return a folder that the server's user can enter, unlike the tests' own folders."""
    folder = server.folder.parent / f"suite-{name}"
    folder.mkdir(mode=0o755)
    return folder


def load(
    side: Peer, job: Job, server: Server, folder: Path, must_be: dict[str, same_rows.Rows]
) -> None:
    """Load a job with one side as the benchmarks do; fail if the table then has other rows."""
    with one_load.prepared(server, job, side) as database:
        one_load.measure(database, job, side, 2, folder, must_be)


def test_a_load_that_ends_with_other_rows_fails(
    data: Path, tmp_path: Path, newest_server: Server
) -> None:
    tmp_path.chmod(0o755)
    job = workloads.ALL["narrow"].make(SCALE, PARTS, data)
    must_be = same_rows.expected(newest_server, job, SCALE, PARTS, data)
    (table,) = job.tables
    other = {table.name: same_rows.Rows(must_be[table.name].count, "0")}
    side = Psql(Surroundings(Path("no-python"), newest_server.programs, tmp_path))
    before = databases(newest_server)
    with pytest.raises(same_rows.DifferentRowsError, match="narrow by psql"):
        load(side, job, newest_server, tmp_path, other)
    assert databases(newest_server) == before


def databases(server: Server) -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        return connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()


def test_another_row_is_another_hash(data: Path, newest_server: Server) -> None:
    job = workloads.ALL["narrow"].make(SCALE, PARTS, data)
    (table,) = job.tables
    database = ground.fresh(newest_server)
    database.execute("CREATE TABLE links (id bigint, linked integer)")
    database.execute("INSERT INTO links VALUES (1, 2), (2, 1)")
    one = same_rows.rows_of(database, table, "links")
    database.execute("UPDATE links SET linked = id")
    other = same_rows.rows_of(database, table, "links")
    assert one.count == other.count
    with pytest.raises(same_rows.DifferentRowsError, match="links"):
        same_rows.compare("narrow by nobody", {"links": other}, {"links": one})


@pytest.mark.parametrize(("status", "ended"), [(0, 0), (3, 3), (-9, 137)])
def test_a_measured_command_ends_as_the_command_does(
    status: int, ended: int, tmp_path: Path
) -> None:
    program = f"import os; os.kill(os.getpid(), {-status}) if {status} < 0 else os._exit({status})"
    took = tmp_path / "took"
    command: list[str | Path] = [sys.executable, MEASURED, took]
    command += [sys.executable, "-c", program]
    assert subprocess.run(command, check=False).returncode == ended
    cpu_s, resident_kib = took.read_text().split()
    assert float(cpu_s) >= 0
    assert int(resident_kib) > 0


def test_files_are_shared_out_by_size(data: Path) -> None:
    job = workloads.ALL["tpch"].make(SCALE, PARTS, data)
    shares = job.shares(3)
    handed_out = [(table.name, index) for share in shares for table, index in share]
    assert sorted(handed_out) == sorted(
        (table.name, index) for table in job.tables for index in range(len(table.files_of_peers))
    )
    # The two parts of lineitem are the largest files, and no side loads both.
    assert [share[0][0].name for share in shares[:2]] == ["lineitem", "lineitem"]


def test_another_tool_by_configuration(data: Path, newest_server: Server, tmp_path: Path) -> None:
    psql = newest_server.programs / "psql"
    told = {
        "other": {
            "command": [
                str(psql), "--quiet", "--dbname", "{url}",
                "--command", "\\copy {table} from '{file}' (format csv, header)",
            ],
            "about": "as it comes",
            "version": [str(psql), "--version"],
            "workloads": ["narrow"],
        }
    }  # fmt: skip
    path = tmp_path / "others.json"
    path.write_text(json.dumps(told))
    surroundings = Surroundings(Path("no-python"), newest_server.programs, tmp_path)
    (other,) = configured.read(path, surroundings)
    assert "PostgreSQL" in str(other.version())
    job = workloads.ALL["narrow"].make(SCALE, PARTS, data)
    must_be = same_rows.expected(newest_server, job, SCALE, PARTS, data)
    load(other, job, newest_server, tmp_path, must_be)
    wide = workloads.ALL["wide"].make(SCALE, PARTS, data)
    assert "not among the workloads" in str(other.cannot(wide, newest_server.version))


def test_pgloader_has_a_worker_beside_the_one_that_reads(
    data: Path, tmp_path: Path, newest_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/pgloader")
    side = Pgloader(Surroundings(Path("no-python"), newest_server.programs, tmp_path))
    rows = {}
    for name in ("narrow", "rejects"):
        job = workloads.ALL[name].make(SCALE, PARTS, data)
        with one_load.prepared(newest_server, job, side) as database:
            commands = side.commands(database, job, PARTS)
        for *_, path in commands:
            text = Path(path).read_text()
            found = {key: int(value) for key, value in re.findall(r"(workers|rows) = (\d+)", text)}
            assert found["workers"] >= 2
            rows[name] = found["rows"]
    assert rows["rejects"] < rows["narrow"]


# The command starts another program, which holds the pipe open and keeps a session busy.
ENDLESS = """
import subprocess, sys
program, url, pipe = sys.argv[1:]
with open(pipe, "w") as output:
    query = "SELECT pg_sleep(1000000)"
    command = [program, "--no-psqlrc", "--quiet", "--dbname", url, "--command", query]
    child = subprocess.Popen(command, stdout=output)
    print("started", file=output, flush=True)
child.wait()
"""


def test_what_is_past_its_limit_is_killed_with_what_it_started(
    tmp_path: Path, newest_server: Server
) -> None:
    pipe, said, psql = tmp_path / "pipe", tmp_path / "said", newest_server.programs / "psql"
    os.mkfifo(pipe)
    command: list[str | Path] = [sys.executable, "-I", "-c", ENDLESS]
    command += [psql, newest_server.url(), pipe]
    with (
        said.open("wb") as output,
        groups.running([command], tmp_path, output) as programs,
        pipe.open("rb", buffering=0) as source,
    ):
        assert source.read(8) == b"started\n"
        assert not groups.all_end(programs, 0)
        assert groups.finish(programs) == [-signal.SIGKILL]
        # No process holds the pipe open any more.
        end = select.poll()
        end.register(source, select.POLLHUP)
        assert end.poll(60_000)
        assert source.read() == b""
    ground.end_sessions(newest_server)


def test_programs_that_end_have_no_limit(tmp_path: Path) -> None:
    with (
        (tmp_path / "said").open("wb") as output,
        groups.running([["true"], ["false"]], tmp_path, output) as programs,
    ):
        assert groups.all_end(programs, None)
        assert groups.finish(programs) == [0, 1]


def test_what_was_started_ends_where_another_program_cannot_start(tmp_path: Path) -> None:
    started: list[groups.Programs] = []

    def start() -> None:
        with (tmp_path / "said").open("wb") as output:
            commands = [["sleep", "infinity"], [str(tmp_path / "not-there")]]
            with groups.running(commands, tmp_path, output):
                raise AssertionError

    finish = groups.finish

    def watched(programs: groups.Programs) -> list[int]:
        started.append(programs)
        return finish(programs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "finish", watched)
        with pytest.raises(FileNotFoundError):
            start()
    ((program,),) = started
    assert program.returncode == -signal.SIGKILL


def suite_of(
    server: Server, folder: Path, data: Path, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> suite.Suite:
    """Return the suite as its command line would make it, on a server of the tests."""
    command = f"suite.py --scale {SCALE} --parts {PARTS} --data {data} {arguments}"
    monkeypatch.setattr(sys, "argv", command.split())
    return suite.Suite(suite.arguments(), server, folder)


def test_a_side_that_never_ends_is_stopped(
    data: Path,
    tmp_path: Path,
    newest_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tmp_path.chmod(0o755)
    psql = str(newest_server.programs / "psql")
    script = [sys.executable, "-I", "-c", ENDLESS, psql, "{url}", "/dev/null"]
    told = {"endless": {"command": script, "about": "-", "version": [psql, "--version"]}}
    (tmp_path / "others.json").write_text(json.dumps(told))
    run = suite_of(
        newest_server,
        tmp_path,
        data,
        f"--rounds 2 --streams 1,2 --peers inrush,psql,endless --more-peers {tmp_path}/others.json",
        monkeypatch,
    )
    measure = one_load.measure

    def measure_shortly(
        database: Database,
        job: Job,
        side: Peer,
        streams: int,
        folder: Path,
        must_be: dict[str, same_rows.Rows] | None,
        limit_s: float,
    ) -> Measure:
        """Shorten only this side's limit, because a busy machine may need the others."""
        assert limit_s > suite.STOP_S
        limit_s = 1 if side.name == "endless" else limit_s
        return measure(database, job, side, streams, folder, must_be, limit_s)

    monkeypatch.setattr(one_load, "measure", measure_shortly)
    before = databases(newest_server)
    run.run(workloads.ALL["narrow"])
    assert databases(newest_server) == before
    # A stopped side is not run again, neither in later rounds nor with more streams.
    (stop,) = run.stopped
    assert stop.pop("after_s") >= 1
    assert stop == {"workload": "narrow", "streams": 1, "round": 1, "side": "endless"}
    stop["after_s"] = 1.25
    assert "narrow, 1 streams, round 1: endless was stopped after " in capsys.readouterr().out
    each = [(one["streams"], one["round"], one["side"]) for one in run.runs]
    assert sorted(each) == [
        (streams, number, side)
        for streams in (1, 2)
        for number in (1, 2)
        for side in ("inrush", "psql")
    ]
    with newest_server.connect() as connection:
        query = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000000)'"
        assert connection.execute(query).fetchall() == []
    page = results.page(run.facts(ground.machine(newest_server)), "page")
    assert "| narrow, 1 streams | endless | in round 1 it was stopped after 1.2 s" in page


@pytest.mark.parametrize(
    ("arguments", "limit_s"),
    [("", suite.STOP_S + 12 * suite.STOP_S_A_MEGABYTE), ("--stop-s 7.5", 7.5)],
)
def test_the_limit_of_time_is_told_or_by_the_bytes(
    arguments: str, limit_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, 12_000_000)
    job = Job("none", (Table("none", (), (file,), (file,)),), "")
    monkeypatch.setattr(sys, "argv", ["suite.py", *arguments.split()])
    assert suite.stop_s(suite.arguments(), job) == limit_s


def facts(**changes: Any) -> findings.Facts:
    """Return results as the suite makes them: two rounds of two sides, with round numbers."""
    walls = {"inrush": (2.0, 4.0), "psql": (3.0, 8.0)}
    runs = [
        {
            "workload": "narrow",
            "streams": 2,
            "round": number,
            "side": side,
            **asdict(Measure(wall_s, 1.0, 2.0, 10 * 1024, 0.5, 0.0)),
            "reference_hash_s": 0.5,
            "reference_write_s": 0.25,
        }
        for side, each in walls.items()
        for number, wall_s in enumerate(each, 1)
    ]
    return {
        "benchmark": "suite",
        "date": "2026-11-22",
        "scale": 1.0,
        "parts": 4,
        "wal_level": "minimal",
        "over": "socket",
        "machine": {
            "processor": "Some(R) Processor",
            "cores": 2,
            "memory_gib": 8.0,
            "kernel": "6.1",
            "file_system": "ext4",
            "postgresql": "PostgreSQL 18.4 on x86_64",
            "settings": {"fsync": "on"},
            "commit": "0123456789ab",
            "commit_changed": False,
            "engine": "ba9876543210",
            "load_average_at_start": 0.1,
        },
        "peers": {
            "inrush": {"version": "0.1.0", "about": "one command"},
            "psql": {"version": "18.4", "about": "two sessions"},
            "dlt": {"version": None, "about": "one pipeline"},
        },
        "workloads": {
            "narrow": {
                "title": "two columns",
                "bytes": 12_000_000,
                "bad_rows": 0,
                "rows": {"links": {"count": 1000, "hashes": "17"}},
            }
        },
        "runs": runs,
        "not_run": [{"workload": "all", "side": "dlt", "why": "not installed"}],
        **changes,
    }


def test_the_page_is_made_of_the_results(tmp_path: Path) -> None:
    path = results.place(tmp_path, facts())
    results.write(path, facts())
    assert path.name.endswith("-suite-some-processor-2-cores.json")
    page = path.with_suffix(".md").read_text()
    table = readme.between(page, results.TABLE_BEGINS, results.TABLE_ENDS)
    # 3/2 and 8/4 are compared with each other round by round.
    assert "| narrow | 2 | 12 | 3.00 | 5.50, **1.75** |" in table
    assert "commit 0123456789ab, Some(R) Processor, 2 cores" in table
    assert "1.75 (1.50-2.00) | 1.00 (1.00-1.00) | 2.00 (2.00-2.00) | 10 (10-10)" in page
    assert "| all | dlt | not installed |" in page
    assert "other programs than the two sides used 6% of the processors" in page
    before = page
    results.write_page(path)
    assert path.with_suffix(".md").read_text() == before


def stop_of(side: str, workload: str = "narrow") -> findings.Run:
    return {"workload": workload, "streams": 2, "round": 3, "side": side, "after_s": 132.04}


def test_no_ratio_is_made_of_a_side_that_was_stopped() -> None:
    told = facts(stopped=[stop_of("psql")])
    assert findings.ratios(told, ("narrow", 2), "psql") == []
    page = results.page(told, "page")
    table = readme.between(page, results.TABLE_BEGINS, results.TABLE_ENDS)
    assert "| narrow | 2 | 12 | 3.00 | stopped after 132.0 s |" in table
    assert "past its limit of time, and no ratio is made of it." in table
    assert "| psql | 2, then stopped after 132.0 s | - | - | - | - | - | - | - | - | - |" in page
    assert "| narrow, 2 streams | psql | in round 3 it was stopped after 132.0 s" in page
    assert "contents of all sides that ended it were equal" in page
    # A side that never ended a round is listed too, and is not compared with Inrush's rounds.
    runs = [run for run in facts()["runs"] if run["side"] == "inrush"]
    told = facts(runs=runs, stopped=[stop_of("psql"), stop_of("inrush")])
    assert findings.sides(told) == ["inrush", "psql"]
    assert findings.ratios(told, ("narrow", 2), "inrush") == []
    # If no side ended, the page says so.
    told = facts(runs=[], stopped=[stop_of("psql"), stop_of("inrush")])
    assert "nothing ended" in results.page(told, "page")
    lineitem = {"lineitem": facts()["workloads"]["narrow"]}
    runs = [{**run, "workload": "lineitem", "metering_cpu_s": 0.01} for run in facts()["runs"]]
    told = facts(workloads=lineitem, runs=runs)
    assert next(targets.targets(told, ("lineitem", 2))).title == "best peer's time / Inrush's"
    told["stopped"] = [stop_of("psql", "lineitem")]
    assert next(targets.targets(told, ("lineitem", 2))).title.startswith("the loader's part")
    told["stopped"] = [stop_of("inrush", "lineitem")]
    assert list(targets.targets(told, ("lineitem", 2))) == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "suite"),
        ({"scale": 0.1}, "suite-scale-0.1"),
        ({"wal_level": "replica", "over": "tls"}, "suite-replica-tls"),
    ],
)
def test_the_name_says_what_is_unusual(changes: dict[str, Any], name: str) -> None:
    assert results.name_of(facts(**changes)) == name


def test_rounds_are_added() -> None:
    joined = results.join(facts(), facts())
    assert [run["round"] for run in findings.runs_of(joined, ("narrow", 2), "psql")] == [1, 2, 3, 4]
    assert findings.ratios(joined, ("narrow", 2), "psql") == [1.5, 2.0, 1.5, 2.0]
    assert joined["not_run"] == facts()["not_run"]
    # Older results have no list of stopped sides.
    joined = results.join(facts(), facts(stopped=[stop_of("psql")]))
    assert joined["stopped"] == [{**stop_of("psql"), "round": 5}]
    # A stopped run counts as a round, too.
    again = results.join(joined, facts(stopped=[stop_of("psql")]))
    assert [stop["round"] for stop in again["stopped"]] == [5, 8]
    # A side that is added later is compared only with Inrush's rounds of the same session.
    later = facts()
    for run in later["runs"]:
        run["side"] = {"psql": "pgloader"}.get(run["side"], run["side"])
    later["peers"]["pgloader"] = {"version": "3.6", "about": "alone"}
    joined = results.join(facts(), later)
    assert findings.sides(joined) == ["inrush", "psql", "pgloader"]
    assert len(findings.ratios(joined, ("narrow", 2), "psql")) == 2
    assert len(findings.ratios(joined, ("narrow", 2), "pgloader")) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scale": 0.1}, "scale was 1.0 and is 0.1"),
        ({"over": "tls"}, "over was 'socket' and is 'tls'"),
        ({"machine": {**facts()["machine"], "engine": "fedc"}}, "engine was"),
    ],
)
def test_pieces_of_something_else_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(results.DifferentError, match=said):
        results.join(facts(), facts(**changes))


def whole(**changes: Any) -> findings.Facts:
    """Return results with everything that the README must show."""
    (run, *_) = facts()["runs"]
    told = facts()["workloads"]["narrow"]
    runs = [
        {**run, "workload": workload, "round": number, "side": side}
        for workload in readme.WORKLOADS
        for side in readme.SIDES
        for number in range(1, ground.ROUNDS + 1)
    ]
    return facts(
        workloads=dict.fromkeys(readme.WORKLOADS, told),
        peers={side: {"version": "1", "about": "-"} for side in readme.SIDES},
        runs=[{**run, "metering_cpu_s": 0.01} for run in runs],
        **changes,
    )


def runs_but(**without: Any) -> list[findings.Run]:
    """Return the runs of complete results, without the runs that have these values."""
    return [
        run for run in whole()["runs"] if any(run[key] != value for key, value in without.items())
    ]


def kept(folder: Path, name: str, told: findings.Facts) -> None:
    """Write a result and its page."""
    results.write(folder / f"{name}-some-processor-2-cores.json", told)


EMPTY = f"before\n{readme.BEGINS}\n{readme.ENDS}\nafter\n"


def test_the_readme_takes_the_newest_usual_results(tmp_path: Path) -> None:
    assert readme.updated(EMPTY, tmp_path) == EMPTY
    kept(tmp_path, "2026-11-22-suite", whole())
    kept(tmp_path, "2026-11-23-suite", whole(date="2026-11-23"))
    kept(tmp_path, "2026-11-26-memory-by-scale", whole())
    after = readme.updated(EMPTY, tmp_path)
    assert "before\n" in after
    assert "2026-11-23, commit 0123456789ab" in after
    assert "2026-11-23-suite-some-processor-2-cores.md)" in after
    # The name of a result does not contain all of its facts.
    kept(tmp_path, "2026-11-24-suite", facts())
    assert readme.updated(after, tmp_path) == after


@pytest.mark.parametrize(
    "told",
    [
        facts(),
        whole(scale=0.1),
        whole(wal_level="replica"),
        whole(over="tls"),
        whole(parts=16),
        whole(benchmark="two_scales"),
        whole(machine={**facts()["machine"], "postgresql": "PostgreSQL 15.18 on x86_64"}),
        {**whole(), "runs": runs_but(workload="rejects")},
        {**whole(), "runs": runs_but(side="duckdb")},
        {**whole(), "runs": runs_but(workload="narrow", side="adbc")},
        {**whole(), "runs": runs_but(workload="narrow", side="inrush", round=5)},
        {**whole(), "runs": runs_but(workload="narrow", side="adbc", round=5)},
        {
            **whole(),
            "runs": runs_but(workload="narrow", side="adbc"),
            "not_run": [{"workload": "narrow", "side": "adbc", "why": "failed: no memory"}],
        },
        {**whole(), "runs": [*whole()["runs"], {**whole()["runs"][0], "streams": 4}]},
    ],
)
def test_the_readme_takes_no_piece_and_no_other_set_up(
    told: findings.Facts, tmp_path: Path
) -> None:
    kept(tmp_path, "2026-11-23-suite", told)
    assert readme.newest(tmp_path) is None


def test_a_side_that_did_not_end_makes_no_piece_of_a_result(tmp_path: Path) -> None:
    without = {**whole(), "runs": runs_but(workload="narrow", side="adbc")}
    kept(tmp_path, "2026-11-23-suite", {**without, "stopped": [stop_of("adbc")]})
    assert "stopped after" in readme.updated(EMPTY, tmp_path)
    cannot = {"workload": "narrow", "side": "adbc", "why": "it cannot"}
    kept(tmp_path, "2026-11-24-suite", {**without, "not_run": [cannot]})
    newest = readme.newest(tmp_path)
    assert newest is not None
    assert newest.name.startswith("2026-11-24")


def test_the_readme_has_the_newest_results() -> None:
    text = readme.README.read_text()
    assert readme.updated(text, readme.RESULTS) == text, "make bench, or benchmarks/readme.py"


def test_kernels_are_judged_by_the_median_of_ratios_within_a_round() -> None:
    def run(number: int, group: str, case: str, parameter: str, cpu_ns: float) -> kernels.Run:
        return kernels.Run(number, group, case, parameter, 1_000, cpu_ns, cpu_ns / 2)

    runs = []
    # The machine is half as fast in the second round, for all sides.
    for number, slow in ((1, 1), (2, 2), (3, 1)):
        runs += [
            run(number, "text to columns", "tbl", "avx2", 1_000 * slow),
            run(number, "text to columns", "nullable", "avx2", 1_125 * slow),
            run(number, "text to columns", "csv", "avx2", 1_000 * slow),
            run(number, "arrow-csv", "csv", "batches of 1024", 9_000 * slow),
            # The peer's best setting counts.
            run(number, "arrow-csv", "csv", "batches of 8192", 8_500 * slow),
        ]
    found = {one["what"]: one for one in kernels.judged(runs)}
    assert {what: (one["rounds"], one["median"], one["is_met"]) for what, one in found.items()} == {
        "text to columns, AVX2": ([1, 0.5, 1], 1, True),
        "arrow-csv, CSV to columns": ([1 / 8.5, 1 / 17, 1 / 8.5], 1 / 8.5, None),
        "csv: rate / arrow-csv's": ([8.5, 8.5, 8.5], 8.5, True),
        "nullable columns without a NULL: time / not nullable, AVX2": (
            [1.125, 1.125, 1.125],
            1.125,
            False,
        ),
    }
    assert {what: one["fastest_sample"] for what, one in found.items()} == {
        "text to columns, AVX2": 2,
        "arrow-csv, CSV to columns": 1 / 4.25,
        "csv: rate / arrow-csv's": None,
        "nullable columns without a NULL: time / not nullable, AVX2": None,
    }


def test_kernels_are_read_as_criterion_writes_them(tmp_path: Path) -> None:
    new = tmp_path / "text_to_columns" / "tbl" / "avx512" / "new"
    new.mkdir(parents=True)
    about = {
        "group_id": "text to columns",
        "function_id": "tbl",
        "value_str": "avx512",
        "throughput": {"BytesDecimal": 3_000},
    }
    (new / "benchmark.json").write_text(json.dumps(about))
    estimates = {"median": {"point_estimate": 1_500.0}, "mean": {"point_estimate": 1_600.0}}
    (new / "estimates.json").write_text(json.dumps(estimates))
    samples = {"iters": [1.0, 2.0, 2.0], "times": [1_500.0, 2_800.0, 3_200.0]}
    (new / "sample.json").write_text(json.dumps(samples))
    (read,) = kernels.read(tmp_path, 4)
    assert read == kernels.Run(4, "text to columns", "tbl", "avx512", 3_000, 1_500.0, 1_400.0)
    assert read.rate == 2.0
