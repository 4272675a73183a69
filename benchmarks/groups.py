"""Programs that are measured together, each in a group of its own, which ends with them."""

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
    """Start commands in a folder; what they say goes into a file.

    In the end nothing of their groups runs, whatever ended the wait for them, a signal among it.
    """
    programs: Programs = []
    try:
        for command in commands:
            # One that was started is known before the next one.
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
    """Wait until all have ended, or the limit has passed; say whether they have.

    `Popen.wait` with a limit looks only now and then, which would make longer what is measured; and
    nobody is to take their exit statuses yet, so that their numbers stay those of their groups.
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
    # Past the limit somebody else may have its status first.
    with suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def finish(programs: Programs) -> list[int]:
    """Kill what still runs of their groups, and return how the first of each ended."""
    for program in programs:
        # One that was waited for has no group of this number any more.
        if program.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    return [program.wait() for program in programs]
