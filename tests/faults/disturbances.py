"""The faults: each runs the command of a scene once, and disturbs it meanwhile.

A moment is random, or a named step at which the command stops (`stop:POINT`) or dies (`POINT`) by
itself. `struck` is true if the fault hit a running command.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from faults import site
from faults.loads import LARGE_BYTES, Load
from faults.scene import Scene
from harness import kill_points, pauses, polling
from harness.command import FAILED, INTERRUPTED, Outcome, Running
from harness.proxy import Trouble
from harness.servers import Server


@dataclass(frozen=True)
class Struck:
    """The outcome of a fault."""

    what: str
    hit: bool
    # True if the moment is a time; how many such faults hit depends on how busy the machine is.
    is_timed: bool = False

    def of(self, fault: str, *, worked: bool = True) -> Struck:
        """Return the outcome of a fault at this moment; `worked` is false if the fault missed."""
        return replace(self, what=f"{fault} {self.what}", hit=self.hit and worked)


def assert_most_hit(tried: list[Struck]) -> None:
    """Fail if the faults miss their moments, because their scenarios then show nothing."""
    placed = [struck for struck in tried if not struck.is_timed]
    hit = sum(struck.hit for struck in placed)
    print(
        f"{len(tried)} faults tried, {len(placed)} of them at a step or a byte, {hit} of these hit"
    )
    assert hit >= 0.7 * len(placed)


def kill_one(processes: list[int], numbers: random.Random) -> bool:
    """Kill one of the processes, by `kill -9`; false if there is none, or if it has ended."""
    if not processes:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(numbers.choice(processes), signal.SIGKILL)
        return True
    return False


def crash_of(
    server: Server, numbers: random.Random, is_at_work: Callable[[], bool]
) -> tuple[str, Callable[[Running], bool]]:
    """Choose a crash: a description, and a function that returns whether the server was busy."""
    by_kill = numbers.random() < 0.3

    def crash(_: Running) -> bool:
        was_at_work = is_at_work()
        if by_kill:
            server.crash()
        else:
            server.restart("immediate")
        return was_at_work

    return "kill -9" if by_kill else "immediate stop", crash


@dataclass
class Result:
    """The outcome of a scenario."""

    # Its faults; if the load ends early, the last faults are not tried.
    names: list[str]
    struck: list[Struck] = field(default_factory=list)
    seconds: float = 0


Strike = Callable[[Scene], Struck]


@dataclass(frozen=True)
class Disturbance:
    """A kind of fault."""

    name: str
    strike: Strike
    # The loads that it can hit.
    fits: Callable[[Load], bool]
    # True if it needs the proxy before the server.
    needs_proxy: bool = False


KINDS: dict[str, Disturbance] = {}


def _always(load: Load) -> bool:
    del load
    return True


def _kind(
    fits: Callable[[Load], bool] = _always, *, needs_proxy: bool = False
) -> Callable[[Strike], Strike]:
    def enter(strike: Strike) -> Strike:
        name = strike.__name__
        KINDS[name] = Disturbance(name, strike, fits, needs_proxy)
        return strike

    return enter


# The command can only die while a COMMIT is in transit; at all other steps it can also stop.
DYING_STEPS = list(kill_points.ALL)
STEPS = [step for step in DYING_STEPS if not step.endswith("_sent")]
UNSWITCHED_STEPS = list(kill_points.UNSWITCHED)
SWITCHED_STEPS = [kill_points.SWITCHED_OR_NOT, *kill_points.SWITCHED]


def _step(scene: Scene, steps: list[str]) -> str:
    """Return one of these steps; for frequent steps, one of the first few times."""
    point = scene.numbers.choice(steps)
    if "switch" in point or point in ("run_entered", "before_report"):
        return point
    return f"{point}:{scene.numbers.randint(1, 4)}"


def _end(scene: Scene, running: Running) -> Outcome:
    outcome = running.wait(90)
    scene.check_ended(outcome)
    return outcome


def random_moment(
    numbers: random.Random, running: Running, earliest_s: float, latest_s: float
) -> str | None:
    """Wait until a random moment while the command runs; return None if it ended before."""
    moment = numbers.uniform(earliest_s, latest_s)
    try:
        running.process.wait(moment)
    except subprocess.TimeoutExpired:
        return f"after {moment:.3f} s"
    return None


def _random_moment(scene: Scene, running: Running) -> str | None:
    assert scene.reference is not None
    whole_s = scene.reference.seconds
    return random_moment(scene.numbers, running, 0.15 * whole_s, whole_s)


def _at_some_time(scene: Scene, act: Callable[[Running], object]) -> tuple[Struck, Outcome]:
    """Run the command, and do something at a step where it stops, or at a random moment."""
    if scene.numbers.random() < 0.6:
        step = _step(scene, STEPS)
        with scene.start(environment={"INRUSH_FAULT": f"stop:{step}"}) as running:
            stands = running.stops()
            hit = bool(act(running)) if stands else False
            running.resume()
            return Struck(f"at {step}", stands and hit), _end(scene, running)
    with scene.start() as running:
        moment = _random_moment(scene, running)
        hit = bool(act(running)) if moment else False
        return Struck(moment or "too late", hit, is_timed=True), _end(scene, running)


@_kind()
def killed_at_step(scene: Scene) -> Struck:
    """`kill -9` of the command at a named step, which shows that the command reached the step."""
    step = _step(scene, DYING_STEPS)
    outcome = scene.command(environment={"INRUSH_FAULT": step})
    point = step.partition(":")[0]
    hit = outcome.status == -signal.SIGKILL
    assert hit == (f"INRUSH_FAULT: died at {point}" in outcome.errors), outcome.said
    if hit and point in UNSWITCHED_STEPS and scene.load.is_atomic:
        assert not scene.is_loaded
    if hit and point in kill_points.SWITCHED:
        assert scene.is_loaded
    return Struck(f"kill -9 at {step}", hit)


@_kind()
def killed_at_random(scene: Scene) -> Struck:
    """`kill -9` of the command at a random moment."""
    with scene.start() as running:
        moment = _random_moment(scene, running)
        running.send(signal.SIGKILL)
        outcome = _end(scene, running)
    hit = outcome.status == -signal.SIGKILL
    return Struck(f"kill -9 {moment or 'too late'}", hit, is_timed=True)


@_kind()
def signalled(scene: Scene) -> Struck:
    """SIGINT or SIGTERM, once or twice."""
    which = scene.numbers.choice([signal.SIGINT, signal.SIGTERM])
    times = scene.numbers.choice([1, 2])

    def send(running: Running) -> bool:
        for _ in range(times):
            running.send(which)
        return True

    struck, outcome = _at_some_time(scene, send)
    stopped = outcome.status in (INTERRUPTED, -which)
    if stopped and times == 1 and outcome.status == INTERRUPTED:
        pauses.wait_until(scene.database, pauses.sessions_of_inrush(scene.database))
    return struck.of(f"{which.name} {times}x", worked=stopped)


@_kind()
def backend_ended(scene: Scene) -> Struck:
    """End one of its sessions, or all of them, as an administrator does."""
    all_of_them = scene.numbers.random() < 0.3

    def end(_: Running) -> bool:
        backends = scene.backends()
        if not backends:
            return False
        chosen = backends if all_of_them else [scene.numbers.choice(backends)]
        return any(
            scene.database.value(f"SELECT pg_terminate_backend({pid}, 10000)") for pid in chosen
        )

    struck, _ = _at_some_time(scene, end)
    return struck.of(f"{'all sessions' if all_of_them else 'a session'} ended")


@_kind()
def backend_killed(scene: Scene) -> Struck:
    """`kill -9` of a backend: the server restarts and replays its WAL."""
    struck, _ = _at_some_time(scene, lambda _: kill_one(scene.backends(), scene.numbers))
    scene.stand.await_server()
    return struck.of("kill -9 of a backend")


@_kind()
def server_crashed(scene: Scene) -> Struck:
    """`pg_ctl stop -m immediate` and a start, or `kill -9` of the server's first process."""
    how, crash = crash_of(scene.stand.server, scene.numbers, lambda: bool(scene.backends()))
    struck, _ = _at_some_time(scene, crash)
    scene.stand.await_server()
    return struck.of(f"{how} of the server")


