"""Chooses ports for the tests' servers that no other process takes before the server listens."""

from __future__ import annotations

import fcntl
import itertools
import socket
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

# These are below the ports that Linux gives to clients, and to listeners that ask for no particular
# port (32768 and up, ip_local_port_range).
_FIRST, _LAST = 20_000, 32_000
# Each process has a separate block of ports.
_BLOCK_PORTS = 200

# The block of this process: its number, its ports, and its file, which is locked until the process
# ends.
_claimed: tuple[int, itertools.cycle[int], IO[str]] | None = None


def process_number() -> int:
    """Return a number below 60 that no other process of tests has."""
    return _claim()[0]


def free_port() -> int:
    """Return a port on which nobody listens, a different one each time."""
    _, ports, _ = _claim()
    for port in itertools.islice(ports, _BLOCK_PORTS):
        if _is_free(port):
            return port
    raise RuntimeError("somebody listens on all ports of this process's block")


def _claim() -> tuple[int, itertools.cycle[int], IO[str]]:
    """Lock a block of ports that no other process of tests has, if this one has none yet."""
    global _claimed
    if _claimed is not None:
        return _claimed
    for number, first in enumerate(range(_FIRST, _LAST, _BLOCK_PORTS)):
        with suppress(OSError), ExitStack() as opened:
            path = Path(tempfile.gettempdir()) / f"inrush-test-ports-{first}.lock"
            lock = opened.enter_context(path.open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            opened.pop_all()
            _claimed = number, itertools.cycle(range(first, first + _BLOCK_PORTS)), lock
            return _claimed
    raise RuntimeError("all blocks of ports are in use by other processes of tests")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
