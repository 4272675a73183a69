"""Waits for a condition that another process causes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from harness.command import Running

T = TypeVar("T")

# Polling without a pause would take a core from the process that is awaited.
_PAUSE_S = 0.005
_pause = threading.Event()


def until(
    look: Callable[[], T],
    *,
    seconds: float = 60,
    running: Running | None = None,
    failing: Callable[[], str] = lambda: "it never came to that",
) -> T:
    """Poll until something true is found, and return it.

    Fail after this number of seconds, or if the command `running` ends before.
    """
    found = _polled(look, running, monotonic() + seconds, failing)
    assert found or running is None, running.wait().said
    return found


def before_the_end_of(
    running: Running, look: Callable[[], object], *, seconds: float = 150
) -> bool:
    """Poll until something true is found; return false if the command ends before."""
    failing = "it never came to that, and the command runs"
    return bool(_polled(look, running, monotonic() + seconds, lambda: failing))


def _polled(
    look: Callable[[], T], running: Running | None, end: float, failing: Callable[[], str]
) -> T:
    while True:
        # The status is read before the poll, so that the poll sees everything that the command did.
        has_ended = running is not None and running.process.poll() is not None
        found = look()
        if found or has_ended:
            return found
        assert monotonic() < end, failing()
        _pause.wait(_PAUSE_S)