def _commits(scene: Scene) -> int:
    assert scene.reference is not None
    return scene.numbers.randint(1, max(1, scene.reference.commits))


@_kind(needs_proxy=True)
def network_cut(scene: Scene) -> Struck:
    """Cut its connections at a byte, or at a COMMIT before or after the server gets it."""
    assert scene.proxy is not None
    assert scene.reference is not None
    trouble = Trouble(
        scene.numbers.choice(["cut", "cut", "server_gone"]),
        hits_all=scene.numbers.random() < 0.5,
    )
    if scene.numbers.random() < 0.6:
        trouble.at_commit = _commits(scene)
        trouble.commit_passes = scene.numbers.random() < 0.6
    else:
        trouble.after_bytes = scene.numbers.randint(1, max(2, scene.reference.sent_bytes))
    scene.proxy.begin(trouble)
    with scene.start() as running:
        _end(scene, running)
    is_told = scene.numbers.random() < 0.5
    held = ""
    if not is_told:
        # The server does not notice the cut, so sessions of streams remain, and the next command
        # must cope with them. A session that holds the run's lock keeps the run until keepalives
        # end it.
        holders = scene.silent_holders()
        if holders and not scene.is_loaded:
            scene.check_held(holders[0], running.process.pid)
            held = ", the run held"
        is_told = bool(holders)
    if is_told:
        # This replaces the keepalives, which the proxy answers.
        scene.proxy.end_connections()
        pauses.wait_until(scene.database, pauses.sessions_of_inrush(scene.database))
    return Struck(f"{trouble}{held}", trouble.struck.is_set())


