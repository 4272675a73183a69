"""The servers for faults: durable, also on TCP, with a disk that can be filled."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from harness import extension, polling, servers
from harness.ports import free_port
from harness.servers import Server

# The stands by name: the version, and the settings that differ from a durable server with full WAL.
STANDS: dict[str, tuple[int, dict[str, str]]] = {
    "pg18": (18, {}),
    "pg15": (15, {}),
    "pg18-replica": (18, {"wal_level": "replica"}),
}


@dataclass
class Stand:
    """A server, and its small disk."""

    name: str
    server: Server
    # A tablespace on a separate file system, if this user may mount one.
    disk: Path | None

    def await_server(self) -> None:
        """Start the server if it is down, and wait until it accepts connections."""
        if not self.server.running:
            self.server.start()
        # After the crash of a backend the server restarts; until then it refuses connections.
        polling.until(self._accepts, failing=lambda: "the server does not come back")

    def _accepts(self) -> bool:
        """Return whether the server accepts connections; start it again if it is down."""
        with contextlib.suppress(psycopg.OperationalError):
            self.server.connect().close()
            return True
        if not self.server.running:
            self.server.start()
        return False

    @contextmanager
    def full_disk(self, disk_bytes: int) -> Iterator[None]:
        """Limit the small disk to this number of bytes."""
        assert self.disk is not None
        # Leftovers of an earlier fault stay on the disk.
        resize(self.disk, disk_bytes)
        try:
            yield
        finally:
            resize(self.disk, 1 << 30)

    @contextmanager
    def file_limit(self, file_bytes: int) -> Iterator[None]:
        """Limit the files of sessions that begin now to this number of bytes.

        This works without the right to mount a file system: the system refuses the server's writes,
        as on a full disk.
        """
        first = self.server.first_process
        _limit_files(first, file_bytes)
        try:
            yield
        finally:
            if self.server.running:
                _limit_files(self.server.first_process, None)


def _limit_files(process: int, file_bytes: int | None) -> None:
    limit = "unlimited" if file_bytes is None else str(file_bytes)
    # This runs as the servers' user, because root in a container may not limit another user's
    # process.
    servers.run_as_server(["prlimit", f"--pid={process}", f"--fsize={limit}:unlimited"])


def resize(disk: Path, disk_bytes: int) -> None:
    """Give a mounted file system this number of bytes, or as many as are in use."""
    disk_bytes = max(disk_bytes, used_bytes(disk))
    options = f"remount,size={disk_bytes}"
    subprocess.run(["mount", "-o", options, disk], check=True, capture_output=True)


def mount(folder: Path, disk_bytes: int) -> bool:
    """Mount a small file system in memory on a folder; return false if this user may not."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={disk_bytes}", "tmpfs", str(folder)]
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    return False


def used_bytes(folder: Path) -> int:
    """Return the number of used bytes of a mounted file system."""
    return shutil.disk_usage(folder).used


def unmount(folder: Path) -> None:
    """Unmount the file system."""
    subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


class Site:
    """Servers with their disks, each started when it is first needed."""

    def __init__(self, folder: Path, programs: Callable[[int], Path]) -> None:
        self._folder = folder
        self._programs = programs
        self._stands: dict[str, Stand] = {}

    def stand(self, name: str) -> Stand:
        """Return a stand whose server runs."""
        if name not in self._stands:
            self._stands[name] = self._make(name)
        self._stands[name].await_server()
        return self._stands[name]

    def _make(self, name: str) -> Stand:
        version, settings = STANDS[name]
        port = free_port()
        server = Server(version, self._programs(version), self._folder / name, port=port)
        # Small WAL segments stay below the limits that faults set for files.
        server.initialise(wal_segment_mib=1)
        # Data survives the process that wrote it, and no fault here crashes the operating system.
        server.configure(servers.DURABLE | {"fsync": "off"} | settings, addresses="127.0.0.1")
        server.start()
        extension.install_everywhere(server, self._folder)
        disk = self._folder / f"{name}-disk"
        if not mount(disk, 1 << 30):
            return Stand(name, server, None)
        servers.own_by_server(disk)
        stand = Stand(name, server, disk)
        with server.connect() as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
        return stand

    def close(self) -> None:
        """Stop all servers."""
        for stand in self._stands.values():
            if stand.server.running:
                stand.server.stop("immediate")
            if stand.disk is not None:
                unmount(stand.disk)
