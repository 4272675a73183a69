"""Finds processes by their folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness import polling


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose command line or working folder names a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in words or where.startswith(str(folder)):
            found.append(int(entry.name))
    return found


def wait_until_asleep(process_id: int) -> None:
    """Wait until a process does nothing: its processor time stays the same for 20 polls."""
    seen: list[str] = []

    def sleeps() -> bool:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        seen.append(" ".join(fields[11:13]))
        return len(seen) >= 20 and len(set(seen[-20:])) == 1

    polling.until(sleeps, failing=lambda: f"it works on: {seen[-3:]}")


def wait_for_no_process(folder: Path, seconds: float = 30) -> None:
    """Fail unless the processes have ended within this number of seconds."""
    polling.until(
        lambda: not processes_in(folder),
        seconds=seconds,
        failing=lambda: f"still there: {processes_in(folder)}",
    )


def mounted_in(folder: Path) -> list[Path]:
    """Return the file systems that are mounted in a folder."""
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [Path(place) for place in places if place.startswith(f"{folder}/")]


def wait_for_no_server(data: Path, first: int) -> None:
    """Wait until no process of a killed server is left, so that it can be started again."""

    def ended() -> bool:
        listed = subprocess.run(
            ["ps", "-e", "-o", "ppid=,pid=,args="], check=True, capture_output=True, text=True
        ).stdout
        mine = [line for line in listed.splitlines() if str(first) in line.split()[:2]]
        # Children of a dead parent are adopted, and their command line names no folder, so the
        # owner of the socket is checked. The shared memory is free when the last process is gone.
        return not mine and not _shared_memory_in_use(data)

    polling.until(ended, seconds=30, failing=lambda: "the killed server's processes do not end")


def _shared_memory_in_use(data: Path) -> bool:
    lines = (data / "postmaster.pid").read_text().splitlines()
    if len(lines) < 7:
        return False
    segment = lines[6].split()[-1]
    listed = subprocess.run(["ipcs", "-m"], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == segment:
            return words[5] != "0"
    return False