@_kind(needs_proxy=True)
def network_stalled(scene: Scene) -> Struck:
    """No bytes pass for a while, or until the user interrupts the command."""
    assert scene.proxy is not None
    assert scene.reference is not None
    trouble = Trouble(scene.numbers.choice(["stall", "client_gone"]))
    if scene.numbers.random() < 0.4:
        trouble.at_commit = _commits(scene)
        trouble.commit_passes = scene.numbers.random() < 0.5
    else:
        trouble.after_bytes = scene.numbers.randint(1, max(2, scene.reference.sent_bytes))
    heals = trouble.kind == "stall" and scene.numbers.random() < 0.4
    scene.proxy.begin(trouble)
    with scene.start() as running:
        polling.before_the_end_of(running, trouble.struck.is_set)
        if heals:
            trouble.healed.set()
            _end(scene, running)
        else:
            # The command must end at once although the network is silent: by itself, or on the
            # second signal.
            running.send(signal.SIGINT)
            try:
                running.process.wait(5)
            except subprocess.TimeoutExpired:
                running.send(signal.SIGINT)
            _end(scene, running)
    trouble.healed.set()
    scene.proxy.end_connections()
    return Struck(f"{trouble}{', healed' if heals else ', given up'}", trouble.struck.is_set())


def _is_large(load: Load) -> bool:
    return load.is_large


@_kind()
def disk_full(scene: Scene) -> Struck:
    """Fill the disk of the staging tables, and free it again."""
    database, stand = scene.database, scene.stand
    room = scene.numbers.randint(16, LARGE_BYTES >> 10 if scene.load.is_large else 200) << 10
    if stand.disk is None:
        # The limit is not smaller, because catalogs are files, too.
        room = max(room, 3 << 20)
        with stand.file_limit(room):
            outcome = scene.command()
    else:
        database.execute(f"ALTER DATABASE {database.name} SET default_tablespace = 'small'")
        with stand.full_disk(room):
            outcome = scene.command()
        database.execute(f"ALTER DATABASE {database.name} RESET default_tablespace")
    scene.check_ended(outcome)
    # If an earlier fault has changed a file, the command refuses it before it writes anything.
    hit = outcome.status == FAILED and "changed since" not in outcome.said
    if hit:
        assert "space" in outcome.said or "large" in outcome.said, outcome.said
    return Struck(f"disk full at {room >> 10} KiB", hit)


@_kind(_is_large)
def file_limit(scene: Scene) -> Struck:
    """Let the system refuse files of the server beyond a size."""
    room = scene.numbers.randint(3 << 20, LARGE_BYTES)
    with scene.stand.file_limit(room):
        outcome = scene.command()
    scene.check_ended(outcome)
    hit = outcome.status == FAILED and "changed since" not in outcome.said
    return Struck(f"files of the server end at {room >> 10} KiB", hit)


