"""Locales for servers, made in a folder: `lc_monetary = de_DE` changes how `money` is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Locales whose currency does not have two decimal digits.
MONEY_DIGITS = {"ja_JP.UTF-8": 0}
NAMES = ("de_DE", "ja_JP")


def make(folder: Path) -> bool:
    """Make locales in a folder; return false if this machine has no sources of any."""
    program = shutil.which("localedef") or shutil.which("localedef", path="/usr/bin:/usr/sbin")
    if program is None:
        return False
    folder.mkdir()
    folder.chmod(0o755)
    for name in NAMES:
        # The system's archive is not changed.
        words = [program, "-i", name, "-f", "UTF-8", "--no-archive", str(folder / f"{name}.UTF-8")]
        if subprocess.run(words, capture_output=True, check=False).returncode not in (0, 1):
            return False
    return True


@contextmanager
def known(folder: Path) -> Iterator[None]:
    """Let servers that start in the block know these locales (and C.UTF-8, which libc has)."""
    before = os.environ.get("LOCPATH")
    os.environ["LOCPATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LOCPATH"]
        else:
            os.environ["LOCPATH"] = before
