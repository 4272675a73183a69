"""The faults of copies: each runs the command of a scene once, and disturbs it meanwhile.

A moment is a named step of the command, or a byte of the answers of the source. The command is
stopped there (SIGSTOP) while something happens to the source, so no moment depends on time.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from conformance.destinations import Parquet, PostgreSql, quoted
from faults.database_sources.copies import Copy
from faults.database_sources.origins import FileOrigin
from faults.database_sources.scene import CopyScene
from faults.database_sources.writers import TEST
from faults.disturbances import STEPS, SWITCHED_STEPS, UNSWITCHED_STEPS, Struck, crash_of, kill_one
from harness import polling
from harness.command import CLEAN, FAILED, INTERRUPTED, Outcome, Running
from harness.duckdb_files import opened
from harness.proxy import Trouble

Strike = Callable[[CopyScene], Struck]
Fits = Callable[[Copy], bool]
# The source sends about this number of bytes before the first row.
CATALOG_BYTES = 8_000


@dataclass(frozen=True)
class CopyDisturbance:
    """A kind of fault."""

    name: str
    strike: Strike
    # The copies that it can hit.
    fits: Fits


KINDS: dict[str, CopyDisturbance] = {}


def _kind(fits: Fits = lambda copy: bool(copy)) -> Callable[[Strike], Strike]:
    def enter(strike: Strike) -> Strike:
        KINDS[strike.__name__] = CopyDisturbance(strike.__name__, strike, fits)
        return strike

    return enter


def _has_server(copy: Copy) -> bool:
    return copy.source == "postgresql"


def _step(scene: CopyScene, steps: list[str]) -> str:
    """Return one of these steps; for frequent steps, one of the first few times."""
    point = scene.numbers.choice(steps)
    if "unit" in point or "copy" in point:
        return f"{point}:{scene.numbers.choice([1, 1, 2, 3])}"
    return point


def _answer_byte(scene: CopyScene) -> int:
    """Return the number of a byte in the source's answers: before the rows, or among them."""
    if scene.numbers.random() < 0.25:
        return scene.numbers.randint(1, CATALOG_BYTES)
    return scene.numbers.randint(1, CATALOG_BYTES + scene.answer_bytes // 3)


def _at_some_moment(scene: CopyScene, act: Callable[[Running], bool]) -> tuple[str, bool, Outcome]:
    """Stop the command at a step or at a byte, do something, and let it continue."""
    if not _has_server(scene.copy) or scene.numbers.random() < 0.35:
        step = _step(scene, STEPS)
        with scene.start(fault=f"stop:{step}") as running:
            hit = running.stops() and act(running)
            running.resume()
            return f"at {step}", hit, scene.end(running)
    trouble = Trouble("stall", after_answer_bytes=_answer_byte(scene))
    scene.server.proxy.begin(trouble)
    with scene.start() as running:
        hit = polling.before_the_end_of(running, trouble.struck.is_set)
        if hit:
            running.send(signal.SIGSTOP)
            hit = running.stops()
        trouble.healed.set()
        hit = hit and act(running)
        running.resume()
        return str(trouble), hit, scene.end(running)


def _killed(scene: CopyScene, steps: list[str]) -> tuple[str, bool]:
    """Let the command die at one of these steps; return the step and whether it was reached."""
    step = _step(scene, steps)
    outcome = scene.command(fault=step)
    hit = outcome.status == -signal.SIGKILL
    point = step.partition(":")[0]
    assert hit == (f"INRUSH_FAULT: died at {point}" in outcome.errors), outcome.said
    scene.rest()
    if not hit:
        outcome.expect(CLEAN)
    # A COMMIT on its way to a server when the command dies may be lost: both outcomes are right.
    is_open = point == "switch_commit_sent" and isinstance(scene.place, PostgreSql)
    if hit and not is_open and not scene.copy.is_incremental and not scene.publishes_each:
        assert scene.is_loaded == (point in (*SWITCHED_STEPS, "before_tidying")), step
    return step, hit


@_kind()
def killed_at_step(scene: CopyScene) -> Struck:
    """`kill -9` of the command at a named step, which shows that the command reached the step."""
    steps = [*UNSWITCHED_STEPS, *SWITCHED_STEPS]
    if isinstance(scene.place, Parquet):
        steps.append("before_tidying")
    step, hit = _killed(scene, steps)
    return Struck(f"kill -9 at {step}", hit)


@_kind(_has_server)
def killed_at_byte(scene: CopyScene) -> Struck:
    """`kill -9` of the command at a byte of the source's answers."""
    trouble = Trouble("stall", after_answer_bytes=_answer_byte(scene))
    scene.server.proxy.begin(trouble)
    with scene.start() as running:
        hit = polling.before_the_end_of(running, trouble.struck.is_set)
        running.send(signal.SIGKILL)
        trouble.healed.set()
        outcome = scene.end(running)
    return Struck(f"kill -9, {trouble}", hit and outcome.status == -signal.SIGKILL)


@_kind()
def signalled(scene: CopyScene) -> Struck:
    """SIGINT or SIGTERM."""
    which = scene.numbers.choice([signal.SIGINT, signal.SIGTERM])

    def send(running: Running) -> bool:
        running.send(which)
        return True

    when, hit, outcome = _at_some_moment(scene, send)
    return Struck(f"{which.name} {when}", hit and outcome.status in (INTERRUPTED, -which))


@_kind(_has_server)
def sessions_ended(scene: CopyScene) -> Struck:
    """End one of its sessions in the source, or all, as an administrator does."""
    all_of_them = scene.numbers.random() < 0.3

    def end(_: Running) -> bool:
        sessions = scene.server.readers()
        if not sessions:
            return False
        chosen = sessions if all_of_them else [scene.numbers.choice(sessions)]
        ended = "SELECT pg_terminate_backend(pid, 10000) FROM (VALUES {}) AS t (pid)"
        listed = ", ".join(f"({pid})" for pid in chosen)
        return any(done for (done,) in scene.server.database.rows(ended.format(listed)))

    when, hit, _ = _at_some_moment(scene, end)
    return Struck(f"{'all sessions' if all_of_them else 'a session'} ended {when}", hit)


@_kind(_has_server)
def statements_cancelled(scene: CopyScene) -> Struck:
    """Cancel a statement of one of its sessions in the source."""
    passed = scene.numbers.randint(0, 12)
    cancel = (
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' "
        "AND datname = current_database() AND application_name = 'inrush source'"
    )
    with scene.server.database.connect() as canceller, scene.start() as running:
        seen = 0
        while running.process.poll() is None:
            # Some statements pass first, so that a different one is cancelled each time.
            asked = cancel if seen >= passed else cancel.replace("pg_cancel_backend(pid)", "true")
            if canceller.execute(asked.encode()).fetchone():
                seen += 1
        outcome = scene.end(running)
    hit = "cancel" in outcome.said
    return Struck(f"statements cancelled after {passed}", hit, is_timed=True)


@_kind(_has_server)
def backend_killed(scene: CopyScene) -> Struck:
    """`kill -9` of a backend of the source, whose server then restarts."""
    when, hit, _ = _at_some_moment(scene, lambda _: kill_one(scene.server.readers(), scene.numbers))
    scene.server.stand.await_server()
    return Struck(f"kill -9 of a backend {when}", hit)


@_kind(_has_server)
def server_crashed(scene: CopyScene) -> Struck:
    """`pg_ctl restart -m immediate` of the source, or `kill -9` of its first process."""
    stand = scene.server.stand
    how, crash = crash_of(stand.server, scene.numbers, lambda: bool(scene.server.readers()))
    when, hit, _ = _at_some_moment(scene, crash)
    stand.await_server()
    return Struck(f"{how} of the source {when}", hit)


@_kind(_has_server)
def server_down(scene: CopyScene) -> Struck:
    """Kill the command, stop the source, and run the command: it fails and changes nothing."""
    step, hit = _killed(scene, UNSWITCHED_STEPS)
    before = scene.last
    scene.server.stand.server.stop("fast")
    with scene.start_unseen() as running:
        outcome = scene.end(running)
    assert outcome.status == FAILED, outcome.said
    scene.rest()
    assert scene.last == before, outcome.said
    return Struck(f"the source is down after kill -9 at {step}", hit)


@_kind(_has_server)
def network_cut(scene: CopyScene) -> Struck:
    """Cut its connections to the source; one end or both ends notice the cut."""
    trouble = Trouble(
        scene.numbers.choice(["cut", "cut", "server_gone", "client_gone"]),
        after_answer_bytes=_answer_byte(scene),
        hits_all=scene.numbers.random() < 0.5,
    )
    scene.server.proxy.begin(trouble)
    with scene.start() as running:
        scene.end(running)
    scene.server.keeps_connections = scene.numbers.random() < 0.5
    return Struck(str(trouble), trouble.struck.is_set())


@_kind(_has_server)
def network_stalled(scene: CopyScene) -> Struck:
    """No bytes come from the source for a while, or until the user interrupts the command."""
    trouble = Trouble("stall", after_answer_bytes=_answer_byte(scene))
    heals = scene.numbers.random() < 0.4
    scene.server.proxy.begin(trouble)
    with scene.start() as running:
        hit = polling.before_the_end_of(running, trouble.struck.is_set)
        if heals:
            trouble.healed.set()
            outcome = scene.end(running)
            outcome.expect(CLEAN)
        else:
            running.send(signal.SIGINT)
            try:
                running.process.wait(5)
            except subprocess.TimeoutExpired:
                running.send(signal.SIGINT)
            scene.end(running)
    trouble.healed.set()
    return Struck(f"{trouble}{', healed' if heals else ', given up'}", hit)


@_kind(lambda copy: not any(flow.is_stable for flow in copy.flows))
def source_changed(scene: CopyScene) -> Struck:
    """Kill the command and change the source; staged rows are not mixed with the new rows."""
    step, hit = _killed(scene, UNSWITCHED_STEPS)
    scene.origin.change(scene.numbers)
    scene.may_have_changed = True
    return Struck(f"the source changed after kill -9 at {step}", hit)


@_kind(lambda copy: _has_server(copy) and not any(flow.is_stable for flow in copy.flows))
def source_locked(scene: CopyScene) -> Struck:
    """Lock a table of the source and change it; the command waits, and copies the new rows."""
    table = scene.numbers.choice(scene.copy.tables)
    scene.server.end_sessions()
    scene.may_have_changed = True
    with scene.server.database.connect(autocommit=False) as holder:
        holder.execute(f"LOCK TABLE {quoted(table.name)} IN ACCESS EXCLUSIVE MODE".encode())
        with scene.start() as running:
            waits = (
                "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND datname = current_database() AND application_name = 'inrush source'"
            )
            with scene.server.database.connect() as looker:
                hit = polling.before_the_end_of(
                    running, lambda: looker.execute(waits.encode()).fetchone() == (True,)
                )
            number = scene.server.journal.transact(holder, scene.numbers, TEST)
            if hit:
                # The copy has waited for this transaction, so it must show it.
                scene.began_after = scene.server.journal.committed().index(number) + 1
            outcome = scene.end(running)
    outcome.expect(CLEAN)
    return Struck(f"{table.name} locked and changed", hit)


@_kind(lambda copy: not _has_server(copy))
def file_locked(scene: CopyScene) -> Struck:
    """Another program writes to the file that is read: the command reports it."""
    assert isinstance(scene.origin, FileOrigin)
    with opened(scene.origin.file):
        outcome = scene.command()
    scene.rest()
    assert outcome.status in (FAILED, CLEAN), outcome.said
    return Struck("the file is locked", outcome.status == FAILED)
