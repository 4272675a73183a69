"""The faults of loads into files: each disturbs the command of a scene once.

A moment is random, or a named step at which the command dies (`POINT`) or stops (`stop:POINT`) by
itself. `hit` is true if the fault hit a running command.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from conformance.destinations import AdbcSqlite, DuckDb, Parquet, Place
from faults import site
from faults.disturbances import STEPS, SWITCHED_STEPS, UNSWITCHED_STEPS, Struck, random_moment
from faults.file_destinations.loads import FileLoad
from faults.file_destinations.scene import DISK_BYTES, FileScene, is_refused_as_changed
from faults.loads import COLUMNS
from harness.command import CLEAN, FAILED, INTERRUPTED, Running

Strike = Callable[[FileScene], Struck]
Fits = Callable[[type[Place], FileLoad], bool]


@dataclass(frozen=True)
class FileDisturbance:
    """A kind of fault."""

    name: str
    strike: Strike
    # The destinations and loads that it can hit.
    fits: Fits


KINDS: dict[str, FileDisturbance] = {}


def _kind(fits: Fits = lambda place, load: bool(place and load)) -> Callable[[Strike], Strike]:
    def enter(strike: Strike) -> Strike:
        KINDS[strike.__name__] = FileDisturbance(strike.__name__, strike, fits)
        return strike

    return enter


def _step(scene: FileScene, steps: list[str]) -> str:
    """Return one of these steps; for frequent steps, one of the first few times."""
    more = [step for step in steps if step != "in_copy"]
    if scene.load.constraints:
        # The loader searches batch by batch for rows that the target refuses.
        more += ["in_careful_copy"] * 3
    point = scene.numbers.choice(["in_copy", *more] if "in_copy" in steps else more)
    if "unit" in point or "copy" in point:
        return f"{point}:{scene.numbers.randint(1, 4)}"
    if scene.publishes_each and "switch" in point and point != "before_switch":
        return f"{point}:{scene.numbers.randint(1, len(scene.load.targets))}"
    return point


def _random_moment(scene: FileScene, running: Running) -> str | None:
    return random_moment(scene.numbers, running, 0.1 * scene.seconds, scene.seconds)


def _killed(scene: FileScene, steps: list[str]) -> tuple[str, bool]:
    """Let the command die at one of these steps; return the step and whether it was reached."""
    step = _step(scene, steps)
    outcome = scene.command(environment={"INRUSH_FAULT": step})
    hit = outcome.status == -signal.SIGKILL
    point = step.partition(":")[0]
    assert hit == (f"INRUSH_FAULT: died at {point}" in outcome.errors), outcome.said
    if not hit:
        scene.expect_end(outcome)
    return step, hit


@_kind()
def killed_at_step(scene: FileScene) -> Struck:
    """`kill -9` of the command at a named step, which shows that the command reached the step."""
    steps = [*UNSWITCHED_STEPS, *SWITCHED_STEPS]
    if isinstance(scene.place, Parquet):
        steps.append("before_tidying")
    step, hit = _killed(scene, steps)
    point = step.partition(":")[0]
    if hit and not scene.publishes_each:
        assert scene.is_loaded == (point in (*SWITCHED_STEPS, "before_tidying")), step
    return Struck(f"kill -9 at {step}", hit)


@_kind()
def killed_at_random(scene: FileScene) -> Struck:
    """`kill -9` of the command at a random moment."""
    with scene.start() as running:
        moment = _random_moment(scene, running)
        running.send(signal.SIGKILL)
        outcome = scene.end(running)
    hit = outcome.status == -signal.SIGKILL
    return Struck(f"kill -9 {moment or 'too late'}", hit, is_timed=True)


@_kind()
def signalled(scene: FileScene) -> Struck:
    """SIGINT or SIGTERM, at a step or at a random moment."""
    which = scene.numbers.choice([signal.SIGINT, signal.SIGTERM])
    is_timed = scene.numbers.random() >= 0.5
    if not is_timed:
        when = _step(scene, STEPS)
        environment = {"INRUSH_FAULT": f"stop_until_asked:{when}"}
        with scene.start(environment=environment) as running:
            hit = running.stops()
            running.send(which)
            running.resume()
            outcome = scene.end(running)
        if hit and when.partition(":")[0] in ("run_entered", "in_copy", "after_unit_commit"):
            outcome.expect(INTERRUPTED)
    else:
        with scene.start() as running:
            moment = _random_moment(scene, running)
            running.send(which)
            outcome = scene.end(running)
        when, hit = moment or "too late", outcome.status in (INTERRUPTED, -which)
    return Struck(f"{which.name} at {when}", hit, is_timed)


@_kind()
def rival(scene: FileScene) -> Struck:
    """Stop it by SIGSTOP: a second command is refused and names the first, which then continues."""
    step = _step(scene, STEPS[:7])
    with scene.start(environment={"INRUSH_FAULT": f"stop:{step}"}) as first:
        hit = first.stops()
        if hit:
            scene.command().expect(FAILED, str(first.process.pid))
            for word in ("status", "cleanup"):
                # Readers cannot open a file while a transaction writes it.
                outcome = scene.inrush(word, *scene.place.words)
                assert outcome.status in (CLEAN, FAILED), outcome.said
                outcome.expect(outcome.status, str(first.process.pid))
        first.resume()
        outcome = scene.end(first)
    scene.expect_end(outcome)
    return Struck(f"a rival at {step}", hit)


@_kind()
def frozen(scene: FileScene) -> Struck:
    """SIGSTOP at a random moment, a read of the target, and SIGCONT: the command ends as usual."""
    with scene.start() as running:
        moment = _random_moment(scene, running)
        if moment is None:
            scene.expect_end(scene.end(running))
            return Struck("frozen too late", hit=False, is_timed=True)
        running.send(signal.SIGSTOP)
        hit = running.stops()
        looked = scene.inrush("status", *scene.place.words)
        assert looked.status in (CLEAN, FAILED), looked.said
        looked.expect(looked.status)
        running.resume()
        outcome = scene.end(running)
    scene.expect_end(outcome)
    return Struck(f"frozen {moment}", hit, is_timed=True)


@_kind()
def disk_full(scene: FileScene) -> Struck:
    """Fill the disk of the destination's files, and free it again."""
    room = scene.numbers.randint(4 << 10, max(8 << 10, scene.used_bytes))
    if scene.has_disk:
        site.resize(scene.disk, room)
        outcome = scene.command()
        site.resize(scene.disk, DISK_BYTES)
    else:
        outcome = scene.command(before=["prlimit", f"--fsize={room}"])
    assert outcome.status in (FAILED, scene.load.status), outcome.said
    outcome.expect(outcome.status)
    hit = outcome.status == FAILED and not is_refused_as_changed(outcome)
    if hit:
        said = outcome.said.lower()
        assert any(word in said for word in ("space", "large", "full")), outcome.said
    return Struck(f"disk full at {room >> 10} KiB", hit)


