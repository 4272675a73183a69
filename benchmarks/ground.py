"""Shared code of the benchmarks: data, server, measured commands, results.

Public tools only: tpchgen-cli makes dbgen's files; psql and PostgreSQL come from a wheel or from
Debian.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import groups
import pages
from harness import servers
from harness.checkout import MEASURED, ROOT
from harness.servers import Database, Server
from noise import Processors
from over_tls import TlsServer

# The folders with the engine's source code.
BUILT = ("crates", "python", "Cargo.toml", "Cargo.lock")
# `inrush` as a module of the Python that runs the benchmark; it does the same as the command.
INRUSH = (sys.executable, "-m", "inrush")
GENERATOR = Path(sys.executable).parent / "tpchgen-cli"

LINEITEM = (
    "l_orderkey bigint not null",
    "l_partkey bigint not null",
    "l_suppkey bigint not null",
    "l_linenumber integer not null",
    "l_quantity numeric(15,2) not null",
    "l_extendedprice numeric(15,2) not null",
    "l_discount numeric(15,2) not null",
    "l_tax numeric(15,2) not null",
    "l_returnflag char(1) not null",
    "l_linestatus char(1) not null",
    "l_shipdate date not null",
    "l_commitdate date not null",
    "l_receiptdate date not null",
    "l_shipinstruct char(25) not null",
    "l_shipmode char(10) not null",
    "l_comment varchar(44) not null",
)

# The default number of rounds, in each of which all sides run in turn.
ROUNDS = 5
# The longest wait for a server's sessions to end by themselves. After that, the measurement is
# useless.
SESSIONS_END_S = 120

# The usual settings for a large load: durable, and without WAL for tables that are made and filled
# in one transaction. Every side of a comparison uses this server.
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "maintenance_work_mem": "256MB",
    "work_mem": "256MB",
    "autovacuum": "off",
}
# The usual settings of servers: everything that is written also goes to the WAL.
REPLICA = SETTINGS | {"wal_level": "replica", "max_wal_senders": "10"}

_databases = itertools.count(1)


def whole_path(text: str) -> Path:
    """Make a path absolute. Links are kept, because a venv's Python is one."""
    return Path(text).absolute()


