"""Signals before the command starts its work: it ends with its own exit status and does nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from harness.command import INTERRUPTED, Inrush

SIGNALS = [signal.SIGINT, signal.SIGTERM]

# The signal comes while Python begins to load the engine.
WHILE_LOADING = """
import os, sys

class Signal:
    def find_spec(self, name, path=None, target=None):
        if name == "inrush._inrush":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Signal())
from inrush.__main__ import main
print("begins", flush=True)
sys.exit(main())
"""


@pytest.mark.parametrize("which", SIGNALS)
def test_while_the_engine_is_loaded(inrush: Inrush, which: signal.Signals) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WHILE_LOADING.format(number=int(which)), "--version"],
        check=False, cwd=inrush.folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (INTERRUPTED, "begins\n", "")


@pytest.mark.parametrize("which", SIGNALS)
@pytest.mark.parametrize("command", ["check", "run", "status"])
def test_while_the_package_is_read(inrush: Inrush, command: str, which: signal.Signals) -> None:
    path = inrush.folder / "p.toml"
    os.mkfifo(path)
    # Opening the pipe returns once the command has opened the other end and waits for the text.
    with inrush.start(command, path) as running, path.open("w"):
        running.send(which)
        running.wait().expect(INTERRUPTED)
    assert list(inrush.folder.iterdir()) == [path]
