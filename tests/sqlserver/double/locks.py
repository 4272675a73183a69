"""Locks of tables, names and applications: who waits for whom.

The modes and their compatibility are those of the "Transaction locking and row versioning guide"
(https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide#lock-compatibility).
BU is compatible only with itself and with Sch-S. So bulk loads into one heap share its lock, and no
other session reads or writes the heap.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any

from .errors import SqlError

_COMPATIBLE: dict[str, set[str]] = {
    "Sch-S": {"Sch-S", "IS", "S", "IX", "X", "BU"},
    "IS": {"Sch-S", "IS", "S", "IX"},
    "S": {"Sch-S", "IS", "S"},
    "IX": {"Sch-S", "IS", "IX"},
    "X": {"Sch-S"},
    "BU": {"Sch-S", "BU"},
    "Sch-M": set(),
}
# The seconds after which a waiting session checks again that its client still exists.
_LOOK_SECONDS = 0.02


class Locks:
    """All locks of a database, under its one mutex."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._held: dict[Hashable, dict[Any, set[str]]] = defaultdict(dict)
        self._waits: dict[Any, set[Any]] = {}

    def take(
        self,
        owner: Any,
        resource: Hashable,
        mode: str,
        timeout: float | None,
        look: Callable[[], None],
    ) -> None:
        """Take a lock for an owner, or wait; raises errors 1222 and 1205."""
        self.wait(lambda: self.blockers(owner, resource, mode), owner, timeout, look)
        self._held[resource].setdefault(owner, set()).add(mode)

    def wait(
        self,
        blockers: Callable[[], set[Any]],
        owner: Any,
        timeout: float | None,
        look: Callable[[], None],
    ) -> None:
        """Wait until nobody blocks the owner."""
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while others := blockers():
                if owner not in self._waits:
                    # This is for tests that wait until a session waits.
                    self.changed.notify_all()
                self._waits[owner] = others
                if self._waits_for_itself(owner):
                    raise SqlError(1205)
                if end is not None and time.monotonic() >= end:
                    raise SqlError(1222)
                look()
                self.changed.wait(_LOOK_SECONDS)
        finally:
            self._waits.pop(owner, None)

    def blockers(self, owner: Any, resource: Hashable, mode: str) -> set[Any]:
        """Return the others that hold a lock which is not compatible with this mode."""
        held = self._held.get(resource, {})
        return {
            other
            for other, modes in held.items()
            if other is not owner and modes - _COMPATIBLE[mode]
        }

    def _waits_for_itself(self, owner: Any) -> bool:
        seen: set[Any] = set()
        todo = list(self._waits.get(owner, ()))
        while todo:
            other = todo.pop()
            if other is owner:
                return True
            if other not in seen:
                seen.add(other)
                todo += self._waits.get(other, ())
        return False

    def release(self, owner: Any, resource: Hashable | None = None) -> None:
        """Release a lock, or all locks of an owner."""
        for name in [resource] if resource is not None else list(self._held):
            self._held[name].pop(owner, None)
            if not self._held[name]:
                del self._held[name]
        self.changed.notify_all()
