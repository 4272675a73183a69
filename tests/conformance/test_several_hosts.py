"""Several processes load one run: together they load the same rows as one process.

`inrush run --shares N` holds the run, and `inrush join` loads one share of it, as it would on
another host. Here all processes are on one machine, but they share only a folder and the files.
"""

from __future__ import annotations

import gzip
import json
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from conformance.abilities import claims
from conformance.canonical import Row
from conformance.conftest import MakePlace
from conformance.destinations import PLACES, Place, in_order
from conformance.test_fed_files import ROWS as ROWS_FED
from conformance.test_fed_files import make as make_fed
from harness import polling
from harness.command import (
    CLEAN,
    FAILED,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    Inrush,
    Outcome,
    Running,
)
from harness.packages import Value, flow
from harness.pauses import wait_for_note

# The destinations that have the ability; the others refuse it (test_abilities.py).
ABLE = [kind for kind in PLACES if "several hosts" in claims()[kind.title]]
TYPES = ("integer", "text")
TABLE = "loaded"
FILES = 6
ROWS_OF_A_FILE = 400
# In each file this row has a text in place of its number.
BAD = 7
BOTH = (1, 2)


class Hosts:
    """A package of several files with rejects, and the processes that load it."""

    def __init__(self, place: Place, inrush: Inrush, *, rows_max: int = 100) -> None:
        self.place = place
        self.inrush = inrush
        for file in range(FILES):
            inrush.write(f"part.{file}.csv", "id,note\n" + "".join(map(_line, _numbers(file))))
        numbers = [number for file in range(FILES) for number in _numbers(file)]
        good = [number for number in numbers if not _is_bad(number)]
        self.rows: list[Row] = in_order([(str(number), f"note {number}") for number in good])
        self.package = self.write(rows_max=rows_max)

    def write(self, name: str = "package.toml", *, rows_max: int = 100, **run: Any) -> Path:
        """Write a package; `run` has further settings of its `[run]`."""
        columns: list[Value] = ["id integer not null", "note text"]
        rejects: dict[str, Value] = {"rows_max": rows_max}
        one = flow(TABLE, "part.*.csv", columns=columns, rejects=rejects)
        return self.inrush.write(name, self.place.package(one, batch_rows=100, **run))

    def begin(self, *words: str, shares: int = len(BOTH)) -> AbstractContextManager[Running]:
        """Start the process that holds the run, and wait until it has written the plan."""
        running = self.inrush.start("run", self.package, f"--shares={shares}", *words)
        wait_for_note(self.inrush, running, "waits for")
        return running

    @property
    def plan(self) -> Path:
        """The plan of the only run."""
        (found,) = self.inrush.folder.glob("runs/*/plan.json")
        return found

    def join(
        self, share: int, *words: str, fault: str = "", package: Path | None = None
    ) -> Outcome:
        """Load a share."""
        environment = {"INRUSH_FAULT": fault} if fault else {}
        package = package or self.package
        return self.inrush(
            "join", package, self.plan, f"--share={share}", *words, environment=environment
        )

    @property
    def found(self) -> list[Row] | None:
        """The rows that a reader finds now; None if there is no table."""
        return self.place.rows(TABLE, TYPES)

    def assert_done(self, outcome: Outcome) -> None:
        """Fail unless each row was loaded exactly once, with the right rejects and account."""
        report = outcome.expect(LOADED_WITH_REJECTS).report
        assert self.found == self.rows
        assert self.place.tables() == {TABLE}
        account = report["account"]
        assert account["rows_loaded"] == len(self.rows)
        assert account["rows_rejected"] == FILES
        assert [reject["value"] for reject in outcome.rejects()] == ["x"] * FILES
        assert all(unit["finished"] for unit in report["units"])


def _numbers(file: int) -> range:
    return range(file * ROWS_OF_A_FILE, (file + 1) * ROWS_OF_A_FILE)


def _is_bad(number: int) -> bool:
    return number % ROWS_OF_A_FILE == BAD


def _line(number: int) -> str:
    return f"x,note {number}\n" if _is_bad(number) else f"{number},note {number}\n"


