"""Runs the system's programs as root, and says why one cannot be used."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class CannotError(Exception):
    """Something that this machine or this user does not allow; the text says what and why."""


@contextmanager
def allowed() -> Iterator[None]:
    """Skip a test that this machine does not allow, and say why."""
    try:
        yield
    except CannotError as error:
        pytest.skip(str(error))


def need_root(what: str) -> None:
    """Fail unless this user is root."""
    if os.geteuid() != 0:
        raise CannotError(f"{what} needs root")


def program(name: str, package: str) -> str:
    """Return the path of a program."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise CannotError(f"{name} is not installed (on Debian: {package})")
    return found


def run(*words: str | Path, text: str | None = None) -> str:
    """Run a program and return its output."""
    done = subprocess.run(
        [str(word) for word in words], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CannotError(f"`{' '.join(map(str, words))}` failed: {done.stderr.strip()}")
    return done.stdout


def write(path: Path, text: str) -> None:
    """Write a line into a file of the kernel."""
    try:
        path.write_text(text + "\n")
    except OSError as error:
        raise CannotError(f"{path} takes no {text!r}: {error.strerror}") from None