def arguments(description: str) -> argparse.ArgumentParser:
    """Return the parser of the arguments that all benchmarks take."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="the rounds; each measures all sides in turn"
    )
    parser.add_argument("--version", type=int, default=18, choices=servers.VERSIONS)
    parser.add_argument(
        "--folder", type=whole_path, help="work there (a disk with room), not in /tmp"
    )
    parser.add_argument("--wal-level", default="minimal", choices=("minimal", "replica"))
    parser.add_argument("--over", default="socket", choices=("socket", "tls"))
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    return parser


@contextmanager
def ground(options: argparse.Namespace) -> Iterator[tuple[Server, Path]]:
    """Yield a running server and a folder for files that it can read."""
    # A signal that ends the benchmark must also end its server.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="inrush-bench-", dir=options.folder))
    folder.chmod(0o755)
    try:
        programs = servers.reachable_programs(options.version, folder)
        if programs is None:
            sys.exit(f"PostgreSQL {options.version} is not installed")
        settings = SETTINGS if options.wal_level == "minimal" else REPLICA
        kind = TlsServer if options.over == "tls" else Server
        server = kind(options.version, programs, folder / "server", settings)
        server.initialise()
        if isinstance(server, TlsServer):
            server.prepare_tls()
        server.start()
        try:
            yield server, folder
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder)


@contextmanager
def second(first: Server, folder: Path) -> Iterator[Server]:
    """Yield another running server of the same version and settings."""
    server = Server(first.version, first.programs, folder / "second", dict(first.settings))
    server.initialise()
    server.start()
    try:
        yield server
    finally:
        server.stop("immediate")


def generate(folder: Path, scale: str, parts: int) -> list[Path]:
    """Write lineitem at a scale, in parts, and return its files."""
    target = folder / f"scale-{scale}"
    command: list[str | Path] = [
        GENERATOR,
        "tbl",
        "-s",
        scale,
        "-T",
        "lineitem",
        "--parts",
        str(parts),
    ]
    subprocess.run([*command, "-o", target], check=True, stdout=subprocess.DEVNULL)
    return sorted((target / "lineitem").iterdir())


def strip(files: Sequence[Path]) -> list[Path]:
    """Write the files without dbgen's trailing delimiter, which COPY's text form cannot take."""
    stripped = []
    for file in files:
        path = file.with_suffix(".stripped")
        with path.open("wb") as output:
            subprocess.run(["sed", "s/|$//", file], check=True, stdout=output)
        stripped.append(path)
    return stripped


@dataclass(frozen=True)
class Measure:
    """The times of a side, from the start of its programs to their end."""

    wall_s: float
    client_cpu_s: float
    server_cpu_s: float
    client_resident_kib_max: int
    # The processor time of everything else on the machine during the measurement, including
    # background processes of the server and the kernel.
    others_cpu_s: float = 0.0
    # The time that the host took from a virtual machine.
    stolen_cpu_s: float = 0.0


class CommandError(Exception):
    """A measured command failed; the text has its output."""


class StoppedError(Exception):
    """Measured commands exceeded their time limit; the text has their output."""

    def __init__(self, after_s: float, said: str) -> None:
        super().__init__(said)
        self.after_s = after_s


def _first_process(server: Server) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def server_cpu_s(server: Server) -> float:
    """Return the processor time of all sessions that have ended so far."""
    first = _first_process(server)
    fields = Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def wait_for_sessions(server: Server) -> None:
    """Wait until all sessions have ended, which happens a moment after their clients end.

    A session that is no longer listed may still have a process that frees its memory. Its processor
    time counts only when the process has ended.
    """
    query = """
        SELECT pid FROM pg_stat_activity
        WHERE backend_type <> 'client backend' OR pid = pg_backend_pid()"""
    deadline = time.monotonic() + SESSIONS_END_S
    server.close_kept_sessions()
    with server.connect() as connection:
        while not _children(server) <= {pid for (pid,) in connection.execute(query)}:
            if time.monotonic() > deadline:
                sys.exit(f"sessions of ended clients still exist after {SESSIONS_END_S} s")


def _children(server: Server) -> set[int]:
    """Return the processes that a server has now."""
    first = _first_process(server)
    return {int(pid) for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split()}


def end_sessions(server: Server) -> None:
    """End all sessions, because a session may keep computing long after its client is gone."""
    server.close_kept_sessions()
    with server.connect() as connection:
        connection.execute("""
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()""")


def measure(
    server: Server,
    commands: Sequence[Sequence[str | Path]],
    folder: Path,
    accepted: Collection[int] = (0,),
    limit_s: float | None = None,
) -> Measure:
    """Run commands at the same time and measure them; fail if one ends with an unaccepted status.

    If they exceed the time limit, they are killed with all their children, and their sessions are
    ended.
    """
    # Earlier writes must not slow down this side.
    with server.connect() as connection:
        connection.execute("CHECKPOINT")
    os.sync()
    wait_for_sessions(server)
    before = server_cpu_s(server)
    processors_before = Processors.now()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as results, tempfile.TemporaryFile() as said:
        measured: list[list[str | Path]] = [
            [sys.executable, "-I", "-S", MEASURED, f"{results}/{number}", *map(str, command)]
            for number, command in enumerate(commands)
        ]
        with groups.running(measured, folder, said) as programs:
            have_ended = groups.all_end(programs, limit_s)
            wall_s = time.perf_counter() - start
            after = Processors.now()
        if not have_ended:
            end_sessions(server)
            wait_for_sessions(server)
            said.seek(0)
            raise StoppedError(wall_s, said.read().decode(errors="replace"))
        if not {program.returncode for program in programs} <= set(accepted):
            said.seek(0)
            raise CommandError(f"{commands} failed:\n{said.read().decode(errors='replace')}")
        found = [
            (Path(results) / str(number)).read_text().split() for number in range(len(commands))
        ]
    wait_for_sessions(server)
    client_s = sum(float(cpu_s) for cpu_s, _ in found)
    server_s = server_cpu_s(server) - before
    return Measure(
        wall_s,
        client_cpu_s=client_s,
        server_cpu_s=server_s,
        client_resident_kib_max=sum(int(resident_kib) for _, resident_kib in found),
        others_cpu_s=max(0.0, after.busy_s - processors_before.busy_s - client_s - server_s),
        stolen_cpu_s=after.stolen_s - processors_before.stolen_s,
    )


def fresh(server: Server) -> Database:
    """Return an empty database."""
    return server.create_database(f"round_{next(_databases)}")


def drop(database: Database) -> None:
    """Remove a database."""
    database.server.drop(database)


def expected_digest(server: Server, stripped: Sequence[Path]) -> str:
    """Return the digest of the rows that the server's own COPY makes of lineitem's files."""
    database = fresh(server)
    database.execute(f"CREATE TABLE lineitem ({', '.join(LINEITEM)})")
    for file in stripped:
        database.execute(f"COPY lineitem FROM '{file}' (DELIMITER '|')")
    found = digest(database, "lineitem")
    drop(database)
    return found


def digest(database: Database, table: str) -> str:
    """Return a digest of all values of all rows of lineitem, in the order of its key."""
    query = f"SELECT * FROM {table} ORDER BY l_orderkey, l_linenumber"
    whole = sha256()
    with (
        database.connect() as connection,
        connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)".encode()) as copy,
    ):
        for block in copy:
            whole.update(block)
    return whole.hexdigest()


def one_line(command: Sequence[str]) -> str:
    """Return the output of a command, or nothing if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def machine(server: Server | None) -> dict[str, Any]:
    """Return the machine, server, settings and commit on which a result depends."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    database = {}
    disk = server.data if server is not None else tempfile.gettempdir()
    if server is not None:
        with server.connect() as connection:
            (version,) = connection.execute("SELECT version()").fetchone() or ("",)
        database = {"postgresql": version, "settings": dict(server.settings)}
    changed = bool(one_line(["git", "status", "--porcelain", "--untracked-files=no"]))
    return {
        "processor": cpu[1] if cpu else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory[1]) / 2**20, 1) if memory else None,
        "kernel": platform.release(),
        "file_system": one_line(["stat", "--file-system", "--format=%T", str(disk)]),
        "python": platform.python_version(),
        **database,
        "commit": one_line(["git", "rev-parse", "--short=12", "HEAD"]),
        "commit_changed": changed,
        # The last commit that changed the built code; it must be the same for all pieces of a
        # result.
        "engine": one_line(["git", "log", "-1", "--format=%h", "--abbrev=12", "--", *BUILT]),
        "load_average_at_start": os.getloadavg()[0],
    }


def results_name(name: str, about: dict[str, Any]) -> str:
    """Return the name of a result's files: day, benchmark and machine."""
    words = re.sub(r"\(.*?\)|@.*|\bCPU\b", " ", str(about["processor"])).lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", words))
    day = datetime.now(timezone.utc).date().isoformat()
    return f"{day}-{name}-{slug}-{about['cores']}-cores"


