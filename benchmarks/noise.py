"""Measures noise: the time of a fixed command, and the processor time of other programs.

On a shared machine, a benchmark also measures its neighbours. The fixed command has two parts,
because each can be disturbed separately: a hash of bytes in memory, and a file that is written and
synced.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REFERENCE = """
import hashlib, os, sys, time
block = bytes(range(256)) * 4096
begun = time.perf_counter()
whole = hashlib.sha256()
for _ in range(192):
    whole.update(block)
hashed = time.perf_counter()
with open(sys.argv[1], "wb", buffering=0) as output:
    for _ in range(64):
        output.write(block)
    os.fsync(output.fileno())
print(hashed - begun, time.perf_counter() - hashed)
"""


@dataclass(frozen=True)
class Reference:
    """The time of the fixed command."""

    # 192 MiB hashed.
    hash_s: float
    # 64 MiB written and synced.
    write_s: float


def reference(folder: Path) -> Reference:
    """Run the fixed command, which writes into a folder."""
    file = folder / "reference"
    command: list[str | Path] = [sys.executable, "-I", "-S", "-c", REFERENCE, file]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    file.unlink()
    hash_s, write_s = map(float, done.stdout.split())
    return Reference(hash_s, write_s)


@dataclass(frozen=True)
class Processors:
    """Processor seconds of all cores since the machine started."""

    busy_s: float
    # Taken by the host for others: a virtual machine cannot use them.
    stolen_s: float

    @staticmethod
    def now() -> Processors:
        """Read them."""
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        user, nice, system, _idle, _waiting, irq, softirq, stolen = map(int, words[:8])
        ticks = os.sysconf("SC_CLK_TCK")
        return Processors((user + nice + system + irq + softirq) / ticks, stolen / ticks)
