"""Loads whose networks stall: each waits long for its server, so several wait at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from harness.command import CLEAN, Inrush, Outcome, Running
from harness.proxy import Proxy
from harness.servers import Database


@dataclass(frozen=True)
class StalledLoad:
    """A load of `package.toml` through a proxy, at the moment of the stall."""

    database: Database
    inrush: Inrush
    proxy: Proxy
    running: Running

    def run_again(self) -> None:
        """Load what is missing when the network is as before."""
        self.proxy.heal()
        self.inrush("run", "package.toml").expect(CLEAN)


def outcomes(loads: Sequence[StalledLoad], seconds: float) -> Iterator[tuple[StalledLoad, Outcome]]:
    """Return how each load ended; all of them end within this time."""
    latest = monotonic() + seconds
    for load in loads:
        yield load, load.running.wait(latest - monotonic())
