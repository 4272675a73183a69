"""Compares the load generator with pgbench: the same statement on the same server, in turn.

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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ground
from harness import servers
from harness.checkout import ROOT
from harness.command import COMMAND
from harness.servers import Server

RATE_LIMIT, CPU_LIMIT = 0.95, 1.1
TABLE = (
    "| protocol | clients | Inrush calls/s | pgbench calls/s | ratio | Inrush CPU us/call "
    "| pgbench CPU us/call | ratio |",
    "|---|---:|---:|---:|---:|---:|---:|---:|",
)
FUNCTION = """
CREATE FUNCTION noop() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE drawn double precision := random();
BEGIN drawn := drawn * 10000; RETURN pg_backend_pid(); END $$
"""


@dataclass(frozen=True)
class Measure:
    """Calls per second, and the client's processor time per call in microseconds."""

    calls_per_s: float
    cpu_us: float


def timed(words: list[str | Path], folder: Path) -> tuple[str, float]:
    """Run a client and return its output and its processor seconds."""
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
    """Measure Inrush: the rate that it reports, and the processor time of its whole process."""
    words: list[str | Path] = [
        *(COMMAND, "bench", "calls", "--sql", "call.sql", "--protocol", mode, "--json"),
        *("--clients", str(clients), "--for", f"{seconds}s", "--to", server.url()),
    ]
    said, cpu_s = timed(words, folder)
    (run,) = json.loads(said.splitlines()[-1])["results"]["runs"]
    # Neither the fixed work before a run nor the start of Python is counted.
    idle, idle_s = timed([*words[:-4], "--for", "0.1s", *words[-2:]], folder)
    (short,) = json.loads(idle.splitlines()[-1])["results"]["runs"]
    own_s = cpu_s - idle_s + short["calls"] * run["cost"]["client_us"] / 1e6
    return Measure(run["calls"] / run["seconds"], own_s * 1e6 / run["calls"])


def compared(mode: str, clients: int, pairs: list[tuple[Measure, Measure]]) -> dict[str, Any]:
    """Return the rounds for one number of clients, and the median ratios of Inrush to pgbench."""
    rates = [ours.calls_per_s / theirs.calls_per_s for ours, theirs in pairs]
    costs = [ours.cpu_us / theirs.cpu_us for ours, theirs in pairs]
    return {
        "mode": mode,
        "clients": clients,
        "inrush": [asdict(ours) for ours, _ in pairs],
        "pgbench": [asdict(theirs) for _, theirs in pairs],
        "rates": rates,
        "costs": costs,
        "is_right": statistics.median(rates) >= RATE_LIMIT
        and statistics.median(costs) <= CPU_LIMIT,
    }


def line(found: dict[str, Any]) -> str:
    """Return a comparison as a line of the table."""

    def median(side: str, name: str) -> float:
        return statistics.median(float(one[name]) for one in found[side])

    return (
        f"| {found['mode']} | {found['clients']} | {median('inrush', 'calls_per_s'):,.0f} "
        f"| {median('pgbench', 'calls_per_s'):,.0f} | {ground.spread(found['rates'])} "
        f"| {median('inrush', 'cpu_us'):.1f} | {median('pgbench', 'cpu_us'):.1f} "
        f"| {ground.spread(found['costs'])} |"
    )


def page(facts: dict[str, Any]) -> str:
    """Return the result as a page."""
    missed = [found for found in facts["found"] if not found["is_right"]]
    said = ", ".join(f"{found['mode']} with {found['clients']} clients" for found in missed)
    return "\n".join(
        [
            "# Many clients: `inrush bench calls` against pgbench",
            "",
            ground.machine_lines(facts),
            "A function without a table, on one server over a socket, "
            f"{facts['seconds']} s for each measurement, {facts['rounds']} rounds with both sides "
            "in turn; medians (least-most). "
            "CPU is that of the client's process, without its start.",
            "",
            *TABLE,
            *map(line, facts["found"]),
            "",
            f"Wanted: at least {RATE_LIMIT} of pgbench's calls per second, and at most {CPU_LIMIT} "
            f"of its CPU for a call. {f'Missed: {said}.' if missed else 'All are within.'}",
            "",
            "To repeat: `.venv/bin/python benchmarks/clients_vs_pgbench.py`.",
            "",
        ]
    )


def main() -> int:
    """Measure both in turn, and write the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", default="1,4,8,16")
    parser.add_argument("--modes", default="prepared,simple")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--version", type=int, default=15)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    given = parser.parse_args()
    programs = servers.programs(given.version)
    if programs is None or not (programs / "pgbench").exists():
        print(
            f"pgbench of PostgreSQL {given.version} is not installed (Debian: postgresql-contrib)"
        )
        return 1
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
            facts: dict[str, Any] = {
                "benchmark": "clients_vs_pgbench",
                "machine": ground.machine(server),
                "seconds": given.seconds,
                "rounds": given.rounds,
                "found": [],
            }
            print(*TABLE, sep="\n", flush=True)
            for mode in given.modes.split(","):
                for clients in map(int, given.clients.split(",")):
                    pairs = [
                        (
                            by_inrush(server, folder, mode, clients, given.seconds),
                            by_pgbench(server, folder, mode, clients, given.seconds),
                        )
                        for _ in range(given.rounds)
                    ]
                    facts["found"].append(compared(mode, clients, pairs))
                    print(line(facts["found"][-1]), flush=True)
        finally:
            server.stop("immediate")
    ground.write_results(given.results, "clients-vs-pgbench", facts, page(facts))
    return 0 if all(found["is_right"] for found in facts["found"]) else 1


if __name__ == "__main__":
    sys.exit(main())
