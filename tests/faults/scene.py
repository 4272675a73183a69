"""One load on one server, for faults: its database, files, package and watchers."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from faults.loads import COLUMNS, Load, Row
from faults.site import Stand
from harness import pauses
from harness.command import CLEAN, FAILED, INTERRUPTED, Inrush, Outcome, Running
from harness.contents import contents, staging_tables
from harness.packages import package
from harness.proxy import Proxy
from harness.servers import Database
from harness.watcher import Digest, Watcher

PACKAGE = "package.toml"
# The sessions that hold the lock of a load.
HOLDERS = (
    "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = current_database() "
    "AND locktype = 'advisory' AND objsubid = 1 AND granted "
    "AND application_name ~ '^inrush (plan|.* control)$'"
)


def check_ended(outcome: Outcome, status: int) -> None:
    """Fail if a disturbed command ended in a way that no fault explains."""
    assert "panicked at" not in outcome.said, outcome.said
    # While Python starts, a signal ends the command in Python's own way.
    if "KeyboardInterrupt" not in outcome.errors:
        assert "Traceback" not in outcome.said, outcome.said
    else:
        assert outcome.status in (1, INTERRUPTED, -signal.SIGINT), outcome.said
        return
    ends = {status, FAILED, INTERRUPTED}
    assert outcome.status in ends or outcome.status < 0, f"{outcome.status}: {outcome.said}"
    if outcome.status == FAILED:
        assert "error:" in outcome.errors, outcome.said


@dataclass
class Reference:
    """The targets after a load without faults."""

    full: dict[str, Digest]
    # The seconds of the load, and the bytes that it sends.
    seconds: float
    sent_bytes: int
    commits: int


@dataclass
class Scene:
    """A load under faults."""

    stand: Stand
    database: Database
    load: Load
    inrush: Inrush
    numbers: random.Random
    proxy: Proxy | None = None
    server_copy: str = "plain"
    reference: Reference | None = None
    # The folder of runs if it is elsewhere, such as on a small disk.
    runs_folder: Path | None = None
    # File systems to be unmounted at the end.
    mounts: list[Path] = field(default_factory=list)
    before: dict[str, Digest | None] = field(default_factory=dict)
    full_rows: dict[str, list[Row]] = field(default_factory=dict)
    full: dict[str, Digest] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make files, targets and package."""
        for name, content in self.load.files().items():
            self.inrush.write(name, content)
        if self.load.setup:
            self.database.execute(self.load.setup)
        self.full_rows = dict(self.load.full())
        self.full = dict(self.reference.full) if self.reference else {}
        # The timeout also limits the wait of streams that extend a shared table at the same time,
        # which takes longer on a busy machine.
        text = package(
            self.url, *self.load.flows, lock_timeout_ms=3000, server_copy=self.server_copy
        )
        self.inrush.write(PACKAGE, text)
        with self.database.connect() as connection:
            self.before = {
                target: Watcher(self.database, target).look(connection)
                for target in self.load.targets
            }

    @property
    def url(self) -> str:
        """The URL in the package: the socket, or TCP through the proxy."""
        if self.proxy is None:
            return self.database.url
        server = self.database.server
        place = f"127.0.0.1:{self.proxy.port}/{self.database.name}"
        return f"postgresql://{server.user}@{place}?sslmode=disable"

    def start(self, **options: dict[str, str] | list[str]) -> Running:
        """Start the command, which is the same each time."""
        words: list[str | Path] = ["run", PACKAGE, "--quiet"]
        if self.runs_folder is not None:
            words += ["--runs-folder", self.runs_folder]
        return self.inrush.start(*words, **options)  # type: ignore[arg-type]

    def command(self, **options: dict[str, str] | list[str]) -> Outcome:
        """Run it to its end."""
        with self.start(**options) as running:
            return running.wait(120)

    def digest(self, rows: list[Row]) -> Digest:
        """Return a watcher's view of a target with these rows."""
        with self.database.connect() as connection:
            connection.execute(f"CREATE TEMPORARY TABLE known ({COLUMNS})".encode())
            with connection.cursor().copy(b"COPY known FROM STDIN") as copy:
                copy.write("".join(f"{a}\t{b}\t{c}\n" for a, b, c in rows))
            found = Watcher(self.database, "known").look(connection)
        assert found is not None
        return found

    def now(self) -> dict[str, Digest | None]:
        """Return the current rows of the targets."""
        return {target: Watcher(self.database, target).now() for target in self.load.targets}

    @property
    def is_loaded(self) -> bool:
        """Whether the targets have all rows; an atomic load must have loaded all or none."""
        now = self.now()
        if now == self.full:
            return True
        if not self.load.is_atomic:
            return False
        assert now == self.before, f"neither as before nor loaded: {now}"
        return False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch every target all the time; fail if one was ever seen half loaded."""
        watchers = [Watcher(self.database, target, pause_s=0.004) for target in self.load.targets]
        with ExitStack() as stack:
            for watcher in watchers:
                stack.enter_context(watcher)
            yield
        if not self.load.is_atomic:
            # Rows are visible as soon as they are committed.
            return
        for watcher in watchers:
            allowed = {self.before[watcher.table], self.full[watcher.table]}
            assert watcher.seen <= allowed, (
                f"{watcher.table} was seen half loaded: {watcher.seen}, allowed {allowed}"
            )

    def check_ended(self, outcome: Outcome) -> None:
        """Fail if a disturbed command ended in a way that no fault explains."""
        check_ended(outcome, self.load.status)

    def finish(self) -> Outcome:
        """Run the same command again: it must succeed at the first try."""
        outcome = self.command()
        if outcome.status == FAILED and "changed" in outcome.said:
            # A changed file is refused until the stopped run is abandoned.
            self.inrush("cleanup", "--to", self.database.url).expect(CLEAN)
            outcome = self.command()
        # If the rows were loaded before the fault, the status is that of the run that loaded them.
        return outcome.expect(self.load.status)

    def silent_holders(self) -> list[int]:
        """Return the backends that hold a load's lock and have not noticed their cut network."""
        assert self.proxy is not None
        ports = ", ".join(map(str, self.proxy.stalled_ports()))
        rows = self.database.rows(
            f"SELECT DISTINCT pid {HOLDERS} AND client_port = ANY ('{{{ports}}}')"
        )
        return [pid for (pid,) in rows]

    def check_held(self, holder: int, process: int) -> None:
        """Fail unless a run is held by the session of a process that is gone.

        The server notices only by keepalives that the process is gone. Until then `inrush status`
        says that the run is held. The same command names the process and the session, and changes
        nothing.
        """
        before = self.now()
        outcome = self.inrush("status", "--to", self.database.url, "--json").expect(CLEAN)
        entered = json.loads(outcome.output)
        assert all(run["held"] for run in entered), outcome.said
        refused = self.command().expect(FAILED, f"backend {holder} ", "pg_terminate_backend")
        if entered:
            refused.expect(FAILED, "in progress", f"process {process} ")
        assert self.now() == before, "a command that was refused changed a target"

    def check_status(self) -> None:
        """Fail unless `inrush status` lists a stopped run if and only if there is one."""
        # The run is still held by a session that the server has not ended yet.
        pauses.wait_until(self.database, f"SELECT count(*) = 0 {HOLDERS}")
        stopped = 0
        if self.database.value("SELECT to_regclass('inrush.run') IS NOT NULL"):
            stopped = self.database.value("SELECT count(*) FROM inrush.run WHERE state = 'loading'")
        outcome = self.inrush("status", "--to", self.database.url, "--json").expect(CLEAN)
        told = json.loads(outcome.output)
        assert len(told) == stopped, outcome.said
        assert all(not run["held"] for run in told), outcome.said

    def clean_up(self) -> None:
        """Remove the leftovers of a stopped run, and fail unless exactly these are gone."""
        before = self.now()
        self.inrush("cleanup", "--to", self.database.url).expect(CLEAN)
        self.check_nothing_staged()
        assert self.now() == before, "cleanup changed a target"

    def check_nothing_staged(self) -> None:
        """Fail if there is a staging table; tables that a replacement keeps do not count."""
        found = staging_tables(self.database)
        left = [name for name in found if not (self.load.keeps and "_kept_" in name)]
        assert left == [], left

    def check_no_members_wait(self) -> None:
        """Fail if the ledger still has numbers of members that were not added."""
        if self.database.value("SELECT to_regclass('inrush.inferred_member') IS NOT NULL"):
            assert self.database.value("SELECT count(*) FROM inrush.inferred_member") == 0

    def check_loaded(self) -> None:
        """Fail unless the targets have exactly the right rows, and nothing is left behind."""
        for target, rows in self.full_rows.items():
            query = f"SELECT id, k, note FROM {target} ORDER BY id, k"
            found = contents(self.database, query, binary=False).text
            wanted = tuple(f"{number}\t{key}\t{note}" for number, key, note in rows)
            assert found == wanted, f"{target} holds {len(found)} rows of {len(wanted)}"
        assert self.now() == self.full
        self.check_nothing_staged()
        self.check_no_members_wait()
        if self.proxy is not None:
            # A server notices a cut network by keepalives, but here the proxy answers them.
            self.proxy.end_connections()
        pauses.wait_until(self.database, pauses.sessions_of_inrush(self.database))
        states = self.database.rows("SELECT state FROM inrush.run WHERE state <> 'discarded'")
        assert states == [("switched",)], states
        self.check_folders()
        self.command().expect(self.load.status)
        assert self.now() == self.full, "the same command after success changed a target"

    def check_folders(self) -> None:
        """Fail if a run left a draft, or if the kept rejects are not those of the load."""
        for draft in self.inrush.folder.rglob("*.draft"):
            # A run that was killed while it wrote its report has a draft and no report.
            report = draft.with_suffix("")
            told = json.loads(report.read_text())["outcome"] if report.exists() else "killed"
            assert told != "loaded", f"{draft} was left behind"
        if not self.load.rejected_rows:
            return
        switched = self.database.value("SELECT name FROM inrush.run WHERE state = 'switched'")
        kept = b"".join(
            path.read_bytes() for path in (self.runs / switched / "rejects").glob("*.rejects")
        )
        bad = [
            line
            for content in self.load.files().values()
            for line in content.splitlines()
            if line.startswith(b"x")
        ]
        assert Counter(kept.splitlines()) == Counter(bad)

    @property
    def runs(self) -> Path:
        """The folder of runs."""
        return self.runs_folder or self.inrush.folder / "runs"

    def activity(self) -> str:
        """Describe the server's sessions and their waits, to explain a command that hangs."""
        with self.stand.server.connect() as connection:
            rows = connection.execute(
                b"SELECT pid, datname, application_name, state, wait_event_type, wait_event, "
                b"pg_blocking_pids(pid), left(query, 100) FROM pg_stat_activity "
                b"WHERE backend_type = 'client backend'"
            ).fetchall()
        return "\n".join(map(str, rows))

    def backends(self) -> list[int]:
        """Return the backends of the command."""
        rows = self.database.rows(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name LIKE 'inrush%' ORDER BY pid"
        )
        return [pid for (pid,) in rows]