def write_results(folder: Path, name: str, facts: dict[str, Any], text: str) -> None:
    """Write a result as JSON, and as a page to read."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / results_name(name, facts["machine"])
    base.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n")
    base.with_suffix(".md").write_text(text)
    pages.prune(folder)
    print(text)
    print(f"written: {base}.json and .md")


def machine_lines(facts: dict[str, Any]) -> str:
    """Return the machine as lines of a page."""
    about = facts["machine"]
    changed = " (with changes)" if about["commit_changed"] else ""
    return (
        f"{about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB, "
        f"{about['file_system']}, Linux {about['kernel']}; "
        f"{about.get('postgresql', 'no server').split(' on ')[0]}; "
        f"commit {about['commit']}{changed}; load average at the start "
        f"{about['load_average_at_start']:.1f}.\n"
    )


def cells(measures: Sequence[Measure]) -> str:
    """Return the columns of a table about processors and memory."""
    return (
        f"{spread([one.client_cpu_s for one in measures])} "
        f"| {spread([one.server_cpu_s for one in measures])} "
        f"| {spread([one.client_resident_kib_max / 1024 for one in measures], 1)} |"
    )


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return a median with the smallest and the largest value."""
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:.{digits}f} ({least:.{digits}f}-{most:.{digits}f})"
