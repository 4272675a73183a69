"""Slows a load on the server's side: by stopped backends, or by another session's lock."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from harness.servers import Database
from verdict.system import need_root

# The smallest and largest number of seconds for which a lock is held.
HELD_S = 0.3, 3.0
# The seconds of one stopped turn and one running turn together.
TURN_S = 0.25

COPYING = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND query ILIKE 'copy%'
"""


@contextmanager
def _beside(work: threading.Thread, ending: threading.Event) -> Iterator[None]:
    work.start()
    try:
        yield
    finally:
        ending.set()
        work.join()


@contextmanager
def paused(database: Database, share: float) -> Iterator[None]:
    """Stop the backends that copy for a share of the time, by SIGSTOP and SIGCONT in turns."""
    need_root("stopping another user's processes")
    ending = threading.Event()

    def stop_and_go() -> None:
        with database.connect() as connection:
            while not ending.is_set():
                found = [int(row[0]) for row in connection.execute(COPYING).fetchall()]
                for process in found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGSTOP)
                # The end of the run does not cut this short: the backends are resumed below.
                ending.wait(TURN_S * share)
                for process in found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGCONT)
                ending.wait(TURN_S * (1.0 - share))

    with _beside(threading.Thread(target=stop_and_go), ending):
        yield


@contextmanager
def locked(database: Database, table: str, share: float) -> Iterator[None]:
    """Hold a lock that writers wait for, again and again, for a share of the time."""
    ending = threading.Event()

    def hold_and_leave() -> None:
        with database.connect(autocommit=False) as connection:
            while not ending.is_set():
                # While it waits for the lock, later writers wait behind it; earlier ones continue.
                began = monotonic()
                connection.execute(f"LOCK TABLE {table} IN SHARE MODE".encode())
                least_s, most_s = HELD_S
                held_s = (monotonic() - began) * share / (1.0 - share)
                ending.wait(min(max(held_s, least_s), most_s))
                connection.commit()
                # Others get the lock before it is requested again.
                ending.wait(least_s * (1.0 - share))

    with _beside(threading.Thread(target=hold_and_leave), ending):
        yield