@pytest.fixture(params=ABLE, ids=lambda kind: kind.name)
def hosts(request: pytest.FixtureRequest, make_place: MakePlace, inrush: Inrush) -> Hosts:
    """Return the package and its processes, for each destination that has the ability."""
    return Hosts(make_place(request.param, inrush.folder), inrush)


def facts(outcome: Outcome) -> dict[str, Any]:
    """Return what two reports of the same load must have in common.

    Left out are times, names of runs, and the hash of the plan, which depends on the paths of the
    files.
    """
    report = json.loads(json.dumps(outcome.report).replace(f"{outcome.folder}/", ""))
    units = [
        {name: unit[name] for name in unit if name not in ("meter", "kept", "staging_table")}
        for unit in report["units"]
    ]
    rejects = sorted(report["rejects"], key=lambda reject: (reject["file"], reject["line"]))
    same = ("outcome", "exit_status", "account", "tables", "error", "package_hash")
    return {name: report[name] for name in same} | {"units": units, "rejects": rejects}


@pytest.mark.clause("D-40")
def test_shares_are_one_run(hosts: Hosts, make_place: MakePlace, tmp_path: Path) -> None:
    with hosts.begin() as held:
        for share in BOTH:
            outcome = hosts.join(share, f"--streams={share}")
            outcome.expect(LOADED_WITH_REJECTS, f"share {share} of run", "3 units")
            assert hosts.found is None or share == BOTH[-1]
        together = held.wait()
    hosts.assert_done(together)
    assert not together.report["resumed"]
    assert {unit["kept"] for unit in together.report["units"]} == {False}
    # The first process has one stream, and the second process has two.
    streams = together.report["streams"]
    assert [stream["stream"] for stream in streams] == [1, 2, 3]
    assert sum(stream["meter"]["rows"] for stream in streams) == len(hosts.rows)
    assert "verdict" not in together.report

    folder = tmp_path / "alone"
    folder.mkdir()
    alone = Hosts(make_place(type(hosts.place), folder), Inrush(folder))
    outcome = alone.inrush("run", alone.package)
    alone.assert_done(outcome)
    assert facts(together) == facts(outcome)
    assert _texts(together) == _texts(outcome)
    hosts.inrush("run", hosts.package).expect(LOADED_WITH_REJECTS, "already loaded")


def _texts(outcome: Outcome) -> dict[str, bytes]:
    """Return the reject files of the newest run, without the folder in their paths."""
    files = (outcome.run_folders()[-1] / "rejects").iterdir()
    folder = f"{outcome.folder}/".encode()
    texts = sorted(path.read_bytes().replace(folder, b"") for path in files)
    return {str(number): text for number, text in enumerate(texts)}


@pytest.mark.clause("D-40")
@pytest.mark.parametrize(
    "point",
    ["in_copy", "before_unit_commit:2", "unit_commit_sent:2", "after_unit_commit:3"],
)
def test_a_share_is_resumed(hosts: Hosts, point: str) -> None:
    with hosts.begin() as held:
        died = hosts.join(1, "--streams=1", fault=point)
        assert died.status == -signal.SIGKILL, died.said
        hosts.join(2).expect(LOADED_WITH_REJECTS)
        again = hosts.join(1).expect(LOADED_WITH_REJECTS)
        assert ("were loaded before" in again.output) == (point != "in_copy")
        ended = held.wait()
    hosts.assert_done(ended)


@pytest.mark.clause("D-40")
def test_a_share_that_is_loaded_is_not_loaded_again(hosts: Hosts) -> None:
    with hosts.begin() as held:
        first = hosts.join(1).expect(LOADED_WITH_REJECTS)
        again = hosts.join(1).expect(LOADED_WITH_REJECTS, "3 of them were loaded before")
        assert "3 of them" not in first.said
        hosts.join(2).expect(LOADED_WITH_REJECTS)
        ended = held.wait()
    hosts.assert_done(ended)
    # The report has the times of the first process; those of the second are empty.
    streams = ended.report["streams"]
    assert sum(stream["meter"]["rows"] for stream in streams) == len(hosts.rows), again.said