@_kind()
def run_folder_full(scene: FileScene) -> Struck:
    """Fill the disk of the run's folder, and free it again."""
    folder = scene.inrush.folder / "runs"
    # A run needs a MiB of room at its start.
    room = scene.numbers.randint(0, 1500) << 10
    if scene.runs_disk is None and (folder.exists() or not site.mount(folder, 1 << 20)):
        return Struck("run folder full: no disk for it", hit=False)
    scene.runs_disk = folder
    site.resize(folder, site.used_bytes(folder) + room)
    outcome = scene.command()
    site.resize(folder, DISK_BYTES)
    assert outcome.status in (FAILED, scene.load.status), outcome.said
    outcome.expect(outcome.status)
    return Struck(f"run folder full at {room >> 10} KiB", outcome.status == FAILED)


@_kind(lambda place, _: issubclass(place, (DuckDb, AdbcSqlite)))
def target_locked(scene: FileScene) -> Struck:
    """Another process has the file open: the command reports it, and changes nothing."""
    before = scene.now()
    if isinstance(scene.place, DuckDb):
        with scene.place.connect(read_only=False):
            outcome = scene.command()
        assert outcome.status in (FAILED, scene.load.status), outcome.said
        outcome.expect(FAILED, str(os.getpid()))
    else:
        assert isinstance(scene.place, AdbcSqlite)
        with scene.place.connect() as connection:
            connection.execute("BEGIN EXCLUSIVE")
            outcome = scene.command().expect(FAILED, "locked")
            connection.execute("ROLLBACK")
    assert scene.now() == before
    return Struck("the file is locked", outcome.status == FAILED)


