"""Builds an ADBC driver that logs a run's statements (`logging_driver.c`), and reads its log."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import adbc_driver_manager

SOURCE = Path(__file__).with_name("logging_driver.c")


@functools.cache
def built(folder: Path) -> Path:
    """Build the driver into a folder, and return its library."""
    library = folder / "liblogging_driver.so"
    # The header of ADBC is in the driver manager's wheel.
    header = Path(adbc_driver_manager.__file__).parent / "arrow-adbc"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    options = ["-std=gnu11", "-Wall", "-Werror", "-O1", "-fPIC", "-shared", f"-I{header}"]
    command = [*compiler, *options, str(SOURCE), "-o", str(library), "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


@dataclass
class LoggingDriver:
    """The logging driver in front of another driver, with the file of its log."""

    library: Path
    # The library of the driver that it calls, and that driver's entry point.
    calls: Path
    entry: str
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a command that uses it."""
        return {
            "LOGGING_DRIVER_CALLS": str(self.calls),
            "LOGGING_DRIVER_ENTRY": self.entry,
            "LOGGING_DRIVER_FILE": str(self.log),
        }

    def sessions(self) -> list[list[str]]:
        """Return the statements of each session, in their order."""
        sessions: list[list[str]] = []
        unfinished: dict[str, list[str]] = {}
        for record in self.log.read_text().split("\0")[:-1]:
            name, _, text = record.partition("\t")
            if not text:
                unfinished.pop(name, None)
                continue
            if name not in unfinished:
                unfinished[name] = []
                sessions.append(unfinished[name])
            unfinished[name].append(text)
        return sessions
