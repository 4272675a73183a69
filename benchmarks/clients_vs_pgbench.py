"""The load generator against pgbench: the same statement on the same server, in turn.

Calls per second of `inrush bench calls` must be at least 0.95 of pgbench's, and processor time of
the client per call at most 1.1 of it. pgbench gets as many threads as Inrush has.

    .venv/bin/python benchmarks/clients_vs_pgbench.py --clients 1,4,8,16 --seconds 5 --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import servers
from harness.command import COMMAND
from harness.servers import Server

RATE_LIMIT, CPU_LIMIT = 0.95, 1.1
FUNCTION = """
CREATE FUNCTION noop() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE drawn double precision := random();
BEGIN drawn := drawn * 10000; RETURN pg_backend_pid(); END $$
"""


@dataclass(frozen=True)
class Measure:
    """Calls per second, and microseconds of processor time of the client for a call."""

    calls_per_s: float
    cpu_us: float


def timed(words: list[str | Path], folder: Path) -> tuple[str, float]:
    """Run a client and return what it printed and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{words} failed: {done.stdout}{done.stderr}")
    seconds = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return done.stdout, seconds


def by_pgbench(server: Server, folder: Path, mode: str, clients: int, seconds: int) -> Measure:
    """Measure pgbench."""
    programs = server.programs
    threads = min(clients, os.cpu_count() or 1)
    words: list[str | Path] = [
        *(programs / "pgbench", "--no-vacuum", "--protocol", mode, "--file", "call.sql"),
        *("--client", str(clients), "--jobs", str(threads), "--time", str(seconds)),
        *("--host", server.folder, "--port", str(server.port), "--username", server.user),
        "postgres",
    ]
    said, cpu_s = timed(words, folder)
    calls = re.search(r"actually processed: (\d+)", said)
    rate = re.search(r"tps = ([0-9.]+)", said)
    assert calls is not None and rate is not None, said
    return Measure(float(rate[1]), cpu_s * 1e6 / int(calls[1]))


def by_inrush(server: Server, folder: Path, mode: str, clients: int, seconds: int) -> Measure:
    """Measure Inrush: its own rate, and all of its process, the looks at the server among it."""
    words: list[str | Path] = [
        *(COMMAND, "bench", "calls", "--sql", "call.sql", "--protocol", mode, "--json"),
        *("--clients", str(clients), "--for", f"{seconds}s", "--to", server.url()),
    ]
    said, cpu_s = timed(words, folder)
    (run,) = json.loads(said.splitlines()[-1])["results"]["runs"]
    # The fixed piece of work before a run is not part of it, and neither is the start of Python.
    idle, idle_s = timed([*words[:-4], "--for", "0.1s", *words[-2:]], folder)
    (short,) = json.loads(idle.splitlines()[-1])["results"]["runs"]
    own_s = cpu_s - idle_s + short["calls"] * run["cost"]["client_us"] / 1e6
    return Measure(run["calls"] / run["seconds"], own_s * 1e6 / run["calls"])


def main() -> int:
    """Measure both in turn, and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", default="1,4,8,16")
    parser.add_argument("--modes", default="prepared,simple")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--version", type=int, default=15)
    given = parser.parse_args()
    programs = servers.programs(given.version)
    if programs is None or not (programs / "pgbench").exists():
        print(
            f"pgbench of PostgreSQL {given.version} is not installed (Debian: postgresql-contrib)"
        )
        return 1
    is_right = True
    with tempfile.TemporaryDirectory(prefix="inrush-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = Server(given.version, programs, folder / "server", dict(servers.DURABLE))
        server.initialise()
        server.start()
        try:
            with server.connect() as connection:
                connection.execute(FUNCTION.encode())
            (folder / "call.sql").write_text("SELECT noop();\n")
            print("| protocol | clients | Inrush calls/s | pgbench | ratio | CPU us/call | ratio |")
            print("|---|---:|---:|---:|---:|---:|---:|")
            for mode in given.modes.split(","):
                for clients in map(int, given.clients.split(",")):
                    pairs = [
                        (
                            by_inrush(server, folder, mode, clients, given.seconds),
                            by_pgbench(server, folder, mode, clients, given.seconds),
                        )
                        for _ in range(given.rounds)
                    ]
                    is_right &= told(mode, clients, pairs)
        finally:
            server.stop("immediate")
    return 0 if is_right else 1


def told(mode: str, clients: int, pairs: list[tuple[Measure, Measure]]) -> bool:
    """Print a line, and say whether it is within the limits."""
    rates = sorted(ours.calls_per_s / theirs.calls_per_s for ours, theirs in pairs)
    costs = sorted(ours.cpu_us / theirs.cpu_us for ours, theirs in pairs)
    rate, cost = statistics.median(rates), statistics.median(costs)
    ours = statistics.median(one.calls_per_s for one, _ in pairs)
    theirs = statistics.median(one.calls_per_s for _, one in pairs)
    cpu = statistics.median(one.cpu_us for one, _ in pairs)
    print(
        f"| {mode} | {clients} | {ours:,.0f} | {theirs:,.0f} | "
        f"{rate:.2f} ({rates[0]:.2f}-{rates[-1]:.2f}) | {cpu:.1f} | "
        f"{cost:.2f} ({costs[0]:.2f}-{costs[-1]:.2f}) |",
        flush=True,
    )
    return rate >= RATE_LIMIT and cost <= CPU_LIMIT


if __name__ == "__main__":
    sys.exit(main())
