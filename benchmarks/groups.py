"""Runs programs that are measured together, each in its own process group, and ends the groups."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

Programs = list["subprocess.Popen[bytes]"]


@contextmanager
def running(
    commands: Sequence[Sequence[str | Path]], folder: Path, said: IO[bytes]
) -> Iterator[Programs]:
    """Start commands in a folder; their output goes into a file.

    When the context ends, no process of the groups runs any more, even if a signal ended the wait.
    """
    programs: Programs = []
    try:
        for command in commands:
            # Each command is recorded before the next one is started.
            programs.append(
                subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            )
        yield programs
    finally:
        finish(programs)


def all_end(programs: Programs, limit_s: float | None) -> bool:
    """Wait until all have ended, or the limit has passed; return whether they have ended.

    `Popen.wait` with a limit polls only now and then, which would lengthen the measured time. The
    exit statuses must not be reaped yet, so that the process numbers still identify the groups.
    """
    deadline = None if limit_s is None else time.monotonic() + limit_s
    waits = [
        threading.Thread(target=_wait_for, args=(program.pid,), daemon=True) for program in programs
    ]
    for wait in waits:
        wait.start()
    for wait in waits:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        wait.join(None if left is None else min(left, threading.TIMEOUT_MAX))
        if wait.is_alive():
            return False
    return True


def _wait_for(pid: int) -> None:
    # After the limit, other code may already have reaped the exit status.
    with suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def finish(programs: Programs) -> list[int]:
    """Kill the processes of the groups that still run, and return each group's exit status."""
    for program in programs:
        # If the process was reaped, there is no group of this number any more.
        if program.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    return [program.wait() for program in programs]