@_kind(lambda _, load: load.appends)
def target_removed(scene: FileScene) -> Struck:
    """Kill it and remove its target: the command names the missing target until it exists again."""
    step, hit = _killed(scene, UNSWITCHED_STEPS)
    if not hit or scene.now() != {t: scene.before_or_none(t) for t in scene.load.targets}:
        return Struck("a target removed: too late", hit=False)
    for table in scene.before:
        scene.place.drop(table)
    scene.command().expect(FAILED, next(iter(scene.before)))
    assert not any(scene.now().values()), "rows without the target that they belong to"
    scene.make_before()
    return Struck(f"a target removed after kill -9 at {step}", hit)


@_kind(lambda _, load: not load.before() and len(load.full()) == 1)
def target_made(scene: FileScene) -> Struck:
    """Kill it and create its target with a row: `create` refuses the target until it is removed."""
    step, hit = _killed(scene, UNSWITCHED_STEPS)
    if not hit:
        return Struck("a target made: too late", hit=False)
    (table,) = scene.load.targets
    rows = [(-1, 0, "not ours")]
    scene.strange_rows.append(rows)
    if scene.place.speaks_sql:
        scene.place.execute(f"CREATE TABLE {table} ({COLUMNS})")
        scene.place.execute(f"INSERT INTO {table} VALUES (-1, 0, 'not ours')")
    else:
        scene.fill(table, rows)
    scene.command().expect(FAILED, table)
    assert scene.rows(table) == rows
    scene.place.drop(table)
    return Struck(f"a target made after kill -9 at {step}", hit)


@_kind(lambda _, load: load.has_free_notes)
def file_changed(scene: FileScene) -> Struck:
    """Kill it, and then change one of its files."""
    step, hit = _killed(scene, UNSWITCHED_STEPS)
    if not hit or any(rows == scene.full[table] for table, rows in scene.now().items()):
        return Struck("a file changed: too late", hit=False)
    path = scene.inrush.folder / "rows.tbl.0"
    before = path.stat()
    text = path.read_text()
    number = scene.numbers.choice(re.findall(r"\|note ([0-9]+)\|", text))
    path.write_text(text.replace(f"|note {number}|", f"|NOTE {number}|"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    scene.full = {
        table: [
            (key, k, f"NOTE {number}") if note == f"note {number}" else (key, k, note)
            for key, k, note in rows
        ]
        for table, rows in scene.full.items()
    }
    return Struck(f"a file changed after kill -9 at {step}", hit)


@_kind()
def cleanup_killed(scene: FileScene) -> Struck:
    """Kill it, and then kill the cleanup of its leftovers; the next cleanup removes the rest."""
    step, hit = _killed(scene, UNSWITCHED_STEPS)
    if not hit:
        return Struck("a cleanup killed: too late", hit=False)
    with scene.inrush.start("cleanup", *scene.place.words) as running:
        try:
            running.process.wait(scene.numbers.uniform(0.01, 0.12))
        except subprocess.TimeoutExpired:
            running.send(signal.SIGKILL)
        hit = running.wait().status == -signal.SIGKILL
    if scene.numbers.random() < 0.5:
        scene.clean_up()
        scene.check_status({0})
    return Struck(f"a cleanup killed after kill -9 at {step}", hit, is_timed=True)