@pytest.mark.clause("D-40")
def test_a_share_is_loaded_by_one_process_at_a_time(hosts: Hosts) -> None:
    with hosts.begin() as held:
        words = ("join", hosts.package, hosts.plan, "--share=1")
        with hosts.inrush.stopped_by("stop:before_unit_commit", *words) as first:
            hosts.join(1).expect(FAILED, "share 1 is being loaded by process")
            first.resume().wait().expect(LOADED_WITH_REJECTS)
        hosts.join(2).expect(LOADED_WITH_REJECTS)
        hosts.assert_done(held.wait())


@pytest.mark.clause("D-40", "D-41")
@pytest.mark.parametrize("point", ["before_switch", "in_switch", "after_switch_commit"])
def test_the_process_that_holds_the_run_is_killed(hosts: Hosts, point: str) -> None:
    """The same command, without shares, finishes the run: nothing that the hosts loaded is lost."""
    fault = {"INRUSH_FAULT": point}
    with hosts.inrush.start("run", hosts.package, "--shares=2", environment=fault) as held:
        wait_for_note(hosts.inrush, held, "waits for")
        for share in BOTH:
            hosts.join(share).expect(LOADED_WITH_REJECTS)
        assert held.wait().status == -signal.SIGKILL
    ended = hosts.inrush("run", hosts.package)
    assert hosts.found == hosts.rows, ended.said
    if point != "after_switch_commit":
        hosts.assert_done(ended)
        assert {unit["kept"] for unit in ended.report["units"]} == {True}


def _published(hosts: Hosts, late: Running) -> str:
    """Let a process without shares load and publish the run, and then resume the late process."""
    hosts.assert_done(hosts.inrush("run", hosts.package))
    late.resume()
    return "is published"


def _taken_over(hosts: Hosts, late: Running) -> str:
    """Let another process take over the run; resume the late process while the other waits."""
    with hosts.inrush.start("run", hosts.package, "--shares=1") as held:
        polling.until(lambda: json.loads(hosts.plan.read_text())["run"]["epoch"] == 2, running=held)
        late.resume()
        assert "was taken over by process" in late.process.communicate(timeout=60)[1]
        hosts.join(1).expect(LOADED_WITH_REJECTS)
        hosts.assert_done(held.wait())
    return ""


def _discarded(hosts: Hosts, late: Running) -> str:
    """Discard the run with `inrush cleanup`, and then resume the late process."""
    hosts.inrush("cleanup", *hosts.place.words).expect(CLEAN)
    late.resume()
    return "was discarded"


@pytest.mark.clause("D-41")
@pytest.mark.parametrize("end", [_published, _taken_over, _discarded])
@pytest.mark.parametrize("point", ["after_unit_commit", "in_copy:2", "before_unit_commit:2"])
def test_a_late_process_commits_nothing(
    hosts: Hosts, end: Callable[[Hosts, Running], str], point: str
) -> None:
    """A process was suspended, and the run continued without it: its later COMMIT fails."""
    with hosts.begin() as held:
        words = ("join", hosts.package, hosts.plan, "--share=1", "--streams=1")
        with hosts.inrush.stopped_by(f"stop:{point}", *words) as late:
            held.process.kill()
            held.wait()
            says = end(hosts, late)
            if says:
                late.wait().expect(FAILED, says)
            assert late.process.returncode == FAILED
    rows = hosts.found
    assert rows == (None if end is _discarded else hosts.rows)
    assert hosts.place.tables() == (set() if end is _discarded else {TABLE})
    if end is _discarded:
        hosts.assert_done(hosts.inrush("run", hosts.package))


@pytest.mark.clause("D-34", "D-41")
@pytest.mark.parametrize("point", ["run_entered", "after_unit_commit", "in_copy:2"])
def test_a_late_process_changes_no_rejects(hosts: Hosts, point: str) -> None:
    """While the process was suspended, another one committed its unit and wrote the reject."""
    with hosts.begin() as held:
        words = ("join", hosts.package, hosts.plan, "--share=1", "--streams=1")
        with hosts.inrush.stopped_by(f"stop:{point}", *words) as late:
            held.process.kill()
            held.wait()
            ended = hosts.inrush("run", hosts.package)
            hosts.assert_done(ended)
            before = _reject_files(ended)
            assert late.resume().wait().status == FAILED
    assert _reject_files(ended) == before
    hosts.assert_done(ended)
    (run,) = ended.run_folders()
    assert {path.name for path in run.iterdir() if path.is_dir()} == {"rejects", "shares"}