@_kind(lambda load: bool(load.rejected_rows))
def run_folder_full(scene: Scene) -> Struck:
    """Fill the disk of the run's folder, and free it again."""
    # A run needs a MiB of room at its start; its rejects need half as much again.
    room = scene.numbers.randint(0, 400) << 10
    folder = scene.inrush.folder / "small"
    scene.runs_folder = folder / "runs"
    if not site.mount(folder, (1 << 20) + room + (64 << 10)):
        folder.mkdir(exist_ok=True)
        outcome = scene.command(before=["prlimit", f"--fsize={room}"])
    else:
        outcome = scene.command()
        subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True, capture_output=True)
        scene.mounts.append(folder)
    scene.check_ended(outcome)
    return Struck(f"run folder full at {room >> 10} KiB past 1 MiB", outcome.status == FAILED)


@_kind(lambda load: load.has_target)
def target_locked(scene: Scene) -> Struck:
    """Hold a lock on a target until the command gives up, or until it waits."""
    locked = [target for target in scene.load.targets if scene.before[target] is not None]
    target = scene.numbers.choice(locked)
    mode = scene.numbers.choice(["SHARE", "ROW EXCLUSIVE", "ACCESS EXCLUSIVE"])
    gives_way = scene.numbers.random() < 0.5
    with scene.database.connect(autocommit=False) as holder, scene.start() as running:
        holder.execute(f"LOCK TABLE {target} IN {mode} MODE".encode())
        waits = (
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND datname = current_database() AND application_name LIKE 'inrush%'"
        )
        with scene.database.connect() as looker:
            hit = polling.before_the_end_of(
                running, lambda: looker.execute(waits.encode()).fetchone() == (True,)
            )
        if gives_way:
            running.process.wait(90)
        holder.rollback()
        outcome = _end(scene, running)
    if gives_way and hit:
        assert outcome.status in (FAILED, scene.load.status), outcome.said
    return Struck(f"{mode} lock on {target}", hit)


@_kind(lambda load: load.is_atomic and "rows.tbl.0" in load.files())
def file_changed(scene: Scene) -> Struck:
    """Kill it, and then change one of its files."""
    step = _step(scene, UNSWITCHED_STEPS)
    outcome = scene.command(environment={"INRUSH_FAULT": step})
    if scene.is_loaded:
        return Struck("a file changed: too late", hit=False)
    path = scene.inrush.folder / "rows.tbl.0"
    before = path.stat()
    text = path.read_text()
    number = int(scene.numbers.choice(re.findall(r"\|note ([0-9]+)\|", text)))
    changed = text.replace(f"|note {number}|", f"|NOTE {number}|")
    path.write_text(changed)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    hit = changed != text
    for target, rows in scene.full_rows.items():
        scene.full_rows[target] = [
            (one, key, f"NOTE {number}" if (one, note) == (number, f"note {number}") else note)
            for one, key, note in rows
        ]
        scene.full[target] = scene.digest(scene.full_rows[target])
    return Struck(f"a file changed after kill -9 at {step}", hit and outcome.status < 0)


@_kind()
def frozen_and_taken_over(scene: Scene) -> Struck:
    """Stop it until another process has taken its run over, and then let it continue."""
    step = _step(scene, STEPS)
    with scene.start(environment={"INRUSH_FAULT": f"stop:{step}"}) as first:
        stands = first.stops()
        if stands:
            for pid in scene.backends():
                scene.database.value(f"SELECT pg_terminate_backend({pid}, 10000)")
            scene.finish()
            assert scene.is_loaded
        first.resume()
        outcome = _end(scene, first)
    # In the middle of the switch, the frozen command reads the outcome from the ledger: the run is
    # loaded.
    if stands and step.partition(":")[0] in STEPS[:5]:
        assert outcome.status == FAILED, outcome.said
    return Struck(f"taken over at {step}", stands)


@_kind()
def rival(scene: Scene) -> Struck:
    """Start the same command twice: the second one names the first and changes nothing."""
    step = _step(scene, STEPS[:7])
    with scene.start(environment={"INRUSH_FAULT": f"stop:{step}"}) as first:
        stands = first.stops()
        if stands:
            scene.command().expect(FAILED, "in progress", str(first.process.pid))
        first.resume()
        outcome = _end(scene, first)
    if stands:
        outcome.expect(scene.load.status)
    return Struck(f"a rival at {step}", stands)
