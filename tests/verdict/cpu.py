"""Takes CPU away from the loader: by a limit of its control group, or by neighbours on its core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verdict.system import CannotError, need_root, program, write

PERIOD_US = 100_000


def _group_folder() -> Path:
    """Return the folder in which control groups with a CPU limit can be made."""
    need_root("a control group with a CPU limit")
    for root, limit in (
        (Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us"),
        (Path("/sys/fs/cgroup/cpu,cpuacct"), "cpu.cfs_quota_us"),
        (Path("/sys/fs/cgroup"), "cgroup.subtree_control"),
    ):
        file = root / limit
        if limit == "cpu.cfs_quota_us" and file.exists():
            return root
        if limit != "cpu.cfs_quota_us" and file.exists() and "cpu" in file.read_text().split():
            return root
    raise CannotError("no control group limits CPU here: neither version 1 nor 2 has `cpu`")


@contextmanager
def quota(cores: float) -> Iterator[list[str]]:
    """Make a control group with this number of cores; yields the words that precede a command."""
    group = _group_folder() / f"inrush-verdict-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise CannotError(f"{group} cannot be made: {error.strerror}") from None
    try:
        quota_us = int(cores * PERIOD_US)
        if (group / "cpu.cfs_quota_us").exists():
            write(group / "cpu.cfs_period_us", str(PERIOD_US))
            write(group / "cpu.cfs_quota_us", str(quota_us))
        else:
            write(group / "cpu.max", f"{quota_us} {PERIOD_US}")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "in-group"]
    finally:
        group.rmdir()


def pinned(core: int) -> list[str]:
    """Return the words that start a command on one core."""
    return [program("taskset", "util-linux"), "--cpu-list", str(core)]


@contextmanager
def kept_off(core: int, process: int) -> Iterator[None]:
    """Keep a process, and those that it starts from now on, off a core."""
    cores = os.sched_getaffinity(process)
    if cores <= {core}:
        raise CannotError(f"there is no other core than {core}")
    os.sched_setaffinity(process, cores - {core})
    try:
        yield
    finally:
        os.sched_setaffinity(process, cores)


@contextmanager
def neighbours(count: int, core: int) -> Iterator[list[int]]:
    """Run this number of busy processes on a core; yields their process numbers."""
    if core not in os.sched_getaffinity(0):
        raise CannotError(f"core {core} is not ours")
    busy = [
        subprocess.Popen([*pinned(core), sys.executable, "-c", "while True: pass"])
        for _ in range(count)
    ]
    try:
        yield [process.pid for process in busy]
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()