def _reject_files(outcome: Outcome) -> dict[str, bytes]:
    """Return the contents of the reject files of the newest run, by name."""
    folder = outcome.run_folders()[-1] / "rejects"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.clause("D-40")
def test_a_share_that_nobody_loads_ends_the_run(hosts: Hosts) -> None:
    with hosts.begin("--shares-wait=3") as held:
        ended = held.wait()
    silent = "no process has given a sign of life for 3 s"
    ended.expect(FAILED, silent, "share 2 (no process has begun to")
    assert "`inrush join`" in ended.said
    assert hosts.found is None
    hosts.assert_done(hosts.inrush("run", hosts.package))


@pytest.mark.clause("D-40")
def test_a_process_that_is_suspended_is_not_waited_for(hosts: Hosts) -> None:
    # In this time the other share is loaded even on a busy machine.
    with hosts.begin("--shares-wait=20") as held:
        hosts.join(2).expect(LOADED_WITH_REJECTS)
        words = ("join", hosts.package, hosts.plan, "--share=1", "--streams=1")
        with hosts.inrush.stopped_by("stop:before_unit_commit:2", *words) as late:
            ended = held.wait().expect(FAILED, "share 1 (", "has stopped or was suspended)")
            # No other process has taken over the run, so the units of the late process are kept.
            late.resume().wait().expect(LOADED_WITH_REJECTS)
    assert hosts.found is None, ended.said
    again = hosts.inrush("run", hosts.package)
    hosts.assert_done(again)
    assert {unit["kept"] for unit in again.report["units"]} == {True}


@pytest.mark.clause("D-40")
def test_a_process_that_is_slow_is_waited_for(hosts: Hosts) -> None:
    """It loads for longer than the run waits for a silent process, but it is not silent."""
    wait_s = 8
    share_bytes = sum(
        len(_line(number)) for file in range(0, FILES, 2) for number in _numbers(file)
    )
    # Each host may set its own rate.
    slow = hosts.write("slow.toml", rate_bytes_max=share_bytes // (2 * wait_s))
    with hosts.begin(f"--shares-wait={wait_s}") as held:
        hosts.join(2).expect(LOADED_WITH_REJECTS)
        begun = time.monotonic()
        hosts.join(1, package=slow).expect(LOADED_WITH_REJECTS)
        took_s = time.monotonic() - begun
        ended = held.wait()
    assert took_s > wait_s
    hosts.assert_done(ended)


def _edited(hosts: Hosts, **values: Any) -> None:
    plan = json.loads(hosts.plan.read_text())
    hosts.plan.write_text(json.dumps(plan | values))


@pytest.mark.clause("D-40")
def test_another_plan_is_refused(hosts: Hosts) -> None:
    with hosts.begin() as held:
        written = hosts.plan.read_text()
        version = json.loads(written)["inrush_version"]
        for form in (0, 2):
            # Plans in an older and in a newer form, with only the keys that every form has.
            hosts.plan.write_text(json.dumps({"plan_version": form, "inrush_version": "0.0.7"}))
            says = (f"is a plan in format {form}", "reads format 1", "Inrush 0.0.7")
            hosts.join(1).expect(USAGE, *says)
        hosts.plan.write_text(written)
        _edited(hosts, inrush_version="0.0.7")
        hosts.join(1).expect(USAGE, "written by Inrush 0.0.7", f"this is Inrush {version}")
        hosts.plan.write_text(written[:-20])
        hosts.join(1).expect(FAILED, "plan.json cannot be understood")
        hosts.plan.write_text(written)

        hosts.join(3).expect(USAGE, "there is no share 3", "the shares 1 to 2")
        other = hosts.write("other.toml", rows_max=99)
        hosts.join(1, package=other).expect(USAGE, "plan of the package differs", "the package")
        copy = hosts.inrush.write("plan.json", written)
        moved = hosts.inrush("join", hosts.package, copy, "--share=1")
        moved.expect(USAGE, "is not in that run's folder")
        hosts.inrush("join", hosts.package, "none.json", "--share=1").expect(FAILED, "none.json")
        assert not hosts.place.tables()

        part = hosts.inrush.folder / "part.3.csv"
        text = part.read_text()
        part.write_text(text + "1,more\n")
        hosts.join(1).expect(USAGE, "plan of the package differs", "part.3.csv")
        part.unlink()
        hosts.join(1).expect(USAGE, "plan of the package differs", "5 units here, but 6 there")
        part.write_text(text)
        assert not hosts.place.tables()
        held.process.kill()
        held.wait()
    # The refused commands have changed nothing.
    hosts.assert_done(hosts.inrush("run", hosts.package))


@pytest.mark.clause("D-34", "D-40")
def test_all_hosts_together_keep_to_the_limit_of_rejects(hosts: Hosts) -> None:
    package = hosts.package
    hosts.write(rows_max=FILES - 1)
    with hosts.begin() as held:
        # Each host rejects three rows, so both together exceed the limit.
        for share in BOTH:
            hosts.join(share).expect(LOADED_WITH_REJECTS)
        held.wait().expect(REJECT_LIMIT, f"rejected {FILES} rows", f"the limit is {FILES - 1}")
    assert hosts.found is None
    # A larger limit changes the package, but the command still keeps the loaded units.
    hosts.write(rows_max=FILES)
    ended = hosts.inrush("run", package)
    hosts.assert_done(ended)
    assert {unit["kept"] for unit in ended.report["units"]} == {True}


@pytest.mark.clause("D-34", "D-40")
def test_one_host_keeps_to_the_limit_too(hosts: Hosts) -> None:
    hosts.write(rows_max=2)
    with hosts.begin() as held:
        hosts.join(1, "--streams=1").expect(REJECT_LIMIT, "the limit is 2")
        held.send(signal.SIGINT)
        held.wait().expect(130)
    assert hosts.found is None


@pytest.mark.clause("D-36", "D-40")
def test_a_file_that_is_fed_stays_where_the_run_is_held(hosts: Hosts) -> None:
    fed = make_fed(first=1_000_000)
    hosts.inrush.write("fed.csv.gz", gzip.compress(fed.text.encode(), 1))
    columns: list[Value] = ["id integer not null", "note text"]
    rejects: dict[str, Value] = {"rows_max": 1_000}
    flows = [
        flow(TABLE, "part.*.csv", columns=columns, rejects=rejects),
        flow("fed", "fed.csv.gz", columns=columns, rejects=rejects),
    ]
    hosts.inrush.write("package.toml", hosts.place.package(*flows, streams=2, batch_rows=100))
    with hosts.begin() as held:
        plan = json.loads(hosts.plan.read_text())
        assert {item["flow"] for share in plan["shares"] for item in share} == {0}
        for share in BOTH:
            hosts.join(share).expect(LOADED_WITH_REJECTS)
        ended = held.wait().expect(LOADED_WITH_REJECTS)
    assert hosts.found == hosts.rows
    assert hosts.place.rows("fed", TYPES) == fed.rows
    account = ended.report["tables"][1]["account"]
    assert account["rows_read"] == ROWS_FED + account["rows_skipped"]


@pytest.mark.clause("D-40")
def test_a_pipe_is_refused(hosts: Hosts) -> None:
    columns: list[Value] = ["id integer", "note text"]
    one = flow(TABLE, "/dev/stdin", columns=columns, format={"preset": "csv", "header": True})
    path = hosts.inrush.write("piped.toml", hosts.place.package(one))
    before = ("sh", "-c", 'cat part.0.csv | "$0" "$@"')
    with hosts.inrush.start("run", path, "--shares=2", before=before) as held:
        held.wait().expect(USAGE, "is a pipe", "no other host can read it")
    assert not hosts.place.tables()
